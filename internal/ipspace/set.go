// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ipspace

import (
	"fmt"
	"slices"

	"go4.org/netipx"
)

// EntryError says what is wrong with one entry of a list.
type EntryError struct {
	// Index is the position of the entry in the list, from 0.
	Index int
	// Err is what is wrong with it; its text quotes the entry.
	Err error
}

// Error returns the reason, preceded by the position of the entry.
func (e *EntryError) Error() string { return fmt.Sprintf("entry %d: %v", e.Index, e.Err) }

// Unwrap returns the reason alone.
func (e *EntryError) Unwrap() error { return e.Err }

// ParseSet returns the union of entries, each as ParseEntry reads it. All are
// of one family, and no two overlap. An empty list is the empty set. The error
// is an *EntryError; where two entries contradict each other it carries the
// index of the later one and names the earlier. The cost is O(n log n).
func ParseSet(entries []string) (*netipx.IPSet, error) {
	ranges, err := parseRanges(entries)
	if err != nil {
		return nil, err
	}
	if err := checkDisjoint(entries, ranges); err != nil {
		return nil, err
	}
	var b netipx.IPSetBuilder
	for _, r := range ranges {
		b.AddRange(r)
	}
	return b.IPSet()
}

func parseRanges(entries []string) ([]netipx.IPRange, error) {
	ranges := make([]netipx.IPRange, len(entries))
	for i, text := range entries {
		r, err := ParseEntry(text)
		if err != nil {
			return nil, &EntryError{Index: i, Err: err}
		}
		ranges[i] = r
		if r.From().BitLen() != ranges[0].From().BitLen() {
			return nil, &EntryError{Index: i, Err: fmt.Errorf("%q is not of the family of entry 0, %q", text, entries[0])}
		}
	}
	return ranges, nil
}

// checkDisjoint goes through the ranges in address order. Neighbours suffice: if
// any two ranges overlap, then so do two that are neighbours.
func checkDisjoint(entries []string, ranges []netipx.IPRange) error {
	order := make([]int, len(ranges))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return ranges[i].From().Compare(ranges[j].From()) })
	for k := 1; k < len(order); k++ {
		i, j := order[k-1], order[k]
		if ranges[i].Overlaps(ranges[j]) {
			early, late := min(i, j), max(i, j)
			return &EntryError{Index: late, Err: fmt.Errorf("%q overlaps entry %d, %q", entries[late], early, entries[early])}
		}
	}
	return nil
}
