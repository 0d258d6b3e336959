// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package book

import (
	"errors"
	"fmt"
	"maps"
	"math/big"
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go4.org/netipx"
	"pgregory.net/rapid"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ipspace"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
)

// sums is a Capacity in text.
type sums struct {
	Total, Allocated, Available, Excluded, Cooling, Delegated string
	Claims, Children                                          int32
	LargestFree                                               int
}

func sumsOf(c Capacity) sums {
	return sums{
		c.Total.String(), c.Allocated.String(), c.Available.String(), c.Excluded.String(), c.Cooling.String(), c.Delegated.String(),
		c.Claims, c.Children, c.LargestFree,
	}
}

// ledgerModel counts every address of a small pool one by one, beside an index that is fed the same
// events.
type ledgerModel struct {
	*book
	family  netip.Prefix
	config  shapeConfig
	blocks  []*ipamv1.IPAllocation
	records map[string]*ipamv1.IPAllocation
	made    int
}

// shapesOf are the shapes that a pool goes through; all lie in the family's prefix, the first is
// all of it.
var shapesOf = map[string][]shapeConfig{
	"10.0.0.0/28": {
		{entries: "10.0.0.0/28", reserved: pooltree.AllocateReserved},
		{entries: "10.0.0.0/28"},
		{entries: "10.0.0.0/28", excluded: "10.0.0.3-10.0.0.6 10.0.0.9"},
		{entries: "10.0.0.0/28", excluded: "10.0.0.0/28"},
		{entries: "10.0.0.0/28", gateway: "10.0.0.1", excluded: "10.0.0.1"},
		{entries: "10.0.0.2-10.0.0.4 10.0.0.8/30", gateway: "10.0.0.9"},
		{entries: "10.0.0.8/29"},
		{entries: "10.0.0.5"},
		{entries: "10.0.0.5", kept: "10.0.0.5/32"},
		{entries: "10.0.0.0/28", kept: "10.0.0.1/32 10.0.0.6/32 10.0.0.2/32", excluded: "10.0.0.3"},
		{entries: "10.0.0.0/28", kept: "10.0.0.8/30 10.0.0.0/31", reserved: pooltree.AllocateReserved},
		{entries: "10.0.0.0/28", kept: "10.0.0.0/29 10.0.0.8/29"},
	},
	"2001:db8::/124": {
		{entries: "2001:db8::/124", reserved: pooltree.AllocateReserved},
		{entries: "2001:db8::/124"},
		{entries: "2001:db8::/124", excluded: "2001:db8::3-2001:db8::6 2001:db8::9"},
		{entries: "2001:db8::2-2001:db8::4 2001:db8::8/126", gateway: "2001:db8::9"},
		{entries: "2001:db8::8/125"},
		{entries: "2001:db8::/124", kept: "2001:db8::1/128 2001:db8::8/127"},
	},
}

func newLedgerModel(family string) *ledgerModel {
	m := &ledgerModel{book: newBook(), family: netip.MustParsePrefix(family), records: map[string]*ipamv1.IPAllocation{}}
	m.reshape(shapesOf[family][0])
	return m
}

// reshape gives the pool another shape, its blocks recorded before and those of the shape before
// dropped after.
func (m *ledgerModel) reshape(c shapeConfig) {
	m.config = c
	p, before := poolNamed("p", c), m.blocks
	m.blocks = nil
	for _, block := range p.Shape.Blocks() {
		a := root("p", block.String(), confirmed)
		a.Name = fmt.Sprint(a.Name, "-", m.rev)
		m.blocks = append(m.blocks, m.put(a))
	}
	m.x.SetPool(p)
	for _, a := range before {
		m.cut(a)
	}
}

// addresses of a prefix, one by one.
func addresses(p netip.Prefix) []netip.Addr {
	var all []netip.Addr
	for a := p.Addr(); p.Contains(a); a = a.Next() {
		all = append(all, a)
	}
	return all
}

// isUsable says whether the pool hands out the address at all.
func (m *ledgerModel) isUsable(a netip.Addr) bool {
	in := func(entries string) bool {
		return slices.ContainsFunc(ranges(entries), func(r netipx.IPRange) bool { return r.Contains(a) })
	}
	network := 24
	if a.Is6() {
		network = 64
	}
	isReserved := m.config.reserved == pooltree.ExcludeReserved && ipspace.IsReserved(a, network)
	return in(m.config.entries) && !in(m.config.excluded) && m.config.gateway != a.String() && !isReserved
}

