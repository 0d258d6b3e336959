// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package book

import (
	"testing"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

func TestJudgementOfANewRecord(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct {
		before []*ipamv1.IPAllocation
		record *ipamv1.IPAllocation
		want   Outcome
	}{
		"nothing else: it wins": {
			record: recordNamed("a", "10.0.0.1/32"),
			want:   Won,
		},
		"neighbours do not matter": {
			before: []*ipamv1.IPAllocation{recordNamed("b", "10.0.0.0/32"), recordNamed("c", "10.0.0.2/31")},
			record: recordNamed("a", "10.0.0.1/32"),
			want:   Won,
		},
		"of two records of one address the later loses": {
			before: []*ipamv1.IPAllocation{recordNamed("b", "10.0.0.1/32")},
			record: recordNamed("a", "10.0.0.1/32"),
			want:   Lost,
		},
		"of two records of one claim the later loses, too": {
			before: []*ipamv1.IPAllocation{recordNamed("a", "10.0.0.1/32")},
			record: recordNamed("a", "10.0.0.1/32", withUID("2"), func(a *ipamv1.IPAllocation) { a.Name = "a-2" }),
			want:   Lost,
		},
		"it loses to a record of another pool": {
			before: []*ipamv1.IPAllocation{recordNamed("b", "10.0.0.1/32", fromPool("q"))},
			record: recordNamed("a", "10.0.0.1/32"),
			want:   Lost,
		},
		"an address loses to an older prefix around it": {
			before: []*ipamv1.IPAllocation{recordNamed("b", "10.0.0.0/30")},
			record: recordNamed("a", "10.0.0.1/32"),
			want:   Lost,
		},
		"a prefix loses to an older address inside it": {
			before: []*ipamv1.IPAllocation{recordNamed("b", "10.0.0.3/32")},
			record: recordNamed("a", "10.0.0.0/30"),
			want:   Lost,
		},
		"it loses to a record that is being deleted": {
			before: []*ipamv1.IPAllocation{recordNamed("b", "10.0.0.1/32", createdAt("7"), terminating)},
			record: recordNamed("a", "10.0.0.1/32"),
			want:   Lost,
		},
		"it loses to a record that cools down": {
			before: []*ipamv1.IPAllocation{recordNamed("b", "10.0.0.1/32", createdAt("7"), released)},
			record: recordNamed("a", "10.0.0.1/32"),
			want:   Lost,
		},
		"another address space does not count": {
			before: []*ipamv1.IPAllocation{recordNamed("b", "10.0.0.1/32", elsewhere)},
			record: recordNamed("a", "10.0.0.1/32"),
			want:   Won,
		},
		"the same number in the other family does not count": {
			before: []*ipamv1.IPAllocation{recordNamed("b", "a00:1::/32")},
			record: recordNamed("a", "10.0.0.1/32"),
			want:   Won,
		},
		"half of IPv6 does not count against half of IPv4": {
			before: []*ipamv1.IPAllocation{recordNamed("b", "8000::/1")},
			record: recordNamed("a", "128.0.0.0/1"),
			want:   Won,
		},
		"equal IPv6 addresses do": {
			before: []*ipamv1.IPAllocation{recordNamed("b", "2001:db8::1/128")},
			record: recordNamed("a", "2001:db8::1/128"),
			want:   Lost,
		},
		"an IPv6 address inside an older prefix does": {
			before: []*ipamv1.IPAllocation{recordNamed("b", "2001:db8::/64")},
			record: recordNamed("a", "2001:db8::1/128"),
			want:   Lost,
		},
		"the block of its own pool is meant to be around it": {
			before: []*ipamv1.IPAllocation{root("p", "10.0.0.0/24")},
			record: recordNamed("a", "10.0.0.1/32"),
			want:   Won,
		},
		"even where the block is no larger": {
			before: []*ipamv1.IPAllocation{root("p", "10.0.0.1/32")},
			record: recordNamed("a", "10.0.0.1/32"),
			want:   Won,
		},
		"the block of another pool is not": {
			before: []*ipamv1.IPAllocation{root("q", "10.0.0.0/24"), root("p", "10.0.0.0/30")},
			record: recordNamed("a", "10.0.0.1/32"),
			want:   Lost,
		},
		"a block is no reason to lose where its own pool has none any more: it may have won inside": {
			before: []*ipamv1.IPAllocation{root("q", "10.0.0.0/24")},
			record: recordNamed("a", "10.0.0.1/32"),
			want:   Blocked,
		},
		"nor where a block in between is gone": {
			before: []*ipamv1.IPAllocation{root("q", "10.0.0.0/16"), recordNamed("block", "10.0.0.0/24", fromPool("middle"), carved("p"))},
			record: recordNamed("a", "10.0.0.1/32"),
			want:   Blocked,
		},
		"a carved pool's records lose as any other to a block that is none of its ancestors'": {
			before: []*ipamv1.IPAllocation{
				root("q", "10.0.0.0/16"), recordNamed("block", "10.0.0.0/24", fromPool("q"), carved("p")),
				recordNamed("other", "10.0.0.0/28", fromPool("q"), carved("other")),
			},
			record: recordNamed("a", "10.0.0.1/32"),
			want:   Lost,
		},
		"the block of its own pool does not hide another record": {
			before: []*ipamv1.IPAllocation{root("p", "10.0.0.0/24"), recordNamed("b", "10.0.0.1/32")},
			record: recordNamed("a", "10.0.0.1/32"),
			want:   Lost,
		},
		"a block may be recorded around claims of its own pool": {
			before: []*ipamv1.IPAllocation{recordNamed("a", "10.0.0.1/32")},
			record: root("p", "10.0.0.0/24"),
			want:   Won,
		},
		"and not around claims of another": {
			before: []*ipamv1.IPAllocation{recordNamed("a", "10.0.0.1/32", fromPool("q"))},
			record: root("p", "10.0.0.0/24"),
			want:   Lost,
		},
		"of two pools' overlapping blocks the later loses": {
			before: []*ipamv1.IPAllocation{root("q", "10.0.0.0/16")},
			record: root("p", "10.0.1.0/24"),
			want:   Lost,
		},
		"also when it is the larger": {
			before: []*ipamv1.IPAllocation{root("q", "10.0.1.0/24")},
			record: root("p", "10.0.0.0/16"),
			want:   Lost,
		},
		"a child pool's block is meant to lie in its parent's": {
			before: []*ipamv1.IPAllocation{root("p", "10.0.0.0/16")},
			record: recordNamed("a", "10.0.1.0/24", carved("child")),
			want:   Won,
		},
		"a carved pool that grows may have a block around one of its own": {
			before: []*ipamv1.IPAllocation{root("p", "10.0.0.0/16"), recordNamed("b", "10.0.1.0/25", carved("child"))},
			record: recordNamed("a", "10.0.1.0/24", carved("child")),
			want:   Won,
		},
		"and one that shrinks a block inside": {
			before: []*ipamv1.IPAllocation{root("p", "10.0.0.0/16"), recordNamed("b", "10.0.1.0/24", carved("child"))},
			record: recordNamed("a", "10.0.1.0/25", carved("child")),
			want:   Won,
		},
		"not around one of another pool": {
			before: []*ipamv1.IPAllocation{
				root("p", "10.0.0.0/16"), recordNamed("b", "10.0.1.0/25", carved("child")), recordNamed("c", "10.0.1.128/25", carved("other")),
			},
			record: recordNamed("a", "10.0.1.0/24", carved("child")),
			want:   Lost,
		},
		"nor around one of an earlier pool of its name": {
			before: []*ipamv1.IPAllocation{root("p", "10.0.0.0/16"), recordNamed("b", "10.0.1.0/25", carved("child"), reborn)},
			record: recordNamed("a", "10.0.1.0/24", carved("child")),
			want:   Lost,
		},
		"nor around one that it has released": {
			before: []*ipamv1.IPAllocation{root("p", "10.0.0.0/16"), recordNamed("b", "10.0.1.0/25", carved("child"), released)},
			record: recordNamed("a", "10.0.1.0/24", carved("child")),
			want:   Lost,
		},
		"nor around one of another parent": {
			before: []*ipamv1.IPAllocation{root("p", "10.0.0.0/16"), recordNamed("b", "10.0.1.0/25", fromPool("q"), carved("child"))},
			record: recordNamed("a", "10.0.1.0/24", carved("child")),
			want:   Lost,
		},
		"a carved pool of a front door takes over the block of an earlier one of its name": {
			before: []*ipamv1.IPAllocation{root("p", "10.0.0.0/16"), recordNamed("b", "10.0.1.0/24", carved("child"), ofDoor, reborn)},
			record: recordNamed("a", "10.0.1.0/24", carved("child"), ofDoor),
			want:   Won,
		},
		"what is handed out of the parent loses to a child pool's block": {
			before: []*ipamv1.IPAllocation{root("p", "10.0.0.0/16"), recordNamed("b", "10.0.1.0/24", carved("child"))},
			record: recordNamed("a", "10.0.1.1/32"),
			want:   Lost,
		},
		"a record whose age nobody knows blocks it": {
			before: []*ipamv1.IPAllocation{recordNamed("b", "10.0.0.1/32", touched)},
			record: recordNamed("a", "10.0.0.1/32"),
			want:   Blocked,
		},
		"an older one decides, whatever else is there": {
			before: []*ipamv1.IPAllocation{recordNamed("b", "10.0.0.0/32", touched), recordNamed("c", "10.0.0.1/32")},
			record: recordNamed("a", "10.0.0.0/31"),
			want:   Lost,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			b := newBook()
			for _, a := range test.before {
				b.put(a.DeepCopy())
			}
			v := b.judged(t, test.record.DeepCopy())
			if v.Outcome != test.want {
				t.Errorf("outcome %d, want %d", v.Outcome, test.want)
			}
			if (v.Outcome == Won) != (v.By == Holding{}) {
				t.Errorf("decided by %v", v.By)
			}
		})
	}
}

