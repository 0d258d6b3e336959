// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"fmt"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/conditions"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/external"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
)

// setRoom says whether anything of the pool is available; nothing of a pool of which nobody counts that. What a pool of floating IPs can create
// is known to its cloud alone.
func (r *reporter) setRoom(s *scope, c ledger.Capacity, known bool) {
	own, isOwn := s.pool.(pools.Own)
	if !known || !isOwn || !s.says.External || r.Registry.External == nil {
		setExhausted(s.pool, c, known && !c.Unlimited)
		return
	}
	last, _ := r.Registry.External.LastAnswer(r.Registry.OutsidePool(own, s.says))
	setShortage(s.pool, c, last)
}

// shortages are the reasons and messages of what the cloud of a pool lacks.
var shortages = map[external.Shortage]struct{ reason, message string }{
	external.QuotaUsedUp: {ipamv1.PoolExhaustedQuotaUsedUpReason, "the project's quota of floating IPs is used up: the last creation was refused"},
	external.NetworkFull: {ipamv1.PoolExhaustedNetworkFullReason, "the network has no free address: the last creation was refused"},
}

// setShortage says whether the limit of a pool of floating IPs is reached, else what its cloud has answered last. An answer that is older than
// the condition changes nothing: another manager, or this one before it was started again, has heard a later one. So managers that have heard
// different answers agree in the end.
func setShortage(p pools.Object, c ledger.Capacity, last external.Answer) {
	standing := conditions.Get(p, ipamv1.ExhaustedCondition)
	// Times of conditions are whole seconds.
	isNews := !last.At.IsZero() && (standing == nil || last.At.After(standing.LastTransitionTime.Time))
	wasLimit := standing != nil && standing.Reason == ipamv1.PoolExhaustedNoneAvailableReason
	short, isShort := shortages[last.Shortage]
	condition := metav1.Condition{Type: ipamv1.ExhaustedCondition, Status: metav1.ConditionTrue}
	switch {
	case !c.Unlimited && c.Available.IsZero():
		condition.Reason = ipamv1.PoolExhaustedNoneAvailableReason
		condition.Message = fmt.Sprintf("spec.openStack.maxIPs: %s of %s floating IPs are allocated", c.Allocated, c.Total)
	case isNews && isShort:
		condition.Reason, condition.Message = short.reason, short.message
	case isNews && standing != nil, wasLimit, standing == nil && !c.Unlimited:
		condition.Status, condition.Reason = metav1.ConditionFalse, ipamv1.PoolExhaustedSomeAvailableReason
	default:
		return
	}
	if standing != nil && standing.Reason != condition.Reason { // its time is that of the reason
		conditions.Delete(p, ipamv1.ExhaustedCondition)
	}
	conditions.Set(p, condition)
}
