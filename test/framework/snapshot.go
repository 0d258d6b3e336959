// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

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
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/rest"
)

const (
	weirGroup   = "ipam.weir.dev"
	metal3Group = "ipam.metal3.io"
	// parentAnnotation names the parent of a pool of Metal3's.
	parentAnnotation = "ipam.weir.dev/parent"
)

var (
	capiVersion   = schema.GroupVersion{Group: "ipam.cluster.x-k8s.io", Version: "v1beta2"}
	weirVersion   = schema.GroupVersion{Group: weirGroup, Version: "v1alpha1"}
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
	metal3Pools    = metal3Version.WithResource("ippools")
	recordResource = weirVersion.WithResource("ipallocations")
)

// reference is any of the references between the kinds.
type reference struct {
	APIGroup  string    `json:"apiGroup"`
	Kind      string    `json:"kind"`
	Namespace string    `json:"namespace"`
	Name      string    `json:"name"`
	UID       types.UID `json:"uid"`
}

// item is an object of any of the kinds, reduced to what the checker looks at.
// It is written down here a second time on purpose, and not taken from Weir's
// types.
type item struct {
	Group    string            `json:"-"`
	Kind     string            `json:"kind"`
	Metadata metav1.ObjectMeta `json:"metadata"`
	Spec     struct {
		Address      string      `json:"address"`
		AddressSpace string      `json:"addressSpace"`
		CIDR         string      `json:"cidr"`
		ClaimRef     reference   `json:"claimRef"`
		DelegateTo   string      `json:"delegateTo"`
		DelegatedTo  string      `json:"delegatedTo"`
		ParentRef    *reference  `json:"parentRef"`
		Pool         reference   `json:"pool"`
		PoolRef      reference   `json:"poolRef"`
		Purpose      string      `json:"purpose"`
		State        string      `json:"state"`
		OpenStack    any         `json:"openStack"`
		ReleasedAt   metav1.Time `json:"releasedAt"`
		Allocation   struct {
			DefaultPrefixLength int `json:"defaultPrefixLength"`
		} `json:"allocation"`
	} `json:"spec"`
	Status struct {
		Address      reference          `json:"address"`
		AddressRef   reference          `json:"addressRef"`
		ErrorMessage string             `json:"errorMessage"`
		Conditions   []metav1.Condition `json:"conditions"`
		Released     *struct{}          `json:"released"`
	} `json:"status"`
}

func (i *item) String() string {
	if i.Metadata.Namespace == "" {
		return i.Kind + " " + i.Metadata.Name
	}
	return i.Kind + " " + i.Metadata.Namespace + "/" + i.Metadata.Name
}

func (i *item) terminating() bool { return i.Metadata.DeletionTimestamp != nil }

func (i *item) released() bool { return !i.Spec.ReleasedAt.IsZero() }

func (i *item) ready() bool { return meta.IsStatusConditionTrue(i.Status.Conditions, "Ready") }

// toldReason reports whether the object says why it has no answer.
func (i *item) toldReason() bool {
	ready := meta.FindStatusCondition(i.Status.Conditions, "Ready")
	return ready != nil && ready.Status != metav1.ConditionTrue && ready.Reason != "" || i.Status.ErrorMessage != ""
}

// isPool reports whether the object is one of Weir's pools.
func (i *item) isPool() bool { return i.Kind == "IPPool" || i.Kind == "GlobalIPPool" }

// pool returns the pool that a claim or an answer names.
func (i *item) pool() poolKey {
	ref := i.Spec.PoolRef
	switch i.Group {
	case metal3Group:
		ref = i.Spec.Pool
		ref.APIGroup, ref.Kind = metal3Group, "IPPool"
	case weirGroup:
		ref.APIGroup = weirGroup
	}
	return keyOf(ref, i.Metadata.Namespace)
}

// poolKey identifies a pool by group, kind, namespace and name.
type poolKey struct{ group, kind, namespace, name string }

func keyOf(ref reference, namespace string) poolKey {
	if ref.Namespace != "" {
		namespace = ref.Namespace
	}
	if ref.Kind == "GlobalIPPool" {
		namespace = ""
	}
	return poolKey{group: ref.APIGroup, kind: ref.Kind, namespace: namespace, name: ref.Name}
}

// parentOf returns the pool that a pool is carved from, as Weir's or Metal3's kind
// names it; the zero key if it is carved from none.
func parentOf(pool *item) poolKey {
	if parent := pool.Spec.ParentRef; parent != nil {
		ref := *parent
		ref.APIGroup = weirGroup
		return keyOf(ref, pool.Metadata.Namespace)
	}
	if kind, name, named := strings.Cut(pool.Metadata.Annotations[parentAnnotation], "/"); named && pool.Group == metal3Group {
		return keyOf(reference{APIGroup: weirGroup, Kind: kind, Name: name}, "")
	}
	return poolKey{}
}

