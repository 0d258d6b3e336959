// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package book

import (
	"testing"
	"time"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/records"
)

// ofNext makes the record one of the next pool of the name.
func ofNext(a *ipamv1.IPAllocation) { a.Spec.ClaimRef.UID = "next" }

// TestABlockIsPassedOverForItsMemberOnly: what is recorded under the name of a carved pool is no reason
// for the next of the name to lose, if both go to one member, or neither to any.
func TestABlockIsPassedOverForItsMemberOnly(t *testing.T) {
	t.Parallel()
	moved := func(a *ipamv1.IPAllocation) { a.Spec.State = ipamv1.MovedState }
	for sentence, test := range map[string]struct {
		before, after []edit
		want          Outcome
	}{
		"both go to one member":              {before: []edit{delegatedTo("edge-a")}, after: []edit{delegatedTo("edge-a")}, want: Won},
		"they go to two members":             {before: []edit{delegatedTo("edge-a")}, after: []edit{delegatedTo("edge-b")}, want: Lost},
		"a member's, and one for here":       {before: []edit{delegatedTo("edge-a")}, want: Lost},
		"one for here, and a member's":       {after: []edit{delegatedTo("edge-a")}, want: Lost},
		"neither goes to a member":           {want: Won},
		"a hold of one member's":             {before: []edit{delegatedTo("edge-a"), moved}, after: []edit{delegatedTo("edge-a")}, want: Won},
		"a hold of another member's":         {before: []edit{delegatedTo("edge-a"), moved}, after: []edit{delegatedTo("edge-b")}, want: Lost},
		"one that was released cools down":   {before: []edit{delegatedTo("edge-a"), released}, after: []edit{delegatedTo("edge-a")}, want: Lost},
		"the very pool's, of another member": {before: []edit{delegatedTo("edge-a"), ofNext}, after: []edit{delegatedTo("edge-b")}, want: Lost},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			b := newBook()
			b.put(root("p", "10.0.0.0/24", confirmed))
			b.put(recordNamed("old", "10.0.0.0/28", append([]edit{carved("child")}, test.before...)...))
			if got := b.judged(t, recordNamed("new", "10.0.0.0/28", append([]edit{carved("child"), ofNext}, test.after...)...)).Outcome; got != test.want {
				t.Errorf("%s, want %s", got, test.want)
			}
		})
	}
}

// TestOneOfTwoRecordsStands: of two blocks of pools of one name that go to one member, the confirmed
// one, and of two confirmed ones the later.
func TestOneOfTwoRecordsStands(t *testing.T) {
	t.Parallel()
	type edits = []edit
	a := delegatedTo("edge-a")
	for sentence, test := range map[string]struct {
		first, second edits
		// want says which of them stands for the other: 0 for none.
		want int
	}{
		"both confirmed":             {first: edits{a, confirmed}, second: edits{a, confirmed}, want: 2},
		"the first confirmed":        {first: edits{a, confirmed}, second: edits{a}, want: 1},
		"the second confirmed":       {first: edits{a}, second: edits{a, confirmed}, want: 2},
		"none confirmed":             {first: edits{a}, second: edits{a}},
		"ages not known":             {first: edits{a, confirmed, touched}, second: edits{a, confirmed, touched}},
		"two members":                {first: edits{a, confirmed}, second: edits{delegatedTo("edge-b"), confirmed}},
		"no member":                  {first: edits{confirmed}, second: edits{confirmed}},
		"a later one of no member":   {first: edits{a, confirmed}, second: edits{confirmed}},
		"out of two pools":           {first: edits{a, confirmed}, second: edits{a, confirmed, fromPool("q")}},
		"two names":                  {first: edits{a, confirmed}, second: edits{carved("other"), a, confirmed}},
		"the later was released":     {first: edits{a, confirmed}, second: edits{a, confirmed, released}},
		"the later is terminating":   {first: edits{a, confirmed, createdAt("101")}, second: edits{a, confirmed, terminating, createdAt("102")}},
		"the earlier is terminating": {first: edits{a, confirmed, terminating, createdAt("101")}, second: edits{a, confirmed, createdAt("102")}, want: 2},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			b := newBook()
			first := b.put(recordNamed("first", "10.0.0.0/28", append(edits{carved("child")}, test.first...)...))
			second := b.put(recordNamed("second", "10.0.0.0/28", append(edits{carved("child"), ofNext}, test.second...)...))
			got := 0
			if other, ok := b.x.StandsFor(records.IdentityOf(first)); ok && other.Record == at("second") {
				got = 2
			}
			if other, ok := b.x.StandsFor(records.IdentityOf(second)); ok && other.Record == at("first") {
				got++
			}
			if got != test.want {
				t.Errorf("%d stands, want %d", got, test.want)
			}
		})
	}
	b := newBook()
	first := b.put(recordNamed("first", "10.0.0.0/28", carved("child"), a))
	b.put(recordNamed("other", "10.0.0.16/28", carved("child"), ofNext, a, confirmed))
	if _, ok := b.x.StandsFor(records.IdentityOf(first)); ok {
		t.Error("another block stands for it")
	}
	second := records.IdentityOf(b.put(recordNamed("second", "10.0.0.0/28", carved("child"), ofNext, a, confirmed)))
	stale := records.IdentityOf(first)
	b.put(first)
	if _, ok := b.x.StandsFor(stale); ok {
		t.Error("it stands for a version that is not the last")
	}
	b.x.MarkDeleted(second)
	if _, ok := b.x.StandsFor(records.IdentityOf(first)); ok {
		t.Error("one stands for it that this process has deleted")
	}
}

