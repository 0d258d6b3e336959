// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package book

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"testing"

	"pgregory.net/rapid"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/records"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/oracle"
)

// strategyModel is a pool beside an oracle that knows what is held, marked and excluded, and what
// was released.
type strategyModel struct {
	*rapid.T
	*book
	config  shapeConfig
	blocks  []*ipamv1.IPAllocation
	shape   *pooltree.Pool
	held    oracle.Space[string]
	records []*ipamv1.IPAllocation
	// marks are choices that nothing has come of yet.
	marks    []*records.Record
	releases []netip.Prefix
	made     int
}

var strategyShapes = []shapeConfig{
	{entries: "10.0.0.0/28 10.0.0.20 10.0.0.200-10.0.0.205", reserved: pooltree.AllocateReserved},
	{entries: "10.0.0.0/28 10.0.0.250-10.0.0.255", gateway: "10.0.0.1", excluded: "10.0.0.6-10.0.0.8"},
	{entries: "2001:db8::/124 2001:db8::20-2001:db8::25", reserved: pooltree.AllocateReserved},
	{entries: "2001:db8::/124 2001:db8::1e-2001:db8::23", gateway: "2001:db8::1", excluded: "2001:db8::6-2001:db8::8"},
}

// tieredShapes are pools whose parts are consumed in an order: not by address, with an end that is
// excluded, in pieces, or empty.
var tieredShapes = []shapeConfig{
	{
		entries: "10.0.0.0/28 10.0.0.20-10.0.0.27", gateway: "10.0.0.9", excluded: "10.0.0.20", reserved: pooltree.AllocateReserved,
		tiers: []string{"10.0.0.20-10.0.0.27", "10.0.0.9-10.0.0.12", "", "10.0.0.0-10.0.0.8 10.0.0.13-10.0.0.15"},
	},
	{
		entries: "2001:db8::/124 2001:db8::1e-2001:db8::23",
		tiers:   []string{"2001:db8::8-2001:db8::b", "2001:db8::/125 2001:db8::1e-2001:db8::23", "2001:db8::c-2001:db8::f"},
	},
}

func newStrategyModel(t *rapid.T, c shapeConfig) *strategyModel {
	m := &strategyModel{T: t, book: newBook(), config: c}
	m.x.chooser.random = rand.New(rand.NewPCG(rapid.Uint64().Draw(t, "seed"), 0)).Uint64
	m.shape = m.serving(c).Shape
	for _, block := range m.shape.Blocks() {
		m.blocks = append(m.blocks, root("p", block.String(), confirmed))
	}
	for _, p := range m.shape.Excluded() {
		m.held.Insert(p, "excluded")
	}
	return m
}

// lengthIn draws a length that fits into some block, mostly that of an address.
func (m *strategyModel) lengthIn() int {
	width := m.shape.HostBits()
	return width - max(0, rapid.IntRange(-4, 4).Draw(m.T, "length"))
}

func (m *strategyModel) name() string {
	m.made++
	return fmt.Sprint("c", m.made)
}

// request asks the oracle for the first tier that has room, and says whether there is any.
func (m *strategyModel) request(bits int) (r oracle.Request[string], isRoom bool) {
	r = oracle.Request[string]{Blocks: m.shape.Blocks(), Bits: bits, Reserved: m.shape.Reserved}
	if m.shape.Tiers() == nil {
		_, isRoom = m.held.FirstFit(r)
	}
	for _, tier := range m.shape.Tiers() {
		if !isRoom {
			r.Blocks = tier
			_, isRoom = m.held.FirstFit(r)
		}
	}
	return r, isRoom
}

