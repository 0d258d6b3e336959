// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claimant

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/predicate"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/kinds"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/predicates"
)

// WaitingIndex finds the claims of a kind that have nothing yet, by their Keys.
const WaitingIndex = "weir.waiting"

// PoolIndex finds the answers out of a pool, by its PoolKey and, for a namespaced one, their namespace.
const PoolIndex = "weir.pool"

// PoolKey is where PoolIndex finds the answers out of a pool, and WaitingIndex those that wait for it, in their namespace.
func PoolKey(pool ipamv1.PoolReference) string { return pool.GroupKind().String() + "/" + pool.Name }

// ByHandKey is where PoolIndex finds the answers out of a pool that were made by hand and that no claim has.
func ByHandKey(pool ipamv1.PoolReference) string { return PoolKey(pool) + " by hand" }

// Keys of WaitingIndex beside those of single pools.
const (
	// anyPool is of those that have not chosen a pool.
	anyPool = "any"
	// maybeHidden is of those that their namespace may hide the pool from.
	maybeHidden = "maybe-hidden"
)

// Keys are where WaitingIndex finds a claim that waits for this pool; without a name, for one that its selector chooses.
func Keys(pool ipamv1.PoolReference) []string {
	switch {
	case pool.Name == "":
		return []string{anyPool, maybeHidden}
	case pool.Namespace == "":
		return []string{PoolKey(pool), maybeHidden}
	default:
		return []string{PoolKey(pool)}
	}
}

// Claims are those of one kind.
type Claims struct {
	// Client reads from the cache.
	Client client.Client
	Ledger *ledger.Ledger
	// GroupKind is how the ledger's records name the kind.
	GroupKind schema.GroupKind
	// List is an empty list of the kind.
	List client.ObjectList
	// Pools are empty pools of the kinds that they are answered from.
	Pools []client.Object
	// PoolsOf returns those of them that belong to a Cluster.
	PoolsOf func(ctx context.Context, cluster client.Object) ([]ipamv1.PoolReference, error)
	// Namespace is the only one that is served; empty means all are.
	Namespace string
	// Waits says what a claim waits for that has nothing yet; nil means for anything.
	Waits func(client.Object) Waits
}

// Wake has the controller look at the claims that wait when their pool changes, when it may have room, and when it may have become visible
// to them; and at those that the ledger names. It holds the controller back until the ledger knows every record: a claim that seems
// unanswered before that may have its record.
func (c Claims) Wake(controller *ctrl.Builder) *ctrl.Builder {
	for _, pool := range c.Pools {
		controller = controller.Watches(pool, handler.EnqueueRequestsFromMapFunc(c.waitingForPool), builder.WithPredicates(poolChanges()))
	}
	return controller.
		WatchesMetadata(&corev1.Namespace{}, handler.EnqueueRequestsFromMapFunc(c.waitingInNamespace), builder.WithPredicates(predicates.Labelled())).
		WatchesRawSource(source.Func(c.followLedger))
}

// WatchPool has a controller that runs look at the claims that wait when a pool of this kind changes.
func (c Claims) WatchPool(controller controller.Controller, cache cache.Cache, pool client.Object) error {
	watched := source.Kind(cache, pool, handler.EnqueueRequestsFromMapFunc(c.waitingForPool), poolChanges())
	if err := controller.Watch(watched); err != nil {
		return fmt.Errorf("following %T: %w", pool, err)
	}
	return nil
}

func poolChanges() predicate.Predicate {
	return predicate.Or(predicates.PoolChanged(), predicates.PausedChanged())
}

func (c Claims) followLedger(ctx context.Context, queue queue) error {
	freed, concerned := c.Ledger.Notices().Freed(ctx), c.Ledger.Notices().Concerned(ctx)
	if err := c.Ledger.WaitForSync(ctx); err != nil {
		return err
	}
	go (&waitlists{Claims: c, queue: queue, of: map[ipamv1.PoolReference]*waitlist{}}).follow(ctx, freed, concerned)
	return nil
}

