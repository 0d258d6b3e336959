// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package book

import (
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"pgregory.net/rapid"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/records"
)

// told is the text of an error, and after it what only some may be told.
func told(err error) string {
	if _, words, ok := HeldFor(err); ok {
		return err.Error() + words
	}
	return err.Error()
}

// TestWhatIsKept has claims choose from a pool that keeps .4 and the block of four from .8.
func TestWhatIsKept(t *testing.T) {
	t.Parallel()
	const owner, ownerOfBlock = "owner-of-10.0.0.4", "owner-of-10.0.0.8"
	for sentence, test := range map[string]struct {
		claim, want string
		edit        func(*Claim)
		// held is what another claim holds.
		held   string
		chosen string
		is     error
		err    string
	}{
		"its owner gets it":                   {claim: owner, chosen: "10.0.0.4/32"},
		"its owner gets it if it asks":        {claim: owner, want: "10.0.0.4/32", chosen: "10.0.0.4/32"},
		"its owner gets all of a block":       {claim: ownerOfBlock, chosen: "10.0.0.8/30"},
		"its owner finds it taken":            {claim: owner, held: "10.0.0.4/32", is: ErrTaken, err: "the pool keeps 10.0.0.4/32 for the claim: 10.0.0.4 is in use by IPAddressClaim ns/other"},
		"its owner finds part of it taken":    {claim: ownerOfBlock, held: "10.0.0.9/32", is: ErrTaken, err: "the pool keeps 10.0.0.8/30 for the claim: 10.0.0.8/30 is in use, or part of it: 10.0.0.9 is in use by IPAddressClaim ns/other"},
		"its owner asks and finds it taken":   {claim: owner, want: "10.0.0.4/32", held: "10.0.0.4/32", is: ErrTaken, err: "10.0.0.4 is in use by IPAddressClaim ns/other"},
		"its owner asks for something else":   {claim: owner, want: "10.0.0.2/32", is: ErrRefused, err: "10.0.0.2/32: the pool keeps 10.0.0.4/32 for the claim, which gets nothing else"},
		"its owner asks for another's":        {claim: owner, want: "10.0.0.8/30", is: ErrRefused, err: "10.0.0.8/30: is kept for another claim: 10.0.0.8/30 is kept for IPAddressClaim ns/owner-of-10.0.0.8"},
		"its owner asks for more":             {claim: owner, want: "10.0.0.4/31", is: ErrRefused, err: "10.0.0.4/31: the pool keeps 10.0.0.4/32 for the claim, which gets nothing else"},
		"its owner arrived with it":           {claim: owner, want: "10.0.0.4/32", edit: adopted, chosen: "10.0.0.4/32"},
		"its owner arrived with another":      {claim: owner, want: "10.0.0.2/32", edit: adopted, chosen: "10.0.0.2/32"},
		"its owner arrived with another's":    {claim: owner, want: "10.0.0.9/32", edit: adopted, chosen: "10.0.0.9/32"},
		"another gets the lowest that is not": {claim: "a", held: "10.0.0.0/30", chosen: "10.0.0.5/32"},
		"another asks for it":                 {claim: "a", want: "10.0.0.4/32", is: ErrRefused, err: "10.0.0.4/32: is kept for another claim: 10.0.0.4 is kept for IPAddressClaim ns/owner-of-10.0.0.4"},
		"another asks for part of it":         {claim: "a", want: "10.0.0.11/32", is: ErrRefused, err: "10.0.0.11/32: is kept for another claim: 10.0.0.8/30 is kept for IPAddressClaim ns/owner-of-10.0.0.8"},
		"another asks for what it is part of": {claim: "a", want: "10.0.0.0/28", is: ErrRefused, err: "10.0.0.0/28: is kept for another claim: 10.0.0.4 is kept for IPAddressClaim ns/owner-of-10.0.0.4"},
		"another asks beside it":              {claim: "a", want: "10.0.0.5/32", chosen: "10.0.0.5/32"},
		"another arrived with it":             {claim: "a", want: "10.0.0.4/32", edit: adopted, chosen: "10.0.0.4/32"},
		"another finds nothing else":          {claim: "a", held: "10.0.0.0/30 10.0.0.5/32 10.0.0.6/31 10.0.0.12/30", is: ErrUnproved, err: ErrUnproved.Error()},
		"a namesake elsewhere is another":     {claim: owner, want: "10.0.0.4/32", edit: func(c *Claim) { c.Ref.Namespace = "elsewhere" }, is: ErrRefused, err: "10.0.0.4/32: is kept for another claim: 10.0.0.4 is kept for IPAddressClaim ns/owner-of-10.0.0.4"},
		"a namesake of a kind is another":     {claim: owner, edit: func(c *Claim) { c.Ref.APIGroup, c.Ref.Kind = ipamv1.GroupVersion.Group, ipamv1.IPClaimKind }, chosen: "10.0.0.0/32"},
		"it counts by another name":           {claim: "a", edit: alias(owner), chosen: "10.0.0.4/32"},
		"its own name comes first":            {claim: owner, edit: alias(ownerOfBlock), chosen: "10.0.0.4/32"},
		"another's other name is no reason":   {claim: "a", edit: alias("owner-of-10.0.0.5"), chosen: "10.0.0.0/32"},
		"it asks by another name":             {claim: "a", want: "10.0.0.4/32", edit: alias(owner), chosen: "10.0.0.4/32"},
		"by another name, for something else": {claim: "a", want: "10.0.0.2/32", edit: alias(owner), is: ErrRefused, err: "10.0.0.2/32: the pool keeps 10.0.0.4/32 for the claim, which gets nothing else"},
		"by another name it finds it taken":   {claim: "a", edit: alias(owner), held: "10.0.0.4/32", is: ErrTaken, err: "the pool keeps 10.0.0.4/32 for the claim: 10.0.0.4 is in use by IPAddressClaim ns/other"},
		"by another name of another kind": {claim: "a", edit: func(c *Claim) {
			c.Alias, c.Ref.APIGroup, c.Ref.Kind = owner, ipamv1.GroupVersion.Group, ipamv1.IPClaimKind
		}, chosen: "10.0.0.0/32"},
		"a namesake of a later life is not": {claim: owner, edit: func(c *Claim) { c.Ref.UID = "later" }, chosen: "10.0.0.4/32"},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			b := newBook()
			b.serving(shapeConfig{entries: "10.0.0.0/28", kept: "10.0.0.4/32 10.0.0.8/30", reserved: four.reserved})
			for i, p := range strings.Fields(test.held) {
				b.put(recordNamed(fmt.Sprint("r", i), p, func(a *ipamv1.IPAllocation) { a.Spec.ClaimRef.Name = "other" }))
			}
			c := claimFor(test.claim)
			if test.want != "" {
				c.Want = netip.MustParsePrefix(test.want)
			}
			if test.edit != nil {
				test.edit(&c)
			}
			w, err := b.x.Choose(c, at("a"))
			switch {
			case !errors.Is(err, test.is) || (err != nil && told(err) != test.err):
				t.Errorf("error %v, want %q", err, test.err)
			case err == nil && w.CIDR.String() != test.chosen:
				t.Errorf("chose %s, want %s", w.CIDR, test.chosen)
			}
		})
	}
}

