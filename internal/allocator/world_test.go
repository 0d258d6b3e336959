// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package allocator_test

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"pgregory.net/rapid"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ipspace"
)

// source makes the choices of a random run.
type source interface {
	pick(n int) int // from 0 to n-1
}

type seeded struct{ *rand.Rand }

func (s seeded) pick(n int) int { return s.IntN(n) }

type drawn struct{ *rapid.T }

func (d drawn) pick(n int) int { return rapid.IntRange(0, n-1).Draw(d.T, "choice") }

// bytes takes one choice from each byte, and 0 when they are used up.
type bytes struct{ rest []byte }

func (b *bytes) pick(n int) int {
	if len(b.rest) == 0 {
		return 0
	}
	c := int(b.rest[0])
	b.rest = b.rest[1:]
	return c % n
}

// pool is a user of the space: its blocks are entries, and it hands out what
// lies inside by a rule of its own.
type pool struct {
	id     int
	blocks []netip.Prefix
	own    map[int]bool // itself and its ancestors
	rule   int
}

// reserved returns the pool's rule.
func (u *pool) reserved() func(netip.Addr) bool {
	first := u.blocks[0]
	switch u.rule {
	case 0:
		return nil
	case 1:
		return func(a netip.Addr) bool { return ipspace.IsReserved(a, first.Bits()) }
	case 2:
		return func(a netip.Addr) bool { return a == first.Addr().Next() }
	default:
		return func(a netip.Addr) bool { return ipspace.IsReserved(a, a.BitLen()-2) }
	}
}

func (u *pool) request(bits int) request {
	return request{
		Blocks:   u.blocks,
		Own:      func(e int) bool { return u.own[e] },
		Bits:     bits,
		Reserved: u.reserved(),
	}
}

// world is a pair with pools in it, nested by carving, that hand out, take
// back, change their rules and are disturbed by entries out of nowhere.
type world struct {
	pair
	source
	random *rand.Rand // for RandomFit
	pools  []*pool
	next   int
}

// newWorld returns a world with one pool of the given blocks.
func newWorld(tb failer, name string, s source, blocks []netip.Prefix) *world {
	w := &world{pair: pair{tb: tb, name: name}, source: s, random: rand.New(rand.NewPCG(1, 2))}
	w.addPool(blocks, nil)
	return w
}

func (w *world) addPool(blocks []netip.Prefix, own map[int]bool) {
	u := &pool{id: w.id(), blocks: blocks, own: map[int]bool{}, rule: w.pick(4)}
	for ancestor := range own {
		u.own[ancestor] = true
	}
	u.own[u.id] = true
	w.note("pool %d of %v with rule %d", u.id, blocks, u.rule)
	for _, block := range blocks {
		w.insert(block, u.id)
	}
	w.pools = append(w.pools, u)
}

func (w *world) id() int {
	w.next++
	return w.next
}

// step makes one change or asks one question.
func (w *world) step() {
	w.tb.Helper()
	u := w.pools[w.pick(len(w.pools))]
	switch w.pick(12) {
	case 0:
		w.carve(u)
	case 1:
		w.handOut(u, w.checkFirstFit, u.blocks[0].Addr().BitLen())
	case 2:
		w.handOut(u, w.checkBestFit, u.blocks[0].Addr().BitLen())
	case 3:
		w.handOut(u, w.anyFit, u.blocks[0].Addr().BitLen())
	case 4:
		w.handOut(u, w.checkFirstFit, w.lengthIn(u))
	case 5:
		w.insert(w.prefixIn(u), w.id())
	case 6, 7:
		w.takeBack()
	case 8:
		w.changeRule(u)
	case 9:
		w.ask(u)
	case 10:
		w.handOut(u, w.checkBestFit, w.lengthIn(u))
	case 11:
		w.handOut(u, w.anyFit, w.lengthIn(u))
	}
}

func (w *world) lengthIn(u *pool) int {
	shortest := u.blocks[0].Bits()
	return shortest + w.pick(u.blocks[0].Addr().BitLen()-shortest+1)
}

