// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pools

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claimant"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/conditions"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/kinds"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/poolspec"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/preflight"
)

// Object is a pool of any kind.
type Object interface {
	client.Object
	conditions.Setter
}

// Own is a pool of one of Weir's kinds.
type Own interface {
	Object
	PoolReference() ipamv1.PoolReference
	PoolSpec() *ipamv1.IPPoolSpec
	PoolStatus() *ipamv1.IPPoolStatus
}

// Door is what the controllers of pools are told of a front door's claims and answers, which are not of Weir's kinds.
type Door interface {
	// NewClaim returns an empty claim, NewAnswer an empty answer, and Left what a move would leave behind of either: of an answer that a claim
	// has nothing, because it goes where the claim goes.
	NewClaim() client.Object
	NewAnswer() client.Object
	Left(obj client.Object) preflight.Remain
	// Outdated counts the answers out of a pool that carry other network settings than its shape says.
	Outdated(ctx context.Context, pool ipamv1.PoolReference, shape *pooltree.Pool) (int, error)
	// ByHand returns the answers out of a pool that were made by hand and that no claim has.
	ByHand(ctx context.Context, pool ipamv1.PoolReference) ([]ByHand, error)
	// Answer reads a claim and the answer that its status names, if that is out of this pool; the zero value if there is none.
	Answer(ctx context.Context, live client.Reader, claim types.NamespacedName, pool ipamv1.PoolReference) (claimant.Answer, error)
}

// ByHand is an answer that was made by hand.
type ByHand struct {
	types.NamespacedName

	// Address is its text.
	Address string
}

// Kind is a kind of pools, as data: all that the registry and the controller of pools need to know of it.
type Kind struct {
	schema.GroupKind

	Version string
	// ClusterScoped: its pools have no namespace.
	ClusterScoped bool
	// HasHome: a pool is at home in one cluster, which its annotation ipam.weir.dev/home names. A copy in any other hands out nothing.
	HasHome bool
	// Finalizer keeps a pool until nothing is handed out of it.
	Finalizer string
	// New returns an empty pool, NewList an empty list of them, and Is says whether an object is one of them.
	New     func() Object
	NewList func() client.ObjectList
	Is      func(Object) bool
	// Says returns what a pool says of itself.
	Says func(Object) poolspec.Pool
	// Resolve returns the shape that a pool has under a parent, which is nil for a root and where it is not known; or every mistake in its
	// spec.
	Resolve func(p Object, parent *pooltree.Pool) (*pooltree.Pool, field.ErrorList)
	// Status returns the pool's status as it is stored, and Show writes a report into it. Conditions are seen to elsewhere.
	Status func(Object) any
	Show   func(Object, *Report)
	// Join writes into the metadata of a pool that belongs to a Cluster, beside the Cluster's label; nil for nothing.
	Join func(Object, *clusterv1.Cluster)
	// Doubts says what of a pool is served but probably not meant; nil for nothing.
	Doubts func(Object) []string
	// Refused returns what is refused when a pool is written, though a stored pool that has it is served; nil for nothing. AddressField of its
	// spec has the pool's addresses.
	Refused      func(Object) field.ErrorList
	AddressField string
	// KeepsInUse: no update may exclude what claims have, nor make it a gateway or a reserved address, as with the kind's own manager.
	KeepsInUse bool
	// ReportsOverlaps: a pool may have addresses of another one, of another address space, and the younger one of the two reports that.
	ReportsOverlaps bool
	// SpaceAnnotation names the address space of a pool, and on a Namespace that of its new pools; "" where the kind names it otherwise.
	SpaceAnnotation string
	// Moves says whether clusterctl moves a pool with the Clusters of its namespace; nil where it moves all of them, by a label on their CRD. A
	// pool without a namespace stays.
	Moves func(client.Object) bool
	// Stamp is called when something of the status has changed and is about to be written; nil for nothing to do then.
	Stamp func(p Object, now time.Time)
}

