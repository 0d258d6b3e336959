// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package book

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"strings"
	"testing"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/records"
)

// script drives a book with words:
//
//	+a     claim a gets what the pool chooses
//	?a     the pool chooses for claim a, and nothing comes of it
//	a@.2   claim a's record appears, made by another manager; a@.2/31 for more than an address
//	-a     claim a's record goes
//	~ab    a list shows that the records of a and b went
//	new    the pool gets a new shape
//	drop   the pool is dropped and comes back
type script struct {
	*testing.T
	*book
	config  shapeConfig
	pool    Pool
	records map[string]*ipamv1.IPAllocation
	blocks  []*ipamv1.IPAllocation
	chosen  []string
}

func (s *script) do(word string) {
	s.Helper()
	switch name, where, isPut := strings.Cut(word, "@"); {
	case isPut:
		if !strings.Contains(where, "/") {
			where += "/32"
		}
		s.records[name] = s.put(recordNamed(name, "10.0.0"+where))
	case word == "new":
		s.pool.Shape = s.config.by(pooltree.LeastRecentlyUsed).shape()
		s.x.SetPool(s.pool)
	case word == "drop":
		s.x.DropPool(s.pool.Ref)
		s.x.SetPool(s.pool)
	case word[0] == '+' || word[0] == '?':
		s.choose(word[1:], word[0] == '+')
	case word[0] == '-':
		s.cut(s.records[word[1:]])
		delete(s.records, word[1:])
	case word[0] == '~':
		s.relist(word[1:])
	}
}

func (s *script) choose(name string, stays bool) {
	s.Helper()
	w, err := s.x.Choose(claimFor(name), at(name))
	if err != nil {
		s.chosen = append(s.chosen, "none")
		return
	}
	s.chosen = append(s.chosen, strings.TrimPrefix(w.CIDR.Addr().String(), "10.0.0"))
	if stays {
		s.records[name] = s.put(recordNamed(name, w.CIDR.String()))
	}
	s.x.Unmark(w)
}

func (s *script) relist(without string) {
	for _, name := range strings.Split(without, "") {
		delete(s.records, name)
	}
	all := append([]*ipamv1.IPAllocation{}, s.blocks...)
	for _, a := range s.records {
		all = append(all, a)
	}
	s.list(all...)
}

// TestLeastRecentlyUsed plays scripts on a pool of four addresses, .0 to .3.
func TestLeastRecentlyUsed(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct {
		config       shapeConfig
		script, want string
	}{
		"what was never used comes first":     {script: "+a -a +b -b +c -c +d -d", want: ".0 .1 .2 .3"},
		"then what was released first":        {script: "+a +b +c +d -c -a -d -b +e +f +g +h", want: ".0 .1 .2 .3 .2 .0 .3 .1"},
		"a second release counts":             {script: "+a +b +c +d -a -b +e -e +f +g", want: ".0 .1 .2 .3 .0 .1 .0"},
		"what is taken again is passed over":  {script: "+a +b +c +d -a -b -c x@.0 +e", want: ".0 .1 .2 .3 .1"},
		"what was in use when it began":       {script: "x@.0 y@.1 new -y -x +a +b +c +d", want: ".2 .3 .1 .0"},
		"a choice that came to nothing":       {script: "?a ?b +c -c ?d +e", want: ".0 .0 .0 .1 .1"},
		"such a choice of a released address": {script: "+a +b +c +d -b -a ?e ?f +g +h", want: ".0 .1 .2 .3 .1 .1 .1 .0"},
		"another manager's use counts":        {script: "x@.0 -x y@.1 -y +a +b +c +d", want: ".2 .3 .0 .1"},
		"a list tells no order":               {script: "+a +b +c +d -b ~dac +e +f +g +h", want: ".0 .1 .2 .3 .1 .0 .2 .3"},
		"a release of more than an address":   {script: "x@.0 -x y@.2/31 -y +a +b +c +d", want: ".1 .0 .2 .3"},
		"of that a part is used again":        {script: "y@.0/30 -y x@.1 -x +a +b +c +d", want: ".0 .2 .3 .1"},
		"one of two that hold it goes":        {script: "x@.0 y@.0 z@.1 -y -z w@.2 -w v@.3 -v -x +a +b +c +d", want: ".1 .2 .3 .0"},
		"a new shape begins anew":             {script: "+a -a new +b", want: ".0 .0"},
		"a pool dropped begins anew":          {script: "+a -a drop +b", want: ".0 .0"},
		"a full pool":                         {script: "+a +b +c +d +e -c +f ?g", want: ".0 .1 .2 .3 none .2 none"},
		"what is excluded never comes": {
			config: shapeConfig{entries: "10.0.0.0-10.0.0.5", excluded: "10.0.0.2", gateway: "10.0.0.4"},
			script: "+a +b +c -b -a +d +e +f", want: ".1 .3 .5 .3 .1 none",
		},
		"an excluded address that is given back does not come": {
			config: shapeConfig{entries: "10.0.0.0/30", excluded: "10.0.0.1", reserved: pooltree.AllocateReserved},
			script: "x@.1 -x +a +b +c +d -b +e", want: ".0 .2 .3 none .2",
		},
		"several blocks are one pool": {
			config: shapeConfig{entries: "10.0.0.1 10.0.0.5 10.0.0.9"},
			script: "+a +b +c -c -b -a +d +e +f", want: ".1 .5 .9 .9 .5 .1",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			if test.config.entries == "" {
				test.config = four
			}
			s := &script{T: t, book: newBook(), config: test.config, records: map[string]*ipamv1.IPAllocation{}}
			s.pool = s.serving(test.config.by(pooltree.LeastRecentlyUsed))
			for _, block := range s.pool.Shape.Blocks() {
				s.blocks = append(s.blocks, root("p", block.String(), confirmed))
			}
			for word := range strings.FieldsSeq(test.script) {
				s.do(word)
			}
			if got := strings.Join(s.chosen, " "); got != test.want {
				t.Errorf("%s: chose %s, want %s", test.script, got, test.want)
			}
		})
	}
}