// prefixIn returns some prefix around, at or inside a block of u. Few of its
// bits are set, so that such prefixes often meet.
func (w *world) prefixIn(u *pool) netip.Prefix {
	block := u.blocks[w.pick(len(u.blocks))]
	a := block.Addr().AsSlice()
	for range w.pick(4) {
		if free := len(a)*8 - block.Bits(); free > 0 {
			bit := block.Bits() + w.pick(free)
			a[bit/8] ^= 0x80 >> (bit % 8)
		}
	}
	addr, _ := netip.AddrFromSlice(a)
	bits := w.lengthIn(u)
	if w.pick(16) == 0 {
		bits = max(1, block.Bits()-w.pick(3))
	}
	return netip.PrefixFrom(addr, bits).Masked()
}

func (w *world) carve(u *pool) {
	w.tb.Helper()
	if p, ok := w.checkFirstFit(u.request(w.lengthIn(u))); ok && len(w.pools) < 8 {
		w.addPool([]netip.Prefix{p}, u.own)
	}
}

func (w *world) anyFit(r request) (netip.Prefix, bool) {
	w.tb.Helper()
	return w.checkRandomFit(r, w.random.Uint64)
}

// handOut takes what fit finds in u, and checks it by itself, without the
// oracle.
func (w *world) handOut(u *pool, fit func(request) (netip.Prefix, bool), bits int) {
	w.tb.Helper()
	r := u.request(bits)
	p, ok := fit(r)
	if !ok {
		return
	}
	if !slices.ContainsFunc(u.blocks, func(b netip.Prefix) bool { return b.Bits() <= p.Bits() && b.Overlaps(p) }) {
		w.fail("%v lies in none of %v", p, u.blocks)
	}
	for q, e := range w.space.Overlapping(p) {
		if !u.own[e] {
			w.fail("%v overlaps entry %d at %v", p, e, q)
		}
	}
	w.insert(p, w.id())
}

// takeBack removes some entry. A pool without a block is gone, except the
// first.
func (w *world) takeBack() {
	w.tb.Helper()
	all := w.naive.Held()
	h := all[w.pick(len(all))]
	if h.Entry == w.pools[0].id {
		return
	}
	w.remove(h.Prefix, h.Entry)
	w.remove(h.Prefix, h.Entry) // is not there any more
	w.pools = slices.DeleteFunc(w.pools, func(u *pool) bool { return u.id == h.Entry })
}

func (w *world) changeRule(u *pool) {
	u.rule = w.pick(4)
	w.note("pool %d has rule %d", u.id, u.rule)
	for _, block := range u.blocks {
		w.space.Forget(block)
	}
}

func (w *world) ask(u *pool) {
	w.tb.Helper()
	r := u.request(0)
	w.checkLargestFree(u.blocks, r.Own)
	w.checkSearches(u.request(w.lengthIn(u)), w.random.Uint64)
	w.checkSearches(u.request(u.blocks[0].Addr().BitLen()), w.random.Uint64)
	p := w.prefixIn(u)
	w.checkFits(r, p)
	w.checkContents(p)
}

var worlds = map[string][]netip.Prefix{
	"a small IPv4 pool":         prefixes("192.0.2.16/28"),
	"an IPv4 network":           prefixes("192.0.2.0/24"),
	"a large IPv4 pool":         prefixes("10.16.0.0/12"),
	"several IPv4 blocks":       prefixes("10.0.0.0/30", "10.0.0.8/32", "10.0.1.0/25", "192.0.2.0/24"),
	"a small IPv6 pool":         prefixes("2001:db8::10/124"),
	"an IPv6 network":           prefixes("2001:db8:0:1::/64"),
	"a large IPv6 pool":         prefixes("2001:db8::/32"),
	"several IPv6 blocks":       prefixes("2001:db8::/127", "2001:db8::4/126", "2001:db8:1::/63", "2001:db8:1:4::/120"),
	"the upper end of IPv4":     prefixes("255.255.255.224/27"),
	"the upper end of IPv6":     prefixes("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffe0/123"),
	"one pool of both families": prefixes("192.0.2.0/28", "2001:db8::/29"),
}

// TestRandomOperations compares with the oracle in seeded random runs.
func TestRandomOperations(t *testing.T) {
	t.Parallel()
	for name, blocks := range worlds {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			for seed := range uint64(60) {
				w := newWorld(t, fmt.Sprintf("seed %d", seed), seeded{rand.New(rand.NewPCG(seed, 0))}, blocks)
				for range 250 {
					w.step()
				}
			}
		})
	}
}
