// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package federation

import (
	"reflect"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// of returns a binding of an IPPool with these entries.
func of(items ...any) *unstructured.Unstructured {
	binding := &unstructured.Unstructured{Object: map[string]any{
		"spec": map[string]any{"resource": map[string]any{
			"apiVersion": "ipam.weir.dev/v1alpha1", "kind": "IPPool", "namespace": "fleet", "name": "edge", "uid": "edge-uid", "resourceVersion": "7",
		}},
		"status": map[string]any{"aggregatedStatus": items},
	}}
	binding.SetGroupVersionKind(ResourceBindings)
	binding.SetNamespace("fleet")
	binding.SetName("edge-ippool")
	binding.SetResourceVersion("9")
	return binding
}

// from is a member's entry of what it has taken.
func from(member string, status map[string]any) map[string]any {
	return map[string]any{"clusterName": member, "applied": true, "health": "Unknown", "status": status}
}

// statusWith is the status of a copy that is Ready, with a field more.
func statusWith(field string, value any) map[string]any {
	return map[string]any{
		"conditions": []any{map[string]any{
			"type": "Ready", "status": "True", "reason": "Available", "message": "", "lastTransitionTime": "2026-01-01T00:00:00Z",
		}},
		field: value,
	}
}

// TestWhatABindingSaysOfAMember: the report, or why there is none.
func TestWhatABindingSaysOfAMember(t *testing.T) {
	t.Parallel()
	ready := &ipamv1.MemberStatus{Cluster: "edge-a", Applied: "True", Reason: "Available"}
	with := func(change func(*ipamv1.MemberStatus)) *ipamv1.MemberStatus {
		report := ready.DeepCopy()
		change(report)
		return report
	}
	refused := func(message string) *ipamv1.MemberStatus {
		return &ipamv1.MemberStatus{Cluster: "edge-a", Applied: "False", Message: message}
	}
	for name, test := range map[string]struct {
		binding *unstructured.Unstructured
		want    *ipamv1.MemberStatus
		why     string
	}{
		"nothing collected":     {binding: &unstructured.Unstructured{}, why: `Karmada has not placed the pool at cluster "edge-a"`},
		"another member alone":  {binding: of(from("edge-b", statusWith("claims", int64(1)))), why: `Karmada has not placed the pool at cluster "edge-a"`},
		"an entry that is none": {binding: of("edge-a"), why: `Karmada has not placed the pool at cluster "edge-a"`},
		"not sent yet":          {binding: of(map[string]any{"clusterName": "edge-a"}), why: `Karmada has not sent the pool to cluster "edge-a" yet`},
		"no status":             {binding: of(from("edge-a", nil)), why: `cluster "edge-a" has the pool and has not reported it yet`},
		"no Ready condition":    {binding: of(from("edge-a", map[string]any{"claims": int64(1)})), why: `cluster "edge-a" has the pool and has not reported it yet`},
		"refused":               {binding: of(map[string]any{"clusterName": "edge-a", "appliedMessage": "spec.cidr: overlaps"}), want: refused("spec.cidr: overlaps")},
		"refused at length":     {binding: of(map[string]any{"clusterName": "edge-a", "appliedMessage": strings.Repeat("ü", 600)}), want: refused(strings.Repeat("ü", 510) + "...")},
		"the second of two":     {binding: of(from("edge-b", statusWith("claims", int64(1))), from("edge-a", statusWith("claims", int64(2)))), want: with(func(m *ipamv1.MemberStatus) { m.Claims = ptr.To[int32](2) })},
		"utilization":           {binding: of(from("edge-a", statusWith("utilizationPercent", int64(100)))), want: with(func(m *ipamv1.MemberStatus) { m.UtilizationPercent = ptr.To[int32](100) })},
		"numbers from JSON":     {binding: of(from("edge-a", statusWith("claims", float64(3)))), want: with(func(m *ipamv1.MemberStatus) { m.Claims = ptr.To[int32](3) })},
		"all of IPv6":           {binding: of(from("edge-a", statusWith("capacity", map[string]any{"total": "340282366920938463463374607431768211455"}))), want: with(func(m *ipamv1.MemberStatus) { m.Capacity.Total = "340282366920938463463374607431768211455" })},
		"handed back": {binding: of(from("edge-a", statusWith("released", map[string]any{"templateUID": "edge-uid", "templateGeneration": int64(4)}))), want: with(func(m *ipamv1.MemberStatus) {
			m.Released = &ipamv1.ReleasedTemplate{TemplateUID: "edge-uid", TemplateGeneration: ptr.To[int64](4)}
		})},
		"handed back by hand":     {binding: of(from("edge-a", statusWith("released", map[string]any{"templateUID": "edge-uid"}))), want: with(func(m *ipamv1.MemberStatus) { m.Released = &ipamv1.ReleasedTemplate{TemplateUID: "edge-uid"} })},
		"a field of tomorrow":     {binding: of(from("edge-a", statusWith("mood", "good"))), want: ready},
		"another type":            {binding: of(from("edge-a", statusWith("claims", "many"))), why: `the report of cluster "edge-a" cannot be read: `},
		"no number":               {binding: of(from("edge-a", statusWith("capacity", map[string]any{"total": "many"}))), why: `the report of cluster "edge-a" cannot be used: status.capacity is out of bounds`},
		"a negative number":       {binding: of(from("edge-a", statusWith("capacity", map[string]any{"cooling": "-1"}))), why: `the report of cluster "edge-a" cannot be used: status.capacity is out of bounds`},
		"too large a number":      {binding: of(from("edge-a", statusWith("capacity", map[string]any{"total": strings.Repeat("9", 40)}))), why: `the report of cluster "edge-a" cannot be used: status.capacity is out of bounds`},
		"negative claims":         {binding: of(from("edge-a", statusWith("claims", int64(-1)))), why: `the report of cluster "edge-a" cannot be used: status.claims is out of bounds`},
		"more than all":           {binding: of(from("edge-a", statusWith("utilizationPercent", int64(101)))), why: `the report of cluster "edge-a" cannot be used: status.utilizationPercent is out of bounds`},
		"a template without UID":  {binding: of(from("edge-a", statusWith("released", map[string]any{"templateGeneration": int64(4)}))), why: `the report of cluster "edge-a" cannot be used: status.released is out of bounds`},
		"a negative generation":   {binding: of(from("edge-a", statusWith("released", map[string]any{"templateUID": "edge-uid", "templateGeneration": int64(-4)}))), why: `the report of cluster "edge-a" cannot be used: status.released is out of bounds`},
		"a template of a long ID": {binding: of(from("edge-a", statusWith("released", map[string]any{"templateUID": strings.Repeat("e", 129)}))), why: `the report of cluster "edge-a" cannot be used: status.released is out of bounds`},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			report, why := reportOf(test.binding, "edge-a")
			if !reflect.DeepEqual(report, test.want) {
				t.Errorf("reported %+v, want %+v", report, test.want)
			}
			if why != test.why && (!strings.HasSuffix(test.why, ": ") || !strings.HasPrefix(why, test.why)) {
				t.Errorf("why: %s, want %s", why, test.why)
			}
		})
	}
}

// TestTheReadyConditionOfACopyIsReported: also one that is not served, in the member's words.
func TestTheReadyConditionOfACopyIsReported(t *testing.T) {
	t.Parallel()
	status := map[string]any{"conditions": []any{
		map[string]any{"type": "Paused", "status": "False", "reason": "NotPaused"},
		map[string]any{"type": "Ready", "status": "False", "reason": "Overlap", "message": "10.0.0.0/24 overlaps pool lab"},
	}}
	report, _ := reportOf(of(from("edge-a", status)), "edge-a")
	if want := (&ipamv1.MemberStatus{Cluster: "edge-a", Applied: "True", Reason: "Overlap", Message: "10.0.0.0/24 overlaps pool lab"}); !reflect.DeepEqual(report, want) {
		t.Errorf("reported %+v", report)
	}
}
