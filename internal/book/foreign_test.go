// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package book

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/foreign"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/records"
)

// named is an IPAddress of another provider, which is named after what it names.
func named(prefix string) foreign.Address {
	return foreign.Address{Key: foreign.Key{Namespace: "other", Name: prefix}, Pool: "InClusterIPPool q", Prefix: netip.MustParsePrefix(prefix)}
}

func TestWhatOtherProvidersUseIsNotHandedOut(t *testing.T) {
	t.Parallel()
	used := []string{"10.0.0.2/32", "10.0.0.4/31"}
	const free = "10.0.0.1 10.0.0.3 10.0.0.6 10.0.0.7"
	for name, strategy := range strategies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBook()
			b.serving(shapeConfig{entries: "10.0.0.0/29"}.by(strategy))
			for _, prefix := range used {
				b.x.NoteForeign(named(prefix))
			}
			got := make([]string, 0, 4)
			for i := range 4 {
				mark, err := b.x.Choose(claimFor(fmt.Sprint("c", i)), at(fmt.Sprint("r", i)))
				if err != nil {
					t.Fatal(err)
				}
				got = append(got, mark.CIDR.Addr().String())
			}
			slices.Sort(got)
			if text := strings.Join(got, " "); text != free {
				t.Errorf("got %s, want %s", text, free)
			}
			if p, err := b.x.Preview(claimFor("late")); err == nil {
				t.Errorf("%s is handed out", p)
			}
			b.x.ForgetForeign(named("10.0.0.2/32").Key)
			if p, err := b.x.Preview(claimFor("late")); err != nil || p.Addr().String() != "10.0.0.2" {
				t.Errorf("what is free again: %s, %v", p, err)
			}
		})
	}
}

func TestWhoGetsWhatAnotherProviderUses(t *testing.T) {
	t.Parallel()
	asks := func(prefix string, purpose records.Purpose) Claim {
		c := claimFor("a")
		c.Want, c.Purpose = netip.MustParsePrefix(prefix), purpose
		c.Bits = c.Want.Bits()
		return c
	}
	kept := claimFor(ownerOf(netip.MustParsePrefix("10.0.0.9/32")))
	for name, test := range map[string]struct {
		claim   Claim
		refused bool
	}{
		"who asks for the address":            {claim: asks("10.0.0.9/32", records.ForClaim), refused: true},
		"who asks for a block around it":      {claim: asks("10.0.0.8/30", records.ForClaim), refused: true},
		"who asks for another address":        {claim: asks("10.0.0.10/32", records.ForClaim)},
		"for whom it is kept":                 {claim: kept, refused: true},
		"who arrived with it":                 {claim: asks("10.0.0.9/32", records.ForAdopted)},
		"a pool that asks for a block around": {claim: asks("10.0.0.8/30", records.ForChildPool)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBook()
			shape := shapeConfig{entries: "10.0.0.0/28"}
			if test.claim.Ref == kept.Ref {
				shape.kept = "10.0.0.9/32"
			}
			b.serving(shape)
			b.x.NoteForeign(named("10.0.0.9/32"))
			_, err := b.x.Preview(test.claim)
			if test.refused != errors.Is(err, ErrRefused) || !test.refused && err != nil {
				t.Errorf("got %v", err)
			}
			b.x.ForgetForeign(named("10.0.0.9/32").Key)
			if _, err := b.x.Preview(test.claim); err != nil {
				t.Errorf("once it is free: %v", err)
			}
		})
	}
}

func TestABlockIsCarvedBesideWhatOtherProvidersUse(t *testing.T) {
	t.Parallel()
	b := newBook()
	b.serving(shapeConfig{entries: "10.0.0.0/28"})
	b.x.NoteForeign(named("10.0.0.1/32"))
	c := claimFor("a")
	c.Purpose, c.Bits = records.ForChildPool, 30
	if p, err := b.x.Preview(c); err != nil || p.String() != "10.0.0.4/30" {
		t.Errorf("got %s, %v", p, err)
	}
}

func TestAnotherAddressSpaceIsNotOtherProviders(t *testing.T) {
	t.Parallel()
	b := newBook()
	p := poolNamed("p", shapeConfig{entries: "10.0.0.0/28"})
	p.Space = "lab"
	block := root("p", "10.0.0.0/28", confirmed)
	block.Spec.AddressSpace = "lab"
	b.put(block)
	b.x.SetPool(p)
	b.x.AwaitForeign()
	b.x.NoteForeign(named("10.0.0.1/32"))
	if got, err := b.x.Preview(claimFor("a")); err != nil || got.Addr().String() != "10.0.0.1" {
		t.Errorf("got %s, %v", got, err)
	}
	if found := b.x.Foreign(poolRef("p")); len(found) > 0 {
		t.Errorf("has %v", found)
	}
}

