// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package delegation

import "slices"

// create makes a pool of a name that is free, with the block of an earlier pool of the name, or one
// that nobody holds. An earlier pool counts if it was of the same member (P3).
func (w *world) create() bool {
	name, member := w.rand.IntN(names), w.rand.IntN(members)
	if w.pools[name] != nil {
		return false
	}
	block := w.freeBlock()
	if i := slices.IndexFunc(w.holds, func(h hold) bool { return w.isPredecessor(h, name, member) }); i >= 0 {
		block = w.holds[i].block
		w.holds = slices.Delete(w.holds, i, i+1) // the new record stands for it
	}
	if block < 0 {
		return false
	}
	p := &pool{uid: w.id(), name: name, block: block, member: member, labelled: true}
	w.pools[name] = p
	w.holds = append(w.holds, hold{uid: p.uid, name: name, block: block, member: member})
	return true
}

func (w *world) isPredecessor(h hold, name, member int) bool {
	return h.name == name && (h.member == member || !w.has("P3"))
}

// arrive restores a pool of a name that is free, with a block that another may have: nothing of it is
// judged before it is stored. It has no labels until then (P12).
func (w *world) arrive() bool {
	name := w.rand.IntN(names)
	if w.pools[name] != nil {
		return false
	}
	w.pools[name] = &pool{uid: w.id(), name: name, block: w.rand.IntN(blocks), member: w.rand.IntN(members), labelled: !w.has("P12")}
	return true
}

// bind has the hub's manager record the block of a pool that has arrived, and label it.
func (w *world) bind() bool {
	p := w.anyPool()
	if p == nil || p.deleting || w.holder(p) != nil {
		return false
	}
	i := slices.IndexFunc(w.holds, func(h hold) bool { return h.block == p.block })
	if i >= 0 && !w.isPredecessor(w.holds[i], p.name, p.member) {
		return false
	}
	if i >= 0 {
		w.holds = slices.Delete(w.holds, i, i+1)
	}
	p.seen, p.labelled = true, true
	w.holds = append(w.holds, hold{uid: p.uid, name: p.name, block: p.block, member: p.member, seen: true})
	return true
}

// holder returns the hold of a pool; nil if it has none.
func (w *world) holder(p *pool) *hold {
	i := slices.IndexFunc(w.holds, func(h hold) bool { return h.uid == p.uid })
	if i < 0 {
		return nil
	}
	return &w.holds[i]
}

func (w *world) freeBlock() int {
	for block := range blocks {
		if !slices.ContainsFunc(w.holds, func(h hold) bool { return h.block == block }) {
			return block
		}
	}
	return -1
}

func (w *world) anyPool() *pool { return w.pools[w.rand.IntN(names)] }

func (w *world) delete() bool {
	p := w.anyPool()
	if p == nil || p.deleting {
		return false
	}
	p.deleting = true
	return true
}

// vanish strips a pool's finalizer, or ends its namespace by force.
func (w *world) vanish() bool {
	p := w.anyPool()
	if p == nil || w.rand.IntN(4) > 0 {
		return false
	}
	w.pools[p.name] = nil
	return true
}

// see has the hub's manager see a pool stored.
func (w *world) see() bool {
	p := w.anyPool()
	if p == nil || p.seen {
		return false
	}
	p.seen = true
	for i := range w.holds {
		if w.holds[i].uid == p.uid {
			w.holds[i].seen = true
		}
	}
	return true
}

// orderBack is the first write after a deletion.
func (w *world) orderBack() bool {
	p := w.anyPool()
	if p == nil || !p.deleting || p.closing {
		return false
	}
	p.closing = true
	return true
}

