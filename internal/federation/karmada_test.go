// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package federation

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// foreign returns a binding of a Deployment, as large as Karmada makes them.
func foreign(name string) *unstructured.Unstructured {
	binding := of(from("edge-a", map[string]any{"replicas": int64(3), "conditions": []any{strings.Repeat("c", 1000)}}))
	resource := map[string]any{"apiVersion": "apps/v1", "kind": "Deployment", "namespace": "fleet", "name": name, "uid": name}
	_ = unstructured.SetNestedMap(binding.Object, resource, "spec", "resource")
	_ = unstructured.SetNestedField(binding.Object, strings.Repeat("p", 1000), "spec", "placement")
	binding.SetName(name + "-deployment")
	binding.SetUID(types.UID(name))
	binding.SetLabels(map[string]string{"resourcebinding.karmada.io/permanent-id": name})
	return binding
}

// kept puts an object through the transform.
func kept(t *testing.T, obj any) any {
	t.Helper()
	got, err := Transform(func(any) (any, error) { return nil, errors.New("next") })(obj)
	if err != nil {
		t.Fatal(err)
	}
	return got
}

// TestOfAForeignBindingItsNameIsKept counts the bytes of 5,000 bindings before and after.
func TestOfAForeignBindingItsNameIsKept(t *testing.T) {
	t.Parallel()
	const count, most = 5000, 150
	size := func(obj any) int {
		text, err := json.Marshal(obj)
		if err != nil {
			t.Fatal(err)
		}
		return len(text)
	}
	before, after := 0, 0
	for i := range count {
		name := fmt.Sprintf("app-%d", i)
		binding := foreign(name)
		before += size(binding)
		binding, _ = kept(t, binding).(*unstructured.Unstructured)
		after += size(binding)
		if binding.GetName() != name+"-deployment" || binding.GetNamespace() != "fleet" || binding.GroupVersionKind() != ResourceBindings {
			t.Fatalf("kept %v", binding)
		}
		if requests := PoolOf(t.Context(), binding); requests != nil {
			t.Fatalf("it is of pool %v", requests)
		}
	}
	if before < count*2000 || after > count*most {
		t.Errorf("%d bindings of %d bytes: %d are kept, want %d at most", count, before, after, count*most)
	}
}

// TestOfAPoolsBindingWhatIsReadIsKept: also if it goes through the transform twice.
func TestOfAPoolsBindingWhatIsReadIsKept(t *testing.T) {
	t.Parallel()
	binding := of(from("edge-a", statusWith("claims", int64(2))))
	_ = unstructured.SetNestedField(binding.Object, strings.Repeat("p", 1000), "spec", "placement")
	once, _ := kept(t, binding).(*unstructured.Unstructured)
	twice, _ := kept(t, once.DeepCopy()).(*unstructured.Unstructured)
	for _, b := range []*unstructured.Unstructured{once, twice} {
		if _, has, _ := unstructured.NestedString(b.Object, "spec", "placement"); has || b.GetResourceVersion() != "9" {
			t.Errorf("kept %v", b)
		}
		want := []reconcile.Request{{NamespacedName: types.NamespacedName{Namespace: "fleet", Name: "edge"}}}
		if requests := PoolOf(t.Context(), b); len(requests) != 1 || requests[0] != want[0] {
			t.Errorf("it is of %v", requests)
		}
		if report, why := reportOf(b, "edge-a"); report == nil || *report.Claims != 2 {
			t.Errorf("it reports %v: %s", report, why)
		}
	}
}

// TestOtherObjectsGoThroughTheNextTransform: objects of other groups are not for this one.
func TestOtherObjectsGoThroughTheNextTransform(t *testing.T) {
	t.Parallel()
	work := &unstructured.Unstructured{}
	work.SetAPIVersion("work.karmada.io/v1alpha1")
	for _, obj := range []any{&ipamv1.IPPool{}, work} {
		_, err := Transform(func(any) (any, error) { return nil, errors.New("next") })(obj)
		if err == nil {
			t.Errorf("%T went past", obj)
		}
	}
}

// indexer has a fake client find objects as the manager's cache does.
type indexer struct{ *fake.ClientBuilder }

func (i indexer) IndexField(_ context.Context, obj client.Object, field string, extract client.IndexerFunc) error {
	i.WithIndex(obj, field, extract)
	return nil
}

// TestBindingsAreAskedByThePoolsUID: a binding of another pool of the name is none.
func TestBindingsAreAskedByThePoolsUID(t *testing.T) {
	t.Parallel()
	scheme := runtime.NewScheme()
	scheme.AddKnownTypeWithName(ResourceBindings, &unstructured.Unstructured{})
	scheme.AddKnownTypeWithName(groupVersion.WithKind("ResourceBindingList"), &unstructured.UnstructuredList{})
	builder := fake.NewClientBuilder().WithScheme(scheme).WithObjects(of(from("edge-a", statusWith("claims", int64(2)))), foreign("app"))
	b := &Bindings{Kind: ResourceBindings}
	if err := b.Index(t.Context(), indexer{builder}); err != nil {
		t.Fatal(err)
	}
	b.Cache = builder.Build()
	says := func(uid types.UID, member, message string) {
		t.Helper()
		report, ok := b.Of(uid, member)
		if ok || report == nil || !strings.Contains(report.Message, message) {
			t.Errorf("of %s at %s: %v, %t", uid, member, report, ok)
		}
	}
	if report, ok := b.Of("edge-uid", "edge-a"); ok || report != nil {
		t.Errorf("before anything is known: %v", report)
	}
	for _, why := range []string{"not served", "forbidden"} {
		if !b.Hindered(why) || b.Hindered(why) {
			t.Errorf("%s is not new once", why)
		}
		says("edge-uid", "edge-a", why)
	}
	if !b.Hindered("") {
		t.Error("that nothing hinders is not new")
	}
	if report, ok := b.Of("edge-uid", "edge-a"); !ok || report.Cluster != "edge-a" || *report.Claims != 2 {
		t.Errorf("reported %v", report)
	}
	says("edge-uid", "edge-b", `not placed the pool at cluster "edge-b"`)
	says("another", "edge-a", "no ResourceBinding of work.karmada.io is for the pool")
	says("app", "edge-a", "no ResourceBinding of work.karmada.io is for the pool")
}
