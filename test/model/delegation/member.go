// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package delegation

import "slices"

func (w *world) anySite() (int, *site) {
	i := w.rand.IntN(members)
	return i, w.sites[i]
}

// mayUse reports whether a member uses a block, or may: by a claim, a copy, a manifest that is on its
// way or can be applied again, or a manager that has seen a copy.
func (s *site) mayUse(block int) bool {
	isOf := func(p *pool) bool { return p != nil && p.block == block }
	for _, c := range s.copies {
		if c != nil && isOf(&c.pool) {
			return true
		}
	}
	for _, i := range s.intents {
		if i != nil && isOf(&i.pool) {
			return true
		}
	}
	return isOf(s.last) || slices.ContainsFunc(s.queue, func(p pool) bool { return p.block == block }) ||
		slices.ContainsFunc(s.claims, func(c claim) bool { return c.block == block })
}

// deliver applies the next manifest at a member.
func (w *world) deliver() bool {
	_, s := w.anySite()
	if len(s.queue) == 0 {
		return false
	}
	p := s.queue[0]
	s.queue = s.queue[1:]
	s.last = &p
	w.apply(s, p)
	return true
}

// applyAgain is a person who applies the last manifest again, or one whose block was handed back, as it
// was before the pool was deleted.
func (w *world) applyAgain() bool {
	_, s := w.anySite()
	old := slices.Clone(s.former)
	if s.last != nil {
		old = append(old, *s.last)
	}
	if len(old) == 0 {
		return false
	}
	p := old[w.rand.IntN(len(old))]
	p.closing, p.deleting = false, false
	w.apply(s, p)
	return true
}

// apply makes a copy, or changes one. A block is set once (P9), and Closing is not taken back.
func (w *world) apply(s *site, p pool) {
	c := s.copies[p.name]
	switch {
	case c == nil:
		s.copies[p.name] = &duplicate{pool: p}
	case c.block != p.block && w.has("P9"), c.closing && !p.closing:
	default:
		c.pool = p
	}
}

// handedBack returns the template for which a block is handed back; 0 for none.
func (s *site) handedBack(block int) int {
	i := slices.IndexFunc(s.records, func(r record) bool { return r.template != 0 && r.block == block })
	if i < 0 {
		return 0
	}
	return s.records[i].template
}

// isServed reports whether a member hands out of a copy, or would if its block were not handed back:
// it is for this member (P8), and not of a template that has handed the block back before (P11).
func (w *world) isServed(i int, c *duplicate) bool {
	isFormer := slices.Contains(w.sites[i].ended, c.uid) && w.has("P11")
	return !c.closing && !c.terminating && !isFormer && (c.member == i || !w.has("P8"))
}

// look has a manager that does nothing decide what to do for a copy.
func (w *world) look() bool {
	i, s := w.anySite()
	m, c := w.rand.IntN(managers), s.copies[w.rand.IntN(names)]
	if s.intents[m] != nil || c == nil || c.member != i && w.has("P8") {
		return false
	}
	if w.isServed(i, c) || c.closing {
		s.intents[m] = &intent{duplicate: *c, address: w.rand.IntN(addresses), handBack: c.closing}
		return true
	}
	return false
}

// act has a manager do what it has decided, however long ago.
func (w *world) act() bool {
	i, s := w.anySite()
	m := w.rand.IntN(managers)
	in := s.intents[m]
	if in == nil {
		return w.letGo(s)
	}
	s.intents[m] = nil
	if in.handBack {
		return w.handBack(s, in)
	}
	w.redelegate(i, s, in)
	return w.answer(s, in)
}

// letGo lets a copy go that is being deleted, once nothing of its block is in use.
func (w *world) letGo(s *site) bool {
	for name, c := range s.copies {
		isUsed := func(r record) bool { return r.template == 0 && r.block == c.block }
		if c != nil && c.terminating && !slices.ContainsFunc(s.records, isUsed) {
			s.copies[name] = nil
			return true
		}
	}
	return false
}

// redelegate ends a hand-back for a copy of another template, which a live read shows to be served (P7).
func (w *world) redelegate(i int, s *site, in *intent) {
	c, template := s.copies[in.name], s.handedBack(in.block)
	isAnother := template != in.uid || !w.has("P7")
	if template == 0 || c == nil || c.uid != in.uid || c.block != in.block || !w.isServed(i, c) || !isAnother {
		return
	}
	s.records = slices.DeleteFunc(s.records, func(r record) bool { return r.template == template && r.block == in.block })
	s.ended = append(s.ended, template)
}

// answer records an address and tells a claim of it, unless an older record is in the way. What is
// stored is recorded before.
func (w *world) answer(s *site, in *intent) bool {
	s.recordStored()
	inTheWay := func(r record) bool { return r.block == in.block && (r.template != 0 || r.address == in.address) }
	if slices.ContainsFunc(s.records, inTheWay) {
		return false
	}
	c := claim{id: w.id(), block: in.block, address: in.address}
	s.records = append(s.records, record{block: c.block, address: c.address, claim: c.id})
	s.claims = append(s.claims, c)
	return true
}

// recordStored records the addresses of claims that lack a record.
func (s *site) recordStored() {
	for _, c := range s.claims {
		if !slices.ContainsFunc(s.records, func(r record) bool { return r.claim == c.id }) {
			s.records = append(s.records, record{block: c.block, address: c.address, claim: c.id})
		}
	}
}

// handBack records the whole block, once what is stored is recorded (P10). The record goes if an older
// one is in the way (P4).
func (w *world) handBack(s *site, in *intent) bool {
	if c := s.copies[in.name]; c == nil || c.uid != in.uid || !c.closing || s.handedBack(in.block) != 0 {
		return false
	}
	if w.has("P10") {
		s.recordStored()
	}
	isOlder := func(r record) bool { return r.block == in.block }
	if slices.ContainsFunc(s.records, isOlder) && w.has("P4") {
		return false
	}
	s.records = append(s.records, record{block: in.block, template: in.uid})
	s.former = append(s.former, in.pool)
	return true
}

// report sends what a member has handed back.
func (w *world) report() bool {
	i, s := w.anySite()
	for name, c := range s.copies {
		if c != nil && c.uid != 0 && (s.handedBack(c.block) == c.uid || slices.Contains(s.ended, c.uid)) {
			w.reports = append(w.reports, report{member: i, name: name, template: c.uid})
			return true
		}
	}
	return false
}

// endClaim deletes a claim, and its record.
func (w *world) endClaim() bool {
	_, s := w.anySite()
	if len(s.claims) == 0 || w.rand.IntN(2) > 0 {
		return false
	}
	i := w.rand.IntN(len(s.claims))
	id := s.claims[i].id
	s.claims = slices.Delete(s.claims, i, i+1)
	s.records = slices.DeleteFunc(s.records, func(r record) bool { return r.template == 0 && r.claim == id })
	return true
}

// restore loses the records of all claims: a backup has their answers alone. All managers start anew.
func (w *world) restore() bool {
	_, s := w.anySite()
	if len(s.claims) == 0 {
		return false
	}
	s.records = slices.DeleteFunc(s.records, func(r record) bool { return r.template == 0 })
	s.intents = [managers]*intent{}
	return true
}

// crash has a manager forget what it was about to do.
func (w *world) crash() bool {
	_, s := w.anySite()
	m := w.rand.IntN(managers)
	if s.intents[m] == nil {
		return false
	}
	s.intents[m] = nil
	return true
}
