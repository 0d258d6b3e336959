// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package poolspec

import (
	"slices"

	metav1validation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/excerpt"
)

var visibilities = []ipamv1.PoolVisibility{ipamv1.ConsumerVisibility, ipamv1.PlatformVisibility, ipamv1.SharedVisibility}

// Visibility returns who may claim and carve from a pool: what the spec says,
// else its own project for a namespaced pool and every project for a
// cluster-scoped one.
func Visibility(spec *ipamv1.IPPoolSpec, pool ipamv1.PoolReference) ipamv1.PoolVisibility {
	switch {
	case spec.Visibility != "":
		return spec.Visibility
	case pool.Namespace == "":
		return ipamv1.SharedVisibility
	default:
		return ipamv1.ConsumerVisibility
	}
}

// checkVisibility wants a selector only where it narrows something: one that
// is not looked at would seem to protect the pool.
func (r *resolver) checkVisibility() {
	visibility := Visibility(r.spec, r.pool)
	if !slices.Contains(visibilities, visibility) {
		r.fail(field.NotSupported(r.path.Child("visibility"), excerpt.Of(visibility), visibilities))
		return
	}
	given, path := r.spec.NamespaceSelector, r.path.Child("namespaceSelector")
	if given == nil {
		return
	}
	if visibility != ipamv1.SharedVisibility {
		r.fail(field.Forbidden(path, "narrows visibility Shared, and the pool's is "+string(visibility)))
	}
	r.errs = append(r.errs, metav1validation.ValidateLabelSelector(given, metav1validation.LabelSelectorValidationOptions{}, path)...)
}
