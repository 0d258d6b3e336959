// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package allocator

// node is a prefix of the trie: one that holds entries or a mark, or one where
// two others part. Its fields are laid out for size: 20 bytes in IPv4 and 32 in
// IPv6 while E takes four, and at most two nodes per entry. That is why nodes
// know each other by number, and why the lengths of a node's gaps sit where its
// path, being a prefix, has no bits:
//
//	     bits
//	word ├─ path ─┼─ lengths of the gaps strictly inside ─┤
type node[E comparable, W word[W]] struct {
	word  W
	kids  [2]ref
	first E     // the first entry, if taken
	tight uint8 // as in room, plus one
	bits  uint8
	flags flags
}

// ref is the number of a node; 0 is none.
type ref uint32

type flags uint8

const (
	taken   flags = 1 << iota // entries sit here
	crowded                   // more than one; the others are in the trie's map
	mark                      // a search found this host reserved
	marks                     // a mark is here or below
	whole                     // no entry sits here or below
)

func newNode[E comparable, W word[W]](p path) node[E, W] {
	var w W
	return node[E, W]{word: w.with(p.hi, p.lo), bits: p.bits}
}

func (n *node[E, W]) has(f flags) bool { return n.flags&f != 0 }

func (n *node[E, W]) path() path {
	hi, lo := n.word.halves()
	return path{hi, lo, n.bits}.cut(n.bits)
}

// room returns what n offers, seen from above.
func (n *node[E, W]) room() room {
	hi, lo := n.word.halves()
	return room{n.bits, n.has(whole), lengths{hi, lo}.without(upTo(n.bits)), int16(n.tight) - 1}
}

// keep makes r the room of n.
func (n *node[E, W]) keep(r room) {
	at := n.path()
	n.word = n.word.with(at.hi|r.gaps.hi, at.lo|r.gaps.lo)
	n.tight = uint8(r.tight + 1) //nolint:gosec // from none to 128
	n.flags &^= whole
	if r.whole {
		n.flags |= whole
	}
}

// inner returns the room inside n, as if no entry sat at n itself.
func (t *trie[E, W]) inner(n *node[E, W]) room {
	switch {
	case n.has(mark):
		return room{bits: n.bits, whole: true, tight: none}
	case n.kids == [2]ref{}:
		return wholeRoom(n.bits)
	}
	at := slot[E, W]{n.path(), t, n}
	return at.half(0).room().plus(at.half(1).room())
}

// settled returns what has to stand in the place of node i after a change at it
// or right below it: that node brought up to date, or its only child, or nothing.
func (t *trie[E, W]) settled(i ref) ref {
	n := t.node(i)
	if !n.has(taken | mark) {
		if n.kids[0] == 0 {
			return t.replaced(i, n.kids[1])
		}
		if n.kids[1] == 0 {
			return t.replaced(i, n.kids[0])
		}
	}
	n.flags &^= marks
	if n.has(mark) || t.marked(n.kids[0]) || t.marked(n.kids[1]) {
		n.flags |= marks
	}
	if n.has(taken) {
		n.keep(room{tight: none})
	} else {
		n.keep(t.inner(n))
	}
	return i
}

// replaced gives node i up for another one, or for nothing.
func (t *trie[E, W]) replaced(i, by ref) ref {
	t.nodes.Drop(uint32(i))
	return by
}

func (t *trie[E, W]) marked(i ref) bool { return i != 0 && t.node(i).has(marks) }

// unmark drops the mark of n and those below it; n is left to be settled.
func (t *trie[E, W]) unmark(n *node[E, W]) {
	n.flags &^= mark
	for i, kid := range n.kids {
		if t.marked(kid) {
			t.unmark(t.node(kid))
			n.kids[i] = t.settled(kid)
		}
	}
}

// slot is a prefix that need not have a node, with the topmost node at or
// inside it, if any: a step on the way down that compressed paths hide.
type slot[E comparable, W word[W]] struct {
	path
	in  *trie[E, W]
	top *node[E, W]
}

// half returns the lower (0) or upper (1) half of s.
func (s slot[E, W]) half(bit int) slot[E, W] {
	h := slot[E, W]{path: s.path.half(bit), in: s.in}
	switch {
	case s.top == nil:
	case s.top.bits == s.bits:
		h.top = s.in.node(s.top.kids[bit])
	case s.top.path().bit(s.bits) == bit:
		h.top = s.top
	}
	return h
}

// room returns what s offers, seen from above.
func (s slot[E, W]) room() room {
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
func (s slot[E, W]) inner() room {
	if s.top != nil && s.top.bits == s.bits {
		return s.in.inner(s.top)
	}
	return s.room()
}
