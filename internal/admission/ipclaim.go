// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"errors"
	"net/http"
	"net/netip"

	"gomodules.xyz/jsonpatch/v2"
	admissionv1 "k8s.io/api/admission/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/entitlement"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/kinds"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
)

// +kubebuilder:webhook:path=/mutate-ipam-weir-dev-v1alpha1-ipclaim,mutating=true,failurePolicy=fail,matchPolicy=Equivalent,sideEffects=NoneOnDryRun,groups=ipam.weir.dev,resources=ipclaims,verbs=create;update,versions=v1alpha1,name=default.ipclaim.ipam.weir.dev,admissionReviewVersions=v1
// +kubebuilder:webhook:path=/validate-ipam-weir-dev-v1alpha1-ipclaim,mutating=false,failurePolicy=fail,matchPolicy=Equivalent,sideEffects=NoneOnDryRun,groups=ipam.weir.dev,resources=ipclaims,verbs=create,versions=v1alpha1,name=validation.ipclaim.ipam.weir.dev,admissionReviewVersions=v1

// claims answers IPClaims while they are created.
type claims struct {
	dispenser

	entitled *entitlement.IPClaims
	rights   Rights
}

// propose writes into a new claim the prefix and the pool that it gets, and Weir's finalizer. An update that leaves out what was
// written gets it back.
func (h claims) propose(ctx context.Context, req admission.Request) admission.Response {
	claim, old := claimIn(req.Object.Raw), claimIn(req.OldObject.Raw)
	switch {
	case claim == nil || !hasKnownKinds(claim) || !isNamed(claim):
		return admission.Allowed("") // the schema names the field
	case req.Operation == admissionv1.Update:
		return admission.Patched("", restored(claim, old)...).WithWarnings(newlyUnknown(claim, old)...)
	}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	claim.Namespace = req.Namespace
	arrived, err := arrives(ctx, h.rights, req, claim, claim.Spec.CIDR, ipamv1.ClaimFinalizer)
	switch {
	case err != nil:
		return admission.Errored(http.StatusInternalServerError, err)
	case arrived && claim.Spec.PoolRef != nil:
		return admission.Patched("", arrivalPatch(claim, true)...)
	}
	if err := mistaken(claim); err != nil {
		return refused(err)
	}
	request, cidr, err := h.firstWithRoom(ctx, claim, ptr.Deref(req.DryRun, false))
	warning := byOthers(req, asking(claim, request), err)
	switch {
	case warning != "":
		return admission.Allowed("").WithWarnings(warning)
	case err != nil:
		return refused(h.refuse(req, claim, asking(claim, request), err))
	}
	claim.Spec.PoolRef = &ipamv1.ClaimPoolReference{Kind: request.Pool.Kind, Name: request.Pool.Name}
	return admission.Patched("", append(append(finalizerPatch(claim.Finalizers, ipamv1.ClaimFinalizer), arrivalPatch(claim, false)...),
		jsonpatch.NewOperation("add", "/spec/cidr", cidr.String()),
		jsonpatch.NewOperation("add", "/spec/poolRef", claim.Spec.PoolRef))...).WithWarnings(unknownAnnotations(claim.Annotations, nil)...)
}

// mistaken refuses a new claim that says what it can hardly mean: it asks for an address where nobody looks, or matches every pool.
func mistaken(claim *ipamv1.IPClaim) *apierrors.StatusError {
	var errs field.ErrorList
	if _, asks := claim.Annotations[ipamv1.AddressAnnotation]; asks {
		errs = append(errs, field.Forbidden(field.NewPath("metadata", "annotations").Key(ipamv1.AddressAnnotation),
			"is for IPAddressClaims; an IPClaim asks for a prefix with spec.cidr"))
	}
	if s := claim.Spec.PoolSelector; s != nil && len(s.MatchLabels)+len(s.MatchExpressions) == 0 {
		errs = append(errs, field.Required(field.NewPath("spec", "poolSelector"),
			"matchLabels or matchExpressions; an empty selector matches every pool: name one in spec.poolRef instead"))
	}
	if len(errs) == 0 {
		return nil
	}
	return invalid(ipamv1.IPClaimKind, claim.Name, errs)
}

// newlyUnknown warns of the annotations that an update adds without meaning to Weir.
func newlyUnknown(claim, old *ipamv1.IPClaim) admission.Warnings {
	if old == nil {
		return nil
	}
	return unknownAnnotations(claim.Annotations, old.Annotations)
}