// Report is what is known of a pool, for its status.
type Report struct {
	// Says is what the pool says of itself, and Invalid whether its spec cannot be served.
	Says    poolspec.Pool
	Invalid bool
	// Capacity is the zero value unless Counted.
	Capacity ledger.Capacity
	Counted  bool
	// Foreign: the pool is at home in another cluster, or delegated to one, which hands out its addresses.
	Foreign bool
	// Idle: the pool hands out nothing, because its blocks are not recorded, or it is being deleted.
	Idle bool
	// Holdings returns what is recorded of the pool, ascending. The cost grows with its number, Capacity.Claims.
	Holdings func() []ledger.Holding
}

// Reference returns what records and claims name a pool of the kind by.
func (k *Kind) Reference(p client.Object) ipamv1.PoolReference {
	return kinds.Pool(k.GroupKind, p.GetNamespace(), p.GetName())
}

// Is is Kind.Is for the pools that are of the type P.
func Is[P Object](p Object) bool {
	_, ok := p.(P)
	return ok
}

// IPPools are Weir's namespaced pools, and GlobalIPPools its cluster-scoped ones.
var (
	IPPools = Kind{
		GroupKind: kinds.IPPool, Version: ipamv1.GroupVersion.Version, Finalizer: ipamv1.PoolFinalizer,
		New:     func() Object { return &ipamv1.IPPool{} },
		NewList: func() client.ObjectList { return &ipamv1.IPPoolList{} },
		Is:      Is[*ipamv1.IPPool],
		Says:    says, Resolve: resolve, Status: status, Show: show,
	}
	GlobalIPPools = Kind{
		GroupKind: kinds.GlobalIPPool, Version: ipamv1.GroupVersion.Version, ClusterScoped: true, HasHome: true, Finalizer: ipamv1.PoolFinalizer,
		New:     func() Object { return &ipamv1.GlobalIPPool{} },
		NewList: func() client.ObjectList { return &ipamv1.GlobalIPPoolList{} },
		Is:      Is[*ipamv1.GlobalIPPool],
		Says:    says, Resolve: resolve, Status: status, Show: show,
	}

	weirKinds = []Kind{IPPools, GlobalIPPools}
)

func says(p Object) poolspec.Pool {
	own, _ := p.(Own) // by New
	says := poolspec.Read(own.PoolSpec(), own.PoolReference(), p.GetLabels())
	says.Arrived = p.GetAnnotations()[ipamv1.ArrivedAnnotation] != ""
	if says.External { // what the network is called may mean another one tomorrow
		says.Cloud, _ = poolspec.ReadCloud(p.GetAnnotations()) // the pool's condition tells
		says.Space = says.Cloud.Space()
	}
	return says
}

func resolve(p Object, parent *pooltree.Pool) (*pooltree.Pool, field.ErrorList) {
	own, _ := p.(Own) // by New
	return poolspec.ResolveUnder(own.PoolSpec(), own.PoolReference(), parent)
}

func status(p Object) any {
	own, _ := p.(Own) // by New
	return own.PoolStatus()
}

func show(p Object, r *Report) {
	own, _ := p.(Own) // by New
	status := own.PoolStatus()
	status.ObservedGeneration = p.GetGeneration()
	status.AddressSummary = poolspec.Summary(own.PoolSpec())
	ShowIn(status, r)
}

// New returns an empty pool of one of Weir's kinds, and false if that is no such kind.
func New(kind schema.GroupKind) (Own, bool) {
	switch kind {
	case kinds.IPPool:
		return &ipamv1.IPPool{}, true
	case kinds.GlobalIPPool:
		return &ipamv1.GlobalIPPool{}, true
	default:
		return nil, false
	}
}

// Known is a pool as the registry has found it.
type Known struct {
	Object
	// Says is what it says of itself.
	Says poolspec.Pool
	// Registered is how the ledger knows it; the zero value where Invalid says why it cannot be served, and where it is of its parent's
	// address space and that is not known.
	Registered ledger.Pool
	Invalid    field.ErrorList
}

// IsUnknown says whether nothing is known of its shape: its spec cannot be served, or what it is carved from is not there.
func (k *Known) IsUnknown() bool { return len(k.Invalid) > 0 || k.Registered.Shape == nil }

// Registration is how the ledger knows the pool; the zero value for nil.
func (k *Known) Registration() ledger.Pool {
	if k == nil {
		return ledger.Pool{}
	}
	return k.Registered
}
