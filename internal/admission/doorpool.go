// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"
	"net/http"
	"regexp"
	"slices"

	"gomodules.xyz/jsonpatch/v2"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/excerpt"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
)

// doorPools refuses pools of front doors that cannot be meant, and changes and deletions that would take away what is in use.
type doorPools struct {
	doors    Doors
	holdings Holdings
	// rights say what may be named; nil means nothing.
	rights   Readers
	registry *pools.Registry
}

// validate refuses the mistakes of a pool that its stored version does not have. A change that leaves spec alone is always admitted: finalizers
// and labels must change on pools, too, whose stored spec is not valid.
func (h doorPools) validate(ctx context.Context, req admission.Request) admission.Response {
	kind, ok := h.doors.doorKind(kindOf(req))
	if ok && req.Operation == admissionv1.Delete {
		return h.protect(ctx, req, kind)
	}
	if !ok || hasSpecOf(req.Object.Raw, req.OldObject.Raw) {
		return admission.Allowed("")
	}
	updated, old := kind.New(), kind.New()
	if !read(req.Object.Raw, updated) {
		return admission.Allowed("") // the schema names the field
	}
	shape, errs := mistakesOf(kind, updated)
	var was *pooltree.Pool
	if read(req.OldObject.Raw, old) {
		var known field.ErrorList
		was, known = mistakesOf(kind, old)
		errs = without(errs, known)
	}
	if shape != nil {
		c := change{inUse(h.holdings.Holdings(kind.Reference(updated))), shape, was}
		to := audienceOf(admission.NewContextWithRequest(ctx, req), h.rights)
		errs = append(errs, fallenOut(ctx, to, field.NewPath("spec", kind.AddressField), c)...)
		if kind.KeepsInUse {
			errs = append(errs, withheld(ctx, to, c)...)
		}
		errs = append(errs, h.taken(ctx, to, kind, updated, c)...)
	}
	if len(errs) > 0 {
		return refused(apierrors.NewInvalid(kind.GroupKind, excerpt.Of(req.Name), errs))
	}
	warnings := slices.Concat(newDoubts(kind, updated, old), h.newOverlaps(ctx, req, updated, old))
	return admission.Allowed("").WithWarnings(warnings...)
}

// taken refuses addresses that a pool did not have before, and that another root pool of the address space has that its annotation names.
func (h doorPools) taken(ctx context.Context, to *audience, kind *pools.Kind, updated pools.Object, c change) field.ErrorList {
	space := updated.GetAnnotations()[kind.SpaceAnnotation]
	if kind.SpaceAnnotation == "" || space == "" {
		return nil
	}
	var found []overlap
	for _, prefix := range gained(c.shape, c.was) {
		for _, other := range h.holdings.Overlapping(space, prefix) {
			if other.Purpose == ledger.ForRoot && other.Pool != kind.Reference(updated) {
				found = noteOverlap(found, text(prefix), prefix, other)
			}
		}
	}
	if len(found) == 0 || areGivenUp(ctx, h.holdings, h.registry, space, found) {
		return nil
	}
	var shown []string
	for _, o := range found {
		if to.mayGetPool(ctx, o.other) {
			shown = append(shown, o.text())
		}
	}
	return field.ErrorList{field.Forbidden(field.NewPath("spec", kind.AddressField),
		"overlaps other pools of address space "+excerpt.Of(space)+someOf(shown, len(found)))}
}

// assignSpace gives a new pool that names no address space the one that its Namespace names.
func (h doorPools) assignSpace(ctx context.Context, req admission.Request) admission.Response {
	kind, ok := h.doors.doorKind(kindOf(req))
	if !ok || kind.SpaceAnnotation == "" || req.Operation != admissionv1.Create || req.Namespace == "" {
		return admission.Allowed("")
	}
	created := kind.New()
	if !read(req.Object.Raw, created) || created.GetAnnotations()[kind.SpaceAnnotation] != "" {
		return admission.Allowed("")
	}
	namespace := &metav1.PartialObjectMetadata{}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	if err := h.doors.Live.Get(ctx, client.ObjectKey{Name: req.Namespace}, namespace); err != nil {
		return admission.Errored(http.StatusInternalServerError, fmt.Errorf("getting namespace %s: %w", req.Namespace, err))
	}
	space := namespace.Annotations[kind.SpaceAnnotation]
	if space == "" {
		return admission.Allowed("")
	}
	return admission.Patched("", annotationPatch(created, nil, kind.SpaceAnnotation, space)...)
}

