// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"fmt"
	"testing"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/records"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

func TestJudgementOfANewRecord(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct {
		before []*ipamv1.IPAllocation
		record *ipamv1.IPAllocation
		want   outcome
	}{
		"nothing else: it wins": {
			record: recordNamed("a", "10.0.0.1/32"),
			want:   won,
		},
		"neighbours do not matter": {
			before: []*ipamv1.IPAllocation{recordNamed("b", "10.0.0.0/32"), recordNamed("c", "10.0.0.2/31")},
			record: recordNamed("a", "10.0.0.1/32"),
			want:   won,
		},
		"of two records of one address the later loses": {
			before: []*ipamv1.IPAllocation{recordNamed("b", "10.0.0.1/32")},
			record: recordNamed("a", "10.0.0.1/32"),
			want:   lost,
		},
		"of two records of one claim the later loses, too": {
			before: []*ipamv1.IPAllocation{recordNamed("a", "10.0.0.1/32")},
			record: recordNamed("a", "10.0.0.1/32", withUID("2"), func(a *ipamv1.IPAllocation) { a.Name = "a-2" }),
			want:   lost,
		},
		"it loses to a record of another pool": {
			before: []*ipamv1.IPAllocation{recordNamed("b", "10.0.0.1/32", fromPool("q"))},
			record: recordNamed("a", "10.0.0.1/32"),
			want:   lost,
		},
		"an address loses to an older prefix around it": {
			before: []*ipamv1.IPAllocation{recordNamed("b", "10.0.0.0/30")},
			record: recordNamed("a", "10.0.0.1/32"),
			want:   lost,
		},
		"a prefix loses to an older address inside it": {
			before: []*ipamv1.IPAllocation{recordNamed("b", "10.0.0.3/32")},
			record: recordNamed("a", "10.0.0.0/30"),
			want:   lost,
		},
		"it loses to a record that is being deleted": {
			before: []*ipamv1.IPAllocation{recordNamed("b", "10.0.0.1/32", createdAt("7"), terminating)},
			record: recordNamed("a", "10.0.0.1/32"),
			want:   lost,
		},
		"it loses to a record that cools down": {
			before: []*ipamv1.IPAllocation{recordNamed("b", "10.0.0.1/32", createdAt("7"), released)},
			record: recordNamed("a", "10.0.0.1/32"),
			want:   lost,
		},
		"another address space does not count": {
			before: []*ipamv1.IPAllocation{recordNamed("b", "10.0.0.1/32", elsewhere)},
			record: recordNamed("a", "10.0.0.1/32"),
			want:   won,
		},
		"the same number in the other family does not count": {
			before: []*ipamv1.IPAllocation{recordNamed("b", "a00:1::/32")},
			record: recordNamed("a", "10.0.0.1/32"),
			want:   won,
		},
		"half of IPv6 does not count against half of IPv4": {
			before: []*ipamv1.IPAllocation{recordNamed("b", "8000::/1")},
			record: recordNamed("a", "128.0.0.0/1"),
			want:   won,
		},
		"equal IPv6 addresses do": {
			before: []*ipamv1.IPAllocation{recordNamed("b", "2001:db8::1/128")},
			record: recordNamed("a", "2001:db8::1/128"),
			want:   lost,
		},
		"an IPv6 address inside an older prefix does": {
			before: []*ipamv1.IPAllocation{recordNamed("b", "2001:db8::/64")},
			record: recordNamed("a", "2001:db8::1/128"),
			want:   lost,
		},
		"the block of its own pool is meant to be around it": {
			before: []*ipamv1.IPAllocation{root("p", "10.0.0.0/24")},
			record: recordNamed("a", "10.0.0.1/32"),
			want:   won,
		},
		"even where the block is no larger": {
			before: []*ipamv1.IPAllocation{root("p", "10.0.0.1/32")},
			record: recordNamed("a", "10.0.0.1/32"),
			want:   won,
		},
		"the block of another pool is not": {
			before: []*ipamv1.IPAllocation{root("q", "10.0.0.0/24"), root("p", "10.0.0.0/30")},
			record: recordNamed("a", "10.0.0.1/32"),
			want:   lost,
		},
		"a block is no reason to lose where its own pool has none any more: it may have won inside": {
			before: []*ipamv1.IPAllocation{root("q", "10.0.0.0/24")},
			record: recordNamed("a", "10.0.0.1/32"),
			want:   blocked,
		},
		"nor where a block in between is gone": {
			before: []*ipamv1.IPAllocation{root("q", "10.0.0.0/16"), recordNamed("block", "10.0.0.0/24", fromPool("middle"), carved("p"))},
			record: recordNamed("a", "10.0.0.1/32"),
			want:   blocked,
		},
		"a carved pool's records lose as any other to a block that is none of its ancestors'": {
			before: []*ipamv1.IPAllocation{
				root("q", "10.0.0.0/16"), recordNamed("block", "10.0.0.0/24", fromPool("q"), carved("p")),
				recordNamed("other", "10.0.0.0/28", fromPool("q"), carved("other")),
			},
			record: recordNamed("a", "10.0.0.1/32"),
			want:   lost,
		},
		"the block of its own pool does not hide another record": {
			before: []*ipamv1.IPAllocation{root("p", "10.0.0.0/24"), recordNamed("b", "10.0.0.1/32")},
			record: recordNamed("a", "10.0.0.1/32"),
			want:   lost,
		},
		"a block may be recorded around claims of its own pool": {
			before: []*ipamv1.IPAllocation{recordNamed("a", "10.0.0.1/32")},
			record: root("p", "10.0.0.0/24"),
			want:   won,
		},
		"and not around claims of another": {
			before: []*ipamv1.IPAllocation{recordNamed("a", "10.0.0.1/32", fromPool("q"))},
			record: root("p", "10.0.0.0/24"),
			want:   lost,
		},
		"of two pools' overlapping blocks the later loses": {
			before: []*ipamv1.IPAllocation{root("q", "10.0.0.0/16")},
			record: root("p", "10.0.1.0/24"),
			want:   lost,
		},
		"also when it is the larger": {
			before: []*ipamv1.IPAllocation{root("q", "10.0.1.0/24")},
			record: root("p", "10.0.0.0/16"),
			want:   lost,
		},
		"a child pool's block is meant to lie in its parent's": {
			before: []*ipamv1.IPAllocation{root("p", "10.0.0.0/16")},
			record: recordNamed("a", "10.0.1.0/24", carved("child")),
			want:   won,
		},
		"what is handed out of the parent loses to a child pool's block": {
			before: []*ipamv1.IPAllocation{root("p", "10.0.0.0/16"), recordNamed("b", "10.0.1.0/24", carved("child"))},
			record: recordNamed("a", "10.0.1.1/32"),
			want:   lost,
		},
		"a record whose age nobody knows blocks it": {
			before: []*ipamv1.IPAllocation{recordNamed("b", "10.0.0.1/32", touched)},
			record: recordNamed("a", "10.0.0.1/32"),
			want:   blocked,
		},
		"an older one decides, whatever else is there": {
			before: []*ipamv1.IPAllocation{recordNamed("b", "10.0.0.0/32", touched), recordNamed("c", "10.0.0.1/32")},
			record: recordNamed("a", "10.0.0.0/31"),
			want:   lost,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			b := newBook()
			for _, a := range test.before {
				b.put(a.DeepCopy())
			}
			v := b.judged(t, test.record.DeepCopy())
			if v.outcome != test.want {
				t.Errorf("outcome %d, want %d", v.outcome, test.want)
			}
			if (v.outcome == won) != (v.by == Holding{}) {
				t.Errorf("decided by %v", v.by)
			}
		})
	}
}

