// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package entitlement

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claimant"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/excerpt"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ipspace"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/kinds"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/poolspec"
)

func refuse(cause claimant.Cause, field, format string, args ...any) error {
	return &claimant.Refusal{
		Reason: ipamv1.ClaimReadyAllocationFailedReason, Cause: cause, Field: field, Message: fmt.Sprintf(format, args...),
	}
}

// IPClaims says what IPClaims may ask of which pools.
type IPClaims struct {
	// Client reads from the cache.
	Client   client.Reader
	Registry *pools.Registry
}

// Requests returns what the claim asks of the ledger, one for each pool that it may be answered from, in the order to try them;
// without owners and labels, which are for stored claims. It errs with a Refusal if there is none. The claim may lack its
// UID, and its name.
func (d *IPClaims) Requests(ctx context.Context, c *ipamv1.IPClaim) ([]ledger.Claim, error) {
	if c.Spec.PoolRef != nil {
		request, err := d.request(ctx, c, PoolOf(c, c.Spec.PoolRef.Kind, c.Spec.PoolRef.Name))
		return []ledger.Claim{request}, err
	}
	if c.Spec.PoolSelector == nil {
		return nil, refuse(claimant.Invalid, "spec.poolRef", "one of poolRef and poolSelector is required")
	}
	return d.selected(ctx, c)
}

// Agrees errs with a Refusal where a claim names a pool that its selector does not match. That holds when the claim is made: labels change.
func (d *IPClaims) Agrees(ctx context.Context, c *ipamv1.IPClaim) error {
	if c.Spec.PoolRef == nil || c.Spec.PoolSelector == nil {
		return nil
	}
	selector, err := selectorOf(c)
	if err != nil {
		return err
	}
	p, err := d.Registry.Find(ctx, PoolOf(c, c.Spec.PoolRef.Kind, c.Spec.PoolRef.Name))
	if err != nil {
		return fmt.Errorf("getting %s %s: %w", c.Spec.PoolRef.Kind, excerpt.Of(c.Spec.PoolRef.Name), err)
	}
	if kinds.Weir(c.Spec.PoolSelector.Kind) == kinds.Weir(c.Spec.PoolRef.Kind) && selector.Matches(labels.Set(p.GetLabels())) {
		return nil
	}
	return refuse(claimant.Invalid, "spec.poolRef", "poolSelector does not match %s %q", c.Spec.PoolRef.Kind, excerpt.Of(c.Spec.PoolRef.Name))
}

// selected returns the requests of a claim that chooses its pool by labels. Pools that are closed to it are passed over.
func (d *IPClaims) selected(ctx context.Context, c *ipamv1.IPClaim) ([]ledger.Claim, error) {
	refs, err := d.matching(ctx, c)
	if err != nil {
		return nil, err
	}
	var requests []ledger.Claim
	var refused []string
	for _, ref := range refs {
		request, err := d.request(ctx, c, ref)
		var refusal *claimant.Refusal
		switch {
		case err == nil:
			requests = append(requests, request)
		case !errors.As(err, &refusal):
			return nil, err
		case refusal.Cause == claimant.Invalid: // a pool of another project is not mentioned
			refused = append(refused, fmt.Sprintf("%s: %s", excerpt.Of(ref.Name), refusal))
		}
	}
	if len(requests) == 0 {
		return nil, noneSelected(c.Spec.PoolSelector.Kind, refused)
	}
	return requests, nil
}

// noneSelected names the part of a selector's search that found nothing: the labels, or what is asked of the pools that have them, each of
// which was refused with such a text.
func noneSelected(kind string, refused []string) error {
	if len(refused) == 0 {
		return refuse(claimant.NoMatch, "spec.poolSelector", "no %s that this namespace may use has these labels", kind)
	}
	message := fmt.Sprintf("no %s with these labels hands this out; %s", kind, refused[0])
	if more := len(refused) - 1; more > 0 {
		message += fmt.Sprintf("; and %d more", more)
	}
	return refuse(claimant.NoMatch, "spec.poolSelector", "%s", message)
}

func selectorOf(c *ipamv1.IPClaim) (labels.Selector, error) {
	selector, err := metav1.LabelSelectorAsSelector(&c.Spec.PoolSelector.LabelSelector)
	if err != nil {
		return nil, refuse(claimant.Invalid, "spec.poolSelector", "%v", err)
	}
	return selector, nil
}

// matching returns the pools that the claim's selector matches, in name order.
func (d *IPClaims) matching(ctx context.Context, c *ipamv1.IPClaim) ([]ipamv1.PoolReference, error) {
	selector, err := selectorOf(c)
	if err != nil {
		return nil, err
	}
	var list client.ObjectList = &ipamv1.GlobalIPPoolList{}
	if kinds.Weir(c.Spec.PoolSelector.Kind) == kinds.IPPool {
		list = &ipamv1.IPPoolList{}
	}
	namespace := PoolOf(c, c.Spec.PoolSelector.Kind, "").Namespace
	if err = d.Client.List(ctx, list, client.InNamespace(namespace), client.MatchingLabelsSelector{Selector: selector}); err != nil {
		return nil, fmt.Errorf("listing %ss: %w", c.Spec.PoolSelector.Kind, err)
	}
	var refs []ipamv1.PoolReference
	err = meta.EachListItem(list, func(obj runtime.Object) error {
		if p, ok := obj.(pools.Own); ok {
			refs = append(refs, p.PoolReference())
		}
		return nil
	})
	slices.SortFunc(refs, func(a, b ipamv1.PoolReference) int { return strings.Compare(a.Name, b.Name) })
	return refs, err
}