// choose compares what the index chooses with what the oracle says.
func (m *strategyModel) choose() {
	c := claimFor(m.name())
	c.Bits = m.lengthIn()
	r, isRoom := m.request(c.Bits)
	w, err := m.x.Choose(c, at(c.Ref.Name))
	switch {
	case !isRoom && (errors.Is(err, ErrUnproved) || errors.Is(err, ErrBusy)):
		return
	case !isRoom || err != nil:
		m.Fatalf("chose %v for a /%d, error %v; is there room: %t", w, c.Bits, err, isRoom)
	}
	if err := m.differs(r, w.CIDR); err != nil {
		m.Fatal(err)
	}
	m.held.Insert(w.CIDR, c.Ref.Name)
	m.marks = append(m.marks, w)
}

// differs says what is wrong with a choice.
func (m *strategyModel) differs(r oracle.Request[string], got netip.Prefix) error {
	want := got // at random: any
	switch m.config.strategy {
	case pooltree.FirstFit:
		want, _ = m.held.FirstFit(r)
	case pooltree.BestFit:
		want, _ = oracle.BestFit(m.held.Gaps(r), r)
	case pooltree.LeastRecentlyUsed:
		want, _ = m.held.LeastRecentlyUsed(r, m.releases)
	case pooltree.Random:
	}
	if fits := m.held.Fits(r, got); got != want || fits != oracle.Fits || got.Bits() != r.Bits {
		return fmt.Errorf("chose %v, which %s, for a /%d; want %v; released were %v", got, fits, r.Bits, want, m.releases)
	}
	return nil
}

// decide lets a choice come to a record, or to nothing.
func (m *strategyModel) decide() {
	if len(m.marks) == 0 {
		return
	}
	i := rapid.IntRange(0, len(m.marks)-1).Draw(m.T, "mark")
	w := m.marks[i]
	m.marks = slices.Delete(m.marks, i, i+1)
	if rapid.Bool().Draw(m.T, "stored") {
		m.records = append(m.records, m.put(recordNamed(m.x.marks.all[w].Name, w.CIDR.String())))
	} else {
		m.held.Remove(w.CIDR, m.x.marks.all[w].Name)
	}
	m.x.Unmark(w)
}

// appear has the watch show a record that others made, wherever they like.
func (m *strategyModel) appear() {
	block := rapid.SampledFrom(m.shape.Blocks()).Draw(m.T, "block")
	a := rapid.SampledFrom(addresses(block)).Draw(m.T, "address")
	p := netip.PrefixFrom(a, m.lengthIn()).Masked()
	name := m.name()
	m.held.Insert(p, name)
	m.records = append(m.records, m.put(recordNamed(name, p.String(), func(a *ipamv1.IPAllocation) { a.Spec.Manager.Instance = "other" })))
}

// pull takes one record out of the model.
func (m *strategyModel) pull() *ipamv1.IPAllocation {
	i := rapid.IntRange(0, len(m.records)-1).Draw(m.T, "record")
	a := m.records[i]
	m.records = slices.Delete(m.records, i, i+1)
	m.held.Remove(netip.MustParsePrefix(a.Spec.CIDR), a.Name)
	return a
}

func (m *strategyModel) release() {
	if len(m.records) == 0 {
		return
	}
	a := m.pull()
	m.cut(a)
	m.releases = append(m.releases, netip.MustParsePrefix(a.Spec.CIDR))
}

// relist loses some records in one list. In which order they went is not known.
func (m *strategyModel) relist() {
	n := min(len(m.records), 3)
	lost := make([]netip.Prefix, 0, n)
	for range n {
		lost = append(lost, netip.MustParsePrefix(m.pull().Spec.CIDR))
	}
	slices.SortFunc(lost, netip.Prefix.Compare)
	m.releases = append(m.releases, lost...)
	m.list(append(slices.Clone(m.records), m.blocks...)...)
}

// register registers the pool again: what was released is forgotten.
func (m *strategyModel) register() {
	if rapid.Bool().Draw(m.T, "dropped") {
		m.x.DropPool(poolRef("p"))
	}
	m.x.SetPool(poolNamed("p", m.config))
	m.releases = nil
}

