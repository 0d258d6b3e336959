// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claim

// What is done about a claim is decided here and nowhere else, by facts that were gathered before. Nothing here reads or writes.

// facts are what is known of a claim that is not being deleted, its answer and its pool.
type facts struct {
	offer offered
	// answer is what the answer under the claim's name is to the claim.
	answer relation
	// made: the answer has Weir's finalizer, or is of the claim's pool and counts as much. held: a record holds it since before the claim came.
	// terminating: it is being deleted. samePool: it is of the pool that the claim names.
	made, held, terminating, samePool bool
	// recorded: the answer is the claim's, and a record of the claim holds it beyond doubt.
	recorded bool
	// returned: the answer came back with the claim: it, the claim or its pool was moved or restored.
	returned bool
	// arrived: the claim was created as a move or a restore does.
	arrived bool
	// told: the claim's status names an answer for good. several: more than one came to it from elsewhere, and its status names none.
	told, several bool
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
	// adoptHeld: adopt an answer that was made by hand before the claim came, if the pool hands its address out to this claim.
	adoptHeld action = "adopt what is held for the answer"
	// reserveAsked: somebody made an answer by hand, which asks for its address.
	reserveAsked action = "reserve the answer's address"
	// remakeAnswer: somebody has removed the one that the claim was told of.
	remakeAnswer action = "make the answer once more"
	// refuseSeveral: a user has to say which of several answers stays.
	refuseSeveral action = "refuse several answers"
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

// row is one row of a decision table.
type row[F, D any] struct {
	holds func(F) bool
	then  D
}

// decideBy returns what the first row that holds says; the last one of a table always holds.
func decideBy[F, D any](table []row[F, D], facts F) D {
	for _, r := range table[:len(table)-1] {
		if r.holds(facts) {
			return r.then
		}
	}
	return table[len(table)-1].then
}

func (f facts) decide() action { return decideBy(actions, f) }

// actions is what is done about a claim. The common cases come first.
var actions = []row[facts, action]{
	{func(f facts) bool { return f.offer == fresh && f.answer == none && !f.arrived && !f.told }, allocateAfresh},
	{func(f facts) bool { return f.offer == fresh && f.answer == its && !f.several }, adoptAnswer},
	{func(f facts) bool { return f.offer >= hidden && f.recorded }, keepAnswer},
	{func(f facts) bool { return f.offer == unknown }, refuseClaim},
	{func(f facts) bool { return f.offer >= halted }, withhold},
	{func(f facts) bool { return f.several }, refuseSeveral},
	{func(f facts) bool { return f.answer == none && f.told }, remakeAnswer},
	{func(f facts) bool { return f.answer == none && f.arrived }, awaitAnswer},
	{func(f facts) bool { return f.answer == none }, refuseNew},
	// It holds its address in its own pool. One that is being deleted is removed, as any other that came back.
	{func(f facts) bool { return f.answer != its && f.returned && !f.samePool && !f.terminating }, rejectAnswer},
	{func(f facts) bool { return f.answer != its && f.returned }, restoreAnswer},
	// The garbage collector has taken its claim off.
	{func(f facts) bool { return f.answer == unowned && f.terminating }, discardAnswer},
	{func(f facts) bool { return f.answer == unowned && !f.samePool && !f.made }, rejectAnswer},
	{func(f facts) bool { return f.answer == unowned && !f.samePool }, discardAnswer},
	// Its owner was lost: it was moved, restored, or a namesake's that died.
	{func(f facts) bool { return f.answer == its || f.answer == unowned && f.made }, adoptAnswer},
	{func(f facts) bool { return f.answer == unowned && f.held }, adoptHeld},
	{func(f facts) bool { return f.answer == unowned && f.offer == nothingNew }, refuseNew},
	{func(f facts) bool { return f.answer == unowned }, reserveAsked},
	// A live read will show which of the two claims is dead.
	{then: discardAnswer},
}

// underName is what is known of one record, of whatever UID, under the name of a claim that lives.
type underName struct {
	// its: the record is of the claim's UID; reserved: it stands for what has moved away.
	its, reserved bool
	// answer is what the answer under the name is to the claim; made: it has Weir's finalizer, or the record is held for it;
	// carried: it carries what the record holds.
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
	// releaseOther: its claim has another answer, and may have been told of this one before.
	releaseOther fate = "release, the claim has another"
	// releaseRecord: its claim is gone.
	releaseRecord fate = "release"
)

func (u underName) decide() fate { return decideBy(fates, u) }

// fates is what becomes of a record: none that holds the answer goes, nor, before there is an answer of the claim's own, any record of
// the claim.
var fates = []row[underName, fate]{
	{func(u underName) bool { return u.its && (u.answer != its || u.carried) }, keepRecord},
	{func(u underName) bool { return u.its && u.won }, releaseOther},
	{func(u underName) bool { return !u.its && u.doubles() && !u.won && !u.precedes }, keepRecord},
	{func(u underName) bool { return (u.its || u.doubles()) && u.reserved && u.heldOn }, endReservation},
	{func(u underName) bool { return u.its || u.doubles() }, dropVoid},
	// The answer may have been the earlier claim's; one made by hand only asks.
	{func(u underName) bool { return u.carried && (u.answer != unowned || u.made) }, keepRecord},
	{then: releaseRecord},
}

// doubles says whether the claim's own answer carries what the record holds.
func (u underName) doubles() bool { return u.carried && u.answer == its }