func TestNothingIsChosenBeforeOtherProvidersAreKnown(t *testing.T) {
	t.Parallel()
	b := newBook()
	b.serving(shapeConfig{entries: "10.0.0.0/28"})
	b.x.AwaitForeign()
	if _, err := b.x.Preview(claimFor("a")); !errors.Is(err, ErrBusy) {
		t.Errorf("got %v", err)
	}
	arrived := claimFor("b")
	arrived.Purpose, arrived.Want = records.ForAdopted, netip.MustParsePrefix("10.0.0.5/32")
	if _, err := b.x.Preview(arrived); err != nil {
		t.Errorf("what arrived: %v", err)
	}
	b.forget()
	b.x.ForeignKnown()
	if freed, _ := b.forget(); !nameP(freed) {
		t.Error("who waits is not told")
	}
	if _, err := b.x.Preview(claimFor("a")); err != nil {
		t.Error(err)
	}
	b.x.ForeignKnown()
	if freed, _ := b.forget(); len(freed) > 0 {
		t.Errorf("%v are told again", freed)
	}
}

func TestOtherProvidersTakeNothingBack(t *testing.T) {
	t.Parallel()
	b := newBook()
	b.serving(shapeConfig{entries: "10.0.0.0/28"})
	held := b.put(recordNamed("a", "10.0.0.1/32"))
	b.put(recordNamed("gone", "10.0.0.3/32", released))
	b.forget()
	for _, prefix := range []string{"10.0.0.1/32", "10.0.0.2/32", "10.0.0.3/32", "192.0.2.1/32"} {
		b.x.NoteForeign(named(prefix))
	}
	if _, changed := b.forget(); !nameP(changed) {
		t.Error("the pool is not told")
	}
	if v := b.judged(t, recordNamed("b", "10.0.0.2/32")); v.Outcome != Won {
		t.Errorf("a record under way %s", v.Outcome)
	}
	got := map[string]string{}
	for _, f := range b.x.Foreign(poolRef("p")) {
		got[f.Prefix.String()] = ""
		if f.HeldBy != nil {
			got[f.Prefix.String()] = f.HeldBy.Claim.Name
		}
	}
	want := map[string]string{"10.0.0.1/32": held.Spec.ClaimRef.Name, "10.0.0.2/32": "b", "10.0.0.3/32": ""}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
	var refused *RefusedError
	if err := b.x.About(held.Spec.ClaimRef).OutsidePolicy(); !errors.As(err, &refused) {
		t.Errorf("the claim's account: %v", err)
	}
	b.forget()
	b.x.ForgetForeign(named("10.0.0.2/32").Key)
	if freed, changed := b.forget(); !nameP(freed) || !nameP(changed) {
		t.Error("the pool is not told that it is gone")
	}
}

func TestCapacityLeavesOutWhatOtherProvidersUse(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		shape     shapeConfig
		held      []string
		named     []string
		available string
		excluded  string
	}{
		"an address":              {named: []string{"10.0.0.2/32"}, available: "14", excluded: "2"},
		"one address twice":       {named: []string{"10.0.0.2/32", "10.0.0.2/31"}, available: "13", excluded: "3"},
		"a reserved one":          {named: []string{"10.0.0.0/32"}, available: "15", excluded: "1"},
		"an excluded one":         {shape: shapeConfig{excluded: "10.0.0.2"}, named: []string{"10.0.0.2/32"}, available: "14", excluded: "2"},
		"a kept one":              {shape: shapeConfig{kept: "10.0.0.2/32"}, named: []string{"10.0.0.2/32"}, available: "14", excluded: "2"},
		"part of what is kept":    {shape: shapeConfig{kept: "10.0.0.4/30"}, named: []string{"10.0.0.5/32"}, available: "11", excluded: "2"},
		"one that a claim has":    {held: []string{"10.0.0.2/32"}, named: []string{"10.0.0.2/32"}, available: "14", excluded: "2"},
		"all, and more":           {named: []string{"10.0.0.0/8"}, available: "0", excluded: "16"},
		"one outside of the pool": {named: []string{"10.0.1.2/32"}, available: "15", excluded: "1"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBook()
			test.shape.entries = "10.0.0.0/28"
			b.serving(test.shape)
			for _, prefix := range test.held {
				b.put(recordNamed("a", prefix))
			}
			for _, prefix := range test.named {
				b.x.NoteForeign(named(prefix))
			}
			c, _ := b.x.Capacity(poolRef("p"))
			if c.Available.String() != test.available || c.Excluded.String() != test.excluded {
				t.Errorf("%s available, %s excluded; want %s and %s", c.Available, c.Excluded, test.available, test.excluded)
			}
		})
	}
}
