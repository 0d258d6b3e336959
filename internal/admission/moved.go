// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/util/json"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// +kubebuilder:webhook:path=/mutate-ipam-weir-dev-v1alpha1-ipallocation,mutating=true,failurePolicy=fail,matchPolicy=Equivalent,sideEffects=None,groups=ipam.weir.dev,resources=ipallocations,verbs=update,versions=v1alpha1,name=default.ipallocation.ipam.weir.dev,admissionReviewVersions=v1

// keepMoved leaves Weir's finalizer on a record that clusterctl deletes because it has moved it, if its pool stays: the record
// stays, marked for deletion, and its prefix taken, until the pool's controller has put a hold in its place. The API server asks
// about nothing but such updates, by the configuration's matchConditions.
func keepMoved(_ context.Context, req admission.Request) admission.Response {
	updated, old := &ipamv1.IPAllocation{}, &ipamv1.IPAllocation{}
	if json.Unmarshal(req.Object.Raw, updated) != nil || json.Unmarshal(req.OldObject.Raw, old) != nil || !movesWithoutPool(updated) ||
		!slices.Contains(old.Finalizers, ipamv1.AllocationFinalizer) {
		return admission.Allowed("")
	}
	return admission.Patched("", finalizerPatch(updated.Finalizers, ipamv1.AllocationFinalizer)...)
}

// movesWithoutPool says whether the record moves to another cluster, its pool does not, and nothing holds its prefix instead.
func movesWithoutPool(record *ipamv1.IPAllocation) bool {
	_, moving := record.Annotations[clusterctlv1.DeleteForMoveAnnotation]
	_, held := record.Annotations[ipamv1.HeldAnnotation]
	return moving && !held && record.Spec.Purpose != ipamv1.RootPurpose && record.Spec.PoolRef.Namespace != record.Namespace
}
