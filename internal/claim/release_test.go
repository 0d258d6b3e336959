// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claim_test

import (
	"context"
	"errors"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claimant"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/clusterapi"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/allocations"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/memory"
)

func haltPool(w *site) { w.source.offer.Halted = &claimant.Refusal{Message: "paused"} }

func hidePool(w *site) { w.source.offer.Hidden = &claimant.Refusal{Message: "hidden"} }

func refusePool(w *site) { w.source.err = &claimant.Refusal{Message: "no such pool"} }

// forgetPool is before the ledger knows the pool.
func forgetPool(w *site) { w.Ledger.DropPool(allocations.PoolRef("p")) }

// TestWhatIsHeldForAClaimThatCameBackAndIsDeleted is recorded first, so that the hold ends with the claim; else it stays held for good.
func TestWhatIsHeldForAClaimThatCameBackAndIsDeleted(t *testing.T) {
	t.Parallel()
	hold := recordOf("former", "hold", "10.0.0.4/32", movedState)
	back, its := claimA(deleted, arrived), answerA(ownedBy("former"))
	ends := together(recordMade, answerOwned, recordGoes, answerGoes, recordGoes, claimGoes)
	stays := together(answerGoes, claimGoes)
	for sentence, test := range map[string]situation{
		"with its answer":               {stored: objects{back, its, hold}, want: ends},
		"with its answer, as stored":    {stored: objects{back, its, hold}, cached: objects{back}, want: ends},
		"with an answer of its own":     {stored: objects{claimA(deleted), answerA(), hold}, want: together(recordMade, recordGoes, answerGoes, recordGoes, claimGoes)},
		"without its answer":            {stored: objects{back, hold}, want: claimGoes},
		"an earlier one's answer":       {stored: objects{claimA(deleted), its, hold}, want: claimGoes},
		"its pool is paused":            {stored: objects{back, its, hold}, prepare: haltPool, want: stays},
		"its pool is hidden":            {stored: objects{back, its, hold}, prepare: hidePool, want: stays},
		"its pool is not there":         {stored: objects{back, its, hold}, prepare: refusePool, want: stays},
		"its pool is not known yet":     {stored: objects{back, its, hold}, prepare: forgetPool, want: stays},
		"another claim has it by now":   {stored: objects{back, its, hold, allocations.Named("b", "10.0.0.4/32")}, want: together(recordMade, answerGoes, recordGoes, claimGoes)},
		"it is outside of the pool":     {stored: objects{back, answerA(ownedBy("former"), withAddress("10.1.0.4")), recordOf("former", "hold", "10.1.0.4/32", movedState)}, want: stays},
		"its Cluster is there":          {stored: objects{claimA(deleted, arrived, inCluster), its, hold, clusterC(false)}, want: ends},
		"it is another one's record":    {stored: objects{back, its, recordA(formerUID)}, want: stays},
		"it is held for the very claim": {stored: objects{claimA(deleted), answerA(), recordA(movedState)}, want: stays},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			test.run(t, clusterapi.Form{})
		})
	}
}

