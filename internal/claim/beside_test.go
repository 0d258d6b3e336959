// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claim_test

import (
	"slices"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/clusterapi"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/allocations"
)

// another is a claim beside claim a.
func another(name string) *ipamv1beta2.IPAddressClaim {
	return claimA(called(name), withUID(types.UID("claim "+name)), atVersion(""))
}

// otherwise is an IPAddress that another controller has named, of that address, for claim a.
func otherwise(address string, edits ...edit) *ipamv1beta2.IPAddress {
	return edited(answerA(called("m3-"+address), atVersion(""), withAddress(address), withUID(types.UID("answer "+address))), edits...)
}

// TestAnAnswerNamedOtherwiseBesideTheClaimsOwn holds its address, whether it is there when the pool begins to hand out, or comes later: a host may
// use what was restored.
func TestAnAnswerNamedOtherwiseBesideTheClaimsOwn(t *testing.T) {
	t.Parallel()
	for sentence, owner := range map[string]types.UID{"it is the claim's": "claim a", "it was its former self's": "former", "it names no claim": ""} {
		restored := func(address string) *ipamv1beta2.IPAddress { return otherwise(address, arrived, ownedBy(owner)) }
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			w := newSiteOf(t, shared, objects{claimA(ready("a")), answerA(), recordA(), restored("10.0.0.1"), another("b"), another("c"), another("d")}, nil)
			first := w.given(t, "b")
			if own := w.given(t, "a"); own != "10.0.0.4" {
				t.Errorf("the claim gets %s", own)
			}
			if second, third := w.given(t, "c"), w.given(t, "d"); first != "10.0.0.2" || second != "10.0.0.3" || third != "10.0.0.5" {
				t.Errorf("there first: others get %s, %s and %s", first, second, third)
			}
			w = newSiteOf(t, shared, objects{claimA(), another("b"), another("c"), another("d")}, nil)
			own, first := w.given(t, "a"), w.given(t, "b")
			if err := w.Raw.Create(t.Context(), restored("10.0.0.3")); err != nil {
				t.Fatal(err)
			}
			if again := w.given(t, "a"); own != "10.0.0.1" || again != own {
				t.Errorf("the claim gets %s, and then %s", own, again)
			}
			if second, third := w.given(t, "c"), w.given(t, "d"); first != "10.0.0.2" || second != "10.0.0.4" || third != "10.0.0.5" {
				t.Errorf("there later: others get %s, %s and %s", first, second, third)
			}
		})
	}
}

// TestWhichOfSeveralAnswersOfASharedPoolAClaimHas: the one that it was told of, or that has its name; neither is renumbered.
func TestWhichOfSeveralAnswersOfASharedPoolAClaimHas(t *testing.T) {
	t.Parallel()
	told, byHand := claimA(ready("m3-10.0.0.9")), answerA(ownedBy(""), withoutFinalizers)
	its, record := otherwise("10.0.0.9", atVersion("22")), recordOf("claim a", "a", "10.0.0.9/32")
	for sentence, test := range map[string]situation{
		"it was told of one, a user made another":     {stored: objects{told, its, record, byHand}, want: together(recordMade, recordOwned, answerOwned), answer: "m3-10.0.0.9"},
		"two were restored, one has its name":         {stored: objects{claimA(arrived), answerA(arrived, ownedBy("former")), otherwise("10.0.0.9", atVersion("22"), arrived, ownedBy("former"))}, want: together(recordMade, recordMade, answerOwned), answer: "a"},
		"a twin was made to go back to Metal3":        {stored: objects{claimA(ready("a")), answerA(), recordA(), otherwise("10.0.0.4", atVersion("22"))}, want: together(answerOwned, answerGoes), answer: "a"},
		"two were moved, one has its name":            {stored: objects{claimA(), answerA(), otherwise("10.0.0.9", atVersion("22"))}, want: together(recordMade, recordMade, answerOwned), answer: "a"},
		"two were restored, its status names one":     {stored: objects{told, its, otherwise("10.0.0.8", atVersion("23"))}, want: together(recordMade, recordMade, answerOwned), answer: "m3-10.0.0.9"},
		"two were restored, and nothing tells of one": {stored: objects{claimA(), its, otherwise("10.0.0.8", atVersion("23"))}, want: together(recordMade, recordMade), told: ipamv1.ClaimReadyAddressConflictReason},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			test.run(t, shared)
		})
	}
}

// TestAClaimNamedLikeAnothersAnswer gets nothing, and leaves that alone, also when it is deleted: claim a has it.
func TestAClaimNamedLikeAnothersAnswer(t *testing.T) {
	t.Parallel()
	its := otherwise("10.0.0.9", atVersion("22"))
	for sentence, stored := range map[string]objects{
		"it is recorded":     {claimA(ready(its.Name)), its, recordOf("claim a", "a", "10.0.0.9/32"), another(its.Name)},
		"it is not recorded": {claimA(ready(its.Name)), its, another(its.Name)},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			w := newSiteOf(t, shared, stored, nil)
			for range 2 {
				_, _ = w.Reconcile(t.Context(), ctrl.Request{NamespacedName: allocations.At(its.Name)})
			}
			if got := w.recordsOf(t, its.Name); !slices.Equal(got, []string{"10.0.0.1/32"}) {
				t.Errorf("recorded for the claim of that name: %v", got)
			}
			odd := &ipamv1beta2.IPAddressClaim{}
			if err := w.Raw.Get(t.Context(), allocations.At(its.Name), odd); err != nil || odd.Status.AddressRef.Name != "" {
				t.Errorf("the claim of that name is told %s, %v", odd.Status.AddressRef.Name, err)
			}
			if err := w.Raw.Delete(t.Context(), odd); err != nil {
				t.Fatal(err)
			}
			for range 2 {
				_, _ = w.Reconcile(t.Context(), ctrl.Request{NamespacedName: allocations.At(its.Name)})
			}
			w.given(t, "a")
			if _, answer := w.status(t); answer != its.Name || !w.has(t, its) {
				t.Errorf("claim a has %s", answer)
			}
		})
	}
}

