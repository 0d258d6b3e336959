// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pile

import "iter"

// Lookup finds numbers by a hash of what they stand for. It stores nothing but
// the numbers: whoever asks compares what they stand for, and computes hashes
// anew when they are needed.
//
// It is a hash table with open addressing and linear probing. The way from
// where a number's hash points to where it sits has no empty slot: Add takes the
// first one, and Drop closes the gap that it makes.
type Lookup struct {
	// hash is that of what a number in the table stands for. It must not change
	// while that is in the table.
	hash  func(uint32) uint64
	slots []uint32 // a power of two, 0 where nothing is
	size  int
}

// NewLookup returns an empty lookup.
func NewLookup(hash func(uint32) uint64) *Lookup {
	return &Lookup{hash: hash, slots: make([]uint32, smallest)}
}

// Len returns how many numbers there are.
func (l *Lookup) Len() int { return l.size }

// Find yields all numbers of that hash, and some of others, in no order. The
// lookup must not be changed meanwhile.
func (l *Lookup) Find(hash uint64) iter.Seq[uint32] {
	return func(yield func(uint32) bool) {
		for s := l.home(hash); l.slots[s] != 0; s = l.after(s) {
			if !yield(l.slots[s]) {
				return
			}
		}
	}
}

// Add puts a number in, which must not be there yet. What it stands for must
// have its hash already.
func (l *Lookup) Add(i uint32) {
	if (l.size+1)*5 > len(l.slots)*4 {
		l.grow()
	}
	l.put(i)
	l.size++
}

// Drop takes a number out, which must be there. What it stands for must still
// have its hash.
func (l *Lookup) Drop(i uint32) {
	gap := l.home(l.hash(i))
	for l.slots[gap] != i {
		gap = l.after(gap)
	}
	for s := l.after(gap); l.slots[s] != 0; s = l.after(s) {
		if l.reaches(gap, s) {
			l.slots[gap] = l.slots[s]
			gap = s
		}
	}
	l.slots[gap] = 0
	l.size--
}

// reaches reports whether the number in slot s may move back to the gap: its
// way begins there or before.
func (l *Lookup) reaches(gap, s int) bool {
	way := (s - l.home(l.hash(l.slots[s]))) & (len(l.slots) - 1)
	return way >= (s-gap)&(len(l.slots)-1)
}

func (l *Lookup) put(i uint32) {
	s := l.home(l.hash(i))
	for l.slots[s] != 0 {
		s = l.after(s)
	}
	l.slots[s] = i
}

func (l *Lookup) grow() {
	old := l.slots
	l.slots = make([]uint32, 2*len(old))
	for _, i := range old {
		if i != 0 {
			l.put(i)
		}
	}
}

func (l *Lookup) home(hash uint64) int { return int(hash & uint64(len(l.slots)-1)) } //nolint:gosec // below len(l.slots)

func (l *Lookup) after(s int) int { return (s + 1) & (len(l.slots) - 1) }
