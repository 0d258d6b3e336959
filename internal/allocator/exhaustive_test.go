// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package allocator_test

import (
	"math/bits"
	"math/rand/v2"
	"net/netip"
	"testing"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ipspace"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/oracle"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/size"
)

// inside returns all prefixes inside block of up to the given length, the
// wider first, then by address.
func inside(block netip.Prefix, longest int) []netip.Prefix {
	var all []netip.Prefix
	for bits := block.Bits(); bits <= longest; bits++ {
		all = append(all, cut(block, bits)...)
	}
	return all
}

// cut returns the prefixes of the given length that make up block.
func cut(block netip.Prefix, bits int) []netip.Prefix {
	if block.Bits() == bits {
		return []netip.Prefix{block}
	}
	a := block.Addr().AsSlice()
	a[block.Bits()/8] |= 0x80 >> (block.Bits() % 8)
	upper, _ := netip.AddrFromSlice(a)
	return append(
		cut(netip.PrefixFrom(block.Addr(), block.Bits()+1), bits),
		cut(netip.PrefixFrom(upper, block.Bits()+1), bits)...)
}

// everySubset brings the pair into every state in which each of ps is held or
// not, one change at a time (a Gray code), and calls check in each; at the size
// of the gate in each seventh of many, from a random one on. Seven is odd, so
// that each of ps is held in about half of the states that are checked.
func everySubset(p *pair, ps []netip.Prefix, check func()) {
	every := 1
	if len(ps) > 10 {
		every = size.Of(7, 1, 1)
	}
	first := rand.IntN(every)
	if first == 0 {
		check()
	}
	heldNow := make([]bool, len(ps))
	for i := 1; i < 1<<len(ps); i++ {
		k := bits.TrailingZeros(uint(i))
		p.log = p.log[:0]
		if heldNow[k] {
			p.remove(ps[k], k)
		} else {
			p.insert(ps[k], k)
		}
		heldNow[k] = !heldNow[k]
		if i%every == first {
			check()
		}
	}
}

// TestEverySetOfHosts compares with the oracle on all 65 536 sets of hosts in
// a block of 16: for every length, and for hosts with several rules of what is
// reserved.
func TestEverySetOfHosts(t *testing.T) {
	t.Parallel()
	rules := map[string]func(netip.Addr) bool{
		"nothing reserved": nil,
		"the ends reserved": func(a netip.Addr) bool {
			return ipspace.IsReserved(a, a.BitLen()-4)
		},
		"ends of parts reserved": func(a netip.Addr) bool {
			return ipspace.IsReserved(a, a.BitLen()-2)
		},
		"all reserved": func(netip.Addr) bool { return true },
	}
	for _, block := range prefixes("192.0.2.16/28", "2001:db8::10/124") {
		for name, rule := range rules {
			t.Run(block.String()+" "+name, func(t *testing.T) {
				t.Parallel()
				width := block.Addr().BitLen()
				p := &pair{tb: t, name: name}
				r := request{Blocks: []netip.Prefix{block}, Reserved: rule}
				all, turn := inside(block, width), 0
				everySubset(p, cut(block, width), func() {
					r.Bits = width
					gaps := p.naive.Gaps(oracle.Request[int](r))
					p.checkFirstFit(r)
					p.checkBestFitAmong(gaps, r)
					for r.Bits--; rule == nil && r.Bits >= block.Bits(); r.Bits-- {
						p.checkFirstFit(r)
						p.checkBestFitAmong(gaps, r)
					}
					p.checkFits(r, all[turn%len(all)])
					turn++
				})
			})
		}
	}
}

// TestEverySetOfNestedPrefixes compares with the oracle on all 32 768 sets of
// prefixes in a block and its parts three levels down, searching in each of
// them, with and without entries that do not count. The IPv6 block straddles
// bit 64.
func TestEverySetOfNestedPrefixes(t *testing.T) {
	t.Parallel()
	for _, block := range prefixes("192.0.2.8/29", "2001:db8::/62") {
		t.Run(block.String(), func(t *testing.T) {
			t.Parallel()
			longest := block.Bits() + 3
			all := inside(block, longest)
			p := &pair{tb: t}
			turn := 0
			everySubset(p, all, func() {
				own := func(e int) bool { return e%3 != turn%3 }
				for _, searched := range all[:7] { // down to halves of halves
					r := request{Blocks: []netip.Prefix{searched}, Own: own}
					gaps := p.naive.Gaps(oracle.Request[int](r))
					for r.Bits = searched.Bits(); r.Bits <= longest; r.Bits++ {
						p.checkFirstFit(r)
						p.checkBestFitAmong(gaps, r)
					}
				}
				p.checkLargestFree(all[:1], own)
				p.checkFits(request{Blocks: all[:1], Own: own}, all[turn%len(all)])
				if turn%8 == 0 {
					p.checkContents(all[turn/8%len(all)])
				}
				turn++
			})
		})
	}
}
