// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"fmt"
	"hash/fnv"
	"net/netip"
	"slices"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/external"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/providers/openstack/neutron"
)

// A pool's stock is what it may hand out without creating it: the floating IPs that its source lists,
// and those that it keeps when their claims go. A claim takes one by having it described as its own,
// on condition of the revision at which it was seen free. A cloud that ignores such conditions has no
// stock: two claims could take one floating IP.

// suitability is what a floating IP is to a claim that looks for one.
type suitability string

const (
	// takeable: nothing uses it, and it is nobody's.
	takeable suitability = "takeable"
	// inUse: a port has it, or port forwardings use it.
	inUse suitability = "in use"
	// others: it is a claim's, or another pool's.
	others suitability = "others'"
	// described: a person has written something into its description.
	described suitability = "described"
)

// available is a floating IP that a claim may take, as long as it is as it was judged. Only
// judgeStock makes one, and judgeOwnership of what a claim has arrived with.
type available struct {
	seen neutron.FloatingIP
	// isLent: Weir did not make it.
	isLent bool
}

// judgeStock decides whether a claim of the pool with that key may take a floating IP: nothing uses
// it, and it either says that it is free in this pool, or is listed by the pool and says nothing.
func judgeStock(seen neutron.FloatingIP, key string, isListed bool) (available, suitability) {
	id, isWeirs := parse(seen.Description)
	isFree := isWeirs && id.key == key && id.owner == free
	switch {
	case seen.IsInUse():
		return available{}, inUse
	case isFree, isListed && seen.Description == "":
		return available{seen, isListed}, takeable
	case isWeirs, !isListed:
		return available{}, others
	}
	return available{}, described
}

// take makes a floating IP a claim's: one conditional change. If another claim has been faster, it is
// to be looked for again.
func take(ctx context.Context, cloud *neutron.Client, key string, claim ipamv1.ClaimReference, may available) (neutron.FloatingIP, error) {
	as := describe
	if may.isLent {
		as = describeLent
	}
	description, err := as(key, claim)
	if err != nil {
		return neutron.FloatingIP{}, err
	}
	taken, err := cloud.Describe(ctx, may.seen, description)
	if neutron.KindOf(err) == neutron.NotFound {
		return neutron.FloatingIP{}, fmt.Errorf("floating IP %s has gone: %w", may.seen.Address, ledger.ErrBusy)
	}
	return taken, err
}

// listed returns the addresses that a pool's source lists.
func listed(pool external.Pool) []netip.Addr {
	all := make([]netip.Addr, 0, len(pool.Source.PreAllocatedFloatingIPs))
	for _, text := range pool.Source.PreAllocatedFloatingIPs {
		if address, err := netip.ParseAddr(text); err == nil { // poolspec refuses others
			all = append(all, address)
		}
	}
	return all
}

// listedPerCall is how many addresses one list asks for. It keeps its URL below 4 KiB.
const listedPerCall = 100

// findListed yields to found what there is of a pool's listed addresses: one list for each hundred,
// until found returns false.
func findListed(ctx context.Context, cloud *neutron.Client, pool external.Pool, addresses []netip.Addr, found func([]neutron.FloatingIP) bool) error {
	for chunk := range slices.Chunk(addresses, listedPerCall) {
		all, err := cloud.FindByAddresses(ctx, pool.Network, chunk...)
		if err != nil {
			return err
		}
		if !found(all) {
			return nil
		}
	}
	return nil
}

// findStock returns a floating IP of the pool's stock that the claim may take; false if there is none. Those that the source lists come
// first. kept are those that the pool has kept. What is free, while its former claim's record is there, is not taken: the consumer of
// that claim may bind it. A patient claim waits for it, if there is nothing else, with an error.
func findStock(
	ctx context.Context, cloud *neutron.Client, pool external.Pool, request external.Request, kept []neutron.FloatingIP,
) (may available, ok bool, err error) {
	if !cloud.IsConditional() {
		return available{}, false, nil
	}
	addresses := listed(pool)
	var leaving []available
	consider := func(found []neutron.FloatingIP) (goOn bool) {
		all := takeables(startingAt(found, request.Claim.UID), pool.Key, addresses)
		free := slices.IndexFunc(all, func(a available) bool { return !request.IsOthers(a.seen.Address) })
		if ok = free >= 0; ok {
			may = all[free]
		}
		leaving = append(leaving, all...)
		return !ok
	}
	err = findListed(ctx, cloud, pool, startingAt(addresses, request.Claim.UID), consider)
	if err == nil && !ok && consider(kept) && len(leaving) > 0 && request.IsPatient {
		err = awaitFormer(leaving[0].seen)
	}
	return may, ok, err
}

// takeables returns those that a claim of the pool with that key may take.
func takeables(found []neutron.FloatingIP, key string, listed []netip.Addr) []available {
	all := make([]available, 0, len(found))
	for _, f := range found {
		if may, is := judgeStock(f, key, slices.Contains(listed, f.Address)); is == takeable {
			all = append(all, may)
		}
	}
	return all
}

// startingAt returns all elements, beginning at one that differs from claim to claim: claims that come
// at once seldom want the same.
func startingAt[T any](all []T, uid string) []T {
	if len(all) == 0 {
		return nil
	}
	h := fnv.New32a()
	_, _ = h.Write([]byte(uid))
	first := int(h.Sum32() % uint32(len(all))) //nolint:gosec // a pool lists 1,024 at most
	return slices.Concat(all[first:], all[:first])
}

// doubts says which of the floating IPs that a pool lists it does not hand out, and why: they are not
// there, a person or another pool has them, or they are in use.
func doubts(ctx context.Context, cloud *neutron.Client, pool external.Pool) ([]string, error) {
	addresses := listed(pool)
	if len(addresses) == 0 {
		return nil, nil
	}
	if !cloud.IsConditional() {
		return []string{"spec.openStack.preAllocatedFloatingIPs: none is handed out: the cloud has no revision numbers"}, nil
	}
	missing := map[netip.Addr]bool{}
	for _, address := range addresses {
		missing[address] = true
	}
	var all []string
	err := findListed(ctx, cloud, pool, addresses, func(found []neutron.FloatingIP) bool {
		for _, f := range found {
			delete(missing, f.Address)
			all = append(all, doubtOf(f, pool.Key)...)
		}
		return true
	})
	for _, address := range addresses {
		if missing[address] {
			all = append(all, fmt.Sprintf("spec.openStack.preAllocatedFloatingIPs: the project has no floating IP %s of the pool's network", address))
		}
	}
	return all, err
}

// doubtOf says why a listed floating IP is not handed out; nothing if it is, or may be next.
func doubtOf(f neutron.FloatingIP, key string) []string {
	const path = "spec.openStack.preAllocatedFloatingIPs: "
	id, isWeirs := parse(f.Description)
	switch _, is := judgeStock(f, key, true); {
	case isWeirs && id.key == key, is == takeable:
		return nil
	case isWeirs:
		return []string{fmt.Sprintf("%s%s is of another pool: its description is %q", path, f.Address, f.Description)}
	case f.Description != "":
		return []string{fmt.Sprintf("%s%s is not handed out, as its description is %q: empty it first", path, f.Address, f.Description)}
	}
	return []string{fmt.Sprintf("%s%s is %s, not by a claim of the pool", path, f.Address, f.Use())}
}
