// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ipclaim_test

import (
	"errors"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrl "sigs.k8s.io/controller-runtime"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/tenancy"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/allocations"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/memory"
)

// poolP is pool p.
func poolP() *ipamv1.IPPool {
	return &ipamv1.IPPool{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: "pool p", ResourceVersion: "9", Generation: 1},
		Spec:       ipamv1.IPPoolSpec{CIDR: "10.0.0.0/24"},
	}
}

// TestARestoredClaimThatIsHalted has its prefix recorded, or another claim could get what a host uses. Its conditions report no more than why it
// is halted.
func TestARestoredClaimThatIsHalted(t *testing.T) {
	t.Parallel()
	recorded := []string{"create IPAllocation"}
	const missing, isFree = ipamv1.ClaimReadyClusterNotFoundReason, true
	for sentence, test := range map[string]struct {
		stored objects
		want   []string
		// told is the reason of its condition Ready; "" if it has none.
		told string
		// isFree: another claim can have the prefix.
		isFree bool
		// unready: its pool is not known here yet. wakes: it is looked at again, though nothing changes.
		unready, wakes bool
	}{
		"it is paused":                       {stored: objects{claimA(arrived, paused)}, want: recorded},
		"its Cluster is paused":              {stored: objects{claimA(arrived, inCluster), clusterC(true)}, want: recorded},
		"its Cluster is missing":             {stored: objects{claimA(arrived, inCluster)}, want: recorded, told: missing},
		"the record that it had comes along": {stored: objects{claimA(arrived, paused), recordA(of("former"), cameWith)}, want: recorded},
		"another claim has the prefix":       {stored: objects{claimA(arrived, paused), record("b", "10.0.0.4/32", of("other"), named("b"))}, want: recorded, wakes: true},
		"it has its record":                  {stored: objects{claimA(arrived, paused), recordA()}},
		"it has lost":                        {stored: objects{claimA(arrived, paused), record("b", "10.0.0.4/32", of("other"), named("b")), recordA()}},
		"it is leaving, and is held":         {stored: objects{claimA(arrived, paused), recordA(held)}, wakes: true},
		"it is leaving":                      {stored: objects{claimA(arrived, paused, moving)}, isFree: isFree},
		"it is being deleted":                {stored: objects{claimA(arrived, paused, deleted)}, isFree: isFree},
		"it was not restored":                {stored: objects{claimA(paused)}, isFree: isFree},
		"it has no prefix":                   {stored: objects{claimA(arrived, paused, with(""))}, isFree: isFree},
		"it names no pool":                   {stored: objects{claimA(arrived, paused, withoutPool)}, isFree: isFree},
		"its pool does not have the prefix":  {stored: objects{claimA(arrived, paused, with("10.1.0.4/32"))}, isFree: isFree},
		"its pool is not there yet":          {stored: objects{claimA(arrived, paused)}, unready: true, wakes: true},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			site := func() *site {
				w := newSite(t, append(test.stored[:len(test.stored):len(test.stored)], poolP()), nil)
				w.Entitled.Registry.Rules = &tenancy.Rules{Client: w.Site, Platform: "platform", Namespace: "weir-system"}
				if test.unready {
					takeAway(t, w, allocations.Root("p", "10.0.0.0/24"))
				}
				return w
			}
			w := site()
			result, err := w.Reconcile(t.Context(), ctrl.Request{NamespacedName: allocations.At("a")})
			requests := w.Requests()
			if diff := cmp.Diff(test.want, written(requests), cmpopts.EquateEmpty()); diff != "" || err != nil {
				t.Errorf("writes (-want +got):\n%s%v", diff, err)
			}
			if wakes := result.RequeueAfter != 0; wakes != test.wakes {
				t.Errorf("looked at again after %s", result.RequeueAfter)
			}
			if told := w.told(t); told != test.told {
				t.Errorf("told %q, want %q", told, test.told)
			}
			_, err = w.Site.Ledger.Preview(ledger.Claim{
				Ref: ipamv1.ClaimReference{Kind: "K", Namespace: "ns", Name: "d", UID: "d"}, Pool: allocations.PoolRef("p"), Bits: 32,
				Want: netip.MustParsePrefix("10.0.0.4/32"), Purpose: ledger.ForClaim,
			})
			if isTaken := errors.Is(err, ledger.ErrTaken); isTaken == test.isFree && !test.unready {
				t.Errorf("another claim that asks for the prefix: %v", err)
			}
			for failing := 1; failing <= len(requests); failing++ {
				if requests[failing-1] == "get IPPool" { // what a cache does not have is read live
					continue
				}
				w := site()
				w.FailAt(failing)
				if _, err := w.Reconcile(t.Context(), ctrl.Request{NamespacedName: allocations.At("a")}); !errors.Is(err, memory.ErrFailed) {
					t.Errorf("request %d, %s, fails: reported %v", failing, requests[failing-1], err)
				}
			}
		})
	}
}

// takeAway ends a record whatever keeps it, and waits until the ledger shows that.
func takeAway(t *testing.T, w *site, a *ipamv1.IPAllocation) {
	t.Helper()
	if err := w.Raw.Get(t.Context(), allocations.KeyOf(a), a); err != nil {
		t.Fatal(err)
	}
	a.Finalizers = nil
	if err := errors.Join(w.Raw.Update(t.Context(), a), w.Raw.Delete(t.Context(), a)); err != nil {
		t.Fatal(err)
	}
	w.Until(func() bool { return !w.Site.Ledger.Of(allocations.PoolRef("p")).Serves() })
}

// told returns the reason of the claim's condition Ready; "" if it has none.
func (w *site) told(t *testing.T) string {
	t.Helper()
	c := &ipamv1.IPClaim{}
	if err := w.Raw.Get(t.Context(), allocations.At("a"), c); err != nil {
		t.Fatal(err)
	}
	if ready := meta.FindStatusCondition(c.Status.Conditions, ipamv1.ReadyCondition); ready != nil {
		return ready.Reason
	}
	return ""
}
