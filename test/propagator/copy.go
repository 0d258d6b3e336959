// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package propagator

import (
	"context"
	"fmt"
	"maps"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
)

// The marks that Karmada leaves on a copy.
const (
	ManagedLabel                 = "karmada.io/managed"
	TemplateUIDAnnotation        = "resourcetemplate.karmada.io/uid"
	TemplateGenerationAnnotation = "resourcetemplate.karmada.io/generation"
	WorkNameAnnotation           = "work.karmada.io/name"
	WorkNamespaceAnnotation      = "work.karmada.io/namespace"
)

// executionSpace returns the namespace of a member's Works at the hub.
func executionSpace(member string) string { return "karmada-es-" + member }

// CopyFor returns what a member is sent of the hub's object.
func CopyFor(member string, template *unstructured.Unstructured) *unstructured.Unstructured {
	sent := template.DeepCopy()
	delete(sent.Object, "status")
	metadata := map[string]any{}
	for _, field := range []string{"name", "namespace", "labels", "annotations"} {
		if value, has, _ := unstructured.NestedFieldCopy(template.Object, "metadata", field); has {
			metadata[field] = value
		}
	}
	sent.Object["metadata"] = metadata
	sent.SetLabels(merged(sent.GetLabels(), map[string]string{ManagedLabel: "true"}))
	sent.SetAnnotations(merged(sent.GetAnnotations(), map[string]string{
		TemplateUIDAnnotation:        string(template.GetUID()),
		TemplateGenerationAnnotation: strconv.FormatInt(template.GetGeneration(), 10),
		WorkNameAnnotation:           strings.ToLower(template.GetKind()) + "-" + template.GetName(),
		WorkNamespaceAnnotation:      executionSpace(member),
	}))
	return sent
}

// retain gives what is sent what the member has added to its copy.
func retain(sent, stored *unstructured.Unstructured) *unstructured.Unstructured {
	next := sent.DeepCopy()
	next.SetUID(stored.GetUID())
	next.SetResourceVersion(stored.GetResourceVersion())
	next.SetFinalizers(stored.GetFinalizers())
	next.SetOwnerReferences(stored.GetOwnerReferences())
	next.SetLabels(merged(stored.GetLabels(), sent.GetLabels()))
	next.SetAnnotations(merged(stored.GetAnnotations(), sent.GetAnnotations()))
	if status, has := stored.Object["status"]; has {
		next.Object["status"] = status
	}
	return next
}

// merged returns both, and of a key in both the second's value.
func merged(first, second map[string]string) map[string]string {
	all := map[string]string{}
	maps.Copy(all, first)
	maps.Copy(all, second)
	return all
}

// isManaged reports whether Karmada has placed the object.
func isManaged(stored *unstructured.Unstructured) bool {
	return stored.GetLabels()[ManagedLabel] == "true"
}

// Kubectl is a cluster that a person works with.
type Kubectl interface {
	// Kubectl runs kubectl with input to read, and returns what it prints.
	Kubectl(ctx context.Context, input string, args ...string) (string, error)
}

// Copy copies what kubectl gets with these arguments once, as a person does: nothing marks the copy,
// and later versions of the object do not reach it.
func Copy(ctx context.Context, hub, member Kubectl, args ...string) error {
	manifest, err := hub.Kubectl(ctx, "", append([]string{"get", "-o", "yaml"}, args...)...)
	if err != nil {
		return fmt.Errorf("reading at the hub: %w", err)
	}
	if _, err := member.Kubectl(ctx, manifest, "apply", "-f", "-"); err != nil {
		return fmt.Errorf("applying at the member: %w", err)
	}
	return nil
}
