// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package book

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
)

// tiered is a pool of three tiers, the last of which lies between the others.
var tiered = shapeConfig{
	entries: "10.0.0.0-10.0.0.7", kept: "10.0.0.5/32", reserved: pooltree.AllocateReserved,
	tiers: []string{"10.0.0.6-10.0.0.7", "10.0.0.0-10.0.0.1", "10.0.0.2-10.0.0.5"},
}

// TestTiersAreConsumedInTheirOrder fills a pool under every strategy, and takes back one address of
// the first tier: that is the next one, and nothing is said to be exhausted before.
func TestTiersAreConsumedInTheirOrder(t *testing.T) {
	t.Parallel()
	for name, strategy := range strategies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBook()
			b.serving(tiered.by(strategy))
			got := make([]string, 0, 7)
			for i := range cap(got) {
				w, err := b.x.Choose(claimFor(fmt.Sprint("c", i)), at(fmt.Sprint("c", i)))
				if err != nil {
					t.Fatalf("after %v: %v", got, err)
				}
				got = append(got, w.CIDR.Addr().String())
			}
			slices.Sort(got[:2])
			slices.Sort(got[2:4])
			slices.Sort(got[4:])
			want := []string{"10.0.0.6", "10.0.0.7", "10.0.0.0", "10.0.0.1", "10.0.0.2", "10.0.0.3", "10.0.0.4"}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Error(diff)
			}
			b.expectFull(t)
			for mark := range b.x.marks.all {
				if mark.CIDR == netip.MustParsePrefix("10.0.0.7/32") {
					b.x.Unmark(mark)
				}
			}
			if w, err := b.x.Choose(claimFor("late"), at("late")); err != nil || w.CIDR.String() != "10.0.0.7/32" {
				t.Errorf("chose %v, error %v, want what is free of the first tier", w, err)
			}
		})
	}
}

func (b *book) expectFull(t *testing.T) {
	t.Helper()
	if w, err := b.x.Choose(claimFor("more"), at("more")); !errors.Is(err, ErrBusy) && !errors.Is(err, ErrUnproved) {
		t.Errorf("a full pool gave %v, error %v", w, err)
	}
}

// TestAnAskedAddressMayBeOfAnyTier: the order is of those that nobody asks for.
func TestAnAskedAddressMayBeOfAnyTier(t *testing.T) {
	t.Parallel()
	b := newBook()
	b.serving(tiered)
	c := claimFor("a")
	c.Want = netip.MustParsePrefix("10.0.0.3/32")
	if w, err := b.x.Choose(c, at("a")); err != nil || w.CIDR != c.Want {
		t.Errorf("chose %v, error %v, want %s", w, err, c.Want)
	}
	owner := claimFor("owner-of-10.0.0.5")
	if w, err := b.x.Choose(owner, at("b")); err != nil || w.CIDR.String() != "10.0.0.5/32" {
		t.Errorf("chose %v, error %v, want what is kept for it", w, err)
	}
}

// TestLanesStayInTheTier: several managers that choose at once leave no tier before it is full.
func TestLanesStayInTheTier(t *testing.T) {
	t.Parallel()
	b := newBook()
	b.serving(tiered)
	b.x.lanes.own = "b"
	b.x.lanes.note("a", b.x.ages.now())
	b.x.lanes.note("c", b.x.ages.now())
	got := make([]string, 0, 5)
	for i := range cap(got) {
		w, err := b.x.Promise(claimFor(fmt.Sprint("c", i)))
		if err != nil {
			t.Fatalf("after %v: %v", got, err)
		}
		got = append(got, w.CIDR.Addr().String())
	}
	slices.Sort(got[:2])
	slices.Sort(got[2:4])
	want := []string{"10.0.0.6", "10.0.0.7", "10.0.0.0", "10.0.0.1"}
	if diff := cmp.Diff(want, got[:4]); diff != "" {
		t.Error(diff)
	}
}
