// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/conditions"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/external"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ipspace"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
)

// TestWhyAPoolOfFloatingIPsIsExhausted: the limit, the quota and the network are told apart, and no
// answer undoes a later one.
func TestWhyAPoolOfFloatingIPsIsExhausted(t *testing.T) {
	t.Parallel()
	stood := time.Unix(1000, 0)
	before, after := stood.Add(-time.Second), stood.Add(time.Second)
	unlimited := ledger.Capacity{Unlimited: true}
	full := ledger.Capacity{Total: ipspace.CountOf(3), Allocated: ipspace.CountOf(3)}
	roomy := ledger.Capacity{Total: ipspace.CountOf(3), Allocated: ipspace.CountOf(1), Available: ipspace.CountOf(2)}
	quota, network := external.QuotaUsedUp, external.NetworkFull
	for name, test := range map[string]struct {
		stands   string
		capacity ledger.Capacity
		last     external.Answer
		want     string
	}{
		"nothing is known":                    {capacity: unlimited},
		"the first creation":                  {capacity: unlimited, last: external.Answer{At: after}},
		"the first refusal, by the quota":     {capacity: unlimited, last: external.Answer{Shortage: quota, At: after}, want: "True QuotaUsedUp"},
		"the first refusal, by the network":   {capacity: unlimited, last: external.Answer{Shortage: network, At: after}, want: "True NetworkFull"},
		"the network after the quota":         {"QuotaUsedUp", unlimited, external.Answer{Shortage: network, At: after}, "True NetworkFull"},
		"the network before the quota":        {"QuotaUsedUp", unlimited, external.Answer{Shortage: network, At: before}, "True QuotaUsedUp"},
		"a creation after the refusal":        {"QuotaUsedUp", unlimited, external.Answer{At: after}, "False SomeAvailable"},
		"a creation before the refusal":       {"QuotaUsedUp", unlimited, external.Answer{At: before}, "True QuotaUsedUp"},
		"a manager that has asked nobody":     {"NetworkFull", unlimited, external.Answer{}, "True NetworkFull"},
		"a refusal before the creation":       {"SomeAvailable", unlimited, external.Answer{Shortage: quota, At: before}, "False SomeAvailable"},
		"below the limit":                     {capacity: roomy, want: "False SomeAvailable"},
		"below the limit, and the quota's":    {"SomeAvailable", roomy, external.Answer{Shortage: quota, At: after}, "True QuotaUsedUp"},
		"at the limit":                        {"SomeAvailable", full, external.Answer{}, "True NoneAvailable"},
		"at the limit, and the quota's":       {"SomeAvailable", full, external.Answer{Shortage: quota, At: after}, "True NoneAvailable"},
		"no longer at the limit":              {"NoneAvailable", roomy, external.Answer{At: before}, "False SomeAvailable"},
		"no longer at it, and at the quota's": {"NoneAvailable", roomy, external.Answer{Shortage: quota, At: after}, "True QuotaUsedUp"},
		"the limit is taken away":             {"NoneAvailable", unlimited, external.Answer{}, "False SomeAvailable"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := &ipamv1.IPPool{}
			if test.stands != "" {
				status := metav1.ConditionTrue
				if test.stands == ipamv1.PoolExhaustedSomeAvailableReason {
					status = metav1.ConditionFalse
				}
				p.Status.Conditions = []metav1.Condition{{
					Type: ipamv1.ExhaustedCondition, Status: status, Reason: test.stands, LastTransitionTime: metav1.NewTime(stood),
				}}
			}
			setShortage(p, test.capacity, test.last)
			got := ""
			if c := conditions.Get(p, ipamv1.ExhaustedCondition); c != nil {
				got = string(c.Status) + " " + c.Reason
			}
			if got != test.want {
				t.Errorf("%q, want %q", got, test.want)
			}
		})
	}
}
