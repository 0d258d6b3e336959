// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ipspace_test

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ipspace"
)

func TestParseSet(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		entries []string
		want    string // the ranges
		index   int
		err     string
	}{
		"no entry is the empty set": {want: "[]"},
		"all kinds of entries, in any order": {
			entries: []string{"192.0.2.128/25", "192.0.2.7", "192.0.2.20-192.0.2.30"},
			want:    "[192.0.2.7-192.0.2.7 192.0.2.20-192.0.2.30 192.0.2.128-192.0.2.255]"},
		"an entry that is not canonical": {
			entries: []string{"2001:db8::/65", "2001:db8::8000:0:0:0/65"}, index: 1,
			err: `"2001:db8::8000:0:0:0/65" is not canonical: write "2001:db8:0:0:8000::/65"`},
		"neighbours become one range": {
			entries: []string{"192.0.2.0/25", "192.0.2.128/25"}, want: "[192.0.2.0-192.0.2.255]"},
		"an entry that does not parse": {
			entries: []string{"192.0.2.0/24", "nowhere"}, index: 1, err: `"nowhere" is not an IP address`},
		"two families": {
			entries: []string{"192.0.2.0/24", "2001:db8::/64"}, index: 1,
			err: `"2001:db8::/64" is not of the family of entry 0, "192.0.2.0/24"`},
		"the same entry twice": {
			entries: []string{"192.0.2.7", "192.0.2.9", "192.0.2.7"}, index: 2,
			err: `"192.0.2.7" overlaps entry 0, "192.0.2.7"`},
		"an entry inside another": {
			entries: []string{"192.0.2.7", "198.51.100.0/24", "192.0.2.0/24"}, index: 2,
			err: `"192.0.2.0/24" overlaps entry 0, "192.0.2.7"`},
		"an overlap far behind": {
			entries: []string{"192.0.2.0/24", "192.0.2.1", "192.0.2.250-192.0.3.2"}, index: 1,
			err: `"192.0.2.1" overlaps entry 0, "192.0.2.0/24"`},
		"ranges that share one address": {
			entries: []string{"192.0.2.5-192.0.2.9", "192.0.2.1-192.0.2.5"}, index: 1,
			err: `"192.0.2.1-192.0.2.5" overlaps entry 0, "192.0.2.5-192.0.2.9"`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			set, err := ipspace.ParseSet(tc.entries)
			if tc.err == "" {
				if err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tc.want, fmt.Sprint(set.Ranges())); diff != "" {
					t.Errorf("ranges (-want +got):\n%s", diff)
				}
				return
			}
			var entry *ipspace.EntryError
			if !errors.As(err, &entry) {
				t.Fatalf("got %v, want an EntryError", err)
			}
			if diff := cmp.Diff(tc.err, entry.Err.Error()); diff != "" || entry.Index != tc.index {
				t.Errorf("entry %d (-want +got):\n%s", entry.Index, diff)
			}
			if diff := cmp.Diff(fmt.Sprintf("entry %d: %s", tc.index, tc.err), err.Error()); diff != "" {
				t.Errorf("text (-want +got):\n%s", diff)
			}
		})
	}
}

// TestParseSetFindsEveryOverlap compares the sorted search for overlaps with
// a look at all pairs.
func TestParseSetFindsEveryOverlap(t *testing.T) {
	t.Parallel()
	for seed := range uint64(2000) {
		rng := rand.New(rand.NewPCG(seed, 0))
		entries := make([]string, rng.IntN(6))
		overlap := false
		for i := range entries {
			from := rng.IntN(40)
			entries[i] = fmt.Sprintf("192.0.2.%d-192.0.2.%d", from, from+rng.IntN(8))
			r, err := ipspace.ParseEntry(entries[i])
			if err != nil {
				t.Fatal(err)
			}
			for _, text := range entries[:i] {
				other, err := ipspace.ParseEntry(text)
				if err != nil {
					t.Fatal(err)
				}
				overlap = overlap || r.Overlaps(other)
			}
		}
		if _, err := ipspace.ParseSet(entries); (err != nil) != overlap {
			t.Errorf("seed %d: ParseSet(%q): %v, want an overlap: %t", seed, entries, err, overlap)
		}
	}
}
