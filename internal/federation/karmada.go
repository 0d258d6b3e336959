// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package federation

import (
	"context"
	"fmt"
	"sync/atomic"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	toolscache "k8s.io/client-go/tools/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// Kinds of bindings: of objects in namespaces, and of those without.
var (
	groupVersion            = schema.GroupVersion{Group: "work.karmada.io", Version: "v1alpha2"}
	ResourceBindings        = groupVersion.WithKind("ResourceBinding")
	ClusterResourceBindings = groupVersion.WithKind("ClusterResourceBinding")
)

// uidIndex finds a binding by the UID of the pool that it is of.
const uidIndex = "spec.resource.uid"

// Bindings are the bindings of one kind. A controller of pools asks them what members report.
type Bindings struct {
	Kind schema.GroupVersionKind
	// Cache is read once Follow has returned.
	Cache client.Reader

	// hindrance is why bindings cannot be followed, "" once they are; nil before that is known.
	hindrance atomic.Pointer[string]
}

// Hindered notes why bindings cannot be followed, "" for nothing, and reports whether that is new.
func (b *Bindings) Hindered(why string) bool {
	before := b.hindrance.Swap(&why)
	return before == nil || *before != why
}

// Of returns what a member reports of the pool of that UID. Without a report it returns false, and
// what it returns then says in its message why there is none; nil where that is not known yet.
func (b *Bindings) Of(uid types.UID, member string) (*ipamv1.MemberStatus, bool) {
	switch why := b.hindrance.Load(); {
	case why == nil:
		return nil, false
	case *why != "":
		return &ipamv1.MemberStatus{Message: *why}, false
	}
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(b.Kind)
	// It is read from memory.
	err := b.Cache.List(context.Background(), list, client.MatchingFields{uidIndex: string(uid)}, client.UnsafeDisableDeepCopy) //nolint:forbidigo // nothing to cancel
	switch {
	case err != nil:
		return &ipamv1.MemberStatus{Message: fmt.Sprintf("cannot read %ss of %s: %s", b.Kind.Kind, b.Kind.Group, err)}, false
	case len(list.Items) == 0:
		return &ipamv1.MemberStatus{Message: fmt.Sprintf("no %s of %s is for the pool: no propagation policy selects it", b.Kind.Kind, b.Kind.Group)}, false
	}
	report, why := reportOf(&list.Items[0], member)
	if report == nil {
		return &ipamv1.MemberStatus{Message: why}, false
	}
	return report, true
}

// Object returns an empty binding of the kind.
func (b *Bindings) Object() *unstructured.Unstructured {
	binding := &unstructured.Unstructured{}
	binding.SetGroupVersionKind(b.Kind)
	return binding
}

// Index has the cache find bindings by the pool that they are of.
func (b *Bindings) Index(ctx context.Context, indexer client.FieldIndexer) error {
	err := indexer.IndexField(ctx, b.Object(), uidIndex, func(binding client.Object) []string {
		if uid := resourceOf(binding)["uid"]; uid != "" {
			return []string{uid}
		}
		return nil
	})
	if err != nil {
		return fmt.Errorf("indexing %ss: %w", b.Kind.Kind, err)
	}
	return nil
}

// PoolOf names the pool that a binding is of.
func PoolOf(_ context.Context, binding client.Object) []reconcile.Request {
	resource := resourceOf(binding)
	if resource["uid"] == "" {
		return nil
	}
	return []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: resource["namespace"], Name: resource["name"]}}}
}

// resourceOf returns what a binding names its object by; nothing if that is no pool of Weir's.
func resourceOf(binding any) map[string]string {
	b, ok := binding.(*unstructured.Unstructured)
	if !ok {
		return nil
	}
	resource, _, _ := unstructured.NestedMap(b.Object, "spec", "resource")
	named := map[string]string{}
	for field, value := range resource {
		if text, isText := value.(string); isText {
			named[field] = text
		}
	}
	if version, err := schema.ParseGroupVersion(named["apiVersion"]); err != nil || version.Group != ipamv1.GroupVersion.Group {
		return nil
	}
	return named
}

// Transform drops from bindings what Weir does not read, before they are kept in memory: of those of
// other groups' objects all but their names. Other objects go through the next transform.
func Transform(next toolscache.TransformFunc) toolscache.TransformFunc {
	return func(obj any) (any, error) {
		binding, ok := obj.(*unstructured.Unstructured)
		if !ok || binding.GroupVersionKind().GroupVersion() != groupVersion {
			return next(obj)
		}
		return trim(binding), nil
	}
}

// trim returns as much of a binding as Weir reads.
func trim(binding *unstructured.Unstructured) *unstructured.Unstructured {
	kept := &unstructured.Unstructured{}
	kept.SetGroupVersionKind(binding.GroupVersionKind())
	kept.SetNamespace(binding.GetNamespace())
	kept.SetName(binding.GetName())
	resource := resourceOf(binding)
	if resource == nil {
		return kept
	}
	kept.SetResourceVersion(binding.GetResourceVersion())
	_ = unstructured.SetNestedStringMap(kept.Object, resource, "spec", "resource") // of an object that is made here
	if items, ok, _ := unstructured.NestedFieldNoCopy(binding.Object, "status", "aggregatedStatus"); ok {
		kept.Object["status"] = map[string]any{"aggregatedStatus": items}
	}
	return kept
}
