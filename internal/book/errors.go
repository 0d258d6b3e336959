// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package book

import (
	"errors"
	"fmt"
	"net/netip"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
)

var (
	// ErrExhausted: nothing that fits is free, and the book is at least as new as the request.
	ErrExhausted = errors.New("no free address")
	// ErrTaken: the asked prefix is held by somebody else.
	ErrTaken = errors.New("address is in use")
	// ErrRefused: the asked prefix is never handed out by this pool; RefusedError says why.
	ErrRefused = errors.New("address is not handed out by this pool")
	// ErrNotReady: the pool is unknown here, or none of its blocks is confirmed yet.
	ErrNotReady = errors.New("pool is not ready")
	// ErrBusy: somebody else's record or a lost race stands in the way, or it is not certain yet
	// that nothing is free; trying again soon may end otherwise.
	ErrBusy = errors.New("allocation is contended")
)

// ErrUnproved: nothing is free as far as the book knows, which may be older than the request.
var ErrUnproved = errors.New("not proved")

// RefusedError says why an asked prefix is not handed out, or to a claim nothing at all. It is an
// ErrRefused. Its text names nobody; HeldFor does.
type RefusedError struct {
	// CIDR is what is asked for; the zero value means nothing in particular.
	CIDR   netip.Prefix
	Reason string
	// Why tells some reasons apart.
	Why Why
	// Kept is what the pool keeps for another claim, if that is the reason.
	Kept pooltree.Kept
}

// Why tells reasons of a RefusedError apart.
type Why uint8

const (
	// OtherReason is none of those below.
	OtherReason Why = iota
	// OutsidePool: the prefix is not in the pool.
	OutsidePool
	// KeptElsewhere: the pool keeps another prefix for the claim.
	KeptElsewhere
	// Denied: the pool gives the claim nothing.
	Denied
)

func (e *RefusedError) Error() string {
	if !e.CIDR.IsValid() {
		return e.Reason
	}
	return fmt.Sprintf("%s: %s", e.CIDR, e.Reason)
}

// Unwrap returns ErrRefused.
func (e *RefusedError) Unwrap() error { return ErrRefused }

// TakenError says that an asked prefix or a pool's block is held by somebody else. It is an
// ErrTaken. Its text names nobody: who asked may be of another project than who holds it. HeldFor
// does.
type TakenError struct {
	CIDR netip.Prefix
	By   Holding
}

func (e *TakenError) Error() string {
	if e.CIDR.IsSingleIP() {
		return fmt.Sprintf("%s is in use", e.CIDR.Addr())
	}
	return fmt.Sprintf("%s is in use, or part of it", e.CIDR)
}

// Unwrap returns ErrTaken.
func (e *TakenError) Unwrap() error { return ErrTaken }

// HeldFor returns what holds the prefix that stands in the way, or no more than the claim that it is
// kept for, and the words that continue the text of err with it; false if nothing of that kind does.
// Whether they may be shown is for the caller to find out.
func HeldFor(err error) (who Holding, words string, ok bool) {
	var taken *TakenError
	var refused *RefusedError
	switch {
	case errors.As(err, &taken):
		if taken.By.CIDR == taken.CIDR {
			return taken.By, fmt.Sprintf(" by %s", taken.By), true
		}
		return taken.By, fmt.Sprintf(": %s is in use by %s", textOf(taken.By.CIDR), taken.By), true
	case errors.As(err, &refused) && refused.Kept.Prefix.IsValid():
		c := refused.Kept.For
		who.Claim = ipamv1.ClaimReference{APIGroup: c.Group, Kind: c.Kind, Namespace: c.Namespace, Name: c.Name}
		return who, fmt.Sprintf(": %s is kept for %s", textOf(refused.Kept.Prefix), c), true
	}
	return Holding{}, "", false
}

// textOf writes a prefix, and a single address without its length.
func textOf(p netip.Prefix) string {
	if p.IsSingleIP() {
		return p.Addr().String()
	}
	return p.String()
}
