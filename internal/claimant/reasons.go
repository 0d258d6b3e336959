// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claimant

import "github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"

// Reason is why a record is released, and the proof that it is so. The zero value is no reason.
type Reason struct {
	row   row
	proof proof
	// namespace is where a hold is stored.
	namespace string
}

// row names a row of the table.
type row string

const (
	claimDeleted      row = "claim deleted"
	claimRetains      row = "claim retains"
	claimGone         row = "claim gone"
	answerDiscarded   row = "answer discarded"
	answeredOtherwise row = "answered otherwise"
	neverCommitted    row = "never committed"
	repeated          row = "repeated"
	claimMoved        row = "claim moved"
	recordLeaves      row = "record leaves"
	recordEvicted     row = "record evicted"
	holdEnded         row = "hold ended"
	holdDeleted       row = "hold deleted"
	blockHandedBack   row = "block handed back"
	blockForced       row = "block released by force"
	handBackEnded     row = "hand-back ended"
	retentionEnded    row = "retention ended"
	cooledDown        row = "cooled down"
	poolGone          row = "pool gone"
	poolShrunk        row = "pool shrunk"
	rootShrunk        row = "root shrunk"
)

// ClaimDeleted is for what a claim has that is being deleted, and whose answer has gone; or a pool
// that nothing is handed out of.
func ClaimDeleted(p GivenBack) Reason { return Reason{row: claimDeleted, proof: p} }

// ClaimRetains is for what a claim has that is being deleted, if it is to be kept for the next
// claim of the name.
func ClaimRetains(p Deleted) Reason { return Reason{row: claimRetains, proof: p} }

// ClaimGone is for what is recorded for a claim that is gone, and that has no answer.
func ClaimGone(p Gone) Reason { return Reason{row: claimGone, proof: p} }

// AnswerDiscarded is for what is recorded for a claim that is gone, and whose answer the caller has
// just removed.
func AnswerDiscarded(p GivenBack) Reason { return Reason{row: answerDiscarded, proof: p} }

// AnsweredOtherwise is for what a claim has beside its answer, and what may have been its answer
// before.
func AnsweredOtherwise(p Answered) Reason { return Reason{row: answeredOtherwise, proof: p} }

// NeverCommitted is for what a claim has beside its answer, and what was never its answer; and for
// what is recorded for an earlier claim of the name, and now for this one as well.
func NeverCommitted(p Answered) Reason { return Reason{row: neverCommitted, proof: p} }

// Repeated is for a record beside which an older one of the claim holds the same. No live read
// proves it: the ledger takes the record over, and judges it once more.
func Repeated() Reason { return Reason{row: repeated, proof: judged{}} }

// ClaimMoved is for what a claim has that lives on in another cluster, while its pool stays here.
func ClaimMoved(p MovedAway) Reason { return Reason{row: claimMoved, proof: p} }

// RecordLeaves is for a record that moves to another cluster, while its pool stays here. A hold in
// this namespace takes its place.
func RecordLeaves(p Leaving, namespace string) Reason {
	return Reason{row: recordLeaves, proof: p, namespace: namespace}
}

// RecordEvicted is for a record that cools down, and whose namespace waits for it. A record in this
// namespace goes on cooling in its place.
func RecordEvicted(p Evicted, namespace string) Reason {
	return Reason{row: recordEvicted, proof: p, namespace: namespace}
}

// HoldEnded is for a hold whose claim, or pool, is back.
func HoldEnded(p Returned) Reason { return Reason{row: holdEnded, proof: p} }

// HoldDeleted is for a hold, a block that a member may use, or a hand-back, that a user has deleted.
func HoldDeleted(p Unwanted) Reason { return Reason{row: holdDeleted, proof: p} }

// BlockHandedBack is for the block of a pool that is being deleted, which its member uses no more.
func BlockHandedBack(p HandedBack) Reason {
	if p.forced {
		return Reason{row: blockForced, proof: p}
	}
	return Reason{row: blockHandedBack, proof: p}
}

// HandBackEnded is for what this cluster has handed back, and the hub has delegated to it again. What
// the copy that it is for does not have of it is recorded anew before.
func HandBackEnded(p Redelegated) Reason { return Reason{row: handBackEnded, proof: p} }

// RetentionEnded is for what was retained, or held, for the next claim of the name, once that is
// stored and has the prefix.
func RetentionEnded(p Stored) Reason { return Reason{row: retentionEnded, proof: p} }

// CooledDown is for what was released, and whose cooldown is over.
func CooledDown(p Expired) Reason { return Reason{row: cooledDown, proof: p} }

// PoolGone is for the blocks of a pool that is gone, and that nothing is handed out of.
func PoolGone(p Gone) Reason { return Reason{row: poolGone, proof: p} }

// PoolShrunk is for the blocks that a pool has no more, and that nothing is handed out of.
func PoolShrunk(p Shrunk) Reason { return Reason{row: poolShrunk, proof: p} }

// judged is the proof of what the ledger itself judges before it changes anything.
type judged struct{}

func (judged) covers(ledger.Holding) bool { return true }

// ruleFor returns the rule for a record; false if the reason is not proved of it.
func (r Reason) ruleFor(h ledger.Holding) (rule, bool) {
	if r.proof == nil || !r.proof.covers(h) {
		return rule{}, false
	}
	if r.row == poolShrunk && h.Purpose == ledger.ForRoot {
		return rules[rootShrunk], true
	}
	return rules[r.row], true
}
