// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"context"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/allocations"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/memory"
)

// newSite has these records, and no pool.
func newSite(t *testing.T, records ...*ipamv1.IPAllocation) *memory.Site {
	t.Helper()
	s := runtime.NewScheme()
	if err := ipamv1.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	objects := make([]client.Object, 0, len(records))
	for _, r := range records {
		objects = append(objects, r)
	}
	return memory.New(t, memory.Options{Scheme: s, Clock: clocktesting.NewFakePassiveClock(time.Unix(1_000_000, 0)), Objects: objects})
}

// known is the record of claim a, as the ledger shows it.
func known(w *memory.Site) ledger.Holding {
	return w.Ledger.About(allocations.Named("a", "").Spec.ClaimRef).Recorded()[0]
}

// stored is the record as it is stored; nil if it is gone.
func stored(t *testing.T, w *memory.Site) *ipamv1.IPAllocation {
	t.Helper()
	a := &ipamv1.IPAllocation{}
	if err := w.Raw.Get(t.Context(), allocations.At("a"), a); err != nil {
		if client.IgnoreNotFound(err) != nil {
			t.Fatal(err)
		}
		return nil
	}
	return a
}

// waysOut are the ways that end with a record, or mark it.
var waysOut = map[string]func(ledger.Out, context.Context, ledger.Holding) error{
	"Drop": ledger.Out.Drop, "DropBlock": ledger.Out.DropBlock, "Release": ledger.Out.Release, "Retain": ledger.Out.Retain,
	"TakeAlong": ledger.Out.TakeAlong, "EndHandBack": ledger.Out.EndHandBack,
}

func withOthers(a *ipamv1.IPAllocation) { a.Finalizers = append(a.Finalizers, "example.com/others") }

// change changes the record, unless it is gone.
func change(t *testing.T, w *memory.Site) {
	t.Helper()
	if a := stored(t, w); a != nil {
		a.Labels = map[string]string{"changed": "yes"}
		if err := w.Raw.Update(t.Context(), a); err != nil {
			t.Error(err)
		}
	}
}

// remove deletes the record.
func remove(t *testing.T, w *memory.Site) {
	t.Helper()
	if a := stored(t, w); a != nil {
		takeAway(t, w, a)
	}
}

// takeAway deletes a record whatever keeps it.
func takeAway(t *testing.T, w *memory.Site, a *ipamv1.IPAllocation) {
	t.Helper()
	a.Finalizers = nil
	if err := errors.Join(w.Raw.Update(t.Context(), a), client.IgnoreNotFound(w.Raw.Delete(t.Context(), a))); err != nil {
		t.Error(err)
	}
}

// replace deletes the record, and makes another one of the name.
func replace(t *testing.T, w *memory.Site) {
	t.Helper()
	remove(t, w)
	again := allocations.Named("a", "10.0.0.4/32", allocations.WithUID("another"))
	again.Labels = map[string]string{"changed": "yes"}
	if err := w.Raw.Create(t.Context(), again); err != nil {
		t.Error(err)
	}
}

var interferences = map[string]func(*testing.T, *memory.Site){"changed": change, "deleted": remove, "replaced": replace}

// isLeftAsMade has somebody interfere at a request of a way out, which errs then, and leaves what is stored as it was made.
func isLeftAsMade(t *testing.T, record *ipamv1.IPAllocation, out func(ledger.Out, context.Context, ledger.Holding) error, how string, at int) {
	t.Helper()
	w := newSite(t, record)
	n, hadGone := 0, false
	w.Before = func(string) {
		if n++; n == at {
			hadGone = stored(t, w) == nil
			interferences[how](t, w)
		}
	}
	err := out(w.Ledger.Out(), t.Context(), known(w))
	a := stored(t, w)
	if how == "deleted" || how == "changed" && hadGone {
		if a != nil || err != nil && !errors.Is(err, ledger.ErrBusy) {
			t.Errorf("at request %d: %v, stored: %v", at, err, a)
		}
		return
	}
	isMade := a != nil && a.Labels["changed"] == "yes" && (how == "replaced") == (a.UID == "another")
	hasOurs := a != nil && slices.Contains(a.Finalizers, ipamv1.AllocationFinalizer)
	if !isMade || at == 1 && !hasOurs || !errors.Is(err, ledger.ErrBusy) {
		t.Errorf("at request %d: %v, stored: %v", at, err, a)
	}
}

// TestNothingLeavesThatHasChanged: somebody changes the record just before one of the requests, or deletes it and makes another one under
// its name. The way out errs, and what is stored then is as it was made.
func TestNothingLeavesThatHasChanged(t *testing.T) {
	t.Parallel()
	for name, out := range waysOut {
		for how := range interferences {
			for state, edits := range map[string][]allocations.Edit{
				"in use": nil, "with a finalizer of others": {withOthers}, "marked for deletion": {allocations.Terminating},
			} {
				t.Run(name+", "+how+", "+state, func(t *testing.T) {
					t.Parallel()
					record := allocations.Named("a", "10.0.0.4/32", edits...)
					w := newSite(t, record)
					if err := out(w.Ledger.Out(), t.Context(), known(w)); err != nil && (state != "marked for deletion" || name != "TakeAlong") {
						t.Fatal(err)
					}
					all := len(w.Requests())
					for at := 1; at <= all; at++ {
						isLeftAsMade(t, record, out, how, at)
					}
				})
			}
		}
	}
}

