// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/conditions"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/poolspec"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/predicates"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/preflight"
)

// blockedByWeir is the value of the annotation with which Weir stops clusterctl, to be told from somebody else's.
const blockedByWeir = "ipam.weir.dev/DependentsNotMoved"

// queue is the controller's.
type queue = workqueue.TypedRateLimitingInterface[reconcile.Request]

// followRemains keeps what a move would leave behind up to date by the claims, answers and pools that the cache shows. Pools are looked at
// some time after it changed, as after a change of the ledger; at once if nothing would have stayed before, for then clusterctl must
// be stopped; and all of them once everything has been seen: until then nothing is said, so that a restart changes no condition.
func (r *Reconciler) followRemains(mgr ctrl.Manager) source.Source {
	return source.Func(func(ctx context.Context, q queue) error {
		var all []source.SyncingSource
		follow := func(kind client.Object, left func(client.Object) preflight.Remain) error {
			followed := source.Kind(mgr.GetCache(), kind, handler.EventHandler(r.remainsHandler(left)))
			if err := followed.Start(ctx, q); err != nil {
				return fmt.Errorf("following %T: %w", kind, err)
			}
			all = append(all, followed)
			return nil
		}
		err := errors.Join(follow(&ipamv1.IPClaim{}, preflight.Left), follow(&ipamv1.IPPool{}, r.leftPool))
		for _, door := range r.doors {
			err = errors.Join(err, follow(door.NewClaim(), door.Left), follow(door.NewAnswer(), door.Left))
		}
		if err != nil {
			return err
		}
		go func() {
			for _, followed := range all {
				if err := followed.WaitForSync(ctx); err != nil || ctx.Err() != nil {
					return
				}
			}
			r.remains.Complete()
			living, err := r.Living(ctx)
			if err != nil {
				ctrl.LoggerFrom(ctx).Error(err, "Listing pools")
			}
			for key := range living {
				q.AddAfter(reconcile.Request{NamespacedName: key}, statusInterval)
			}
		}()
		return nil
	})
}

// leftPool is preflight.Left of a pool: one that was delegated to this cluster is carved from nothing here.
func (r *Reconciler) leftPool(obj client.Object) preflight.Remain {
	if p, ok := obj.(pools.Object); ok && r.Registry.Says(p).Place == poolspec.Delegated {
		return preflight.Remain{}
	}
	return preflight.Left(obj)
}

func (r *Reconciler) remainsHandler(left func(client.Object) preflight.Remain) handler.Funcs {
	replace := func(was, is preflight.Remain, q queue) {
		for _, change := range r.remains.Replace(r.ofKind(was), r.ofKind(is)) {
			request := reconcile.Request{NamespacedName: types.NamespacedName{Namespace: change.Pool.Namespace, Name: change.Pool.Name}}
			switch {
			case !predicates.IsServed(change.Pool.Namespace, r.Namespace):
			case change.First:
				q.Add(request)
			default:
				q.AddAfter(request, statusInterval)
			}
		}
	}
	return handler.Funcs{
		CreateFunc: func(_ context.Context, e event.CreateEvent, q queue) {
			replace(preflight.Remain{}, left(e.Object), q)
		},
		UpdateFunc: func(_ context.Context, e event.UpdateEvent, q queue) {
			replace(left(e.ObjectOld), left(e.ObjectNew), q)
		},
		DeleteFunc: func(_ context.Context, e event.DeleteEvent, q queue) {
			replace(left(e.Object), preflight.Remain{}, q)
		},
	}
}

// ofKind passes over what stays of a pool of the other kind.
func (r *Reconciler) ofKind(remain preflight.Remain) preflight.Remain {
	if remain.Pool.GroupKind() != r.Kind.GroupKind {
		return preflight.Remain{}
	}
	return remain
}

// setMovable says what a move would leave behind of what is handed out of the pool. It is left as it is where that is not known:
// Cluster API is not installed, nor everything seen yet, or this manager sees one namespace, and the pool is for all; and where
// the pool is just leaving. A pool that is being deleted would go with a move like any other.
func (r *reporter) setMovable(ctx context.Context, s *scope, c ledger.Capacity) error {
	isForAll, leaves := s.pool.GetNamespace() == "", predicates.IsMoving(s.pool) && !s.pool.GetDeletionTimestamp().IsZero()
	if !r.remains.IsComplete() || isForAll && r.Namespace != "" || leaves {
		return nil
	}
	if stays := r.Kind.Moves != nil && !r.Kind.Moves(s.pool); stays {
		conditions.Set(s.pool, metav1.Condition{
			Type: ipamv1.MovableCondition, Status: metav1.ConditionFalse, Reason: ipamv1.PoolMovableDependentsNotMovedReason,
			ObservedGeneration: s.pool.GetGeneration(),
			Message: "clusterctl move leaves the pool here (" + cmp.Or(preflight.Owner(s.pool), "spec.clusterName names no Cluster that owns it") +
				"); of claims that move Weir holds the addresses",
		})
		return r.block(ctx, s, false)
	}
	condition := metav1.Condition{
		Type: ipamv1.MovableCondition, Status: metav1.ConditionTrue, Reason: ipamv1.PoolMovableAllMovesReason,
		ObservedGeneration: s.pool.GetGeneration(),
	}
	secret, err := r.secretLeft(ctx, s)
	if err != nil {
		return err
	}
	total, message := r.leftBehind(ctx, s.pool, secret, c)
	if total > 0 {
		condition.Status, condition.Reason, condition.Message = metav1.ConditionFalse, ipamv1.PoolMovableDependentsNotMovedReason, message
	}
	conditions.Set(s.pool, condition)
	return r.block(ctx, s, total > 0)
}

