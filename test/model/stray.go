// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import "slices"

// A stray is an answer or a record that is left where two managers answered one claim by status: the
// status names the answer of the other. Repair removes it under the name of the living claim:
//
//	readStray -> proveStray -> deleteStray -> releasing
//
// An answer of a claim that is gone goes the same way.
func (rp *repair) readStray() {
	rp.pickStray()
	rp.next = (*repair).proveStray
}

// pickStray picks an answer that the cached status does not name. If repair looks at a record, it is
// that with the record's addresses.
func (rp *repair) pickStray() {
	found := rp.manager.readAnswers(rp.name)
	isAnother := func(a answer) bool {
		return rp.found.uid != 0 && a.cidr != rp.found.cidr || a.uid == rp.claim.uid && a.cidr == rp.claim.status
	}
	if found = slices.DeleteFunc(found, isAnother); len(found) > 0 {
		rp.answer = found[rp.manager.random.IntN(len(found))]
	}
}

// proveStray reads the claim. Before its status names an answer, each may become the one.
func (rp *repair) proveStray() {
	live := rp.manager.readClaim(rp.name)
	isIts := live.uid == rp.claim.uid && !live.terminating && !live.moving
	isNamed := live.status != noSpace || !rp.manager.rules.StraysGoAfterCommit
	switch {
	case !isIts:
		rp.next = nil
	case rp.answer.uid != 0 && rp.answer.uid != live.uid: // left over: of a claim that is gone
		rp.found = entry{}
		rp.next = (*repair).deleteStray
	case rp.found.uid != 0 && rp.found.uid != live.uid: // of a claim that is gone
		rp.next = (*repair).readOwner
	case !isNamed || live.status == max(rp.answer.cidr, rp.found.cidr):
		rp.next = nil
	default:
		rp.next = (*repair).deleteStray
	}
}

// deleteStray deletes the answer that was read before the claim. One without an owner that is there
// by now may be that of a later claim.
func (rp *repair) deleteStray() {
	if !rp.manager.rules.StrayIsReadFirst {
		rp.pickStray()
	}
	rp.next = (*repair).deleteUnlessKept
	if rp.answer.id != 0 {
		rp.manager.server.deleteAnswer(rp.answer)
		rp.manager.tally.strays++
	}
}
