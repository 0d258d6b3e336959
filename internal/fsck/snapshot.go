// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package fsck

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

const (
	// WeirGroup is the API group of Weir's kinds.
	WeirGroup   = "ipam.weir.dev"
	metal3Group = "ipam.metal3.io"
	poolKind    = "IPPool"
	globalKind  = "GlobalIPPool"
	// defaultSpace is the address space of pools that name none.
	defaultSpace = "default"
	// parentAnnotation names the parent of a pool of Metal3's or the in-cluster provider's.
	parentAnnotation = "ipam.weir.dev/parent"
	// inClusterKind and globalInClusterKind are the in-cluster provider's, in Cluster API's group.
	inClusterKind       = "InClusterIPPool"
	globalInClusterKind = "GlobalInClusterIPPool"
	// spaceAnnotation names the address space of a pool of the in-cluster provider's kinds.
	spaceAnnotation = "ipam.weir.dev/address-space"
)

var (
	capiVersion   = schema.GroupVersion{Group: "ipam.cluster.x-k8s.io", Version: "v1beta2"}
	weirVersion   = schema.GroupVersion{Group: WeirGroup, Version: "v1alpha1"}
	metal3Version = schema.GroupVersion{Group: metal3Group, Version: "v1alpha1"}

	answerResources = []schema.GroupVersionResource{
		capiVersion.WithResource("ipaddresses"), metal3Version.WithResource("ipaddresses"),
	}
	claimResources = []schema.GroupVersionResource{
		capiVersion.WithResource("ipaddressclaims"), metal3Version.WithResource("ipclaims"),
	}
	// Of an own kind the object itself is the answer.
	ownResources = []schema.GroupVersionResource{
		weirVersion.WithResource("ippools"), weirVersion.WithResource("globalippools"), weirVersion.WithResource("ipclaims"),
	}
	metal3Pools = metal3Version.WithResource("ippools")
	// The in-cluster provider's pools may be served by that provider.
	inClusterVersion = schema.GroupVersion{Group: capiVersion.Group, Version: "v1alpha2"}
	inClusterPools   = []schema.GroupVersionResource{
		inClusterVersion.WithResource("inclusterippools"), inClusterVersion.WithResource("globalinclusterippools"),
	}
	recordResource = weirVersion.WithResource("ipallocations")

	// weirPools are the kinds of Weir's pools.
	weirPools = []schema.GroupKind{{Group: WeirGroup, Kind: poolKind}, {Group: WeirGroup, Kind: globalKind}}
	// clusterScoped are the kinds of pools in no namespace.
	clusterScoped = []string{globalKind, globalInClusterKind}
)

// Reference is any of the references between the kinds.
type Reference struct {
	APIGroup  string    `json:"apiGroup"`
	Kind      string    `json:"kind"`
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	UID       types.UID `json:"uid"`
}

// Item is an object of any of the kinds, reduced to what the checker looks at.
// It is written down here a second time on purpose, and not taken from Weir's
// types.
type Item struct {
	Group    string            `json:"-"`
	Kind     string            `json:"kind"`
	Metadata metav1.ObjectMeta `json:"metadata"`
	Spec     struct {
		Address      string      `json:"address"`
		Addresses    []string    `json:"addresses"`
		AddressSpace string      `json:"addressSpace"`
		CIDR         string      `json:"cidr"`
		ClaimRef     Reference   `json:"claimRef"`
		DelegateTo   string      `json:"delegateTo"`
		DelegatedTo  string      `json:"delegatedTo"`
		ParentRef    *Reference  `json:"parentRef"`
		Pool         Reference   `json:"pool"`
		PoolRef      Reference   `json:"poolRef"`
		Purpose      string      `json:"purpose"`
		State        string      `json:"state"`
		OpenStack    any         `json:"openStack"`
		ReleasedAt   metav1.Time `json:"releasedAt"`
		Allocation   struct {
			DefaultPrefixLength int `json:"defaultPrefixLength"`
		} `json:"allocation"`
	} `json:"spec"`
	Status struct {
		Address       Reference          `json:"address"`
		AddressRef    Reference          `json:"addressRef"`
		AllocatedCIDR string             `json:"allocatedCIDR"`
		ErrorMessage  string             `json:"errorMessage"`
		Conditions    []metav1.Condition `json:"conditions"`
		Released      *struct{}          `json:"released"`
	} `json:"status"`
}

func (i *Item) String() string {
	if i.Metadata.Namespace == "" {
		return i.Kind + " " + i.Metadata.Name
	}
	return i.Kind + " " + i.Metadata.Namespace + "/" + i.Metadata.Name
}

