// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package book

import (
	"cmp"
	"errors"
	"net/netip"
	"slices"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/records"
)

// TestWhatIsHeldForAClaimElsewhere has claims ask for an address that is held for claim a, which
// took it to another cluster.
func TestWhatIsHeldForAClaimElsewhere(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct {
		claim, uid, want string
		purpose          records.Purpose
		own              bool
		// chosen says whether the claim gets as far as a record, and won whether that wins.
		chosen, won bool
	}{
		"it comes back with it":                  {claim: "a", uid: "later", purpose: records.ForAdopted, chosen: true, won: true},
		"it never left, as it turns out":         {claim: "a", uid: "uid-a", purpose: records.ForAdopted, chosen: true, won: true},
		"a namesake asks for it":                 {claim: "a", uid: "later", purpose: records.ForClaim},
		"an own kind's namesake asks for it":     {claim: "a", uid: "later", purpose: records.ForClaim, own: true},
		"an own kind is just leaving":            {claim: "a", uid: "uid-a", purpose: records.ForAdopted, own: true, won: true},
		"an own kind comes back with it":         {claim: "a", uid: "later", purpose: records.ForAdopted, own: true, chosen: true, won: true},
		"another asks for it":                    {claim: "b", uid: "uid-b", purpose: records.ForClaim},
		"another arrives with it":                {claim: "b", uid: "uid-b", purpose: records.ForAdopted},
		"it is not recorded at what it was held": {claim: "a", uid: "later", purpose: records.ForAdopted, want: "10.0.0.4/31"},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			kind := func(ref *ipamv1.ClaimReference) {
				if test.own {
					ref.APIGroup, ref.Kind = ipamv1.GroupVersion.Group, ipamv1.IPClaimKind
				}
			}
			b := newBook()
			b.serving(shapeConfig{entries: "10.0.0.0/28", reserved: four.reserved})
			c := claimFor(test.claim)
			b.put(recordNamed("hold", "10.0.0.4/32", func(a *ipamv1.IPAllocation) {
				a.Spec.ClaimRef = claimFor("a").Ref
				a.Spec.ClaimRef.UID, a.Spec.State = "uid-a", ipamv1.MovedState
				kind(&a.Spec.ClaimRef)
			}))
			kind(&c.Ref)
			c.Ref.UID, c.Purpose, c.Want = test.uid, test.purpose, netip.MustParsePrefix("10.0.0.4/32")
			if test.want != "" {
				c.Want = netip.MustParsePrefix(test.want)
			}
			if r, _ := b.x.RecordOf(c, ""); r != nil {
				t.Error("the hold answers a claim")
			}
			_, err := b.x.Choose(c, at("new"))
			if (err == nil) != test.chosen || err != nil && !errors.Is(err, ErrTaken) {
				t.Errorf("choosing: %v", err)
			}
			v := b.judged(t, recordNamed("new", c.Want.String(), func(a *ipamv1.IPAllocation) {
				a.Spec.ClaimRef = c.Ref
				c.Purpose.Write(&a.Spec)
			}))
			if (v.Outcome == Won) != test.won {
				t.Errorf("judged %v", v)
			}
		})
	}
}

// TestHoldsOfOtherPoolsStay: the same name and the same prefix mean nothing in another pool, or
// another address space.
func TestHoldsOfOtherPoolsStay(t *testing.T) {
	t.Parallel()
	b := newBook()
	elsewhere := claimFor("a").Pool
	elsewhere.Name = "elsewhere"
	held := func(name string, pool ipamv1.PoolReference, space string) {
		b.put(recordNamed(name, "10.0.0.4/32", func(a *ipamv1.IPAllocation) {
			a.Spec.ClaimRef, a.Spec.PoolRef, a.Spec.AddressSpace = claimFor("a").Ref, pool, space
			a.Spec.ClaimRef.UID, a.Spec.State = "uid-a", ipamv1.MovedState
		}))
	}
	held("here", claimFor("a").Pool, "default")
	held("there", elsewhere, "lab")
	l := b.x
	back := claimFor("a").Ref
	back.UID = "later"
	found := l.About(back).Moved(claimFor("a").Pool, netip.MustParsePrefix("10.0.0.4/32"))
	if len(found) != 1 || found[0].Record.Name != "here" {
		t.Errorf("held for the claim of this pool: %v", found)
	}
}

