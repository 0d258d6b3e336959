// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claimant

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// exposed are the values of the series of a metric that have this label, by all their labels; of a histogram how many it has observed.
func exposed(t *testing.T, metric, label string) map[string]float64 {
	t.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	found := map[string]float64{}
	for _, family := range families {
		if family.GetName() != metric {
			continue
		}
		for _, series := range family.GetMetric() {
			labels := make([]string, 0, len(series.GetLabel()))
			for _, pair := range series.GetLabel() {
				labels = append(labels, fmt.Sprintf("%s=%q", pair.GetName(), pair.GetValue()))
			}
			if slices.Contains(labels, label) {
				value := series.GetGauge().GetValue() + series.GetCounter().GetValue() + float64(series.GetHistogram().GetSampleCount())
				found[strings.Join(labels, ",")] = value
			}
		}
	}
	return found
}

func TestClaimsAreCountedByWhatTheInformerShowsOfThem(t *testing.T) {
	t.Parallel()
	pool := ipamv1.PoolReference{Kind: "IPPool", Namespace: "team", Name: "counted"}
	const unserved = "of another manager"
	handler := Counted(func(obj client.Object) (ipamv1.PoolReference, bool) { return pool, obj.GetName() != unserved })
	full, answered := claimThat(notReady(ipamv1.ClaimReadyPoolExhaustedReason)), claimThat(metav1.Condition{
		Type: ipamv1.ReadyCondition, Status: metav1.ConditionTrue, Reason: ipamv1.ClaimReadyAllocatedReason,
	})
	other := claimThat()
	other.Name = unserved
	check := func(when string, counts map[string]float64) {
		t.Helper()
		want := map[string]float64{}
		for _, state := range stateNames {
			if counts != nil {
				want[fmt.Sprintf(`kind="IPPool",name="counted",namespace="team",state=%q`, state)] = counts[state]
			}
		}
		if diff := cmp.Diff(want, exposed(t, "weir_pool_claims", `name="counted"`)); diff != "" {
			t.Errorf("%s (-want +exposed):\n%s", when, diff)
		}
	}

	check("before the first", nil)
	handler.Create(t.Context(), event.CreateEvent{Object: claimThat()}, nil)
	handler.Create(t.Context(), event.CreateEvent{Object: other}, nil)
	handler.Create(t.Context(), event.CreateEvent{Object: &metav1.PartialObjectMetadata{}}, nil) // shows no state
	check("a claim is there", map[string]float64{"waiting": 1})
	handler.Update(t.Context(), event.UpdateEvent{ObjectOld: claimThat(), ObjectNew: full}, nil)
	handler.Create(t.Context(), event.CreateEvent{Object: answered}, nil)
	check("it is told that there is no room, and another is answered", map[string]float64{"exhausted": 1, "answered": 1})
	handler.Update(t.Context(), event.UpdateEvent{ObjectOld: full, ObjectNew: full}, nil)
	handler.Delete(t.Context(), event.DeleteEvent{Object: full}, nil)
	check("it is gone", map[string]float64{"answered": 1})
	handler.Update(t.Context(), event.UpdateEvent{ObjectOld: answered, ObjectNew: other}, nil)
	check("the last one is another manager's now", nil)
}

func TestWhatWasCountedOfAPoolIsDroppedWithIt(t *testing.T) {
	t.Parallel()
	gone := ipamv1.PoolReference{APIGroup: "ipam.metal3.io", Kind: "IPPool", Namespace: "team", Name: "gone"}
	stays := ipamv1.PoolReference{Kind: "IPPool", Namespace: "team", Name: "gone"}
	for _, pool := range []ipamv1.PoolReference{gone, gone, stays} {
		CountExhausted(pool)
	}
	both := map[string]float64{`kind="IPPool.ipam.metal3.io",name="gone",namespace="team"`: 2, `kind="IPPool",name="gone",namespace="team"`: 1}
	if diff := cmp.Diff(both, exposed(t, "weir_claim_exhausted_total", `name="gone"`)); diff != "" {
		t.Errorf("two pools (-want +exposed):\n%s", diff)
	}
	ForgetPool(gone)
	delete(both, `kind="IPPool.ipam.metal3.io",name="gone",namespace="team"`)
	if diff := cmp.Diff(both, exposed(t, "weir_claim_exhausted_total", `name="gone"`)); diff != "" {
		t.Errorf("one of them is gone (-want +exposed):\n%s", diff)
	}
}

func TestTheTimeToAnswerBeginsWithTheClaim(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	claim := &metav1.ObjectMeta{CreationTimestamp: metav1.NewTime(now.Add(-90 * time.Second))}
	full := notReady(ipamv1.ClaimReadyPoolExhaustedReason)
	form := schema.GroupKind{Group: "team.dev", Kind: "Timed"}
	ObserveAnswer(form, claim, &full, now)
	ObserveAnswer(form, claim, nil, now)
	ObserveAnswer(form, claim, nil, now)
	want := map[string]float64{`form="Timed.team.dev",waited="yes"`: 1, `form="Timed.team.dev",waited="no"`: 2}
	if diff := cmp.Diff(want, exposed(t, "weir_claim_answer_duration_seconds", `form="Timed.team.dev"`)); diff != "" {
		t.Errorf("(-want +exposed):\n%s", diff)
	}
	observed := &dto.Metric{}
	if err := answerDuration.WithLabelValues("Timed.team.dev", "yes").(prometheus.Metric).Write(observed); err != nil {
		t.Fatal(err)
	}
	if seconds := observed.GetHistogram().GetSampleSum(); seconds != 90 {
		t.Errorf("it took %v s, want 90", seconds)
	}
}
