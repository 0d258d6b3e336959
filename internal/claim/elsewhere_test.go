// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claim_test

import (
	"errors"
	"slices"
	"testing"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/clusterapi"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/door"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/allocations"
)

// byHandOfQ is an IPAddress of pool q, 10.2.0.7, that a user has made for claim a.
func byHandOfQ(edits ...edit) *ipamv1beta2.IPAddress {
	return handMade(append([]edit{ofPoolQ, withAddress("10.2.0.7"), withUID("of q"), atVersion("")}, edits...)...)
}

// TestAnIPAddressByHandOutOfAnotherPoolOfOthers holds its address until a user deletes it, whatever becomes of a claim of its name for another
// pool. That claim gets an address of its own, or what is reserved for it in its own pool, unless the IPAddress has the name of its answer.
func TestAnIPAddressByHandOutOfAnotherPoolOfOthers(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct {
		form   door.Form
		byHand *ipamv1beta2.IPAddress
		beside objects
		want   string
	}{
		"the status is the commit":               {byStatus{shared}, byHandOfQ(called("q-7")), nil, "10.0.0.1/32"},
		"it is named otherwise":                  {shared, byHandOfQ(called("q-7")), nil, "10.0.0.1/32"},
		"it is named like the claim":             {shared, byHandOfQ(), nil, ""},
		"another one is of the claim's pool":     {byStatus{shared}, byHandOfQ(called("q-7")), objects{handMade(called("p-9"), withAddress("10.0.0.9"))}, "10.0.0.9/32"},
		"another one, and both named otherwise":  {shared, byHandOfQ(called("q-7")), objects{handMade(called("p-9"), withAddress("10.0.0.9"))}, "10.0.0.9/32"},
		"another one, which is named like claim": {shared, byHandOfQ(called("q-7")), objects{handMade(withAddress("10.0.0.9"))}, "10.0.0.9/32"},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			w := newSiteOfTwoOf(t, test.form, "10.2.0.0/24", append(objects{another("b"), test.byHand}, test.beside...))
			const held = "10.2.0.7/32"
			all := func() {
				t.Helper()
				for range 4 {
					_, _ = w.once(t)
				}
				if !w.has(t, test.byHand) || !slices.Contains(w.recordsOf(t, "a"), held) {
					t.Fatalf("the IPAddress is there: %t, and recorded is %v", w.has(t, test.byHand), w.recordsOf(t, "a"))
				}
			}
			all()
			c := claimA(atVersion(""))
			if err := w.Raw.Create(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			all()
			reason, answer := w.status(t)
			own := slices.DeleteFunc(w.recordsOf(t, "a"), func(cidr string) bool { return cidr == held })
			if isAnswered := reason == ipamv1.ClaimReadyAllocatedReason && answer != "" && answer != test.byHand.Name; isAnswered != (test.want != "") ||
				isAnswered && !slices.Equal(own, []string{test.want}) {
				t.Errorf("the claim is told %s and %s, and has %v, want %s", reason, answer, own, test.want)
			}
			if err := w.Raw.Delete(t.Context(), c); err != nil {
				t.Fatal(err)
			}
			all()
			if got := w.recordsOf(t, "a"); !slices.Equal(got, []string{held}) {
				t.Errorf("the claim has gone, and recorded is %v", got)
			}
			w.vanish(t, test.byHand)
			_, _ = w.once(t)
			if got := w.recordsOf(t, "a"); len(got) > 0 {
				t.Errorf("the IPAddress has gone, and recorded is %v", got)
			}
		})
	}
}

// TestWhatGoesOfAnotherPool where the status is the commit: what a dead claim of the name was answered with here, and what a user has deleted, of
// which only Weir's finalizer is left. What was only made by hand is not named where several came to the claim.
func TestWhatGoesOfAnotherPool(t *testing.T) {
	t.Parallel()
	atQ := func(uid string, edits ...allocations.Edit) *ipamv1.IPAllocation {
		return recordOf(uid, "of-q", "10.0.0.7/32", append(edits, allocations.FromPool("q"), allocations.Elsewhere)...)
	}
	ofQ := func(edits ...edit) *ipamv1beta2.IPAddress {
		return answerA(append([]edit{called("q-7"), ofPoolQ, withAddress("10.0.0.7"), withUID("of q"), atVersion("")}, edits...)...)
	}
	for sentence, test := range map[string]struct {
		ofQ    *ipamv1beta2.IPAddress
		beside objects
		stays  bool
		says   string
	}{
		"a dead claim's":       {ofQ(ownedBy("dead")), objects{atQ("dead")}, false, ""},
		"it is being deleted":  {ofQ(ownedBy(""), deleted), objects{atQ("of q", adopted)}, false, ""},
		"it is beside several": {ofQ(ownedBy(""), withoutFinalizers), objects{numbered("10.0.0.4", "21"), numbered("10.0.0.5", "22")}, true, "IPAddresss [p-10.0.0.4 p-10.0.0.5] came with the claim, and its status does not say which one it had: delete the others"},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			w := newSiteOfTwoOf(t, byStatus{shared}, "10.0.0.0/24", append(objects{claimA(), test.ofQ}, test.beside...))
			_, err := w.once(t)
			c := &ipamv1beta2.IPAddressClaim{}
			err = errors.Join(err, w.Raw.Get(t.Context(), allocations.At("a"), c))
			said := ""
			if ready := meta.FindStatusCondition(c.Status.Conditions, ipamv1.ReadyCondition); ready != nil && ready.Status == metav1.ConditionFalse {
				said = ready.Message
			}
			if w.has(t, test.ofQ) != test.stays || said != test.says || err != nil {
				t.Errorf("it is there: %t, the claim says %q, %v", w.has(t, test.ofQ), said, err)
			}
		})
	}
}

// TestWhatIsHeldForAnAnswerThatTheCacheDoesNotShow stays: the record came by the watch of records, which may be ahead of the cache.
func TestWhatIsHeldForAnAnswerThatTheCacheDoesNotShow(t *testing.T) {
	t.Parallel()
	otherName, c := handMade(called("x"), withAddress("10.0.0.9"), withUID("x")), claimA(ready("a"))
	held := recordOf("x", "held", "10.0.0.9/32", adopted)
	empty := func(w *site) { w.source.offer.HostBits = 0 }
	for sentence, test := range map[string]struct {
		form door.Form
		situation
	}{
		"beside the claim's answer":       {shared, situation{stored: objects{c, answerA(), recordA(), otherName, held}, cached: objects{c, answerA()}, want: together(recordOwned, answerOwned)}},
		"there is no claim":               {shared, situation{stored: objects{otherName, held}, cached: objects{}}},
		"it has gone":                     {shared, situation{stored: objects{c, answerA(), recordA(), held}, cached: objects{c, answerA()}, want: together(recordOwned, answerOwned, recordGoes)}},
		"it is of another address":        {shared, situation{stored: objects{handMade(called("x"), withUID("x")), held}, cached: objects{}, want: recordGoes}},
		"it has the claim's name":         {shared, situation{stored: objects{claimA(), handMade(), heldFor("10.0.0.4")}, cached: objects{claimA()}, prepare: empty, told: ipamv1.ClaimReadyPoolExhaustedReason}},
		"it has that, and is of no other": {clusterapi.Form{}, situation{stored: objects{claimA(), handMade(), heldFor("10.0.0.4")}, cached: objects{claimA()}, prepare: empty, told: ipamv1.ClaimReadyPoolExhaustedReason}},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			test.run(t, test.form)
		})
	}
}
