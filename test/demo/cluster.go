// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"go4.org/netipx"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/util/wait"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
)

// pool is either kind of pool.
type pool interface {
	client.Object
	conditions.Getter
	PoolSpec() *ipamv1.IPPoolSpec
	PoolStatus() *ipamv1.IPPoolStatus
	PoolReference() ipamv1.PoolReference
}

// answer is a claim with its IPAddress, both as they were read.
type answer struct {
	claim   *ipamv1beta2.IPAddressClaim
	address *ipamv1beta2.IPAddress
	// took is the time from the request to the watch's news of the answer.
	took time.Duration
}

func claimFor(namespace, name, kind, pool string) *ipamv1beta2.IPAddressClaim {
	return builder.IPAddressClaim(namespace, name, kind, pool).Build()
}

// askingFor returns a claim for an address of the pool of machines.
func askingFor(name, address string) *ipamv1beta2.IPAddressClaim {
	return builder.IPAddressClaim(red, name, ipamv1.IPPoolKind, "machines").WithAnnotation(ipamv1.AddressAnnotation, address).Build()
}

func (p *play) createNamespaces(ctx context.Context, names ...string) error {
	errs := make([]error, 0, len(names))
	for _, name := range names {
		errs = append(errs, p.client.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: name}}))
	}
	return errors.Join(errs...)
}

// claimAll creates claims one after the other and waits for each one's answer.
func (p *play) claimAll(ctx context.Context, claims []*ipamv1beta2.IPAddressClaim) ([]*answer, error) {
	answers := make([]*answer, 0, len(claims))
	for _, claim := range claims {
		begin := time.Now()
		if err := p.client.Create(ctx, claim); err != nil {
			return nil, fmt.Errorf("creating claim %s: %w", claim.Name, err)
		}
		a, err := p.awaitAnswer(ctx, claim, begin)
		if err != nil {
			return nil, err
		}
		answers = append(answers, a)
	}
	return answers, nil
}

func (p *play) awaitAnswer(ctx context.Context, claim *ipamv1beta2.IPAddressClaim, begin time.Time) (*answer, error) {
	claim, err := p.awaitClaim(ctx, claim, func(c *ipamv1beta2.IPAddressClaim) bool { return c.Status.AddressRef.Name != "" })
	if err != nil {
		return nil, err
	}
	a := &answer{claim: claim, address: &ipamv1beta2.IPAddress{}, took: time.Since(begin)}
	key := client.ObjectKey{Namespace: claim.Namespace, Name: claim.Status.AddressRef.Name}
	if err := p.client.Get(ctx, key, a.address); err != nil {
		return nil, fmt.Errorf("reading the answer of claim %s: %w", claim.Name, err)
	}
	if !conditions.IsTrue(claim, ipamv1beta2.IPAddressClaimReadyCondition) {
		return nil, fmt.Errorf("claim %s has an address and is not Ready: %s", claim.Name, readyMessage(claim))
	}
	return a, nil
}

// claimRefused creates a claim and waits until its Ready condition is False for
// the reason.
func (p *play) claimRefused(ctx context.Context, claim *ipamv1beta2.IPAddressClaim, reason string) (*ipamv1beta2.IPAddressClaim, error) {
	if err := p.client.Create(ctx, claim); err != nil {
		return nil, fmt.Errorf("creating claim %s: %w", claim.Name, err)
	}
	claim, err := p.awaitClaim(ctx, claim, func(c *ipamv1beta2.IPAddressClaim) bool {
		return c.Status.AddressRef.Name != "" || conditions.IsFalse(c, ipamv1beta2.IPAddressClaimReadyCondition)
	})
	if err != nil {
		return nil, err
	}
	if got := conditions.GetReason(claim, ipamv1beta2.IPAddressClaimReadyCondition); got != reason {
		return nil, fmt.Errorf("claim %s is Ready=False for reason %s, expected %s", claim.Name, got, reason)
	}
	return claim, nil
}

