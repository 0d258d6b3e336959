// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package book

import (
	"net/netip"
	"slices"

	"k8s.io/apimachinery/pkg/types"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/records"
)

// claims knows what is recorded for a claim, or for a pool as one. It owns nothing: it reads the
// records, has lineage judge them, and asks ages which of them are recent.
type claims struct {
	// instance is this manager's.
	instance string
	records  *records.Table
	watched  *watched
	spaces   *spaces
	lineage  *lineage
	ages     *ages
}

// RecordOf returns the claim's record, by UID: the one that has won here, else the first. An asked
// prefix narrows it. One that somebody has marked for deletion is not taken over: it stays taken
// until the claim is answered otherwise or gone. The record that is known to be stuck does not
// count. One in dispute comes with the record that it is disputed with.
func (b *claims) RecordOf(c Claim, stuck types.UID) (found *records.Record, dispute *Holding) {
	for _, r := range b.records.Of(records.ClaimantOf(c.Ref)) {
		if answers(r, c) && r.UID != stuck && !c.isUnfit(r.CIDR) && (found == nil || r.Won && !found.Won) {
			found = r
		}
	}
	if found == nil {
		return nil, nil
	}
	return found, b.disputeOf(found)
}

// disputeOf returns what keeps this manager's record from winning, without being reason to drop it.
func (b *claims) disputeOf(r *records.Record) *Holding {
	if r.Won || r.Confirmed || r.Instance != b.instance {
		return nil
	}
	v := b.lineage.Judge(r)
	if v.Outcome != Blocked {
		return nil
	}
	return &v.By
}

// RecordsFor returns the records of all claims of this kind, namespace and name.
func (b *claims) RecordsFor(claim ipamv1.ClaimReference) []*records.Record {
	return b.records.Of(records.ClaimantOf(claim))
}

// blocksOf returns the records of the blocks that a pool of this name has, whatever its UID.
func (b *claims) blocksOf(pool ipamv1.PoolReference) []*records.Record {
	return slices.DeleteFunc(b.RecordsFor(ClaimOf(pool, "")), func(r *records.Record) bool { return !isBlock(r.Purpose) || r.Released() })
}

// OtherBlocks returns the records of the pool's own blocks that keep does not name, those of other
// pools that had its name, and the second and third of a block that several managers recorded at
// once. Drop drops them, once a live read after this call has proved that they are nobody's. What
// may belong to a pool that is just being admitted is not among them, nor, where there is no pool
// of the name (uid is empty), what arrived before its pool.
func (b *claims) OtherBlocks(pool ipamv1.PoolReference, uid types.UID, keep []netip.Prefix) []Holding {
	var others []Holding
	blocks := b.blocksOf(pool)
	for _, r := range blocks {
		if own := r.Claim.UID == string(uid); own && slices.Contains(keep, r.CIDR) && !isSecond(r, blocks) || !own && b.ages.isPending(r) {
			continue
		}
		if h := b.ages.holdingOf(r); uid != "" || !h.Arriving {
			others = append(others, h)
		}
	}
	return others
}

// HandedBack returns, by prefix, what pools of the name have handed back, for whatever template, also
// what has ended since.
func (b *claims) HandedBack(pool ipamv1.PoolReference) []Holding {
	claimant := records.ClaimantOf(ClaimOf(pool, ""))
	return SortHoldings(HoldingsOf(slices.Concat(b.records.OfPurpose(claimant, records.ForHandBack), b.records.OfPurpose(claimant, records.ForEnded))))
}

// isSecond says whether another record of the same block, confirmed like this one, has the lower
// name: every manager that sees both keeps that one. Of a member's, it keeps the one that stands.
func isSecond(r *records.Record, blocks []*records.Record) bool {
	return slices.ContainsFunc(blocks, func(other *records.Record) bool {
		if r.Member != "" {
			return other.Claim.UID == r.Claim.UID && standsFor(other, r)
		}
		return other.Confirmed && !other.Deleted && !other.Terminating && other.Claim.UID == r.Claim.UID && other.CIDR == r.CIDR &&
			other.Key.Name < r.Key.Name
	})
}

// Repeats returns the claim's records that say what an older one of them says already, and have for
// longer than takeoverDelay.
func (b *claims) Repeats(claim ipamv1.ClaimReference) []*records.Record {
	var found []*records.Record
	all := b.records.Of(records.ClaimantOf(claim))
	for _, r := range all {
		isSecond := func(first *records.Record) bool {
			return saysSame(r, first) && Older(first, r) && !first.Deleted && !first.Terminating
		}
		if r.Claim.UID == claim.UID && !r.Deleted && !r.Confirmed && !b.ages.IsRecent(r.Seen) && slices.ContainsFunc(all, isSecond) {
			found = append(found, r)
		}
	}
	return found
}

