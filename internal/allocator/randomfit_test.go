// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package allocator_test

import (
	"encoding/binary"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/allocator"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ipspace"
)

// number returns the last eight bytes of a.
func number(a netip.Addr) uint64 {
	b := a.As16()
	return binary.BigEndian.Uint64(b[8:])
}

// drawing returns a source of random numbers that makes RandomFit draw what
// begins at a.
func drawing(a netip.Addr) func() uint64 {
	n := number(a)
	if a.Is4() {
		n <<= 32
	}
	return func() uint64 { return n }
}

// nearest returns the one of ps whose number differs from a's in the least way.
func nearest(ps []netip.Prefix, a netip.Addr) netip.Prefix {
	var best netip.Prefix
	for _, p := range ps {
		if !best.IsValid() || number(p.Addr())^number(a) < number(best.Addr())^number(a) {
			best = p
		}
	}
	return best
}

// TestRandomFitInEverySetOfHosts compares with the oracle, in all 256 sets of
// hosts in a block of eight, what is found for each prefix that may be drawn:
// itself if it is free, else the nearest. So each free prefix may come, with at
// least its share.
func TestRandomFitInEverySetOfHosts(t *testing.T) {
	t.Parallel()
	rules := map[string]func(netip.Addr) bool{
		"nothing reserved":       nil,
		"ends of parts reserved": func(a netip.Addr) bool { return ipspace.IsReserved(a, a.BitLen()-2) },
		"all reserved":           func(netip.Addr) bool { return true },
	}
	for _, block := range prefixes("192.0.2.16/29", "2001:db8::10/125") {
		for name, rule := range rules {
			t.Run(block.String()+" "+name, func(t *testing.T) {
				t.Parallel()
				p := &pair{tb: t, name: name}
				everySubset(p, cut(block, block.Addr().BitLen()), func() {
					r := request{Blocks: []netip.Prefix{block}, Reserved: rule}
					for r.Bits = block.Bits(); r.Bits <= block.Addr().BitLen(); r.Bits++ {
						p.checkDraws(r)
					}
				})
			})
		}
	}
}

// checkDraws compares what is found for each prefix drawn from the one block of
// r, which is small.
func (p *pair) checkDraws(r request) {
	p.tb.Helper()
	all := cut(r.Blocks[0], r.Bits)
	free := slices.DeleteFunc(slices.Clone(all), func(q netip.Prefix) bool { return p.space.Fits(r, q) != nil })
	for _, drawn := range all {
		got, _ := p.checkRandomFit(r, drawing(drawn.Addr()))
		if want := nearest(free, drawn.Addr()); got != want {
			p.fail("RandomFit(/%d in %v) drew %v, got %v, want %v", r.Bits, r.Blocks, drawn, got, want)
		}
	}
}

// TestRandomFitReachesEverything fills a small world with entries, reserved
// addresses and blocks of several sizes, and waits until each free prefix has
// come.
func TestRandomFitReachesEverything(t *testing.T) {
	t.Parallel()
	worlds := map[string]struct{ blocks, held []string }{
		"IPv4": {
			[]string{"192.0.2.0/26", "192.0.2.77/32", "198.51.100.4/30", "198.51.100.8/30"},
			[]string{"192.0.2.0/28", "192.0.2.17/32", "192.0.2.48/29", "198.51.100.8/30"}},
		"IPv6": {
			[]string{"2001:db8::/122", "2001:db8::4d/128", "2001:db8:1::4/126", "2001:db8:1::8/126"},
			[]string{"2001:db8::/124", "2001:db8::11/128", "2001:db8::30/125", "2001:db8:1::8/126"}},
	}
	for name, tc := range worlds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &pair{tb: t, name: name}
			for e, at := range prefixes(tc.held...) {
				p.insert(at, e)
			}
			blocks := prefixes(tc.blocks...)
			r := request{Blocks: blocks, Reserved: func(a netip.Addr) bool { return a == blocks[0].Addr().Prev() || number(a)%8 == 7 }}
			width := blocks[0].Addr().BitLen()
			for r.Bits = width - 6; r.Bits <= width; r.Bits++ {
				p.checkReach(r)
			}
		})
	}
}

