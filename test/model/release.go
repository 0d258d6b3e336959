// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import "slices"

// beginRelease releases everything of a claim that is being deleted:
//
//	proveDeleted -> releaseAnswer -> releaseRecords -> releaseClaim
//	Weir claims: keptRecords -> proveDeleted -> proveRecords -> releaseOrRetain -> releaseTaken
//	             -> releaseClaim
//	a pool: proveEmpty before that
func (t *task) beginRelease() {
	t.next = (*task).proveDeleted
	if t.claim.weirKind {
		t.kept = t.keptRecords()
	}
	if t.claim.block {
		t.proof = len(t.manager.server.log)
		t.next = (*task).proveEmpty
	}
}

// proveEmpty waits until it is certain that no record comes from the pool.
func (t *task) proveEmpty() {
	x := &t.manager.index
	switch {
	case x.seen < t.proof:
	case len(x.selectEntries(func(e entry) bool { return e.carved })) > 0:
		t.stop()
	default:
		t.next = (*task).proveDeleted
	}
}

// proveDeleted reads whether the claim is being deleted, and not because it moves.
func (t *task) proveDeleted() {
	c := t.manager.readClaim(t.name)
	if c.uid != t.claim.uid || !c.terminating || c.moving && t.manager.rules.MovingIsKept {
		t.stop()
		return
	}
	t.next = (*task).releaseAnswer
	if t.claim.weirKind {
		t.proof = len(t.manager.server.log)
		t.next = (*task).proveRecords
	}
}

// releaseAnswer deletes the claim's answer. By status there can be several: it is done for each.
func (t *task) releaseAnswer() {
	t.next = (*task).releaseRecords
	isAnothers := func(a answer) bool { return a.uid != 0 && a.uid != t.claim.uid }
	its := slices.DeleteFunc(t.manager.readAnswers(t.name), isAnothers)
	if len(its) == 0 {
		return
	}
	t.answer = its[0]
	if t.answer.uid == 0 && t.manager.rules.OwnerIsProved {
		t.next = (*task).proveOwnerless
		return
	}
	t.deleteAnswer()
}

func (t *task) deleteAnswer() {
	t.manager.server.deleteAnswer(t.answer)
	t.next = (*task).releaseRecords
	if t.manager.server.isByStatus(t.name) {
		t.next = (*task).releaseAnswer
	}
}

// proveOwnerless reads whether an answer that has lost its owner can be the claim's. A later claim
// of the name may have been restored with it.
func (t *task) proveOwnerless() {
	if t.manager.server.claims[t.name].uid != t.claim.uid {
		t.stop()
		return
	}
	t.deleteAnswer()
}

func (t *task) releaseRecords() {
	t.releaseThen((*task).releaseClaim, t.manager.index.recordsOf(t.name, t.claim.uid)...)
}

// proveRecords waits, if the claim seems to have no record, until that is certain.
func (t *task) proveRecords() {
	x := &t.manager.index
	if t.manager.rules.RetainProves && len(x.recordsOf(t.name, t.claim.uid)) == 0 && x.seen < t.proof {
		return
	}
	t.next = (*task).releaseOrRetain
}

func (t *task) releaseOrRetain() {
	for _, r := range t.manager.index.recordsOf(t.name, t.claim.uid) {
		mode := modeRelease
		if t.claim.retains && r.cidr == t.claim.status {
			mode = modeRetain
		}
		t.enqueue(mode, r)
	}
	t.next, t.afterRelease = (*task).releasing, (*task).releaseTaken
}

// releaseTaken releases what the claim got out of retention, or came back for. It may not have been
// bound before.
func (t *task) releaseTaken() {
	isBack := t.claim.restored || !t.manager.rules.ReservationEndsWithReturn
	taken := slices.DeleteFunc(t.kept, func(r record) bool { return r.cidr != t.claim.status || r.reservation && !isBack })
	t.releaseThen((*task).releaseClaim, taken...)
}

// releaseClaim removes Weir's finalizer from the claim.
func (t *task) releaseClaim() {
	t.manager.server.releaseClaim(t.name, t.claim.uid)
	t.stop()
}
