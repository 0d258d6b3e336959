// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package book

import (
	"fmt"
	"net/netip"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/records"
)

// policy says to whom pools hand out what, whoever holds it. It owns nothing: it reads the shapes
// of pools, and what the records retain.
type policy struct {
	records *records.Table
	pools   *pools
	foreign *foreigners
}

// keptFor returns what the pool keeps for the claim, or retains for it, if it hands that out still.
func (b *policy) keptFor(e *poolEntry, c Claim) (netip.Prefix, bool) {
	if own, ok := e.pool.Shape.KeptFor(c.names()...); ok {
		return own, true
	}
	retained, ok := b.retainedFor(e, c)
	c.Want = retained
	return retained, ok && b.refuses(e, c) == nil
}

// retainedFor returns what the pool retains for the claim, if that is as long as the claim wants.
func (b *policy) retainedFor(e *poolEntry, c Claim) (netip.Prefix, bool) {
	for _, r := range b.records.Of(records.ClaimantOf(c.Ref)) {
		if r.Retained && !r.Deleted && r.Pool == e.ref && r.CIDR.Bits() == c.Bits {
			return r.CIDR, true
		}
	}
	return netip.Prefix{}, false
}

// denies says why the pool gives the claim nothing, whatever it asks for.
func denies(e *poolEntry, c Claim) error {
	reason, denied := e.pool.Shape.Denies(records.ClaimantOf(c.Ref))
	if !denied || c.overrides() {
		return nil
	}
	return &RefusedError{CIDR: c.Want, Reason: reason, Why: Denied}
}

// refuses says why the pool does not hand out to the claim what that asks for, even if nobody holds
// it. A claim that arrived with its answer overrides exclusions, bounds and what is kept for
// others: it has the address already, and what is not recorded would be handed out again.
func (b *policy) refuses(e *poolEntry, c Claim) error {
	if err := denies(e, c); err != nil {
		return err
	}
	shape := e.pool.Shape
	if c.Purpose != records.ForAdopted {
		for _, k := range shape.KeptIn(c.Want) {
			if !k.IsFor(c.names()...) {
				return &RefusedError{CIDR: c.Want, Reason: "is kept for another claim", Kept: k}
			}
		}
	}
	if reason, refused := refusal(shape, c); refused {
		return &RefusedError{CIDR: c.Want, Reason: reason, Why: whyRefused(shape, c)}
	}
	if !c.overrides() && b.pools.isWithheldAbove(e, c.Want) {
		return &RefusedError{CIDR: c.Want, Reason: "is kept back, or part of it, by a pool that this one was carved from"}
	}
	if !c.overrides() && c.Purpose != records.ForChildPool && b.foreign.names(e.pool.Space, c.Want) { // a pool below keeps it back itself
		return &RefusedError{CIDR: c.Want, Reason: "is in use, or part of it, by another IPAM provider, whose IPAddress names it"}
	}
	return nil
}

// refusal says why the pool does not hand out to any claim, or not to this one, what nothing is
// kept in.
func refusal(shape *pooltree.Pool, c Claim) (reason string, refused bool) {
	if c.overrides() {
		return shape.RefusesAdopted(c.Want)
	}
	if reason, refused = shape.Refuses(c.Want); refused {
		return reason, true
	}
	if reason, refused = shape.RefusesOffLink(c.Want); refused && c.Purpose != records.ForChildPool {
		return reason, true
	}
	own, isKept := shape.KeptFor(c.names()...)
	switch longest := shape.LongestBits(); {
	case isKept && c.Want != own:
		return fmt.Sprintf("the pool keeps %s for the claim, which gets nothing else", own), true
	case c.Want.Bits() > longest:
		return fmt.Sprintf("the longest prefix that the pool allows is /%d", longest), true
	}
	return "", false
}

// whyRefused tells apart why refusal refuses.
func whyRefused(shape *pooltree.Pool, c Claim) Why {
	own, isKept := shape.KeptFor(c.names()...)
	switch {
	case !shape.Contains(c.Want):
		return OutsidePool
	case isKept && own != c.Want:
		return KeptElsewhere
	}
	return OtherReason
}

// outsidePolicy returns a RefusedError that says why the pool would not hand out to the claim, or
// carved pool, what its record holds; nil if it would.
func (b *policy) outsidePolicy(claim ipamv1.ClaimReference) error {
	for _, r := range b.records.Of(records.ClaimantOf(claim)) {
		if r.Claim.UID != claim.UID || r.Deleted || r.Released() || isPoolsOwn(r.Purpose) || r.Purpose == records.ForMoved {
			continue
		}
		e := b.pools.of(r.Pool)
		if e.pool == nil {
			continue
		}
		c := Claim{Ref: r.Claim, Alias: r.Alias, Pool: r.Pool, Want: r.CIDR, Purpose: r.Purpose}
		if c.Purpose == records.ForAdopted {
			c.Purpose = records.ForClaim
		}
		if err := b.refuses(e, c); err != nil {
			return err
		}
	}
	return nil
}
