// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/conditions"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/poolspec"
)

// setGatewayReachable reports which addresses of the pool are not handed out
// because they do not reach the gateway that comes with them. Admission refuses
// such a pool: this one was stored before it did, or without it. The condition
// is left as it is while the pool has no shape.
func (r *reporter) setGatewayReachable(s *scope) {
	own, ok := s.pool.(pools.Own)
	if !ok || s.registered.Shape == nil && len(s.invalid) == 0 {
		return
	}
	mistakes, _ := poolspec.CheckGateways(own.PoolSpec(), s.says.Ref, s.registered.Shape, nil)
	if len(mistakes) == 0 {
		conditions.Delete(s.pool, ipamv1.GatewayReachableCondition)
		return
	}
	conditions.Set(s.pool, offLinkCondition(mistakes, s.pool.GetGeneration()))
}

func offLinkCondition(mistakes field.ErrorList, generation int64) metav1.Condition {
	return metav1.Condition{
		Type: ipamv1.GatewayReachableCondition, Status: metav1.ConditionFalse, Reason: ipamv1.AddressesOffLinkReason,
		Message:            "not handed out: " + invalidMessage(mistakes),
		ObservedGeneration: generation,
	}
}

// announceOffLink records an event for a pool that begins, or ceases, to have addresses that do not reach their gateway.
func (r *reporter) announceOffLink(before, after pools.Object) {
	was, is := conditions.Has(before, ipamv1.GatewayReachableCondition), conditions.Has(after, ipamv1.GatewayReachableCondition)
	switch {
	case is && !was:
		r.Recorder.Eventf(after, nil, corev1.EventTypeWarning, ipamv1.AddressesOffLinkReason, "Serve", "%s",
			conditions.GetMessage(after, ipamv1.GatewayReachableCondition))
	case was && !is:
		r.Recorder.Eventf(after, nil, corev1.EventTypeNormal, ipamv1.PoolReadyAvailableReason, "Serve", "all addresses reach their gateway again")
	}
}
