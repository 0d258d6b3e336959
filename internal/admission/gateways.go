// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/poolspec"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
)

// newOffLink refuses addresses of a new pool that do not reach the gateway that
// comes with them. A pool that is moved, restored or a copy of one that a hub
// delegates is admitted with a warning: such addresses are not handed out.
func (v poolValidator[P]) newOffLink(created P, shape *pooltree.Pool) (field.ErrorList, admission.Warnings) {
	mistakes, _ := poolspec.CheckGateways(created.PoolSpec(), created.PoolReference(), shape, nil)
	isRestored := slices.Contains(created.GetFinalizers(), ipamv1.PoolFinalizer)
	if isRestored || v.carver.registry.Says(created).Place == poolspec.Delegated {
		return nil, warnOffLink(mistakes)
	}
	return mistakes, nil
}

// changedOffLink refuses such addresses of a changed pool, and warns of those
// that did not reach the same gateway before: the other fields may change.
func (v poolValidator[P]) changedOffLink(updated P, c change) (field.ErrorList, admission.Warnings) {
	mistakes, known := poolspec.CheckGateways(updated.PoolSpec(), updated.PoolReference(), c.shape, c.was)
	return mistakes, warnOffLink(known)
}

func warnOffLink(known field.ErrorList) (warnings admission.Warnings) {
	for _, k := range known[:min(len(known), named)] {
		warnings = append(warnings, k.Error()+"; these addresses are not handed out")
	}
	if more := len(known) - named; more > 0 {
		warnings = append(warnings, fmt.Sprintf("spec: addresses of %d more entries do not reach their gateway", more))
	}
	return warnings
}