// newOverlaps warns of what a pool shares with others, unless its older version shares the same.
func (h doorPools) newOverlaps(ctx context.Context, req admission.Request, updated, old pools.Object) admission.Warnings {
	found := h.registry.Overlaps(ctx, updated)
	if len(found) == 0 {
		return nil
	}
	if req.Operation == admissionv1.Update && pools.SharedBy(h.registry.Overlaps(ctx, old)).Equal(pools.SharedBy(found)) {
		return nil
	}
	to := audienceOf(admission.NewContextWithRequest(ctx, req), h.rights)
	return admission.Warnings{h.registry.OverlapText(updated, found, func(other ipamv1.PoolReference) bool { return to.mayGetPool(ctx, other) })}
}

// protect refuses to delete a pool that something is allocated from, unless the caller or a move takes care of the order: the pool's finalizer
// holds it then.
func (h doorPools) protect(ctx context.Context, req admission.Request, kind *pools.Kind) admission.Response {
	deleted := kind.New()
	if !read(req.OldObject.Raw, deleted) || !deleted.GetDeletionTimestamp().IsZero() || deletesInOrder(req.UserInfo.Username) || moves(deleted) {
		return admission.Allowed("")
	}
	ref := kind.Reference(deleted)
	to := audienceOf(admission.NewContextWithRequest(ctx, req), h.rights)
	if refusal := protected(ctx, to, ref, inUse(h.holdings.Holdings(ref))); refusal != nil {
		return refused(refusal)
	}
	return admission.Allowed("")
}

func (d Doors) doorKind(kind schema.GroupKind) (*pools.Kind, bool) {
	i := slices.IndexFunc(d.Pools, func(k pools.Kind) bool { return k.GroupKind == kind })
	if i < 0 {
		return nil, false
	}
	return &d.Pools[i], true
}

// keptHome puts back the home that an update of a pool leaves out, after another patch of it: without one, the pool would be at home in every
// cluster that has a copy of it.
func (d Doors) keptHome(kind schema.GroupKind, updated, old metav1.Object, before []jsonpatch.Operation) []jsonpatch.Operation {
	home := old.GetAnnotations()[ipamv1.HomeAnnotation]
	if pool, ok := d.doorKind(kind); !ok || !pool.HasHome || home == "" || updated.GetAnnotations()[ipamv1.HomeAnnotation] != "" {
		return nil
	}
	return annotationPatch(updated, before, ipamv1.HomeAnnotation, home)
}

// mistakesOf returns the shape of a pool, nil for one that cannot be served, and all that may not be written.
func mistakesOf(kind *pools.Kind, p pools.Object) (*pooltree.Pool, field.ErrorList) {
	shape, errs := kind.Resolve(p, nil)
	if kind.Refused != nil {
		errs = append(errs, kind.Refused(p)...)
	}
	return shape, errs
}

// newDoubts are those of a pool that an older version of it does not raise.
func newDoubts(kind *pools.Kind, updated, old pools.Object) admission.Warnings {
	if kind.Doubts == nil {
		return nil
	}
	known := kind.Doubts(old)
	return slices.DeleteFunc(kind.Doubts(updated), func(doubt string) bool { return slices.Contains(known, doubt) })
}

// indexes are what changes in a path where an entry goes before another.
var indexes = regexp.MustCompile(`\[[0-9]+\]`)

// without returns the mistakes that are not known, wherever in their lists these are.
func without(mistakes, known field.ErrorList) field.ErrorList {
	return slices.DeleteFunc(mistakes, func(m *field.Error) bool {
		return slices.ContainsFunc(known, func(k *field.Error) bool {
			return indexes.ReplaceAllString(m.Field, "") == indexes.ReplaceAllString(k.Field, "") && m.ErrorBody() == k.ErrorBody()
		})
	})
}

// hasSpecOf reports whether two versions of an object have the same spec.
func hasSpecOf(updated, old []byte) bool {
	var specs [2]struct {
		Spec any `json:"spec"`
	}
	return len(old) > 0 && json.Unmarshal(updated, &specs[0]) == nil && json.Unmarshal(old, &specs[1]) == nil &&
		equality.Semantic.DeepEqual(specs[0], specs[1])
}