// recordsOf are the prefixes that are recorded for claims of that name.
func (w *site) recordsOf(t *testing.T, name string) []string {
	t.Helper()
	list := &ipamv1.IPAllocationList{}
	if err := w.Raw.List(t.Context(), list, client.MatchingFields{"spec.claimRef.name": name}); err != nil {
		t.Fatal(err)
	}
	prefixes := make([]string, 0, len(list.Items))
	for i := range list.Items {
		prefixes = append(prefixes, list.Items[i].Spec.CIDR)
	}
	slices.Sort(prefixes)
	return prefixes
}

// TestWhatHasWonStaysWhileTheNameOfItsAnswerIsTaken: a manager hangs before it stores the answer. Another one finds the name taken meanwhile, a
// user removes what has it, and claim e comes. The two claims have an address each.
func TestWhatHasWonStaysWhileTheNameOfItsAnswerIsTaken(t *testing.T) {
	t.Parallel()
	inTheWay := otherwise("10.0.0.9", atVersion("22"))
	w := newSiteOf(t, shared, objects{claimA(ready(inTheWay.Name)), inTheWay, recordOf("claim a", "a", "10.0.0.9/32"), another(inTheWay.Name), another("e")}, nil)
	hangs, others := false, ""
	w.Before = func(request string) {
		if !hangs || request != "create IPAddress" {
			return
		}
		hangs = false
		_, _ = w.Reconcile(t.Context(), ctrl.Request{NamespacedName: allocations.At(inTheWay.Name)})
		w.vanish(t, inTheWay)
		others = w.given(t, "e")
	}
	_, _ = w.Reconcile(t.Context(), ctrl.Request{NamespacedName: allocations.At(inTheWay.Name)})
	hangs = true
	if own := w.given(t, inTheWay.Name); own != "10.0.0.1" || others != "10.0.0.2" {
		t.Errorf("the claim has %s, claim e %s", own, others)
	}
}

// TestSeveralAnswersOfAClaimThatMustNotBeTouched are all recorded: hosts may use their addresses.
func TestSeveralAnswersOfAClaimThatMustNotBeTouched(t *testing.T) {
	t.Parallel()
	its, other := numbered("10.0.0.4", "21", ownedBy("former")), numbered("10.0.0.5", "22", ownedBy("former"))
	for sentence, stored := range map[string]objects{
		"its Cluster is paused":       {claimA(inCluster, arrived), clusterC(true), its, other},
		"it is paused":                {claimA(paused), its, other},
		"its status names one":        {claimA(paused, ready("p-10.0.0.4")), its, other},
		"its status names none there": {claimA(paused, ready("p-10.0.0.6")), its, other},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			situation{stored: stored, want: together(recordMade, recordMade)}.run(t, byStatus{})
		})
	}
}

// TestSeveralAnswersOfAClaimThatOthersKeep are recorded, too.
func TestSeveralAnswersOfAClaimThatOthersKeep(t *testing.T) {
	t.Parallel()
	its, other := numbered("10.0.0.4", "21", ownedBy("former")), numbered("10.0.0.5", "22", ownedBy("former"))
	writes, err := newSiteOf(t, byStatus{}, objects{claimA(deleted, withOthers), its, other}, nil).once(t)
	if diff := gocmp.Diff(together(recordMade, recordMade), writes); diff != "" || err != nil {
		t.Errorf("writes (-want +got):\n%s%v", diff, err)
	}
}

// TestAnAddressThatIsWrittenOtherwise is the same address: another controller may have written it.
func TestAnAddressThatIsWrittenOtherwise(t *testing.T) {
	t.Parallel()
	w := newSiteOf(t, clusterapi.Form{}, objects{claimA(), answerA(arrived, withAddress("::ffff:10.0.0.1")), another("b")}, nil)
	if got := w.given(t, "b"); got != "10.0.0.2" {
		t.Errorf("claim b gets %s", got)
	}
	w.given(t, "a")
	if reason, answer := w.status(t); reason != ipamv1.ClaimReadyAllocatedReason || answer != "a" {
		t.Errorf("the claim is told %s and %s", reason, answer)
	}
}

// TestADeadOnesAnswerBesideTheClaimsOwn goes, and the claim keeps the one that another controller has named, with one record.
func TestADeadOnesAnswerBesideTheClaimsOwn(t *testing.T) {
	t.Parallel()
	its := otherwise("10.0.0.9", atVersion("22"))
	w := newSiteOf(t, shared, objects{claimA(), answerA(ownedBy("dead")), recordOf("dead", "dead", "10.0.0.4/32"), its}, nil)
	for range 4 {
		if _, err := w.once(t); err != nil {
			t.Fatal(err)
		}
	}
	records := &ipamv1.IPAllocationList{}
	if err := w.Raw.List(t.Context(), records, client.MatchingFields{"spec.claimRef.name": "a"}); err != nil {
		t.Fatal(err)
	}
	if _, answer := w.status(t); answer != its.Name || w.has(t, answerA()) || len(records.Items) != 1 || records.Items[0].Spec.CIDR != "10.0.0.9/32" || records.Items[0].Spec.ClaimRef.UID != "claim a" {
		t.Errorf("the claim has %s, and these records: %+v", answer, records.Items)
	}
}