// reborn makes the record that of another object of the name.
func reborn(a *ipamv1.IPAllocation) { a.Spec.ClaimRef.UID += " before" }

// ofDoor makes it that of a front door's object.
func ofDoor(a *ipamv1.IPAllocation) { a.Spec.ClaimRef.APIGroup = "door.weir.test" }

func TestVerdictNamesWhoDecided(t *testing.T) {
	t.Parallel()
	b := newBook()
	b.put(root("p", "10.0.0.0/24"))
	b.put(recordNamed("winner", "10.0.0.0/30"))
	v := b.judged(t, recordNamed("loser", "10.0.0.2/32"))
	if got := v.By.String(); got != "IPAddressClaim ns/winner" {
		t.Errorf("lost to %q", got)
	}
	if v.By.Record != at("winner") || v.By.CIDR.String() != "10.0.0.0/30" {
		t.Errorf("lost to %+v", v.By)
	}
}

// TestJudgementAtTakeover judges a record that has been updated by who takes it over, which stores
// the revision of its creation.
func TestJudgementAtTakeover(t *testing.T) {
	t.Parallel()
	const mine = "50"
	for sentence, test := range map[string]struct {
		others []*ipamv1.IPAllocation
		record edit
		want   Outcome
	}{
		"alone: won":                        {want: Won, record: createdAt(mine)},
		"an older record: lost":             {others: []*ipamv1.IPAllocation{recordNamed("b", "10.0.0.1/32", createdAt("49"))}, want: Lost, record: createdAt(mine)},
		"an older one by fewer digits":      {others: []*ipamv1.IPAllocation{recordNamed("b", "10.0.0.1/32", createdAt("9"))}, want: Lost, record: createdAt(mine)},
		"only a younger record: blocked":    {others: []*ipamv1.IPAllocation{recordNamed("b", "10.0.0.1/32", createdAt("51"))}, want: Blocked, record: createdAt(mine)},
		"a younger one by more digits":      {others: []*ipamv1.IPAllocation{recordNamed("b", "10.0.0.1/32", createdAt("100"))}, want: Blocked, record: createdAt(mine)},
		"one of unknown age: blocked":       {others: []*ipamv1.IPAllocation{recordNamed("b", "10.0.0.1/32", touched)}, want: Blocked, record: createdAt(mine)},
		"one being deleted, of unknown age": {others: []*ipamv1.IPAllocation{recordNamed("b", "10.0.0.1/32", terminating)}, want: Blocked, record: createdAt(mine)},
		"of unknown age itself: blocked":    {others: []*ipamv1.IPAllocation{recordNamed("b", "10.0.0.1/32", createdAt("49"))}, want: Blocked, record: touched},
		"of unknown age itself and alone":   {want: Won, record: touched},
		"a younger one and an older one: lost": {
			others: []*ipamv1.IPAllocation{recordNamed("b", "10.0.0.0/32", createdAt("51")), recordNamed("c", "10.0.0.1/32", createdAt("49"))},
			want:   Lost, record: createdAt(mine),
		},
		"an older one in another space": {
			others: []*ipamv1.IPAllocation{recordNamed("b", "10.0.0.1/32", createdAt("49"), elsewhere)},
			want:   Won, record: createdAt(mine),
		},
		"the own pool's block, younger": {
			others: []*ipamv1.IPAllocation{root("p", "10.0.0.0/24", createdAt("60"))},
			want:   Won, record: createdAt(mine),
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
			if got := b.judged(t, a).Outcome; got != test.want {
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
	if got := b.judged(t, a).Outcome; got != Blocked {
		t.Fatalf("outcome %d, want blocked", got)
	}
	b.cut(younger)
	if got := b.judged(t, a).Outcome; got != Won {
		t.Fatalf("outcome %d, want won", got)
	}
}

// TestOneOfTwoAlwaysYields: whatever this process saw of two overlapping records, it never finds
// both won.
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
			if got := b.judged(t, first).Outcome; got != Won {
				t.Fatalf("the first: outcome %d, want won", got)
			}
			if got := b.judged(t, second).Outcome; got != Lost {
				t.Fatalf("the second: outcome %d, want lost", got)
			}
			again(b, first, second)
			createdAt("102")(second)
			if got := b.judged(t, second).Outcome; got != Lost {
				t.Errorf("the second taken over: outcome %d, want lost", got)
			}
		})
	}
}

