// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ipspace_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"testing"

	"go4.org/netipx"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ipspace"
)

func TestIsReserved(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		address     string
		networkBits int
		want        bool
	}{
		"the network address":   {"192.0.2.0", 24, true},
		"the broadcast address": {"192.0.2.255", 24, true},
		"a host":                {"192.0.2.1", 24, false},
		"the last address of a part of a network":  {"192.0.2.127", 24, false},
		"the network address of a /30":             {"192.0.2.4", 30, true},
		"the broadcast address of a /30":           {"192.0.2.7", 30, true},
		"a /31 is used whole (RFC 3021)":           {"192.0.2.4", 31, false},
		"a /32 is used whole":                      {"192.0.2.4", 32, false},
		"the end of IPv4":                          {"255.255.255.255", 0, true},
		"the subnet-router anycast address":        {"2001:db8::", 64, true},
		"IPv6 has no broadcast":                    {"2001:db8::ffff:ffff:ffff:ffff", 64, false},
		"an IPv6 host":                             {"2001:db8::1", 64, false},
		"the anycast address of a /126":            {"2001:db8::4", 126, true},
		"a /127 is used whole (RFC 6164)":          {"2001:db8::4", 127, false},
		"a /128 is used whole":                     {"2001:db8::4", 128, false},
		"a length that does not exist":             {"192.0.2.0", -1, false},
		"a length that does not exist in IPv4":     {"192.0.2.0", 64, false},
		"a length that does not exist, in general": {"2001:db8::", 129, false},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := ipspace.IsReserved(netip.MustParseAddr(tc.address), tc.networkBits); got != tc.want {
				t.Errorf("got %t, want %t", got, tc.want)
			}
		})
	}
	if ipspace.IsReserved(netip.Addr{}, 24) {
		t.Error("the invalid address is reserved")
	}
}

// TestReservedInCountsWhatIsReserved compares ReservedIn with IsReserved,
// address by address, for every range within 32 addresses at either end and in
// the middle of both families.
func TestReservedInCountsWhatIsReserved(t *testing.T) {
	t.Parallel()
	for _, base := range []string{
		"0.0.0.0", "192.0.2.32", "255.255.255.224",
		"::", "2001:db8::ffff:ffff:ffff:ffe0", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffe0",
	} {
		t.Run(base, func(t *testing.T) {
			t.Parallel()
			for from, first := 0, netip.MustParseAddr(base); from < 32; from, first = from+1, first.Next() {
				for to, last := from, first; to < 32; to, last = to+1, last.Next() {
					checkReservedIn(t, netipx.IPRangeFrom(first, last))
				}
			}
		})
	}
}

func checkReservedIn(t *testing.T, ranges ...netipx.IPRange) {
	t.Helper()
	var b netipx.IPSetBuilder
	for _, r := range ranges {
		b.AddRange(r)
	}
	set, err := b.IPSet()
	if err != nil {
		t.Fatal(err)
	}
	width := ranges[0].From().BitLen()
	for _, bits := range []int{-1, 0, 1, width - 64, width - 7, width - 4, width - 3, width - 2, width - 1, width} {
		want := uint64(0)
		for _, r := range ranges {
			for a := r.From(); a.IsValid() && r.Contains(a); a = a.Next() {
				if ipspace.IsReserved(a, bits) {
					want++
				}
			}
		}
		if got := ipspace.ReservedIn(set, bits); got != ipspace.CountOf(want) {
			t.Errorf("%v in networks of /%d: got %v reserved addresses, want %d", set.Ranges(), bits, got, want)
		}
	}
}

func TestReservedInSeveralRanges(t *testing.T) {
	t.Parallel()
	for seed := range uint64(50) {
		rng := rand.New(rand.NewPCG(seed, 0))
		var ranges []netipx.IPRange
		for at := rng.IntN(9); at < 250; at += 1 + rng.IntN(60) {
			last := min(at+rng.IntN(40), 255)
			r, err := ipspace.ParseEntry(fmt.Sprintf("192.0.2.%d-192.0.2.%d", at, last))
			if err != nil {
				t.Fatal(err)
			}
			ranges = append(ranges, r)
			at = last + 1
		}
		checkReservedIn(t, ranges...)
	}
}

func TestReservedInHugeRanges(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		entry       string
		networkBits int
		want        string
	}{
		"the /24s of a /8":                     {"10.0.0.0/8", 24, "131072"},
		"a network of half the size":           {"10.0.0.0/25", 24, "1"},
		"the /64s of a /32":                    {"2001:db8::/32", 64, "4294967296"},
		"the /126s of a /3":                    {"2000::/3", 126, "10633823966279326983230456482242756608"},
		"a /64 in a network of a /48":          {"2001:db8:0:1::/64", 48, "0"},
		"from inside one /64 to inside a next": {"2001:db8::1-2001:db8:0:2::", 64, "2"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := ipspace.ReservedIn(setOf(t, tc.entry), tc.networkBits).String(); got != tc.want {
				t.Errorf("got %s, want %s", got, tc.want)
			}
		})
	}
}