// object names the item.
func (i *Item) object() Object {
	return Object{APIGroup: i.Group, Kind: i.Kind, Namespace: i.Metadata.Namespace, Name: i.Metadata.Name}
}

func (i *Item) groupKind() schema.GroupKind { return schema.GroupKind{Group: i.Group, Kind: i.Kind} }

// Key returns the key of a pool.
func (i *Item) Key() PoolKey {
	return PoolKey{i.Group, i.Kind, i.Metadata.Namespace, i.Metadata.Name}
}

// IsTerminating reports whether the object is being deleted.
func (i *Item) IsTerminating() bool { return i.Metadata.DeletionTimestamp != nil }

// IsReleased reports whether a record cools down or is retained.
func (i *Item) IsReleased() bool { return !i.Spec.ReleasedAt.IsZero() }

func (i *Item) isReady() bool { return meta.IsStatusConditionTrue(i.Status.Conditions, "Ready") }

// toldReason reports whether the object says why it has no answer.
func (i *Item) toldReason() bool {
	ready := meta.FindStatusCondition(i.Status.Conditions, "Ready")
	return ready != nil && ready.Status != metav1.ConditionTrue && ready.Reason != "" || i.Status.ErrorMessage != ""
}

// IsPool reports whether the object is one of Weir's pools.
func (i *Item) IsPool() bool { return slices.Contains(weirPools, i.groupKind()) }

// Pool returns the pool that a claim, an answer or a record names.
func (i *Item) Pool() PoolKey {
	ref := i.Spec.PoolRef
	switch i.Group {
	case metal3Group:
		ref = i.Spec.Pool
		ref.APIGroup, ref.Kind = metal3Group, poolKind
	case WeirGroup:
		ref.APIGroup = cmp.Or(ref.APIGroup, WeirGroup) // a record may be of another group's pool
	}
	return keyOf(ref, i.Metadata.Namespace)
}

// PoolKey identifies a pool by group, kind, namespace and name.
type PoolKey struct{ Group, Kind, Namespace, Name string }

func keyOf(ref Reference, namespace string) PoolKey {
	if ref.Namespace != "" {
		namespace = ref.Namespace
	}
	if slices.Contains(clusterScoped, ref.Kind) {
		namespace = ""
	}
	return PoolKey{Group: ref.APIGroup, Kind: ref.Kind, Namespace: namespace, Name: ref.Name}
}

// parentOf returns the pool that a pool is carved from, as its kind names it; the zero
// key if it is carved from none.
func parentOf(pool *Item) PoolKey {
	if parent := pool.Spec.ParentRef; parent != nil {
		ref := *parent
		ref.APIGroup = WeirGroup
		return keyOf(ref, pool.Metadata.Namespace)
	}
	if kind, name, named := strings.Cut(pool.Metadata.Annotations[parentAnnotation], "/"); named && (pool.Group == metal3Group || pool.IsInClusterPool()) {
		return keyOf(Reference{APIGroup: WeirGroup, Kind: kind, Name: name}, "")
	}
	return PoolKey{}
}

// isServed reports whether claims for the pool are: of the in-cluster provider's
// kinds, where Weir serves these.
func (s *Snapshot) isServed(k PoolKey) bool {
	return k.Group == WeirGroup || k.Group == metal3Group || s.InCluster != nil && isInCluster(k.Group, k.Kind)
}

// isInCluster reports whether a kind is one of the in-cluster provider's pools.
func isInCluster(group, kind string) bool {
	return group == capiVersion.Group && (kind == inClusterKind || kind == globalInClusterKind)
}

// isOfInCluster reports whether a record is of a pool of the in-cluster provider's
// kinds, or of a block that such a pool has of its parent.
func isOfInCluster(record *Item) bool {
	pool, claim := record.Spec.PoolRef, record.Spec.ClaimRef
	return isInCluster(pool.APIGroup, pool.Kind) || isInCluster(claim.APIGroup, claim.Kind)
}

// isOfOtherDoor reports whether a record is of a group's pool whose claims this
// package does not know, or a block of a pool of Metal3's or of the in-cluster
// provider's, which are not looked at as claims.
func isOfOtherDoor(record *Item) bool {
	group, claim := record.Spec.PoolRef.APIGroup, record.Spec.ClaimRef
	isMetal3s := schema.GroupKind{Group: claim.APIGroup, Kind: claim.Kind} == schema.GroupKind{Group: metal3Group, Kind: poolKind}
	isKnown := group == "" || group == WeirGroup || group == metal3Group || isOfInCluster(record)
	return !isKnown || isMetal3s || isInCluster(claim.APIGroup, claim.Kind)
}

