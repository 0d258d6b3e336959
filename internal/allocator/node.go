// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package allocator

// node is a prefix of the trie: one that holds entries or a mark, or one where
// two others part. Its fields are laid out for size: 48 bytes while E is a
// pointer, and at most two nodes per entry.
type node[E comparable] struct {
	hi, lo uint64 // its path, with bits
	kids   [2]*node[E]
	first  E // the first entry, if taken
	bits   uint8
	flags  flags
	room   room // seen from above
}

type flags uint8

const (
	taken   flags = 1 << iota // entries sit here
	crowded                   // more than one; the others are in the trie's map
	mark                      // a search found this host reserved
	marks                     // a mark is here or below
)

// none is the prefix length of a free block where there is none; longer than
// any real one.
const none = 255

// room is what a part of the space offers.
type room struct {
	free  uint8 // the shortest length of a free aligned block, or none
	hosts bool  // whether a host is free that carries no mark
}

// plus returns what two halves of a block of the given length offer together.
func (r room) plus(other room, bits uint8) room {
	free := min(r.free, other.free)
	if r.free == bits+1 && other.free == bits+1 {
		free = bits
	}
	return room{free, r.hosts || other.hosts}
}

// fits reports whether there is a free block of length bits, or, with
// unmarked, a free host that carries no mark.
func (r room) fits(bits uint8, unmarked bool) bool {
	if unmarked {
		return r.hosts
	}
	return r.free <= bits
}

func (n *node[E]) has(f flags) bool { return n.flags&f != 0 }

func (n *node[E]) path() path { return path{n.hi, n.lo, n.bits} }

// inner returns the room inside n, as if no entry sat at n itself.
func (n *node[E]) inner() room {
	if n.kids == [2]*node[E]{} {
		return room{n.bits, !n.has(mark)}
	}
	at := slot[E]{n.path(), n}
	return at.half(0).room().plus(at.half(1).room(), n.bits)
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
	n.room = room{free: none}
	if !n.has(taken) {
		n.room = n.inner()
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
		return room{s.bits, true}
	case s.top.bits == s.bits:
		return s.top.room
	case s.top.room.free == s.top.bits: // nothing but marks
		return room{s.bits, true}
	default: // the half without the node is free
		return room{s.bits + 1, true}
	}
}

// inner returns the room inside s, as if no entry sat at s itself.
func (s slot[E]) inner() room {
	if s.top != nil && s.top.bits == s.bits {
		return s.top.inner()
	}
	return s.room()
}
