// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package survey

import (
	"context"
	"fmt"
	"io"
	"slices"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
)

// metadataAccept asks for the metadata of objects.
const metadataAccept = "application/json;as=PartialObjectMetadataList;v=v1;g=meta.k8s.io,application/json"

// ownership is what owns what in a namespace, as far as it was looked for.
type ownership struct {
	survey *Survey
	// by are the owners of objects.
	by     map[types.UID][]metav1.OwnerReference
	listed map[schema.GroupKind]bool
}

// ownedClaims returns the claims of an owner's namespace that it owns, directly or through others.
// Each kind of owner between is listed once.
func (s *Survey) ownedClaims(ctx context.Context, owner *unstructured.Unstructured) ([]*unstructured.Unstructured, error) {
	within := s.in(Scope{Only: owner.GetNamespace()})
	o := &ownership{survey: within, by: map[types.UID][]metav1.OwnerReference{}, listed: map[schema.GroupKind]bool{}}
	o.listed[owner.GroupVersionKind().GroupKind()] = true // what owns the owner does not matter
	var claims []*unstructured.Unstructured
	var refs []metav1.OwnerReference
	for _, form := range claimForms {
		_, err := within.list(ctx, form.resource, query{}, func(body io.Reader) error {
			return readItems(body, func(claim *unstructured.Unstructured) {
				claims = append(claims, claim)
				refs = append(refs, claim.GetOwnerReferences()...)
			})
		})
		if err != nil {
			return nil, err
		}
	}
	if err := o.look(ctx, refs); err != nil {
		return nil, err
	}
	return slices.DeleteFunc(claims, func(claim *unstructured.Unstructured) bool {
		return !o.leads(claim.GetOwnerReferences(), owner.GetUID(), maxOwners)
	}), nil
}

// look lists the kinds of owners, and of their owners.
func (o *ownership) look(ctx context.Context, refs []metav1.OwnerReference) error {
	for len(refs) > 0 {
		var above []metav1.OwnerReference
		for _, ref := range refs {
			kind := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind).GroupKind()
			if o.listed[kind] {
				continue
			}
			o.listed[kind] = true
			err := o.list(ctx, kind, func(m *metav1.PartialObjectMetadata) {
				o.by[m.UID] = m.OwnerReferences
				above = append(above, m.OwnerReferences...)
			})
			if err != nil {
				return err
			}
		}
		refs = above
	}
	return nil
}

func (o *ownership) list(ctx context.Context, kind schema.GroupKind, each func(*metav1.PartialObjectMetadata)) error {
	mapping, err := o.survey.mapper.RESTMapping(kind)
	if meta.IsNoMatchError(err) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("looking up kind %s: %w", kind, err)
	}
	r := resource{mapping.Resource, mapping.Scope.Name() == meta.RESTScopeNameNamespace}
	_, err = o.survey.list(ctx, r, query{accept: metadataAccept}, func(body io.Reader) error { return readItems(body, each) })
	return err
}

// leads reports whether owners are, or are owned by, the object of a UID.
func (o *ownership) leads(refs []metav1.OwnerReference, uid types.UID, steps int) bool {
	return steps > 0 && slices.ContainsFunc(refs, func(ref metav1.OwnerReference) bool {
		return ref.UID == uid || o.leads(o.by[ref.UID], uid, steps-1)
	})
}
