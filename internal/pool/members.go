// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/conditions"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/poolspec"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/predicates"
)

// Members are asked at the hub what member clusters report.
type Members interface {
	// Of returns what a member reports of the pool of that UID. Without a report it returns false, and
	// what it returns then says in its message why there is none; nil where that is not known yet.
	Of(uid types.UID, member string) (*ipamv1.MemberStatus, bool)
}

// showMember writes what the member of a delegated pool reports into its status, and the condition
// Delegated. Without a report what was reported last stays, whoever wrote it.
func (r *reporter) showMember(s *scope) {
	own, isOwn := s.pool.(pools.Own)
	switch {
	case !isOwn || s.says.Place != poolspec.Elsewhere:
		conditions.Delete(s.pool, ipamv1.DelegatedCondition)
		return
	case r.Members == nil:
		return
	}
	status := own.PoolStatus()
	report, isReported := r.Members.Of(s.pool.GetUID(), s.says.DelegateTo)
	switch {
	case isReported:
		status.Member = newest(status.Member, report)
		conditions.Set(s.pool, memberCondition(s.says.DelegateTo, status.Member, ""))
	case report != nil:
		conditions.Set(s.pool, memberCondition(s.says.DelegateTo, status.Member, report.Message))
	}
}

// newest returns a report, with the numbers of the one before where the member has refused the pool:
// it goes on with what it has.
func newest(before, report *ipamv1.MemberStatus) *ipamv1.MemberStatus {
	if report.Applied != ipamv1.MemberRefused || before == nil || before.Cluster != report.Cluster {
		return report
	}
	kept := before.DeepCopy()
	kept.Applied, kept.Reason, kept.Message = report.Applied, report.Reason, report.Message
	return kept
}

// memberCondition is the condition Delegated for what a member has reported last, which is nil if it
// has not, and why nothing newer is known; "" if that is the newest.
func memberCondition(member string, report *ipamv1.MemberStatus, why string) metav1.Condition {
	c := metav1.Condition{Type: ipamv1.DelegatedCondition, Status: metav1.ConditionFalse}
	switch {
	case report == nil || report.Cluster != member:
		c.Status, c.Reason, c.Message = metav1.ConditionUnknown, ipamv1.DelegatedNotReportedReason, why
		return c
	case report.Applied == ipamv1.MemberRefused:
		c.Reason, c.Message = ipamv1.DelegatedRefusedReason, fmt.Sprintf("cluster %q refuses the pool: %s", member, report.Message)
	case report.Reason != "" && report.Reason != ipamv1.PoolReadyAvailableReason:
		c.Reason, c.Message = ipamv1.DelegatedNotServingReason, fmt.Sprintf("cluster %q does not serve the pool: %s: %s", member, report.Reason, report.Message)
	case report.Reason == "" && report.Released != nil: // whoever relays it may leave out the rest
		c.Reason, c.Message = ipamv1.DelegatedNotServingReason, fmt.Sprintf("cluster %q has handed the block back", member)
	default:
		c.Status, c.Reason, c.Message = metav1.ConditionTrue, ipamv1.DelegatedServingReason, fmt.Sprintf("cluster %q serves the pool", member)
	}
	if why != "" {
		c.Message += "; this was reported last: " + why
	}
	return c
}

// WatchMembers has pools looked at some time after what is reported of them has changed: changes
// until then cost one write together. It is for when reports are followed, which may be later than
// Weir starts.
func (r *Reconciler) WatchMembers(c cache.Cache, reports client.Object, poolOf handler.MapFunc) error {
	later := func(ctx context.Context, q queue, report client.Object) {
		for _, request := range poolOf(ctx, report) {
			if predicates.IsServed(request.Namespace, r.Namespace) {
				q.AddAfter(request, statusInterval)
			}
		}
	}
	changed := handler.Funcs{
		CreateFunc: func(ctx context.Context, e event.CreateEvent, q queue) { later(ctx, q, e.Object) },
		UpdateFunc: func(ctx context.Context, e event.UpdateEvent, q queue) { later(ctx, q, e.ObjectNew) },
		DeleteFunc: func(ctx context.Context, e event.DeleteEvent, q queue) { later(ctx, q, e.Object) },
	}
	onlyNew := predicate.Predicate(predicate.ResourceVersionChangedPredicate{})
	if err := r.controller.Watch(source.Kind(c, reports, changed, onlyNew)); err != nil {
		return fmt.Errorf("following what members report of %ss: %w", r.Kind.Kind, err)
	}
	return r.LookAtDelegated()
}

// LookAtDelegated has all delegated pools looked at, now or when the controller starts: whether
// reports can be followed has changed.
func (r *Reconciler) LookAtDelegated() error {
	return r.controller.Watch(source.Func(func(ctx context.Context, q queue) error {
		list := r.Kind.NewList()
		if err := r.Client.List(ctx, list, client.UnsafeDisableDeepCopy); err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "Listing pools", "kind", r.Kind.GroupKind)
			return nil
		}
		return meta.EachListItem(list, func(item runtime.Object) error {
			if own, ok := item.(pools.Own); ok && own.PoolSpec().DelegateTo != "" && predicates.IsServed(own.GetNamespace(), r.Namespace) {
				q.Add(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(own)})
			}
			return nil
		})
	}))
}
