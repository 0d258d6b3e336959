// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pooltree_test

import (
	"net/netip"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go4.org/netipx"
	"pgregory.net/rapid"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ipspace"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
)

func claimant(name string) pooltree.Claimant {
	return pooltree.Claimant{Group: "example.com", Kind: "Claim", Namespace: "ns", Name: name}
}

func keeping(t *testing.T, block string, kept map[string]string) *pooltree.Pool {
	t.Helper()
	cidr := netip.MustParsePrefix(block)
	config := pooltree.Config{Areas: []pooltree.Area{{
		Range: netipx.RangeOfPrefix(cidr), Network: pooltree.Network{Bits: cidr.Bits()},
	}}}
	for name, prefix := range kept {
		config.Kept = append(config.Kept, pooltree.Kept{Prefix: netip.MustParsePrefix(prefix), For: claimant(name)})
	}
	return pooltree.New(config)
}

func TestKeptFor(t *testing.T) {
	t.Parallel()
	p := keeping(t, "192.0.2.0/24", map[string]string{"a": "192.0.2.7/32", "b": "192.0.2.5/32"})
	for name, test := range map[string]struct {
		claim pooltree.Claimant
		want  string
	}{
		"a":                    {claimant("a"), "192.0.2.7/32"},
		"b":                    {claimant("b"), "192.0.2.5/32"},
		"unknown":              {claimant("c"), ""},
		"of another group":     {pooltree.Claimant{Group: "example.org", Kind: "Claim", Namespace: "ns", Name: "a"}, ""},
		"of another kind":      {pooltree.Claimant{Group: "example.com", Kind: "Want", Namespace: "ns", Name: "a"}, ""},
		"in another namespace": {pooltree.Claimant{Group: "example.com", Kind: "Claim", Namespace: "other", Name: "a"}, ""},
	} {
		got, ok := p.KeptFor(test.claim)
		if ok != (test.want != "") || (ok && got.String() != test.want) {
			t.Errorf("%s: %s is kept (%t), want %q", name, got, ok, test.want)
		}
	}
	if got, _ := p.KeptFor(claimant("c"), claimant("b"), claimant("a")); got.String() != "192.0.2.5/32" {
		t.Errorf("%s is kept for the first of several names that something is kept for", got)
	}
	if got, ok := keeping(t, "192.0.2.0/24", nil).KeptFor(claimant("a")); ok {
		t.Errorf("a pool that keeps nothing keeps %s", got)
	}
	if got := claimant("a").String(); got != "Claim ns/a" {
		t.Errorf("a claimant reads %q", got)
	}
}

func TestKeptIn(t *testing.T) {
	t.Parallel()
	four := keeping(t, "192.0.2.0/24", map[string]string{
		"a": "192.0.2.16/28", "b": "192.0.2.0/32", "c": "192.0.2.32/32", "d": "192.0.2.255/32",
	})
	six := keeping(t, "2001:db8::/64", map[string]string{"a": "2001:db8::10/128", "b": "2001:db8::/124"})
	tests := map[string]struct {
		pool *pooltree.Pool
		in   string
		want string
	}{
		"all":                      {four, "192.0.2.0/24", "bacd"},
		"more than all":            {four, "192.0.0.0/16", "bacd"},
		"the first":                {four, "192.0.2.0/32", "b"},
		"the last":                 {four, "192.0.2.255/32", "d"},
		"two":                      {four, "192.0.2.0/27", "ba"},
		"inside what is kept":      {four, "192.0.2.20/31", "a"},
		"at the end of it":         {four, "192.0.2.31/32", "a"},
		"just what is kept":        {four, "192.0.2.16/28", "a"},
		"between":                  {four, "192.0.2.4/30", ""},
		"outside":                  {four, "192.0.3.0/24", ""},
		"the other family":         {four, "2001:db8::/32", ""},
		"IPv6, all":                {six, "2001:db8::/120", "ba"},
		"IPv6, one":                {six, "2001:db8::f/128", "b"},
		"IPv6, beside":             {six, "2001:db8::11/128", ""},
		"of a pool without any":    {keeping(t, "192.0.2.0/24", nil), "192.0.2.0/24", ""},
		"with bits beyond its end": {four, "192.0.2.30/28", "a"},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var got strings.Builder
			for _, k := range test.pool.KeptIn(netip.MustParsePrefix(test.in)) {
				got.WriteString(k.For.Name)
			}
			if got.String() != test.want {
				t.Errorf("kept in %s for %q, want %q", test.in, got.String(), test.want)
			}
		})
	}
}