// awaitClaim watches a claim until something is so.
func (p *play) awaitClaim(
	ctx context.Context, claim *ipamv1beta2.IPAddressClaim, so func(*ipamv1beta2.IPAddressClaim) bool,
) (*ipamv1beta2.IPAddressClaim, error) {
	ctx, cancel := context.WithTimeout(ctx, waitTimeout)
	defer cancel()
	watcher, err := p.client.Watch(ctx, &ipamv1beta2.IPAddressClaimList{}, client.InNamespace(claim.Namespace),
		client.MatchingFieldsSelector{Selector: fields.OneTermEqualSelector("metadata.name", claim.Name)})
	if err != nil {
		return nil, fmt.Errorf("watching claim %s: %w", claim.Name, err)
	}
	defer watcher.Stop()
	for event := range watcher.ResultChan() {
		if shown, ok := event.Object.(*ipamv1beta2.IPAddressClaim); ok && so(shown) {
			return shown, nil
		} else if ok {
			claim = shown
		}
	}
	return nil, fmt.Errorf("claim %s/%s is not answered after %s; its status: %+v", claim.Namespace, claim.Name, waitTimeout, claim.Status)
}

func readyMessage(claim *ipamv1beta2.IPAddressClaim) string {
	return conditions.GetMessage(claim, ipamv1beta2.IPAddressClaimReadyCondition)
}

// awaitReady waits until a pool serves.
func (p *play) awaitReady(ctx context.Context, pool pool) error {
	return eventually(ctx, "pool "+pool.GetName()+" to be ready", func(ctx context.Context) error {
		if err := p.client.Get(ctx, client.ObjectKeyFromObject(pool), pool); err != nil {
			return err
		}
		if ready := conditions.Get(pool, ipamv1.ReadyCondition); ready == nil || ready.Status != metav1.ConditionTrue {
			return fmt.Errorf("its Ready condition: %+v", ready)
		}
		return nil
	})
}

// awaitCounts waits until every pool's status counts the claims that have an
// address from it and the pools carved from it: it is written with a delay, so
// as to be written less often.
func (p *play) awaitCounts(ctx context.Context) error {
	return eventually(ctx, "the pools' status", func(ctx context.Context) error {
		pools, err := p.pools(ctx)
		if err != nil {
			return err
		}
		leaves, err := p.leaves(ctx)
		if err != nil {
			return err
		}
		t := &tree{pools: pools, leaves: leaves}
		for _, pool := range pools {
			claims, children := len(t.claims(pool)), len(t.children(pool))
			if got := pool.PoolStatus().Claims; got == nil || int(*got) != claims {
				return fmt.Errorf("pool %s counts %s claims, it has %d", pool.GetName(), number(got), claims)
			}
			if got := pool.PoolStatus().Children; got == nil || int(*got) != children {
				return fmt.Errorf("pool %s counts %s children, it has %d", pool.GetName(), number(got), children)
			}
		}
		return nil
	})
}

// pools reads all pools, of both kinds.
func (p *play) pools(ctx context.Context) ([]pool, error) {
	namespaced, global := &ipamv1.IPPoolList{}, &ipamv1.GlobalIPPoolList{}
	if err := errors.Join(p.client.List(ctx, namespaced), p.client.List(ctx, global)); err != nil {
		return nil, fmt.Errorf("listing pools: %w", err)
	}
	all := make([]pool, 0, len(namespaced.Items)+len(global.Items))
	for i := range namespaced.Items {
		all = append(all, &namespaced.Items[i])
	}
	for i := range global.Items {
		all = append(all, &global.Items[i])
	}
	return all, nil
}

// deletePools deletes all pools, those that others are carved from after these.
func (p *play) deletePools(ctx context.Context) error {
	return eventually(ctx, "the pools' deletion", func(ctx context.Context) error {
		pools, err := p.pools(ctx)
		if err != nil {
			return err
		}
		t := &tree{pools: pools}
		for _, pool := range pools {
			if len(t.children(pool)) > 0 || pool.GetDeletionTimestamp() != nil {
				continue
			}
			if err := p.client.Delete(ctx, pool); client.IgnoreNotFound(err) != nil {
				return fmt.Errorf("deleting pool %s: %w", pool.GetName(), err)
			}
		}
		if len(pools) > 0 {
			return fmt.Errorf("%d pools are left", len(pools))
		}
		return nil
	})
}

// awaitGone waits until no object of these kinds is left.
func (p *play) awaitGone(ctx context.Context, lists ...client.ObjectList) error {
	return eventually(ctx, "what was deleted to go", func(ctx context.Context) error {
		for _, list := range lists {
			if err := p.client.List(ctx, list); err != nil {
				return err
			}
			if n := meta.LenList(list); n > 0 {
				return fmt.Errorf("%d objects are left in %T", n, list)
			}
		}
		return nil
	})
}

