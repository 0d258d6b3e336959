// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claim_test

import (
	"context"
	"errors"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claimant"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/clusterapi"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/door"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/kinds"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/allocations"
)

func asksFor(address string) edit { return annotated(ipamv1.AddressAnnotation, address) }

// stores replaces what has an object's name by that object.
func (w *site) stores(o client.Object) error {
	ctx := context.Background()
	old, _ := o.DeepCopyObject().(client.Object)
	err := w.Raw.Get(ctx, client.ObjectKeyFromObject(o), old)
	if err == nil {
		old.SetFinalizers(nil)
		err = errors.Join(w.Raw.Update(ctx, old), w.Raw.Delete(ctx, old))
	}
	if client.IgnoreNotFound(err) != nil {
		return err
	}
	fresh, _ := o.DeepCopyObject().(client.Object)
	fresh.SetResourceVersion("")
	if err = w.Raw.Create(ctx, fresh); err != nil {
		return err
	}
	claim, isClaim := o.(*ipamv1beta2.IPAddressClaim)
	if !isClaim {
		return nil
	}
	claim = claim.DeepCopy()
	claim.ResourceVersion = fresh.GetResourceVersion()
	return w.Raw.Status().Update(ctx, claim)
}

// numbers is byStatus, of which a claim that stands in has the name that ClaimOf says.
type numbers struct{ byStatus }

// StandIn implements door.Form.
func (f numbers) StandIn(stored client.Object) claimant.Claimant {
	c := f.Form.StandIn(stored)
	c.SetName(f.ClaimOf(stored).Name)
	return c
}

// tooLate has this process record 10.0.0.5 for claim a, and store its answer. That takes so long that other managers have answered the claim
// meanwhile, and released the record, as these objects show.
func tooLate(meanwhile ...client.Object) func(*site) {
	return func(w *site) {
		hangs := true
		w.Before = func(request string) {
			if hangs && request == "create IPAddress" {
				w.FailAt(1)
			}
		}
		_, _ = w.Reconcile(context.Background(), ctrl.Request{NamespacedName: allocations.At("a")})
		hangs = false
		w.FailAt(0)
		records := &ipamv1.IPAllocationList{}
		err := w.Raw.List(context.Background(), records, client.MatchingFields{"spec.claimRef.name": "a"})
		for i := range records.Items {
			records.Items[i].Finalizers = nil
			err = errors.Join(err, w.Raw.Update(context.Background(), &records.Items[i]), w.Raw.Delete(context.Background(), &records.Items[i]))
		}
		for _, o := range meanwhile {
			err = errors.Join(err, w.stores(o))
		}
		if err != nil || len(records.Items) != 1 || records.Items[0].Spec.CIDR != "10.0.0.5/32" {
			panic(errors.Join(err, errors.New("10.0.0.5 alone was to be recorded")))
		}
		w.Until(func() bool {
			recorded := w.Ledger.About(kinds.Claim(kinds.IPAddressClaim, allocations.At("a"), "")).Recorded()
			return len(recorded) == 1 && recorded[0].CIDR.String() == "10.0.0.4/32"
		})
	}
}

// TestWhatAManagerHasStoredTooLate goes by what that manager remembers, for no record tells of it any more. It remembers the claim, too: what
// has the name otherwise may be in use.
func TestWhatAManagerHasStoredTooLate(t *testing.T) {
	t.Parallel()
	c, its, next := claimA(ready("p-10.0.0.4")), numbered("10.0.0.4", "21"), types.UID("next")
	late := func(edits ...edit) client.Object { return numbered("10.0.0.5", "22", edits...) }
	for sentence, test := range map[string]struct {
		meanwhile objects
		want      []string
	}{
		"it":                            {objects{c, its, recordA(), late()}, answerGoes},
		"one that was made by hand":     {objects{c, its, recordA(), late(ownedBy(""), withoutFinalizers)}, together(recordMade, recordOwned)},
		"one that was restored":         {objects{c, its, recordA(), late(arrived)}, together(recordMade, recordOwned)},
		"one of the claim that is next": {objects{claimA(ready("p-10.0.0.4"), withUID(next)), numbered("10.0.0.4", "21", ownedBy(next)), recordOf("next", "a", "10.0.0.4/32"), late(ownedBy(next))}, together(recordMade, recordOwned)},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			w := situation{stored: objects{claimA(asksFor("10.0.0.5"))}, prepare: tooLate(test.meanwhile...)}.site(t, numbers{})
			writes, err := w.once(t)
			if diff := gocmp.Diff(test.want, writes); diff != "" || err != nil {
				t.Errorf("writes (-want +got):\n%s%v", diff, err)
			}
			if _, answer := w.status(t); answer != its.Name {
				t.Errorf("the claim was told %s", answer)
			}
		})
	}
}

// TestWhichOfSeveralAnswersAClaimIsTold, where its status is the commit.
func TestWhichOfSeveralAnswersAClaimIsTold(t *testing.T) {
	t.Parallel()
	c, its, other := claimA(ready("p-10.0.0.4")), numbered("10.0.0.4", "21"), numbered("10.0.0.5", "22")
	moved, dead, isTold := claimA(ready("p-10.0.0.5")), numbered("10.0.0.5", "22", ownedBy("dead")), ipamv1.ClaimReadyAllocatedReason
	for sentence, test := range map[string]situation{
		"two came with it, its status names one":    {stored: objects{c, its, other}, want: together(recordMade, recordMade), told: isTold, answer: "p-10.0.0.4"},
		"one came with it, beside a dead one's":     {stored: objects{claimA(), its, dead}, want: together(recordMade, recordMade), told: isTold, answer: "p-10.0.0.4"},
		"a manager that is ahead has named another": {stored: objects{moved, its, recordA()}, cached: objects{moved, its}, prepare: ahead(recordOf("claim a", "second", "10.0.0.5/32")), answer: "p-10.0.0.5"},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			test.run(t, byStatus{})
		})
	}
}

