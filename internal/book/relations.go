// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package book

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/records"
)

// How two records relate. Records that do not overlap, or are of two address spaces, are none of
// each other's business. Of two that overlap, "other" is looked at while "r" is judged:
//
//	encloses, either way    a block and what comes out of its pool, or of a pool carved from that:
//	                        meant to overlap
//	isPredecessor           other stands for another claim of r's name, whose prefix r takes over
//	isRepeat                other says the very same of the very same claim, and is not older
//	areOfOnePool            both are blocks of one carved pool, which grows or shrinks
//	areHandedBack           both say that this cluster has let go of a block
//	Older                   other was certainly made first: r loses, unless other mayHaveEnclosed r
//	none of these           r is blocked: it neither wins nor goes while other is there
//
// Older is never guessed: a record whose age is not known is neither older nor younger.

// isBlock says whether records of the purpose are, or are about to be, blocks of a pool.
func isBlock(p records.Purpose) bool {
	return p == records.ForRoot || p == records.ForChildPool
}

// isBlockOf says whether the record is a block of that pool.
func isBlockOf(r *records.Record, pool ipamv1.PoolReference) bool {
	return isBlock(r.Purpose) && r.Claim.Pool() == pool
}

// isBlockAt is isBlockOf of a record that need not be unpacked for it.
func isBlockAt(t *records.Table, h records.Handle, pool ipamv1.PoolReference) bool {
	return isBlock(t.Terms(h).Purpose) && t.IsOf(h, records.ClaimantOf(ClaimOf(pool, "")))
}

// isWithMember says whether the record is a block that a member may use. A hold of one is not: its pool
// is at another hub.
func isWithMember(r *records.Record) bool {
	return r.IsWithMember() && r.Purpose == records.ForChildPool
}

// isPoolsOwn says whether records of the purpose are about a root pool itself, its own block or that
// it has handed that back: nothing is handed out by them.
func isPoolsOwn(p records.Purpose) bool { return p == records.ForRoot || p.IsHandBack() }

// isOwn says whether the record is a root pool's own: that neither counts as allocated nor as
// delegated.
func isOwn(r *records.Record) bool { return r.Role == records.Stored && isPoolsOwn(r.Purpose) }

// isHandBack says whether the record says that this cluster has let go of a block.
func isHandBack(r *records.Record) bool {
	return r.Role == records.Stored && r.Purpose == records.ForHandBack
}

// IsWeirKind says whether the record is for an IPClaim or for a carved pool, of whatever group: such
// an object is its own answer.
func IsWeirKind(r *records.Record) bool {
	return r.Purpose == records.ForChildPool || r.Claim.APIGroup == ipamv1.GroupVersion.Group && !isPoolsOwn(r.Purpose)
}

// awaitsObject says whether the record itself does not show that its object, of one of Weir's own
// kinds, was ever stored. Of an object that arrives no webhook was asked.
func awaitsObject(r *records.Record) bool {
	return IsWeirKind(r) && !r.Owned && !r.Confirmed && !r.Released() && !r.Restored
}

// holds says whether the record keeps what has moved to another cluster.
func holds(r *records.Record) bool { return r.Purpose == records.ForMoved && !r.Released() }

// hasGone says whether the record's claim has moved to another cluster, or may just be moving
// there: nobody gets the prefix but who comes back with it.
func hasGone(r *records.Record) bool {
	return r.Purpose == records.ForMoved || r.Moving && IsWeirKind(r)
}

// Outcome of a judgement.
type Outcome uint8

const (
	// won: no other record overlaps, other than the blocks that enclose this one.
	Won Outcome = iota
	// lost: an older record overlaps, so this one can never have won.
	Lost
	// blocked: only records overlap that are younger, or whose age is not certain. They cannot win
	// while this one exists, and this one may not be told to anybody before they are gone.
	Blocked
	// superseded: the watch has shown a later version, or none: somebody else answers for the
	// record now.
	Superseded
)

func (o Outcome) String() string {
	return [...]string{Won: "won", Lost: "lost", Blocked: "blocked", Superseded: "superseded"}[o]
}