// TestWhatOthersHaveOnARecordStays: their finalizers, and a record that somebody has marked for deletion. When the record was made is kept.
func TestWhatOthersHaveOnARecordStays(t *testing.T) {
	t.Parallel()
	goes := []string{"patch IPAllocation", "delete IPAllocation"}
	isMarked := []string{"get IPAllocation", "update IPAllocation", "delete IPAllocation"}
	others := []string{"example.com/others"}
	for sentence, test := range map[string]struct {
		edits   []allocations.Edit
		want    []string
		left    []string
		created string
	}{
		"nothing":                           {want: goes},
		"a finalizer":                       {edits: []allocations.Edit{withOthers}, want: append([]string{"get IPAllocation"}, goes...), left: others, created: "101"},
		"it is marked":                      {edits: []allocations.Edit{allocations.Terminating}, want: isMarked},
		"it is marked, and has a finalizer": {edits: []allocations.Edit{allocations.Terminating, withOthers}, want: isMarked, left: others},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			w := newSite(t, allocations.Named("a", "10.0.0.4/32", test.edits...))
			if err := w.Ledger.Out().Drop(t.Context(), known(w)); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, w.Requests()); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
			a := stored(t, w)
			if (a == nil) != (test.left == nil) || a != nil && (!slices.Equal(a.Finalizers, test.left) || a.Spec.Manager.CreatedRevision != test.created) {
				t.Errorf("stored: %v", a)
			}
		})
	}
}

// TestAHeldRecordGoesByAnUpdate, which names its UID and says where its prefix is held: after a patch the API server removes whatever has the name.
// What others have on it stays.
func TestAHeldRecordGoesByAnUpdate(t *testing.T) {
	t.Parallel()
	for sentence, edits := range map[string][]allocations.Edit{
		"marked for deletion": {allocations.Terminating}, "with a finalizer of others": {allocations.Terminating, withOthers},
	} {
		w := newSite(t, allocations.Named("a", "10.0.0.4/32", edits...))
		if err := w.Ledger.Out().Hold(t.Context(), known(w), allocations.At("a").Namespace); err != nil {
			t.Fatal(err)
		}
		if diff := cmp.Diff([]string{"create IPAllocation", "get IPAllocation", "update IPAllocation"}, w.Requests()); diff != "" {
			t.Errorf("%s: requests (-want +got):\n%s", sentence, diff)
		}
		a := stored(t, w)
		isKept := a != nil && slices.Equal(a.Finalizers, []string{"example.com/others"}) && strings.HasPrefix(a.Annotations[ipamv1.HeldAnnotation], "a-moved-")
		if hasOthers := len(edits) > 1; hasOthers != isKept || !hasOthers && a != nil {
			t.Errorf("%s: stored: %v", sentence, a)
		}
	}
}

// TestAdmissionKeepsWhatMoves: it has put Weir's finalizer back on a record that moves. That stays.
func TestAdmissionKeepsWhatMoves(t *testing.T) {
	t.Parallel()
	w := newSite(t, allocations.Named("a", "10.0.0.4/32"))
	w.PutsBack(ipamv1.AllocationFinalizer)
	if err := w.Ledger.Out().Drop(t.Context(), known(w)); !errors.Is(err, ledger.ErrBusy) || slices.Contains(w.Requests(), "delete IPAllocation") {
		t.Errorf("dropped: %v", err)
	}
}

// TestAWayOutIsInterrupted at each request in turn: that is reported, and nothing is asked for after it.
func TestAWayOutIsInterrupted(t *testing.T) {
	t.Parallel()
	for name, out := range waysOut {
		for state, edits := range map[string][]allocations.Edit{"in use": {withOthers}, "marked for deletion": {allocations.Terminating}} {
			t.Run(name+", "+state, func(t *testing.T) {
				t.Parallel()
				record := allocations.Named("a", "10.0.0.4/32", edits...)
				w := newSite(t, record)
				err := out(w.Ledger.Out(), t.Context(), known(w))
				all := len(w.Requests())
				if err != nil || all == 0 {
					t.Fatalf("%d requests, %v", all, err)
				}
				for failing := 1; failing <= all; failing++ {
					w := newSite(t, record)
					w.FailAt(failing)
					err := out(w.Ledger.Out(), t.Context(), known(w))
					if after := w.Requests(); err == nil || !strings.Contains(err.Error(), memory.ErrFailed.Error()) || len(after) != failing {
						t.Errorf("at request %d: %v, asked %v", failing, err, after)
					}
				}
			})
		}
	}
}

