// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package book

import (
	"testing"
	"time"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/records"
)

// The tests of this file are named after the hazards of docs/design/ledger.md, move.md and
// restore.md.

// ofOwnKind makes the record one for an IPClaim c of this UID.
func ofOwnKind(uid string) edit {
	return func(a *ipamv1.IPAllocation) {
		a.Spec.ClaimRef.APIGroup, a.Spec.ClaimRef.Kind = ipamv1.GroupVersion.Group, ipamv1.IPClaimKind
		a.Spec.ClaimRef.Name, a.Spec.ClaimRef.UID = "c", uid
	}
}

func retainedRecord(a *ipamv1.IPAllocation) {
	released(a)
	a.Spec.State = ipamv1.RetainedState
}

// TestWhatCoolsDownIsNobodysPredecessor: what an IPClaim let go of is taken for everybody, the next
// of its name included, unless it is retained for that.
func TestWhatCoolsDownIsNobodysPredecessor(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct {
		before []edit
		want   Outcome
	}{
		"it cools down":  {before: []edit{ofOwnKind("1"), released}, want: Lost},
		"it is retained": {before: []edit{ofOwnKind("1"), retainedRecord}, want: Won},
		"it is another's, who has let go of it": {before: []edit{ofOwnKind("1"), retainedRecord, func(a *ipamv1.IPAllocation) {
			a.Spec.ClaimRef.Name = "d"
		}}, want: Lost},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			b := newBook()
			b.put(recordNamed("old", "10.0.0.1/32", test.before...))
			if got := b.judged(t, recordNamed("new", "10.0.0.1/32", ofOwnKind("2"))).Outcome; got != test.want {
				t.Errorf("outcome %d, want %d", got, test.want)
			}
		})
	}
}

// TestWhatHasGoneIsNotLeaving: handles are given out again, so what has gone must not be found by
// its handle.
func TestWhatHasGoneIsNotLeaving(t *testing.T) {
	t.Parallel()
	b := newBook()
	b.serving(shapeConfig{entries: "10.0.0.0/28", reserved: four.reserved})
	l := b.x
	pool := claimFor("a").Pool
	away := func(a *ipamv1.IPAllocation) { a.Namespace = "elsewhere" }
	gone := b.put(recordNamed("gone", "10.0.0.4/32", away, terminating, moving))
	if found := l.Leaving(pool); len(found) != 1 {
		t.Fatalf("leaving: %v", found)
	}
	b.cut(gone)
	b.put(recordNamed("hold", "10.0.0.4/32", func(a *ipamv1.IPAllocation) { a.Spec.State = ipamv1.MovedState })) // gets its handle
	if found := l.Leaving(pool); len(found) != 0 {
		t.Errorf("leaving, though nobody has marked it: %v", found)
	}
}

// TestWhatCoolsBesideItsPoolIsNotLeaving: a namespace that ends takes its pools along, and what cools
// down for them.
func TestWhatCoolsBesideItsPoolIsNotLeaving(t *testing.T) {
	t.Parallel()
	b := newBook()
	b.serving(shapeConfig{entries: "10.0.0.0/28", reserved: four.reserved})
	away := func(a *ipamv1.IPAllocation) { a.Namespace = "elsewhere" }
	keeps := func(a *ipamv1.IPAllocation) { a.Spec.State = ipamv1.RetainedState }
	b.put(recordNamed("beside", "10.0.0.4/32", terminating, released))
	b.put(recordNamed("retained", "10.0.0.5/32", away, terminating, released, keeps))
	b.put(recordNamed("in-use", "10.0.0.6/32", away, terminating))
	b.put(recordNamed("stays", "10.0.0.7/32", away, released))
	cools := b.put(recordNamed("cools", "10.0.0.8/32", away, terminating, released))
	found := b.x.Leaving(claimFor("a").Pool)
	if len(found) != 1 || found[0].Record.Name != cools.Name {
		t.Errorf("leaving: %v", found)
	}
}

// TestTheGraceIsForWhatIsNotStoredYet: a record of an own kind is nobody's to drop before the
// object that it was admitted for can be stored no more. What was bound has been stored.
func TestTheGraceIsForWhatIsNotStoredYet(t *testing.T) {
	t.Parallel()
	unbound := func(a *ipamv1.IPAllocation) { a.OwnerReferences = nil }
	for sentence, test := range map[string]struct {
		edits    []edit
		after    time.Duration
		isOrphan bool
	}{
		"just admitted":             {edits: []edit{ofOwnKind("1"), unbound}},
		"admitted almost as long":   {edits: []edit{ofOwnKind("1"), unbound}, after: time.Minute},
		"admitted longer than that": {edits: []edit{ofOwnKind("1"), unbound}, after: time.Minute + time.Second, isOrphan: true},
		"bound":                     {edits: []edit{ofOwnKind("1")}, isOrphan: true},
		"let go of":                 {edits: []edit{ofOwnKind("1"), released}, after: time.Hour},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			b := newBook()
			b.x.ages.grace = 60
			a := b.put(recordNamed("r", "10.0.0.1/32", test.edits...))
			b.now.SetTime(b.now.Now().Add(test.after))
			found := b.x.About(a.Spec.ClaimRef).Orphans()
			if (len(found) == 1) != test.isOrphan {
				t.Errorf("may be given up: %v", found)
			}
		})
	}
}

// TestTheGraceIsForBlocksThatAreNotStoredYet: the same for the block of a carved pool.
func TestTheGraceIsForBlocksThatAreNotStoredYet(t *testing.T) {
	t.Parallel()
	b := newBook()
	b.x.ages.grace = 60
	b.put(recordNamed("block", "10.0.0.0/28", carved("child"), func(a *ipamv1.IPAllocation) { a.OwnerReferences = nil }))
	l := b.x
	if found := l.OtherBlocks(poolRef("child"), "", nil); len(found) != 0 {
		t.Errorf("may be given up at once: %v", found)
	}
	b.now.SetTime(b.now.Now().Add(time.Minute + time.Second))
	if found := l.OtherBlocks(poolRef("child"), "", nil); len(found) != 1 {
		t.Errorf("may be given up after the grace: %v", found)
	}
}

// TestARecordIsForAUID: of two objects of one name that are admitted at once, the one that is not
// stored must not have the other's record for its own, which would go with it.
func TestARecordIsForAUID(t *testing.T) {
	t.Parallel()
	b := newBook()
	a := b.put(recordNamed("r", "10.0.0.1/32", ofOwnKind("1")))
	c := Claim{Ref: a.Spec.ClaimRef, Pool: a.Spec.PoolRef, Bits: 32, Purpose: records.ForClaim}
	if r, _ := b.x.RecordOf(c, ""); r == nil {
		t.Error("a record does not answer the object that it was made for")
	}
	c.Ref.UID = "2"
	if r, _ := b.x.RecordOf(c, ""); r != nil {
		t.Errorf("%s answers another object of the name", r.Key)
	}
}
