// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package book

import (
	"errors"
	"net/netip"
	"testing"
	"time"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/records"
)

func adoptedRecord(a *ipamv1.IPAllocation) { a.Spec.Origin = ipamv1.AdoptedOrigin }

func arrivedRecord(a *ipamv1.IPAllocation) {
	a.Annotations = map[string]string{ipamv1.ArrivedAnnotation: "true"}
}

// TestBothSidesOfADispute looks at claim a's record of 10.0.0.4, which has long been there, and at
// another one.
func TestBothSidesOfADispute(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct {
		cidr     string
		edits    []edit
		disputed bool
	}{
		"another claim arrived with it":            {cidr: "10.0.0.4/32", edits: []edit{adoptedRecord}, disputed: true},
		"another claim arrived with a block of it": {cidr: "10.0.0.4/30", edits: []edit{adoptedRecord}, disputed: true},
		"another claim arrived with its neighbour": {cidr: "10.0.0.5/32", edits: []edit{adoptedRecord}},
		"another one is about to lose":             {cidr: "10.0.0.4/32"},
		"another one that arrived has let go":      {cidr: "10.0.0.4/32", edits: []edit{adoptedRecord, released}},
		"it arrived elsewhere":                     {cidr: "10.0.0.4/32", edits: []edit{adoptedRecord, elsewhere}},
		"its namesake arrived with it": {cidr: "10.0.0.4/32", edits: []edit{adoptedRecord, func(a *ipamv1.IPAllocation) {
			a.Spec.ClaimRef.Name = "a"
		}}},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			b := newBook()
			l := b.x
			mine := b.put(recordNamed("a", "10.0.0.4/32"))
			b.now.SetTime(b.now.Now().Add(time.Hour))
			other := b.put(recordNamed("b", test.cidr, test.edits...))
			for _, r := range []*ipamv1.IPAllocation{mine, other} {
				err := l.About(r.Spec.ClaimRef).Disputed(netip.MustParsePrefix(r.Spec.CIDR).Addr())
				if errors.Is(err, ErrTaken) != test.disputed {
					t.Errorf("%s: %v, want disputed: %t", r.Name, err, test.disputed)
				}
			}
			b.cut(other)
			if err := l.About(mine.Spec.ClaimRef).Disputed(netip.MustParseAddr("10.0.0.4")); err != nil {
				t.Errorf("when the other is gone: %v", err)
			}
		})
	}
}

// TestWhatArrivesMayBeAskedOfAPoolThatDoesNotServe, so that nobody else gets it when the pool does.
func TestWhatArrivesMayBeAskedOfAPoolThatDoesNotServe(t *testing.T) {
	t.Parallel()
	b := newBook()
	b.x.SetPool(poolNamed("p", shapeConfig{entries: "10.0.0.0/28", reserved: four.reserved}))
	c := claimFor("a")
	c.Want = netip.MustParsePrefix("10.0.0.4/32")
	if _, err := b.x.Choose(c, at("new")); !errors.Is(err, ErrNotReady) {
		t.Errorf("a new claim: %v", err)
	}
	c.Purpose = records.ForAdopted
	if _, err := b.x.Choose(c, at("new")); !errors.Is(err, ErrNotReady) {
		t.Errorf("an arrived claim before the pool's block: %v", err)
	}
	b.put(root("p", "10.0.0.0/28"))
	if _, err := b.x.Choose(c, at("new")); err != nil {
		t.Errorf("an arrived claim: %v", err)
	}
}

// TestHowLongWhatArrivedIsWaitedFor: for the grace after this process has seen it, however old it
// is.
func TestHowLongWhatArrivedIsWaitedFor(t *testing.T) {
	t.Parallel()
	b := newBook()
	b.x.ages.grace = 60
	old, arrived := b.put(recordNamed("old", "10.0.0.4/32")), b.put(recordNamed("new", "10.0.0.5/32", arrivedRecord))
	for after, want := range map[time.Duration]bool{0: true, time.Minute: true, 2 * time.Minute: false} {
		b.now.SetTime(time.Unix(1, 0).Add(after))
		for _, r := range []*ipamv1.IPAllocation{old, arrived} {
			if got := b.x.About(r.Spec.ClaimRef).Recorded()[0].Arriving; got != (want && r == arrived) {
				t.Errorf("%s after %s: %t", r.Name, after, got)
			}
		}
	}
}