// TestWhetherARecordCoolsDown: unless its pool is known to have no cooldown, or another claim of the name has the same.
func TestWhetherARecordCoolsDown(t *testing.T) {
	t.Parallel()
	again := allocations.Named("again", "10.0.0.4/32", func(a *ipamv1.IPAllocation) {
		a.Spec.ClaimRef = allocations.Named("a", "").Spec.ClaimRef
		a.Spec.ClaimRef.UID = "next"
	})
	for sentence, test := range map[string]struct {
		others []*ipamv1.IPAllocation
		want   ipamv1.AllocationState
		gone   bool
	}{
		"of an unknown pool":                {want: ipamv1.CoolingState},
		"the next claim of the name has it": {others: []*ipamv1.IPAllocation{again}, gone: true},
	} {
		w := newSite(t, append(test.others, allocations.Named("a", "10.0.0.4/32"))...)
		claim := allocations.Named("a", "").Spec.ClaimRef
		i := slices.IndexFunc(w.Ledger.About(claim).Recorded(), func(h ledger.Holding) bool { return h.Claim == claim })
		if err := w.Ledger.Out().Release(t.Context(), w.Ledger.About(claim).Recorded()[i]); err != nil {
			t.Fatal(err)
		}
		a := stored(t, w)
		if (a == nil) != test.gone || a != nil && (a.Spec.State != test.want || len(a.OwnerReferences) > 0 || a.Spec.ReleasedAt.IsZero()) {
			t.Errorf("%s: stored: %v", sentence, a)
		}
	}
}

// TestARecordThatIsMarkedKeepsWhenItWasMade: the ledger has seen it before somebody marked it, and it goes only with their finalizer.
func TestARecordThatIsMarkedKeepsWhenItWasMade(t *testing.T) {
	t.Parallel()
	w := newSite(t, allocations.Named("a", "10.0.0.4/32", withOthers))
	if err := w.Raw.Delete(t.Context(), stored(t, w)); err != nil {
		t.Fatal(err)
	}
	w.Until(func() bool { return known(w).Version.Terminating })
	if err := w.Ledger.Out().Drop(t.Context(), known(w)); err != nil {
		t.Fatal(err)
	}
	if a := stored(t, w); a == nil || a.Spec.Manager.CreatedRevision != "101" {
		t.Errorf("stored: %v", a)
	}
}

// TestWhatIsRecordedForAClaim is under its UID, not released, and no hold of what has moved.
func TestWhatIsRecordedForAClaim(t *testing.T) {
	t.Parallel()
	claim := allocations.Named("a", "").Spec.ClaimRef
	forA := func(name, cidr string, edits ...allocations.Edit) *ipamv1.IPAllocation {
		return allocations.Named(name, cidr, append([]allocations.Edit{func(a *ipamv1.IPAllocation) { a.Spec.ClaimRef = claim }}, edits...)...)
	}
	w := newSite(t,
		forA("a", "10.0.0.4/32"), forA("released", "10.0.0.5/32", allocations.Released),
		forA("held", "10.0.0.6/32", func(a *ipamv1.IPAllocation) { a.Spec.State = ipamv1.MovedState }),
		forA("another", "10.0.0.7/32", func(a *ipamv1.IPAllocation) { a.Spec.ClaimRef.UID = "another" }))
	if found := w.Ledger.RecordsOf(claim); len(found) != 1 || found[0].Record.Name != "a" {
		t.Errorf("recorded: %v", found)
	}
}

// TestARepeatIsDroppedAtTheVersionSeen, and not at a later one.
func TestARepeatIsDroppedAtTheVersionSeen(t *testing.T) {
	t.Parallel()
	for sentence, interfere := range map[string]func(*testing.T, *memory.Site){"changed": change, "deleted": remove} {
		w := newSite(t, allocations.Named("a", "10.0.0.4/32"))
		seen := known(w)
		interfere(t, w)
		w.Until(func() bool {
			recorded := w.Ledger.About(seen.Claim).Recorded()
			return len(recorded) == 0 || recorded[0].Version != seen.Version
		})
		w.Requests()
		if err := w.Ledger.Out().DropRepeat(t.Context(), seen); !errors.Is(err, ledger.ErrBusy) || len(w.Requests()) > 0 {
			t.Errorf("%s: %v", sentence, err)
		}
	}
}

// TestAProofChangesOneBlock of the pool, and reports that this fails.
func TestAProofChangesOneBlock(t *testing.T) {
	t.Parallel()
	first, second := allocations.Root("p", "10.0.0.0/24", allocations.Confirmed), allocations.Root("p", "10.1.0.0/24", allocations.Confirmed)
	w := newSite(t, first, second)
	err := w.Ledger.Of(allocations.PoolRef("p")).Prove(t.Context())
	if requests := w.Requests(); err != nil || !slices.Equal(requests, []string{"patch IPAllocation"}) {
		t.Errorf("asked %v, %v", requests, err)
	}
	w = newSite(t, first)
	w.FailAt(1)
	if err := w.Ledger.Of(allocations.PoolRef("p")).Prove(t.Context()); !errors.Is(err, memory.ErrFailed) {
		t.Errorf("its failure is reported as %v", err)
	}
}