// request returns what the claim asks of one pool.
func (d *IPClaims) request(ctx context.Context, c *ipamv1.IPClaim, ref ipamv1.PoolReference) (ledger.Claim, error) {
	a := d.asks(c, ref)
	a.reads, a.also = func(*pools.Known) (demand, error) { return readPrefix(c) }, func(p *pools.Known, _ demand) error { return checkFamily(c, p.Says) }
	v, err := d.judge(ctx, a)
	if err != nil {
		return ledger.Claim{}, err
	}
	return ledger.Claim{
		Ref: ReferenceOf(c), GenerateName: c.GenerateName, Pool: ref, Bits: v.bits(v.pool), Want: v.want, Purpose: ledger.ForClaim,
	}, nil
}

// Adoption returns what a claim asks for that arrived with its prefix: that very one, whatever the pool's bounds and exclusions,
// and even of a pool that hands out nothing now. It errs with a Refusal.
func (d *IPClaims) Adoption(ctx context.Context, c *ipamv1.IPClaim) (ledger.Claim, error) {
	a := d.asks(c, PoolOf(c, c.Spec.PoolRef.Kind, c.Spec.PoolRef.Name))
	a.needs, a.reads = needsPool, func(*pools.Known) (demand, error) { return parsePrefix(c) }
	v, err := d.judge(ctx, a)
	if err != nil {
		return ledger.Claim{}, err
	}
	return ledger.Claim{Ref: ReferenceOf(c), Pool: a.pool, Bits: v.want.Bits(), Want: v.want, Purpose: ledger.ForAdopted}, nil
}

// asks is what a claim asks of a pool, whatever it wants of it.
func (d *IPClaims) asks(c *ipamv1.IPClaim, ref ipamv1.PoolReference) ask {
	return ask{
		pool: ref, namespace: c.Namespace, thing: aPrefix,
		may: func(ctx context.Context, pool poolspec.Pool) (bool, string, error) {
			return d.Registry.Rules.MayClaim(ctx, c.Namespace, pool)
		},
		owns: func(ctx context.Context, pool poolspec.Pool) (bool, error) {
			return d.Registry.Rules.Owns(ctx, c.Namespace, pool)
		},
	}
}

// judge errs with a Refusal of an IPClaim's where it is denied what it asks. What may change by itself has another reason: a pool may come
// yet, or become visible, and one that is closed may open.
func (d *IPClaims) judge(ctx context.Context, a ask) (verdict, error) {
	v, err := judge(ctx, d.Registry, a)
	if err != nil || v.denied == nil {
		return v, err
	}
	fields := map[subject]string{ofPool: "spec.poolRef.name", ofLength: "spec.prefixLength", ofPrefix: "spec.cidr"}
	refusal := &claimant.Refusal{
		Reason: ipamv1.ClaimReadyAllocationFailedReason, Cause: v.denied.cause, Field: fields[v.denied.about], Message: v.denied.message,
	}
	if v.denied.closed != nil || v.denied.cause == claimant.Missing || v.denied == v.hidden {
		refusal.Reason = ipamv1.ClaimReadyPoolNotReadyReason
	}
	if v.denied.closed != nil && v.denied.closed.Paused {
		refusal.Paused = v.denied.message
	}
	return v, refusal
}

// readPrefix reads what the claim asks for: this very prefix, or any of a length.
func readPrefix(c *ipamv1.IPClaim) (demand, error) {
	if c.Spec.CIDR == "" {
		return demand{length: c.Spec.PrefixLength}, nil
	}
	d, err := parsePrefix(c)
	if err == nil && c.Spec.PrefixLength != nil && int(*c.Spec.PrefixLength) != d.want.Bits() {
		err = refuse(claimant.Invalid, "spec.prefixLength", "cidr is a /%d", d.want.Bits())
	}
	return d, err
}

func parsePrefix(c *ipamv1.IPClaim) (demand, error) {
	want, err := ipspace.ParsePrefix(c.Spec.CIDR)
	if err != nil {
		return demand{}, refuse(claimant.Invalid, "spec.cidr", "%v", err)
	}
	return demand{want: want}, nil
}

// checkFamily refuses a claim that says another family than the pool's.
func checkFamily(c *ipamv1.IPClaim, pool poolspec.Pool) error {
	if c.Spec.IPFamily != "" && c.Spec.IPFamily != pool.Family {
		return refuse(claimant.Invalid, "spec.ipFamily", "the pool's addresses are %s", pool.Family)
	}
	return nil
}

// PoolOf completes a reference from a claim to a pool.
func PoolOf(c *ipamv1.IPClaim, kind, name string) ipamv1.PoolReference {
	ref := kinds.Pool(kinds.Weir(kind), c.Namespace, name)
	if ref.GroupKind() != kinds.IPPool {
		ref.Namespace = ""
	}
	return ref
}

// ReferenceOf is how the ledger's records name the claim. One that is to get its name from the API server has none yet: what that begins with
// is nobody's name.
func ReferenceOf(c *ipamv1.IPClaim) ipamv1.ClaimReference {
	return kinds.Claim(kinds.IPClaim, client.ObjectKeyFromObject(c), c.UID)
}
