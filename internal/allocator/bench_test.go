// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package allocator_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"testing"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/allocator"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ipspace"
)

// entry stands for the ledger's record: what counts is that it is a number.
type entry uint32

// BenchmarkFill hands out 100 000 addresses and reports what each costs in
// memory that stays.
func BenchmarkFill(b *testing.B) {
	for _, block := range prefixes("10.16.0.0/12", "2001:db8::/64") {
		b.Run(block.String(), func(b *testing.B) {
			const n = 100_000
			width, e := block.Addr().BitLen(), entry(1)
			var s *allocator.Space[entry]
			var before, after runtime.MemStats
			for b.Loop() {
				runtime.GC()
				runtime.ReadMemStats(&before)
				s = new(allocator.Space[entry])
				r := allocator.Request[entry]{
					Blocks: []netip.Prefix{block}, Bits: width,
					Reserved: func(a netip.Addr) bool { return ipspace.IsReserved(a, width-8) },
				}
				for range n {
					p, err := s.FirstFit(r)
					if err != nil {
						b.Fatal(err)
					}
					s.Insert(p, e)
				}
			}
			runtime.GC()
			runtime.ReadMemStats(&after)
			b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/n, "B/entry")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/n, "ns/entry")
			runtime.KeepAlive(s)
		})
	}
}

// scattered returns a space with n entries at random places of block, and the
// places.
func scattered(block netip.Prefix, n int) (*allocator.Space[entry], []netip.Prefix) {
	rng := rand.New(rand.NewPCG(1, 0))
	s, at := new(allocator.Space[entry]), make([]netip.Prefix, n)
	for i := range at {
		a := block.Addr().AsSlice()
		for bit := block.Bits(); bit < len(a)*8; bit++ {
			a[bit/8] |= byte(rng.IntN(2)) << (7 - bit%8)
		}
		addr, _ := netip.AddrFromSlice(a)
		at[i] = netip.PrefixFrom(addr, addr.BitLen())
		s.Insert(at[i], entry(1))
	}
	return s, at
}

// BenchmarkScattered measures single operations among 100 000 entries at
// random places.
func BenchmarkScattered(b *testing.B) {
	for _, block := range prefixes("10.0.0.0/10", "2001:db8::/48") {
		s, at := scattered(block, 100_000)
		e := entry(1)
		b.Run(fmt.Sprintf("InsertRemove/%v", block), func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				p := at[i%len(at)]
				s.Insert(p, e)
				s.Remove(p, e)
			}
		})
		b.Run(fmt.Sprintf("Overlapping/%v", block), func(b *testing.B) {
			for i := 0; b.Loop(); i++ {
				for range s.Overlapping(at[i%len(at)]) {
					continue
				}
			}
		})
		b.Run(fmt.Sprintf("FirstFit/%v", block), func(b *testing.B) {
			r := allocator.Request[entry]{Blocks: []netip.Prefix{block}, Bits: block.Bits() + 16}
			for b.Loop() {
				_, _ = s.FirstFit(r)
			}
		})
	}
}

// BenchmarkFirstFitInAFullPool finds the one free place.
func BenchmarkFirstFitInAFullPool(b *testing.B) {
	for _, block := range prefixes("10.0.0.0/16", "2001:db8::/112") {
		s := full(block, block.Addr().BitLen(), 1<<16)
		r := request{Blocks: []netip.Prefix{block}, Own: these(0), Bits: block.Addr().BitLen()}
		b.Run(block.String(), func(b *testing.B) {
			for b.Loop() {
				if _, err := s.FirstFit(r); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}

// BenchmarkPick picks a block of 1/65536 of the pool, of which so many thousandths are taken at random, and reports how many
// steps that takes.
func BenchmarkPick(b *testing.B) {
	for _, tc := range []struct {
		block string
		bits  int
	}{{"10.0.0.0/8", 24}, {"2001:db8::/48", 64}} {
		for _, thousandths := range []int{100, 900, 999} {
			block := netip.MustParsePrefix(tc.block)
			rng := rand.New(rand.NewPCG(1, 0))
			var s allocator.Space[int]
			for _, p := range cut(block, tc.bits) {
				if rng.IntN(1000) < thousandths {
					s.Insert(p, 1)
				}
			}
			r := request{Blocks: []netip.Prefix{block}, Bits: tc.bits}
			for name, fit := range searches(1) {
				b.Run(fmt.Sprintf("%s/%v/%.1f%%", name, block, float64(thousandths)/10), func(b *testing.B) {
					before := s.Visited()
					for b.Loop() {
						if _, err := fit(&s, r); err != nil {
							b.Fatal(err)
						}
					}
					b.ReportMetric(float64(s.Visited()-before)/float64(b.N), "steps/op")
				})
			}
		}
	}
}