// TestWhatAClaimThatMovedTakesAlong is marked before the claim goes, and all of it is known then: else its address would be free here while
// it is in use elsewhere.
func TestWhatAClaimThatMovedTakesAlong(t *testing.T) {
	t.Parallel()
	proof, marked, left := []string{"patch IPAllocation"}, recordGoes, together(answerGoes, claimGoes)
	moved, others := claimA(deleted, moving, leftBy("claim a")), allocations.Named("b", "10.0.0.4/32")
	elsewhere := recordOf("former", "former", "10.0.0.4/32", allocations.FromPool("q"), allocations.Elsewhere)
	for sentence, test := range map[string]situation{
		"record and answer":                    {stored: objects{moved, answerA(), recordA()}, want: together(proof, marked, left)},
		"an answer without a record":           {stored: objects{moved, answerA()}, want: together(proof, recordMade, marked, left)},
		"an answer that the cache has not":     {stored: objects{moved, answerA()}, cached: objects{moved}, want: together(proof, recordMade, marked, left)},
		"an answer that another claim has":     {stored: objects{moved, answerA(), others}, want: together(proof, left)},
		"an answer that cannot be read":        {stored: objects{moved, answerA(withAddress("x"))}, want: together(proof, left)},
		"an answer outside of the pool":        {stored: objects{moved, answerA(withAddress("10.1.0.4"))}, want: together(proof, left)},
		"an answer, its pool is not there":     {stored: objects{moved, answerA()}, prepare: refusePool, want: together(proof, left)},
		"an answer, its pool is not known yet": {stored: objects{moved, answerA()}, prepare: forgetPool, want: proof, fails: true},
		"an answer, its pool cannot be read":   {stored: objects{moved, answerA()}, prepare: func(w *site) { w.source.err = memory.ErrFailed }, want: proof, fails: true},
		"a record beside another one's answer": {stored: objects{moved, answerA(ownedBy("former")), recordOf("claim a", "own", "10.0.0.5/32")}, want: together(proof, marked, claimGoes)},
		"nothing of another one's answer":      {stored: objects{moved, answerA(ownedBy("former")), recordA(formerUID)}, want: together(proof, claimGoes)},
		"not what another pool holds for it":   {stored: objects{moved, answerA(), recordA(), elsewhere}, want: together(proof, marked, left)},
		"its record, it is the second of two":  {stored: objects{moved, answerA(), recordA(), recordOf("claim a", "second", "10.0.0.5/32")}, want: together(proof, marked, marked, left)},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			test.run(t, clusterapi.Form{})
		})
	}
}

// TestAClaimIsPausedUntilItHasMoved: only clusterctl's last step, which marks a claim that is being deleted with its own UID, lets it go while its
// Cluster is paused.
func TestAClaimIsPausedUntilItHasMoved(t *testing.T) {
	t.Parallel()
	left := leftBy("claim a")
	for sentence, c := range map[string]*ipamv1beta2.IPAddressClaim{
		"it lives":                      claimA(inCluster, moving, left),
		"it moves":                      claimA(inCluster, moving, deleted),
		"it moves, and it moved before": claimA(inCluster, moving, deleted, leftBy("earlier")),
		"it has come back":              claimA(inCluster, deleted, left),
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			w := newSite(t, objects{c, clusterC(true)}, nil)
			writes, err := w.once(t)
			if len(writes) > 0 || err != nil {
				t.Errorf("written: %v, %v", writes, err)
			}
			stored := &ipamv1beta2.IPAddressClaim{}
			if err := w.Raw.Get(t.Context(), allocations.At("a"), stored); err != nil || !meta.IsStatusConditionTrue(stored.Status.Conditions, clusterv1.PausedCondition) {
				t.Errorf("it does not say that it is paused: %v, %v", stored.Status.Conditions, err)
			}
		})
	}
}

// TestAllAnswersOfADeletedClaimGo, where it may have several, also those that the cache does not show.
func TestAllAnswersOfADeletedClaimGo(t *testing.T) {
	t.Parallel()
	c, its := claimA(deleted, ready("p-10.0.0.4")), numbered("10.0.0.4", "21")
	stored := objects{c, its, numbered("10.0.0.5", "22"), recordA(), recordOf("claim a", "second", "10.0.0.5/32")}
	w := newSiteOf(t, byStatus{}, stored, objects{c, its})
	writes, err := w.once(t)
	if diff := cmp.Diff(together(answerGoes, answerGoes, recordGoes, recordGoes, claimGoes), writes); diff != "" || err != nil {
		t.Errorf("writes (-want +got):\n%s%v", diff, err)
	}
}

// lateRecord has a record be stored for claim a as its answer is deleted, and the ledger know of it.
func lateRecord(record *ipamv1.IPAllocation) func(*site) {
	return func(w *site) {
		isStored := false
		w.Before = func(request string) {
			if request == "delete IPAddress" && !isStored {
				isStored = true
				if err := w.Raw.Create(context.Background(), record.DeepCopy()); err != nil {
					panic(err)
				}
				w.Until(func() bool { return len(w.Ledger.RecordsOf(record.Spec.ClaimRef)) > 1 })
			}
		}
	}
}

func backed(a *ipamv1.IPAllocation) { a.Spec.External.ID = "id" }

// onlyCollected leaves the claim the finalizer of the garbage collector alone.
func onlyCollected(o client.Object) { o.SetFinalizers([]string{metav1.FinalizerDeleteDependents}) }