// TestStrategiesChooseAsTheOracleDoes mixes addresses and blocks, choices that come to nothing,
// records of others that overlap, and lists. That a best fit breaks no larger gap than it must is
// what the oracle's best fit means.
func TestStrategiesChooseAsTheOracleDoes(t *testing.T) {
	t.Parallel()
	for name, strategy := range strategies {
		for i, shape := range slices.Concat(strategyShapes, tieredShapes) {
			t.Run(fmt.Sprint(name, " ", i), func(t *testing.T) {
				t.Parallel()
				rapid.Check(t, func(t *rapid.T) {
					m := newStrategyModel(t, shape.by(strategy))
					steps := map[string]func(){
						"choose": m.choose, "decide": m.decide, "release": m.release,
						"appear": m.appear, "relist": m.relist, "register": m.register,
					}
					names := []string{
						"choose", "choose", "choose", "choose", "choose", "decide", "decide", "decide",
						"release", "release", "release", "appear", "relist", "register",
					}
					for range rapid.IntRange(1, 120).Draw(t, "steps") {
						steps[rapid.SampledFrom(names).Draw(t, "step")]()
					}
				})
			})
		}
	}
}

// TestBestFitKeepsBigBlocksWhole interleaves addresses and blocks of a pool, and looks at the gap
// that each choice breaks.
func TestBestFitKeepsBigBlocksWhole(t *testing.T) {
	t.Parallel()
	for i, shape := range strategyShapes {
		t.Run(fmt.Sprint(i), func(t *testing.T) {
			t.Parallel()
			rapid.Check(t, func(t *rapid.T) {
				m := newStrategyModel(t, shape.by(pooltree.BestFit))
				for range rapid.IntRange(1, 60).Draw(t, "steps") {
					m.chooseWhole()
				}
			})
		})
	}
}

// chooseWhole chooses and looks at what was broken. In a full pool it takes something back instead.
func (m *strategyModel) chooseWhole() {
	gaps, chosen := m.held.Gaps(oracle.Request[string]{Blocks: m.shape.Blocks()}), len(m.marks)
	m.choose()
	if len(m.marks) > chosen {
		m.checkBroken(gaps, m.marks[chosen].CIDR)
		return
	}
	m.decide()
	m.release()
}

// checkBroken: no smaller gap than the one that p lies in had room for it.
func (m *strategyModel) checkBroken(gaps []netip.Prefix, p netip.Prefix) {
	broken := gaps[slices.IndexFunc(gaps, func(gap netip.Prefix) bool { return gap.Overlaps(p) })]
	for _, gap := range gaps {
		hasRoom := !p.IsSingleIP() || slices.ContainsFunc(addresses(gap), func(a netip.Addr) bool { return !m.shape.Reserved(a) })
		if gap.Bits() > broken.Bits() && gap.Bits() <= p.Bits() && hasRoom {
			m.Fatalf("%v broke %v, and %v would have done", p, broken, gap)
		}
	}
}

// TestRandomGoesByTheNumbersGiven: any address may come, and the same numbers give the same one.
func TestRandomGoesByTheNumbersGiven(t *testing.T) {
	t.Parallel()
	b := newBook()
	b.serving(shapeConfig{entries: "10.0.0.0/28", excluded: "10.0.0.4", strategy: pooltree.Random})
	for i, test := range []struct {
		number uint64
		want   string
	}{
		{9, "10.0.0.9/32"},
		{15, "10.0.0.15/32"},
		{9, "10.0.0.8/32"}, // .9 is taken: its neighbour
		{4, "10.0.0.5/32"}, // excluded
		{0, "10.0.0.1/32"}, // reserved
	} {
		b.x.chooser.random = func() uint64 { return test.number << 32 }
		name := fmt.Sprint("c", i)
		w, err := b.x.Choose(claimFor(name), at(name))
		if err != nil || w.CIDR.String() != test.want {
			t.Errorf("drew %d, chose %v, error %v, want %s", test.number, w, err, test.want)
		}
	}
}
