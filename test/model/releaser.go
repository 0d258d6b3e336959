// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package model

// releaseMode says how a record is released.
type releaseMode int

const (
	modeDelete  releaseMode = iota // at once: it was not reported, or it has expired
	modeRelease                    // cools down, or is deleted if the pool has no cooldown
	modeRetain                     // kept for the next claim of its name
)

// queuedRelease is a record that will be released.
type queuedRelease struct {
	record
	mode releaseMode
}

// releaser releases records, one after the other. A deletion takes two writes: the first removes
// the finalizer.
type releaser struct {
	manager          *manager
	queue            []queuedRelease
	finalizerRemoved bool // from the first record of the queue, by this releaser
	anyVersion       bool // writes name no version; only without DeleteNamesVersion
	failed           bool // a record was changed in the meantime
}

// enqueue adds records to the queue.
func (rl *releaser) enqueue(mode releaseMode, records ...record) {
	for _, r := range records {
		rl.queue = append(rl.queue, queuedRelease{record: r, mode: mode})
	}
}

// releaseStep does the next write, and says whether the queue is done.
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

// keepsRecord says whether the record stays for a while, as released or retained.
func (rl *releaser) keepsRecord(p queuedRelease) bool {
	m := rl.manager
	return p.mode == modeRetain || p.mode == modeRelease && m.cooldown > 0 && !m.index.isRecordedByOtherUID(p.record)
}

// markReleased marks the record as released. The same write removes its owner references: the
// garbage collector would delete the record together with its owners.
func (rl *releaser) markReleased(p queuedRelease) {
	rl.update(p.record, func(stored *record) {
		stored.released, stored.retained, stored.reservation = rl.manager.server.clock, p.mode == modeRetain, false
		stored.owned = stored.owned && !rl.manager.rules.OwnersGoWithRelease
	})
	rl.manager.tally.released[p.mode]++
}

// removeFinalizer starts a deletion. If admission has put the finalizer back, the record is moving,
// and stays.
func (rl *releaser) removeFinalizer(r record) {
	changed, ok := rl.update(r, func(stored *record) { stored.finalizer = false })
	if !ok || changed.finalizer || changed.terminating {
		rl.failed = rl.failed || changed.finalizer
		rl.pop()
		return
	}
	rl.queue[0].record, rl.finalizerRemoved = changed, true
}

// update also stores the record's creation revision.
func (rl *releaser) update(r record, change func(*record)) (record, bool) {
	changed, ok := rl.manager.server.updateRecord(r.id, rl.version(r), func(stored *record) {
		change(stored)
		stored.created = max(stored.created, r.created)
	})
	_, exists := rl.manager.server.find(r.id, 0)
	rl.failed = rl.failed || !ok && exists
	return changed, ok
}
