// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"reflect"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/cluster-api/util/conditions"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ipspace"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/poolspec"
)

// member reports the same for each pool.
type member struct {
	report     *ipamv1.MemberStatus
	isReported bool
}

func (m member) Of(types.UID, string) (*ipamv1.MemberStatus, bool) { return m.report, m.isReported }

// served is what edge-a reports of a pool that it serves.
func served() *ipamv1.MemberStatus {
	return &ipamv1.MemberStatus{
		Cluster: "edge-a", Applied: ipamv1.MemberApplied, Reason: ipamv1.PoolReadyAvailableReason, Claims: ptr.To[int32](3),
		Capacity: ipamv1.Capacity{Total: "256", Allocated: "3", Available: "253"}, UtilizationPercent: ptr.To[int32](1),
	}
}

// TestWhatTheHubShowsOfAMember: by what was reported before, what is reported now, and why nothing is.
func TestWhatTheHubShowsOfAMember(t *testing.T) {
	t.Parallel()
	released := &ipamv1.MemberStatus{Cluster: "edge-a", Released: &ipamv1.ReleasedTemplate{TemplateUID: "edge"}}
	byScript := &ipamv1.MemberStatus{Cluster: "edge-a", Capacity: served().Capacity}
	refused := &ipamv1.MemberStatus{Cluster: "edge-a", Applied: ipamv1.MemberRefused, Message: "it overlaps"}
	overlapping := &ipamv1.MemberStatus{Cluster: "edge-a", Applied: ipamv1.MemberApplied, Reason: "Overlap", Message: "with lab"}
	refusedLater := served()
	refusedLater.Applied, refusedLater.Reason, refusedLater.Message = ipamv1.MemberRefused, "", "it overlaps"
	others := served()
	others.Cluster = "edge-b"
	condition := func(status metav1.ConditionStatus, reason, message string) *metav1.Condition {
		return &metav1.Condition{Type: "Delegated", Status: status, Reason: reason, Message: message}
	}
	serving := condition("True", "Serving", `cluster "edge-a" serves the pool`)
	for name, test := range map[string]struct {
		before  *ipamv1.MemberStatus
		members Members
		want    *ipamv1.MemberStatus
		shows   *metav1.Condition
	}{
		"nobody asks":                     {before: served(), want: served()},
		"not known yet":                   {before: served(), members: member{}, want: served()},
		"never reported":                  {members: member{report: &ipamv1.MemberStatus{Message: "no policy"}}, shows: condition("Unknown", "NotReported", "no policy")},
		"served":                          {members: member{served(), true}, want: served(), shows: serving},
		"served after a refusal":          {before: refusedLater, members: member{served(), true}, want: served(), shows: serving},
		"no report any more":              {before: served(), members: member{report: &ipamv1.MemberStatus{Message: "no policy"}}, want: served(), shows: condition("True", "Serving", `cluster "edge-a" serves the pool; this was reported last: no policy`)},
		"written by a script":             {before: byScript, members: member{report: &ipamv1.MemberStatus{Message: "no API"}}, want: byScript, shows: condition("True", "Serving", `cluster "edge-a" serves the pool; this was reported last: no API`)},
		"handed back, by a script":        {before: released, members: member{report: &ipamv1.MemberStatus{Message: "no API"}}, want: released, shows: condition("False", "NotServing", `cluster "edge-a" has handed the block back; this was reported last: no API`)},
		"of another member":               {before: others, members: member{report: &ipamv1.MemberStatus{Message: "no API"}}, want: others, shows: condition("Unknown", "NotReported", "no API")},
		"refused":                         {members: member{refused, true}, want: refused, shows: condition("False", "Refused", `cluster "edge-a" refuses the pool: it overlaps`)},
		"refused later":                   {before: served(), members: member{refused, true}, want: refusedLater, shows: condition("False", "Refused", `cluster "edge-a" refuses the pool: it overlaps`)},
		"refused, and reported by others": {before: others, members: member{refused, true}, want: refused, shows: condition("False", "Refused", `cluster "edge-a" refuses the pool: it overlaps`)},
		"not served":                      {before: served(), members: member{overlapping, true}, want: overlapping, shows: condition("False", "NotServing", `cluster "edge-a" does not serve the pool: Overlap: with lab`)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := delegatedPool(nil)
			p.Status.Member = test.before
			r := &reporter{Options: Options{Members: test.members}}
			r.showMember(&scope{pool: p, says: poolspec.Pool{Place: poolspec.Elsewhere, DelegateTo: "edge-a"}})
			if !reflect.DeepEqual(p.Status.Member, test.want) {
				t.Errorf("member %+v, want %+v", p.Status.Member, test.want)
			}
			shown := conditions.Get(p, ipamv1.DelegatedCondition)
			if shown != nil {
				shown.LastTransitionTime, shown.ObservedGeneration = metav1.Time{}, 0
			}
			if !reflect.DeepEqual(shown, test.shows) {
				t.Errorf("shown %+v, want %+v", shown, test.shows)
			}
		})
	}
}

