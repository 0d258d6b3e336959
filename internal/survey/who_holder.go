// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package survey

import (
	"context"
	"slices"
)

// describe reads what a record is for, and adds its pools and neighbours.
func (w *search) describe(ctx context.Context, h *Holder) (err error) {
	for p := w.pools[h.Pool]; p != nil && len(h.Pools) < len(w.pools); p = w.pools[p.Parent] {
		h.Pools = append(h.Pools, p)
	}
	for i := range w.records {
		r := &w.records[i]
		switch {
		case r.Pool != h.Pool || r.Prefix.Overlaps(h.Prefix) || r.IsBlock() && r.Claim.Pool() == h.Pool:
		case r.Prefix.Addr().Less(h.Prefix.Addr()):
			if h.Before == nil || h.Before.Prefix.Addr().Less(r.Prefix.Addr()) {
				h.Before = r
			}
		default:
			if h.After == nil || r.Prefix.Addr().Less(h.After.Prefix.Addr()) {
				h.After = r
			}
		}
	}
	h.Object, err = w.survey.Claim(ctx, &h.Record)
	return err
}

// within returns the listed records that lie in what is asked for, in order.
func (w *search) within() []Record {
	var inside []Record
	for _, r := range w.records {
		if r.Prefix.Bits() > w.asked.Bits() && w.asked.Contains(r.Prefix.Addr()) {
			inside = append(inside, r)
		}
	}
	slices.SortFunc(inside, func(a, b Record) int { return a.Prefix.Compare(b.Prefix) })
	return slices.CompactFunc(inside, func(a, b Record) bool { return a == b })
}
