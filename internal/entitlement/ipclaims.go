// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package entitlement

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claimant"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ipspace"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/kinds"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/poolspec"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/tenancy"
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
	Rules    *tenancy.Rules
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
		return fmt.Errorf("getting %s %s: %w", c.Spec.PoolRef.Kind, c.Spec.PoolRef.Name, err)
	}
	if kinds.Weir(c.Spec.PoolSelector.Kind) == kinds.Weir(c.Spec.PoolRef.Kind) && selector.Matches(labels.Set(p.GetLabels())) {
		return nil
	}
	return refuse(claimant.Invalid, "spec.poolRef", "poolSelector does not match %s %q", c.Spec.PoolRef.Kind, c.Spec.PoolRef.Name)
}

// selected returns the requests of a claim that chooses its pool by labels. Pools that are closed to it are passed over.
func (d *IPClaims) selected(ctx context.Context, c *ipamv1.IPClaim) ([]ledger.Claim, error) {
	refs, err := d.matching(ctx, c)
	if err != nil {
		return nil, err
	}
	var requests []ledger.Claim
	for _, ref := range refs {
		request, err := d.request(ctx, c, ref)
		var refusal *claimant.Refusal
		switch {
		case err == nil:
			requests = append(requests, request)
		case !errors.As(err, &refusal):
			return nil, err
		}
	}
	if len(requests) == 0 {
		return nil, refuse(claimant.NoMatch, "spec.poolSelector", "no %s that hands out what is asked for here matches", c.Spec.PoolSelector.Kind)
	}
	return requests, nil
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
	p, err := d.Registry.Open(ctx, ref)
	var closed *pools.ClosedError
	switch isClosed := errors.As(err, &closed); {
	case isClosed && closed.Missing:
		return ledger.Claim{}, absent(ref, c)
	case err != nil && !isClosed:
		return ledger.Claim{}, err
	}
	ok, reason, err := d.Rules.MayClaim(ctx, c.Namespace, p.Says)
	switch {
	case err != nil:
		return ledger.Claim{}, err
	case !ok:
		return ledger.Claim{}, refuse(claimant.Forbidden, "spec.poolRef.name", "%s", reason)
	case p.Says.External:
		return ledger.Claim{}, refuseExternal(ref)
	case closed != nil:
		return ledger.Claim{}, shut(closed)
	}
	want, bits, err := d.wanted(ctx, c, p)
	if err != nil {
		return ledger.Claim{}, err
	}
	return ledger.Claim{
		Ref: ReferenceOf(c), GenerateName: c.GenerateName, Pool: ref, Bits: bits, Want: want, Purpose: ledger.ForClaim,
	}, nil
}

// refuseExternal is what an IPClaim is told whose pool hands out floating IPs. IPClaims are answered
// while they are admitted, which is no time to ask a cloud.
func refuseExternal(ref ipamv1.PoolReference) error {
	return refuse(claimant.Invalid, "spec.poolRef.name", "%s %q hands out floating IPs, to IPAddressClaims only", ref.Kind, ref.Name)
}

// shut is what a claim is told whose pool hands out nothing now.
func shut(closed *pools.ClosedError) error {
	refusal := &claimant.Refusal{Reason: ipamv1.ClaimReadyPoolNotReadyReason, Field: "spec.poolRef.name", Message: closed.Message}
	if closed.Paused {
		refusal.Paused = closed.Message
	}
	return refusal
}

// Adoption returns what a claim asks for that arrived with its prefix: that very one, whatever the pool's bounds and exclusions,
// and even of a pool that hands out nothing now. It errs with a Refusal.
func (d *IPClaims) Adoption(ctx context.Context, c *ipamv1.IPClaim) (ledger.Claim, error) {
	ref := PoolOf(c, c.Spec.PoolRef.Kind, c.Spec.PoolRef.Name)
	p, err := d.Registry.Open(ctx, ref)
	var closed *pools.ClosedError
	if err != nil && (!errors.As(err, &closed) || closed.Missing) {
		if closed != nil {
			err = absent(ref, c)
		}
		return ledger.Claim{}, err
	}
	ok, reason, err := d.Rules.MayClaim(ctx, c.Namespace, p.Says)
	if !ok || err != nil {
		return ledger.Claim{}, cmp.Or(err, refuse(claimant.Forbidden, "spec.poolRef.name", "%s", reason))
	}
	if p.Says.External {
		return ledger.Claim{}, refuseExternal(ref)
	}
	want, err := ipspace.ParsePrefix(c.Spec.CIDR)
	if err != nil {
		return ledger.Claim{}, refuse(claimant.Invalid, "spec.cidr", "%v", err)
	}
	return ledger.Claim{Ref: ReferenceOf(c), Pool: ref, Bits: want.Bits(), Want: want, Purpose: ledger.ForAdopted}, nil
}

// absent is what a claim is told whose pool does not exist. A pool of its own namespace may come yet; of another one nobody learns more
// than that there is none for it.
func absent(ref ipamv1.PoolReference, c *ipamv1.IPClaim) error {
	refusal := &claimant.Refusal{
		Reason: ipamv1.ClaimReadyAllocationFailedReason, Cause: claimant.Missing, Field: "spec.poolRef.name", Message: tenancy.Absent(ref, c.Namespace),
	}
	if ref.Namespace != "" {
		refusal.Reason = ipamv1.ClaimReadyPoolNotReadyReason
	}
	return refusal
}

// wanted returns what the claim asks for: this very prefix, or any of a length.
func (d *IPClaims) wanted(ctx context.Context, c *ipamv1.IPClaim, p *pools.Known) (want netip.Prefix, bits int, err error) {
	shape, field := p.Registered.Shape, "spec.prefixLength"
	bits = shape.ClaimBits()
	if c.Spec.PrefixLength != nil {
		bits = int(*c.Spec.PrefixLength)
	}
	if c.Spec.CIDR != "" {
		if want, err = ipspace.ParsePrefix(c.Spec.CIDR); err != nil {
			return want, 0, refuse(claimant.Invalid, "spec.cidr", "%v", err)
		}
		if c.Spec.PrefixLength != nil && bits != want.Bits() {
			return want, 0, refuse(claimant.Invalid, field, "cidr is a /%d", want.Bits())
		}
		bits, field = want.Bits(), "spec.cidr"
	}
	family := p.Says.Family
	switch {
	case c.Spec.IPFamily != "" && c.Spec.IPFamily != family:
		return want, 0, refuse(claimant.Invalid, "spec.ipFamily", "the pool's addresses are %s", family)
	case want.IsValid() && poolspec.FamilyOf(want.Addr()) != family:
		return want, 0, refuse(claimant.Invalid, "spec.cidr", "%s is not of the pool, whose addresses are %s", want, family)
	}
	if reason, refused := shape.RefusesLength(bits); refused {
		return want, 0, refuse(claimant.Invalid, field, "/%d: %s", bits, reason)
	}
	return want, bits, d.checkLength(ctx, c, p, bits, field)
}

// checkLength keeps to the default length whom a pool without bounds does not belong to.
func (d *IPClaims) checkLength(ctx context.Context, c *ipamv1.IPClaim, p *pools.Known, bits int, field string) error {
	registered := p.Registered
	if registered.Shape.IsBounded() || bits == registered.Shape.ClaimBits() {
		return nil
	}
	owns, err := d.Rules.Owns(ctx, c.Namespace, p.Says)
	if owns || err != nil {
		return err
	}
	return refuse(claimant.Forbidden, field,
		"the pool belongs to another project and sets no bounds (allocation.minPrefixLength, maxPrefixLength): it gives a /%d only", registered.Shape.ClaimBits())
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
