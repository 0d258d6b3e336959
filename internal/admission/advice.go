// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/poolspec"
)

// hostLengths refuses addresses with a gateway that come with host length, and
// warns of those without. What the stored pool has already is warned of only:
// its other fields may change. old is nil for a new pool.
func hostLengths(updated, old *ipamv1.IPPoolSpec, ref ipamv1.PoolReference) (field.ErrorList, admission.Warnings) {
	mistakes, warnings := poolspec.CheckHostLength(updated, ref)
	if old == nil {
		return mistakes, warnings
	}
	known, _ := poolspec.CheckHostLength(old, ref)
	var errs field.ErrorList
	for _, m := range mistakes {
		if isKnown := slices.ContainsFunc(known, func(k *field.Error) bool { return k.Field == m.Field }); isKnown {
			warnings = append(warnings, m.Error())
		} else {
			errs = append(errs, m)
		}
	}
	return errs, warnings
}
