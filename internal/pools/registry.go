// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pools

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/validate/content"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/excerpt"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/external"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/poolspec"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/predicates"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/tenancy"
)

// Registry registers pools with the ledger as they are met, so that every replica can serve any pool that its cache shows,
// whether or not it leads.
type Registry struct {
	// Client reads from the cache.
	Client client.Client
	// Live reads from the API server what the cache does not show yet.
	Live   client.Reader
	Ledger *ledger.Ledger
	Rules  *tenancy.Rules
	// Namespace is the manager's own, where the records of GlobalIPPools' blocks live.
	Namespace string
	// External backs the addresses of pools of floating IPs; nil while the gate for them is closed.
	External external.Provider
	// Cluster is the name that pools are delegated to this cluster by; "" if none can be. Federation
	// says whether the gate for delegated pools is open.
	Cluster    string
	Federation bool
	// Home is this cluster: the UID of its namespace kube-system. A GlobalIPPool that is at home elsewhere hands out nothing.
	Home string

	// all are the kinds of pools, once there are more than Weir's own. What it points to is never changed.
	all atomic.Pointer[[]Kind]

	mu    sync.Mutex
	known map[ipamv1.PoolReference]version

	// underway are the claims that are getting addresses outside.
	underway underway
	// open is what pools hand out that are compared with others.
	open openSets
}

// version is what a registration was made from.
type version struct {
	uid        types.UID
	generation int64
	// place is told by an annotation.
	place poolspec.Place
	pool  ledger.Pool
	// inherits is the pool, where it has its parent's network settings; nil for any other.
	inherits Object
}

// isOf reports whether the registration was made of this version of the pool, or a later one.
func (v version) isOf(p Object, says poolspec.Pool) bool {
	return v.uid == p.GetUID() && v.generation >= p.GetGeneration() && v.place == says.Place && says.External == says.Cloud.IsKnown()
}

// kindOf returns a kind of pools, and false if that is none.
func (r *Registry) kindOf(kind schema.GroupKind) (Kind, bool) {
	for _, k := range r.Kinds() {
		if k.GroupKind == kind {
			return k, true
		}
	}
	return Kind{}, false
}

// NewPool returns an empty pool of a kind; nil if there are no pools of that kind.
func (r *Registry) NewPool(kind schema.GroupKind) client.Object {
	if k, known := r.kindOf(kind); known {
		return k.New()
	}
	return nil
}

// kindOfPool returns the kind that a pool is of, and false if that is none.
func (r *Registry) kindOfPool(p Object) (Kind, bool) {
	if known, ok := p.(*Known); ok {
		p = known.Object
	}
	for _, k := range r.Kinds() {
		if k.Is(p) {
			return k, true
		}
	}
	return Kind{}, false
}

// Knows says whether pools of the kind can be registered.
func (r *Registry) Knows(kind schema.GroupKind) bool {
	_, known := r.kindOf(kind)
	return known
}

// AddKind makes a further kind of pools known, once its CRD is there.
func (r *Registry) AddKind(kind Kind) {
	r.mu.Lock()
	defer r.mu.Unlock()
	all := append(slices.Clone(r.Kinds()), kind)
	r.all.Store(&all)
}

// Kinds returns all kinds of pools, which the caller must not change. Every request asks.
func (r *Registry) Kinds() []Kind {
	if all := r.all.Load(); all != nil {
		return *all
	}
	return weirKinds
}

// Says returns what a pool says of itself, in this cluster. Nothing else reads that of a pool.
func (r *Registry) Says(p Object) poolspec.Pool {
	if known, ok := p.(*Known); ok {
		return known.Says
	}
	kind, known := r.kindOfPool(p)
	if !known {
		return poolspec.Pool{}
	}
	return kind.Says(p).At(r.Cluster, p.GetAnnotations())
}