// TestABlockServesWhereItIsHandedOut: what is recorded for a member makes no block of a pool that this
// cluster takes for its own copy, as a hub does that has the member's name.
func TestABlockServesWhereItIsHandedOut(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct {
		record []edit
		pool   string
		want   bool
	}{
		"at the hub, for its member":                  {record: []edit{carved("child"), delegatedTo("edge-a")}, pool: "edge-a", want: true},
		"at the hub, for another member":              {record: []edit{carved("child"), delegatedTo("edge-b")}, pool: "edge-a"},
		"at the hub, recorded for no member":          {record: []edit{carved("child")}, pool: "edge-a"},
		"at the hub, which has the member's name":     {record: []edit{carved("child"), delegatedTo("edge-a")}},
		"at the member":                               {record: []edit{carved("child"), fromPool("child")}, want: true},
		"of a carved pool that is served by this one": {record: []edit{carved("child")}, want: true},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			b, child := newBook(), poolNamed("child", four)
			child.DelegatedTo = test.pool
			b.put(recordNamed("block", "10.0.0.0/30", append(test.record, confirmed)...))
			b.x.SetPool(child)
			if got := b.x.IsConfirmed(child, child.Shape.Blocks()[0]); got != test.want {
				t.Errorf("confirmed: %t", got)
			}
			if c, _ := b.x.Capacity(child.Ref); c.Serving != test.want {
				t.Errorf("serving: %t", c.Serving)
			}
		})
	}
}

// TestThePoolKnowsWhatMembersMayUse, from when the pool's create is over until it was released.
func TestThePoolKnowsWhatMembersMayUse(t *testing.T) {
	t.Parallel()
	b := newBook()
	b.x.ages.grace = 60
	want := func(when string, n, leaving int) {
		t.Helper()
		if found := b.x.WithMembers(poolRef("p")); len(found) != n {
			t.Errorf("%s: members may use %v", when, found)
		}
		if found := b.x.Leaving(poolRef("p")); len(found) != leaving {
			t.Errorf("%s: leaving are %v", when, found)
		}
	}
	unowned := func(a *ipamv1.IPAllocation) { a.OwnerReferences = nil }
	block := func(edits ...edit) *ipamv1.IPAllocation {
		return recordNamed("block", "10.0.0.0/28", append([]edit{carved("child"), delegatedTo("edge-a"), unowned}, edits...)...)
	}
	want("before there is a pool", 0, 0)
	b.put(recordNamed("here", "10.0.0.16/28", carved("other"), terminating))
	b.put(block())
	want("while its pool is created", 0, 0)
	b.now.SetTime(b.now.Now().Add(61 * time.Second))
	want("once its create is over", 1, 0)
	b.put(block(confirmed))
	want("confirmed", 1, 0)
	b.put(block(confirmed, terminating))
	want("deleted by a user", 1, 1)
	b.put(block(released))
	want("released", 0, 0)
	b.put(recordNamed("hold", "10.0.0.32/28", carved("moved"), delegatedTo("edge-a"), func(a *ipamv1.IPAllocation) { a.Spec.State = ipamv1.MovedState }))
	want("held for another hub", 0, 0)
}

// TestTheNextPoolOfANameGetsTheBlockThatItsMemberMayUse, also long after, and no other pool does.
func TestTheNextPoolOfANameGetsTheBlockThatItsMemberMayUse(t *testing.T) {
	t.Parallel()
	b := newBook()
	b.serving(shapeConfig{entries: "10.0.0.0/24", reserved: pooltree.AllocateReserved})
	b.put(recordNamed("old", "10.0.0.32/28", carved("child"), delegatedTo("edge-a"), confirmed))
	for sentence, test := range map[string]struct {
		name, member string
		bits         int
		want         string
	}{
		"the same":       {"child", "edge-a", 28, "10.0.0.32/28"},
		"another member": {"child", "edge-b", 28, "10.0.0.0/28"},
		"for here":       {"child", "", 28, "10.0.0.0/28"},
		"another name":   {"other", "edge-a", 28, "10.0.0.0/28"},
		"another length": {"child", "edge-a", 27, "10.0.0.0/27"},
	} {
		claim := ClaimOf(poolRef(test.name), "next")
		got, err := b.x.Preview(Claim{Ref: claim, Pool: poolRef("p"), Bits: test.bits, Purpose: records.ForChildPool, DelegatedTo: test.member})
		if err != nil || got.String() != test.want {
			t.Errorf("%s: %s, %v", sentence, got, err)
		}
	}
}
