// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package model

// way is how a record is given up.
type releaseMode int

const (
	modeDelete  releaseMode = iota // nobody was told of it, or it has cooled down
	modeRelease                    // it cools down where the pool has a cooldown, and else is dropped
	modeRetain                     // it is kept for the next claim of the name
)

// parting is a record that is to be given up.
type queuedRelease struct {
	record
	mode releaseMode
}

// dropper gives up records, one after the other. To drop one takes two writes: the finalizer comes off first.
type releaser struct {
	manager          *manager
	queue            []queuedRelease
	finalizerRemoved bool // the first of the queue has lost its finalizer to us
	anyVersion       bool // without a version, for who has lost a judgement
	failed           bool // a record had been changed meanwhile
}

// giveUp adds records to what is to be given up.
func (rl *releaser) enqueue(how releaseMode, records ...record) {
	for _, r := range records {
		rl.queue = append(rl.queue, queuedRelease{record: r, mode: how})
	}
}

// dropStep does the next write, and says whether there is nothing left to do.
func (rl *releaser) releaseStep() bool {
	if len(rl.queue) == 0 {
		rl.anyVersion = false
		return true
	}
	switch p := rl.queue[0]; {
	case rl.finalizerRemoved:
		rl.manager.server.deleteRecord(p.id, rl.version(p.record))
		rl.pop()
	case rl.keepsRecord(p):
		rl.markReleased(p)
		rl.pop()
	default:
		rl.removeFinalizer(p.record)
	}
	return false
}

func (rl *releaser) pop() { rl.queue, rl.finalizerRemoved = rl.queue[1:], false }

func (rl *releaser) version(r record) int {
	if rl.anyVersion {
		return 0
	}
	return r.version
}

// keeps says whether the record stays for a while.
func (rl *releaser) keepsRecord(p queuedRelease) bool {
	m := rl.manager
	return p.mode == modeRetain || p.mode == modeRelease && m.cooldown > 0 && !m.index.isRecordedByOtherUID(p.record)
}

// letGo stores that the claim has let go of the record, and takes the owners off in the same write: the garbage collector would
// take the record along with them.
func (rl *releaser) markReleased(p queuedRelease) {
	rl.update(p.record, func(stored *record) {
		stored.released, stored.retained = rl.manager.server.clock, p.mode == modeRetain
		stored.owned = stored.owned && !rl.manager.rules.OwnersGoWithRelease
	})
	rl.manager.tally.released[p.mode]++
}

// strip takes the finalizer off. Where admission has put it back the record moves, and stays.
func (rl *releaser) removeFinalizer(r record) {
	changed, ok := rl.update(r, func(stored *record) { stored.finalizer = false })
	if !ok || changed.finalizer || changed.terminating {
		rl.failed = rl.failed || changed.finalizer
		rl.pop()
		return
	}
	rl.queue[0].record, rl.finalizerRemoved = changed, true
}

// update stores the revision of the record's creation as well.
func (rl *releaser) update(r record, change func(*record)) (record, bool) {
	changed, ok := rl.manager.server.updateRecord(r.id, rl.version(r), func(stored *record) {
		change(stored)
		stored.created = max(stored.created, r.created)
	})
	_, exists := rl.manager.server.find(r.id, 0)
	rl.failed = rl.failed || !ok && exists
	return changed, ok
}
