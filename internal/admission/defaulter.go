// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"

	"gomodules.xyz/jsonpatch/v2"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/util/json"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/poolspec"
)

// +kubebuilder:webhook:path=/mutate-ipam-weir-dev-v1alpha1-ippool,mutating=true,failurePolicy=fail,matchPolicy=Equivalent,sideEffects=None,groups=ipam.weir.dev,resources=ippools,verbs=create;update,versions=v1alpha1,name=default.ippool.ipam.weir.dev,admissionReviewVersions=v1
// +kubebuilder:webhook:path=/mutate-ipam-weir-dev-v1alpha1-globalippool,mutating=true,failurePolicy=fail,matchPolicy=Equivalent,sideEffects=None,groups=ipam.weir.dev,resources=globalippools,verbs=create;update,versions=v1alpha1,name=default.globalippool.ipam.weir.dev,admissionReviewVersions=v1

// poolDefaulter sets what a pool's spec may leave out but the stored object
// has: ipFamily, which follows from the addresses, and on update the cidr that
// was set before. It serves both kinds of pool.
type poolDefaulter struct{}

// Handle answers with a patch of spec. An object that cannot be read is left
// to the schema, which names the field.
func (poolDefaulter) Handle(_ context.Context, req admission.Request) admission.Response {
	spec := specIn(req.Object.Raw)
	if spec == nil {
		return admission.Allowed("")
	}
	return admission.Patched("", setOnce(spec, specIn(req.OldObject.Raw))...)
}

// specIn returns the spec of a pool of either kind, nil if there is none.
func specIn(raw []byte) *ipamv1.IPPoolSpec {
	var pool struct {
		Spec *ipamv1.IPPoolSpec `json:"spec"`
	}
	if json.Unmarshal(raw, &pool) != nil {
		return nil
	}
	return pool.Spec
}

// setOnce returns the patch that gives spec what was set before, and what
// follows from it. An update that leaves spec alone gets no patch: taking a
// finalizer off a pool must not depend on its spec.
func setOnce(spec, old *ipamv1.IPPoolSpec) []jsonpatch.Operation {
	if old == nil {
		old = &ipamv1.IPPoolSpec{}
	}
	if equality.Semantic.DeepEqual(spec, old) {
		return nil
	}
	var patch []jsonpatch.Operation
	if spec.CIDR == "" && old.CIDR != "" && !hasOtherSource(spec) {
		spec.CIDR = old.CIDR
		patch = append(patch, jsonpatch.NewOperation("add", "/spec/cidr", old.CIDR))
	}
	if family := familyFor(spec, old); spec.IPFamily == "" && family != "" {
		patch = append(patch, jsonpatch.NewOperation("add", "/spec/ipFamily", string(family)))
	}
	return patch
}

// hasOtherSource tells an update that changes the source, which is refused,
// from one that leaves out the cidr.
func hasOtherSource(spec *ipamv1.IPPoolSpec) bool {
	return len(spec.Addresses) > 0 || spec.OpenStack != nil
}

func familyFor(spec, old *ipamv1.IPPoolSpec) ipamv1.IPFamily {
	if old.IPFamily != "" {
		return old.IPFamily
	}
	return poolspec.Family(spec)
}