// secretLeft returns the Secret of an IPPool of floating IPs, and why a move would leave it behind; "" if it moves. The Secret is read live: Weir
// watches none. A Secret that cannot be read is not named: the condition Ready reports it.
func (r *reporter) secretLeft(ctx context.Context, s *scope) (string, error) {
	own, isOwn := s.pool.(pools.Own)
	if !isOwn || !s.says.External || r.Registry.External == nil || s.pool.GetNamespace() == "" {
		return "", nil
	}
	secret := &metav1.PartialObjectMetadata{}
	secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	key := client.ObjectKey{Namespace: s.pool.GetNamespace(), Name: own.PoolSpec().OpenStack.IdentityRef.Name}
	err := r.Live.Get(ctx, key, secret)
	switch {
	case apierrors.IsNotFound(err), apierrors.IsForbidden(err):
		return "", nil
	case err != nil:
		return "", fmt.Errorf("reading the labels of Secret %s: %w", key, err)
	}
	why := preflight.Secret(secret)
	if why == "" {
		return "", nil
	}
	s.secretStays = true
	return fmt.Sprintf("Secret %s (%s)", key, why), nil
}

// leftBehind counts what would stay and names some of it, as far as it is of the pool's own project: the Secret, if one is given, too.
func (r *reporter) leftBehind(ctx context.Context, p pools.Object, secret string, c ledger.Capacity) (total int, message string) {
	total, some := r.remains.Of(r.Kind.Reference(p), shownHoldings)
	var named []string
	if why := preflight.Owner(p); why != "" {
		total++
		named = append(named, ownerStays(p, why))
	}
	if secret != "" {
		total++
		named = append(named, secret)
	}
	if elsewhere := r.childrenElsewhere(p, c); elsewhere > 0 {
		total += elsewhere
		named = append(named, fmt.Sprintf("%d pools of other namespaces", elsewhere))
	}
	if held := int(c.Held); held > 0 && p.GetNamespace() != "" {
		total += held
		named = append(named, fmt.Sprintf("%d holds of what moved before", held))
	}
	for _, remain := range some {
		if len(named) == shownHoldings {
			break
		}
		who := ipamv1.ClaimReference{Kind: remain.Object.Kind, Namespace: remain.Object.Namespace, Name: remain.Object.Name}
		if r.Registry.Rules.MayName(ctx, p.GetNamespace(), who) {
			named = append(named, fmt.Sprintf("%s (%s)", remain.Object, remain.Why))
		}
	}
	message = fmt.Sprintf("clusterctl move would leave %d behind", total)
	if len(named) == 0 {
		return total, message
	}
	return total, message + ": " + strings.Join(named, ", ")
}

// childrenElsewhere counts the pools of other namespaces that are carved from an IPPool, where the cache does not show them.
func (r *reporter) childrenElsewhere(p pools.Object, c ledger.Capacity) (n int) {
	if r.Namespace == "" || c.Children == 0 {
		return 0
	}
	for _, h := range r.Ledger.Of(r.Kind.Reference(p)).Holdings() {
		if h.Purpose == ledger.ForChildPool && h.Claim.Namespace != p.GetNamespace() {
			n++
		}
	}
	return n
}

// ownerStays says that the pool itself stays. Who owns a GlobalIPPool is not told to all who see it.
func ownerStays(p pools.Object, why string) string {
	if p.GetNamespace() == "" {
		return "the pool itself (an owner of it is not moved)"
	}
	return fmt.Sprintf("%s %s/%s (%s)", ipamv1.IPPoolKind, p.GetNamespace(), p.GetName(), why)
}

// block has clusterctl wait, and give up, before it takes an IPPool from something that stays: on the other side, the pool would hand
// out again what that has. A GlobalIPPool stays on both sides, and would stop the moves of all namespaces. clusterctl looks at what
// there is, then pauses the Clusters, then waits: what changes from then on comes too late for that move. So nothing changes here
// while a Cluster of the namespace is paused, which is read live; and none can be for a move to begin.
func (r *reporter) block(ctx context.Context, s *scope, leaves bool) error {
	annotations := s.pool.GetAnnotations()
	by, isBlocked := annotations[clusterctlv1.BlockMoveAnnotation]
	_, isWanted := annotations[ipamv1.LeaveBehindAnnotation]
	blocks := leaves && !isWanted
	if s.pool.GetNamespace() == "" || blocks == isBlocked || isBlocked && by != blockedByWeir {
		return nil
	}
	clusters := &clusterv1.ClusterList{}
	if err := r.Live.List(ctx, clusters, client.InNamespace(s.pool.GetNamespace())); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("listing Clusters: %w", err)
	}
	if slices.ContainsFunc(clusters.Items, func(c clusterv1.Cluster) bool { return predicates.IsPaused(&c, &c) }) {
		return nil
	}
	changed := maps.Clone(annotations)
	if changed == nil {
		changed = map[string]string{}
	}
	if delete(changed, clusterctlv1.BlockMoveAnnotation); blocks {
		changed[clusterctlv1.BlockMoveAnnotation] = blockedByWeir
	}
	s.pool.SetAnnotations(changed)
	return nil
}
