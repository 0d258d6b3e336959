// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package model

// way is how a record is given up.
type way int

const (
	drops   way = iota // nobody was told of it, or it has cooled down
	letsGo             // it cools down where the pool has a cooldown, and else is dropped
	retains            // it is kept for the next claim of the name
)

// parting is a record that is to be given up.
type parting struct {
	record
	way way
}

// dropper gives up records, one after the other. To drop one takes two writes: the finalizer comes off first.
type dropper struct {
	manager *manager
	queue   []parting
	bare    bool // the first of the queue has lost its finalizer to us
	blind   bool // without a version, for who has lost a judgement
	failed  bool // a record had been changed meanwhile
}

// giveUp adds records to what is to be given up.
func (d *dropper) giveUp(how way, records ...record) {
	for _, r := range records {
		d.queue = append(d.queue, parting{record: r, way: how})
	}
}

// dropStep does the next write, and says whether there is nothing left to do.
func (d *dropper) dropStep() bool {
	if len(d.queue) == 0 {
		d.blind = false
		return true
	}
	switch p := d.queue[0]; {
	case d.bare:
		d.manager.server.deleteRecord(p.id, d.version(p.record))
		d.pop()
	case d.keeps(p):
		d.letGo(p)
		d.pop()
	default:
		d.strip(p.record)
	}
	return false
}

func (d *dropper) pop() { d.queue, d.bare = d.queue[1:], false }

func (d *dropper) version(r record) int {
	if d.blind {
		return 0
	}
	return r.version
}

// keeps says whether the record stays for a while.
func (d *dropper) keeps(p parting) bool {
	m := d.manager
	return p.way == retains || p.way == letsGo && m.cooldown > 0 && !m.index.isHeldOn(p.record)
}

// letGo stores that the claim has let go of the record, and takes the owners off in the same write: the garbage collector would
// take the record along with them.
func (d *dropper) letGo(p parting) {
	d.update(p.record, func(stored *record) {
		stored.released, stored.retained = d.manager.server.clock, p.way == retains
		stored.owned = stored.owned && !d.manager.rules.OwnersGoWithRelease
	})
	d.manager.tally.letGo[p.way]++
}

// strip takes the finalizer off. Where admission has put it back the record moves, and stays.
func (d *dropper) strip(r record) {
	changed, ok := d.update(r, func(stored *record) { stored.finalizer = false })
	if !ok || changed.finalizer || changed.terminating {
		d.failed = d.failed || changed.finalizer
		d.pop()
		return
	}
	d.queue[0].record, d.bare = changed, true
}

// update stores the revision of the record's creation as well.
func (d *dropper) update(r record, change func(*record)) (record, bool) {
	changed, ok := d.manager.server.updateRecord(r.id, d.version(r), func(stored *record) {
		change(stored)
		stored.created = max(stored.created, r.created)
	})
	_, exists := d.manager.server.find(r.id, 0)
	d.failed = d.failed || !ok && exists
	return changed, ok
}
