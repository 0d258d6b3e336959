// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package model

// bind makes the record of a Weir claim belong to it, once the claim is stored:
//
//	no record                    recorded at exactly what the claim's spec says
//	a record without an owner    given its owner, and judged once more
//	bound                        reported; records retained or reserved for the claim are released
func (t *task) bind() {
	found := t.manager.index.answering(t.claim, t.claim.status)
	if len(found) == 0 {
		t.recordExisting(t.claim.recordFor(t.name, t.claim.status), (*task).finishBind)
		return
	}
	for _, e := range found {
		if e.won && e.owned {
			t.finishBind()
			return
		}
	}
	t.waiter = waiter{record: t.manager.index.withAge(found[0])}
	t.next = (*task).bindRecord
}

func (t *task) bindRecord() {
	if !t.updateRecord(func(r *record) { r.owned = true }) {
		t.stop()
		return
	}
	t.manager.tally.bound++
	t.awaitVerdict(true, (*task).handleBindVerdict)
}

// handleBindVerdict deletes the record only if it lost to an older record of the same claim. The
// claim is stored, so its addresses may have been reported.
func (t *task) handleBindVerdict() {
	switch {
	case t.verdict == pending:
	case t.verdict == won, t.manager.index.hasWon(t.claim.uid, t.record.cidr):
		t.next = (*task).finishBind
	case t.verdict == superseded:
		t.stop()
	case t.verdict == lost && t.manager.index.lostToOwnRecord(t.record):
		t.deleteThen((*task).begin)
	case t.manager.rules.BindDeletesNothing:
		t.next = (*task).reportConflict
	default:
		t.deleteThen((*task).begin)
	}
}

// finishBind runs when the claim has its record.
func (t *task) finishBind() {
	t.next = (*task).proveStored
	if t.manager.rules.RetainedReadFirst {
		t.kept = t.keptRecords()
	}
	if len(t.keptRecords()) == 0 {
		t.next = (*task).reportBound
	}
}

// keptRecords returns the records that were retained for the claim by earlier claims of its name,
// or reserved for it while it was in another cluster.
func (t *task) keptRecords() []record {
	c := t.claim
	isBack := func(e entry) bool { return e.cidr == c.status || !t.manager.rules.ReservationEndsWithReturn }
	return t.manager.index.selectRecords(func(e entry) bool {
		return e.name == t.name && e.uid != c.uid && (e.retained || e.reservation && e.released == 0 && isBack(e))
	})
}

// proveStored reads whether the claim is still stored. It may have been deleted, and its record
// retained for the next claim.
func (t *task) proveStored() {
	if t.manager.server.claims[t.name].uid != t.claim.uid {
		t.stop()
		return
	}
	t.next = (*task).releaseKept
}

func (t *task) releaseKept() {
	if !t.manager.rules.RetainedReadFirst {
		t.kept = t.keptRecords()
	}
	t.releaseThen((*task).reportBound, t.kept...)
}

func (t *task) reportBound() {
	if !t.claim.ready || t.claim.conflict {
		t.manager.server.setStatus(t.name, t.claim.uid, t.claim.status)
	}
	t.stop()
}