// TestAPredecessorDoesNotCount: a claim that arrives with its answer, under a new UID, adopts the
// address of the record that came with it, made for the claim's earlier UID.
func TestAPredecessorDoesNotCount(t *testing.T) {
	t.Parallel()
	adopted := func(a *ipamv1.IPAllocation) { a.Spec.Origin = ipamv1.AdoptedOrigin }
	ofClaim := func(name, uid string) edit {
		return func(a *ipamv1.IPAllocation) { a.Spec.ClaimRef.Name, a.Spec.ClaimRef.UID = name, uid }
	}
	for sentence, test := range map[string]struct {
		before *ipamv1.IPAllocation
		record *ipamv1.IPAllocation
		want   Outcome
	}{
		"the same name, pool and address": {
			before: recordNamed("old", "10.0.0.1/32", ofClaim("c", "1")),
			record: recordNamed("new", "10.0.0.1/32", ofClaim("c", "2"), adopted),
			want:   Won,
		},
		"not one that was chosen instead of adopted": {
			before: recordNamed("old", "10.0.0.1/32", ofClaim("c", "1")),
			record: recordNamed("new", "10.0.0.1/32", ofClaim("c", "2")),
			want:   Lost,
		},
		"not another name": {
			before: recordNamed("old", "10.0.0.1/32", ofClaim("d", "1")),
			record: recordNamed("new", "10.0.0.1/32", ofClaim("c", "2"), adopted),
			want:   Lost,
		},
		"not another pool": {
			before: recordNamed("old", "10.0.0.1/32", ofClaim("c", "1"), fromPool("q")),
			record: recordNamed("new", "10.0.0.1/32", ofClaim("c", "2"), adopted),
			want:   Lost,
		},
		"not another prefix around it": {
			before: recordNamed("old", "10.0.0.0/31", ofClaim("c", "1")),
			record: recordNamed("new", "10.0.0.1/32", ofClaim("c", "2"), adopted),
			want:   Lost,
		},
		"not another record of the very claim": {
			before: recordNamed("old", "10.0.0.1/32", ofClaim("c", "2")),
			record: recordNamed("new", "10.0.0.1/32", ofClaim("c", "2"), adopted),
			want:   Lost,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			b := newBook()
			b.put(test.before)
			if got := b.judged(t, test.record).Outcome; got != test.want {
				t.Errorf("outcome %d, want %d", got, test.want)
			}
		})
	}
}
