// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"time"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/records"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ipspace"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
)

var (
	// ErrExhausted: nothing that fits is free, and the index is at least as new as the request.
	ErrExhausted = errors.New("no free address")
	// ErrTaken: the asked prefix is held by somebody else.
	ErrTaken = errors.New("address is taken")
	// ErrRefused: the asked prefix is never handed out by this pool; RefusedError says why.
	ErrRefused = errors.New("address is not handed out by this pool")
	// ErrNotReady: the pool is unknown here, or none of its blocks is confirmed yet.
	ErrNotReady = errors.New("pool is not ready")
	// ErrBusy: somebody else's record or a lost race stands in the way, or it is not certain yet that nothing is free; trying
	// again soon may end otherwise.
	ErrBusy = errors.New("allocation is contended")
	// ErrForbidden: the API server does not let the record be stored, because of a quota or another webhook; the text is its own.
	ErrForbidden = errors.New("the IPAllocation cannot be stored")
)

// RefusedError says why an asked prefix is not handed out. It is an ErrRefused. Its text names nobody; HeldFor does.
type RefusedError struct {
	CIDR   netip.Prefix
	Reason string
	// Kept is what the pool keeps for another claim, if that is the reason.
	Kept pooltree.Kept
}

func (e *RefusedError) Error() string { return fmt.Sprintf("%s: %s", e.CIDR, e.Reason) }

// Unwrap returns ErrRefused.
func (e *RefusedError) Unwrap() error { return ErrRefused }

// TakenError says that an asked prefix or a pool's block is held by somebody else. It is an ErrTaken. Its text names nobody:
// who asked may be of another project than who holds it. HeldFor does.
type TakenError struct {
	CIDR netip.Prefix
	By   Holding
}

func (e *TakenError) Error() string {
	if e.CIDR.IsSingleIP() {
		return fmt.Sprintf("%s is taken", e.CIDR.Addr())
	}
	return fmt.Sprintf("%s is taken, or part of it", e.CIDR)
}

// Unwrap returns ErrTaken.
func (e *TakenError) Unwrap() error { return ErrTaken }

// HeldFor returns for whom the prefix is held or kept that stands in the way, and the words to say so with after the text of
// err; false if nothing of that kind does. Whether it may be said is for the caller to find out.
func HeldFor(err error) (who ipamv1.ClaimReference, words string, ok bool) {
	var taken *TakenError
	var refused *RefusedError
	switch {
	case errors.As(err, &taken):
		return taken.By.Claim, fmt.Sprintf("%s is held for %s", textOf(taken.By.CIDR), taken.By), true
	case errors.As(err, &refused) && refused.Kept.Prefix.IsValid():
		c := refused.Kept.For
		who = ipamv1.ClaimReference{APIGroup: c.Group, Kind: c.Kind, Namespace: c.Namespace, Name: c.Name}
		return who, fmt.Sprintf("%s is kept for %s", textOf(refused.Kept.Prefix), c), true
	}
	return ipamv1.ClaimReference{}, "", false
}

// textOf writes a prefix, and a single address without its length.
func textOf(p netip.Prefix) string {
	if p.IsSingleIP() {
		return p.Addr().String()
	}
	return p.String()
}

// Pool is what the ledger needs to know of a pool that it hands out from.
type Pool struct {
	Ref ipamv1.PoolReference
	UID types.UID
	// Space is the address space.
	Space string
	// Shape says which addresses the pool has and which of them it keeps back.
	Shape *pooltree.Pool
	// Parent is the pool that the pool's block is carved from; the zero value for a root. Arrived says that the pool was created
	// with a block that it has had before.
	Parent  ipamv1.PoolReference
	Arrived bool
	// Namespace is where the records of the pool's own blocks live.
	Namespace string
	// Cooldown is how long what was released is not handed out again; 0 means that it may be at once.
	Cooldown time.Duration
}

// IsCarved says whether the pool's block is carved from a parent.
func (p *Pool) IsCarved() bool { return p.Parent.Name != "" }

