// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package allocator_test

import (
	"errors"
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/allocator"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ipspace"
)

// full returns a space in which every prefix of length bits in block is taken,
// by entry 1, but for each skip-th. The block itself is entry 0.
func full(block netip.Prefix, bits, skip int) *allocator.Space[int] {
	var s allocator.Space[int]
	s.Insert(block, 0)
	for i, p := range cut(block, bits) {
		if i%skip != skip-1 {
			s.Insert(p, 1)
		}
	}
	return &s
}

// TestCostOfOperations asserts that no operation takes more than a few steps
// per bit of the address, however many entries there are.
func TestCostOfOperations(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		block string
		bits  int // of the entries
		skip  int // every so many, one is free
	}{
		"a /16 of addresses but for the last":      {"10.0.0.0/16", 32, 1 << 16},
		"a /12 of addresses, 99.9 % full":          {"10.16.0.0/12", 32, 1000},
		"a /8 of networks, 99.9 % full":            {"10.0.0.0/8", 24, 1000},
		"a /16 of prefixes but for the last":       {"10.0.0.0/16", 28, 1 << 12},
		"an IPv6 /112 of addresses but the last":   {"2001:db8::/112", 128, 1 << 16},
		"an IPv6 /48 of networks, 99.9 % full":     {"2001:db8::/48", 64, 1000},
		"an IPv6 /32 of small blocks but the last": {"2001:db8::/32", 44, 1 << 12},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			block := netip.MustParsePrefix(tc.block)
			s := full(block, tc.bits, tc.skip)
			limit := uint64(3 * block.Addr().BitLen())
			steps := func(what string, operation func()) {
				before := s.Visited()
				operation()
				if n := s.Visited() - before; n > limit {
					t.Errorf("%s: %d steps, want at most %d", what, n, limit)
				}
			}
			random := rand.New(rand.NewPCG(1, 0))
			r := request{Blocks: []netip.Prefix{block}, Own: these(0), Bits: tc.bits}
			var p netip.Prefix
			for range 3 {
				steps("FirstFit", func() { p, _ = s.FirstFit(r) })
				if !p.IsValid() {
					break
				}
				steps("BestFit", func() {
					if _, err := s.BestFit(r); err != nil {
						t.Error(err)
					}
				})
				steps("RandomFit", func() {
					if _, err := s.RandomFit(r, random.Uint64); err != nil {
						t.Error(err)
					}
				})
				steps("Fits", func() {
					if err := s.Fits(r, p); err != nil {
						t.Error(err)
					}
				})
				steps("Insert", func() { s.Insert(p, 2) })
				steps("Overlapping", func() {
					for range s.Overlapping(p) {
						continue
					}
				})
				steps("LargestFree", func() { s.LargestFree(r.Blocks, r.Own) })
			}
			steps("Remove", func() { s.Remove(netip.PrefixFrom(block.Addr(), tc.bits), 1) })
			steps("FirstFit of a whole half", func() {
				r.Bits = block.Bits() + 1
				if _, err := s.FirstFit(r); !errors.Is(err, allocator.ErrExhausted) {
					t.Error(err)
				}
			})
		})
	}
}

type search func(*allocator.Space[int], request) (netip.Prefix, error)

// searches returns all there are; RandomFit is given a seed.
func searches(seed uint64) map[string]search {
	random := rand.New(rand.NewPCG(seed, 0))
	return map[string]search{
		"FirstFit": (*allocator.Space[int]).FirstFit,
		"BestFit":  (*allocator.Space[int]).BestFit,
		"RandomFit": func(s *allocator.Space[int], r request) (netip.Prefix, error) {
			return s.RandomFit(r, random.Uint64)
		},
	}
}

// TestCostOfAFullPool asserts that reserved addresses, once met, make a full
// pool no dearer.
func TestCostOfAFullPool(t *testing.T) {
	t.Parallel()
	for _, block := range prefixes("10.0.0.0/16", "2001:db8::/112") {
		for name, fit := range searches(1) {
			t.Run(block.String()+" "+name, func(t *testing.T) {
				t.Parallel()
				var s allocator.Space[int]
				s.Insert(block, 0)
				width := block.Addr().BitLen()
				r := request{
					Blocks: []netip.Prefix{block}, Own: these(0), Bits: width,
					Reserved: func(a netip.Addr) bool { return ipspace.IsReserved(a, width-8) },
				}
				handedOut := 0
				for p, err := fit(&s, r); err == nil; p, err = fit(&s, r) {
					s.Insert(p, 1)
					handedOut++
				}
				if want := map[int]int{32: 256 * 254, 128: 256 * 255}[width]; handedOut != want {
					t.Errorf("handed out %d, want %d", handedOut, want)
				}
				before := s.Visited()
				if _, err := fit(&s, r); !errors.Is(err, allocator.ErrExhausted) {
					t.Error(err)
				}
				if n := s.Visited() - before; n > 4 {
					t.Errorf("finding a full pool full took %d steps", n)
				}
				if perPick := before / uint64(handedOut); perPick > uint64(4*width) {
					t.Errorf("filling took %d steps per address", perPick)
				}
			})
		}
	}
}
