// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"cmp"
	"context"
	"maps"
	"slices"

	"gomodules.xyz/jsonpatch/v2"
	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/kinds"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/poolspec"
)

// +kubebuilder:webhook:path=/mutate-ipam-weir-dev-v1alpha1-ippool,mutating=true,failurePolicy=fail,matchPolicy=Equivalent,sideEffects=NoneOnDryRun,groups=ipam.weir.dev,resources=ippools,verbs=create;update,versions=v1alpha1,name=default.ippool.ipam.weir.dev,admissionReviewVersions=v1
// +kubebuilder:webhook:path=/mutate-ipam-weir-dev-v1alpha1-globalippool,mutating=true,failurePolicy=fail,matchPolicy=Equivalent,sideEffects=NoneOnDryRun,groups=ipam.weir.dev,resources=globalippools,verbs=create;update,versions=v1alpha1,name=default.globalippool.ipam.weir.dev,admissionReviewVersions=v1

// poolDefaulter sets what a pool's spec may leave out but the stored object
// has: ipFamily, which follows from the addresses, for a new pool with a
// parent the block that it gets, and on update what was set before. It serves
// both kinds of pool.
//
// It also refuses text that is not in canonical form. The schema does so, too,
// after it, but cannot show the canonical form: the API server's cost estimate
// forbids such a messageExpression.
type poolDefaulter struct {
	carver carver
	// home is this cluster, as a GlobalIPPool names it.
	home string
}

// Handle answers with a patch of spec. An object that cannot be read is left
// to the schema, which names the field. An update that leaves spec alone gets
// no patch and no refusal: taking a finalizer off a pool must not depend on
// its spec.
func (d poolDefaulter) Handle(ctx context.Context, req admission.Request) admission.Response {
	spec, old := specIn(req.Object.Raw), specIn(req.OldObject.Raw)
	if spec == nil || old != nil && leavesAlone(spec, old) {
		marks := d.keptMarks(req)
		return admission.Patched("", append(marks, d.homePatch(req, marks)...)...)
	}
	proposed, err := d.carver.propose(ctx, req, spec)
	switch {
	case err != nil:
		return refused(err)
	case proposed.warning != "" && len(proposed.patch) == 0:
		return admission.Allowed("").WithWarnings(proposed.warning)
	}
	patch := append(append(proposed.patch, d.keptMarks(req)...), setOnce(spec, old)...)
	ref := kinds.Pool(kindOf(req), req.Namespace, req.Name)
	if errs := unreadable(spec, ref); len(errs) > 0 {
		return refused(invalid(req.Kind.Kind, req.Name, errs))
	}
	response := admission.Patched("", append(patch, d.homePatch(req, patch)...)...)
	if proposed.warning != "" {
		return response.WithWarnings(proposed.warning)
	}
	return response
}

// homePatch makes this cluster the home of a new GlobalIPPool that has none: one that arrives keeps its own. An update that
// leaves it out gets it back. It comes after patch.
func (d poolDefaulter) homePatch(req admission.Request, patch []jsonpatch.Operation) []jsonpatch.Operation {
	updated, old, home := &ipamv1.GlobalIPPool{}, &ipamv1.GlobalIPPool{}, d.home
	if kindOf(req) != kinds.GlobalIPPool || !read(req.Object.Raw, updated) || updated.Annotations[ipamv1.HomeAnnotation] != "" {
		return nil
	}
	if req.Operation == admissionv1.Update && read(req.OldObject.Raw, old) {
		home = old.Annotations[ipamv1.HomeAnnotation]
	}
	if home == "" {
		return nil
	}
	return annotationPatch(updated, patch, ipamv1.HomeAnnotation, home)
}

// annotationPatch adds an annotation to an object after another patch of it.
func annotationPatch(updated metav1.Object, before []jsonpatch.Operation, key, value string) []jsonpatch.Operation {
	const all = "/metadata/annotations"
	hasAny := len(updated.GetAnnotations()) > 0 || slices.ContainsFunc(before, func(o jsonpatch.Operation) bool { return o.Path == all })
	if !hasAny {
		return []jsonpatch.Operation{jsonpatch.NewOperation("add", all, map[string]string{key: value})}
	}
	return []jsonpatch.Operation{jsonpatch.NewOperation("add", all+"/"+escape(key), value)}
}