// referenceOf returns the pool that a claim refers to.
func referenceOf(claim *ipamv1beta2.IPAddressClaim) ipamv1.PoolReference {
	ref := ipamv1.PoolReference{Kind: claim.Spec.PoolRef.Kind, Name: claim.Spec.PoolRef.Name}
	if ref.Kind == ipamv1.IPPoolKind {
		ref.Namespace = claim.Namespace
	}
	return ref
}

func (p *play) poolOf(ctx context.Context, claim *ipamv1beta2.IPAddressClaim) (pool, error) {
	ref := referenceOf(claim)
	var found pool = &ipamv1.IPPool{}
	if ref.Kind == ipamv1.GlobalIPPoolKind {
		found = &ipamv1.GlobalIPPool{}
	}
	if err := p.client.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, found); err != nil {
		return nil, fmt.Errorf("reading the pool of claim %s: %w", claim.Name, err)
	}
	return found, nil
}

// eventually waits until try does not err.
func eventually(ctx context.Context, what string, try func(context.Context) error) error {
	var last error
	err := wait.PollUntilContextTimeout(ctx, poll, waitTimeout, true, func(ctx context.Context) (bool, error) {
		last = try(ctx)
		return last == nil, nil
	})
	if err != nil {
		return fmt.Errorf("waiting for %s: %w", what, errors.Join(err, last))
	}
	return nil
}

// showPools prints all pools with what their status counts.
func (p *play) showPools(ctx context.Context) error {
	pools, err := p.pools(ctx)
	if err != nil {
		return err
	}
	rows := make([][]string, 0, len(pools))
	for _, pool := range pools {
		c, status := pool.PoolStatus().Capacity, pool.PoolStatus()
		rows = append(rows, []string{
			referenceText(pool.PoolReference()), orDash(join(blocks(pool.PoolSpec()))), c.Total, c.Excluded, c.Allocated, c.Available,
			number(status.Claims), conditions.GetReason(pool, ipamv1.ReadyCondition),
		})
	}
	p.table([]string{"POOL", "ADDRESSES", "TOTAL", "EXCLUDED", "ALLOCATED", "AVAILABLE", "CLAIMS", "READY"}, rows)
	return nil
}

// showAnswers prints what claims got.
func (p *play) showAnswers(answers []*answer) {
	rows := make([][]string, 0, len(answers))
	for _, a := range answers {
		rows = append(rows, []string{
			a.claim.Namespace + "/" + a.claim.Name, a.address.Spec.Address, "/" + number(a.address.Spec.Prefix),
			orDash(a.address.Spec.Gateway), orDash(a.address.Annotations[ipamv1.DNSServersAnnotation]),
			referenceText(referenceOf(a.claim)), round(a.took).String(),
		})
	}
	p.table([]string{"CLAIM", "ADDRESS", "PREFIX", "GATEWAY", "DNS", "POOL", "ANSWERED IN"}, rows)
}

func referenceText(ref ipamv1.PoolReference) string {
	return strings.TrimPrefix(ref.Namespace+"/"+ref.Name, "/")
}

// blocks returns the entries that a pool consists of.
func blocks(spec *ipamv1.IPPoolSpec) []ipamv1.AddressEntry {
	if spec.CIDR != "" {
		return []ipamv1.AddressEntry{ipamv1.AddressEntry(spec.CIDR)}
	}
	return spec.Addresses
}

// covers reports whether an address is in one of the entries: CIDRs, ranges and
// single addresses.
func covers(entries []ipamv1.AddressEntry, address netip.Addr) bool {
	return slices.ContainsFunc(entries, func(entry ipamv1.AddressEntry) bool {
		if prefix, err := netip.ParsePrefix(string(entry)); err == nil {
			return prefix.Contains(address)
		}
		if span, err := netipx.ParseIPRange(string(entry)); err == nil {
			return span.Contains(address)
		}
		return string(entry) == address.String()
	})
}

func join(entries []ipamv1.AddressEntry) string {
	texts := make([]string, 0, len(entries))
	for _, entry := range entries {
		texts = append(texts, string(entry))
	}
	return strings.Join(texts, ", ")
}

func number(n *int32) string {
	if n == nil {
		return "-"
	}
	return strconv.Itoa(int(*n))
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return text
}