// visited is how many steps the searches of pool p took so far.
func (b *book) visited() uint64 {
	return b.x.spaces.of("default").taken.Visited() + b.x.pools.of(poolRef("p")).history.used.Visited()
}

// TestCostOfLeastRecentlyUsed turns a full pool over: a choice looks at few releases and takes few
// steps, however large the pool. The first one meets every record.
func TestCostOfLeastRecentlyUsed(t *testing.T) {
	t.Parallel()
	for _, block := range []string{"10.0.0.0/20", "2001:db8::/116"} {
		t.Run(block, func(t *testing.T) {
			t.Parallel()
			b, random := newBook(), rand.New(rand.NewPCG(1, 0))
			all := addresses(netip.MustParsePrefix(block))
			records := make([]*ipamv1.IPAllocation, len(all))
			for i, a := range all {
				records[i] = b.put(recordNamed(fmt.Sprint("r", i), netip.PrefixFrom(a, a.BitLen()).String()))
			}
			b.serving(shapeConfig{entries: block, reserved: pooltree.AllocateReserved, strategy: pooltree.LeastRecentlyUsed})
			h := b.x.pools.of(poolRef("p")).history
			limit := uint64(20 * all[0].BitLen())
			for turn := range 1000 {
				i := random.IntN(len(all))
				b.cut(records[i])
				before, looks := b.visited(), h.looks
				c := claimFor(fmt.Sprint("t", turn))
				c.Bits = all[0].BitLen()
				w, err := b.x.Choose(c, at(c.Ref.Name))
				if err != nil || w.CIDR.Addr() != all[i] {
					t.Fatalf("chose %v, error %v, want %s", w, err, all[i])
				}
				allowed := limit
				if turn == 0 {
					allowed *= uint64(len(all))
				}
				if n := b.visited() - before; n > allowed {
					t.Errorf("choice %d took %d steps, want at most %d", turn, n, allowed)
				}
				if n := h.looks - looks; n > 1 {
					t.Errorf("choice %d looked at %d releases", turn, n)
				}
				records[i] = b.put(recordNamed(c.Ref.Name, w.CIDR.String()))
				b.x.Unmark(w)
			}
			if n := h.used.Len(); n > len(all)+1 {
				t.Errorf("remembers %d entries of %d addresses and a block", n, len(all))
			}
		})
	}
}