// TestKeptInAgreesWithALook draws disjoint prefixes and compares with a look at every one of them.
func TestKeptInAgreesWithALook(t *testing.T) {
	t.Parallel()
	w := world{netip.MustParseAddr("192.0.2.64")}
	drawPrefix := func(t *rapid.T, label string) netip.Prefix {
		bits := rapid.IntRange(32-worldBits, 32).Draw(t, label+" bits")
		return netip.PrefixFrom(w.at(rapid.IntRange(0, 1<<worldBits-1).Draw(t, label)), bits).Masked()
	}
	rapid.Check(t, func(t *rapid.T) {
		config := pooltree.Config{Areas: []pooltree.Area{{Range: w.span(0, 1<<worldBits-1), Network: pooltree.Network{Bits: 24}}}}
		for range rapid.IntRange(0, 12).Draw(t, "kept") {
			prefix := drawPrefix(t, "prefix")
			if !overlapsAny(config.Kept, prefix) {
				config.Kept = append(config.Kept, pooltree.Kept{Prefix: prefix, For: claimant(prefix.String())})
			}
		}
		p, in := pooltree.New(config), drawPrefix(t, "in")
		want := map[pooltree.Claimant]netip.Prefix{}
		for _, k := range config.Kept {
			if got, ok := p.KeptFor(k.For); !ok || got != k.Prefix {
				t.Errorf("%s is kept for %s, want %s", got, k.For, k.Prefix)
			}
			if k.Prefix.Overlaps(in) {
				want[k.For] = k.Prefix
			}
		}
		got := map[pooltree.Claimant]netip.Prefix{}
		for _, k := range p.KeptIn(in) {
			got[k.For] = k.Prefix
		}
		if diff := cmp.Diff(want, got, cmp.Comparer(func(a, b netip.Prefix) bool { return a == b })); diff != "" {
			t.Errorf("kept in %s (-want +got):\n%s", in, diff)
		}
		if p.Total() != ipspace.CountOf(1<<worldBits) || p.UsableIn(netip.MustParsePrefix("192.0.2.64/26")) != p.Total() {
			t.Errorf("what is kept does not count as usable")
		}
	})
}

func overlapsAny(kept []pooltree.Kept, prefix netip.Prefix) bool {
	for _, k := range kept {
		if k.Prefix.Overlaps(prefix) {
			return true
		}
	}
	return false
}

func TestDenies(t *testing.T) {
	t.Parallel()
	p := pooltree.New(pooltree.Config{Denied: map[pooltree.Claimant]string{
		claimant("a"): "for a reason", claimant("b").OfAnyKind(): "for another",
	}})
	for name, test := range map[string]struct {
		claim pooltree.Claimant
		want  string
	}{
		"by its kind":               {claimant("a"), "for a reason"},
		"of another kind":           {pooltree.Claimant{Group: "example.com", Kind: "Want", Namespace: "ns", Name: "a"}, ""},
		"of any kind":               {claimant("b"), "for another"},
		"of any kind and elsewhere": {pooltree.Claimant{Group: "example.com", Kind: "Claim", Namespace: "other", Name: "b"}, ""},
		"not denied":                {claimant("c"), ""},
	} {
		if reason, denied := p.Denies(test.claim); reason != test.want || denied != (test.want != "") {
			t.Errorf("%s: denied (%t) %q, want %q", name, denied, reason, test.want)
		}
	}
}
