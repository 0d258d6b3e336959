// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package allocator

import (
	"iter"
	"net/netip"
)

// Space is the set of prefixes taken in one address space, of both families.
// An entry of type E sits at a prefix; several may sit at the same prefix, and
// prefixes may nest.
//
// The zero value is an empty space. A Space must not be used by several
// goroutines at once: even its reading methods count visits, and searches
// leave marks. It must not be changed while one of its iterators runs.
//
// Prefixes are expected as ipspace.ParsePrefix returns them; bits beyond the
// prefix length are ignored. An invalid prefix holds nothing and contains
// nothing.
type Space[E comparable] struct {
	v4   trie[E, word4]
	v6   trie[E, word6]
	size int
}

// family is what a space asks of the trie of either family.
type family[E comparable] interface {
	insert(p path, e E)
	remove(p path, e E)
	setMark(p path)
	forget(p path)
	at(p path) iter.Seq[E]
	overlapping(p path) iter.Seq2[path, E]
	roomIn(block path, own func(E) bool) (room, bool)
	fit(block path, own func(E) bool, g goal) (path, bool)
	isFree(block path, own func(E) bool, want path) bool
	steps() uint64
}

func (s *Space[E]) family(p netip.Prefix) family[E] {
	if p.Addr().Is4() {
		return &s.v4
	}
	return &s.v6
}

// Insert puts e at p. The same entry put twice is there twice. It panics if p
// is invalid. The cost grows with the length of p and with the entries already
// at p, not with those elsewhere.
func (s *Space[E]) Insert(p netip.Prefix, e E) {
	if !p.IsValid() {
		panic("allocator: inserting at an invalid prefix")
	}
	s.family(p).insert(pathOf(p), e)
	s.size++
}

// Remove takes e away from p and reports whether it was there. Of an entry
// put twice, one remains. The cost is that of Insert.
func (s *Space[E]) Remove(p netip.Prefix, e E) bool {
	if !s.holds(p, e) {
		return false
	}
	s.family(p).remove(pathOf(p), e)
	s.size--
	return true
}

func (s *Space[E]) holds(p netip.Prefix, e E) bool {
	for other := range s.At(p) {
		if other == e {
			return true
		}
	}
	return false
}

// Forget drops what searches remembered about reserved addresses inside
// block. Call it when the rule given as Request.Reserved changes there. The
// cost grows with the number of such addresses met so far.
func (s *Space[E]) Forget(block netip.Prefix) {
	if block.IsValid() {
		s.family(block).forget(pathOf(block))
	}
}

// At yields the entries exactly at p, in the order in which they came.
func (s *Space[E]) At(p netip.Prefix) iter.Seq[E] {
	if !p.IsValid() {
		return func(func(E) bool) {}
	}
	return s.family(p).at(pathOf(p))
}

// Overlapping yields the entries that share an address with p, each with its
// prefix: first those that contain p or sit at it, widest first, then those
// inside p by address, wider ones before what they contain. Entries at the
// same prefix come in the order in which they were put there. Up to the first
// entry inside p the cost grows with the length of p only.
func (s *Space[E]) Overlapping(p netip.Prefix) iter.Seq2[netip.Prefix, E] {
	return func(yield func(netip.Prefix, E) bool) {
		if !p.IsValid() {
			return
		}
		for at, e := range s.family(p).overlapping(pathOf(p)) {
			if !yield(at.prefix(p.Addr().Is4()), e) {
				return
			}
		}
	}
}

// Len returns the number of entries.
func (s *Space[E]) Len() int { return s.size }

// Visited returns the number of steps that all operations so far took from
// node to node or bit to bit. Tests assert the cost of operations with it.
func (s *Space[E]) Visited() uint64 { return s.v4.steps() + s.v6.steps() }
