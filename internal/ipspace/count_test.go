// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ipspace_test

import (
	"math"
	"math/big"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go4.org/netipx"
	"pgregory.net/rapid"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ipspace"
)

// maxCount is 2¹²⁸-1.
var maxCount = ipspace.PrefixSize(netip.MustParsePrefix("::/0"))

// counts draws counts of all magnitudes.
func counts() *rapid.Generator[ipspace.Count] {
	return rapid.Custom(func(t *rapid.T) ipspace.Count {
		c := ipspace.CountOf(rapid.Uint64().Draw(t, "low"))
		bits := rapid.IntRange(0, 128).Draw(t, "bits")
		c = c.Add(ipspace.PrefixSize(netip.PrefixFrom(netip.IPv6Unspecified(), bits)))
		if rapid.Bool().Draw(t, "below") {
			c = maxCount.Sub(c)
		}
		return c
	})
}

func bigOf(t rapid.TB, c ipspace.Count) *big.Int {
	b, ok := new(big.Int).SetString(c.String(), 10)
	if !ok {
		t.Fatalf("%q is not a number", c.String())
	}
	return b
}

// TestCountIsSaturatingArithmetic compares Count with math/big cut off at 0
// and 2¹²⁸-1.
func TestCountIsSaturatingArithmetic(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		c, d := counts().Draw(t, "c"), counts().Draw(t, "d")
		bc, bd, limit := bigOf(t, c), bigOf(t, d), bigOf(t, maxCount)
		sum, difference := new(big.Int).Add(bc, bd), new(big.Int).Sub(bc, bd)
		if sum.Cmp(limit) > 0 {
			sum = limit
		}
		if difference.Sign() < 0 {
			difference.SetInt64(0)
		}
		if got := c.Add(d).String(); got != sum.String() {
			t.Errorf("%v + %v = %s, want %v", c, d, got, sum)
		}
		if got := c.Sub(d).String(); got != difference.String() {
			t.Errorf("%v - %v = %s, want %v", c, d, got, difference)
		}
		if got := c.Cmp(d); got != bc.Cmp(bd) || (got == 0) != (c == d) {
			t.Errorf("%v.Cmp(%v) = %d, want %d", c, d, got, bc.Cmp(bd))
		}
	})
}

func TestPrefixSize(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		prefix netip.Prefix
		want   string
	}{
		"an IPv4 host":             {netip.MustParsePrefix("192.0.2.1/32"), "1"},
		"an IPv4 network":          {netip.MustParsePrefix("192.0.2.0/24"), "256"},
		"all of IPv4":              {netip.MustParsePrefix("0.0.0.0/0"), "4294967296"},
		"an IPv6 host":             {netip.MustParsePrefix("2001:db8::1/128"), "1"},
		"an IPv6 network":          {netip.MustParsePrefix("2001:db8::/64"), "18446744073709551616"},
		"a long IPv6 network":      {netip.MustParsePrefix("2001:db8::/65"), "9223372036854775808"},
		"half of IPv6":             {netip.MustParsePrefix("8000::/1"), "170141183460469231731687303715884105728"},
		"all of IPv6 is one short": {netip.MustParsePrefix("::/0"), "340282366920938463463374607431768211455"},
		"the invalid prefix":       {netip.Prefix{}, "0"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if diff := cmp.Diff(tc.want, ipspace.PrefixSize(tc.prefix).String()); diff != "" {
				t.Errorf("size (-want +got):\n%s", diff)
			}
		})
	}
}

// setOf returns the union of entries.
func setOf(t *testing.T, entries ...string) *netipx.IPSet {
	t.Helper()
	var b netipx.IPSetBuilder
	for _, entry := range entries {
		r, err := ipspace.ParseEntry(entry)
		if err != nil {
			t.Fatal(err)
		}
		b.AddRange(r)
	}
	set, err := b.IPSet()
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func TestSetSize(t *testing.T) {
	t.Parallel()
	set := setOf(t, "2001:db8::/64", "2001:db8:1::1", "2001:db8:2::9-2001:db8:2::b")
	if diff := cmp.Diff("18446744073709551620", ipspace.SetSize(set).String()); diff != "" {
		t.Errorf("size (-want +got):\n%s", diff)
	}
	for _, empty := range []*netipx.IPSet{nil, {}} {
		if got := ipspace.SetSize(empty); !got.IsZero() {
			t.Errorf("the empty set has %v addresses", got)
		}
	}
	if got := ipspace.RangeSize(netipx.IPRange{}); !got.IsZero() {
		t.Errorf("the invalid range has %v addresses", got)
	}
}

func TestPercent(t *testing.T) {
	t.Parallel()
	of := ipspace.CountOf
	tests := map[string]struct {
		part, whole ipspace.Count
		want        int32
	}{
		"nothing of nothing":           {of(0), of(0), 0},
		"something of nothing":         {of(7), of(0), 0},
		"nothing of something":         {of(0), of(7), 0},
		"rounded down":                 {of(2), of(3), 66},
		"one short of all":             {of(254), of(255), 99},
		"all":                          {of(255), of(255), 100},
		"one short of all of IPv6":     {maxCount.Sub(of(1)), maxCount, 99},
		"all of IPv6":                  {maxCount, maxCount, 100},
		"more than all":                {of(3), of(2), 150},
		"far more than all":            {maxCount, of(1), math.MaxInt32},
		"one address of an IPv6 /64":   {of(1), ipspace.PrefixSize(netip.MustParsePrefix("2001:db8::/64")), 0},
		"a /65 of an IPv6 /64 is half": {of(1 << 63), ipspace.PrefixSize(netip.MustParsePrefix("2001:db8::/64")), 50},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := ipspace.Percent(tc.part, tc.whole); got != tc.want {
				t.Errorf("got %d, want %d", got, tc.want)
			}
		})
	}
}

func TestFit(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		in        string
		bits, fit int
	}{{"10.0.0.0/24", 0, 100}, {"10.0.0.0/26", 0, 64}, {"10.0.0.0/26", 4, 4}, {"10.0.0.0/30", 4, 0}, {"2001:db8::/32", 64, 100}, {"2001:db8::/63", 64, 2}} {
		if got := ipspace.PrefixSize(netip.MustParsePrefix(test.in)).Fit(test.bits, 100); got != test.fit {
			t.Errorf("%s has %d times 2^%d, want %d", test.in, got, test.bits, test.fit)
		}
	}
}
