// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package allocator

// word is as many bits as the addresses of a family have, of which a node keeps
// one. The first bit of the address is the highest of the first half; an IPv4
// word is the first 32 bits, and nothing is ever set beyond.
type word[W any] interface {
	comparable
	halves() (hi, lo uint64)
	// with returns a word of these bits; the one that it is asked of does not
	// matter.
	with(hi, lo uint64) W
}

type word4 uint32

func (w word4) halves() (hi, lo uint64) { return uint64(w) << 32, 0 }

func (word4) with(hi, _ uint64) word4 { return word4(hi >> 32) }

type word6 struct{ hi, lo uint64 }

func (w word6) halves() (hi, lo uint64) { return w.hi, w.lo }

func (word6) with(hi, lo uint64) word6 { return word6{hi, lo} }