func (k poolKey) ours() bool { return k.group == weirGroup || k.group == metal3Group }

// isOfOtherDoor reports whether a record is of a group's pool whose claims this
// package does not know, or a block of one of Metal3's pools, which it does not.
func isOfOtherDoor(record *item) bool {
	group, claim := record.Spec.PoolRef.APIGroup, record.Spec.ClaimRef
	isBlock := claim.APIGroup == metal3Group && claim.Kind == "IPPool"
	return group != "" && group != weirGroup && group != metal3Group || isBlock
}

// answerKey identifies an IPAddress.
type answerKey struct{ group, namespace, name string }

// snapshot is what the API holds, read in an order that makes findings true
// while claims come and go: answers, then records, then claims, then answers
// again. A claim that is there and not terminating at the end had its record when
// records were read. An answer that is there at the end, too, is what a claim
// meant that named it.
type snapshot struct {
	answers []*item
	// admitted: no object of an own kind has come past the webhooks.
	admitted bool
	// own are pools and IPClaims that were there before and after the records
	// were read and are not terminating.
	own     []*item
	records []*item
	// claims are the claims of all kinds, pools included, by UID.
	claims map[types.UID]*item
	// still are the answers that were there after the claims were read.
	still map[types.UID]*item
	pools map[poolKey]*item
	// parents are what pools of Metal3's are carved from.
	parents map[poolKey]poolKey
	// claimByAnswer are the claims by the IPAddress that their status names.
	claimByAnswer map[answerKey]*item
	// recordsOf are the records by the UID of their claim.
	recordsOf map[types.UID][]*item
}

func takeSnapshot(ctx context.Context, cfg *rest.Config) (*snapshot, error) {
	client, err := dynamic.NewForConfig(cfg)
	if err != nil {
		return nil, fmt.Errorf("building a client: %w", err)
	}
	l := &lister{client: client}
	s := &snapshot{}
	s.answers = l.list(ctx, answerResources...)
	before := byUID(l.list(ctx, ownResources...))
	s.records = slices.DeleteFunc(l.list(ctx, recordResource), isOfOtherDoor)
	s.claims = byUID(l.list(ctx, claimResources...))
	s.still = byUID(l.list(ctx, answerResources...))
	after := byUID(l.list(ctx, ownResources...))
	s.parents = map[poolKey]poolKey{}
	for _, pool := range l.list(ctx, metal3Pools) {
		s.parents[poolKey{metal3Group, pool.Kind, pool.Metadata.Namespace, pool.Metadata.Name}] = parentOf(pool)
	}
	if l.err != nil {
		return nil, l.err
	}
	for uid, object := range after {
		if before[uid] != nil && !object.terminating() {
			s.own = append(s.own, object)
		}
	}
	maps.Copy(s.claims, after)
	s.index(after)
	return s, nil
}

func (s *snapshot) index(own map[types.UID]*item) {
	s.pools = map[poolKey]*item{}
	for _, object := range own {
		if object.isPool() {
			key := poolKey{weirGroup, object.Kind, object.Metadata.Namespace, object.Metadata.Name}
			s.pools[key] = object
		}
	}
	s.claimByAnswer = map[answerKey]*item{}
	for _, claim := range s.claims {
		if name := cmp.Or(claim.Status.AddressRef.Name, claim.Status.Address.Name); name != "" {
			s.claimByAnswer[answerKey{claim.Group, claim.Metadata.Namespace, name}] = claim
		}
	}
	s.recordsOf = map[types.UID][]*item{}
	for _, record := range s.records {
		uid := record.Spec.ClaimRef.UID
		s.recordsOf[uid] = append(s.recordsOf[uid], record)
	}
}

// lister lists until the first error.
type lister struct {
	client dynamic.Interface
	err    error
}

// list returns all objects of the resources; one that the server does not serve
// has none.
func (l *lister) list(ctx context.Context, resources ...schema.GroupVersionResource) []*item {
	var items []*item
	for _, resource := range resources {
		if l.err != nil {
			return nil
		}
		list, err := l.client.Resource(resource).List(ctx, metav1.ListOptions{})
		if apierrors.IsNotFound(err) {
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
func itemOf(group string, object map[string]any) (*item, error) {
	i := &item{}
	err := runtime.DefaultUnstructuredConverter.FromUnstructured(object, i)
	i.Group = group
	return i, err
}

func byUID(items []*item) map[types.UID]*item {
	out := make(map[types.UID]*item, len(items))
	for _, object := range items {
		out[object.Metadata.UID] = object
	}
	return out
}