// Claim is a request for one prefix.
type Claim struct {
	// Ref names the claim; its UID is what the record is made for.
	Ref ipamv1.ClaimReference
	// GenerateName is what the claim's name will begin with, where it has none yet.
	GenerateName string
	Pool         ipamv1.PoolReference
	// Bits is the wanted prefix length.
	Bits int
	// Want is the asked prefix; the zero value means any.
	Want netip.Prefix
	// Revision is the resourceVersion at which the claim was read: that nothing is free is only said of a later state of the
	// ledger. Where it is not known, Reserve waits until the ledger is proved as new as the call.
	Revision string
	// Purpose is Claim, or Adopted for a claim that arrived with its answer: then the pool's exclusions do not count. ChildPool is
	// for a block that is carved.
	Purpose ipamv1.AllocationPurpose
	// Arrived: the carved pool arrived with its block, for which the same holds.
	Arrived bool
	// Owners and Labels go onto the record. All owners are stored objects.
	Owners []metav1.OwnerReference
	// Namespace is where the record lives; empty means beside the claim.
	Namespace string
	Labels    map[string]string

	// stored: there is an object of the UID. What is handed out of a carved pool that lives lies in its block.
	stored bool
}

// Allocation is a record that has won: its prefix may be told to the claim that it was made for, and to nobody else.
type Allocation struct {
	CIDR netip.Prefix

	record records.Identity
}

// Holding is one record as readers see it.
type Holding struct {
	CIDR    netip.Prefix
	Purpose ipamv1.AllocationPurpose
	Pool    ipamv1.PoolReference
	Claim   ipamv1.ClaimReference
	// Record is the IPAllocation's namespace and name.
	Record types.NamespacedName
	// ReleasedAt is when the claim let go of the prefix, which cools down since; zero while the claim holds it.
	ReleasedAt time.Time
	// Retained: nobody gets the prefix but the next claim of that name.
	Retained bool
	// Terminating: somebody has marked the record for deletion. That frees nothing by itself.
	Terminating bool

	version records.Identity
	// space is the address space.
	space string
	// arrived: somebody else than Weir has made the record.
	arrived bool
	// seen is when this process first saw the record.
	seen int64
}

func holdingOf(r *records.Record) Holding {
	h := Holding{CIDR: r.CIDR, Purpose: r.Purpose, Pool: r.Pool, Claim: r.Claim, Record: r.Key, version: r.Identity, space: r.Space, seen: r.Seen}
	if r.Released() {
		h.ReleasedAt, h.Retained = time.Unix(r.ReleasedAt, 0), r.Retained
	}
	h.Terminating, h.arrived = r.Terminating, r.Restored
	return h
}

// Claimant is what the prefix is held for, whatever its UID.
func (h Holding) Claimant() pooltree.Claimant { return records.ClaimantOf(h.Claim) }

// String names what the prefix is held for, or was.
func (h Holding) String() string {
	name := h.Claim.Name
	if h.Claim.Namespace != "" {
		name = h.Claim.Namespace + "/" + name
	}
	switch {
	case h.Retained:
		name += ", retained"
	case !h.ReleasedAt.IsZero():
		name += ", cooling down since " + h.ReleasedAt.UTC().Format(time.RFC3339)
	case h.Purpose == ipamv1.MovedPurpose:
		name += ", which has moved to another cluster: held until it moves back or IPAllocation " + h.Record.String() + " is deleted"
	}
	return h.Claim.Kind + " " + name
}

// Capacity counts the addresses of a pool. Available is what Total leaves when exclusions and everything held are taken
// away, each address once.
type Capacity struct {
	Total, Allocated, Available, Excluded, Cooling, Delegated ipspace.Count
	// Claims and Children are the numbers of records that hold a prefix of this pool.
	Claims, Children int32
	// Held is how many of them are holds, of what moved to another cluster.
	Held int32
	// Serving: every block of the pool is confirmed.
	Serving bool
	// LargestFree is the length of the largest free block, in bits; -1 when there is none.
	LargestFree int
}

func sortHoldings(holdings []Holding) []Holding {
	slices.SortFunc(holdings, func(a, b Holding) int { return a.CIDR.Compare(b.CIDR) })
	return holdings
}