func adopted(c *Claim) { c.Purpose = records.ForAdopted }

// alias gives a claim another name.
func alias(name string) func(*Claim) { return func(c *Claim) { c.Alias = name } }

// TestWhatIsKeptForAnAliasIsWithinThePool: who has what is kept for its other name has what the pool hands out to it; who has it and is
// somebody else does not.
func TestWhatIsKeptForAnAliasIsWithinThePool(t *testing.T) {
	t.Parallel()
	b := newBook()
	b.serving(shapeConfig{entries: "10.0.0.0/28", kept: "10.0.0.4/32 10.0.0.5/32", reserved: four.reserved})
	as := func(alias string) edit { return func(a *ipamv1.IPAllocation) { a.Spec.ClaimAlias = alias } }
	for name, test := range map[string]struct {
		alias, cidr, want string
	}{
		"its":      {"owner-of-10.0.0.4", "10.0.0.4/32", ""},
		"anothers": {"owner-of-10.0.0.9", "10.0.0.5/32", "10.0.0.5/32: is kept for another claim: 10.0.0.5 is kept for IPAddressClaim ns/owner-of-10.0.0.5"},
	} {
		r := b.put(recordNamed(name, test.cidr, as(test.alias)))
		got := ""
		if err := b.x.About(r.Spec.ClaimRef).OutsidePolicy(); err != nil {
			got = told(err)
		}
		if got != test.want {
			t.Errorf("%s: %q, want %q", name, got, test.want)
		}
	}
}