// Register makes the pool, as it is now, known to the ledger, with what it has of its parent as far as that is registered. It does
// nothing if that has been done.
func (r *Registry) Register(p Object) *Known {
	r.mu.Lock()
	defer r.mu.Unlock()
	known := &Known{Object: p, Says: r.Says(p)}
	ref := known.Says.Ref
	if v, ok := r.known[ref]; ok && v.isOf(p, known.Says) {
		known.Registered, known.Says.Space = v.pool, v.pool.Space
		return known
	}
	if known.Says.Place == poolspec.Stray { // its block is of another cluster
		r.forget(ref)
		return known
	}
	shape, errs := r.resolve(p, known.Says)
	if len(errs) > 0 {
		r.forget(ref)
		known.Invalid = errs
		return known
	}
	known.Says.Space = cmp.Or(known.Says.Space, r.known[known.Says.Parent].pool.Space)
	if known.Says.Space == "" { // before its parent's, or its cloud, is known nobody can tell what else has its addresses
		return known
	}
	known.Registered = ledger.Pool{
		Ref: ref, UID: p.GetUID(), Space: known.Says.Space, Shape: shape,
		Parent: known.Says.Parent, Namespace: r.RecordNamespace(ref),
		Arrived: known.Says.Arrived, DelegatedTo: known.Says.Member(),
		Cooldown: known.Says.Cooldown,
	}
	r.Ledger.SetPool(known.Registered)
	if r.known == nil {
		r.known = map[ipamv1.PoolReference]version{}
	}
	v := version{uid: p.GetUID(), generation: p.GetGeneration(), place: known.Says.Place, pool: known.Registered}
	if known.Says.Inherits {
		v.inherits, _ = p.DeepCopyObject().(Object)
	}
	r.known[ref] = v
	r.passOn(ref)
	return known
}

// resolve returns the shape of a pool under its parent as that is registered, or the mistakes in its spec.
func (r *Registry) resolve(p Object, says poolspec.Pool) (*pooltree.Pool, field.ErrorList) {
	kind, known := r.kindOf(says.Ref.GroupKind())
	if !known {
		return nil, field.ErrorList{field.NotSupported(field.NewPath("kind"), says.Ref.Kind, []string{})}
	}
	shape, errs := kind.Resolve(p, r.known[says.Parent].pool.Shape)
	if refused := cmp.Or(r.checkGate(says), r.CheckFederation(says)); refused != nil {
		return nil, append(field.ErrorList{refused}, errs...)
	}
	return shape, errs
}

// Registered returns a pool as it is registered; the zero value where it is not.
func (r *Registry) Registered(ref ipamv1.PoolReference) ledger.Pool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.known[ref].pool
}

// RecordNamespace returns where the records of a pool's own blocks live: beside the pool, or with the manager.
func (r *Registry) RecordNamespace(ref ipamv1.PoolReference) string {
	return cmp.Or(ref.Namespace, r.Namespace)
}

// Find returns a pool, registered. The error is the API server's.
func (r *Registry) Find(ctx context.Context, ref ipamv1.PoolReference) (*Known, error) {
	p, err := r.get(ctx, ref)
	if err == nil {
		err = r.RegisterAbove(ctx, p)
	}
	if err != nil {
		return nil, err
	}
	return r.Register(p), nil
}

// get reads a pool from the cache, and one that has just been created from the API server.
func (r *Registry) get(ctx context.Context, ref ipamv1.PoolReference) (Object, error) {
	kind, known := r.kindOf(ref.GroupKind())
	if !known || !isName(ref.Name) || ref.Namespace != "" && !isName(ref.Namespace) {
		return nil, apierrors.NewNotFound(schema.GroupResource{Group: ref.GroupKind().Group, Resource: excerpt.Of(ref.Kind)}, excerpt.Of(ref.Name))
	}
	p := kind.New()
	key := client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}
	err := r.Client.Get(ctx, key, p)
	if err != nil && r.Live != nil { // nor does the cache know of namespaces that this manager does not serve
		err = r.Live.Get(ctx, key, p)
	}
	return p, err
}

// isName says whether there can be an object of that name. A webhook is asked before the schema is.
func isName(name string) bool { return name != "" && len(content.IsPathSegmentName(name)) == 0 }

// IsStored asks the API server whether there is an object of that kind and name.
func (r *Registry) IsStored(ctx context.Context, obj client.Object) (bool, error) {
	stored, ok := obj.DeepCopyObject().(client.Object)
	if !ok || r.Live == nil {
		return false, nil
	}
	err := r.Live.Get(ctx, client.ObjectKeyFromObject(obj), stored)
	return err == nil, client.IgnoreNotFound(err)
}

// ClosedError says why a pool hands out nothing now.
type ClosedError struct {
	// Missing: there is no such pool.
	Missing bool
	// Invalid: its spec cannot be served, or not before its parent is there, so that nothing is known of its shape.
	Invalid bool
	// Paused: it is paused, by itself or with its Cluster.
	Paused  bool
	Message string
}

