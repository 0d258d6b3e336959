// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package propagator

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// Karmada's kinds of bindings: of objects in namespaces, and of those without.
var (
	bindings               = schema.GroupVersion{Group: "work.karmada.io", Version: "v1alpha2"}
	ResourceBinding        = bindings.WithKind("ResourceBinding")
	ClusterResourceBinding = bindings.WithKind("ClusterResourceBinding")
)

// BindingCRDs are the kinds of bindings, which take anything.
var BindingCRDs = PermissiveCRD(ResourceBinding, "resourcebindings", "Namespaced") +
	PermissiveCRD(ClusterResourceBinding, "clusterresourcebindings", "Cluster")

// PermissiveCRD is the manifest of a kind with a status, whose objects take any field.
func PermissiveCRD(kind schema.GroupVersionKind, plural, scope string) string {
	return fmt.Sprintf(`
---
apiVersion: apiextensions.k8s.io/v1
kind: CustomResourceDefinition
metadata: {name: %[3]s.%[1]s}
spec:
  group: %[1]s
  scope: %[4]s
  names: {kind: %[2]s, listKind: %[2]sList, plural: %[3]s, singular: %[5]s}
  versions:
  - name: %[6]s
    served: true
    storage: true
    subresources: {status: {}}
    schema: {openAPIV3Schema: {type: object, x-kubernetes-preserve-unknown-fields: true}}
`, kind.Group, kind.Kind, plural, scope, strings.ToLower(kind.Kind), kind.Version)
}

// BindingOf returns an empty binding with the name that the object's has.
func BindingOf(obj client.Object, kind string) *unstructured.Unstructured {
	binding := &unstructured.Unstructured{}
	binding.SetGroupVersionKind(ClusterResourceBinding)
	if obj.GetNamespace() != "" {
		binding.SetGroupVersionKind(ResourceBinding)
	}
	binding.SetNamespace(obj.GetNamespace())
	binding.SetName(strings.ToLower(obj.GetName() + "-" + kind))
	return binding
}

// Bind has the propagator keep a binding of each object at the hub, from now on: the kinds are there.
func (p *Propagator) Bind() { p.binds.Store(true) }

// bind has each object's binding name it and its member, removes those of objects that have gone, and
// returns bindings by their objects. It does not wait for the member. It errs if the hub does not
// show its bindings: those are not gone.
func (p *Propagator) bind(
	ctx context.Context, member string, kind schema.GroupVersionKind, templates map[client.ObjectKey]*unstructured.Unstructured,
) (map[client.ObjectKey]*unstructured.Unstructured, error) {
	if !p.binds.Load() {
		return nil, nil
	}
	bound, err := p.boundAt(ctx, member, kind)
	if err != nil {
		return nil, err
	}
	for object, binding := range bound {
		if templates[object] == nil {
			_ = p.hub.Delete(ctx, binding) // or the next time
			delete(bound, object)
		}
	}
	for object, template := range templates {
		spec := specOf(member, template)
		binding, isBound := bound[object]
		switch {
		case !isBound:
			binding = BindingOf(template, template.GetKind())
			binding.Object["spec"] = spec
			binding.SetOwnerReferences(ownedBy(template))
			if p.hub.Create(ctx, binding) == nil {
				p.aggregate(ctx, binding, map[string]any{"clusterName": member, "health": "Unknown"})
			}
		case !reflect.DeepEqual(binding.Object["spec"], spec):
			binding.Object["spec"] = spec
			binding.SetOwnerReferences(ownedBy(template))
			_ = p.hub.Update(ctx, binding) // or the next time
		}
	}
	return bound, nil
}

// ownedBy returns the owner of an object's binding. The garbage collector deletes the binding of an
// object that is deleted in the foreground before the object.
func ownedBy(template *unstructured.Unstructured) []metav1.OwnerReference {
	return []metav1.OwnerReference{*metav1.NewControllerRef(template, template.GroupVersionKind())}
}