// IsInClusterPool reports whether it is a pool of the in-cluster provider's kinds.
func (i *Item) IsInClusterPool() bool { return isInCluster(i.Group, i.Kind) }

// inClusterSpace is the address space of a pool of the in-cluster provider's kinds:
// the one that it names, or one of its own.
func inClusterSpace(pool *Item) string {
	if named := pool.Metadata.Annotations[spaceAnnotation]; named != "" {
		return named
	}
	return "in-cluster/" + strings.TrimPrefix(pool.Metadata.Namespace+"/"+pool.Metadata.Name, "/")
}

// answerKey identifies an IPAddress.
type answerKey struct{ group, namespace, name string }

// Snapshot is what the API holds, read in an order that makes findings true
// while claims come and go: answers, then records, then claims, then answers
// again. A claim that is there and not terminating at the end had its record when
// records were read. An answer that is there at the end, too, is what a claim
// meant that named it.
type Snapshot struct {
	answers []*Item
	// Admitted: no object of an own kind has come past the webhooks.
	Admitted bool
	// own are pools and IPClaims that were there before and after the records
	// were read, also those that are being deleted.
	own     []*Item
	records []*Item
	// Claims are the claims of all kinds, pools included, by UID.
	Claims map[types.UID]*Item
	// still are the answers that were there after the claims were read.
	still map[types.UID]*Item
	// Pools are Weir's.
	Pools map[PoolKey]*Item
	// InCluster are the pools of the in-cluster provider's kinds; nil where Weir does
	// not serve these.
	InCluster map[PoolKey]*Item
	// parents are what pools are carved from, of Metal3's, and of Weir's that went while the lists were read:
	// what was in use of one that went lay in its parent's block.
	parents map[PoolKey]PoolKey
	// claimByAnswer are the claims by the IPAddress that their status names.
	claimByAnswer map[answerKey]*Item
	// RecordsOf are the records by the UID of their claim.
	RecordsOf map[types.UID][]*Item
	// floatingIPs were there before anything else was read.
	floatingIPs []FloatingIP
}

func takeSnapshot(ctx context.Context, cfg *rest.Config) (*Snapshot, error) {
	l, err := newLister(cfg)
	if err != nil {
		return nil, err
	}
	s := &Snapshot{}
	s.answers = l.list(ctx, answerResources...)
	before := byUID(l.list(ctx, ownResources...))
	s.records = l.list(ctx, recordResource)
	s.InCluster = inClusterServed(ctx, l, s.records)
	s.records = slices.DeleteFunc(s.records, isOfOtherDoor)
	s.parents = parentsOf(before, l.list(ctx, metal3Pools)) // before the claims, which go before their pools
	s.Claims = byUID(l.list(ctx, claimResources...))
	s.still = byUID(l.list(ctx, answerResources...))
	after := byUID(l.list(ctx, ownResources...))
	if err := l.failure(); err != nil {
		return nil, err
	}
	s.own = stillThere(before, after)
	maps.Copy(s.Claims, after)
	s.index(after)
	return s, nil
}

// stillThere returns the objects that were there before and after, as they were after.
func stillThere(before, after map[types.UID]*Item) []*Item {
	var out []*Item
	for uid, object := range after {
		if before[uid] != nil {
			out = append(out, object)
		}
	}
	return out
}

// parentsOf returns what pools of Weir's and of Metal3's are carved from, by their keys.
func parentsOf(own map[types.UID]*Item, metal3 []*Item) map[PoolKey]PoolKey {
	parents := map[PoolKey]PoolKey{}
	for _, pool := range own {
		if pool.IsPool() {
			parents[pool.Key()] = parentOf(pool)
		}
	}
	for _, pool := range metal3 {
		parents[pool.Key()] = parentOf(pool)
	}
	return parents
}

// inClusterServed returns the pools of the in-cluster provider's kinds, and nil where
// Weir does not serve these. Each pool that it serves has a record, of its own
// addresses if of nothing else: nothing is asked where there is no such record.
func inClusterServed(ctx context.Context, l *lister, records []*Item) map[PoolKey]*Item {
	if !slices.ContainsFunc(records, isOfInCluster) {
		return nil
	}
	return servedOf(l.list(ctx, inClusterPools...))
}

// servedOf returns the pools by their keys if one has the condition that Weir writes
// and the in-cluster provider does not: both kinds are served, or neither.
func servedOf(pools []*Item) map[PoolKey]*Item {
	var served map[PoolKey]*Item
	isLookedAt := func(pool *Item) bool { return meta.FindStatusCondition(pool.Status.Conditions, "Ready") != nil }
	if slices.ContainsFunc(pools, isLookedAt) {
		served = map[PoolKey]*Item{}
		for _, pool := range pools {
			served[pool.Key()] = pool
		}
	}
	return served
}

