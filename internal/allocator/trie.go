// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package allocator

import (
	"iter"
	"slices"
)

// trie is the part of a space that belongs to one family.
type trie[E comparable] struct {
	root    *node[E]
	more    map[path][]E // all entries but the first, where a node is crowded
	visited uint64
}

// edit lets change work on the node at p, which is made if need be, and brings
// the way down to it up to date. The root is edited at &t.root.
func (t *trie[E]) edit(at **node[E], p path, change func(*node[E])) {
	t.visited++
	n := *at
	switch {
	case n == nil:
		n = newNode[E](p)
		change(n)
	case n.path() == p:
		change(n)
	case n.path().covers(p):
		t.edit(&n.kids[p.bit(n.bits)], p, change)
	default:
		fork := newNode[E](p.common(n.path()))
		fork.kids[n.path().bit(fork.bits)] = n
		if fork.bits == p.bits {
			change(fork)
		} else {
			t.edit(&fork.kids[p.bit(fork.bits)], p, change)
		}
		n = fork
	}
	*at = n.settled()
}

// add puts e at n, behind the entries already there.
func (t *trie[E]) add(n *node[E], e E) {
	if !n.has(taken) {
		n.first = e
		n.flags |= taken
		return
	}
	if t.more == nil {
		t.more = map[path][]E{}
	}
	t.more[n.path()] = append(t.more[n.path()], e)
	n.flags |= crowded
}

// drop takes the first e away from n, where it must be.
func (t *trie[E]) drop(n *node[E], e E) {
	all := slices.Collect(t.entries(n))
	i := slices.Index(all, e)
	n.flags &^= taken | crowded
	n.first = *new(E)
	delete(t.more, n.path())
	for _, other := range slices.Delete(all, i, i+1) {
		t.add(n, other)
	}
}

// entries yields what sits at n, first come first; nothing for nil.
func (t *trie[E]) entries(n *node[E]) iter.Seq[E] {
	return func(yield func(E) bool) {
		if n == nil || !n.has(taken) || !yield(n.first) || !n.has(crowded) {
			return
		}
		for _, e := range t.more[n.path()] {
			if !yield(e) {
				return
			}
		}
	}
}

// enclosing yields the nodes strictly above p from the top down, and then the
// topmost node at or inside p, if there is one.
func (t *trie[E]) enclosing(p path) iter.Seq[*node[E]] {
	return func(yield func(*node[E]) bool) {
		n := t.root
		for n != nil && n.bits < p.bits && n.path().covers(p) {
			t.visited++
			if !yield(n) {
				return
			}
			n = n.kids[p.bit(n.bits)]
		}
		if n != nil && p.covers(n.path()) {
			t.visited++
			yield(n)
		}
	}
}

// find returns the topmost node at or inside p, nil if there is none.
func (t *trie[E]) find(p path) *node[E] {
	for n := range t.enclosing(p) {
		if n.bits >= p.bits {
			return n
		}
	}
	return nil
}

// walk calls visit for n and all nodes below it that hold entries, in address
// order, the wider before what it contains, until visit returns false.
func (t *trie[E]) walk(n *node[E], visit func(*node[E]) bool) bool {
	if n == nil || n.has(whole) { // nothing but marks
		return true
	}
	t.visited++
	return visit(n) && t.walk(n.kids[0], visit) && t.walk(n.kids[1], visit)
}

// enter returns the slot of block, and false if an entry that is not own sits
// at block or above it.
func (t *trie[E]) enter(block path, own func(E) bool) (slot[E], bool) {
	s := slot[E]{path: block}
	for n := range t.enclosing(block) {
		if n.bits <= block.bits && t.isForeign(n, own) {
			return slot[E]{}, false
		}
		if n.bits >= block.bits {
			s.top = n
		}
	}
	return s, true
}

func (t *trie[E]) isForeign(n *node[E], own func(E) bool) bool {
	for e := range t.entries(n) {
		if own == nil || !own(e) {
			return true
		}
	}
	return false
}

// nearest returns, of the free paths inside s that g asks for, the one nearest
// to g.near: at every fork it turns as that does, unless nothing is there. There
// must be one.
func (t *trie[E]) nearest(s slot[E], g goal) path {
	for s.bits < g.bits && s.top != nil {
		t.visited++
		turn := g.near.bit(s.bits)
		if wanted := s.half(turn); wanted.room().fits(g) {
			s = wanted
		} else {
			s = s.half(1 - turn)
		}
	}
	return s.along(g.near, g.bits)
}

// isFree reports whether all of want, a path inside s, is free.
func (t *trie[E]) isFree(s slot[E], want path) bool {
	r := s.inner()
	for s.bits < want.bits && !r.gaps.isEmpty() {
		t.visited++
		s = s.half(want.bit(s.bits))
		r = s.room()
	}
	return r.whole
}
