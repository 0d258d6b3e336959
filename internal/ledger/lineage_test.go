// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"net/netip"
	"testing"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
)

// family puts the blocks of root, child and grandchild, and of a sibling of the child.
func family(b *book) {
	b.put(root("root", "10.0.0.0/8", confirmed))
	b.put(recordNamed("of-child", "10.1.0.0/16", fromPool("root"), carved("child"), confirmed))
	b.put(recordNamed("of-sibling", "10.2.0.0/16", fromPool("root"), carved("sibling"), confirmed))
	b.put(recordNamed("of-grandchild", "10.1.1.0/24", fromPool("child"), carved("grandchild"), confirmed))
}

// TestWhoMayLieInWhoseBlock records one thing more in a family of pools: it wins, or it does not, lost or blocked.
func TestWhoMayLieInWhoseBlock(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct {
		record *ipamv1.IPAllocation
		want   outcome
	}{
		"a claim of the grandchild, in the blocks of all three": {recordNamed("a", "10.1.1.1/32", fromPool("grandchild")), won},
		"all of the grandchild's block":                         {recordNamed("a", "10.1.1.0/24", fromPool("grandchild")), won},
		"a claim of the grandchild outside its block":           {recordNamed("a", "10.1.2.1/32", fromPool("grandchild")), lost},
		"a claim of the child beside the grandchild":            {recordNamed("a", "10.1.2.1/32", fromPool("child")), won},
		"a claim of the child in the grandchild's block":        {recordNamed("a", "10.1.1.1/32", fromPool("child")), lost},
		"a claim of the child in its sibling's block":           {recordNamed("a", "10.2.0.1/32", fromPool("child")), lost},
		"a claim of the root in the child's block":              {recordNamed("a", "10.1.2.1/32", fromPool("root")), lost},
		"a claim of the root around the child's block":          {recordNamed("a", "10.0.0.0/12", fromPool("root")), lost},
		"a claim of the root beside all":                        {recordNamed("a", "10.3.0.0/16", fromPool("root")), won},
		"a claim of a stranger in the grandchild's block":       {recordNamed("a", "10.1.1.1/32", fromPool("stranger")), lost},
		"another child of the child in the grandchild's block":  {recordNamed("a", "10.1.1.0/25", fromPool("child"), carved("other")), lost},
		"a child of the grandchild":                             {recordNamed("a", "10.1.1.0/25", fromPool("grandchild"), carved("other")), won},
		"a child of the grandchild around its block":            {recordNamed("a", "10.1.0.0/23", fromPool("grandchild"), carved("other")), lost},
		"another root inside":                                   {root("other", "10.1.1.0/24"), lost},
		"the same numbers in another space":                     {recordNamed("a", "10.1.1.1/32", fromPool("stranger"), elsewhere), won},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			b := newBook()
			family(b)
			if v := b.judged(t, test.record); (v.outcome == won) != (test.want == won) {
				t.Errorf("outcome %d by %s, want %d", v.outcome, v.by, test.want)
			}
		})
	}
}

// TestABlockThatWasLetGoOfIsNoAncestors: what a pool has handed back encloses nothing of its any more.
func TestABlockThatWasLetGoOfIsNoAncestors(t *testing.T) {
	t.Parallel()
	b := newBook()
	family(b)
	b.put(recordNamed("of-child", "10.1.0.0/16", fromPool("root"), carved("child"), confirmed, released))
	if v := b.judged(t, recordNamed("a", "10.1.1.1/32", fromPool("grandchild"))); v.outcome == won {
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
	b.x.setPool(p)
	first, err := b.x.promise(claimFor("a"))
	if err != nil || first != netip.MustParsePrefix("10.1.0.0/32") {
		t.Errorf("chose %s, %v", first, err)
	}
}