func (s *Snapshot) index(own map[types.UID]*Item) {
	s.Pools = map[PoolKey]*Item{}
	for _, object := range own {
		if object.IsPool() {
			s.Pools[object.Key()] = object
		}
	}
	s.claimByAnswer = map[answerKey]*Item{}
	for _, claim := range s.Claims {
		if name := cmp.Or(claim.Status.AddressRef.Name, claim.Status.Address.Name); name != "" {
			s.claimByAnswer[answerKey{claim.Group, claim.Metadata.Namespace, name}] = claim
		}
	}
	s.RecordsOf = map[types.UID][]*Item{}
	for _, record := range s.records {
		uid := record.Spec.ClaimRef.UID
		s.RecordsOf[uid] = append(s.RecordsOf[uid], record)
	}
}

// ForbiddenError is returned where the user may not list what the checker has to see.
type ForbiddenError struct {
	// Resources may not be listed in all namespaces.
	Resources []schema.GroupResource
}

func (e *ForbiddenError) Error() string {
	names := make([]string, 0, len(e.Resources))
	for _, resource := range e.Resources {
		names = append(names, resource.String())
	}
	return "you may not list " + strings.Join(names, ", ")
}

// lister lists until the first error. It goes on after what is forbidden, to name all of that.
type lister struct {
	client    dynamic.Interface
	served    discovery.DiscoveryInterface
	forbidden []schema.GroupResource
	err       error
}

func newLister(cfg *rest.Config) (*lister, error) {
	client, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("building a client: %w", err)
	}
	served, err := discovery.NewDiscoveryClientForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("building a client: %w", err)
	}
	return &lister{client: client, served: served}, nil
}

// isServed reports whether the API server serves a resource. It forbids to list what there is not
// like anything else. In doubt the resource counts as served.
func (l *lister) isServed(resource schema.GroupVersionResource) bool {
	list, err := l.served.ServerResourcesForGroupVersion(resource.GroupVersion().String())
	if err != nil {
		return !apierrors.IsNotFound(err)
	}
	return slices.ContainsFunc(list.APIResources, func(r metav1.APIResource) bool { return r.Name == resource.Resource })
}

// failure returns why the lists are not complete, or nil.
func (l *lister) failure() error {
	if l.err == nil && len(l.forbidden) > 0 {
		slices.SortFunc(l.forbidden, func(a, b schema.GroupResource) int { return strings.Compare(a.String(), b.String()) })
		return &ForbiddenError{Resources: l.forbidden}
	}
	return l.err
}

// list returns all objects of the resources; one that the server does not serve
// has none.
func (l *lister) list(ctx context.Context, resources ...schema.GroupVersionResource) []*Item {
	var items []*Item
	for _, resource := range resources {
		if l.err != nil {
			return nil
		}
		list, err := l.client.Resource(resource).List(ctx, metav1.ListOptions{})
		switch {
		case apierrors.IsNotFound(err):
			continue
		case apierrors.IsForbidden(err):
			if name := resource.GroupResource(); !slices.Contains(l.forbidden, name) && l.isServed(resource) {
				l.forbidden = append(l.forbidden, name)
			}
			continue
		}
		if err != nil {
			l.err = fmt.Errorf("listing %s: %w", resource.Resource, err)
			return nil
		}
		for i := range list.Items {
			object, err := itemOf(resource.Group, list.Items[i].Object)
			if err != nil {
				l.err = fmt.Errorf("converting %s %s: %w", resource.Resource, list.Items[i].GetName(), err)
				return nil
			}
			items = append(items, object)
		}
	}
	return items
}

// itemOf reduces an object. The group is set last: the converter empties every
// field that it does not fill.
func itemOf(group string, object map[string]any) (*Item, error) {
	i := &Item{}
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(object, i)
	i.Group = group
	return i, err
}

func byUID(items []*Item) map[types.UID]*Item {
	out := make(map[types.UID]*Item, len(items))
	for _, object := range items {
		out[object.Metadata.UID] = object
	}
	return out
}

// Forget takes a record out.
func (s *Snapshot) Forget(record *Item) {
	uid := record.Spec.ClaimRef.UID
	left := slices.DeleteFunc(s.RecordsOf[uid], func(r *Item) bool { return r == record })
	if s.RecordsOf[uid] = left; len(left) == 0 {
		delete(s.RecordsOf, uid)
	}
}