// release ends the hold of a pool that is being deleted, by a report that names the very pool (P5)
// and comes from its member (P6).
func (w *world) release() bool {
	p := w.anyPool()
	if p == nil || !p.deleting || p.reported == nil && w.holder(p) != nil {
		return false
	}
	if w.holder(p) == nil { // it never got its block
		w.pools[p.name] = nil
		return true
	}
	isOfPool := p.reported.template == p.uid || !w.has("P5")
	isOfMember := p.reported.member == p.member || !w.has("P6")
	if !isOfPool || !isOfMember {
		return false
	}
	w.free(p.uid)
	w.pools[p.name] = nil
	return true
}

func (w *world) free(uid int) {
	w.holds = slices.DeleteFunc(w.holds, func(h hold) bool { return h.uid == uid })
}

// repair looks at holds whose pool is gone: they stay, whether nothing but that is proved (P1), or
// nobody has ever seen the pool stored (P2).
func (w *world) repair() bool {
	for _, h := range w.holds {
		isGone := w.pools[h.name] == nil || w.pools[h.name].uid != h.uid
		if isGone && (h.seen && !w.has("P1") || !h.seen && !w.has("P2")) {
			w.free(h.uid)
			return true
		}
	}
	return false
}

// change gives a pool another block, which no delegated pool may have (P9).
func (w *world) change() bool {
	p, block := w.anyPool(), w.freeBlock()
	if w.has("P9") || p == nil || p.deleting || block < 0 || w.holder(p) == nil {
		return false
	}
	w.free(p.uid)
	p.block = block
	w.holds = append(w.holds, hold{uid: p.uid, name: p.name, block: block, member: p.member, seen: p.seen})
	return true
}

// force is an operator who has made sure that the member does not use the block, nor will.
func (w *world) force() bool {
	if len(w.holds) == 0 {
		return false
	}
	h := w.holds[w.rand.IntN(len(w.holds))]
	p := w.pools[h.name]
	isThere := p != nil && p.uid == h.uid
	if isThere && !p.deleting || w.sites[h.member].mayUse(h.block) {
		return false
	}
	w.free(h.uid)
	if isThere {
		w.pools[h.name] = nil
	}
	return true
}

// mistake writes into a pool's status what another cluster has to say of it, which is that nothing
// is in use there.
func (w *world) mistake() bool {
	p := w.anyPool()
	if p == nil || !p.deleting || p.reported != nil {
		return false
	}
	p.reported = &report{member: (p.member + 1) % members, name: p.name, template: p.uid}
	return true
}

// send puts a pool's manifest on its way, if it is not the one that was sent last, or the copy is gone.
func (w *world) send() bool {
	p := w.anyPool()
	if p == nil || !p.labelled {
		return false
	}
	s := w.sites[p.member]
	sent := s.last
	if n := len(s.queue); n > 0 {
		sent = &s.queue[n-1]
	} else if s.copies[p.name] == nil {
		sent = nil
	}
	if sent != nil && sent.uid == p.uid && sent.block == p.block && sent.closing == p.closing {
		return false
	}
	s.queue = append(s.queue, *p)
	return true
}

// misplace puts a pool's manifest on its way to a member that it is not for.
func (w *world) misplace() bool {
	p := w.anyPool()
	if p == nil || !p.labelled {
		return false
	}
	s := w.sites[(p.member+1)%members]
	s.queue = append(s.queue, *p)
	return true
}

// collect has the propagator delete copies of pools that the hub does not have.
func (w *world) collect() bool {
	for _, s := range w.sites {
		for name, c := range s.copies {
			if c == nil || c.terminating || w.pools[name] != nil && w.pools[name].uid == c.uid {
				continue
			}
			c.terminating = true
			return true
		}
	}
	return false
}

// relay writes a report into the status of the pool that has the name, late, or more than once.
func (w *world) relay() bool {
	if len(w.reports) == 0 {
		return false
	}
	i := w.rand.IntN(len(w.reports))
	r := w.reports[i]
	if w.rand.IntN(2) == 0 {
		w.reports = slices.Delete(w.reports, i, i+1)
	}
	p := w.pools[r.name]
	if p == nil {
		return false
	}
	p.reported = &r
	return true
}