// firstWithRoom returns what the claim gets, out of the first of its pools that has it, and what was asked of that pool. If none
// has, the error is the last one's.
func (h claims) firstWithRoom(ctx context.Context, claim *ipamv1.IPClaim, dryRun bool) (ledger.Claim, netip.Prefix, error) {
	requests, err := h.entitled.Requests(ctx, claim)
	if err == nil {
		err = h.entitled.Agrees(ctx, claim)
	}
	if err == nil {
		err = h.refuseStored(ctx, claim, requests[0].Ref)
	}
	if err == nil && !dryRun && len(h.ledger.About(requests[0].Ref).Recorded()) > 0 { // for a claim that is gone, and it may be retained by now
		err = h.ledger.Of(requests[0].Pool).Prove(ctx)
	}
	if err != nil {
		return ledger.Claim{}, netip.Prefix{}, err
	}
	var request ledger.Claim
	var cidr netip.Prefix
	var starting []ledger.Claim
	for _, request = range requests {
		if cidr, err = h.pick(ctx, request, dryRun); err == nil || !isPoolsFault(err) {
			return request, cidr, err
		}
		if errors.Is(err, ledger.ErrNotReady) {
			starting = append(starting, request)
		}
	}
	for _, request = range starting { // only now, for some may never serve
		if cidr, err = h.choose(ctx, request, dryRun); err == nil || !isPoolsFault(err) {
			break
		}
	}
	return request, cidr, err
}

// isPoolsFault says whether another pool may have what this one has not.
func isPoolsFault(err error) bool {
	return errors.Is(err, ledger.ErrExhausted) || errors.Is(err, ledger.ErrNotReady) || errors.Is(err, ledger.ErrTaken) || errors.Is(err, ledger.ErrRefused)
}

// reserveClaim records what a new claim says, for its UID. A dry run records nothing.
func (h claims) reserveClaim(ctx context.Context, req admission.Request) admission.Response {
	claim := claimIn(req.Object.Raw)
	switch {
	case claim == nil:
		return admission.Errored(http.StatusBadRequest, errors.New("the claim cannot be read"))
	case claim.Spec.CIDR == "" || hasArrived(claim) || ptr.Deref(req.DryRun, false):
		return admission.Allowed("") // what has no prefix came past the other webhook: the controller sees to it
	case claim.Spec.PoolRef == nil:
		return refused(status(http.StatusUnprocessableEntity, "spec.poolRef: required when cidr is set; another webhook removed it"))
	}
	ctx, cancel := context.WithTimeout(ctx, answerTime)
	defer cancel()
	claim.Namespace = req.Namespace
	requests, err := h.entitled.Requests(ctx, claim)
	if err == nil {
		err = h.refuseStored(ctx, claim, requests[0].Ref)
	}
	if err != nil {
		return refused(h.refuse(req, claim, asking(claim, ledger.Claim{}), err))
	}
	if err := h.reserve(ctx, requests[0]); err != nil {
		return refused(h.refuse(req, claim, requests[0], err))
	}
	h.refusals.Forget(claimOf(req, claim))
	return admission.Allowed("")
}

// asking is what was asked of the ledger; of a claim that did not come so far as much as it says itself.
func asking(claim *ipamv1.IPClaim, request ledger.Claim) ledger.Claim {
	if ref := claim.Spec.PoolRef; request.Pool.Name == "" && ref != nil {
		request.Pool = entitlement.PoolOf(claim, ref.Kind, ref.Name)
	}
	return request
}

// claimIn reads an IPClaim; nil if there is none.
func claimIn(raw []byte) *ipamv1.IPClaim {
	claim := &ipamv1.IPClaim{}
	if !read(raw, claim) {
		return nil
	}
	return claim
}

// hasKnownKinds says whether the claim names no pools but of kinds that there are.
func hasKnownKinds(claim *ipamv1.IPClaim) bool {
	known := true
	if ref := claim.Spec.PoolRef; ref != nil {
		_, known = pools.New(kinds.Weir(ref.Kind))
	}
	if selector := claim.Spec.PoolSelector; selector != nil && known {
		_, known = pools.New(kinds.Weir(selector.Kind))
	}
	return known
}

// restored is the patch that gives an updated claim back what Weir wrote into it, where the update leaves it out.
func restored(claim, old *ipamv1.IPClaim) []jsonpatch.Operation {
	if old == nil {
		return nil
	}
	patch := append(keptFinalizer(claim, old, ipamv1.ClaimFinalizer), keptArrival(claim, old)...)
	if claim.Spec.CIDR == "" && old.Spec.CIDR != "" {
		patch = append(patch, jsonpatch.NewOperation("add", "/spec/cidr", old.Spec.CIDR))
	}
	if claim.Spec.PoolRef == nil && old.Spec.PoolRef != nil {
		patch = append(patch, jsonpatch.NewOperation("add", "/spec/poolRef", old.Spec.PoolRef))
	}
	return patch
}
