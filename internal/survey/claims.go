// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package survey

import (
	"context"
	"fmt"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// clusterNameLabel is Cluster API's, with the name of the Cluster that an object belongs to.
const clusterNameLabel = "cluster.x-k8s.io/cluster-name"

// maxOwners bounds a chain of owners.
const maxOwners = 10

// Object is an object that has to do with a record.
type Object struct {
	APIGroup  string `json:"apiGroup"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// String is how people write it.
func (o Object) String() string { return objectName(o.APIGroup, o.Kind, o.Namespace, o.Name) }

// Presence is whether the object that a record is for is there.
type Presence string

const (
	// Present: it is there.
	Present Presence = "Present"
	// Gone: there is none of the name.
	Gone Presence = "Gone"
	// Replaced: there is one of the name with another UID.
	Replaced Presence = "Replaced"
	// Hidden: the user may not see it.
	Hidden Presence = "Hidden"
)

// Claim is what is known of the object that a record is for.
type Claim struct {
	// Presence: the fields below are empty unless it is Present.
	Presence Presence
	// State is the reason of its condition Ready.
	State string
	// Owners lead from the claim up, as far as the user may see.
	Owners []Object
	// Address is what the claim was told.
	Address *Address
}

// Address is what a claim was told.
type Address struct {
	// Object has it; nil if it is in the claim's status.
	Object *Object `json:"object,omitempty"`
	// Address is with the length of its network.
	Address    string   `json:"address"`
	Gateway    string   `json:"gateway,omitempty"`
	DNSServers []string `json:"dnsServers,omitempty"`
}

// Claim reads what a record is for, its owners and what it was told.
func (s *Survey) Claim(ctx context.Context, record *Record) (*Claim, error) {
	group := record.Claim.GroupKind()
	object, presence, err := s.object(ctx, group, record.Claim.Namespace, record.Claim.Name)
	if err != nil || object == nil {
		return &Claim{Presence: presence}, err
	}
	if string(object.GetUID()) != record.Claim.UID {
		return &Claim{Presence: Replaced}, nil
	}
	c := &Claim{Presence: Present, State: readyReason(object)}
	if c.Address, err = s.address(ctx, object); err != nil {
		return nil, err
	}
	c.Owners, err = s.owners(ctx, object)
	return c, err
}

// object reads one object of any kind; nil unless it is Present.
func (s *Survey) object(ctx context.Context, kind schema.GroupKind, namespace, name string) (*unstructured.Unstructured, Presence, error) {
	mapping, err := s.mapper.RESTMapping(kind)
	if meta.IsNoMatchError(err) {
		return nil, Gone, nil
	}
	if err != nil {
		return nil, Hidden, fmt.Errorf("looking up kind %s: %w", kind, err)
	}
	object := &unstructured.Unstructured{}
	r := resource{mapping.Resource, mapping.Scope.Name() == meta.RESTScopeNameNamespace}
	switch result, err := s.get(ctx, r, namespace, name, object); {
	case err != nil:
		return nil, Hidden, err
	case result == listed:
		return object, Present, nil
	case result == unserved:
		return nil, Gone, nil
	}
	return nil, Hidden, nil
}

// owners follows the controllers of an object, or its first owners where it has none, and ends with
// the Cluster.
func (s *Survey) owners(ctx context.Context, object *unstructured.Unstructured) ([]Object, error) {
	var chain []Object
	namespace, cluster := object.GetNamespace(), object.GetLabels()[clusterNameLabel]
	for object != nil && len(chain) < maxOwners {
		owner := metav1.GetControllerOfNoCopy(object)
		if refs := object.GetOwnerReferences(); owner == nil && len(refs) > 0 {
			owner = &refs[0]
		}
		if owner == nil {
			break
		}
		kind := schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).GroupKind()
		chain = append(chain, Object{APIGroup: kind.Group, Kind: kind.Kind, Namespace: namespace, Name: owner.Name})
		above, _, err := s.object(ctx, kind, namespace, owner.Name)
		if err != nil {
			return nil, err
		}
		object = above
		if object != nil && cluster == "" {
			cluster = object.GetLabels()[clusterNameLabel]
		}
	}
	top := Object{APIGroup: clusterGroup, Kind: "Cluster", Namespace: namespace, Name: cluster}
	if cluster != "" && (len(chain) == 0 || chain[len(chain)-1] != top) {
		chain = append(chain, top)
	}
	return chain, nil
}

// clusterGroup is that of Clusters.
const clusterGroup = "cluster.x-k8s.io"

// address returns what a claim was told: by an object that its status names, or there.
func (s *Survey) address(ctx context.Context, claim *unstructured.Unstructured) (*Address, error) {
	for _, path := range [][]string{{"status", "addressRef", "name"}, {"status", "address", "name"}} {
		if name, _, _ := unstructured.NestedString(claim.Object, path...); name != "" {
			kind := schema.GroupKind{Group: claim.GroupVersionKind().Group, Kind: "IPAddress"}
			object, _, err := s.object(ctx, kind, claim.GetNamespace(), name)
			if err != nil || object == nil {
				return nil, err
			}
			return addressOf(object), nil
		}
	}
	cidr, _, _ := unstructured.NestedString(claim.Object, "status", "allocatedCIDR")
	if cidr == "" {
		return nil, nil
	}
	network, _, _ := unstructured.NestedMap(claim.Object, "status", "network")
	address := &Address{Address: cidr, Gateway: text(network, "gateway"), DNSServers: list(network, "dnsServers")}
	if bits, found, _ := unstructured.NestedInt64(network, "prefixLength"); found {
		host, _, _ := strings.Cut(cidr, "/")
		address.Address = fmt.Sprintf("%s/%d", host, bits)
	}
	return address, nil
}

func addressOf(object *unstructured.Unstructured) *Address {
	spec, _, _ := unstructured.NestedMap(object.Object, "spec")
	address := &Address{
		Object: &Object{
			APIGroup: object.GroupVersionKind().Group, Kind: object.GetKind(), Namespace: object.GetNamespace(), Name: object.GetName(),
		},
		Address: text(spec, "address"), Gateway: text(spec, "gateway"), DNSServers: list(spec, "dnsServers"),
	}
	if bits, found, _ := unstructured.NestedInt64(spec, "prefix"); found {
		address.Address += fmt.Sprintf("/%d", bits)
	}
	if servers := object.GetAnnotations()[ipamv1.DNSServersAnnotation]; servers != "" {
		address.DNSServers = strings.Split(servers, ",")
	}
	return address
}

func text(fields map[string]any, name string) string {
	value, _ := fields[name].(string)
	return value
}

func list(fields map[string]any, name string) []string {
	values, _, _ := unstructured.NestedStringSlice(fields, name)
	return values
}

func readyReason(object *unstructured.Unstructured) string {
	conditions, _, _ := unstructured.NestedSlice(object.Object, "status", "conditions")
	for _, c := range conditions {
		if fields, _ := c.(map[string]any); text(fields, "type") == ipamv1.ReadyCondition {
			return text(fields, "reason")
		}
	}
	return ""
}
