// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package allocator

// node is a prefix of the trie: one that holds entries or a mark, or one where
// two others part. Its fields are laid out for size: 48 bytes while E is a
// pointer, and at most two nodes per entry. That is why the lengths of its gaps
// sit where its path, being a prefix, has no bits:
//
//	      bits
//	hi,lo ├─ path ─┼─ lengths of the gaps strictly inside ─┤
type node[E comparable] struct {
	hi, lo uint64
	kids   [2]*node[E]
	first  E     // the first entry, if taken
	tight  int16 // as in room
	bits   uint8
	flags  flags
}

type flags uint8

const (
	taken   flags = 1 << iota // entries sit here
	crowded                   // more than one; the others are in the trie's map
	mark                      // a search found this host reserved
	marks                     // a mark is here or below
	whole                     // no entry sits here or below
)

func newNode[E comparable](p path) *node[E] {
	return &node[E]{hi: p.hi, lo: p.lo, bits: p.bits}
}

func (n *node[E]) has(f flags) bool { return n.flags&f != 0 }

func (n *node[E]) path() path { return path{n.hi, n.lo, n.bits}.cut(n.bits) }

// room returns what n offers, seen from above.
func (n *node[E]) room() room {
	gaps := lengths{n.hi, n.lo}.without(upTo(n.bits))
	return room{n.bits, n.has(whole), gaps, n.tight}
}

// keep makes r the room of n.
func (n *node[E]) keep(r room) {
	at := n.path()
	n.hi, n.lo = at.hi|r.gaps.hi, at.lo|r.gaps.lo
	n.tight = r.tight
	n.flags &^= whole
	if r.whole {
		n.flags |= whole
	}
}

// inner returns the room inside n, as if no entry sat at n itself.
func (n *node[E]) inner() room {
	switch {
	case n.has(mark):
		return room{bits: n.bits, whole: true, tight: none}
	case n.kids == [2]*node[E]{}:
		return wholeRoom(n.bits)
	}
	at := slot[E]{n.path(), n}
	return at.half(0).room().plus(at.half(1).room())
}

// settled returns what has to stand in the place of n after a change at n or
// right below it: n brought up to date, or its only child, or nothing.
func (n *node[E]) settled() *node[E] {
	if !n.has(taken | mark) {
		if n.kids[0] == nil {
			return n.kids[1]
		}
		if n.kids[1] == nil {
			return n.kids[0]
		}
	}
	n.flags &^= marks
	if n.has(mark) || n.kids[0].marked() || n.kids[1].marked() {
		n.flags |= marks
	}
	if n.has(taken) {
		n.keep(room{tight: none})
	} else {
		n.keep(n.inner())
	}
	return n
}

func (n *node[E]) marked() bool { return n != nil && n.has(marks) }

// unmark drops the mark of n and those below it; n is left to be settled.
func (n *node[E]) unmark() {
	n.flags &^= mark
	for i, kid := range n.kids {
		if kid.marked() {
			kid.unmark()
			n.kids[i] = kid.settled()
		}
	}
}

// slot is a prefix that need not have a node, with the topmost node at or
// inside it, if any: a step on the way down that compressed paths hide.
type slot[E comparable] struct {
	path
	top *node[E]
}

// half returns the lower (0) or upper (1) half of s.
func (s slot[E]) half(bit int) slot[E] {
	h := slot[E]{path: s.path.half(bit)}
	switch {
	case s.top == nil:
	case s.top.bits == s.bits:
		h.top = s.top.kids[bit]
	case s.top.path().bit(s.bits) == bit:
		h.top = s.top
	}
	return h
}

// room returns what s offers, seen from above.
func (s slot[E]) room() room {
	switch {
	case s.top == nil:
		return wholeRoom(s.bits)
	case s.top.bits == s.bits:
		return s.top.room()
	case s.top.has(whole):
		return wholeRoom(s.bits)
	default:
		return s.top.room().widened(s.bits)
	}
}

// inner returns the room inside s, as if no entry sat at s itself.
func (s slot[E]) inner() room {
	if s.top != nil && s.top.bits == s.bits {
		return s.top.inner()
	}
	return s.room()
}
