// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package allocator_test

import (
	"errors"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/allocator"
)

// these returns a predicate that holds for the given entries.
func these(entries ...int) func(int) bool {
	return func(e int) bool { return slices.Contains(entries, e) }
}

// addresses returns a rule by which the given addresses are reserved.
func addresses(texts ...string) func(netip.Addr) bool {
	return func(a netip.Addr) bool { return slices.Contains(texts, a.String()) }
}

func TestFirstFit(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		held     []string // entries 0, 1, ...
		blocks   []string
		own      func(int) bool
		bits     int
		reserved func(netip.Addr) bool
		want     string // "" means exhausted
	}{
		"an empty block offers its start": {
			blocks: []string{"10.0.0.0/24"}, bits: 32, want: "10.0.0.0/32"},
		"an empty block offers itself": {
			blocks: []string{"10.0.0.0/24"}, bits: 24, want: "10.0.0.0/24"},
		"a block offers nothing wider than itself": {
			blocks: []string{"10.0.0.0/24"}, bits: 23},
		"no block offers nothing": {bits: 32},
		"the other family's lengths do not fit": {
			blocks: []string{"10.0.0.0/24"}, bits: 64},
		"the lowest gap is taken, not the largest": {
			held: []string{"10.0.0.0/32", "10.0.0.2/31"}, blocks: []string{"10.0.0.0/24"}, bits: 32, want: "10.0.0.1/32"},
		"a gap that is too small is passed over": {
			held: []string{"10.0.0.0/32", "10.0.0.2/32"}, blocks: []string{"10.0.0.0/24"}, bits: 31, want: "10.0.0.4/31"},
		"two free halves that are not aligned are no prefix": {
			held: []string{"10.0.0.0/26", "10.0.0.192/26"}, blocks: []string{"10.0.0.0/24"}, bits: 25},
		"the gap below an entry": {
			held: []string{"10.0.0.240/28"}, blocks: []string{"10.0.0.0/24"}, bits: 25, want: "10.0.0.0/25"},
		"the gap above an entry": {
			held: []string{"10.0.0.0/28"}, blocks: []string{"10.0.0.0/24"}, bits: 25, want: "10.0.0.128/25"},
		"the gap right above an entry": {
			held: []string{"10.0.0.0/28"}, blocks: []string{"10.0.0.0/24"}, bits: 28, want: "10.0.0.16/28"},
		"the next block, when the first is full": {
			held: []string{"10.0.0.0/24"}, blocks: []string{"10.0.0.0/24", "10.0.2.0/24"}, bits: 32, want: "10.0.2.0/32"},
		"the next block, when the first is too small": {
			blocks: []string{"10.0.0.0/30", "10.0.2.0/24"}, bits: 26, want: "10.0.2.0/26"},
		"the pool's own block does not count": {
			held: []string{"10.0.0.0/24"}, blocks: []string{"10.0.0.0/24"}, own: these(0), bits: 32, want: "10.0.0.0/32"},
		"its ancestors' blocks do not count": {
			held: []string{"10.0.0.0/24", "10.0.0.0/16", "10.0.0.0/8"}, blocks: []string{"10.0.0.0/24"},
			own: these(0, 1, 2), bits: 24, want: "10.0.0.0/24"},
		"another's entry at the block takes all of it": {
			held: []string{"10.0.0.0/24", "10.0.0.0/24"}, blocks: []string{"10.0.0.0/24"}, own: these(0), bits: 32},
		"another's entry above the block takes all of it": {
			held: []string{"10.0.0.0/24", "10.0.0.0/16"}, blocks: []string{"10.0.0.0/24"}, own: these(0), bits: 32},
		"an own entry inside the block counts": {
			held: []string{"10.0.0.0/24", "10.0.0.0/25"}, blocks: []string{"10.0.0.0/24"}, own: these(0, 1), bits: 25, want: "10.0.0.128/25"},
		"a block of one address, free": {
			held: []string{"10.0.0.7/32"}, blocks: []string{"10.0.0.7/32"}, own: these(0), bits: 32, want: "10.0.0.7/32"},
		"a block of one address, taken": {
			held: []string{"10.0.0.7/32", "10.0.0.7/32"}, blocks: []string{"10.0.0.7/32"}, own: these(0), bits: 32},
		"a block of one address, reserved": {
			held: []string{"10.0.0.7/32"}, blocks: []string{"10.0.0.7/32"}, own: these(0), bits: 32, reserved: addresses("10.0.0.7")},
		"reserved addresses are passed over": {
			held: []string{"10.0.0.2/32"}, blocks: []string{"10.0.0.0/24"}, bits: 32,
			reserved: addresses("10.0.0.0", "10.0.0.1", "10.0.0.3"), want: "10.0.0.4/32"},
		"reserved addresses do not stop prefixes": {
			blocks: []string{"10.0.0.0/24"}, bits: 31, reserved: addresses("10.0.0.0"), want: "10.0.0.0/31"},
		"nothing but reserved addresses is exhausted": {
			held: []string{"10.0.0.1/32", "10.0.0.2/32"}, blocks: []string{"10.0.0.0/30"}, bits: 32,
			reserved: addresses("10.0.0.0", "10.0.0.3")},
		"an IPv6 prefix across bit 64": {
			held: []string{"2001:db8::/65"}, blocks: []string{"2001:db8::/63"}, bits: 64, want: "2001:db8:0:1::/64"},
		"an IPv6 host at the far end": {
			held: []string{"2001:db8::/65", "2001:db8:0:0:8000::/66", "2001:db8:0:0:c000::/67"}, blocks: []string{"2001:db8::/64"},
			bits: 128, want: "2001:db8:0:0:e000::/128"},
		"the last address of IPv6": {
			held: []string{"ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe/128"}, blocks: []string{"ffff:ffff:ffff:ffff:ffff:ffff:ffff:fffe/127"},
			bits: 128, want: "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128"},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := spaceOf(tc.held...)
			r := request{Blocks: prefixes(tc.blocks...), Own: tc.own, Bits: tc.bits, Reserved: tc.reserved}
			for range 2 { // what a search remembers does not change the answer
				got, err := s.FirstFit(r)
				if tc.want == "" {
					if !errors.Is(err, allocator.ErrExhausted) {
						t.Errorf("got %v, %v, want ErrExhausted", got, err)
					}
				} else if diff := cmp.Diff(tc.want, got.String()); diff != "" || err != nil {
					t.Errorf("error %v (-want +got):\n%s", err, diff)
				}
			}
		})
	}
}