// isHeld says whether a record holds the address.
func (m *ledgerModel) isHeld(a netip.Addr) bool {
	for _, r := range m.records {
		if netip.MustParsePrefix(r.Spec.CIDR).Contains(a) {
			return true
		}
	}
	return false
}

// isKept says whether the pool keeps the address back by its exclusions or as its gateway.
func (m *ledgerModel) isKept(a netip.Addr) bool {
	m2 := &ledgerModel{config: m.config}
	m2.config.reserved = pooltree.AllocateReserved
	return !m2.isUsable(a)
}

// isPromised says whether the pool keeps the address for a claim.
func (m *ledgerModel) isPromised(a netip.Addr) bool {
	return slices.ContainsFunc(prefixes(m.config.kept), func(p netip.Prefix) bool { return p.Contains(a) })
}

// want is the capacity by counting.
func (m *ledgerModel) want() sums {
	var total, excluded, available, allocated, cooling, delegated int64
	s := sums{LargestFree: -1}
	for _, a := range addresses(m.family) {
		if !slices.ContainsFunc(ranges(m.config.entries), func(r netipx.IPRange) bool { return r.Contains(a) }) {
			continue
		}
		total++
		switch {
		case !m.isUsable(a):
			excluded++
		case !m.isHeld(a) && !m.isPromised(a):
			available++
		}
	}
	for _, r := range m.records {
		size := int64(len(addresses(netip.MustParsePrefix(r.Spec.CIDR))))
		switch {
		case r.Spec.Purpose == ipamv1.PoolBlockPurpose:
			delegated, s.Children = delegated+size, s.Children+1
		case !r.Spec.ReleasedAt.IsZero():
			cooling, s.Claims = cooling+size, s.Claims+1
		default:
			allocated, s.Claims = allocated+size, s.Claims+1
		}
	}
	if available > 0 {
		s.LargestFree = m.largestFree()
	}
	for text, n := range map[*string]int64{
		&s.Total: total, &s.Excluded: excluded, &s.Available: available,
		&s.Allocated: allocated, &s.Cooling: cooling, &s.Delegated: delegated,
	} {
		*text = big.NewInt(n).String()
	}
	return s
}

// largestFree tries every prefix; reserved addresses do not count against one.
func (m *ledgerModel) largestFree() int {
	for bits := m.family.Bits(); bits <= m.family.Addr().BitLen(); bits++ {
		for _, a := range addresses(m.family) {
			p := netip.PrefixFrom(a, bits)
			if p.Masked() != p {
				continue
			}
			if !slices.ContainsFunc(addresses(p), func(a netip.Addr) bool { return m.isKept(a) || m.isHeld(a) || m.isPromised(a) }) {
				return bits
			}
		}
	}
	return -1
}

// lowest returns the lowest address that the pool can hand out.
func (m *ledgerModel) lowest() (netip.Addr, bool) {
	for _, a := range addresses(m.family) {
		if m.isUsable(a) && !m.isHeld(a) && !m.isPromised(a) {
			return a, true
		}
	}
	return netip.Addr{}, false
}

func (m *ledgerModel) check(t *rapid.T, did string) {
	t.Helper()
	got, ok := m.x.Capacity(poolRef("p"))
	if !ok {
		t.Fatalf("after %s: the pool is not registered", did)
	}
	if diff := cmp.Diff(m.want(), sumsOf(got)); diff != "" {
		t.Fatalf("after %s (-counted +index):\n%s", did, diff)
	}
	counted := m.x.States(poolRef("p"))
	maps.DeleteFunc(counted, func(_ ipamv1.AllocationState, n int) bool { return n == 0 })
	if diff := cmp.Diff(m.states(), counted); diff != "" {
		t.Fatalf("after %s: the states of records (-counted +index):\n%s", did, diff)
	}
	c := claimFor("asks")
	c.Bits = m.family.Addr().BitLen()
	w, err := m.x.Choose(c, at("asks"))
	lowest, found := m.lowest()
	switch {
	case errors.Is(err, ErrUnproved) && !found:
	case err != nil:
		t.Fatalf("after %s: choosing: %v, want %s", did, err, lowest)
	case m.config.strategy == pooltree.FirstFit && w.CIDR.Addr() != lowest:
		t.Fatalf("after %s: chose %s, want %s", did, w.CIDR, lowest)
	case !m.isUsable(w.CIDR.Addr()) || m.isHeld(w.CIDR.Addr()):
		t.Fatalf("after %s: chose %s", did, w.CIDR)
	default:
		m.x.Unmark(w)
	}
	if diff := cmp.Diff(m.holdings(), m.x.Holdings(poolRef("p")), cmp.Comparer(func(a, b Holding) bool { return a.String() == b.String() })); diff != "" {
		t.Fatalf("after %s: what is handed out (-made +index):\n%s", did, diff)
	}
}

