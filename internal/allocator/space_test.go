// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package allocator_test

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/allocator"
)

// spaceOf returns a space with an entry at each of texts, numbered from 0.
func spaceOf(texts ...string) *allocator.Space[int] {
	s := new(allocator.Space[int])
	for e, p := range prefixes(texts...) {
		s.Insert(p, e)
	}
	return s
}

func TestOverlapping(t *testing.T) {
	t.Parallel()
	nested := []string{
		"10.0.1.0/24", "10.0.0.0/8", "10.0.1.7/32", "10.0.0.0/24", "10.0.1.0/28", "10.0.1.0/24", "2001:db8::/32",
	}
	tests := map[string]struct {
		held  []string
		asked string
		want  []int
	}{
		"nothing is held":                   {asked: "10.0.0.0/8"},
		"nothing is held there":             {nested, "192.0.2.0/24", nil},
		"what contains it, the wider first": {nested, "10.0.1.5/32", []int{1, 0, 5, 4}},
		"what is at it, first come first":   {nested, "10.0.1.0/24", []int{1, 0, 5, 4, 2}},
		"what is inside, by address":        {nested, "10.0.0.0/9", []int{1, 3, 0, 5, 4, 2}},
		"a family keeps to itself":          {nested, "2001::/16", []int{6}},
		"the whole of a family":             {nested, "0.0.0.0/0", []int{1, 3, 0, 5, 4, 2}},
		"a free place beside a path":        {[]string{"10.0.0.0/24"}, "10.0.1.0/24", nil},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := spaceOf(tc.held...)
			var got []int
			for p, e := range s.Overlapping(netip.MustParsePrefix(tc.asked)) {
				got = append(got, e)
				if want := netip.MustParsePrefix(tc.held[e]); p != want {
					t.Errorf("entry %d is at %v, want %v", e, p, want)
				}
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("entries (-want +got):\n%s", diff)
			}
		})
	}
}

func TestOverlappingStopsEarly(t *testing.T) {
	t.Parallel()
	s := spaceOf("10.0.0.0/8", "10.0.0.0/24", "10.0.0.0/24", "10.0.0.0/28", "10.0.0.9/32", "10.0.0.99/32")
	for stop := range s.Len() {
		var got []int
		for _, e := range s.Overlapping(netip.MustParsePrefix("10.0.0.0/24")) {
			got = append(got, e)
			if len(got) > stop {
				break
			}
		}
		if want := []int{0, 1, 2, 3, 4, 5}[:stop+1]; !slices.Equal(got, want) {
			t.Errorf("got %v, want %v", got, want)
		}
	}
	for e := range s.At(netip.MustParsePrefix("10.0.0.0/24")) {
		if e != 1 {
			t.Errorf("got %d first, want 1", e)
		}
		break
	}
}

func TestEntriesAtOnePrefix(t *testing.T) {
	t.Parallel()
	p := netip.MustParsePrefix("10.0.0.0/24")
	tests := map[string]struct {
		insert, remove []int
		want           []int
	}{
		"they keep their order":                {insert: []int{3, 1, 2}, want: []int{3, 1, 2}},
		"the first goes":                       {insert: []int{3, 1, 2}, remove: []int{3}, want: []int{1, 2}},
		"one in the middle goes":               {insert: []int{3, 1, 2}, remove: []int{1}, want: []int{3, 2}},
		"the last goes":                        {insert: []int{3, 1, 2}, remove: []int{2}, want: []int{3, 1}},
		"all but one go":                       {insert: []int{3, 1, 2}, remove: []int{2, 3}, want: []int{1}},
		"all go":                               {insert: []int{3, 1, 2}, remove: []int{2, 3, 1}},
		"the zero value is an entry":           {insert: []int{0, 1}, remove: []int{1}, want: []int{0}},
		"twice put is twice there":             {insert: []int{1, 1}, want: []int{1, 1}},
		"twice put and once removed is there":  {insert: []int{1, 1}, remove: []int{1}, want: []int{1}},
		"twice put and twice removed is not":   {insert: []int{1, 1}, remove: []int{1, 1}},
		"removing leaves room for what is new": {insert: []int{1, 2}, remove: []int{2}, want: []int{1}},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var s allocator.Space[int]
			for _, e := range tc.insert {
				s.Insert(p, e)
			}
			for _, e := range tc.remove {
				if !s.Remove(p, e) {
					t.Errorf("%d was not there", e)
				}
			}
			if diff := cmp.Diff(tc.want, slices.Collect(s.At(p))); diff != "" {
				t.Errorf("entries (-want +got):\n%s", diff)
			}
			if s.Len() != len(tc.want) {
				t.Errorf("Len() = %d, want %d", s.Len(), len(tc.want))
			}
		})
	}
}

func TestRemoveWhatIsNotThere(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		prefix netip.Prefix
		entry  int
	}{
		"another entry":          {netip.MustParsePrefix("10.0.0.0/24"), 1},
		"a wider prefix":         {netip.MustParsePrefix("10.0.0.0/23"), 0},
		"a prefix inside":        {netip.MustParsePrefix("10.0.0.0/25"), 0},
		"a prefix elsewhere":     {netip.MustParsePrefix("10.0.1.0/24"), 0},
		"the same bits as IPv6":  {netip.MustParsePrefix("a00::/24"), 0},
		"the invalid prefix":     {netip.Prefix{}, 0},
		"a prefix of no address": {netip.PrefixFrom(netip.MustParseAddr("10.0.0.0"), 33), 0},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := spaceOf("10.0.0.0/24")
			if s.Remove(tc.prefix, tc.entry) || s.Len() != 1 {
				t.Errorf("entry %d was removed at %v", tc.entry, tc.prefix)
			}
		})
	}
}

func TestInvalidPrefix(t *testing.T) {
	t.Parallel()
	s, none := spaceOf("10.0.0.0/24", "2001:db8::/64"), netip.Prefix{}
	for range s.At(none) {
		t.Error("an entry sits at the invalid prefix")
	}
	for range s.Overlapping(none) {
		t.Error("an entry overlaps the invalid prefix")
	}
	s.Forget(none)
	if _, ok := s.LargestFree([]netip.Prefix{none}, nil); ok {
		t.Error("the invalid prefix offers room")
	}
	for name, fit := range searches(1) {
		if _, err := fit(s, request{Blocks: []netip.Prefix{none}}); err == nil {
			t.Errorf("%s: something fits into the invalid prefix", name)
		}
	}
	defer func() {
		if recover() == nil {
			t.Error("inserting at the invalid prefix did not panic")
		}
	}()
	s.Insert(none, 1)
}
