// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"net/http"
	"slices"

	"gomodules.xyz/jsonpatch/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/predicates"
)

// +kubebuilder:webhook:path=/mutate-ipam-weir-dev-v1alpha1-ipallocation,mutating=true,failurePolicy=fail,matchPolicy=Equivalent,sideEffects=None,groups=ipam.weir.dev,resources=ipallocations,verbs=update,versions=v1alpha1,name=default.ipallocation.ipam.weir.dev,admissionReviewVersions=v1

// keepMoved leaves Weir's finalizer on a record that clusterctl deletes because it has moved it, if its pool stays: the record
// stays, marked for deletion, and its prefix taken, until the pool's controller has put a hold in its place. The API server asks
// about nothing but such updates, by the configuration's matchConditions.
func keepMoved(_ context.Context, req admission.Request) admission.Response {
	updated, old := &ipamv1.IPAllocation{}, &ipamv1.IPAllocation{}
	if !read(req.Object.Raw, updated) || !read(req.OldObject.Raw, old) || !movesWithoutPool(updated) ||
		!slices.Contains(old.Finalizers, ipamv1.AllocationFinalizer) {
		return admission.Allowed("")
	}
	return admission.Patched("", finalizerPatch(updated.Finalizers, ipamv1.AllocationFinalizer)...)
}

// +kubebuilder:webhook:path=/mutate-moved-ipaddressclaim,mutating=true,failurePolicy=fail,matchPolicy=Equivalent,sideEffects=None,groups=ipam.cluster.x-k8s.io,resources=ipaddressclaims,verbs=update,versions=v1beta2,name=moved.ipaddressclaim.ipam.weir.dev,admissionReviewVersions=v1

// departures are claims that leave.
type departures struct{ doors Doors }

// keep leaves its finalizer on a claim of a pool that stays, which clusterctl deletes because it has moved the claim, and marks the claim: its
// record may not have moved with it, and would be let go of if the claim just vanished. The claim's controller takes the finalizer off.
// The API server asks about nothing but such updates, by the configuration's matchConditions.
func (h departures) keep(ctx context.Context, req admission.Request) admission.Response {
	var updated, old struct {
		metav1.ObjectMeta `json:"metadata"`
	}
	claim, ok := h.doors.asks(kindOf(req), req.Object.Raw)
	if !ok || json.Unmarshal(req.Object.Raw, &updated) != nil || json.Unmarshal(req.OldObject.Raw, &old) != nil ||
		!predicates.IsMoving(&updated) || updated.DeletionTimestamp.IsZero() || !slices.Contains(old.Finalizers, claim.finalizer) {
		return admission.Allowed("")
	}
	stays, err := h.doors.stays(ctx, claim.pool, req.Namespace)
	switch {
	case err != nil:
		return admission.Errored(http.StatusInternalServerError, err)
	case !stays:
		return admission.Allowed("")
	}
	mark := jsonpatch.NewOperation("add", "/metadata/annotations/"+escape(ipamv1.MovedAnnotation), old.UID)
	return admission.Patched("", append(finalizerPatch(updated.Finalizers, claim.finalizer), mark)...)
}

// movesWithoutPool says whether the record moves to another cluster, its pool does not, and nothing holds its prefix instead.
func movesWithoutPool(record *ipamv1.IPAllocation) bool {
	_, held := record.Annotations[ipamv1.HeldAnnotation]
	return predicates.IsMoving(record) && !held && !record.Spec.IsRootBlock() && record.Spec.PoolRef.Namespace != record.Namespace
}
