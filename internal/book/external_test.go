// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package book

import (
	"errors"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/records"
)

const network = "openstack/network"

// ofNetwork makes the record one of the space of external pools.
func ofNetwork(a *ipamv1.IPAllocation) { a.Spec.AddressSpace = network }

// external is an external pool of the name.
func external(name string, limit int) Pool {
	return Pool{
		Ref: poolRef(name), UID: types.UID("pool " + name), Space: network, Namespace: "ns",
		Shape: pooltree.New(pooltree.Config{External: true, Limit: limit}),
	}
}

// TestAnExternalPoolGivesWhatWasChosenOutside, and nothing else: nobody here knows what is free.
func TestAnExternalPoolGivesWhatWasChosenOutside(t *testing.T) {
	t.Parallel()
	const address = "203.0.113.7/32"
	for sentence, test := range map[string]struct {
		before *ipamv1.IPAllocation
		limit  int
		want   string
		edit   func(*Claim)
		err    error
	}{
		"nothing in particular":           {err: ErrNotReady},
		"nothing in particular, to adopt": {edit: func(c *Claim) { c.Purpose = records.ForAdopted }, err: ErrNotReady},
		"what was chosen":                 {want: address},
		"what was restored":               {want: address, edit: func(c *Claim) { c.Purpose = records.ForAdopted }},
		"the first address of a network":  {want: "203.0.113.0/32"},
		"the last address of a network":   {want: "203.0.113.255/32"},
		"an IPv6 address":                 {want: "2001:db8::1/128", err: ErrRefused},
		"what another claim holds":        {before: recordNamed("b", address, ofNetwork), want: address, err: ErrTaken},
		"what a claim of another pool of the network holds": {
			before: recordNamed("b", address, ofNetwork, fromPool("q")), want: address, err: ErrTaken,
		},
		"what a pool with blocks has handed out": {before: recordNamed("b", address, fromPool("q")), want: address},
		"more than the limit, which is not judged here": {
			before: recordNamed("b", "203.0.113.8/32", ofNetwork), limit: 1, want: address,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			b := newBook()
			b.x.SetPool(external("p", test.limit))
			if test.before != nil {
				b.put(test.before)
			}
			c := claimFor("a")
			if test.want != "" {
				c.Want = netip.MustParsePrefix(test.want)
			}
			if test.edit != nil {
				test.edit(&c)
			}
			mark, err := b.x.Choose(c, at("a"))
			if !errors.Is(err, test.err) {
				t.Fatalf("%v, want %v", err, test.err)
			}
			if err == nil && (mark.CIDR != c.Want || mark.Space != network) {
				t.Errorf("chosen %s in %s", mark.CIDR, mark.Space)
			}
		})
	}
}

// TestWhatIsRestoredIsRecordedBesideAnExternalPoolsClaims: as in other pools, both stay taken.
func TestWhatIsRestoredIsRecordedBesideAnExternalPoolsClaims(t *testing.T) {
	t.Parallel()
	b := newBook()
	b.x.SetPool(external("p", 0))
	b.put(recordNamed("b", "203.0.113.7/32", ofNetwork))
	c := claimFor("a")
	c.Purpose, c.Want = records.ForAdopted, netip.MustParsePrefix("203.0.113.7/32")
	if mark, err := b.x.ChooseTaken(c, at("a")); err != nil || mark.CIDR != c.Want {
		t.Errorf("%v, %v", mark, err)
	}
}