// TestTheNumbersOfADelegatedPoolAreItsMembers: in status and gauges, and nowhere but at the hub.
func TestTheNumbersOfADelegatedPoolAreItsMembers(t *testing.T) {
	t.Parallel()
	here := ledger.Capacity{Total: ipspace.CountOf(256), Available: ipspace.CountOf(256), Serving: true}
	for name, test := range map[string]struct {
		place     poolspec.Place
		report    *ipamv1.MemberStatus
		available string
		used      string
		// gauges are how many the pool has.
		gauges int
	}{
		"not reported":           {place: poolspec.Elsewhere, available: "0"},
		"of another member":      {place: poolspec.Elsewhere, report: &ipamv1.MemberStatus{Cluster: "edge-b", Capacity: served().Capacity}, available: "0"},
		"without numbers":        {place: poolspec.Elsewhere, report: &ipamv1.MemberStatus{Cluster: "edge-a"}, available: "0"},
		"reported":               {place: poolspec.Elsewhere, report: served(), available: "253", used: "1%", gauges: 3},
		"where it is handed out": {place: poolspec.Delegated, report: served(), available: "256", used: "0%", gauges: 6},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := delegatedPool(nil)
			p.Name = "numbers-" + name
			p.Status.Member = test.report
			s := &scope{pool: p, says: poolspec.Pool{Ref: p.PoolReference(), Place: test.place, DelegateTo: "edge-a"}}
			pools.ShowIn(&p.Status, &pools.Report{Says: s.says, Capacity: here, Counted: true, Foreign: test.place == poolspec.Elsewhere})
			if p.Status.Capacity.Available != test.available || p.Status.Utilization != test.used || p.Status.Capacity.Total != "256" {
				t.Errorf("shown %+v, %s", p.Status.Capacity, p.Status.Utilization)
			}
			if test.gauges == 3 && (p.Status.Children != nil || *p.Status.Claims != 3) {
				t.Errorf("%v children and %v claims", p.Status.Children, p.Status.Claims)
			}
			(&reporter{Options: Options{Ledger: site(t).Ledger}}).measure(s, here, test.place == poolspec.Elsewhere)
			if got := gaugesOf(t, capacityAddresses, p.Name); got != test.gauges {
				t.Errorf("%d gauges, want %d", got, test.gauges)
			}
		})
	}
}

// gaugesOf counts the series of the pools of that name.
func gaugesOf(t *testing.T, of prometheus.Collector, name string) int {
	t.Helper()
	collected := make(chan prometheus.Metric, 100)
	of.Collect(collected)
	close(collected)
	count := 0
	for metric := range collected {
		written := &dto.Metric{}
		if err := metric.Write(written); err != nil {
			t.Fatal(err)
		}
		for _, label := range written.GetLabel() {
			if label.GetName() == "name" && label.GetValue() == name {
				count++
			}
		}
	}
	return count
}
