// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"
	"net/netip"
	"slices"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/log"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/poolspec"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
)

// ownPool is either kind of pool.
type ownPool interface{ pools.Own }

// +kubebuilder:webhook:path=/validate-ipam-weir-dev-v1alpha1-ippool,mutating=false,failurePolicy=fail,matchPolicy=Equivalent,sideEffects=NoneOnDryRun,groups=ipam.weir.dev,resources=ippools,verbs=create;update;delete,versions=v1alpha1,name=validation.ippool.ipam.weir.dev,admissionReviewVersions=v1
// +kubebuilder:webhook:path=/validate-ipam-weir-dev-v1alpha1-globalippool,mutating=false,failurePolicy=fail,matchPolicy=Equivalent,sideEffects=NoneOnDryRun,groups=ipam.weir.dev,resources=globalippools,verbs=create;update;delete,versions=v1alpha1,name=validation.globalippool.ipam.weir.dev,admissionReviewVersions=v1

// poolValidator refuses pools whose spec cannot be served, pools that overlap
// another root pool of their address space, pools that keep for a claim what
// another one holds, and updates and deletions that would take away what is in
// use. For a new pool with a parent it reserves the block.
type poolValidator[P ownPool] struct {
	holdings Holdings
	// rights say what may be named; nil means nothing.
	rights Readers
	carver carver
}

// ValidateCreate refuses an invalid spec, carving from what is not the pool's
// to carve from, an overlap, and keeping what is held.
// What it records for the pool's UID it records last.
func (v poolValidator[P]) ValidateCreate(ctx context.Context, created P) (admission.Warnings, error) {
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	shape, errs := v.carver.registry.Resolve(ctx, created)
	if v.carver.isUncarved(ctx, created) { // without a block only what does not depend on one can be judged
		errs = slices.DeleteFunc(errs, func(err *field.Error) bool { return err.Type != field.ErrorTypeForbidden })
		return nil, invalidPool(created, errs)
	}
	var early admission.Warnings
	if shape != nil {
		if err := v.carver.mayCarve(ctx, created, shape); err != nil {
			return nil, err
		}
		errs, early = v.inTheWay(ctx, audienceOf(ctx, v.rights), created, change{shape: shape})
	}
	mistakes, warnings := hostLengths(created.PoolSpec(), nil, created.PoolReference())
	unreached, unserved := v.newOffLink(created, shape)
	if errs = slices.Concat(errs, mistakes, unreached); len(errs) > 0 {
		return nil, invalidPool(created, errs)
	}
	if says := v.carver.registry.Says(created); says.IsCarved() {
		if err := v.carver.reserve(ctx, created); err != nil {
			return nil, err
		}
	}
	return slices.Concat(early, warnings, unserved, unknownAnnotations(created.GetAnnotations(), nil), v.missingCluster(ctx, created, nil),
		v.doubtful(ctx, audienceOf(ctx, v.rights), created, change{shape: shape})), nil
}

// ValidateUpdate refuses what ValidateCreate refuses as far as the update
// brings it about, and a spec that what is in use falls out of. An update that
// leaves spec alone is always admitted: finalizers and labels must change on
// pools, too, whose stored spec is not valid, and their blocks be handed back.
func (v poolValidator[P]) ValidateUpdate(ctx context.Context, old, updated P) (admission.Warnings, error) {
	unknown := unknownAnnotations(updated.GetAnnotations(), old.GetAnnotations())
	if leavesAlone(updated.PoolSpec(), old.PoolSpec()) {
		return unknown, nil
	}
	ref := updated.PoolReference()
	shape, errs := v.carver.registry.Resolve(ctx, updated)
	if shape == nil {
		return nil, invalidPool(updated, errs)
	}
	was, _ := v.carver.registry.Resolve(ctx, old)
	to, c := audienceOf(ctx, v.rights), change{inUse(v.holdings.Holdings(ref)), shape, was}
	others, early := v.inTheWay(ctx, to, updated, c)
	errs = slices.Concat(others, uncovered(updated.PoolSpec(), old.PoolSpec(), shape), fallenOut(ctx, to, sourceOf(updated.PoolSpec()), c))
	mistakes, warnings := hostLengths(updated.PoolSpec(), old.PoolSpec(), ref)
	unreached, unserved := v.changedOffLink(updated, c)
	if errs = slices.Concat(errs, mistakes, unreached); len(errs) > 0 {
		return nil, invalidPool(updated, errs)
	}
	return slices.Concat(early, warnings, unserved, unknown, v.missingCluster(ctx, updated, old.PoolSpec()), v.doubtful(ctx, to, updated, c),
		v.outdated(ctx, c), keptBack(ctx, to, c)), nil
}

// leavesAlone reports whether an update changes nothing of a spec, but that
// the pool may close.
func leavesAlone(updated, old *ipamv1.IPPoolSpec) bool {
	as := updated
	if updated.Mode == ipamv1.ClosingMode {
		as = updated.DeepCopy()
		as.Mode = old.Mode
	}
	return equality.Semantic.DeepEqual(as, old)
}

