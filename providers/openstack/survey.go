// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"cmp"
	"context"
	"net/netip"
	"slices"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/external"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/providers/openstack/neutron"
)

// A survey compares the floating IPs of a network with the records of a pool. Both change meanwhile: an allocation makes the floating IP
// first and the record last, and so does a release. So what differs is looked at a second time, in this order:
//
//	list of the cloud -> records -> live reads of claims -> list of the cloud -> records
//
// What names a claim that was not here at the live read was given back before, unless it is left over: then the second list has it.
// What a record of a living claim holds was there before the record, so the second list lacks it only if it has gone.

// left is what a floating IP of the pool's network is to a survey.
type left string

const (
	// elsewhere: it is of another pool, or not Weir's.
	elsewhere left = "elsewhere"
	// stock: it is free.
	stock left = "stock"
	// recorded: a record of its claim holds it.
	recorded left = "recorded"
	// heldForOther: a record of another UID holds it: that of a claim that has moved, for instance.
	heldForOther left = "held for another"
	// unrecorded: no record holds it. Its claim may be about to get it.
	unrecorded left = "unrecorded"
)

// judgeLeft decides what a floating IP is to the pool with that key, given the pool's records of the address, and whether any record holds it.
func judgeLeft(seen neutron.FloatingIP, key string, records []external.Record, isHeld bool) left {
	id, isWeirs := parse(seen.Description)
	isIts := func(r external.Record) bool { return r.Claim.UID == id.owner }
	switch {
	case !isWeirs, id.key != key:
		return elsewhere
	case id.owner == free:
		return stock
	case slices.ContainsFunc(records, isIts):
		return recorded
	case isHeld:
		return heldForOther
	}
	return unrecorded
}

// survey is one comparison. failed is an error of what is known here, which ended it.
type survey struct {
	cloud  *neutron.Client
	pool   external.Pool
	known  external.Known
	failed error
}

func (s *survey) compare(ctx context.Context) (external.Survey, error) {
	listed, err := s.list(ctx)
	if err != nil {
		return external.Survey{}, err
	}
	suspects := s.differences(listed)
	if suspects.IsEmpty() {
		return external.Survey{Stock: s.stockIn(listed)}, nil
	}
	suspects.Unknown = s.keep(ctx, suspects.Unknown)
	suspects.Surplus = s.keepSurplus(ctx, suspects.Surplus)
	suspects.Missing = s.keepRecords(ctx, suspects.Missing)
	suspects.Taken = s.keepRecords(ctx, suspects.Taken)
	if s.failed != nil {
		return external.Survey{}, s.failed
	}
	if suspects.IsEmpty() {
		return external.Survey{Stock: s.stockIn(listed)}, nil
	}
	if listed, err = s.list(ctx); err != nil {
		return external.Survey{}, err
	}
	again := s.differences(listed)
	return external.Survey{
		Stock:   s.stockIn(listed),
		Unknown: both(suspects.Unknown, again.Unknown),
		Surplus: both(suspects.Surplus, again.Surplus),
		Missing: both(suspects.Missing, again.Missing),
		Taken:   both(suspects.Taken, again.Taken),
	}, nil
}

// list returns the floating IPs of the network. Where something is recorded, an empty list is proved.
func (s *survey) list(ctx context.Context) ([]neutron.FloatingIP, error) {
	listed, err := s.cloud.List(ctx, s.pool.Network)
	if err == nil && len(listed) == 0 && len(s.known.Records()) > 0 {
		err = proveNetwork(ctx, s.cloud, s.pool)
	}
	return listed, err
}