// TestWhatIsKeptFollowsTheShape: what a pool keeps, and for whom, is what its last shape says,
// while it serves.
func TestWhatIsKeptFollowsTheShape(t *testing.T) {
	t.Parallel()
	b := newBook()
	b.serving(shapeConfig{entries: four.entries, kept: "10.0.0.0/32", reserved: four.reserved})
	chosen := func(claim string) string {
		t.Helper()
		w, err := b.x.Choose(claimFor(claim), at(claim))
		if err != nil {
			t.Fatal(err)
		}
		b.x.Unmark(w)
		return w.CIDR.String()
	}
	const first, second = "owner-of-10.0.0.0", "owner-of-10.0.0.1"
	for _, step := range []struct {
		kept                 string
		first, second, other string
	}{
		{"10.0.0.0/32", "10.0.0.0/32", "10.0.0.1/32", "10.0.0.1/32"},
		{"10.0.0.0/32 10.0.0.1/32", "10.0.0.0/32", "10.0.0.1/32", "10.0.0.2/32"},
		{"10.0.0.1/32", "10.0.0.0/32", "10.0.0.1/32", "10.0.0.0/32"},
		{"", "10.0.0.0/32", "10.0.0.0/32", "10.0.0.0/32"},
	} {
		b.x.SetPool(poolNamed("p", shapeConfig{entries: four.entries, kept: step.kept, reserved: four.reserved}))
		if freed, _ := b.forget(); !nameP(freed) {
			t.Error("who waits is not told of a new shape")
		}
		if a, b, c := chosen(first), chosen(second), chosen("other"); a != step.first || b != step.second || c != step.other {
			t.Errorf("keeping %q: chose %s, %s and %s, want %v", step.kept, a, b, c, step)
		}
	}
}

// ask has a claim choose, with or without asking for something, and records what it chose.
func (m *ledgerModel) ask(t *rapid.T) {
	owners := prefixes(m.config.kept)
	names := []string{"a", "b", "owner-of-10.0.0.1", "owner-of-10.0.0.8"}
	c := claimFor(rapid.SampledFrom(names).Draw(t, "claim"))
	if rapid.Bool().Draw(t, "asks") {
		a := rapid.SampledFrom(addresses(m.family)).Draw(t, "address")
		c.Want = netip.PrefixFrom(a, rapid.IntRange(28, 32).Draw(t, "bits")).Masked()
		c.Purpose = rapid.SampledFrom([]records.Purpose{records.ForClaim, records.ForAdopted}).Draw(t, "purpose")
	}
	own := slices.IndexFunc(owners, func(p netip.Prefix) bool { return ownerOf(p) == c.Ref.Name })
	isFree := own >= 0 && !slices.ContainsFunc(addresses(owners[own]), m.isHeld)
	w, err := m.x.Choose(c, at("asks"))
	if err != nil {
		if isFree && !c.Want.IsValid() {
			t.Fatalf("%s did not get %s, which is free: %v", c.Ref.Name, owners[own], err)
		}
		return
	}
	defer m.x.Unmark(w)
	got := w.CIDR
	for i, p := range owners {
		if p.Overlaps(got) && i != own && c.Purpose == records.ForClaim {
			t.Fatalf("%s got %s of %s, which is kept for %s", c.Ref.Name, got, p, ownerOf(p))
		}
	}
	if own >= 0 && c.Purpose == records.ForClaim && got != owners[own] {
		t.Fatalf("%s got %s instead of %s", c.Ref.Name, got, owners[own])
	}
	if c.Purpose == records.ForClaim && slices.ContainsFunc(addresses(got), m.isHeld) {
		t.Fatalf("%s got %s, part of which is held", c.Ref.Name, got)
	}
	m.made++
	name := fmt.Sprint("r", m.made)
	m.records[name] = m.put(recordNamed(name, got.String(), func(a *ipamv1.IPAllocation) {
		a.Spec.ClaimRef, a.Spec.ClaimRef.UID = c.Ref, name
	}))
}

// TestNobodyButItsOwnerGetsWhatIsKept has claims come and go while the pool keeps now this and now
// that.
func TestNobodyButItsOwnerGetsWhatIsKept(t *testing.T) {
	t.Parallel()
	const family = "10.0.0.0/28"
	shapes := []shapeConfig{
		{entries: family, kept: "10.0.0.1/32", reserved: four.reserved},
		{entries: family, kept: "10.0.0.1/32 10.0.0.8/30", reserved: four.reserved},
		{entries: family, kept: "10.0.0.8/29", gateway: "10.0.0.1"},
		{entries: "10.0.0.0-10.0.0.9", kept: "10.0.0.8/32 10.0.0.1/32", excluded: "10.0.0.2"},
		{entries: family},
	}
	rapid.Check(t, func(t *rapid.T) {
		m := newLedgerModel(family)
		for range rapid.IntRange(1, 40).Draw(t, "steps") {
			switch did := rapid.SampledFrom([]string{"ask", "ask", "ask", "remove", "relist", "reshape"}).Draw(t, "step"); did {
			case "ask":
				m.ask(t)
			case "remove":
				m.remove(t)
			case "relist":
				m.list(append(slices.Collect(maps.Values(m.records)), m.blocks...)...)
			case "reshape":
				m.reshape(rapid.SampledFrom(shapes).Draw(t, "shape"))
			}
		}
	})
}