// Verdict is a judgement and, unless won, the record that decided it.
type Verdict struct {
	Outcome Outcome
	By      Holding
}

// Judge decides about r at this moment of the watch.
func (b *lineage) Judge(r *records.Record) Verdict {
	v := Verdict{Outcome: Won}
	for _, other := range b.spaces.overlapping(r.Space, r.CIDR) {
		switch {
		case other.Handle == r.Handle || b.areMeant(other, r) || isPredecessor(other, r) || isRepeat(other, r) || areOfOnePool(other, r) || areHandedBack(other, r):
		case Older(other, r) && !b.mayHaveEnclosed(other, r):
			return Verdict{Outcome: Lost, By: HoldingOf(other)}
		case v.Outcome == Won:
			v = Verdict{Outcome: Blocked, By: HoldingOf(other)}
		}
	}
	return v
}

// areMeant says whether the two are meant to overlap. A hand-back lies in the block that its pool has,
// and a block that comes after it is nobody's.
func (b *lineage) areMeant(other, r *records.Record) bool {
	return b.encloses(other, r) || !isHandBack(other) && b.encloses(r, other)
}

// encloses says whether block is a block of the pool that r comes from, or of one of that pool's
// ancestors: such a pair is meant to overlap.
func (b *lineage) encloses(block, r *records.Record) bool { return b.isAbove(block, r.Pool, r.CIDR) }

// mayHaveEnclosed says whether block was perhaps meant to overlap r when that was made: it is
// around r, and the blocks between them have gone since. So r may have won.
func (b *lineage) mayHaveEnclosed(block, r *records.Record) bool {
	return isBlock(block.Purpose) && block.CIDR.Bits() <= r.CIDR.Bits() && !b.isRooted(r.Pool, r.CIDR)
}

// isPredecessor says whether the record was made for another claim of the same name, and is no
// reason for r to lose:
//
//	it is retained           for the next claim of that name, which r is for
//	r adopts an answer       that is named like the claim and carries r's UID, so that the other cannot be answered any more
//	it is held               because the other has moved to another cluster, from where r's claim comes back with it
//	of one of Weir's own     the object is its own answer, and only one of a name can be stored: moved, restored or made again
//
// A block that a member may use is passed over by one of the same member only, and what is used here
// by none that goes to a member.
func isPredecessor(other, r *records.Record) bool {
	isOther := other.Claim.UID != r.Claim.UID || other.Purpose == records.ForMoved
	isAlike := other.CIDR == r.CIDR && other.Pool == r.Pool && other.Member == r.Member && isOther && records.ClaimantOf(other.Claim) == records.ClaimantOf(r.Claim)
	switch {
	case !isAlike || r.Purpose == records.ForAdopted:
		return isAlike
	case other.Released():
		return other.Retained
	case other.Purpose == records.ForMoved: // of a carved pool the choice has seen to it that it arrived
		return r.Purpose == records.ForChildPool
	}
	return IsWeirKind(r)
}

// isRepeat says whether the other is a second record of the same claim, or of the same carved pool,
// for the same prefix: two managers have begun at it. The younger loses to the older; in no other
// case is one of them a reason for the other to wait, for both say the same.
func isRepeat(other, r *records.Record) bool { return saysSame(other, r) && !Older(other, r) }

// saysSame says whether the claim can be told the very same by either of two records.
func saysSame(a, b *records.Record) bool {
	isTold := func(r *records.Record) bool { return !isPoolsOwn(r.Purpose) && r.Purpose != records.ForMoved }
	return isTold(a) && isTold(b) && a.Claim == b.Claim && a.CIDR == b.CIDR && a.Pool == b.Pool && !a.Released() && !b.Released()
}

// areOfOnePool says whether the very same pool, by UID, was carved both from the same one. Its blocks
// are the fewest prefixes that make it up: when it grows or shrinks, the new ones lie over those that
// it is about to give up. Neither takes anything from anybody else.
func areOfOnePool(a, b *records.Record) bool {
	isCarved := a.Purpose == records.ForChildPool && b.Purpose == records.ForChildPool && !a.Released() && !b.Released()
	return isCarved && a.Claim == b.Claim && a.Claim.UID != "" && a.Pool == b.Pool && a.CIDR != b.CIDR
}