// states counts the records by their states.
func (m *ledgerModel) states() map[ipamv1.AllocationState]int {
	counts := map[ipamv1.AllocationState]int{}
	for _, r := range m.records {
		switch {
		case r.Spec.State == ipamv1.RetainedState:
			counts[ipamv1.RetainedState]++
		case !r.Spec.ReleasedAt.IsZero():
			counts[ipamv1.CoolingState]++
		case r.Spec.State == ipamv1.ConfirmedState:
			counts[ipamv1.ConfirmedState]++
		default:
			counts[ipamv1.ActiveState]++
		}
	}
	return counts
}

func (m *ledgerModel) holdings() []Holding {
	all := make([]Holding, 0, len(m.records))
	for _, r := range m.records {
		all = append(all, Holding{CIDR: netip.MustParsePrefix(r.Spec.CIDR), Claim: r.Spec.ClaimRef, ReleasedAt: r.Spec.ReleasedAt.Time, Retained: r.Spec.State == ipamv1.RetainedState})
	}
	return SortHoldings(all)
}

// insert makes a record somewhere in the family, if nothing is there.
func (m *ledgerModel) insert(t *rapid.T) {
	p := netip.PrefixFrom(rapid.SampledFrom(addresses(m.family)).Draw(t, "address"), rapid.IntRange(m.family.Bits(), m.family.Addr().BitLen()).Draw(t, "bits")).Masked()
	if slices.ContainsFunc(addresses(p), m.isHeld) {
		return
	}
	m.made++
	name := fmt.Sprint("r", m.made)
	var edits []edit
	if rapid.IntRange(0, 4).Draw(t, "child") == 0 {
		edits = append(edits, carved(name))
	}
	if rapid.IntRange(0, 4).Draw(t, "releasedBefore") == 0 {
		edits = append(edits, released)
	}
	m.records[name] = m.put(recordNamed(name, p.String(), edits...))
}

// any draws one of the records, or none.
func (m *ledgerModel) any(t *rapid.T) (string, *ipamv1.IPAllocation) {
	if len(m.records) == 0 {
		return "", nil
	}
	name := rapid.SampledFrom(slices.Sorted(maps.Keys(m.records))).Draw(t, "record")
	return name, m.records[name]
}

func (m *ledgerModel) refresh(t *rapid.T) {
	if _, a := m.any(t); a != nil {
		rapid.SampledFrom([]edit{released, retainedRecord, confirmed, terminating, touched, createdAt("1")}).Draw(t, "change")(a)
		m.put(a)
	}
}

func (m *ledgerModel) remove(t *rapid.T) {
	if name, a := m.any(t); a != nil {
		delete(m.records, name)
		m.cut(a)
	}
}

// relist shows all records in a list, one of them changed and one of them missing.
func (m *ledgerModel) relist(t *rapid.T) {
	if name, _ := m.any(t); name != "" {
		delete(m.records, name)
	}
	if _, a := m.any(t); a != nil {
		released(a)
	}
	m.list(append(slices.Collect(maps.Values(m.records)), m.blocks...)...)
}

// TestCapacityCountsEveryAddressOnce feeds random events to an index and counts by hand after each.
func TestCapacityCountsEveryAddressOnce(t *testing.T) {
	t.Parallel()
	for family, shapes := range shapesOf {
		t.Run(family, func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				m := newLedgerModel(family)
				for range rapid.IntRange(1, 30).Draw(t, "steps") {
					did := rapid.SampledFrom([]string{"insert", "insert", "insert", "refresh", "remove", "relist", "reshape", "drop"}).Draw(t, "step")
					switch did {
					case "insert":
						m.insert(t)
					case "refresh":
						m.refresh(t)
					case "remove":
						m.remove(t)
					case "relist":
						m.relist(t)
					case "reshape":
						strategy := rapid.SampledFrom(slices.Sorted(maps.Values(strategies))).Draw(t, "strategy")
						m.reshape(rapid.SampledFrom(shapes).Draw(t, "shape").by(strategy))
					case "drop":
						m.x.DropPool(poolRef("p"))
						m.insert(t)
						m.remove(t)
						m.reshape(m.config)
					}
					m.check(t, did)
				}
			})
		})
	}
}