func TestVerdictNamesWhoDecided(t *testing.T) {
	t.Parallel()
	b := newBook()
	b.put(root("p", "10.0.0.0/24"))
	b.put(recordNamed("winner", "10.0.0.0/30"))
	v := b.judged(t, recordNamed("loser", "10.0.0.2/32"))
	if got := v.by.String(); got != "IPAddressClaim ns/winner" {
		t.Errorf("lost to %q", got)
	}
	if v.by.Record != at("winner") || v.by.CIDR.String() != "10.0.0.0/30" {
		t.Errorf("lost to %+v", v.by)
	}
}

// TestJudgementAtTakeover judges a record that has been updated by who takes it over, which stores the revision of its
// creation.
func TestJudgementAtTakeover(t *testing.T) {
	t.Parallel()
	const mine = "50"
	for sentence, test := range map[string]struct {
		others []*ipamv1.IPAllocation
		record edit
		want   outcome
	}{
		"alone: won":                        {want: won, record: createdAt(mine)},
		"an older record: lost":             {others: []*ipamv1.IPAllocation{recordNamed("b", "10.0.0.1/32", createdAt("49"))}, want: lost, record: createdAt(mine)},
		"an older one by fewer digits":      {others: []*ipamv1.IPAllocation{recordNamed("b", "10.0.0.1/32", createdAt("9"))}, want: lost, record: createdAt(mine)},
		"only a younger record: blocked":    {others: []*ipamv1.IPAllocation{recordNamed("b", "10.0.0.1/32", createdAt("51"))}, want: blocked, record: createdAt(mine)},
		"a younger one by more digits":      {others: []*ipamv1.IPAllocation{recordNamed("b", "10.0.0.1/32", createdAt("100"))}, want: blocked, record: createdAt(mine)},
		"one of unknown age: blocked":       {others: []*ipamv1.IPAllocation{recordNamed("b", "10.0.0.1/32", touched)}, want: blocked, record: createdAt(mine)},
		"one being deleted, of unknown age": {others: []*ipamv1.IPAllocation{recordNamed("b", "10.0.0.1/32", terminating)}, want: blocked, record: createdAt(mine)},
		"of unknown age itself: blocked":    {others: []*ipamv1.IPAllocation{recordNamed("b", "10.0.0.1/32", createdAt("49"))}, want: blocked, record: touched},
		"of unknown age itself and alone":   {want: won, record: touched},
		"a younger one and an older one: lost": {
			others: []*ipamv1.IPAllocation{recordNamed("b", "10.0.0.0/32", createdAt("51")), recordNamed("c", "10.0.0.1/32", createdAt("49"))},
			want:   lost, record: createdAt(mine),
		},
		"an older one in another space": {
			others: []*ipamv1.IPAllocation{recordNamed("b", "10.0.0.1/32", createdAt("49"), elsewhere)},
			want:   won, record: createdAt(mine),
		},
		"the own pool's block, younger": {
			others: []*ipamv1.IPAllocation{root("p", "10.0.0.0/24", createdAt("60"))},
			want:   won, record: createdAt(mine),
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			b := newBook()
			others := make([]*ipamv1.IPAllocation, 0, len(test.others)+1)
			for _, a := range test.others {
				a.ResourceVersion = b.next()
				others = append(others, a)
			}
			a := recordNamed("a", "10.0.0.0/31", touched)
			a.ResourceVersion = b.next()
			b.list(append(others, a)...)
			test.record(a)
			if got := b.judged(t, a).outcome; got != test.want {
				t.Errorf("outcome %d, want %d", got, test.want)
			}
		})
	}
}

