// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package model

// dropper drops records, one after the other, each in two writes: the finalizer comes off first.
type dropper struct {
	manager *manager
	queue   []record
	bare    bool // the first of the queue has lost its finalizer to us
	blind   bool // without a version, for who has lost a judgement
}

func (d *dropper) version(r record) int {
	if d.blind {
		return 0
	}
	return r.version
}

// dropStep does the next write, and says whether there is nothing left to do.
func (d *dropper) dropStep() bool {
	if len(d.queue) == 0 {
		d.blind = false
		return true
	}
	r := d.queue[0]
	if d.bare {
		d.manager.server.deleteRecord(r.id, d.version(r))
		d.pop()
		return false
	}
	changed, ok := d.manager.server.updateRecord(r.id, d.version(r), func(stored *record) {
		stored.finalizer = false
		stored.created = max(stored.created, r.created)
	})
	d.queue[0], d.bare = changed, true
	if !ok {
		d.pop()
	}
	return false
}

func (d *dropper) pop() { d.queue, d.bare = d.queue[1:], false }
