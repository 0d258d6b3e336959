// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger_test

import (
	"context"
	"slices"
	"sync"
	"testing"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/audit"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ipspace"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/allocations"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/memory"
)

// trailOf has the reasons of all releases.
var trailOf = sync.OnceValue(func() *memory.Trail { return memory.NewTrail("Released", "reason") })

// setPoolP registers pool p, which has no cooldown.
func setPoolP(t *testing.T, w *memory.Site) {
	t.Helper()
	block, err := ipspace.ParseEntry("10.0.0.0/24")
	if err != nil {
		t.Fatal(err)
	}
	shape := pooltree.New(pooltree.Config{Areas: []pooltree.Area{{Range: block, Network: pooltree.Network{Bits: 24}}}})
	w.Ledger.SetPool(ledger.Pool{Ref: allocations.PoolRef("p"), UID: "pool p", Space: "default", Namespace: "ns", Shape: shape})
}

// named is what the ledger shows of the record of that name.
func named(w *memory.Site, name string) ledger.Holding {
	all := w.Ledger.All()
	return all[slices.IndexFunc(all, func(h ledger.Holding) bool { return h.Record.Name == name })]
}

// TestWhatTheTrailSaysOfARecordThatGoes: each release once, with what it was kept for, and nothing where nothing is released.
func TestWhatTheTrailSaysOfARecordThatGoes(t *testing.T) {
	held := func(a *ipamv1.IPAllocation) { a.Spec.State = ipamv1.MovedState }
	inState := func(state ipamv1.AllocationState) allocations.Edit {
		return func(a *ipamv1.IPAllocation) { allocations.Released(a); a.Spec.State = state }
	}
	record := func(edits ...allocations.Edit) *ipamv1.IPAllocation {
		return allocations.Named("trailed", "10.0.0.4/32", edits...)
	}
	root := allocations.Root("p", "10.0.0.0/24", allocations.Confirmed)
	handedBack := allocations.Root("p", "10.0.0.0/24", allocations.HandedBack("t"))
	ended := allocations.Root("p", "10.0.0.0/24", allocations.HandedBack("t"), allocations.Ended)
	again := allocations.Named("again", "10.0.0.4/32", func(a *ipamv1.IPAllocation) {
		a.Spec.ClaimRef = record().Spec.ClaimRef
		a.Spec.ClaimRef.UID = "next"
	})
	type wayOut = func(ledger.Out, context.Context, ledger.Holding) error
	for sentence, test := range map[string]struct {
		record, other *ipamv1.IPAllocation
		out           wayOut
		// byOthers: somebody else takes the record away just before.
		byOthers bool
		want     []string
	}{
		"nobody was told":                          {record: record(), out: ledger.Out.Drop, want: []string{audit.Void}},
		"a pool's own block":                       {record: root, out: ledger.Out.Drop, want: []string{audit.Gone}},
		"a carved pool's block":                    {record: record(), out: ledger.Out.DropBlock, want: []string{audit.Gone}},
		"its claim is gone":                        {record: record(), out: ledger.Out.Release, want: []string{audit.Gone}},
		"its claim retains":                        {record: record(), out: ledger.Out.Retain, want: []string{audit.Retained}},
		"a hold":                                   {record: record(held), out: ledger.Out.Drop, want: []string{audit.HoldEnded}},
		"it was retained":                          {record: record(inState(ipamv1.RetainedState)), out: ledger.Out.Drop, want: []string{audit.RetentionEnded}},
		"it has cooled down":                       {record: record(inState(ipamv1.CoolingState)), out: ledger.Out.Drop, want: []string{audit.CooledDown}},
		"it was handed back":                       {record: handedBack, out: ledger.Out.Drop, want: []string{audit.HandBackEnded}},
		"its hand-back ends":                       {record: handedBack, out: ledger.Out.EndHandBack, want: []string{audit.HandBackEnded}},
		"its hand-back has ended":                  {record: ended, out: ledger.Out.Drop},
		"the next claim of the name has it":        {record: record(), other: again, out: ledger.Out.Release},
		"it was retained, and the next one has it": {record: record(inState(ipamv1.RetainedState)), other: again, out: ledger.Out.Drop, want: []string{audit.RetentionEnded}},
		"somebody else has taken it away":          {record: record(), out: ledger.Out.Drop, byOthers: true},
	} {
		t.Run(sentence, func(t *testing.T) {
			told, stored := trailOf(), []*ipamv1.IPAllocation{test.record.DeepCopy()}
			if test.other != nil {
				stored = append(stored, test.other.DeepCopy())
			}
			w := newSite(t, stored...)
			setPoolP(t, w)
			told.Of("ns/" + test.record.Name)
			own := &ipamv1.IPAllocation{}
			if err := w.Raw.Get(t.Context(), allocations.KeyOf(test.record), own); err != nil {
				t.Fatal(err)
			}
			w.Before = func(request string) {
				if test.byOthers && request == "patch IPAllocation" {
					takeAway(t, w, own)
				}
			}
			if err := test.out(w.Ledger.Out(), t.Context(), named(w, test.record.Name)); err != nil {
				t.Fatal(err)
			}
			if got := told.Of("ns/" + test.record.Name); !slices.Equal(got, test.want) {
				t.Errorf("told: %v, want %v", got, test.want)
			}
		})
	}
}

// TestAProofIsByARecordOfThePool: it is changed, the watch shows that, and whoever waits for room in the pool is told.
func TestAProofIsByARecordOfThePool(t *testing.T) {
	t.Parallel()
	w := newSite(t, allocations.Root("p", "10.0.0.0/24", allocations.Confirmed))
	setPoolP(t, w)
	p := w.Ledger.Of(allocations.PoolRef("p"))
	freed := w.Ledger.Notices().Freed(t.Context())
	for range 2 {
		if err := p.Prove(t.Context()); err != nil {
			t.Fatal(err)
		}
		if got := w.Requests(); !slices.Equal(got, []string{"patch IPAllocation"}) {
			t.Errorf("requests: %v", got)
		}
		if got := <-freed; got != allocations.PoolRef("p") {
			t.Errorf("told of %v", got)
		}
	}
	w.FailAt(1)
	if err := p.Prove(t.Context()); err == nil {
		t.Error("a proof that the API server did not answer is taken for one")
	}
}
