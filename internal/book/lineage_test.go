// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package book

import (
	"cmp"
	"errors"
	"net/netip"
	"testing"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ipspace"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/records"
)

// family puts the blocks of root, child and grandchild, and of a sibling of the child.
func family(b *book) {
	b.put(root("root", "10.0.0.0/8", confirmed))
	b.put(recordNamed("of-child", "10.1.0.0/16", fromPool("root"), carved("child"), confirmed))
	b.put(recordNamed("of-sibling", "10.2.0.0/16", fromPool("root"), carved("sibling"), confirmed))
	b.put(recordNamed("of-grandchild", "10.1.1.0/24", fromPool("child"), carved("grandchild"), confirmed))
}

// TestWhoMayLieInWhoseBlock records one thing more in a family of pools: it wins, or it does not,
// lost or blocked.
func TestWhoMayLieInWhoseBlock(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct {
		record *ipamv1.IPAllocation
		want   Outcome
	}{
		"a claim of the grandchild, in the blocks of all three": {recordNamed("a", "10.1.1.1/32", fromPool("grandchild")), Won},
		"all of the grandchild's block":                         {recordNamed("a", "10.1.1.0/24", fromPool("grandchild")), Won},
		"a claim of the grandchild outside its block":           {recordNamed("a", "10.1.2.1/32", fromPool("grandchild")), Lost},
		"a claim of the child beside the grandchild":            {recordNamed("a", "10.1.2.1/32", fromPool("child")), Won},
		"a claim of the child in the grandchild's block":        {recordNamed("a", "10.1.1.1/32", fromPool("child")), Lost},
		"a claim of the child in its sibling's block":           {recordNamed("a", "10.2.0.1/32", fromPool("child")), Lost},
		"a claim of the root in the child's block":              {recordNamed("a", "10.1.2.1/32", fromPool("root")), Lost},
		"a claim of the root around the child's block":          {recordNamed("a", "10.0.0.0/12", fromPool("root")), Lost},
		"a claim of the root beside all":                        {recordNamed("a", "10.3.0.0/16", fromPool("root")), Won},
		"a claim of a stranger in the grandchild's block":       {recordNamed("a", "10.1.1.1/32", fromPool("stranger")), Lost},
		"another child of the child in the grandchild's block":  {recordNamed("a", "10.1.1.0/25", fromPool("child"), carved("other")), Lost},
		"a child of the grandchild":                             {recordNamed("a", "10.1.1.0/25", fromPool("grandchild"), carved("other")), Won},
		"a child of the grandchild around its block":            {recordNamed("a", "10.1.0.0/23", fromPool("grandchild"), carved("other")), Lost},
		"another root inside":                                   {root("other", "10.1.1.0/24"), Lost},
		"the same numbers in another space":                     {recordNamed("a", "10.1.1.1/32", fromPool("stranger"), elsewhere), Won},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			b := newBook()
			family(b)
			if v := b.judged(t, test.record); (v.Outcome == Won) != (test.want == Won) {
				t.Errorf("outcome %d by %s, want %d", v.Outcome, v.By, test.want)
			}
		})
	}
}

// TestABlockThatWasLetGoOfIsNoAncestors: what a pool has handed back encloses nothing of its any
// more.
func TestABlockThatWasLetGoOfIsNoAncestors(t *testing.T) {
	t.Parallel()
	b := newBook()
	family(b)
	b.put(recordNamed("of-child", "10.1.0.0/16", fromPool("root"), carved("child"), confirmed, released))
	if v := b.judged(t, recordNamed("a", "10.1.1.1/32", fromPool("grandchild"))); v.Outcome == Won {
		t.Error("won in a block whose pool has let go of what is around it")
	}
}