func TestTakenOverRecordWinsOnceTheYoungerIsGone(t *testing.T) {
	t.Parallel()
	b := newBook()
	a := b.put(recordNamed("a", "10.0.0.1/32"))
	younger := b.put(recordNamed("b", "10.0.0.1/32"))
	createdAt(a.ResourceVersion)(a)
	if got := b.judged(t, a).outcome; got != blocked {
		t.Fatalf("outcome %d, want blocked", got)
	}
	b.cut(younger)
	if got := b.judged(t, a).outcome; got != won {
		t.Fatalf("outcome %d, want won", got)
	}
}

// TestOneOfTwoAlwaysYields: whatever this process saw of two overlapping records, it never finds both won.
func TestOneOfTwoAlwaysYields(t *testing.T) {
	t.Parallel()
	for sentence, again := range map[string]func(b *book, first, second *ipamv1.IPAllocation){
		"judged once each": func(*book, *ipamv1.IPAllocation, *ipamv1.IPAllocation) {},
		"listed anew":      func(b *book, first, second *ipamv1.IPAllocation) { b.list(first, second) },
		"listed in the other order": func(b *book, first, second *ipamv1.IPAllocation) {
			b.list(second, first)
		},
		"changed by somebody": func(b *book, first, second *ipamv1.IPAllocation) {
			touched(first)
			b.put(first)
			touched(second)
			b.put(second)
		},
		"marked for deletion": func(b *book, first, _ *ipamv1.IPAllocation) {
			terminating(first)
			b.put(first)
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			b := newBook()
			first, second := recordNamed("a", "10.0.0.0/31"), recordNamed("b", "10.0.0.1/32")
			if got := b.judged(t, first).outcome; got != won {
				t.Fatalf("the first: outcome %d, want won", got)
			}
			if got := b.judged(t, second).outcome; got != lost {
				t.Fatalf("the second: outcome %d, want lost", got)
			}
			again(b, first, second)
			createdAt("102")(second)
			if got := b.judged(t, second).outcome; got != lost {
				t.Errorf("the second taken over: outcome %d, want lost", got)
			}
		})
	}
}