func (c Claims) waitingForPool(ctx context.Context, pool client.Object) []reconcile.Request {
	kind, err := c.Client.GroupVersionKindFor(pool)
	if err != nil { // the cache has it by its type
		ctrl.LoggerFrom(ctx).Error(err, "Finding the kind of a pool")
		return nil
	}
	return c.waiting(ctx, kinds.Pool(kind.GroupKind(), pool.GetNamespace(), pool.GetName()))
}

func (c Claims) waiting(ctx context.Context, pool ipamv1.PoolReference) []reconcile.Request {
	if !predicates.IsServed(pool.Namespace, c.Namespace) {
		return nil
	}
	namespace := client.InNamespace(pool.Namespace)
	return append(c.Requests(ctx, namespace, client.MatchingFields{WaitingIndex: PoolKey(pool)}),
		c.Requests(ctx, namespace, client.MatchingFields{WaitingIndex: anyPool})...)
}

func (c Claims) waitingInNamespace(ctx context.Context, namespace client.Object) []reconcile.Request {
	if !predicates.IsServed(namespace.GetName(), c.Namespace) {
		return nil
	}
	return c.Requests(ctx, client.InNamespace(namespace.GetName()), client.MatchingFields{WaitingIndex: maybeHidden})
}

// OfCluster names the claims that are of a Cluster, by ClusterIndex, and those that wait for one of its pools: that pauses with it, and
// while it is not there.
func (c Claims) OfCluster(ctx context.Context, cluster client.Object) []reconcile.Request {
	namespace := client.InNamespace(cluster.GetNamespace())
	requests := c.Requests(ctx, namespace, client.MatchingFields{ClusterIndex: cluster.GetName()})
	pools, err := c.PoolsOf(ctx, cluster)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Finding pools of a Cluster", "kind", c.GroupKind.String())
	}
	for _, pool := range pools {
		requests = append(requests, c.waiting(ctx, pool)...)
	}
	return requests
}

// Requests names the claims that a list returns.
func (c Claims) Requests(ctx context.Context, options ...client.ListOption) []reconcile.Request {
	var requests []reconcile.Request
	err := c.each(ctx, func(claim metav1.Object) {
		requests = append(requests, reconcile.Request{NamespacedName: keyOfObject(claim)})
	}, options...)
	if err != nil {
		ctrl.LoggerFrom(ctx).Error(err, "Finding claims to look at again", "kind", c.GroupKind.String())
	}
	return requests
}

// Living returns the UIDs of the claims that the cache shows, for repair.
func (c Claims) Living(ctx context.Context) (map[types.NamespacedName]types.UID, error) {
	living := map[types.NamespacedName]types.UID{}
	err := c.each(ctx, func(claim metav1.Object) { living[keyOfObject(claim)] = claim.GetUID() })
	return living, err
}

// each does something with the claims that a list returns, which must not be changed.
func (c Claims) each(ctx context.Context, do func(metav1.Object), options ...client.ListOption) error {
	list, _ := c.List.DeepCopyObject().(client.ObjectList)
	if err := c.Client.List(ctx, list, append(options, client.UnsafeDisableDeepCopy)...); err != nil {
		return fmt.Errorf("listing %ss: %w", c.GroupKind.Kind, err)
	}
	return meta.EachListItem(list, func(item runtime.Object) error {
		claim, err := meta.Accessor(item)
		if err == nil {
			do(claim)
		}
		return err
	})
}

func requestFor(namespace, name string) reconcile.Request {
	return reconcile.Request{NamespacedName: types.NamespacedName{Namespace: namespace, Name: name}}
}

func keyOfObject(obj metav1.Object) types.NamespacedName {
	return types.NamespacedName{Namespace: obj.GetNamespace(), Name: obj.GetName()}
}