// TestWhatHasJustLeftIsSeenAfterWinning: the choice may have been made before the record of a
// namesake was marked as leaving.
func TestWhatHasJustLeftIsSeenAfterWinning(t *testing.T) {
	t.Parallel()
	own := func(a *ipamv1.IPAllocation) {
		a.Spec.ClaimRef = claimFor("a").Ref
		a.Spec.ClaimRef.APIGroup, a.Spec.ClaimRef.Kind, a.Spec.ClaimRef.UID = ipamv1.GroupVersion.Group, ipamv1.IPClaimKind, "uid-a"
	}
	for sentence, test := range map[string]struct {
		edits []edit
		left  bool
	}{
		"a namesake that stays":                           {edits: []edit{own}},
		"a namesake that is deleted":                      {edits: []edit{own, terminating}},
		"a namesake that is leaving":                      {edits: []edit{own, terminating, moving}, left: true},
		"a hold that has taken its place since it judged": {edits: []edit{own, func(a *ipamv1.IPAllocation) { a.Spec.State = ipamv1.MovedState }}, left: true},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			b := newBook()
			b.serving(shapeConfig{entries: "10.0.0.0/28", reserved: four.reserved})
			b.put(recordNamed("old", "10.0.0.4/32", test.edits...))
			c := claimFor("a")
			c.Ref.APIGroup, c.Ref.Kind, c.Ref.UID = ipamv1.GroupVersion.Group, ipamv1.IPClaimKind, "later"
			c.Want = netip.MustParsePrefix("10.0.0.4/32")
			mark := &records.Record{CIDR: c.Want, Space: "default", Pool: c.Pool, Claim: c.Ref, Purpose: c.Purpose}
			if _, left := b.x.LeftBehind(c, mark); left != test.left {
				t.Errorf("left behind: %t, want %t", left, test.left)
			}
		})
	}
}

