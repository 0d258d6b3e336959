// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claimant

import (
	"errors"
	"net/netip"
	"slices"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/runtime"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/allocations"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/memory"
)

// knowing is a way out of a ledger that knows these records.
func knowing(t *testing.T, all ...*ipamv1.IPAllocation) (*memory.Site, *Exit) {
	t.Helper()
	s := runtime.NewScheme()
	if err := ipamv1.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	objects := make([]client.Object, 0, len(all))
	for _, a := range all {
		objects = append(objects, a)
	}
	w := memory.New(t, memory.Options{Scheme: s, Clock: clocktesting.NewFakePassiveClock(time.Unix(1_000_000, 0)), Objects: objects})
	return w, &Exit{Client: w.Behind(), Live: w, Ledger: w.Ledger}
}

// holdingOf is a record as the ledger shows it.
func holdingOf(t *testing.T, w *memory.Site, a *ipamv1.IPAllocation) ledger.Holding {
	t.Helper()
	all := w.Ledger.About(a.Spec.ClaimRef).Recorded()
	i := slices.IndexFunc(all, func(h ledger.Holding) bool { return h.Version.UID == a.UID })
	if i < 0 {
		t.Fatalf("not recorded: %s", a.Name)
	}
	return all[i]
}

func isThere(t *testing.T, w *memory.Site, a *ipamv1.IPAllocation) bool {
	t.Helper()
	err := w.Raw.Get(t.Context(), allocations.KeyOf(a), &ipamv1.IPAllocation{})
	if client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	return err == nil
}

// TestAMembersBlockGoesForAnotherRecord that keeps the same with the member, and is there as the ledger knows it.
func TestAMembersBlockGoesForAnotherRecord(t *testing.T) {
	t.Parallel()
	earlier := allocations.Named("a", "10.0.0.0/28", block, withMember, allocations.Confirmed)
	later := allocations.Named("b", "10.0.0.0/28", block, withMember, allocations.Confirmed, claimRef(func(c *ipamv1.ClaimReference) { c.UID = "later" }))
	prove := func(e *Exit, h ledger.Holding) Reason {
		return ClaimDeleted(GivenBack{ofClaim{e.Observe([]ledger.Holding{h}), h.Claim}, nil})
	}
	for sentence, test := range map[string]struct {
		records []*ipamv1.IPAllocation
		gone    bool
		failing int
	}{
		"there is one":         {records: []*ipamv1.IPAllocation{earlier, later}, gone: true},
		"there is none":        {records: []*ipamv1.IPAllocation{earlier}},
		"it has gone since":    {records: []*ipamv1.IPAllocation{earlier, later}},
		"it cannot be read":    {records: []*ipamv1.IPAllocation{earlier, later}, failing: 1},
		"it is another member": {records: []*ipamv1.IPAllocation{earlier, allocations.Named("b", "10.0.0.0/28", block, allocations.DelegatedTo("edge-b"), allocations.Confirmed)}},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			w, e := knowing(t, test.records...)
			h := holdingOf(t, w, earlier)
			why := prove(e, h)
			if sentence == "it has gone since" {
				gone := later.DeepCopy()
				if err := w.Raw.Get(t.Context(), allocations.KeyOf(later), gone); err != nil {
					t.Fatal(err)
				}
				w.Before = func(request string) {
					if request != "get IPAllocation" || gone == nil {
						return
					}
					gone.Finalizers = nil
					if err := errors.Join(w.Raw.Update(t.Context(), gone), w.Raw.Delete(t.Context(), gone)); err != nil {
						t.Error(err)
					}
					gone = nil
				}
			}
			w.FailAt(test.failing)
			gone, err := e.Release(t.Context(), h, why)
			if gone != test.gone || isThere(t, w, earlier) == test.gone || (err != nil) != (test.failing > 0) {
				t.Errorf("gone is %t, %v", gone, err)
			}
		})
	}
}

// TestASecondAddressThatIsRecordedStays: another manager was late, and the record goes as one beside the claim's answer.
func TestASecondAddressThatIsRecordedStays(t *testing.T) {
	t.Parallel()
	told, late := allocations.Named("a", "10.0.0.4/32", backed), allocations.Named("late", "10.0.0.5/32")
	w, e := knowing(t, told, late)
	outside := &cloud{world: &world{}}
	e.Outside = outside
	h := holdingOf(t, w, told)
	why := Surplus{ofClaim{e.Observe(nil), h.Claim}, h, netip.MustParseAddr("10.0.0.5")}
	if isAsked, err := e.GiveBackSurplus(t.Context(), why); isAsked || !errors.Is(err, ledger.ErrBusy) || len(outside.world.requests) > 0 {
		t.Errorf("asked %t, %v", isAsked, err)
	}
	why.address = netip.MustParseAddr("10.0.0.6")
	if isAsked, err := e.GiveBackSurplus(t.Context(), why); !isAsked || err != nil {
		t.Errorf("of what nothing records: asked %t, %v", isAsked, err)
	}
}
