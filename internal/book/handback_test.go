// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package book

import (
	"errors"
	"slices"
	"testing"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/records"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/allocations"
)

// backBlock is what pool "p" hands back.
const backBlock = "10.0.0.0/24"

// back is the record by which it does for a template.
func back(template string, edits ...edit) *ipamv1.IPAllocation {
	return root("p", backBlock, append([]edit{handedBack(template)}, edits...)...)
}

// TestAHandBackIsTheLastAllocation: it loses to whatever is handed out of the block, and whatever comes
// after it loses.
func TestAHandBackIsTheLastAllocation(t *testing.T) {
	t.Parallel()
	const block = backBlock
	own := func() *ipamv1.IPAllocation { return root("p", block, confirmed) }
	for sentence, test := range map[string]struct {
		first []*ipamv1.IPAllocation
		then  *ipamv1.IPAllocation
		want  Outcome
	}{
		"nothing but the pool's own block":         {first: []*ipamv1.IPAllocation{own()}, then: back("t"), want: Won},
		"an address":                               {first: []*ipamv1.IPAllocation{own(), recordNamed("a", "10.0.0.7/32")}, then: back("t"), want: Lost},
		"an address that cools down":               {first: []*ipamv1.IPAllocation{own(), recordNamed("a", "10.0.0.7/32", released)}, then: back("t"), want: Lost},
		"a pool carved from it":                    {first: []*ipamv1.IPAllocation{own(), recordNamed("c", "10.0.0.0/28", carved("child"))}, then: back("t"), want: Lost},
		"a pool carved from it that has all of it": {first: []*ipamv1.IPAllocation{own(), recordNamed("c", block, carved("child"))}, then: back("t"), want: Lost},
		"an address of a pool carved from it":      {first: []*ipamv1.IPAllocation{own(), recordNamed("a", "10.0.0.7/32", fromPool("child"))}, then: back("t"), want: Lost},
		"the block of another root":                {first: []*ipamv1.IPAllocation{own(), root("q", "10.0.0.0/25")}, then: back("t"), want: Lost},
		"another manager's record of the same":     {first: []*ipamv1.IPAllocation{own(), back("t", by("other"), withUID("other"))}, then: back("t"), want: Won},
		"a hand-back for an earlier template":      {first: []*ipamv1.IPAllocation{own(), back("old", confirmed)}, then: back("t"), want: Won},
		"the rest of what another pool has handed back": {
			first: []*ipamv1.IPAllocation{root("q", block, handedBack("t"), confirmed)}, then: root("q", "10.0.0.128/25", handedBack("t")), want: Won,
		},
		"an address after it":                                 {first: []*ipamv1.IPAllocation{own(), back("t")}, then: recordNamed("a", "10.0.0.7/32"), want: Lost},
		"a pool carved after it":                              {first: []*ipamv1.IPAllocation{own(), back("t")}, then: recordNamed("c", "10.0.0.0/28", carved("child")), want: Lost},
		"an address of a pool carved from it after it":        {first: []*ipamv1.IPAllocation{own(), back("t")}, then: recordNamed("a", "10.0.0.7/32", fromPool("child")), want: Lost},
		"the pool's own block after it":                       {first: []*ipamv1.IPAllocation{back("t")}, then: own(), want: Lost},
		"the block of a pool of the template's UID, after it": {first: []*ipamv1.IPAllocation{back("pool p")}, then: own(), want: Lost},
		"the block of another root after it":                  {first: []*ipamv1.IPAllocation{back("t")}, then: root("q", "10.0.0.0/25"), want: Lost},
		"in another address space":                            {first: []*ipamv1.IPAllocation{back("t")}, then: recordNamed("a", "10.0.0.7/32", elsewhere), want: Won},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			b := newBook()
			for _, r := range test.first {
				b.put(r)
			}
			if got := b.judged(t, test.then).Outcome; got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}

// TestAHandBackIsNothingHandedOut: it counts in no sum, and is no block of the pool.
func TestAHandBackIsNothingHandedOut(t *testing.T) {
	t.Parallel()
	b := newBook()
	b.serving(shapeConfig{entries: "10.0.0.0/24"})
	b.forget()
	b.put(back("t"))
	if _, changed := b.forget(); !slices.Contains(changed, poolRef("p")) {
		t.Errorf("changed: %v", changed)
	}
	b.put(back("t", confirmed))
	if held := b.x.Holdings(poolRef("p")); len(held) > 0 {
		t.Errorf("handed out: %v", held)
	}
	if c, _ := b.x.Capacity(poolRef("p")); !c.Allocated.IsZero() || c.Claims != 0 {
		t.Errorf("counted: %+v", c)
	}
	if others := b.x.OtherBlocks(poolRef("p"), "", nil); len(others) != 1 || others[0].Purpose != records.ForRoot {
		t.Errorf("blocks: %v", others)
	}
	if got := b.x.HandedBack(poolRef("p")); len(got) != 1 || got[0].Claim.UID != "t" || !got[0].Confirmed {
		t.Errorf("handed back: %v", got)
	}
	b.put(back("t", confirmed, terminating))
	b.x.DropPool(poolRef("p"))
	if got := b.x.HandedBack(poolRef("p")); len(got) != 1 || !got[0].Terminating {
		t.Errorf("handed back, without a pool: %v", got)
	}
}

// TestAPoolHearsOfAHandBackOfItsBlock, which a pool of another name may have made.
func TestAPoolHearsOfAHandBackOfItsBlock(t *testing.T) {
	t.Parallel()
	b := newBook()
	b.put(root("q", "10.0.0.0/25", confirmed))
	b.put(root("r", "10.0.1.0/24", confirmed))
	want := func(when string, found int) {
		t.Helper()
		if _, changed := b.forget(); !slices.Contains(changed, poolRef("q")) || slices.Contains(changed, poolRef("r")) {
			t.Errorf("%s: changed: %v", when, changed)
		}
		if got := b.x.HandedBackIn("default", prefixes("10.0.0.0/25")[0]); len(got) != found {
			t.Errorf("%s: handed back: %v", when, got)
		}
	}
	b.forget()
	handedBack := b.put(back("t"))
	want("it comes", 1)
	b.put(back("t", confirmed))
	want("it is confirmed", 1)
	if got := b.x.HandedBackIn("default", prefixes("10.0.1.0/24")[0]); len(got) != 0 {
		t.Errorf("handed back elsewhere: %v", got)
	}
	b.cut(handedBack)
	want("it goes", 0)
}

// TestABlockThatWasHandedBackIsNotChosen, by the pool of the name or any other, and a hand-back is not
// while anything is handed out of the block.
func TestABlockThatWasHandedBackIsNotChosen(t *testing.T) {
	t.Parallel()
	b := newBook()
	own := b.put(root("p", "10.0.0.0/24", confirmed))
	c := Claim{Ref: ClaimOf(poolRef("p"), "t"), Pool: poolRef("p"), Want: prefixes("10.0.0.0/24")[0], Purpose: records.ForHandBack}
	taken := b.put(recordNamed("a", "10.0.0.7/32"))
	if _, err := b.x.ChooseHandBack(c, "default", at("x")); !errors.Is(err, ErrTaken) {
		t.Errorf("beside an address: %v", err)
	}
	b.cut(taken)
	mark, err := b.x.ChooseHandBack(c, "default", at("x"))
	if err != nil {
		t.Fatal(err)
	}
	b.x.Unmark(mark)
	b.put(back("t", confirmed))
	b.cut(own)
	for _, pool := range []string{"p", "q"} {
		block := Claim{Ref: ClaimOf(poolRef(pool), "1"), Pool: poolRef(pool), Want: prefixes("10.0.0.0/25")[0], Purpose: records.ForRoot}
		var by *TakenError
		if _, err := b.x.ChooseBlock(block, "default", at("y")); !errors.As(err, &by) || by.By.Purpose != records.ForHandBack {
			t.Errorf("pool %s: %v", pool, err)
		}
	}
}

// TestAHandBackThatHasEndedHoldsNothing: what comes after it wins, its own pool's block and a later
// hand-back, too, and it still tells of its template.
func TestAHandBackThatHasEndedHoldsNothing(t *testing.T) {
	t.Parallel()
	b := newBook()
	block := prefixes(backBlock)[0]
	b.put(back("one", confirmed))
	ended := b.put(back("one", allocations.Ended))
	if _, changed := b.forget(); !slices.Contains(changed, poolRef("p")) {
		t.Errorf("it ends: changed: %v", changed)
	}
	if got := b.x.HandedBackIn("default", block); len(got) != 0 {
		t.Errorf("handed back: %v", got)
	}
	if got := b.x.Overlapping("default", block); len(got) != 0 {
		t.Errorf("overlapping: %v", got)
	}
	tells := func(when string, want ...records.Purpose) {
		t.Helper()
		all := b.x.HandedBack(poolRef("p"))
		got := make([]records.Purpose, 0, len(all))
		for _, h := range all {
			got = append(got, h.Purpose)
		}
		if slices.Sort(got); !slices.Equal(got, want) {
			t.Errorf("%s: %v, want %v", when, got, want)
		}
	}
	tells("ended", records.ForEnded)
	for _, then := range []*ipamv1.IPAllocation{root("p", backBlock, confirmed), back("two", confirmed)} {
		if got := b.judged(t, then).Outcome; got != Won {
			t.Errorf("%s: %v", then.Name, got)
		}
		b.put(then)
	}
	tells("handed back for another template", records.ForEnded, records.ForHandBack)
	if got := b.x.About(ClaimOf(poolRef("p"), "one")).Recorded(); len(got) != 3 {
		t.Errorf("recorded: %v", got)
	}
	marked := back("one", allocations.Ended, terminating)
	b.put(marked)
	if got := b.x.HandedBack(poolRef("p")); !slices.ContainsFunc(got, func(h Holding) bool { return h.Terminating && h.Purpose == records.ForEnded }) {
		t.Errorf("somebody has deleted it: %v", got)
	}
	b.cut(ended)
	tells("gone", records.ForHandBack)
	if got := b.x.HandedBackIn("default", block); len(got) != 1 {
		t.Errorf("handed back: %v", got)
	}
}