// TestAPredecessorDoesNotCount: a claim that arrives with its answer, under a new UID, adopts the address of the record that
// came with it, made for the claim's earlier UID.
func TestAPredecessorDoesNotCount(t *testing.T) {
	t.Parallel()
	adopted := func(a *ipamv1.IPAllocation) { a.Spec.Purpose = ipamv1.AdoptedPurpose }
	ofClaim := func(name, uid string) edit {
		return func(a *ipamv1.IPAllocation) { a.Spec.ClaimRef.Name, a.Spec.ClaimRef.UID = name, uid }
	}
	for sentence, test := range map[string]struct {
		before *ipamv1.IPAllocation
		record *ipamv1.IPAllocation
		want   outcome
	}{
		"the same name, pool and address": {
			before: recordNamed("old", "10.0.0.1/32", ofClaim("c", "1")),
			record: recordNamed("new", "10.0.0.1/32", ofClaim("c", "2"), adopted),
			want:   won,
		},
		"not one that was chosen instead of adopted": {
			before: recordNamed("old", "10.0.0.1/32", ofClaim("c", "1")),
			record: recordNamed("new", "10.0.0.1/32", ofClaim("c", "2")),
			want:   lost,
		},
		"not another name": {
			before: recordNamed("old", "10.0.0.1/32", ofClaim("d", "1")),
			record: recordNamed("new", "10.0.0.1/32", ofClaim("c", "2"), adopted),
			want:   lost,
		},
		"not another pool": {
			before: recordNamed("old", "10.0.0.1/32", ofClaim("c", "1"), fromPool("q")),
			record: recordNamed("new", "10.0.0.1/32", ofClaim("c", "2"), adopted),
			want:   lost,
		},
		"not another prefix around it": {
			before: recordNamed("old", "10.0.0.0/31", ofClaim("c", "1")),
			record: recordNamed("new", "10.0.0.1/32", ofClaim("c", "2"), adopted),
			want:   lost,
		},
		"not another record of the very claim": {
			before: recordNamed("old", "10.0.0.1/32", ofClaim("c", "2")),
			record: recordNamed("new", "10.0.0.1/32", ofClaim("c", "2"), adopted),
			want:   lost,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			b := newBook()
			b.put(test.before)
			if got := b.judged(t, test.record).outcome; got != test.want {
				t.Errorf("outcome %d, want %d", got, test.want)
			}
		})
	}
}

// A proof of currency changes a block, and wants to see that on the watch. A verdict about the block would look at all that is handed out of it.
func TestAProofLooksAtNoRecords(t *testing.T) {
	t.Parallel()
	b := newBook()
	b.serving(shapeConfig{entries: "10.0.0.0/16"})
	for i := range 1000 {
		b.put(recordNamed(fmt.Sprint("r", i), fmt.Sprintf("10.0.%d.%d/32", i/250, 1+i%250)))
	}
	block := root("p", "10.0.0.0/16", confirmed)
	w := b.x.lookFor(nameOf(block))
	defer b.x.dismiss(w)
	taken := &b.x.spaceOf("default").taken
	before := taken.Visited()
	b.put(block)
	if n := taken.Visited() - before; n > 100 {
		t.Errorf("visited %d nodes", n)
	}
	if _, done, err := b.x.verdictOn(w, records.IdentityOf(block)); !done || err != nil {
		t.Errorf("the version is not seen: %v", err)
	}
}
