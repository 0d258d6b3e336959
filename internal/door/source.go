// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package door

import (
	"context"
	"net/netip"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/external"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
)

// Alias returns the other name of a claim, as live reads show it, if its pool may keep something for a claim of that name; "" if it has none,
// or the pool keeps nothing of the kind: then nothing is read. While it may have one that is not known yet, the error is a Refusal with the
// reason WaitingForHost.
type Alias func(ctx context.Context, claim client.Object, offer *Offer) (string, error)

// Source knows the pools that claims refer to.
type Source interface {
	// Serves says whether claims with this reference are this provider's to answer or to refuse.
	Serves(pool PoolName) bool
	// Reference completes the reference of a claim, or an answer, of this namespace.
	Reference(pool PoolName, namespace string) ipamv1.PoolReference
	// Pools returns empty pools of the kinds that are served, and PoolsOf the pools of a Cluster.
	Pools() []client.Object
	PoolsOf(ctx context.Context, cluster client.Object) ([]ipamv1.PoolReference, error)
	// Offer returns what the pool of a claim of this namespace offers, registered with the ledger. A claim that names no pool, or one of which nothing is
	// known, gets a Refusal.
	Offer(ctx context.Context, namespace string, pool PoolName) (*Offer, error)
}

// Offer is what a claim can have from its pool.
type Offer struct {
	Pool ipamv1.PoolReference
	// Owner is the owner reference to the pool, and Generation that of its spec.
	Owner      metav1.OwnerReference
	Generation int64
	// Leaving: the pool is being deleted. The garbage collector takes it off its dependents' owners then, and nobody puts it back.
	Leaving bool
	// Halted says why nothing is to be done: the pool or its Cluster is paused, or the Cluster is not there; nil if neither is so.
	Halted error
	// Hidden says why the claim may have nothing of the pool; nil if it may. What it has it keeps, and what it arrived with nobody
	// else gets.
	Hidden error
	// Closed says why the pool hands out nothing new; nil if it does. A claim that has its address keeps it, and one that arrives
	// with one is recorded all the same.
	Closed error
	// NamePrefix is what the names of the pool's answers begin with, where they are named after their addresses.
	NamePrefix string
	// Bits is the prefix length that a claim gets, HostBits that of an address: 32 or 128; 0 where the pool has no addresses.
	Bits, HostBits int
	// Kept is what the pool keeps for certain claims. Not to be modified.
	Kept []pooltree.Kept
	// Network returns what comes with an address.
	Network func(netip.Addr) pooltree.Network
	// Outside is who chooses the pool's addresses outside of the cluster; nil if the ledger does.
	Outside *external.Backing
}