// TestAHoldIsNotNeededOnceWhatWasRetainedIsBack looks at what was retained for claim a, which left
// together with that and was held.
func TestAHoldIsNotNeededOnceWhatWasRetainedIsBack(t *testing.T) {
	t.Parallel()
	kept := func(a *ipamv1.IPAllocation) {
		released(a)
		a.Spec.ClaimRef.Name, a.Spec.ClaimRef.UID, a.Spec.State = "a", "uid-a", ipamv1.RetainedState
	}
	hold := func(a *ipamv1.IPAllocation) {
		a.Spec.ClaimRef.Name, a.Spec.ClaimRef.UID, a.Spec.State = "a", "uid-a", ipamv1.MovedState
	}
	made := time.Unix(100, 0)
	let := func(at time.Duration) edit {
		return func(a *ipamv1.IPAllocation) {
			a.Spec.ClaimRef.UID, a.Spec.ReleasedAt = "other", metav1.NewTime(made.Add(at))
		}
	}
	for sentence, test := range map[string]struct {
		back, hold []edit
		cidr       string
		returned   bool
	}{
		"it is back":                          {back: []edit{kept}, hold: []edit{hold}, returned: true},
		"a later claim has let go of it":      {back: []edit{kept, let(2 * time.Second)}, hold: []edit{hold}, returned: true},
		"a claim let go of it before":         {back: []edit{kept, let(-time.Hour)}, hold: []edit{hold}},
		"a claim let go of it just then":      {back: []edit{kept, let(time.Second)}, hold: []edit{hold}},
		"it is just leaving":                  {back: []edit{kept, terminating}, hold: []edit{hold}},
		"its claim is back with it":           {back: []edit{func(a *ipamv1.IPAllocation) { a.Spec.ClaimRef.Name = "a" }}, hold: []edit{hold}},
		"what has left cools down":            {back: []edit{kept, func(a *ipamv1.IPAllocation) { a.Spec.State = ipamv1.CoolingState }}, hold: []edit{hold}},
		"another prefix is back":              {back: []edit{kept}, hold: []edit{hold}, cidr: "10.0.0.5/32"},
		"another claim's is back":             {back: []edit{kept, func(a *ipamv1.IPAllocation) { a.Spec.ClaimRef.Name = "b" }}, hold: []edit{hold}},
		"it is back in another pool":          {back: []edit{kept, fromPool("other")}, hold: []edit{hold}},
		"the hold has been deleted":           {back: []edit{kept}, hold: []edit{hold, terminating}},
		"the hold is one of what cooled down": {back: []edit{kept}, hold: []edit{hold, released}},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			b := newBook()
			b.serving(shapeConfig{entries: "10.0.0.0/28", reserved: four.reserved})
			b.put(recordNamed("hold", "10.0.0.4/32", test.hold...))
			b.put(recordNamed("back", cmp.Or(test.cidr, "10.0.0.4/32"), test.back...))
			found := slices.DeleteFunc(b.x.Returned(claimFor("a").Pool), func(r Return) bool { return !r.EndsHold(made) })
			if (len(found) == 1) != test.returned || len(found) == 1 && found[0].Hold.Record.Name != "hold" {
				t.Errorf("returned: %v", found)
			}
		})
	}
}

// TestWhatIsHeldForNobody: a record that an older one overlaps was never told to anybody, unless it
// came with its object.
func TestWhatIsHeldForNobody(t *testing.T) {
	t.Parallel()
	ofKind := func(a *ipamv1.IPAllocation) {
		a.Spec.ClaimRef.APIGroup, a.Spec.ClaimRef.Kind = ipamv1.GroupVersion.Group, ipamv1.IPClaimKind
	}
	for sentence, test := range map[string]struct {
		before []*ipamv1.IPAllocation
		edits  []edit
		lost   bool
	}{
		"alone":                            {},
		"an older one":                     {before: []*ipamv1.IPAllocation{recordNamed("b", "10.0.0.4/32")}, lost: true},
		"one of unknown age":               {before: []*ipamv1.IPAllocation{recordNamed("b", "10.0.0.4/32", touched)}},
		"an older one, but it has arrived": {before: []*ipamv1.IPAllocation{recordNamed("b", "10.0.0.4/32")}, edits: []edit{func(a *ipamv1.IPAllocation) { a.Spec.Origin = ipamv1.AdoptedOrigin }}},
		"an older one, but it is restored, not yet adopted": {before: []*ipamv1.IPAllocation{recordNamed("b", "10.0.0.4/32")}, edits: []edit{arrivedRecord}},
		"an older one, but its object is the answer":        {before: []*ipamv1.IPAllocation{recordNamed("b", "10.0.0.4/32")}, edits: []edit{ofKind}},
		"an older one, but it has been released":            {before: []*ipamv1.IPAllocation{recordNamed("b", "10.0.0.4/32")}, edits: []edit{released}},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			b := newBook()
			b.serving(shapeConfig{entries: "10.0.0.0/28", reserved: four.reserved})
			for _, a := range test.before {
				b.put(a)
			}
			r := b.put(recordNamed("a", "10.0.0.4/32", test.edits...))
			if got := b.x.HasLost(records.IdentityOf(r)); got != test.lost {
				t.Errorf("lost: %t, want %t", got, test.lost)
			}
			stale := records.IdentityOf(r)
			stale.Version = "0"
			if b.x.HasLost(stale) {
				t.Error("another version of it has lost")
			}
		})
	}
}