// differences returns what differs, whatever has become of the claims.
func (s *survey) differences(listed []neutron.FloatingIP) external.Survey {
	var found external.Survey
	records := s.known.Records()
	at, outside := map[netip.Addr][]external.Record{}, map[netip.Addr]neutron.FloatingIP{}
	for _, r := range records {
		at[r.Address] = append(at[r.Address], r)
	}
	for _, f := range listed {
		outside[f.Address] = f
	}
	having := s.having(records, outside)
	for _, f := range listed {
		if judgeLeft(f, s.pool.Key, at[f.Address], s.known.IsHeld(f.Address)) != unrecorded {
			continue
		}
		claim, hasAnother := having[claimIn(f.Description).UID]
		if !hasAnother {
			claim = claimIn(f.Description)
		} else {
			found.Surplus = append(found.Surplus, s.surplusOf(claim, f))
		}
		found.Unknown = append(found.Unknown, external.Leftover{ID: f.ID, Address: f.Address, Claim: claim})
	}
	slices.SortFunc(records, func(a, b external.Record) int { return a.Address.Compare(b.Address) })
	for _, r := range records {
		switch f, exists := outside[r.Address]; {
		case !exists:
			found.Missing = append(found.Missing, r)
		case !isOf(f, s.pool.Key, r.Claim):
			found.Taken = append(found.Taken, r)
		}
	}
	slices.SortFunc(found.Unknown, func(a, b external.Leftover) int { return cmp.Compare(a.ID, b.ID) })
	slices.SortFunc(found.Surplus, func(a, b external.Surplus) int { return cmp.Compare(a.ID, b.ID) })
	return found
}

// stockIn counts what is free in the pool, or listed by it without a description.
func (s *survey) stockIn(found []neutron.FloatingIP) (all external.Stock) {
	own := listed(s.pool)
	for _, f := range found {
		switch {
		case !isUnowned(f, s.pool.Key, slices.Contains(own, f.Address)):
		case f.IsInUse():
			all.Bound++
		default:
			all.Free++
		}
	}
	return all
}

// having returns the claims that have a floating IP which a record of theirs holds, by UID.
func (s *survey) having(records []external.Record, outside map[netip.Addr]neutron.FloatingIP) map[string]ipamv1.ClaimReference {
	all := map[string]ipamv1.ClaimReference{}
	for _, r := range records {
		if isOf(outside[r.Address], s.pool.Key, r.Claim) {
			all[r.Claim.UID] = r.Claim
		}
	}
	return all
}

// surplusOf is what a claim has beside its own.
func (s *survey) surplusOf(claim ipamv1.ClaimReference, f neutron.FloatingIP) external.Surplus {
	own, err := describeAll(s.pool.Key, claim)
	return external.Surplus{
		Leftover: external.Leftover{ID: f.ID, Address: f.Address, Claim: claim}, Use: f.Use(),
		IsAltered: err != nil || !slices.Contains(own, f.Description),
	}
}

func isOf(f neutron.FloatingIP, key string, claim ipamv1.ClaimReference) bool {
	id, isWeirs := parse(f.Description)
	return isWeirs && id.key == key && id.owner == claim.UID
}

// keep returns those whose claims are not here.
func (s *survey) keep(ctx context.Context, all []external.Leftover) []external.Leftover {
	return slices.DeleteFunc(slices.Clone(all), func(l external.Leftover) bool { return s.life(ctx, l.Claim) != external.NotHere })
}

// keepSurplus returns those whose claims live: of the others everything goes.
func (s *survey) keepSurplus(ctx context.Context, all []external.Surplus) []external.Surplus {
	return slices.DeleteFunc(slices.Clone(all), func(one external.Surplus) bool { return s.life(ctx, one.Claim) != external.Living })
}

// keepRecords returns those whose claims live: what is being released is given back before its record goes.
func (s *survey) keepRecords(ctx context.Context, all []external.Record) []external.Record {
	return slices.DeleteFunc(slices.Clone(all), func(r external.Record) bool { return s.life(ctx, r.Claim) != external.Living })
}

// life reads a claim live; "" once a read has failed.
func (s *survey) life(ctx context.Context, claim ipamv1.ClaimReference) external.Life {
	if s.failed != nil {
		return ""
	}
	var life external.Life
	life, s.failed = s.known.Life(ctx, claim, isCut(s.pool.Key, claim))
	return life
}

// both returns what is in both lists.
func both[T comparable](first, second []T) []T {
	return slices.DeleteFunc(slices.Clone(first), func(one T) bool { return !slices.Contains(second, one) })
}