// TestAnAnswerOfAnotherPoolThanTheClaims goes if Weir made it, and its address is not recorded; what was made by hand stays, and keeps its address.
func TestAnAnswerOfAnotherPoolThanTheClaims(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct {
		form door.Form
		situation
	}{
		"Weir made it":                          {clusterapi.Form{}, situation{stored: objects{claimA(), answerA(ownedBy(""), ofPoolQ)}, want: together(recordMade, answerGoes)}},
		"it was made by hand":                   {clusterapi.Form{}, situation{stored: objects{claimA(), handMade(ofPoolQ)}, want: recordMade, told: ipamv1.ClaimReadyAllocationFailedReason}},
		"it was made by hand, of a shared pool": {shared, situation{stored: objects{claimA(), handMade(ofPoolQ)}, want: recordMade, told: ipamv1.ClaimReadyAllocationFailedReason}},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			test.run(t, test.form)
		})
	}
}

// TestAnAnswerThatIsAnotherClaimsByNow is not removed with the claim that the cache shows it for.
func TestAnAnswerThatIsAnotherClaimsByNow(t *testing.T) {
	t.Parallel()
	ofB := func(o client.Object) {
		a, _ := o.(*ipamv1beta2.IPAddress)
		a.Spec.ClaimRef.Name = "b"
		a.OwnerReferences[0].Name, a.OwnerReferences[0].UID = "b", "claim b"
	}
	stored := objects{answerA(called("x"), ofB), allocations.Named("b", "10.0.0.4/32")}
	situation{stored: stored, cached: objects{answerA(called("x"), ownedBy("dead"))}}.run(t, shared)
}

// TestWhatIsInTheWayOfAClaim is told only if it stays: what a dead claim of the name had goes, and the claim asks again at once.
func TestWhatIsInTheWayOfAClaim(t *testing.T) {
	t.Parallel()
	c, dead := claimA(asksFor("10.0.0.4")), recordOf("dead", "dead", "10.0.0.4/31")
	taken := ipamv1.ClaimReadyAllocationFailedReason
	for sentence, test := range map[string]situation{
		"a dead one's":                     {stored: objects{c, dead}, want: recordGoes, told: nothing},
		"a dead one's, which has more":     {stored: objects{c, dead, recordOf("dead", "more", "10.0.0.8/32", inClusterC), clusterC(true)}, want: recordGoes, told: nothing},
		"a dead one's, its Cluster paused": {stored: objects{c, recordOf("dead", "dead", "10.0.0.4/31", inClusterC), clusterC(true)}, told: taken},
		"another one's":                    {stored: objects{c, allocations.Named("b", "10.0.0.4/32")}, told: taken},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			test.run(t, clusterapi.Form{})
		})
	}
}

// TestWhatStaysBesideTheAnswerOfAClaim does not keep the claim from what it has: it is told so.
func TestWhatStaysBesideTheAnswerOfAClaim(t *testing.T) {
	t.Parallel()
	c, isTold := claimA(ready("a")), ipamv1.ClaimReadyAllocatedReason
	first, second := recordA(allocations.CreatedAt("5")), recordOf("claim a", "second", "10.0.0.4/32", allocations.CreatedAt("6"))
	for sentence, test := range map[string]situation{
		"a dead one's, which is in use outside": {stored: objects{c, answerA(), recordA(), recordOf("dead", "dead", "10.0.0.5/32", allocations.Elsewhere)}, prepare: keepOutside, want: recordOwned, told: isTold},
		"a second record of the same":           {stored: objects{c, answerA(), first, second}, want: recordOwned, told: isTold},
		"a second record of the same, for long": {stored: objects{c, answerA(), first, second}, prepare: later, want: together(recordOwned, recordOwned, recordGoes), told: isTold},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			test.run(t, clusterapi.Form{})
		})
	}
}

// TestAClaimThatIsLookedAtAgain costs no live read and no write while nothing has changed: all claims are, each time that a manager starts.
func TestAClaimThatIsLookedAtAgain(t *testing.T) {
	t.Parallel()
	for sentence, stored := range map[string]objects{
		"it has its answer":                  {claimA(), answerA(), recordA()},
		"another claim has what it asks for": {claimA(asksFor("10.0.0.4")), allocations.Named("b", "10.0.0.4/32")},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			w := newSite(t, stored, nil)
			if _, err := w.once(t); err != nil {
				t.Fatal(err)
			}
			w.clock.SetTime(now.Add(time.Second))
			_, err := w.Reconcile(t.Context(), ctrl.Request{NamespacedName: allocations.At("a")})
			if diff := gocmp.Diff([]string{"get IPAddressClaim", "get IPAddress"}, w.Requests()); diff != "" || err != nil {
				t.Errorf("requests (-want +got):\n%s%v", diff, err)
			}
		})
	}
}