// keptMarks puts back what an update of a pool leaves out although Weir has set it: its label and finalizer, that it arrived, how it is
// known in its cloud, and which pool of the hub it is a copy of. It takes off what propagates a pool before its block is judged.
func (d poolDefaulter) keptMarks(req admission.Request) []jsonpatch.Operation {
	updated, known := pools.New(kindOf(req))
	old, _ := pools.New(kindOf(req))
	if req.Operation != admissionv1.Update || !known || !read(req.Object.Raw, updated) || !read(req.OldObject.Raw, old) {
		return nil
	}
	patch := append(keptFinalizer(updated, old, ipamv1.PoolFinalizer), keptArrival(updated, old)...)
	patch = append(patch, keptLabels(updated.GetLabels(), old.GetLabels())...)
	patch = append(patch, d.earlyLabels(updated, old)...)
	for _, key := range []string{ipamv1.OpenStackAnnotation, ipamv1.TemplateAnnotation} {
		if value := old.GetAnnotations()[key]; value != "" && updated.GetAnnotations()[key] == "" {
			patch = append(patch, annotationPatch(updated, patch, key, value)...)
		}
	}
	return patch
}

// keptLabels puts back the labels that select a carved pool for propagation, as they were: without one, or with another value, the copy goes.
func keptLabels(updated, old map[string]string) []jsonpatch.Operation {
	labels := maps.Clone(updated)
	if labels == nil {
		labels = map[string]string{}
	}
	for _, key := range []string{ipamv1.AllocatedLabel, ipamv1.DelegatedToLabel} {
		if value := old[key]; value != "" && updated[key] != value {
			labels[key] = value
		}
	}
	if len(labels) == 0 {
		return nil
	}
	return labelsPatch(updated, labels)
}

// earlyLabels takes such labels off a pool that has arrived, and whose block has not been confirmed here: clusterctl and GitOps tools write again what
// the create left out. Once it is confirmed the pool has its own UID as the template of its copies.
func (d poolDefaulter) earlyLabels(updated, old pools.Own) []jsonpatch.Operation {
	template := cmp.Or(updated.GetAnnotations()[ipamv1.TemplateAnnotation], old.GetAnnotations()[ipamv1.TemplateAnnotation])
	if !hasArrived(old) || template == string(old.GetUID()) {
		return nil
	}
	return d.carver.unpropagated(updated, old.GetLabels())
}

// unreadable returns the mistakes of a spec if some value of it cannot stand.
// Fields that are missing, or not supported yet, are left to the schema and
// the validating webhook.
func unreadable(spec *ipamv1.IPPoolSpec, ref ipamv1.PoolReference) field.ErrorList {
	_, errs := poolspec.Resolve(spec, ref)
	if !slices.ContainsFunc(errs, func(err *field.Error) bool { return err.Type == field.ErrorTypeInvalid }) {
		return nil
	}
	return errs
}

// refused answers with an error of the API.
func refused(err *apierrors.StatusError) admission.Response {
	response := admission.Denied("")
	response.Result = &err.ErrStatus
	return response
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

// setOnce gives spec what was set before, and what follows from it, and
// returns the patch that does the same.
func setOnce(spec, old *ipamv1.IPPoolSpec) []jsonpatch.Operation {
	if old == nil {
		old = &ipamv1.IPPoolSpec{}
	}
	var patch []jsonpatch.Operation
	if spec.CIDR == "" && old.CIDR != "" && !hasOtherSource(spec) {
		spec.CIDR = old.CIDR
		patch = append(patch, jsonpatch.NewOperation("add", "/spec/cidr", old.CIDR))
	}
	if poolspec.NamesParent(spec) && spec.AddressSpace == "" && old.AddressSpace != "" {
		spec.AddressSpace = old.AddressSpace
		patch = append(patch, jsonpatch.NewOperation("add", "/spec/addressSpace", old.AddressSpace))
	}
	if family := familyFor(spec, old); spec.IPFamily == "" && family != "" {
		spec.IPFamily = family
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
