// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package allocator_test

import (
	"maps"
	"slices"
	"testing"
)

// FuzzOperations reads a run from bytes and compares with the oracle at every
// question. Every byte is one choice, taken modulo the number of possibilities;
// missing bytes are 0. The first byte chooses the pool from worlds, sorted by
// name, the second its rule. Then come operations, each of them:
//
//	pool, which    what                                further choices
//	               0   carve a child pool              length, and if carved its rule
//	               1   hand out an address by FirstFit
//	               2   the same by BestFit
//	               3   the same by RandomFit
//	               4   hand out a prefix by FirstFit   length
//	               5   insert anywhere                 block, bits to flip, which, length, wider?
//	               6   take an entry back              which
//	               7   the same
//	               8   change the rule                 which
//	               9   ask questions                   length, and as for 5
//	               10  hand out a prefix by BestFit    length
//	               11  the same by RandomFit           length
//
// A run ends with its bytes, and after 200 operations at the latest.
func FuzzOperations(f *testing.F) {
	f.Add([]byte{6, 1, 0, 1, 0, 1, 0, 6, 1, 0, 1})
	f.Add([]byte{0, 2, 0, 0, 28, 1, 1, 1, 1, 1, 0, 6, 1})
	f.Fuzz(func(t *testing.T, data []byte) {
		s := &bytes{data}
		names := slices.Sorted(maps.Keys(worlds))
		name := names[s.pick(len(names))]
		w := newWorld(t, name, s, worlds[name])
		for i := 0; i < 200 && len(s.rest) > 0; i++ {
			w.step()
		}
	})
}
