// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package allocator_test

import (
	"maps"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"pgregory.net/rapid"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/allocator"
)

// drawBlocks draws the blocks of a pool.
func drawBlocks(t *rapid.T) []netip.Prefix {
	names := slices.Sorted(maps.Keys(worlds))
	return worlds[rapid.SampledFrom(names).Draw(t, "pool")]
}

// drawSpace returns a space with random entries in and around blocks, and the
// entries.
func drawSpace(t *rapid.T, blocks []netip.Prefix) (*allocator.Space[int], []held) {
	w := newWorld(t, "rapid", drawn{t}, blocks)
	for range rapid.IntRange(0, 30).Draw(t, "entries") {
		w.insert(w.prefixIn(w.pools[0]), w.id())
	}
	return &w.space, w.naive.Held()
}

// answers returns all that can be asked about what is free in blocks.
func answers(s *allocator.Space[int], blocks []netip.Prefix) []string {
	var all []string
	bits, _ := s.LargestFree(blocks, these(1))
	all = append(all, netip.PrefixFrom(blocks[0].Addr(), bits).String())
	for bits := range blocks[0].Addr().BitLen() + 1 {
		r := request{Blocks: blocks, Own: these(1), Bits: bits}
		p, err := s.FirstFit(r)
		r.Reserved = func(a netip.Addr) bool { return a == blocks[0].Addr() }
		q, errReserved := s.FirstFit(r)
		best, errBest := s.BestFit(r)
		if err == nil || errReserved == nil || errBest == nil {
			all = append(all, p.String(), q.String(), best.String())
		}
	}
	return all
}

// TestRandomOperationsShrink is TestRandomOperations with choices that rapid
// reduces to a small example when something is wrong.
func TestRandomOperationsShrink(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		w := newWorld(t, "rapid", drawn{t}, drawBlocks(t))
		for range rapid.IntRange(0, 60).Draw(t, "steps") {
			w.step()
		}
	})
}

// TestPicksAreDisjointAndInside fills a pool with prefixes of random lengths
// until nothing more fits.
func TestPicksAreDisjointAndInside(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		blocks := drawBlocks(t)
		var s allocator.Space[int]
		var picks []netip.Prefix
		lengths := rapid.SliceOfN(rapid.IntRange(0, blocks[0].Addr().BitLen()), 0, 40).Draw(t, "lengths")
		for _, bits := range lengths {
			p, err := s.FirstFit(request{Blocks: blocks, Bits: bits})
			if err != nil {
				continue
			}
			inside := func(b netip.Prefix) bool { return b.Bits() <= p.Bits() && b.Overlaps(p) }
			if !slices.ContainsFunc(blocks, inside) || p.Bits() != bits || p != p.Masked() {
				t.Fatalf("asked for /%d in %v, got %v", bits, blocks, p)
			}
			if slices.ContainsFunc(picks, p.Overlaps) {
				t.Fatalf("%v overlaps one of %v", p, picks)
			}
			picks = append(picks, p)
			s.Insert(p, len(picks))
		}
	})
}

// TestReleaseRestores puts entries into a space, takes them away in another
// order, and finds every answer as it was.
func TestReleaseRestores(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		blocks := drawBlocks(t)
		s, before := drawSpace(t, blocks)
		want := answers(s, blocks)
		_, extra := drawSpace(t, blocks)
		for _, h := range extra {
			s.Insert(h.Prefix, -h.Entry)
		}
		for _, h := range rapid.Permutation(extra).Draw(t, "order of release") {
			if !s.Remove(h.Prefix, -h.Entry) {
				t.Fatalf("%v is not there", h)
			}
		}
		if diff := cmp.Diff(want, answers(s, blocks)); diff != "" {
			t.Errorf("answers (-before +after):\n%s", diff)
		}
		if s.Len() != len(before) {
			t.Errorf("%d entries, before %d", s.Len(), len(before))
		}
	})
}

// TestOrderOfInsertionDoesNotMatter builds the same space in two orders.
func TestOrderOfInsertionDoesNotMatter(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		blocks := drawBlocks(t)
		s, all := drawSpace(t, blocks)
		var other allocator.Space[int]
		for _, h := range rapid.Permutation(all).Draw(t, "order") {
			other.Insert(h.Prefix, h.Entry)
		}
		if diff := cmp.Diff(answers(s, blocks), answers(&other, blocks)); diff != "" {
			t.Errorf("answers (-one order +other):\n%s", diff)
		}
	})
}
