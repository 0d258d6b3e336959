// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claim

// What is done about a claim is decided here and nowhere else, by facts that were gathered before. Nothing here reads or writes.

// facts are what is known of a claim that is not being deleted, its answer and its pool.
type facts struct {
	offer offered
	// answer is what the answer under the claim's name is to the claim.
	answer relation
	// made: the answer has Weir's finalizer. terminating: it is being deleted. samePool: it is of the pool that the claim names.
	made, terminating, samePool bool
	// recorded: the answer is the claim's, and a record of the claim holds it beyond doubt.
	recorded bool
	// returned: the answer came back with the claim: it, the claim or its pool was moved or restored.
	returned bool
	// arrived: the claim was created as a move or a restore does.
	arrived bool
}

// offered is what the claim's pool has for it.
type offered uint8

const (
	// fresh: an address.
	fresh offered = iota
	// nothingNew: what the claim has or came with, and nothing else.
	nothingNew
	// halted: the pool, or its Cluster, is paused or its Cluster is missing.
	halted
	// hidden: nothing, for the claim may not have anything of the pool.
	hidden
	// unknown: the claim names no pool, or one that cannot be read.
	unknown
)

// relation is what an answer is to a claim.
type relation uint8

const (
	// none: there is no answer under the claim's name.
	none relation = iota
	// its: the answer carries the claim's UID.
	its
	// unowned: it carries no claim's UID.
	unowned
	// anothers: it carries another claim's UID.
	anothers
)

// action is what to do about a claim.
type action string

const (
	allocateAfresh action = "allocate afresh"
	adoptAnswer    action = "adopt the answer"
	// reserveAsked: somebody made an answer by hand, which asks for its address.
	reserveAsked action = "reserve the answer's address"
	// awaitAnswer: what the claim had may still arrive.
	awaitAnswer action = "await what the claim had"
	// restoreAnswer: adopt the answer of the claim's former self.
	restoreAnswer action = "restore the answer"
	// discardAnswer: an earlier claim of the name left it behind.
	discardAnswer action = "discard the answer"
	// rejectAnswer: it is of another pool than the claim's, and not Weir's to remove.
	rejectAnswer action = "reject the answer"
	// keepAnswer: whatever has become of the pool, an answered claim keeps what it has.
	keepAnswer action = "keep the answer"
	// withhold: say why; only what the claim came with is recorded.
	withhold    action = "withhold"
	refuseClaim action = "refuse the claim"
	refuseNew   action = "refuse a new address"
)

// decide returns what to do. Common cases come first; of two cases that hold the first counts.
func (f facts) decide() action {
	switch {
	case f.offer == fresh && f.answer == none && !f.arrived:
		return allocateAfresh
	case f.offer == fresh && f.answer == its:
		return adoptAnswer
	case f.offer >= hidden && f.recorded:
		return keepAnswer
	case f.offer == unknown:
		return refuseClaim
	case f.offer >= halted:
		return withhold
	case f.answer == none && f.arrived:
		return awaitAnswer
	case f.answer == none:
		return refuseNew
	case f.answer != its && f.returned:
		return restoreAnswer
	case f.answer == unowned && f.terminating: // the garbage collector took its claim off
		return discardAnswer
	case f.answer == unowned && !f.samePool && !f.made:
		return rejectAnswer
	case f.answer == unowned && !f.samePool:
		return discardAnswer
	case f.answer == its, f.answer == unowned && f.made: // its owner was lost: moved, restored, or a namesake that died
		return adoptAnswer
	case f.answer == unowned && f.offer == nothingNew:
		return refuseNew
	case f.answer == unowned:
		return reserveAsked
	default: // a live read shows which of the two claims is dead
		return discardAnswer
	}
}

// underName is what is known of one record under the name of a claim that lives.
type underName struct {
	// its: the record is of the claim's UID; reserved: it stands for what has moved away.
	its, reserved bool
	// answer is what the answer under the name is to the claim; made: it has Weir's finalizer; carried: it carries what the record holds.
	answer        relation
	made, carried bool
	// won: the claim's own record that begins with the same address has won; precedes: it was certainly made before this one.
	won, precedes bool
	// heldOn: a record of another UID holds the very same.
	heldOn bool
}

// fate is what becomes of a record.
type fate string

const (
	keepRecord fate = "keep"
	// dropVoid: no claim can have been told of it, or the claim's own record says the same.
	dropVoid fate = "drop"
	// endReservation: the claim is back, and its own record says the same.
	endReservation fate = "end the reservation"
	// releaseRecord: its claim is gone.
	releaseRecord fate = "release"
)

// decide returns what becomes of the record: none of what holds the answer goes, nor, before there is an answer of the claim's own, any
// record of the claim.
func (u underName) decide() fate {
	answered := u.answer == its
	switch {
	case u.its && (!answered || u.carried):
		return keepRecord
	case u.its && u.won:
		return releaseRecord
	case !u.its && u.carried && answered && !u.won && !u.precedes:
		return keepRecord
	case (u.its || u.carried && answered) && u.reserved && u.heldOn:
		return endReservation
	case u.its, u.carried && answered:
		return dropVoid
	case u.carried && (u.answer != unowned || u.made): // the answer may have been the earlier claim's; one made by hand only asks
		return keepRecord
	}
	return releaseRecord
}