// areHandedBack says whether both records say that this cluster has let go of a block. Neither is a
// reason for the other to lose: two managers may record one hand-back, the rest of a block is
// recorded before the whole gives way, and what was handed back may be handed back for a later
// template as well.
func areHandedBack(a, b *records.Record) bool { return isHandBack(a) && isHandBack(b) }

// standsFor says whether the other record keeps what r keeps with a member: it is confirmed, of a pool
// of the same name, for the same block and member. Of two that are confirmed the later one stands.
// Which goes is so the same for every manager.
func standsFor(other, r *records.Record) bool {
	isAlike := r.Member != "" && other.Member == r.Member && other.CIDR == r.CIDR && other.Pool == r.Pool && other.Space == r.Space &&
		records.ClaimantOf(other.Claim) == records.ClaimantOf(r.Claim)
	stands := other.Purpose == records.ForChildPool && other.Confirmed && !other.Released() && !other.Terminating && !other.Deleted
	return isAlike && stands && (!r.Confirmed || Older(r, other))
}

// Older says whether r was certainly created before s.
func Older(r, s *records.Record) bool {
	if r.Created == "" || s.Created == "" {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(r.Created, s.Created)
	return err == nil && order < 0
}

// answers says whether the record can be the answer to a claim. One that somebody has marked for
// deletion is so only where it is known to have been: it won here, it belongs to an object that is its
// own answer, or came with it, and is stored, or it is confirmed as a block of a member. A hold never
// is: what it is held for is elsewhere, although a claim of that UID may be here still while it moves.
func answers(r *records.Record, c Claim) bool {
	isIts := IsWeirKind(r) || r.Purpose == records.ForAdopted || c.Purpose == records.ForAdopted && c.Want.IsValid()
	stands := r.Purpose != records.ForMoved && (!r.Terminating || r.Won || r.Owned && isIts || r.Confirmed && r.Member != "")
	return c.isAlike(r) && !r.Released() && !r.Deleted && stands && (!c.Want.IsValid() || r.CIDR == c.Want)
}

// isAlike says whether the record is for the very claim, and a hand-back only if one is asked for.
func (c Claim) isAlike(r *records.Record) bool {
	return r.Claim.UID == c.Ref.UID && isHandBack(r) == (c.Purpose == records.ForHandBack)
}

// returnsTo says whether the claim, or the carved pool, arrived with what it asks for. One of
// Weir's own kinds that is held under its present UID is not back: it is just leaving, and nothing
// pauses it.
func (c Claim) returnsTo(r *records.Record) bool {
	isItsOwnAnswer := c.Purpose == records.ForChildPool || IsWeirKind(r)
	leaves := r.Purpose == records.ForMoved && isItsOwnAnswer && r.Claim.UID == c.Ref.UID
	return c.IsRestored() && !leaves
}

// Repeats says whether the other record is for the same object and prefix.
func Repeats(r *records.Record, other Holding) bool {
	return other.Claim == r.Claim && other.CIDR == r.CIDR && other.Purpose != records.ForMoved
}

// isFor says whether the promise was made to the claim, which may not have had its name then.
func isFor(r *records.Record, c Claim, stem string) bool {
	promised, claim := records.ClaimantOf(r.Claim), records.ClaimantOf(c.Ref)
	if promised.Name == "" && strings.HasPrefix(claim.Name, stem) {
		promised.Name = claim.Name
	}
	return promised == claim && r.CIDR == c.Want
}

// isOtherTry says whether a mark of this process is for another request for the name of what is
// asked for, at the very same prefix: the API server stores one of them at a time.
func isOtherTry(mark, asked *records.Record) bool {
	isAlike := mark.CIDR == asked.CIDR && mark.Pool == asked.Pool && mark.Member == asked.Member && records.ClaimantOf(mark.Claim) == records.ClaimantOf(asked.Claim)
	isOther := mark.Role == promised || mark.Role == tentative && mark.Claim.UID != asked.Claim.UID
	return isAlike && isOther && IsWeirKind(asked) && asked.Claim.Name != ""
}