// TestCostOfTheFirstChoice turns to a pool of many blocks, all full but for the last address: it
// looks at every record and every block a few times, not at every block for each record.
func TestCostOfTheFirstChoice(t *testing.T) {
	t.Parallel()
	const blocks, each = 256, 31
	b := newBook()
	entries := make([]string, 0, blocks)
	for i := range blocks {
		block := fmt.Sprintf("10.0.%d.0/27", i)
		entries = append(entries, block)
		for j := range each {
			b.put(recordNamed(fmt.Sprintf("r-%d-%d", i, j), fmt.Sprintf("10.0.%d.%d/32", i, j)))
		}
		if i < blocks-1 {
			b.put(recordNamed(fmt.Sprintf("last-%d", i), fmt.Sprintf("10.0.%d.31/32", i)))
		}
	}
	b.serving(shapeConfig{entries: strings.Join(entries, " "), reserved: pooltree.AllocateReserved, strategy: pooltree.LeastRecentlyUsed})
	before := b.visited()
	w, err := b.x.Choose(claimFor("a"), at("a"))
	if err != nil || w.CIDR.String() != "10.0.255.31/32" {
		t.Fatalf("chose %v, error %v", w, err)
	}
	if n, limit := b.visited()-before, uint64(3*32*(blocks*(each+1)+blocks)); n > limit {
		t.Errorf("took %d steps, want at most %d", n, limit)
	}
}

// TestAChoiceLooksAtFewReleases has so many choices under way that they are in the way of the next
// one.
func TestAChoiceLooksAtFewReleases(t *testing.T) {
	t.Parallel()
	b := newBook()
	b.serving(shapeConfig{entries: "10.0.0.0/24", reserved: pooltree.AllocateReserved, strategy: pooltree.LeastRecentlyUsed})
	for i := range 256 {
		b.cut(b.put(recordNamed(fmt.Sprint("r", i), fmt.Sprintf("10.0.0.%d/32", 255-i))))
	}
	h := b.x.pools.of(poolRef("p")).history
	for i := range 256 {
		before := h.looks
		w, err := b.x.Choose(claimFor(fmt.Sprint("c", i)), at(fmt.Sprint("c", i)))
		if err != nil {
			t.Fatalf("choice %d: %v", i, err)
		}
		want := 255 - i // the oldest, as long as it can be seen
		if i >= patience {
			want = i - patience
		}
		if got := w.CIDR.String(); got != fmt.Sprintf("10.0.0.%d/32", want) {
			t.Errorf("choice %d: %s, want .%d", i, got, want)
		}
		if n := h.looks - before; n > patience {
			t.Errorf("choice %d looked at %d releases", i, n)
		}
	}
	if _, err := b.x.Choose(claimFor("last"), at("last")); !errors.Is(err, ErrBusy) {
		t.Errorf("a pool of which all is being chosen: %v", err)
	}
}

// TestNoChoiceLooksAtWhatIsHeldBeside: where one of two records goes, nothing is free that a choice
// would have to look at.
func TestNoChoiceLooksAtWhatIsHeldBeside(t *testing.T) {
	t.Parallel()
	b := newBook()
	b.serving(shapeConfig{entries: "10.0.0.0/28", reserved: pooltree.AllocateReserved, strategy: pooltree.LeastRecentlyUsed})
	for i := range 16 {
		cidr := fmt.Sprintf("10.0.0.%d/32", i)
		b.put(recordNamed(fmt.Sprint("stays", i), cidr))
		b.cut(b.put(recordNamed(fmt.Sprint("lost", i), cidr)))
	}
	b.cut(recordNamed("stays7", "10.0.0.7/32"))
	w, err := b.x.Choose(claimFor("a"), at("a"))
	if err != nil || w.CIDR.String() != "10.0.0.7/32" {
		t.Fatalf("chose %v, error %v", w, err)
	}
	if n := b.x.pools.of(poolRef("p")).history.looks; n != 1 {
		t.Errorf("looked at %d releases", n)
	}
}

// TestABlockIsNoUse: records of the pool's own blocks, which come and go as it grows and shrinks,
// are no use of its addresses.
func TestABlockIsNoUse(t *testing.T) {
	t.Parallel()
	b := newBook()
	b.serving(four.by(pooltree.LeastRecentlyUsed))
	chooses := func(want string) {
		t.Helper()
		w, err := b.x.Choose(claimFor("a"), at("a"))
		if err != nil || w.CIDR.String() != want {
			t.Fatalf("chose %v, error %v, want %s", w, err, want)
		}
		b.x.Unmark(w)
	}
	b.cut(b.put(recordNamed("x", "10.0.0.0/32")))
	chooses("10.0.0.1/32")
	wider := b.put(root("p", "10.0.0.0/29", confirmed))
	chooses("10.0.0.1/32")
	b.cut(wider)
	chooses("10.0.0.1/32")
}