// TestAChildChoosesInItsBlocks: ancestors' blocks do not stand in the way, what they hand out does.
func TestAChildChoosesInItsBlocks(t *testing.T) {
	t.Parallel()
	b := newBook()
	b.put(root("root", "10.0.0.0/8", confirmed))
	b.put(recordNamed("of-p", "10.1.0.0/30", fromPool("root"), carved("p"), confirmed))
	p := poolNamed("p", shapeConfig{entries: "10.1.0.0/30", reserved: pooltree.AllocateReserved})
	p.Parent = poolRef("root")
	b.x.SetPool(p)
	first, err := b.promise(claimFor("a"))
	if err != nil || first != netip.MustParsePrefix("10.1.0.0/32") {
		t.Errorf("chose %s, %v", first, err)
	}
}

// nest is a book with pool "above" of 10.0.0.0/24, and pool p with a block of that.
func nest(block string) (*book, *ipamv1.IPAllocation) {
	b := newBook()
	b.put(root("above", "10.0.0.0/24", confirmed))
	ofP := b.put(recordNamed("of-p", block, fromPool("above"), carved("p"), confirmed))
	b.x.SetPool(poolNamed("above", shapeConfig{entries: "10.0.0.0/24", reserved: pooltree.AllocateReserved}))
	p := poolNamed("p", shapeConfig{entries: block, reserved: pooltree.AllocateReserved})
	p.Parent = poolRef("above")
	b.x.SetPool(p)
	return b, ofP
}

// lowest returns the first choice for a claim of the pool, which an error takes the place of.
func (b *book) lowest(pool string) string {
	c := claimFor("asks")
	c.Pool = poolRef(pool)
	found, err := b.x.Preview(c)
	if err != nil {
		return err.Error()
	}
	return found.Addr().String()
}

// TestWhatIsKeptBackAbove: what a pool keeps back after it has been carved is handed out by nobody
// below, who says so, until it is not kept back any more.
func TestWhatIsKeptBackAbove(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct {
		above shapeConfig
		// lowest is what is chosen below; empty for nothing.
		lowest              string
		available, excluded int
	}{
		"nothing":                     {lowest: "10.0.0.0", available: 14},
		"all of the block":            {above: shapeConfig{excluded: "10.0.0.0/28"}, excluded: 16},
		"what is around it":           {above: shapeConfig{excluded: "10.0.0.0/27"}, excluded: 16},
		"beside it":                   {above: shapeConfig{excluded: "10.0.0.16/28"}, lowest: "10.0.0.0", available: 14},
		"its first address":           {above: shapeConfig{excluded: "10.0.0.0"}, lowest: "10.0.0.1", available: 13, excluded: 1},
		"what is in use there":        {above: shapeConfig{excluded: "10.0.0.8/31"}, lowest: "10.0.0.0", available: 14, excluded: 2},
		"some of what is in use":      {above: shapeConfig{excluded: "10.0.0.8/30"}, lowest: "10.0.0.0", available: 12, excluded: 4},
		"a gateway":                   {above: shapeConfig{gateway: "10.0.0.0"}, lowest: "10.0.0.1", available: 13, excluded: 1},
		"what is kept for a claim":    {above: shapeConfig{kept: "10.0.0.0/32"}, lowest: "10.0.0.1", available: 13, excluded: 1},
		"a block that is kept for it": {above: shapeConfig{kept: "10.0.0.0/27"}, excluded: 16},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			b, _ := nest("10.0.0.0/28")
			b.put(recordNamed("held", "10.0.0.8/31", fromPool("p")))
			b.forget()
			test.above.entries, test.above.reserved = "10.0.0.0/24", pooltree.AllocateReserved
			b.x.SetPool(poolNamed("above", test.above))
			if got := b.lowest("p"); got != cmp.Or(test.lowest, ErrUnproved.Error()) {
				t.Errorf("chosen: %s", got)
			}
			c, _ := b.x.Capacity(poolRef("p"))
			if c.Available != ipspace.CountOf(uint64(test.available)) || c.Excluded != ipspace.CountOf(uint64(test.excluded)) {
				t.Errorf("available %s, excluded %s", c.Available, c.Excluded)
			}
			freed, changed := b.forget()
			if told := nameP(changed) && nameP(freed); told != (test.excluded > 0) {
				t.Errorf("told of it: %t", told)
			}
			asks := claimFor("asks")
			asks.Want = netip.MustParsePrefix("10.0.0.0/32")
			isKeptBack := test.lowest != "10.0.0.0"
			_, err := b.x.Preview(asks)
			if errors.Is(err, ErrRefused) != isKeptBack {
				t.Errorf("asked: %v", err)
			}
			grown := test.above
			grown.entries = "10.0.0.0/23" // which nobody has confirmed
			b.x.SetPool(poolNamed("above", grown))
			if got := b.lowest("p"); got != cmp.Or(test.lowest, ErrUnproved.Error()) {
				t.Errorf("chosen while the pool above grows: %s", got)
			}
			if _, err = b.x.Preview(asks); errors.Is(err, ErrRefused) != isKeptBack {
				t.Errorf("asked while the pool above grows: %v", err)
			}
			b.x.SetPool(poolNamed("above", test.above))
			asks.Purpose = records.ForAdopted
			if _, err = b.x.Preview(asks); err != nil {
				t.Errorf("arrived: %v", err)
			}
			b.x.SetPool(poolNamed("above", shapeConfig{entries: "10.0.0.0/24", reserved: pooltree.AllocateReserved}))
			if got := b.lowest("p"); got != "10.0.0.0" {
				t.Errorf("chosen when nothing is kept back any more: %s", got)
			}
			if freed, _ = b.forget(); nameP(freed) != (test.excluded > 0) {
				t.Errorf("told that nothing is kept back any more: %t", nameP(freed))
			}
		})
	}
}