func (e *ClosedError) Error() string { return e.Message }

// Open returns a pool that hands out what is asked of it, or a ClosedError: it exists, its spec can be served, it is at home here,
// and it is neither being deleted, drained nor paused. What is wrong with a spec is not told: it may be about claims of other projects. Whether the pool's
// blocks are confirmed the ledger knows. A pool that is closed but not missing is returned with the error.
func (r *Registry) Open(ctx context.Context, ref ipamv1.PoolReference) (*Known, error) {
	p, err := r.Find(ctx, ref)
	switch {
	case apierrors.IsNotFound(err):
		return nil, &ClosedError{Missing: true, Message: fmt.Sprintf("there is no %s %q%s", excerpt.Of(ref.Kind), excerpt.Of(ref.Name), inNamespace(ref))}
	case err != nil:
		return nil, fmt.Errorf("getting %s %s: %w", ref.Kind, ref.Name, err)
	case p.Says.Place == poolspec.Stray:
		return p, &ClosedError{Invalid: true, Message: Sentence(ref, DelegatedTo(p.Says))}
	case p.IsUnknown():
		return p, &ClosedError{Invalid: true, Message: Sentence(ref, "cannot be served; see its Ready condition")}
	case !p.GetDeletionTimestamp().IsZero():
		return p, closed(ref, "is being deleted")
	case p.Says.Mode == ipamv1.DrainingMode:
		return p, closed(ref, "is draining: it hands out nothing more")
	case p.Says.Mode == ipamv1.ClosingMode:
		return p, closed(ref, "is closing: its hub takes its block back")
	case p.Says.Place == poolspec.Delegated && r.IsHandedBack(p):
		return p, closed(ref, "has handed its block back to its hub")
	case r.IsForeign(p):
		return p, closed(ref, "is at home in another cluster, which hands out its addresses")
	case !p.Says.IsServedHere():
		return p, closed(ref, DelegatedTo(p.Says))
	}
	halt, err := r.Halt(ctx, p)
	switch {
	case err != nil:
		return nil, err
	case halt != nil:
		return p, halt
	}
	return p, nil
}

// Halt says why nothing is done for what is asked of the pool: it is paused, or its Cluster is not there; nil if neither is so. It names
// no Cluster: who asks may be of another project.
func (r *Registry) Halt(ctx context.Context, p *Known) (*ClosedError, error) {
	cluster, missing, err := r.ClusterOf(ctx, r.Client, p)
	switch {
	case err != nil:
		return nil, err
	case missing:
		return &ClosedError{Message: Sentence(p.Says.Ref, "waits for its Cluster, which does not exist; see its Ready condition")}, nil
	case predicates.IsPaused(cluster, p):
		return &ClosedError{Paused: true, Message: Sentence(p.Says.Ref, "is paused, by itself or with its Cluster")}, nil
	}
	return nil, nil //nolint:nilnil // no halt is an answer
}

func closed(ref ipamv1.PoolReference, why string) error {
	return &ClosedError{Message: Sentence(ref, why)}
}

// Sentence says something of a pool that a reference names.
func Sentence(ref ipamv1.PoolReference, why string) string {
	return fmt.Sprintf("%s %q %s", ref.Kind, ref.Name, why)
}

// IsForeign says whether a pool that has a home was created in another cluster, whose Weir goes on handing out its addresses.
func (r *Registry) IsForeign(p Object) bool {
	if r.Says(p).Place == poolspec.Delegated { // the annotation came with it from the hub
		return false
	}
	kind, _ := r.kindOfPool(p)
	home := p.GetAnnotations()[ipamv1.HomeAnnotation]
	return kind.HasHome && home != "" && r.Home != "" && home != r.Home
}

func inNamespace(ref ipamv1.PoolReference) string {
	if ref.Namespace == "" {
		return ""
	}
	return " in namespace " + excerpt.Of(ref.Namespace)
}

// Forget drops a pool that does not exist any more.
func (r *Registry) Forget(ref ipamv1.PoolReference) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.forget(ref)
	r.underway.forget(ref)
	r.open.forget(ref)
}

func (r *Registry) forget(ref ipamv1.PoolReference) {
	delete(r.known, ref)
	r.Ledger.DropPool(ref)
}