func TestFits(t *testing.T) {
	t.Parallel()
	// A pool of 10.0.0.0/24 (0) in one of 10.0.0.0/16 (1), with a child (2).
	pools := []string{"10.0.0.0/24", "10.0.0.0/16", "10.0.0.64/26", "10.0.0.7/32"}
	tests := map[string]struct {
		own   func(int) bool
		asked netip.Prefix
		want  error
	}{
		"a free address":                      {these(0, 1), netip.MustParsePrefix("10.0.0.8/32"), nil},
		"a free prefix":                       {these(0, 1), netip.MustParsePrefix("10.0.0.128/25"), nil},
		"a taken address":                     {these(0, 1), netip.MustParsePrefix("10.0.0.7/32"), allocator.ErrTaken},
		"a prefix around a taken address":     {these(0, 1), netip.MustParsePrefix("10.0.0.0/29"), allocator.ErrTaken},
		"the whole block":                     {these(0, 1), netip.MustParsePrefix("10.0.0.0/24"), allocator.ErrTaken},
		"an address in the child":             {these(0, 1), netip.MustParsePrefix("10.0.0.99/32"), allocator.ErrTaken},
		"an address in an own child":          {these(0, 1, 2), netip.MustParsePrefix("10.0.0.99/32"), allocator.ErrTaken},
		"the child's block":                   {these(0, 1), netip.MustParsePrefix("10.0.0.64/26"), allocator.ErrTaken},
		"an address in a block not one's own": {these(0), netip.MustParsePrefix("10.0.0.8/32"), allocator.ErrTaken},
		"an address outside":                  {these(0, 1), netip.MustParsePrefix("10.0.1.8/32"), allocator.ErrOutOfRange},
		"a prefix around the block":           {these(0, 1), netip.MustParsePrefix("10.0.0.0/23"), allocator.ErrOutOfRange},
		"an address of the other family":      {these(0, 1), netip.MustParsePrefix("a00::/128"), allocator.ErrOutOfRange},
		"a prefix with host bits":             {these(0, 1), netip.MustParsePrefix("10.0.0.129/25"), allocator.ErrOutOfRange},
		"the invalid prefix":                  {these(0, 1), netip.Prefix{}, allocator.ErrOutOfRange},
		"a reserved address":                  {these(0, 1), netip.MustParsePrefix("10.0.0.0/32"), allocator.ErrReserved},
		"a reserved address, taken":           {these(0), netip.MustParsePrefix("10.0.0.0/32"), allocator.ErrTaken},
		"a prefix with a reserved address":    {these(0, 1), netip.MustParsePrefix("10.0.0.0/30"), nil},
		"a block beside the first":            {these(0, 1), netip.MustParsePrefix("192.0.2.0/32"), nil},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := spaceOf(pools...)
			r := request{Blocks: prefixes("10.0.0.0/24", "192.0.2.0/30"), Own: tc.own, Bits: 32, Reserved: addresses("10.0.0.0")}
			for range 2 {
				if got := s.Fits(r, tc.asked); !errors.Is(got, tc.want) {
					t.Errorf("got %v, want %v", got, tc.want)
				}
				if _, err := s.FirstFit(r); err != nil {
					t.Fatal(err)
				}
			}
		})
	}
}

func TestLargestFree(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		held   []string
		blocks []string
		own    func(int) bool
		want   int // -1: nothing
	}{
		"no block":              {want: -1},
		"an empty block":        {blocks: []string{"10.0.0.0/24"}, want: 24},
		"the widest of several": {blocks: []string{"10.0.0.0/24", "10.0.4.0/22"}, want: 22},
		"a full block":          {held: []string{"10.0.0.0/24"}, blocks: []string{"10.0.0.0/24"}, want: -1},
		"its own block":         {held: []string{"10.0.0.0/24"}, blocks: []string{"10.0.0.0/24"}, own: these(0), want: 24},
		"beside one address":    {held: []string{"10.0.0.77/32"}, blocks: []string{"10.0.0.0/24"}, want: 25},
		"between two":           {held: []string{"10.0.0.0/32", "10.0.0.128/32"}, blocks: []string{"10.0.0.0/24"}, want: 26},
		"one IPv6 address left": {held: []string{"2001:db8::/128"}, blocks: []string{"2001:db8::/127"}, want: 128},
		"two halves unaligned":  {held: []string{"10.0.0.0/26", "10.0.0.192/26"}, blocks: []string{"10.0.0.0/24"}, want: 26},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, ok := spaceOf(tc.held...).LargestFree(prefixes(tc.blocks...), tc.own)
			if ok != (tc.want >= 0) || ok && got != tc.want {
				t.Errorf("got %d, %t, want %d", got, ok, tc.want)
			}
		})
	}
}
