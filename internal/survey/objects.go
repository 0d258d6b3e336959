// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package survey

import (
	"context"
	"fmt"
	"io"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Object reads one object of any kind; nil unless it is Present. A kind that the API server does not serve has
// none.
func (s *Survey) Object(ctx context.Context, kind schema.GroupKind, namespace, name string) (*unstructured.Unstructured, Presence, error) {
	return s.object(ctx, kind, namespace, name)
}

// Objects lists the objects of any kind in a namespace, and returns false if the user may not list them. A kind that
// the API server does not serve has none.
func (s *Survey) Objects(ctx context.Context, kind schema.GroupKind, namespace string) (all []*unstructured.Unstructured, isAllowed bool, err error) {
	mapping, err := s.mapper.RESTMapping(kind)
	if meta.IsNoMatchError(err) {
		return nil, true, nil
	}
	if err != nil {
		return nil, false, fmt.Errorf("looking up kind %s: %w", kind, err)
	}
	r := resource{mapping.Resource, mapping.Scope.Name() == meta.RESTScopeNameNamespace}
	result, err := s.in(Scope{Only: namespace}).list(ctx, r, query{}, func(body io.Reader) error {
		return readItems(body, func(fields *map[string]any) {
			object := &unstructured.Unstructured{Object: *fields}
			object.SetGroupVersionKind(mapping.GroupVersionKind)
			all = append(all, object)
		})
	})
	return all, result != forbidden, err
}
