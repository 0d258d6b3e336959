// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claim_test

import (
	"context"
	"errors"
	"slices"
	"testing"

	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claim"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claimant"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/clusterapi"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/door"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/kinds"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/tenancy"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/allocations"
)

// handMade is answer a as a user makes it: it names no claim and lacks Weir's finalizer.
func handMade(edits ...edit) *ipamv1beta2.IPAddress {
	return answerA(append([]edit{ownedBy(""), withoutFinalizers}, edits...)...)
}

// reserved is the address that the network of pool p reserves: the pool hands it out to no claim.
const reserved = "10.0.0.0"

// heldFor is the record that holds an address for answer a, which a user made before there was a claim.
func heldFor(address string) *ipamv1.IPAllocation {
	return recordOf("answer a", "held", address+"/32")
}

// closePool has the pool hand out nothing new.
func closePool(w *site) {
	w.source.offer.Closed = &claimant.Refusal{Reason: ipamv1.ClaimReadyPoolNotReadyReason, Message: "it leaves"}
}

// knownAs has the claims' other names be found like that.
func knownAs(alias door.Alias) func(*site) {
	return func(w *site) {
		c := w.Client
		w.Reconciler = claim.New(claim.Options{
			Client: c, Live: w.Site, Ledger: w.Ledger, Form: w.Form, Source: w.source, Recorder: w.recorder, Clock: w.clock, Arrivals: w.arrivals,
			Outside: w.outside, Alias: alias, Rules: &tenancy.Rules{Client: c, Platform: "platform", Namespace: "weir-system"},
		})
	}
}

// hostless: the claim has no host yet, so that its other name is not known.
func hostless(context.Context, client.Object, *door.Offer) (string, error) {
	return "", &claimant.Refusal{Reason: ipamv1.ClaimReadyWaitingForHostReason, Message: "it has no host"}
}

// TestAnAnswerThatAUserMadeFirst becomes the claim's only where the pool hands its address out to this claim, whatever record holds it meanwhile:
// else a user could have any address that the pool keeps back, or keeps for another host.
func TestAnAnswerThatAUserMadeFirst(t *testing.T) {
	t.Parallel()
	c, refused := claimA(), ipamv1.ClaimReadyAllocationFailedReason
	for sentence, test := range map[string]situation{
		"its address is reserved":                     {stored: objects{c, handMade(withAddress(reserved))}, told: refused},
		"and the claim arrived":                       {stored: objects{claimA(arrived), handMade(withAddress(reserved))}, told: refused},
		"and a record holds it":                       {stored: objects{c, handMade(withAddress(reserved)), heldFor(reserved)}, told: refused},
		"a record holds it, the claim waits for host": {stored: objects{c, handMade(), heldFor("10.0.0.4")}, prepare: knownAs(hostless), told: ipamv1.ClaimReadyWaitingForHostReason},
		"a record holds it, something controls it":    {stored: objects{c, handMade(controlled), heldFor("10.0.0.4")}, told: refused},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			test.run(t, clusterapi.Form{})
		})
	}
}

// TestAnAnswerThatAUserMadeInAClosedPool becomes the claim's where a record holds its address for it: the pool has given that before. All else
// would be new, and the pool could never be emptied.
func TestAnAnswerThatAUserMadeInAClosedPool(t *testing.T) {
	t.Parallel()
	c, closed := claimA(), ipamv1.ClaimReadyPoolNotReadyReason
	for sentence, test := range map[string]situation{
		"a record holds it":                    {stored: objects{c, handMade(), heldFor("10.0.0.4")}, prepare: closePool, want: together(recordMade, answerOwned, recordGoes)},
		"nothing holds it":                     {stored: objects{c, handMade()}, prepare: closePool, told: closed},
		"a record holds another address of it": {stored: objects{c, handMade(), heldFor("10.0.0.5")}, prepare: closePool, told: closed},
		"a dead claim's record holds it":       {stored: objects{c, handMade(), recordOf("dead", "dead", "10.0.0.4/32")}, prepare: closePool, told: closed},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			test.run(t, clusterapi.Form{})
		})
	}
}

// TestAnAddressThatAnotherClaimHasAsWell is told again at each pass, also once both are recorded: two hosts use it, until a user decides.
func TestAnAddressThatAnotherClaimHasAsWell(t *testing.T) {
	t.Parallel()
	test := situation{
		stored:  objects{claimA(ready("a")), answerA(), recordA(adopted), allocations.Named("b", "10.0.0.4/32")},
		prepare: later, told: ipamv1.ClaimReadyAddressConflictReason, answer: "a",
	}
	test.run(t, clusterapi.Form{})
}

// TestAClaimThatLosesWhatItCameWith waits for that once more, as long as at first: it may be restored a second time, and an address that it
// is given at once would be another one.
func TestAClaimThatLosesWhatItCameWith(t *testing.T) {
	t.Parallel()
	w := newSite(t, objects{claimA(arrived)}, nil)
	pass := func(sentence string, want []string) {
		t.Helper()
		if writes, err := w.once(t); err != nil || !slices.Equal(writes, want) {
			t.Errorf("%s: writes %v, want %v, %v", sentence, writes, want, err)
		}
	}
	pass("it waits", nil)
	if err := w.Raw.Create(t.Context(), answerA(ownedBy("former"), atVersion(""))); err != nil {
		t.Fatal(err)
	}
	pass("its answer has come", together(recordMade, answerOwned))
	w.clock.SetTime(now.Add(2 * grace))
	w.loseA(t)
	pass("it has lost that", nil)
}

// loseA has answer a vanish, and all that is recorded for claims named a.
func (w *site) loseA(t *testing.T) {
	t.Helper()
	list := &ipamv1.IPAllocationList{}
	if err := w.Raw.List(t.Context(), list, client.MatchingFields{"spec.claimRef.name": "a"}); err != nil {
		t.Fatal(err)
	}
	lost := append(make(objects, 0, len(list.Items)+1), answerA())
	for i := range list.Items {
		lost = append(lost, &list.Items[i])
	}
	for _, o := range lost {
		w.vanish(t, o)
	}
	w.Until(func() bool {
		return len(w.Ledger.About(kinds.Claim(kinds.IPAddressClaim, allocations.At("a"), "")).Recorded()) == 0
	})
}

// vanish has an object be deleted without Weir.
func (w *site) vanish(t *testing.T, o client.Object) {
	t.Helper()
	err := w.Raw.Get(t.Context(), client.ObjectKeyFromObject(o), o)
	o.SetFinalizers(nil)
	if err = errors.Join(err, w.Raw.Update(t.Context(), o), w.Raw.Delete(t.Context(), o)); err != nil {
		t.Fatal(err)
	}
}
