// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pile

import "math/bits"

// The chunks double in size until they are full ones, so that a small pile is
// small. A full chunk of values of any multiple of four bytes is made of whole
// pages.
const (
	smallest = 32
	full     = 2048
	doubling = 6 // how often smallest doubles to make full
)

// place returns the chunk that the value of number i is in, and where.
func place(i uint32) (chunk, offset uint32) {
	if i >= full {
		return i/full + doubling, i % full
	}
	chunk = uint32(bits.Len32(i / smallest)) //nolint:gosec // at most doubling
	if chunk == 0 {
		return 0, i
	}
	return chunk, i - smallest<<(chunk-1)
}

// capacity returns how many values a chunk has room for.
func capacity(chunk int) int {
	if chunk == 0 {
		return smallest
	}
	return smallest << min(chunk-1, doubling)
}

// numbers gives out numbers.
type numbers struct {
	last uint32
	free []uint32
}

func (n *numbers) take() uint32 {
	if k := len(n.free); k > 0 {
		i := n.free[k-1]
		n.free = n.free[:k-1]
		return i
	}
	n.last++
	return n.last
}

func (n *numbers) give(i uint32) { n.free = append(n.free, i) }

// Pile is a set of numbered values. The zero value is empty.
type Pile[T any] struct {
	numbers numbers
	chunks  [][]T
}

// Add keeps v and returns its number.
func (p *Pile[T]) Add(v T) uint32 {
	i := p.numbers.take()
	chunk, offset := place(i)
	if int(chunk) == len(p.chunks) {
		p.chunks = append(p.chunks, make([]T, capacity(len(p.chunks))))
	}
	p.chunks[chunk][offset] = v
	return i
}

// At returns the value of number i, to be read or changed.
func (p *Pile[T]) At(i uint32) *T {
	chunk, offset := place(i)
	return &p.chunks[chunk][offset]
}

// Drop gives a number back; its value becomes the zero value.
func (p *Pile[T]) Drop(i uint32) {
	*p.At(i) = *new(T)
	p.numbers.give(i)
}

// Len returns how many values there are.
func (p *Pile[T]) Len() int { return int(p.numbers.last) - len(p.numbers.free) }

// Last returns the highest number ever given out.
func (p *Pile[T]) Last() uint32 { return p.numbers.last }