// checkReach draws often enough to get all that is free in the blocks of r.
func (p *pair) checkReach(r request) {
	p.tb.Helper()
	free := map[netip.Prefix]int{}
	for _, block := range r.Blocks {
		if block.Bits() > r.Bits {
			continue
		}
		for _, q := range cut(block, r.Bits) {
			if p.space.Fits(r, q) == nil {
				free[q] = 0
			}
		}
	}
	random := rand.New(rand.NewPCG(1, uint64(r.Bits)))
	for range 100 * len(free) {
		q, _ := p.checkRandomFit(r, random.Uint64)
		free[q]++
	}
	for q, times := range free {
		if times == 0 {
			p.fail("%v never came", q)
		}
	}
}

func TestRandomFitWeighsBlocks(t *testing.T) {
	t.Parallel()
	const draws = 20_000
	tests := map[string]struct {
		blocks   []string
		held     []string
		bits     int
		min, max int // how often the first block comes
	}{
		"an address beside a network":         {[]string{"10.0.0.0/32", "10.1.0.0/16"}, nil, 32, 0, 5},
		"a network beside one twice its size": {[]string{"10.0.0.0/24", "10.0.2.0/23"}, nil, 32, draws * 32 / 100, draws * 35 / 100},
		"prefixes in both":                    {[]string{"10.0.0.0/24", "10.0.2.0/23"}, nil, 28, draws * 32 / 100, draws * 35 / 100},
		"a full block":                        {[]string{"10.0.0.0/24", "10.0.2.0/32"}, []string{"10.0.0.0/24"}, 32, 0, 0},
		"a block that is too small":           {[]string{"10.0.0.0/30", "10.0.4.0/22"}, nil, 28, 0, 0},
		"IPv6 networks too large to count":    {[]string{"2001:db8::/64", "2001:db8:1::/48"}, nil, 128, draws * 48 / 100, draws * 52 / 100},
		"an IPv6 address beside a network":    {[]string{"2001:db8::/128", "2001:db8:1::/64"}, nil, 128, 0, 0},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, random := spaceOf(tc.held...), rand.New(rand.NewPCG(1, 0))
			r := request{Blocks: prefixes(tc.blocks...), Bits: tc.bits}
			first := 0
			for range draws {
				p, err := s.RandomFit(r, random.Uint64)
				if err != nil {
					t.Fatal(err)
				}
				if r.Blocks[0].Overlaps(p) {
					first++
				}
			}
			if first < tc.min || first > tc.max {
				t.Errorf("the first block came %d times of %d, want %d to %d", first, draws, tc.min, tc.max)
			}
		})
	}
}

// TestRandomFitIsReproducible asserts that neither what earlier searches
// remember nor the order of insertion changes what a seed gives, as long as
// every block has something to offer.
func TestRandomFitIsReproducible(t *testing.T) {
	t.Parallel()
	r := request{
		Blocks: prefixes("10.0.0.0/28", "10.0.1.0/27"), Bits: 32,
		Reserved: func(a netip.Addr) bool { return ipspace.IsReserved(a, 30) },
	}
	fresh := func() *allocator.Space[int] { return spaceOf("10.0.0.4/31", "10.0.1.16/29") }
	used := spaceOf("10.0.1.16/29", "10.0.0.4/31")
	for seed := range uint64(200) {
		want, _ := fresh().RandomFit(r, rand.New(rand.NewPCG(seed, 0)).Uint64)
		got, err := used.RandomFit(r, rand.New(rand.NewPCG(seed, 0)).Uint64)
		if got != want || err != nil {
			t.Errorf("seed %d: got %v, %v, want %v", seed, got, err, want)
		}
	}
}