// TestAHistoryIsBounded releases more than it remembers; what it has forgotten counts as never
// used.
func TestAHistoryIsBounded(t *testing.T) {
	t.Parallel()
	const more = 3
	table := records.NewTable()
	h, s := newHistory(table), &space{}
	first := netip.MustParseAddr("2001:db8::")
	for i, a := 0, first; i < remembered+more; i, a = i+1, a.Next() {
		h.release(&records.Record{CIDR: netip.PrefixFrom(a, 128)}, s)
	}
	if n := h.releases.Len(); n != remembered || h.used.Len() != remembered {
		t.Errorf("remembers %d releases in %d entries", n, h.used.Len())
	}
	r := request{Blocks: []netip.Prefix{netip.MustParsePrefix("2001:db8::/64")}, Bits: 128}
	for i, a := 0, first; i < more; i, a = i+1, a.Next() {
		p, err := h.fit(&s.taken, r)
		if err != nil || p.Addr() != a {
			t.Errorf("choice %d: %v, %v, want %s", i, p, err, a)
		}
		taken := &records.Record{CIDR: p}
		table.Insert(taken)
		s.taken.Insert(p, taken.Handle)
	}
	if p, _ := h.fit(&s.taken, r); p.String() != "2001:db8::1:3/128" {
		t.Errorf("then %s, want the first that was never used", p)
	}
}

// While a pool is enlarged its old block lies inside the new one, and still counts.
func TestLeastRecentlyUsedWhileAPoolGrows(t *testing.T) {
	t.Parallel()
	s := &script{T: t, book: newBook(), records: map[string]*ipamv1.IPAllocation{}}
	s.config = shapeConfig{entries: "10.0.0.0/31", reserved: pooltree.AllocateReserved}
	s.pool = s.serving(s.config.by(pooltree.LeastRecentlyUsed))
	s.do("+a")
	s.config.entries = "10.0.0.0/30"
	s.do("new")
	s.put(root("p", "10.0.0.0/30", confirmed))
	s.do("+b")
	s.cut(root("p", "10.0.0.0/31", confirmed))
	s.do("+c")
	if got := strings.Join(s.chosen, " "); got != ".0 .2 .1" {
		t.Errorf("chose %s", got)
	}
}

// What a pool has come upon around it and inside its children goes without being released by it.
func TestLeastRecentlyUsedForgetsWhatIsNotItsOwn(t *testing.T) {
	t.Parallel()
	start := func(entries string) *script {
		s := &script{T: t, book: newBook(), records: map[string]*ipamv1.IPAllocation{}}
		s.config = shapeConfig{entries: entries, reserved: pooltree.AllocateReserved}
		s.pool = poolNamed("p", s.config.by(pooltree.LeastRecentlyUsed))
		return s
	}
	play := func(s *script, sentence, want string) {
		t.Helper()
		for word := range strings.FieldsSeq(sentence) {
			s.do(word)
		}
		if got := strings.Join(s.chosen, " "); got != want {
			t.Errorf("chose %s, want %s", got, want)
		}
	}

	around := start("10.0.0.0/30")
	around.x.SetPool(poolNamed("above", shapeConfig{entries: "10.0.0.0/24"}))
	was := around.put(root("above", "10.0.0.0/25", confirmed))
	around.put(recordNamed("block", "10.0.0.0/30", fromPool("above"), carved("p"), confirmed))
	around.pool.Parent = poolRef("above")
	around.x.SetPool(around.pool)
	play(around, "+a -a", ".0")
	around.put(root("above", "10.0.0.0/24", confirmed))
	around.cut(was)
	play(around, "+b -b +c", ".0 .1 .2")

	inside := start("10.0.0.0/30")
	inside.put(root("p", "10.0.0.0/30", confirmed))
	inside.x.SetPool(inside.pool)
	block := inside.put(recordNamed("block", "10.0.0.0/31", carved("below"), confirmed))
	below := poolNamed("below", shapeConfig{entries: "10.0.0.0/31"})
	below.Parent = poolRef("p")
	inside.x.SetPool(below)
	used := inside.put(recordNamed("used", "10.0.0.0/32", fromPool("below")))
	play(inside, "+a", ".2")
	inside.cut(used)
	inside.cut(block)
	play(inside, "+b +c", ".2 .3 .0")
}
