// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package survey

import (
	"context"
	"io"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// machineKind is Cluster API's.
var machineKind = schema.GroupKind{Group: clusterGroup, Kind: "Machine"}

// Machines returns a function that names the Machine that a claim is for, "" for none: the one that owns it, directly or
// through others. Each kind of claim, and each kind of owner below Machines, is listed once, as metadata. What is forbidden is
// a gap.
func (s *Survey) Machines(ctx context.Context) (func(ipamv1.ClaimReference) string, error) {
	o := &ownership{survey: s, by: map[types.UID][]metav1.OwnerReference{}, listed: map[schema.GroupKind]bool{machineKind: true}}
	claims := map[Object][]metav1.OwnerReference{}
	var refs []metav1.OwnerReference
	for _, form := range claimForms {
		_, err := s.list(ctx, form.resource, query{accept: metadataAccept}, func(body io.Reader) error {
			return readItems(body, func(m *metav1.PartialObjectMetadata) {
				if len(m.OwnerReferences) == 0 {
					return
				}
				claims[Object{APIGroup: form.kind.Group, Kind: form.kind.Kind, Namespace: m.Namespace, Name: m.Name}] = m.OwnerReferences
				refs = append(refs, m.OwnerReferences...)
			})
		})
		if err != nil {
			return nil, err
		}
	}
	if err := o.look(ctx, refs); err != nil {
		return nil, err
	}
	return func(claim ipamv1.ClaimReference) string {
		group := claim.GroupKind()
		return o.machine(claims[Object{APIGroup: group.Group, Kind: group.Kind, Namespace: claim.Namespace, Name: claim.Name}], maxOwners)
	}, nil
}

// machine is the Machine among owners and their owners.
func (o *ownership) machine(refs []metav1.OwnerReference, steps int) string {
	if steps == 0 {
		return ""
	}
	for _, ref := range refs {
		if schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).GroupKind() == machineKind {
			return ref.Name
		}
		if name := o.machine(o.by[ref.UID], steps-1); name != "" {
			return name
		}
	}
	return ""
}