// TestWhatIsKeptBackForTheFirstThatIsCarved: a pool that does not serve keeps back nothing for
// itself; for a pool that arrives with a block of its it does.
func TestWhatIsKeptBackForTheFirstThatIsCarved(t *testing.T) {
	t.Parallel()
	b := newBook()
	b.put(root("above", "10.0.0.0/24", confirmed))
	b.x.SetPool(poolNamed("above", shapeConfig{entries: "10.0.0.0/23", excluded: "10.0.0.0", reserved: pooltree.AllocateReserved}))
	b.put(recordNamed("of-p", "10.0.0.0/28", fromPool("above"), carved("p"), confirmed))
	p := poolNamed("p", shapeConfig{entries: "10.0.0.0/28", reserved: pooltree.AllocateReserved})
	p.Parent = poolRef("above")
	b.x.SetPool(p)
	if got := b.lowest("p"); got != "10.0.0.1" {
		t.Errorf("chosen: %s", got)
	}
}

// TestWhatComesToNothingBelow: a choice or a record of a pool that is too late for a block does not
// mean that the pool of that block is exhausted, and who waits there is told when it goes.
func TestWhatComesToNothingBelow(t *testing.T) {
	t.Parallel()
	b, ofP := nest("10.0.0.0/32")
	b.cut(ofP)
	claim := claimFor("asks")
	claim.Revision = "1"
	isBusy := func(when string) {
		t.Helper()
		if _, err := b.x.Preview(claim); !errors.Is(err, ErrBusy) {
			t.Errorf("%s: %v, want ErrBusy", when, err)
		}
	}
	early := claimFor("early")
	early.Pool = poolRef("above")
	w, err := b.x.Choose(early, at("early"))
	if err != nil || w.CIDR.String() != "10.0.0.0/32" {
		t.Fatalf("chose %v, %v", w, err)
	}
	b.put(ofP)
	isBusy("beside a choice of the pool above")
	b.x.Unmark(w)
	late := b.put(recordNamed("late", "10.0.0.0/31", fromPool("above"), by("other")))
	isBusy("beside another manager's record for the pool above")
	b.forget()
	b.cut(late)
	if freed, _ := b.forget(); !nameP(freed) {
		t.Error("nobody was told that it went")
	}
	if got := b.lowest("p"); got != "10.0.0.0" {
		t.Errorf("in the end: %s", got)
	}
}

