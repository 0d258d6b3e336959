// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package book

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ipspace"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/records"
)

// Pool is what the ledger needs to know of a pool that it hands out from.
type Pool struct {
	Ref ipamv1.PoolReference
	UID types.UID
	// Space is the address space.
	Space string
	// Shape says which addresses the pool has and which of them it keeps back.
	Shape *pooltree.Pool
	// Parent is the pool that the pool's block is carved from; the zero value for a root. Arrived
	// says that the pool was created with a block that it has had before.
	Parent  ipamv1.PoolReference
	Arrived bool
	// DelegatedTo is the cluster that hands out the pool's addresses; "" where that is this one.
	DelegatedTo string
	// Namespace is where the records of the pool's own blocks live.
	Namespace string
	// Cooldown is how long what was released is not handed out again; 0 means that it may be at
	// once.
	Cooldown time.Duration
}

// IsCarved says whether the pool's block is carved from a parent.
func (p *Pool) IsCarved() bool { return p.Parent.Name != "" }

// Claim is a request for one prefix.
type Claim struct {
	// Ref names the claim; its UID is what the record is made for.
	Ref ipamv1.ClaimReference
	// Alias is another name of the claim: what is kept for that is kept for the claim; "" for none.
	Alias string
	// GenerateName is what the claim's name will begin with, where it has none yet.
	GenerateName string
	Pool         ipamv1.PoolReference
	// Bits is the wanted prefix length.
	Bits int
	// Want is the asked prefix; the zero value means any.
	Want netip.Prefix
	// Revision is the resourceVersion at which the claim was read: that nothing is free is only
	// said of a later state of the ledger. Where it is not known, Reserve waits until the ledger is
	// proved as new as the call.
	Revision string
	// Purpose is Claim, or Adopted for a claim that arrived with its answer: then the pool's
	// exclusions do not count. ChildPool is for a block that is carved.
	Purpose records.Purpose
	// Arrived: the carved pool arrived with its block, for which the same holds.
	Arrived bool
	// DelegatedTo is the cluster that hands out the block that is carved; "" for this one.
	DelegatedTo string
	// Owners and Labels go onto the record. All owners are stored objects.
	Owners []metav1.OwnerReference
	// Namespace is where the record lives; empty means beside the claim.
	Namespace string
	Labels    map[string]string
	// ExternalID names what backs the prefix outside the cluster; "" for nothing.
	ExternalID string

	// IsUnfit says of an address that no record holds that the claim cannot have it all the same; nil: of none. It is called with the book locked.
	IsUnfit func(netip.Addr) bool

	// Stored: there is an object of the UID. What is handed out of a carved pool that lives lies in
	// its block.
	Stored bool
}

// names are those that something may be kept for.
func (c Claim) names() []pooltree.Claimant { return records.NamesOf(c.Ref, c.Alias) }

// overrides says whether the claim keeps what it came with although the pool does not hand it out
// any more.
func (c Claim) overrides() bool { return c.Purpose == records.ForAdopted || c.Arrived }

// IsRestored says whether the claim, or the carved pool, arrived with what it asks for.
func (c Claim) IsRestored() bool { return c.Purpose == records.ForAdopted || c.Arrived }

// Holding is one record as readers see it.
type Holding struct {
	CIDR    netip.Prefix
	Purpose records.Purpose
	Pool    ipamv1.PoolReference
	Claim   ipamv1.ClaimReference
	// Alias is another name of the claim; "" for none.
	Alias string
	// Record is the IPAllocation's namespace and name.
	Record types.NamespacedName
	// ReleasedAt is when the claim let go of the prefix, which cools down since; zero while the
	// claim holds it.
	ReleasedAt time.Time
	// Retained: nobody gets the prefix but the next claim of that name.
	Retained bool
	// Terminating: somebody has marked the record for deletion. That frees nothing by itself.
	Terminating bool

	// Version is what a conditional write of the record names.
	Version records.Identity
	// Space is the address space.
	Space string
	// Restored: the record was not made here.
	Restored bool
	// Member is the cluster that hands out the block; "" for none. Confirmed: the block has won.
	Member    string
	Confirmed bool
	// Backed: something outside of the cluster stands behind the prefix.
	Backed bool
	// Arriving: it came here less than the grace ago, from elsewhere or a backup, as far as this
	// process knows, so that what it is for may still be on its way. Cooling, OtherBlocks and
	// About tell it, of the moment that they were called.
	Arriving bool
	// Seen is when this process first saw the record, by the book's clock.
	Seen int64
}

