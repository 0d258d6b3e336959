// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"maps"
	"net/netip"
	"slices"
	"strings"

	"gomodules.xyz/jsonpatch/v2"
	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/entitlement"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/poolspec"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
)

// carver gives new pools their block of the parent.
type carver struct {
	dispenser

	rights Rights
}

// proposal is the patch that gives a new pool its block and marks the pool as carved, in the same write: propagation
// policies select it by that. A dry run may warn instead, or besides.
type proposal struct {
	patch   []jsonpatch.Operation
	warning string
}

// propose writes into the spec of a new pool with a parent the block that it gets, and returns what does the same.
func (c carver) propose(ctx context.Context, req admission.Request, spec *ipamv1.IPPoolSpec) (proposal, *apierrors.StatusError) {
	p, ok := pools.New(kindOf(req))
	if req.Operation != admissionv1.Create || !ok || !read(req.Object.Raw, p) || !isNamed(p) {
		return proposal{}, nil // what cannot be read the schema names
	}
	p.SetNamespace(req.Namespace)
	if !c.carves(p) {
		return proposal{}, nil
	}
	if errs := poolspec.CheckParent(spec, p.PoolReference()); len(errs) > 0 {
		return proposal{}, invalid(req.Kind.Kind, req.Name, errs)
	}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	switch arrived, err := arrives(ctx, c.rights, req, p, spec.CIDR, ipamv1.PoolFinalizer); {
	case err != nil:
		return proposal{}, apierrors.NewInternalError(err)
	case arrived:
		return proposal{patch: append(arrivalPatch(p, true), c.unpropagated(p, nil)...)}, nil
	}
	return c.proposeBlock(ctx, req, p, spec)
}

// proposeBlock does so for a pool that is made here. A dry run shows the block that is asked for, whoever holds it.
func (c carver) proposeBlock(ctx context.Context, req admission.Request, p pools.Own, spec *ipamv1.IPPoolSpec) (proposal, *apierrors.StatusError) {
	request, parent, err := c.children().Carving(ctx, p)
	if err == nil {
		err = c.refuseStored(ctx, p, request.Ref)
	}
	var block netip.Prefix
	if err == nil {
		block, err = c.choose(ctx, request, ptr.Deref(req.DryRun, false))
	}
	warning := byOthers(req, request, err)
	switch {
	case err != nil && warning == "":
		return proposal{}, c.refuse(req, p, carving(p, request), err)
	case err != nil:
		block = request.Want
	}
	if !block.IsValid() {
		return proposal{warning: warning}, nil
	}
	labels := maps.Clone(p.GetLabels())
	entitlement.Complete(p, block, parent)
	patch := append(finalizerPatch(p.GetFinalizers(), ipamv1.PoolFinalizer), arrivalPatch(p, false)...)
	patch = append(patch, labelsPatch(labels, p.GetLabels())...)
	patch = append(patch, jsonpatch.NewOperation("add", "/spec/cidr", p.PoolSpec().CIDR))
	if space := p.PoolSpec().AddressSpace; space != "" {
		patch = append(patch, jsonpatch.NewOperation("add", "/spec/addressSpace", space))
	}
	spec.CIDR, spec.AddressSpace = p.PoolSpec().CIDR, p.PoolSpec().AddressSpace
	return proposal{patch, warning}, nil
}

// children says what a parent gives a new pool.
func (c carver) children() entitlement.Children { return entitlement.Children{Registry: c.registry} }

// carves reports whether a block is to be carved for a pool here. What the schema refuses in its sources is left to the schema.
func (c carver) carves(p pools.Own) bool {
	if !poolspec.NamesParent(p.PoolSpec()) || hasOtherSource(p.PoolSpec()) {
		return false
	}
	says := c.registry.Says(p)
	return says.IsCarved()
}

// unpropagated takes the labels off that select a pool for propagation, if the pool has arrived at its hub with them, or gets them there later: its
// block is not judged yet. The controller adds them once it is, and names the pool as the template of its copies in the same write. What the pool had
// before stays: without the label the member's copy goes. It returns the patch that does so.
func (c carver) unpropagated(p pools.Own, old map[string]string) []jsonpatch.Operation {
	if p.PoolSpec().DelegateTo == "" || c.registry.Says(p).Place != poolspec.Elsewhere {
		return nil
	}
	var patch []jsonpatch.Operation
	for _, key := range []string{ipamv1.AllocatedLabel, ipamv1.DelegatedToLabel} {
		if _, had := old[key]; had {
			continue
		}
		if _, has := p.GetLabels()[key]; has {
			patch = append(patch, jsonpatch.NewOperation("remove", "/metadata/labels/"+escape(key), nil))
		}
	}
	return patch
}

// mayCarve errs if the new pool may not be carved from what it names, so that nobody is told anything of that.
func (c carver) mayCarve(ctx context.Context, created ownPool, shape *pooltree.Pool) error {
	if hasArrived(created) || !c.carves(created) {
		return nil
	}
	request, _, err := c.children().Carving(ctx, created)
	if err == nil {
		err = c.children().CheckDelegated(created, shape)
	}
	if err == nil {
		return nil
	}
	if req, failed := admission.RequestFromContext(ctx); failed == nil && byOthers(req, request, err) != "" {
		return nil // the other webhook has warned
	}
	return statusFor(request, err)
}

// reserve records the block of a new pool, for its UID. A dry run records nothing.
func (c carver) reserve(ctx context.Context, created ownPool) error {
	req, err := admission.RequestFromContext(ctx)
	if err != nil {
		return err
	}
	if hasArrived(created) || ptr.Deref(req.DryRun, false) {
		return nil
	}
	request, _, err := c.children().Carving(ctx, created)
	if err == nil {
		err = c.refuseStored(ctx, created, request.Ref)
	}
	if err == nil {
		err = c.dispenser.reserve(ctx, request)
	}
	if err != nil {
		return c.refuse(req, created, carving(created, request), err)
	}
	c.refusals.Forget(claimOf(req, created))
	return nil
}

// carving is what was asked of the ledger; of a pool that did not come so far the parent that it names.
func carving(p pools.Own, request ledger.Claim) ledger.Claim {
	if request.Pool.Name == "" {
		request.Pool = poolspec.Parent(p.PoolSpec(), p.PoolReference())
	}
	return request
}

// labelsPatch gives an object that has the labels before those that are after, which are more.
func labelsPatch(before, after map[string]string) []jsonpatch.Operation {
	if len(before) == 0 {
		return []jsonpatch.Operation{jsonpatch.NewOperation("add", "/metadata/labels", after)}
	}
	var patch []jsonpatch.Operation
	for _, key := range slices.Sorted(maps.Keys(after)) {
		if _, ok := before[key]; !ok || before[key] != after[key] {
			patch = append(patch, jsonpatch.NewOperation("add", "/metadata/labels/"+escape(key), after[key]))
		}
	}
	return patch
}

// escape writes a key as a part of a JSON pointer (RFC 6901).
func escape(key string) string {
	return strings.NewReplacer("~", "~0", "/", "~1").Replace(key)
}