// mayPlace reports whether an object may be placed: it has a binding, where bindings are kept. A copy
// that was placed under another binding goes first, as the Work of that binding does.
func (p *Propagator) mayPlace(ctx context.Context, key workKey, binding, stored *unstructured.Unstructured) bool {
	if !p.binds.Load() {
		return true
	}
	if before := p.boundBy(key, uidOf(binding)); before != uidOf(binding) {
		p.withdraw(ctx, key, stored)
		return false
	}
	return binding != nil
}

// boundBy returns by which binding an object was placed. One that was placed before it had any counts
// as placed by this one, and so does one that was not placed.
func (p *Propagator) boundBy(key workKey, uid types.UID) types.UID {
	p.mu.Lock()
	defer p.mu.Unlock()
	w := p.works[key]
	if w == nil {
		return uid
	}
	if w.binding == "" {
		w.binding = uid
	}
	return w.binding
}

// uidOf returns the UID of a binding; "" for none.
func uidOf(binding *unstructured.Unstructured) types.UID {
	if binding == nil {
		return ""
	}
	return binding.GetUID()
}

// boundAt returns the bindings of a kind's objects at a member.
func (p *Propagator) boundAt(ctx context.Context, member string, kind schema.GroupVersionKind) (map[client.ObjectKey]*unstructured.Unstructured, error) {
	bindingKind, example := ClusterResourceBinding, &unstructured.Unstructured{}
	example.SetGroupVersionKind(kind)
	if isNamespaced, _ := p.hub.IsObjectNamespaced(example); isNamespaced {
		bindingKind = ResourceBinding
	}
	found, err := list(ctx, p.hub, bindingKind)
	if err != nil {
		return nil, err
	}
	bound := map[client.ObjectKey]*unstructured.Unstructured{}
	for _, binding := range found {
		resource, _, _ := unstructured.NestedStringMap(binding.Object, "spec", "resource")
		clusters, _, _ := unstructured.NestedFieldNoCopy(binding.Object, "spec", "clusters")
		if schema.FromAPIVersionAndKind(resource["apiVersion"], resource["kind"]) == kind && reflect.DeepEqual(clusters, clustersAt(member)) {
			bound[client.ObjectKey{Namespace: resource["namespace"], Name: resource["name"]}] = binding
		}
	}
	return bound, nil
}

// specOf returns what a binding says of an object that is placed at a member.
func specOf(member string, template *unstructured.Unstructured) map[string]any {
	resource := map[string]any{
		"apiVersion": template.GetAPIVersion(), "kind": template.GetKind(), "name": template.GetName(), "uid": string(template.GetUID()),
	}
	if template.GetNamespace() != "" {
		resource["namespace"] = template.GetNamespace()
	}
	return map[string]any{"resource": resource, "clusters": clustersAt(member)}
}

func clustersAt(member string) []any { return []any{map[string]any{"name": member}} }

// report has an object's binding show what has become of it at its member: the whole status of the
// copy, or why the member has refused the object.
func (p *Propagator) report(ctx context.Context, key workKey, binding, stored *unstructured.Unstructured) {
	w := p.work(key)
	if binding == nil || !w.isAnswered() {
		return
	}
	item := map[string]any{"clusterName": key.member, "health": "Unknown"}
	switch {
	case w.refused != nil:
		item["appliedMessage"] = "Failed to apply all manifests (0/1): " + w.refused.Error()
	case stored != nil && stored.Object["status"] != nil:
		item["applied"], item["status"] = true, stored.Object["status"]
	default:
		item["applied"] = true
	}
	p.aggregate(ctx, binding, item)
}

func (p *Propagator) aggregate(ctx context.Context, binding *unstructured.Unstructured, item map[string]any) {
	status := map[string]any{"aggregatedStatus": []any{item}}
	if reflect.DeepEqual(binding.Object["status"], status) {
		return
	}
	binding.Object["status"] = status
	_ = p.hub.Status().Update(ctx, binding) // or the next time
}