// TestWhatKeepsADeletedClaim, and all that it has, until that ends.
func TestWhatKeepsADeletedClaim(t *testing.T) {
	t.Parallel()
	its := objects{claimA(deleted), answerA(), recordA()}
	gone := together(answerGoes, recordGoes, claimGoes)
	for sentence, test := range map[string]situation{
		"nothing":                                     {stored: its, want: gone},
		"nothing, its own record has just come":       {stored: objects{claimA(deleted, arrived), answerA(), recordA(cameWith)}, want: gone},
		"what it has outside is kept":                 {stored: its, prepare: keepOutside},
		"another manager records more, to give back":  {stored: its, prepare: lateRecord(recordOf("claim a", "late", "10.0.0.9/32", backed)), want: together(answerGoes, recordGoes)},
		"another manager has taken its finalizer off": {stored: objects{claimA(deleted, onlyCollected), answerA(), recordA()}, cached: objects{claimA(deleted), answerA()}},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			test.run(t, clusterapi.Form{})
		})
	}
}

func keepOutside(w *site) { w.outside.keep = &claimant.KeptError{Message: "in use"} }

// TestWhatIsLeftOver goes only where the API server, not the cache, shows what it is; and no record before the answer that carries it.
func TestWhatIsLeftOver(t *testing.T) {
	t.Parallel()
	none := objects{}
	for sentence, test := range map[string]situation{
		"answer and record":            {stored: objects{answerA(), recordA()}, want: together(answerGoes, recordGoes)},
		"its Cluster is not paused":    {stored: objects{answerA(inCluster), recordA(inClusterC), clusterC(false)}, want: together(answerGoes, recordGoes)},
		"the cache has not the answer": {stored: objects{answerA(moving), recordA()}, cached: none},
		"the answer has gone since":    {stored: objects{recordA()}, cached: objects{answerA()}, want: recordGoes},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			test.run(t, clusterapi.Form{})
		})
	}
}

// TestWhatRepairIsToldOfAClaim: what has to wait is no failure of repair, which asks again anyway; and the claim that lives is woken.
func TestWhatRepairIsToldOfAClaim(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct {
		situation

		wakes bool
	}{
		"it is gone":                  {situation: situation{stored: objects{answerA(), recordA()}}},
		"its answer moves":            {situation: situation{stored: objects{answerA(moving), recordA()}}},
		"its answer has arrived":      {situation: situation{stored: objects{answerA(arrived)}, prepare: forgetPool}},
		"what it has outside is kept": {situation: situation{stored: objects{recordA(allocations.Elsewhere)}, prepare: keepOutside}},
		"it lives":                    {situation: situation{stored: objects{claimA(), recordA()}}, wakes: true},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			w := test.site(t, clusterapi.Form{})
			woken := w.Ledger.Notices().Concerned(t.Context())
			if err := w.Settle(t.Context(), allocations.At("a")); err != nil {
				t.Error(err)
			}
			w.Ledger.Notices().Concern(ipamv1.ClaimReference{Name: "the last"})
			if first := <-woken; (first.Name == "a") != test.wakes {
				t.Errorf("woken: %s", first.Name)
			}
			for failing, all := 1, w.Requests(); failing < len(all); failing++ { // the last asks the cache whom to wake
				w := test.site(t, clusterapi.Form{})
				w.FailAt(failing)
				if err := w.Settle(t.Context(), allocations.At("a")); !errors.Is(err, memory.ErrFailed) {
					t.Errorf("request %d, %s, fails: %v", failing, all[failing-1], err)
				}
			}
		})
	}
}

// TestWhoseAnswersRepairLooksAt are all those of which the cache has an answer.
func TestWhoseAnswersRepairLooksAt(t *testing.T) {
	t.Parallel()
	w := newSite(t, objects{answerA()}, nil)
	keys, err := w.Answers(t.Context())
	if diff := cmp.Diff([]types.NamespacedName{allocations.At("a")}, keys); diff != "" || err != nil {
		t.Errorf("answers (-want +got):\n%s%v", diff, err)
	}
	w.FailAt(1)
	if _, err = w.Answers(t.Context()); !errors.Is(err, memory.ErrFailed) {
		t.Errorf("that the answers cannot be listed is not reported: %v", err)
	}
}
