// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claimant

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/allocations"
)

// ofIPClaim makes it the name of IPClaim a.
func ofIPClaim(c *ipamv1.ClaimReference) {
	c.APIGroup, c.Kind, c.Name, c.UID = ipamv1.GroupVersion.Group, ipamv1.IPClaimKind, "a", "claim a"
}

// TestWhatWasNeverStoredDoesNotCool: no client knows of its prefix, and whoever creates the object again need not wait for another one.
func TestWhatWasNeverStoredDoesNotCool(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct {
		why    row
		record *ipamv1.IPAllocation
		cools  bool
	}{
		"a claim that was stored":       {claimGone, allocations.Named("a", "10.0.0.4/32", claimRef(ofIPClaim)), true},
		"a claim that was never stored": {claimGone, allocations.Named("a", "10.0.0.4/32", claimRef(ofIPClaim), withoutOwners), false},
		"a pool that was stored":        {poolGone, allocations.Named("a", "10.0.0.0/28", block), true},
		"a pool that was never stored":  {poolGone, allocations.Named("a", "10.0.0.0/28", block, withoutOwners), false},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			w, e := knowing(t, test.record)
			h := holdingOf(t, w, test.record)
			gone, err := e.Release(t.Context(), h, reasonsOf[test.why](&world{Exit: e}, h))
			if isKept := isThere(t, w, test.record); isKept != test.cools || !gone || err != nil {
				t.Errorf("it is there: %t; gone is %t, %v", isKept, gone, err)
			}
		})
	}
}

// TestWhatIsBackEndsTheHoldThatWasKnown: one that came after the claim was read stands for what the claim took along since.
func TestWhatIsBackEndsTheHoldThatWasKnown(t *testing.T) {
	t.Parallel()
	hold := allocations.Named("a", "10.0.0.4/32", held, claimRef(ofIPClaim), claimRef(func(c *ipamv1.ClaimReference) { c.UID = "elsewhere" }))
	again := allocations.Named("b", "10.0.0.4/32", claimRef(ofIPClaim))
	w, e := knowing(t, hold, again)
	claim := &ipamv1.IPClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a", UID: "claim a"}}
	if err := w.Raw.Create(t.Context(), claim); err != nil {
		t.Fatal(err)
	}
	known := holdingOf(t, w, hold)
	o := e.Observe([]ledger.Holding{known})
	if err := o.Get(t.Context(), client.ObjectKeyFromObject(claim), claim); err != nil {
		t.Fatal(err)
	}
	answered := o.Answered(again.Spec.ClaimRef, claim)
	if !answered.Returned(known).covers(known) {
		t.Error("what is back does not end its hold")
	}
	changed, added := known, known
	changed.Version.Version += "1"
	added.Version.UID = "added"
	for what, late := range map[string]ledger.Holding{"the hold was changed since": changed, "it is another hold": added} {
		if answered.Returned(late).IsProved() {
			t.Errorf("%s: it ends", what)
		}
	}
}
