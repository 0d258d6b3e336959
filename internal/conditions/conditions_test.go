// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package conditions

import (
	"slices"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	capiconditions "sigs.k8s.io/cluster-api/util/conditions"
	v1beta1conditions "sigs.k8s.io/cluster-api/util/conditions/deprecated/v1beta1"
)

// TestConditionsAreThoseOfClusterAPI: what is set, changed and deleted ends as by Cluster API's own
// functions.
func TestConditionsAreThoseOfClusterAPI(t *testing.T) {
	t.Parallel()
	ours, theirs := &ipamv1beta2.IPAddressClaim{}, &ipamv1beta2.IPAddressClaim{}
	ours.Generation, theirs.Generation = 7, 7
	long := metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 5, time.UTC))
	for _, c := range []metav1.Condition{
		{Type: "WithinPool", Status: "True", Reason: "A", LastTransitionTime: long},
		{Type: "Deleting", Status: "True", Reason: "A", LastTransitionTime: long},
		{Type: "Paused", Status: "False", Reason: "A", LastTransitionTime: long},
		{Type: "Ready", Status: "False", Reason: "A", Message: "m", LastTransitionTime: long},
		{Type: "Exhausted", Status: "False", Reason: "A", LastTransitionTime: long},
		{Type: "Exhausted", Status: "False", Reason: "B", LastTransitionTime: metav1.NewTime(long.Add(time.Hour))},
		{Type: "Ready", Status: "True", Reason: "B", LastTransitionTime: metav1.NewTime(long.Add(time.Hour))},
	} {
		Set(ours, c)
		capiconditions.Set(theirs, c)
	}
	Delete(ours, "Paused")
	capiconditions.Delete(theirs, "Paused")
	if diff := cmp.Diff(theirs.GetConditions(), ours.GetConditions()); diff != "" {
		t.Errorf("conditions (-want +got):\n%s", diff)
	}
	if Has(ours, "Paused") || !IsTrue(ours, "Ready") || GetReason(ours, "Ready") != "B" || GetMessage(ours, "none")+GetReason(ours, "none") != "" {
		t.Errorf("read otherwise than it was set: %v", ours.GetConditions())
	}
}

// TestConditionsOfV1Beta1AreThoseOfClusterAPI: but for the time, which is the clock's.
func TestConditionsOfV1Beta1AreThoseOfClusterAPI(t *testing.T) {
	t.Parallel()
	ours, theirs := &ipamv1beta2.IPAddressClaim{}, &ipamv1beta2.IPAddressClaim{}
	check := func() {
		t.Helper()
		if diff := cmp.Diff(timeless(theirs), timeless(ours)); diff != "" {
			t.Errorf("conditions (-want +got):\n%s", diff)
		}
	}
	SetV1Beta1(ours, clusterv1.Condition{Type: "A", Status: corev1.ConditionTrue})
	v1beta1conditions.MarkTrue(theirs, "A")
	SetV1Beta1(ours, clusterv1.Condition{Type: clusterv1.ReadyV1Beta1Condition, Status: corev1.ConditionTrue})
	v1beta1conditions.MarkTrue(theirs, clusterv1.ReadyV1Beta1Condition)
	check()
	SetV1Beta1(ours, clusterv1.Condition{
		Type: clusterv1.ReadyV1Beta1Condition, Status: corev1.ConditionFalse, Reason: "R", Severity: clusterv1.ConditionSeverityInfo, Message: "m",
	})
	v1beta1conditions.MarkFalse(theirs, clusterv1.ReadyV1Beta1Condition, "R", clusterv1.ConditionSeverityInfo, "%s", "m")
	check()
	before := metav1.NewTime(time.Date(2026, 1, 1, 0, 0, 0, 0, time.UTC))
	all := ours.GetV1Beta1Conditions()
	all[0].LastTransitionTime = before
	ours.SetV1Beta1Conditions(all)
	SetV1Beta1(ours, all[0])
	if got := ours.GetV1Beta1Conditions()[0].LastTransitionTime; got != before {
		t.Errorf("nothing has changed, and the time is %s", got)
	}
}

// timeless returns an object's conditions without their times.
func timeless(c *ipamv1beta2.IPAddressClaim) clusterv1.Conditions {
	all := slices.Clone(c.GetV1Beta1Conditions())
	for i := range all {
		all[i].LastTransitionTime = metav1.Time{}
	}
	return all
}
