// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package allocator

import (
	"testing"
	"unsafe"
)

// TestSizeOfANode keeps the promise of node's comment: two of them per entry
// are most of what an entry costs.
func TestSizeOfANode(t *testing.T) {
	t.Parallel()
	if size := unsafe.Sizeof(node[uint32, word4]{}); size > 20 {
		t.Errorf("a node takes %d bytes in IPv4, want at most 20", size)
	}
	if size := unsafe.Sizeof(node[uint32, word6]{}); size > 32 {
		t.Errorf("a node takes %d bytes in IPv6, want at most 32", size)
	}
}

// TestLengths compares with the numbers written out.
func TestLengths(t *testing.T) {
	t.Parallel()
	for n := range uint8(129) {
		for m := n; m <= 128; m++ {
			set := between(n, m)
			shortest, longest := int16(n)+1, int16(m)
			if n == m {
				shortest, longest = none, none
			}
			if set.shortest() != shortest || set.longest() != longest || set.isEmpty() != (n == m) {
				t.Errorf("between(%d, %d) is from %d to %d", n, m, set.shortest(), set.longest())
			}
			if rest := upTo(m).without(set); rest != upTo(n) || rest.or(set) != upTo(m) || !rest.and(set).isEmpty() {
				t.Errorf("between(%d, %d) is %x", n, m, set)
			}
		}
	}
}
