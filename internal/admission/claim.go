// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"slices"

	"gomodules.xyz/jsonpatch/v2"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/kinds"
)

// addressClaim is what this webhook needs to know of an IPAddressClaim. The
// fields are the same in all versions that Cluster API serves.
type addressClaim struct {
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		PoolRef struct {
			APIGroup string `json:"apiGroup"`
			Kind     string `json:"kind"`
		} `json:"poolRef"`
	} `json:"spec"`
}

// +kubebuilder:webhook:path=/mutate-ipam-cluster-x-k8s-io-v1beta2-ipaddressclaim,mutating=true,failurePolicy=ignore,timeoutSeconds=2,matchPolicy=Equivalent,sideEffects=None,groups=ipam.cluster.x-k8s.io,resources=ipaddressclaims,verbs=create,versions=v1beta2,name=default.ipaddressclaim.ipam.weir.dev,admissionReviewVersions=v1

// finalizeAddressClaim puts Weir's finalizer on a claim for one of Weir's
// pools when it is created. It never stands in the way: not deployed, slow or
// unable to read the claim, it leaves the finalizer to the controller. One that
// has the finalizer already has been a claim before, see arrivals; no other may
// say that it has.
func finalizeAddressClaim(_ context.Context, req admission.Request) admission.Response {
	var claim addressClaim
	if json.Unmarshal(req.Object.Raw, &claim) != nil || !claim.isOurs() {
		return admission.Allowed("")
	}
	var patch []jsonpatch.Operation
	if !slices.Contains(claim.Finalizers, ipamv1.ClaimFinalizer) {
		patch = arrivalPatch(&claim, false)
	}
	return admission.Patched("", append(patch, finalizerPatch(claim.Finalizers, ipamv1.ClaimFinalizer)...)...).
		WithWarnings(unknownAnnotations(claim.Annotations, nil)...)
}

func (c *addressClaim) isOurs() bool {
	kind := c.poolKind()
	return kind == kinds.IPPool || kind == kinds.GlobalIPPool
}

func (c *addressClaim) poolKind() schema.GroupKind {
	return schema.GroupKind{Group: c.Spec.PoolRef.APIGroup, Kind: c.Spec.PoolRef.Kind}
}

// keptFinalizer puts a finalizer back that an update leaves out, as an apply does with what a webhook has added. Weir takes its
// finalizers off objects that are being deleted only.
func keptFinalizer(updated, old client.Object, name string) []jsonpatch.Operation {
	if !updated.GetDeletionTimestamp().IsZero() || !slices.Contains(old.GetFinalizers(), name) {
		return nil
	}
	return finalizerPatch(updated.GetFinalizers(), name)
}

// finalizerPatch adds a finalizer to those that an object has.
func finalizerPatch(finalizers []string, name string) []jsonpatch.Operation {
	switch {
	case slices.Contains(finalizers, name):
		return nil
	case len(finalizers) == 0:
		return []jsonpatch.Operation{jsonpatch.NewOperation("add", "/metadata/finalizers", []string{name})}
	default:
		return []jsonpatch.Operation{jsonpatch.NewOperation("add", "/metadata/finalizers/-", name)}
	}
}