// isWithinOwn says whether a carved pool, by UID, has all of the block already: it shrinks, and what its
// parent, of that address space, has begun to keep back since takes nothing from it.
func (b *claims) isWithinOwn(space string, c Claim) bool {
	if c.Purpose != records.ForChildPool {
		return false
	}
	return slices.ContainsFunc(b.confirmedOf(c.Ref.Pool()), func(r *records.Record) bool {
		return r.Claim == c.Ref && r.Pool == c.Pool && r.Space == space && contains(r.CIDR, c.Want)
	})
}

func contains(outer, inner netip.Prefix) bool {
	return outer.Bits() <= inner.Bits() && outer.Contains(inner.Addr())
}

// isMade says whether there is a record of just what the claim wants: one is enough.
func (b *claims) isMade(c Claim) bool {
	return slices.ContainsFunc(b.records.Of(records.ClaimantOf(c.Ref)), func(r *records.Record) bool {
		return r.Claim.UID == c.Ref.UID && r.CIDR == c.Want && r.Purpose != records.ForEnded && !r.Deleted && !r.Released()
	})
}

// hadBlock says whether a carved pool of the name had the very same block before: what was handed
// out of it is in it still. It may have been restored past the webhooks, or be made again while
// claims keep its block.
func (b *claims) hadBlock(asked *records.Record) bool {
	return asked.Purpose == records.ForChildPool && slices.ContainsFunc(b.records.Of(records.ClaimantOf(asked.Claim)), func(r *records.Record) bool {
		return !hasGone(r) && isPredecessor(r, asked)
	})
}

// StandsFor returns the record that keeps with a member what this version of another record keeps, of
// a pool of the same name.
func (b *claims) StandsFor(id records.Identity) (Holding, bool) {
	r := b.watched.at(id)
	if r == nil || r.Version != id.Version {
		return Holding{}, false
	}
	for _, other := range b.RecordsFor(r.Claim) {
		if standsFor(other, r) && other.Handle != r.Handle {
			return HoldingOf(other), true
		}
	}
	return Holding{}, false
}

// HasLost says whether this very version of a claim's record is overlapped by an older one: then it
// has never won, for anybody. What arrived with its object, or is its own answer, may be in use all
// the same.
func (b *claims) HasLost(id records.Identity) bool {
	r := b.watched.at(id)
	switch {
	case r == nil || r.Version != id.Version || r.Won || r.Released():
		return false
	case r.Purpose != records.ForClaim || r.Restored || IsWeirKind(r):
		return false
	}
	return b.lineage.Judge(r).Outcome == Lost
}

// LeftBehind returns what has gone, or is just going, to another cluster with the prefix that a
// claim has won here, if anything has: the choice may not have seen it yet. Judging lets it pass,
// as it lets pass what any claim of the same name, other UID, has left; by now the book shows all
// that is older than the claim's record. Since that was judged a hold may have taken the place of
// what it was judged with.
func (b *claims) LeftBehind(c Claim, mark *records.Record) (Holding, bool) {
	for _, r := range b.spaces.overlapping(mark.Space, mark.CIDR) {
		isPassed := isPredecessor(r, mark) || holds(r) && r.Pool == mark.Pool && records.ClaimantOf(r.Claim) == records.ClaimantOf(mark.Claim)
		if hasGone(r) && isPassed && !c.returnsTo(r) {
			return HoldingOf(r), true
		}
	}
	return Holding{}, false
}

// Obstacle returns a record that keeps this one from winning and is not just about to go.
func (b *claims) Obstacle(id records.Identity) (Holding, bool) {
	r := b.watched.at(id)
	if r == nil || r.Won {
		return Holding{}, false
	}
	v := b.lineage.Judge(r)
	return v.By, v.Outcome != Won && !b.ages.IsRecent(v.By.Seen)
}

func (b *claims) confirmedOf(pool ipamv1.PoolReference) []*records.Record {
	return slices.DeleteFunc(b.blocksOf(pool), func(r *records.Record) bool { return !r.Confirmed })
}

// rivalTo returns a record that overlaps r where one of the two arrived with its prefix: the claims
// of both stay as they are. Any other that overlaps is about to lose.
func (b *claims) rivalTo(r *records.Record) (Holding, bool) {
	for _, other := range b.spaces.overlapping(r.Space, r.CIDR) {
		switch {
		case other.Handle == r.Handle || other.Deleted || other.Released() || b.lineage.encloses(other, r) || b.lineage.encloses(r, other):
		case other.Claim == r.Claim || isPredecessor(other, r) || isPredecessor(r, other):
		case r.Purpose == records.ForAdopted && !b.ages.IsRecent(other.Seen), other.Purpose == records.ForAdopted:
			return HoldingOf(other), true
		}
	}
	return Holding{}, false
}
