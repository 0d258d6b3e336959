// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// StandIn stands in for the components of another IPAM provider, whose manager is not to be had: the names, labels and webhooks are that
// provider's, and nobody is behind the webhooks.
type StandIn struct {
	// Name is what clusterctl calls the provider.
	Name string
	// Version is that of the provider: v1.14.0.
	Version string
	// Namespace is that of its manager.
	Namespace string
	// Prefix begins the names of all that it has.
	Prefix string
	// Image is its manager's.
	Image string
	// Groups are the API groups that its manager may do everything in.
	Groups []string
	// Webhook is the rule by which the API server asks its webhooks.
	Webhook admissionregistrationv1.Rule
	// Older is a version that its kinds are served in as well, and not stored; "" for none.
	Older string
	// CRDs is the folder of Weir's CRDs of its kinds, in the repository.
	CRDs string
	// Unconditioned: the status of its kinds has no conditions.
	Unconditioned bool
}

type object = map[string]any

// Account is the user that its manager is.
func (s StandIn) Account() string {
	return "system:serviceaccount:" + s.Namespace + ":" + s.Prefix + "manager"
}

// label is what marks all that clusterctl installs of it.
func (s StandIn) label() object { return object{"cluster.x-k8s.io/provider": "ipam-" + s.Name} }

// Rights returns the role of its manager, and who has it.
func (s StandIn) Rights() []*unstructured.Unstructured {
	group, role := "rbac.authorization.k8s.io", s.Prefix+"manager-role"
	return []*unstructured.Unstructured{
		s.object(group+"/v1", "ClusterRole", "", role, object{"rules": []any{
			object{"apiGroups": anySlice(s.Groups), "resources": []any{"*"}, "verbs": []any{"*"}},
		}}),
		s.object(group+"/v1", "ClusterRoleBinding", "", s.Prefix+"manager-rolebinding", object{
			"roleRef":  object{"apiGroup": group, "kind": "ClusterRole", "name": role},
			"subjects": []any{object{"kind": "ServiceAccount", "name": s.Prefix + "manager", "namespace": s.Namespace}},
		}),
	}
}

// Components returns all of it.
func (s StandIn) Components() ([]any, error) {
	crds, err := s.crds()
	if err != nil {
		return nil, err
	}
	labels := object{"control-plane": "controller-manager"}
	all := append([]*unstructured.Unstructured{
		s.object("v1", "Namespace", "", s.Namespace, nil),
		s.object("v1", "ServiceAccount", s.Namespace, s.Prefix+"manager", nil),
		s.object("apps/v1", "Deployment", s.Namespace, s.Prefix+"controller-manager", object{"spec": object{
			"replicas": 0, "selector": object{"matchLabels": labels},
			"template": object{"metadata": object{"labels": labels}, "spec": object{"containers": []any{
				object{"name": "manager", "image": s.Image + ":" + s.Version},
			}}},
		}}),
	}, s.Rights()...)
	for _, kind := range []string{"Mutating", "Validating"} {
		all = append(all, s.object("admissionregistration.k8s.io/v1", kind+"WebhookConfiguration", "", s.webhooks(kind), object{"webhooks": []any{object{
			"name": "default.pools.example.com", "admissionReviewVersions": []any{"v1"}, "sideEffects": "None", "failurePolicy": "Fail",
			"clientConfig": object{"service": s.service("/")},
			"rules": []any{object{
				"apiGroups": anySlice(s.Webhook.APIGroups), "apiVersions": anySlice(s.Webhook.APIVersions), "resources": anySlice(s.Webhook.Resources),
				"operations": []any{"CREATE", "UPDATE"},
			}},
		}}}))
	}
	components := make([]any, 0, len(all)+len(crds))
	for _, o := range append(all, crds...) {
		components = append(components, o.Object)
	}
	return components, nil
}

// Silence takes its webhooks away.
func (s StandIn) Silence(ctx context.Context, c client.Client) error {
	for _, o := range []client.Object{
		&admissionregistrationv1.MutatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: s.webhooks("Mutating")}},
		&admissionregistrationv1.ValidatingWebhookConfiguration{ObjectMeta: metav1.ObjectMeta{Name: s.webhooks("Validating")}},
	} {
		if err := c.Delete(ctx, o); err != nil {
			return fmt.Errorf("removing the webhooks of provider %s: %w", s.Name, err)
		}
	}
	return nil
}

// webhooks is the name of its webhooks of a kind.
func (s StandIn) webhooks(kind string) string {
	return s.Prefix + strings.ToLower(kind) + "-webhook-configuration"
}

// crds are those of its kinds, whose conversion is a webhook of its manager.
func (s StandIn) crds() ([]*unstructured.Unstructured, error) {
	root, err := RepoRoot()
	if err != nil {
		return nil, err
	}
	crds, err := ReadManifests(filepath.Join(root, s.CRDs))
	if err != nil {
		return nil, err
	}
	for _, crd := range crds {
		crd.SetLabels(map[string]string{"cluster.x-k8s.io/provider": "ipam-" + s.Name, "cluster.x-k8s.io/v1beta1": s.Webhook.APIVersions[0]})
		crd.SetAnnotations(map[string]string{"cert-manager.io/inject-ca-from": s.Namespace + "/" + s.Prefix + "serving-cert"})
		spec, _ := crd.Object["spec"].(object)
		versions, _ := spec["versions"].([]any)
		for _, version := range versions {
			if fields, isObject := version.(object); isObject && s.Unconditioned {
				unstructured.RemoveNestedField(fields, "schema", "openAPIV3Schema", "properties", "status", "properties", "conditions")
			}
		}
		if s.Older != "" {
			versions = slices.DeleteFunc(versions, func(version any) bool {
				fields, isObject := version.(object)
				return isObject && fields["name"] == s.Older
			})
			spec["versions"] = append(versions, object{"name": s.Older, "served": true, "storage": false, "schema": object{
				"openAPIV3Schema": object{"type": "object", "x-kubernetes-preserve-unknown-fields": true},
			}, "subresources": object{"status": object{}}})
		}
		spec["conversion"] = object{"strategy": "Webhook", "webhook": object{
			"conversionReviewVersions": []any{"v1", "v1beta1"}, "clientConfig": object{"service": s.service("/convert")},
		}}
	}
	return crds, nil
}

func (s StandIn) service(path string) object {
	return object{"namespace": s.Namespace, "name": s.Prefix + "webhook-service", "path": path}
}

func (s StandIn) object(apiVersion, kind, namespace, name string, rest object) *unstructured.Unstructured {
	metadata := object{"name": name, "labels": s.label()}
	if namespace != "" {
		metadata["namespace"] = namespace
	}
	o := object{"apiVersion": apiVersion, "kind": kind, "metadata": metadata}
	for key, value := range rest {
		o[key] = value
	}
	return &unstructured.Unstructured{Object: o}
}

func anySlice(texts []string) []any {
	slice := make([]any, 0, len(texts))
	for _, text := range texts {
		slice = append(slice, text)
	}
	return slice
}