// TestTwoRecordsOfOneFloatingIPAreJudgedAsAnyOthers, whichever pools of the network they are of.
func TestTwoRecordsOfOneFloatingIPAreJudgedAsAnyOthers(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct {
		before *ipamv1.IPAllocation
		want   Outcome
	}{
		"of one pool":               {recordNamed("b", "203.0.113.7/32", ofNetwork), Lost},
		"of two pools":              {recordNamed("b", "203.0.113.7/32", ofNetwork, fromPool("q")), Lost},
		"of two addresses":          {recordNamed("b", "203.0.113.8/32", ofNetwork), Won},
		"of two networks":           {recordNamed("b", "203.0.113.7/32", elsewhere), Won},
		"beside a pool with blocks": {root("q", "203.0.113.0/24", confirmed), Won},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			b := newBook()
			b.x.SetPool(external("p", 0))
			b.x.SetPool(external("q", 0))
			b.put(test.before)
			if got := b.judged(t, recordNamed("a", "203.0.113.7/32", ofNetwork)).Outcome; got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}

// TestAnExternalPoolServesOnceItIsKnown: it has no blocks to wait for, and witnesses nothing.
func TestAnExternalPoolServesOnceItIsKnown(t *testing.T) {
	t.Parallel()
	b := newBook()
	waiting := b.x.Ready(poolRef("p"))
	if isClosed(waiting) || b.x.Serves(poolRef("p")) {
		t.Error("serves before it is known")
	}
	b.x.SetPool(external("p", 0))
	if freed, _ := b.forget(); !isClosed(waiting) || !isClosed(b.x.Ready(poolRef("p"))) || !b.x.Serves(poolRef("p")) || !nameP(freed) {
		t.Errorf("does not serve; freed %v", freed)
	}
	if room, err := b.x.Room(poolRef("p"), 100); room != 1 || err != nil {
		t.Errorf("has room for %d: %v", room, err)
	}
	asked := map[ipamv1.PoolReference]bool{poolRef("p"): true}
	if got := b.x.Witnesses(asked); len(got) > 0 {
		t.Errorf("witnesses %v", got)
	}
	b.put(root("q", "10.0.0.0/24", confirmed))
	q := poolNamed("q", shapeConfig{entries: "10.0.0.0/24"})
	b.x.SetPool(q)
	if got := b.x.Witnesses(asked); len(got) != 1 || got[0].Claim.Name != "q" {
		t.Errorf("beside a pool with blocks: witnesses %v", got)
	}
	b.x.DropPool(poolRef("p"))
	if b.x.Serves(poolRef("p")) || isClosed(b.x.Ready(poolRef("p"))) {
		t.Error("serves although nobody knows it any more")
	}
}

func isClosed(c <-chan struct{}) bool {
	select {
	case <-c:
		return true
	default:
		return false
	}
}

// TestCapacityOfAnExternalPool counts its limit, and what its claims hold with or without one.
func TestCapacityOfAnExternalPool(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct {
		limit     int
		unlimited bool
		want      sums
	}{
		"without a limit":      {0, true, sums{Total: "0", Allocated: "2", Available: "0", LargestFree: -1}},
		"with room":            {5, false, sums{Total: "5", Allocated: "2", Available: "3", LargestFree: -1}},
		"full":                 {2, false, sums{Total: "2", Allocated: "2", Available: "0", LargestFree: -1}},
		"beyond its new limit": {1, false, sums{Total: "1", Allocated: "2", Available: "0", LargestFree: -1}},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			b := newBook()
			b.put(recordNamed("before", "203.0.113.7/32", ofNetwork))
			b.put(recordNamed("other", "203.0.113.9/32", ofNetwork, fromPool("q")))
			b.x.SetPool(external("p", test.limit))
			b.put(recordNamed("after", "198.51.100.7/32", ofNetwork))
			test.want.Excluded, test.want.Cooling, test.want.Delegated, test.want.Claims = "0", "0", "0", 2
			c, known := b.x.Capacity(poolRef("p"))
			if diff := cmp.Diff(test.want, sumsOf(c)); !known || diff != "" {
				t.Errorf("known %t, capacity (-want +got):\n%s", known, diff)
			}
			if !c.Serving || c.Unlimited != test.unlimited {
				t.Errorf("serving %t, unlimited %t", c.Serving, c.Unlimited)
			}
			held := b.x.Holdings(poolRef("p"))
			if len(held) != 2 || held[0].Claim.Name != "after" || held[1].Claim.Name != "before" {
				t.Errorf("holds %v", held)
			}
		})
	}
	b := newBook()
	b.serving(shapeConfig{entries: "10.0.0.0/24"})
	if c, _ := b.x.Capacity(poolRef("p")); c.Unlimited || !c.Serving {
		t.Errorf("a pool with blocks: unlimited %t, serving %t", c.Unlimited, c.Serving)
	}
}