// ValidateDelete refuses to delete a pool that something is allocated from,
// unless the caller or a move takes care of the order, the hub's propagation
// deletes its copy, or nothing can be given back any more; the pool's finalizer
// holds it then.
func (v poolValidator[P]) ValidateDelete(ctx context.Context, deleted P) (admission.Warnings, error) {
	req, err := admission.RequestFromContext(ctx)
	if err != nil {
		return nil, err
	}
	if deleted.GetDeletionTimestamp() != nil || deletesInOrder(req.UserInfo.Username) || moves(deleted) {
		return nil, nil
	}
	held := inUse(v.holdings.Holdings(deleted.PoolReference()))
	if len(held) > 0 && v.carver.registry.IsAbandoned(ctx, deleted) {
		return admission.Warnings{fmt.Sprintf("the Secret with the pool's credentials does not exist: the claims of the pool leave %s in the cloud", count(len(held), "floating IP", "floating IPs"))}, nil
	}
	if len(held) > 0 && v.mayDeleteCopy(ctx, deleted, req.UserInfo) {
		return admission.Warnings{fmt.Sprintf("%s allocated from it: the pool goes when that is released", count(len(held), "prefix is", "prefixes are"))}, nil
	}
	if refusal := protected(ctx, audienceOf(ctx, v.rights), deleted.PoolReference(), held); refusal != nil {
		return nil, refusal
	}
	return nil, nil
}

// mayDeleteCopy reports whether the user may delete a pool that was delegated to this cluster although
// it is in use: who may manage records, as whatever propagates it does.
func (v poolValidator[P]) mayDeleteCopy(ctx context.Context, p P, user authenticationv1.UserInfo) bool {
	if v.rights == nil || v.carver.registry.Says(p).Place != poolspec.Delegated {
		return false
	}
	may, err := v.rights.May(ctx, user, authorizationv1.ResourceAttributes{
		Verb: "manage", Group: ipamv1.GroupVersion.Group, Resource: "ipallocations", Namespace: p.GetNamespace(),
	})
	if err != nil { // then he may not
		log.FromContext(ctx).Error(err, "Finding out who may manage records")
	}
	return may && err == nil
}

// inTheWay refuses what other stored objects have. A dry run is warned of it.
func (v poolValidator[P]) inTheWay(ctx context.Context, to *audience, p P, c change) (field.ErrorList, admission.Warnings) {
	return standing(ctx, append(v.overlaps(ctx, to, p, c), v.promised(ctx, to, p, c)...))
}

// promised refuses to keep for a claim what another one holds, unless the pool
// kept it for that claim before.
func (v poolValidator[P]) promised(ctx context.Context, to *audience, p P, c change) field.ErrorList {
	var errs field.ErrorList
	for _, k := range c.shape.Kept() {
		if keeps(c.was, k) {
			continue
		}
		others := slices.DeleteFunc(v.holdings.Overlapping(poolspec.Space(p.PoolSpec()), k.Prefix), func(h ledger.Holding) bool {
			return h.Purpose == ledger.ForRoot || h.Purpose == ledger.ForHandBack || k.IsFor(h.Names()...) || encloses(h, p)
		})
		if len(others) > 0 {
			path, address := preAllocationOf(p.PoolSpec(), k)
			errs = append(errs, field.Invalid(path, address, "is in use"+to.list(ctx, others)))
		}
	}
	return errs
}

// encloses reports whether what is held is a carved block around the pool's own.
func encloses(h ledger.Holding, p ownPool) bool {
	block, err := netip.ParsePrefix(p.PoolSpec().CIDR)
	return err == nil && h.Purpose == ledger.ForChildPool && h.CIDR.Bits() <= block.Bits() && h.CIDR.Contains(block.Addr())
}

// preAllocationOf returns path and text of what is kept.
func preAllocationOf(spec *ipamv1.IPPoolSpec, k pooltree.Kept) (path *field.Path, address string) {
	address = k.Prefix.Addr().String()
	i := slices.IndexFunc(spec.PreAllocations, func(p ipamv1.PreAllocation) bool { return p.Address == address })
	return field.NewPath("spec", "preAllocations").Index(i).Child("address"), address
}

// sourceOf returns the path of what the pool consists of.
func sourceOf(spec *ipamv1.IPPoolSpec) *field.Path {
	if spec.CIDR != "" {
		return field.NewPath("spec", "cidr")
	}
	return field.NewPath("spec", "addresses")
}

// invalidPool returns a 422 error that carries errs, nil if there are none.
func invalidPool(p ownPool, errs field.ErrorList) error {
	if len(errs) == 0 {
		return nil
	}
	return invalid(p.PoolReference().Kind, p.GetName(), errs)
}

func invalid(kind, name string, errs field.ErrorList) *apierrors.StatusError {
	return apierrors.NewInvalid(ipamv1.GroupVersion.WithKind(kind).GroupKind(), name, errs)
}
