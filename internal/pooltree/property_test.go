// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pooltree_test

import (
	"net/netip"
	"slices"
	"testing"

	"go4.org/netipx"
	"pgregory.net/rapid"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ipspace"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
)

// worldBits is the size of the space that drawn pools live in: 64 addresses.
const worldBits = 6

// world returns the address of an offset in the drawn pools' space.
type world struct{ base netip.Addr }

func (w world) at(offset int) netip.Addr {
	a := w.base.AsSlice()
	a[len(a)-1] += byte(offset)
	addr, _ := netip.AddrFromSlice(a)
	return addr
}

func (w world) span(first, last int) netipx.IPRange {
	return netipx.IPRangeFrom(w.at(first), w.at(last))
}

// naive is a pool as a list of addresses, each with the reason why it is kept
// back.
type naive struct {
	in, never, reserved, offLink [1 << worldBits]bool
}

func (n *naive) usable(offset int) bool {
	return n.in[offset] && !n.never[offset] && !n.reserved[offset] && !n.offLink[offset]
}

// draw makes a pool and its naive twin. The areas alternate with holes, each
// with a network of its own.
func draw(t *rapid.T, w world) (*pooltree.Pool, *naive) {
	n, config := &naive{}, pooltree.Config{}
	cuts := rapid.SliceOfNDistinct(rapid.IntRange(0, 1<<worldBits-1), 2, 12, rapid.ID[int]).Draw(t, "cuts")
	slices.Sort(cuts)
	for i := 0; i+1 < len(cuts); i += rapid.IntRange(1, 2).Draw(t, "step") {
		config.Areas = append(config.Areas, drawArea(t, w, n, cuts[i], cuts[i+1]-1))
	}
	for _, area := range config.Areas {
		for i := range n.in {
			n.never[i] = n.never[i] || w.at(i) == area.Network.Gateway
		}
	}
	config.Excluded = drawExcluded(t, w, n)
	if rapid.Bool().Draw(t, "allocate reserved") {
		config.Reserved, n.reserved = pooltree.AllocateReserved, [1 << worldBits]bool{}
	}
	if rapid.Bool().Draw(t, "allocate off-link") {
		config.OffLink, n.offLink = pooltree.AllocateOffLink, [1 << worldBits]bool{}
	}
	return pooltree.New(config), n
}

func drawArea(t *rapid.T, w world, n *naive, first, last int) pooltree.Area {
	host := w.base.BitLen()
	network := pooltree.Network{Bits: rapid.IntRange(host-worldBits-1, host).Draw(t, "bits")}
	if rapid.Bool().Draw(t, "has gateway") {
		network.Gateway = w.at(rapid.IntRange(0, 1<<worldBits-1).Draw(t, "gateway"))
	}
	for i := first; i <= last; i++ {
		n.in[i] = true
		n.reserved[i] = isReserved(w.at(i), network.Bits)
		n.offLink[i] = network.Gateway.IsValid() && network.Bits < host && !netip.PrefixFrom(network.Gateway, network.Bits).Contains(w.at(i))
	}
	return pooltree.Area{Range: w.span(first, last), Network: network}
}

// isReserved is written out again, by masks: RFC 1122, 3021, 4291, 6164.
func isReserved(a netip.Addr, bits int) bool {
	if a.BitLen()-bits < 2 {
		return false
	}
	network := netip.PrefixFrom(a, bits).Masked()
	return a == network.Addr() || a.Is4() && !network.Contains(a.Next())
}

func drawExcluded(t *rapid.T, w world, n *naive) *netipx.IPSet {
	var b netipx.IPSetBuilder
	for range rapid.IntRange(0, 4).Draw(t, "exclusions") {
		first := rapid.IntRange(0, 1<<worldBits-1).Draw(t, "first")
		last := rapid.IntRange(first, min(first+8, 1<<worldBits-1)).Draw(t, "last")
		b.AddRange(w.span(first, last))
		for i := first; i <= last; i++ {
			n.never[i] = true
		}
	}
	set, err := b.IPSet()
	if err != nil {
		t.Fatal(err)
	}
	return set
}