// HoldingOf returns a record as readers see it.
func HoldingOf(r *records.Record) Holding {
	h := Holding{CIDR: r.CIDR, Purpose: r.Purpose, Pool: r.Pool, Claim: r.Claim, Alias: r.Alias, Record: r.Key, Version: r.Identity, Space: r.Space, Seen: r.Seen}
	if r.Released() {
		h.ReleasedAt, h.Retained = time.Unix(r.ReleasedAt, 0), r.Retained
	}
	h.Terminating, h.Restored, h.Backed = r.Terminating, r.Restored, r.Backed
	h.Member, h.Confirmed = r.Member, r.Confirmed
	return h
}

// HoldingsOf does so for several.
func HoldingsOf(rs []*records.Record) []Holding {
	holdings := make([]Holding, 0, len(rs))
	for _, r := range rs {
		holdings = append(holdings, HoldingOf(r))
	}
	return holdings
}

// SortHoldings orders them by prefix, and those of one by their records' names, and returns them.
func SortHoldings(holdings []Holding) []Holding {
	slices.SortFunc(holdings, func(a, b Holding) int {
		return cmp.Or(a.CIDR.Compare(b.CIDR), strings.Compare(a.Record.Name, b.Record.Name))
	})
	return holdings
}

// Names are those of what the prefix is held for that something may be kept for.
func (h Holding) Names() []pooltree.Claimant { return records.NamesOf(h.Claim, h.Alias) }

// IsWithMember says whether another cluster may use the block: what happens here to its pool does not
// end that.
func (h Holding) IsWithMember() bool { return h.Member != "" && h.ReleasedAt.IsZero() }

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
	case h.Purpose == records.ForHandBack:
		name += ", which has handed it back to its hub: it stays until the hub delegates it here again or IPAllocation " + h.Record.String() + " is deleted"
	case h.Purpose == records.ForMoved:
		name += ", which has moved to another cluster: held until it moves back or IPAllocation " + h.Record.String() + " is deleted"
	}
	return h.Claim.Kind + " " + name
}

// Capacity counts the addresses of a pool. Available is what Total leaves when exclusions and
// everything held are taken away, each address once.
type Capacity struct {
	Total, Allocated, Available, Excluded, Cooling, Delegated ipspace.Count
	// Kept is how many addresses are kept for claims that do not hold them.
	Kept ipspace.Count
	// Claims and Children are the numbers of prefixes of this pool that records hold: several records of the very same count once.
	Claims, Children int32
	// Held is how many of them are holds, of what moved to another cluster.
	Held int32
	// Serving: the pool hands out prefixes. Every block of it is confirmed, or it is external.
	Serving bool
	// Unlimited: the pool is external, and how many addresses it may hold is not known here. Then
	// Total and Available are zero and mean nothing.
	Unlimited bool
	// LargestFree is the length of the largest free block, in bits; -1 when there is none.
	LargestFree int
}

// Return is what a hold is for, back again: retained, for the next claim of the name. It is not the
// record that left: that was marked before there was a hold.
type Return struct{ Back, Hold Holding }

// EndsHold says whether the hold, made at that time, is not needed any more: the record that is
// back keeps the prefix, and Drop may drop the hold. That holds for what left, and for what another
// claim of the name let go of later, elsewhere. What was let go of before is a copy of an earlier
// time, which says nothing of the claim that moved away. Both times are known to the second.
func (r Return) EndsHold(made time.Time) bool {
	return r.Back.Claim.UID == r.Hold.Claim.UID || r.Back.ReleasedAt.Sub(made) >= 2*time.Second
}