// TestWhatIsKeptBackFurtherAbove: it is not only the next pool that counts.
func TestWhatIsKeptBackFurtherAbove(t *testing.T) {
	t.Parallel()
	b := newBook()
	family(b)
	for name, shape := range map[string]shapeConfig{
		"root":       {entries: "10.0.0.0/8", excluded: "10.1.1.0/31"},
		"child":      {entries: "10.1.0.0/16", excluded: "10.1.1.1/32 10.1.1.4/32"},
		"grandchild": {entries: "10.1.1.0/24"},
		"sibling":    {entries: "10.2.0.0/16", excluded: "10.2.0.0/24"},
	} {
		shape.reserved = pooltree.AllocateReserved
		p := poolNamed(name, shape)
		p.Parent = map[string]ipamv1.PoolReference{"child": poolRef("root"), "sibling": poolRef("root"), "grandchild": poolRef("child")}[name]
		b.x.SetPool(p)
	}
	if got := b.lowest("grandchild"); got != "10.1.1.2" {
		t.Errorf("chosen: %s", got)
	}
	if c, _ := b.x.Capacity(poolRef("grandchild")); c.Excluded != ipspace.CountOf(3) || c.Available != ipspace.CountOf(253) {
		t.Errorf("available %s, excluded %s", c.Available, c.Excluded)
	}
	for asked, isKeptBack := range map[string]bool{"10.1.1.0/32": true, "10.1.1.4/32": true, "10.1.1.0/30": true, "10.1.1.2/31": false} {
		c := claimFor("asks")
		c.Pool, c.Want = poolRef("grandchild"), netip.MustParsePrefix(asked)
		if _, err := b.x.Preview(c); errors.Is(err, ErrRefused) != isKeptBack {
			t.Errorf("asked for %s: %v", asked, err)
		}
	}
}

// TestAPromiseAboveIsUndecidedBelow: one that was made for a block that has been carved meanwhile.
func TestAPromiseAboveIsUndecidedBelow(t *testing.T) {
	t.Parallel()
	b, ofP := nest("10.0.0.0/32")
	b.cut(ofP)
	early := claimFor("early")
	early.Pool = poolRef("above")
	if got, err := b.promise(early); err != nil || got.String() != "10.0.0.0/32" {
		t.Fatalf("promised %s, %v", got, err)
	}
	block := ofP.DeepCopy()
	block.Spec.CIDR = "10.0.0.0/31" // not just what was promised, which would take the promise back
	b.put(block)
	p := poolNamed("p", shapeConfig{entries: "10.0.0.0/31", reserved: pooltree.AllocateReserved})
	p.Parent = poolRef("above")
	b.x.SetPool(p)
	b.put(recordNamed("held", "10.0.0.1/32", fromPool("p")))
	claim := claimFor("asks")
	claim.Revision = "1"
	if _, err := b.x.Preview(claim); !errors.Is(err, ErrBusy) {
		t.Errorf("%v, want ErrBusy", err)
	}
	b.forget()
	for mark := range b.x.marks.all {
		b.x.Expire(mark)
	}
	if freed, _ := b.forget(); !nameP(freed) {
		t.Error("nobody was told that it came to nothing")
	}
}

// TestAPoolServesByItsPresentBlocks: the coming and going of others changes nothing.
func TestAPoolServesByItsPresentBlocks(t *testing.T) {
	t.Parallel()
	b := newBook()
	b.serving(shapeConfig{entries: "10.0.0.0/30", reserved: pooltree.AllocateReserved})
	former := b.put(root("p", "10.9.0.0/30", confirmed))
	b.forget()
	b.cut(former)
	if got := b.lowest("p"); got != "10.0.0.0" {
		t.Errorf("when a former block has gone: %s", got)
	}
	present := root("p", "10.0.0.0/30", confirmed)
	b.cut(present)
	if got := b.lowest("p"); got != ErrNotReady.Error() {
		t.Errorf("without its block: %s", got)
	}
	b.put(present)
	if got := b.lowest("p"); got != "10.0.0.0" {
		t.Errorf("with its block again: %s", got)
	}
}