func TestPoolAgreesWithEnumeration(t *testing.T) {
	t.Parallel()
	worlds := map[string]world{
		"IPv4":                     {netip.MustParseAddr("192.0.2.64")},
		"IPv4 at the family's end": {netip.MustParseAddr("255.255.255.192")},
		"IPv6":                     {netip.MustParseAddr("2001:db8::40")},
	}
	for name, w := range worlds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				p, n := draw(t, w)
				checkAddresses(t, w, p, n)
				checkPrefixes(t, w, p, n)
			})
		})
	}
}

func checkAddresses(t *rapid.T, w world, p *pooltree.Pool, n *naive) {
	var total, usable uint64
	for i := range n.in {
		host := netip.PrefixFrom(w.at(i), w.base.BitLen())
		if n.in[i] {
			total++
		}
		if n.usable(i) {
			usable++
		}
		if got, want := p.Reserved(w.at(i)), n.in[i] && n.reserved[i]; got != want {
			t.Errorf("Reserved(%s) = %t, want %t", w.at(i), got, want)
		}
		reason, refused := p.Refuses(host)
		if _, isOffLink := p.RefusesOffLink(host); (refused || isOffLink) == n.usable(i) {
			t.Errorf("Refuses(%s) = %t (%s), off-link %t, usable %t", host, refused, reason, isOffLink, n.usable(i))
		}
		checkLink(t, w, p, n, i)
	}
	if p.Total() != ipspace.CountOf(total) {
		t.Errorf("Total() = %s, want %d", p.Total(), total)
	}
	if p.ExcludedCount() != ipspace.CountOf(total-usable) {
		t.Errorf("ExcludedCount() = %s, want %d", p.ExcludedCount(), total-usable)
	}
}

// checkLink compares what reaches its gateway.
func checkLink(t *rapid.T, w world, p *pooltree.Pool, n *naive, i int) {
	reaches := slices.ContainsFunc(p.ReachingBlocks(), func(b netip.Prefix) bool { return b.Contains(w.at(i)) })
	if want := n.in[i] && !n.offLink[i]; reaches != want {
		t.Errorf("ReachingBlocks() has %s: %t, want %t", w.at(i), reaches, want)
	}
	if got, want := len(p.OffLink(w.span(i, i))) > 0, n.in[i] && n.offLink[i] && !n.never[i] && !n.reserved[i]; got != want {
		t.Errorf("OffLink(%s) is found: %t, want %t", w.at(i), got, want)
	}
}

// checkPrefixes compares UsableIn, Contains and Excluded for every prefix of
// the drawn space.
func checkPrefixes(t *rapid.T, w world, p *pooltree.Pool, n *naive) {
	for bits := w.base.BitLen() - worldBits; bits <= w.base.BitLen(); bits++ {
		size := 1 << (w.base.BitLen() - bits)
		for first := 0; first < 1<<worldBits; first += size {
			prefix := netip.PrefixFrom(w.at(first), bits)
			var usable uint64
			all := true
			for i := first; i < first+size; i++ {
				all = all && n.in[i]
				if n.usable(i) {
					usable++
				}
			}
			if got := p.UsableIn(prefix); got != ipspace.CountOf(usable) {
				t.Errorf("UsableIn(%s) = %s, want %d", prefix, got, usable)
			}
			if p.Contains(prefix) != all {
				t.Errorf("Contains(%s) = %t", prefix, !all)
			}
		}
	}
	for i := range n.in {
		kept := slices.ContainsFunc(p.Excluded(), func(e netip.Prefix) bool { return e.Contains(w.at(i)) })
		if kept != (n.in[i] && n.never[i]) {
			t.Errorf("Excluded() has %s: %t", w.at(i), kept)
		}
	}
}
