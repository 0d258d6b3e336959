// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package allocator

import (
	"iter"
	"slices"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pile"
)

// trie is the part of a space that belongs to one family.
type trie[E comparable, W word[W]] struct {
	nodes   pile.Pile[node[E, W]]
	root    ref
	more    map[path][]E // all entries but the first, where a node is crowded
	visited uint64
}

// node returns the node of that number, nil for 0. It stays where it is until
// an edit gives it up.
func (t *trie[E, W]) node(i ref) *node[E, W] {
	if i == 0 {
		return nil
	}
	return t.nodes.At(uint32(i))
}

func (t *trie[E, W]) grow(p path) ref { return ref(t.nodes.Add(newNode[E, W](p))) }

// edit lets change work on the node at p, which is made if need be, and brings
// the way down to it up to date. The root is edited at &t.root.
func (t *trie[E, W]) edit(at *ref, p path, change func(*node[E, W])) {
	t.visited++
	n := t.node(*at)
	switch {
	case n == nil:
		*at = t.grow(p)
		change(t.node(*at))
	case n.path() == p:
		change(n)
	case n.path().covers(p):
		t.edit(&n.kids[p.bit(n.bits)], p, change)
	default:
		above := t.grow(p.common(n.path()))
		fork := t.node(above)
		fork.kids[n.path().bit(fork.bits)] = *at
		*at = above
		if fork.bits == p.bits {
			change(fork)
		} else {
			t.edit(&fork.kids[p.bit(fork.bits)], p, change)
		}
	}
	*at = t.settled(*at)
}

// insert puts e at p.
func (t *trie[E, W]) insert(p path, e E) {
	t.edit(&t.root, p, func(n *node[E, W]) {
		t.unmark(n)
		t.add(n, e)
	})
}

// remove takes e, which must be there, away from p.
func (t *trie[E, W]) remove(p path, e E) {
	t.edit(&t.root, p, func(n *node[E, W]) {
		t.unmark(n)
		t.drop(n, e)
	})
}

// setMark remembers that the host at p is reserved.
func (t *trie[E, W]) setMark(p path) {
	t.edit(&t.root, p, func(n *node[E, W]) { n.flags |= mark })
}

// forget drops the marks at p and inside it.
func (t *trie[E, W]) forget(p path) { t.edit(&t.root, p, t.unmark) }

// add puts e at n, behind the entries already there.
func (t *trie[E, W]) add(n *node[E, W], e E) {
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
func (t *trie[E, W]) drop(n *node[E, W], e E) {
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
func (t *trie[E, W]) entries(n *node[E, W]) iter.Seq[E] {
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

// at yields the entries exactly at p.
func (t *trie[E, W]) at(p path) iter.Seq[E] {
	n := t.find(p)
	if n != nil && n.path() != p {
		n = nil
	}
	return t.entries(n)
}

// enclosing yields the nodes strictly above p from the top down, and then the
// topmost node at or inside p, if there is one.
func (t *trie[E, W]) enclosing(p path) iter.Seq[*node[E, W]] {
	return func(yield func(*node[E, W]) bool) {
		n := t.node(t.root)
		for n != nil && n.bits < p.bits && n.path().covers(p) {
			t.visited++
			if !yield(n) {
				return
			}
			n = t.node(n.kids[p.bit(n.bits)])
		}
		if n != nil && p.covers(n.path()) {
			t.visited++
			yield(n)
		}
	}
}

// find returns the topmost node at or inside p, nil if there is none.
func (t *trie[E, W]) find(p path) *node[E, W] {
	for n := range t.enclosing(p) {
		if n.bits >= p.bits {
			return n
		}
	}
	return nil
}

// overlapping yields the entries that share an address with p and where they
// sit, in the order that Space.Overlapping promises.
func (t *trie[E, W]) overlapping(p path) iter.Seq2[path, E] {
	return func(yield func(path, E) bool) {
		visit := func(n *node[E, W]) bool {
			for e := range t.entries(n) {
				if !yield(n.path(), e) {
					return false
				}
			}
			return true
		}
		for n := range t.enclosing(p) {
			if n.bits < p.bits && !visit(n) {
				return
			}
			if n.bits >= p.bits {
				t.walk(n, visit)
			}
		}
	}
}

// walk calls visit for n and all nodes below it that hold entries, in address
// order, the wider before what it contains, until visit returns false.
func (t *trie[E, W]) walk(n *node[E, W], visit func(*node[E, W]) bool) bool {
	if n == nil || n.has(whole) { // nothing but marks
		return true
	}
	t.visited++
	return visit(n) && t.walk(t.node(n.kids[0]), visit) && t.walk(t.node(n.kids[1]), visit)
}

// enter returns the slot of block, and false if an entry that is not own sits
// at block or above it.
func (t *trie[E, W]) enter(block path, own func(E) bool) (slot[E, W], bool) {
	s := slot[E, W]{path: block, in: t}
	for n := range t.enclosing(block) {
		if n.bits <= block.bits && t.isForeign(n, own) {
			return slot[E, W]{}, false
		}
		if n.bits >= block.bits {
			s.top = n
		}
	}
	return s, true
}

func (t *trie[E, W]) isForeign(n *node[E, W], own func(E) bool) bool {
	for e := range t.entries(n) {
		if own == nil || !own(e) {
			return true
		}
	}
	return false
}

// roomIn returns the room inside block, and false if somebody else holds that.
func (t *trie[E, W]) roomIn(block path, own func(E) bool) (room, bool) {
	s, ok := t.enter(block, own)
	if !ok {
		return room{}, false
	}
	return s.inner(), true
}

// fit returns the free path in block that g prefers, and false if there is none.
func (t *trie[E, W]) fit(block path, own func(E) bool, g goal) (path, bool) {
	s, ok := t.enter(block, own)
	if !ok || !s.inner().fits(g) {
		return path{}, false
	}
	return t.nearest(s, g), true
}

// nearest returns, of the free paths inside s that g asks for, the one nearest
// to g.near: at every fork it turns as that does, unless nothing is there. There
// must be one.
func (t *trie[E, W]) nearest(s slot[E, W], g goal) path {
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

// isFree reports whether all of want, a path inside block, is free, and nobody
// else holds the block.
func (t *trie[E, W]) isFree(block path, own func(E) bool, want path) bool {
	s, ok := t.enter(block, own)
	if !ok {
		return false
	}
	r := s.inner()
	for s.bits < want.bits && !r.gaps.isEmpty() {
		t.visited++
		s = s.half(want.bit(s.bits))
		r = s.room()
	}
	return r.whole
}

func (t *trie[E, W]) steps() uint64 { return t.visited }
