// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ipclaim

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claimant"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/entitlement"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/finalizer"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/predicates"
)

// Reconciler binds, answers and releases IPClaims.
type Reconciler struct {
	// Client reads from the cache and writes.
	Client client.Client
	// Live reads from the API server.
	Live     client.Reader
	Ledger   *ledger.Ledger
	Entitled *entitlement.IPClaims
	Recorder events.EventRecorder
	// WatchFilter serves only claims with this value of the label cluster.x-k8s.io/watch-filter; empty serves all.
	WatchFilter string
	// Namespace is the only one that is served; empty means all are.
	Namespace   string
	Concurrency int

	controller controller.Controller
	gathering  *gathering
}

// scope is one claim being worked on, with the facts that its status is computed from.
type scope struct {
	claim *ipamv1.IPClaim
	// pool is the claim's; nil if it cannot be read.
	pool       *pools.Known
	allocation ledger.Allocation
	// unlisted: what wakes those that wait does not find the claim before the cache shows what it was told.
	unlisted bool
}

// Reconcile brings one claim and its record to where they should be.
func (r *Reconciler) Reconcile(ctx context.Context, req ctrl.Request) (ctrl.Result, error) {
	claim := &ipamv1.IPClaim{}
	if err := r.Client.Get(ctx, req.NamespacedName, claim); apierrors.IsNotFound(err) {
		return settle(r.Settle(ctx, req.NamespacedName))
	} else if err != nil {
		return ctrl.Result{}, fmt.Errorf("getting IPClaim: %w", err)
	}
	if !predicates.IsWatched(claim, r.WatchFilter) {
		return ctrl.Result{}, nil
	}
	s := &scope{claim: claim}
	why, err := r.halted(ctx, claim)
	switch {
	case err != nil:
		return ctrl.Result{}, err
	case why != nil:
		return r.halt(ctx, s, why)
	case !claim.DeletionTimestamp.IsZero():
		return settle(errors.Join(r.tell(ctx, s, errOpen), r.reportRelease(ctx, claim, r.release(ctx, claim))))
	}
	if _, err = finalizer.Ensure(ctx, r.Client, claim, ipamv1.ClaimFinalizer); err != nil {
		return settle(client.IgnoreNotFound(err))
	}
	if r.isSettled(claim) {
		return settle(errors.Join(r.dropRetained(ctx, s), r.settleNamesakes(ctx, s)))
	}
	if r.gathering != nil && isAnswered(claim) {
		defer r.gathering.enter(ctx)()
	}
	result, err := settle(r.report(ctx, s, r.answer(ctx, s)))
	if s.unlisted && err == nil && result.RequeueAfter == 0 {
		result = claimant.After(retryBusy)
	}
	return result, err
}

// errOpen: nothing is known yet of what comes of a claim.
var errOpen = errors.New("open")

// halted says why nothing of the claim but its status must be touched, if that is so: it or its Cluster is paused, or its Cluster is
// missing, in which case only a deletion goes on.
func (r *Reconciler) halted(ctx context.Context, claim *ipamv1.IPClaim) (why, err error) {
	name := claimant.ClusterName(claim)
	cluster, err := claimant.Cluster(ctx, r.Client, claim.Namespace, name)
	if err != nil {
		return nil, err
	}
	if paused := predicates.WhyPaused(cluster, ipamv1.IPClaimKind, claim); paused != "" {
		return &claimant.Refusal{Paused: paused}, nil
	}
	if name == "" || cluster != nil || !claim.DeletionTimestamp.IsZero() {
		return nil, nil
	}
	ready := meta.FindStatusCondition(claim.Status.Conditions, ipamv1.ReadyCondition)
	if isAnswered := ready != nil && ready.Status == metav1.ConditionTrue; isAnswered { // what it says stays true
		return errOpen, nil
	}
	if ready == nil || ready.Reason != ipamv1.ClaimReadyClusterNotFoundReason { // the cache may be behind
		if cluster, err = claimant.Cluster(ctx, r.Live, claim.Namespace, name); cluster != nil || err != nil {
			return errOpen, err
		}
	}
	return &claimant.Refusal{
		Field:   "metadata.labels[" + clusterv1.ClusterNameLabel + "] or metadata.ownerReferences",
		Message: claimant.NoCluster(claim.Namespace, name), Reason: ipamv1.ClaimReadyClusterNotFoundReason,
	}, nil
}

// exit is the way out of the ledger.
func (r *Reconciler) exit() *claimant.Exit {
	return &claimant.Exit{Client: r.Client, Live: r.Live, Ledger: r.Ledger}
}

// isSettled says whether nothing is left to be done for the claim: its status says that it is bound, and the ledger that it is.
func (r *Reconciler) isSettled(claim *ipamv1.IPClaim) bool {
	want, err := netip.ParsePrefix(claim.Spec.CIDR)
	known := r.Ledger.About(entitlement.ReferenceOf(claim))
	ready := meta.FindStatusCondition(claim.Status.Conditions, ipamv1.ReadyCondition)
	return err == nil && ready != nil && ready.Status == metav1.ConditionTrue && ready.ObservedGeneration == claim.Generation &&
		claim.Status.AllocatedCIDR == claim.Spec.CIDR &&
		known.IsBound(want) && known.Disputed(want.Addr()) == nil &&
		(r.overridden(claim) == "") == (meta.FindStatusCondition(claim.Status.Conditions, ipamv1.WithinPoolCondition) == nil) &&
		!meta.IsStatusConditionTrue(claim.Status.Conditions, ipamv1.PausedCondition)
}

// answer brings the claim's record to belong to it. A claim that came without a prefix past the webhooks gets one.
func (r *Reconciler) answer(ctx context.Context, s *scope) error {
	request, err := r.requestOwned(ctx, s)
	if err != nil {
		return err
	}
	if s.claim.Spec.CIDR == "" {
		return r.fill(ctx, s, request)
	}
	if s.allocation, err = r.Ledger.Bind(ctx, request); err != nil {
		return err
	}
	if err = r.Ledger.About(request.Ref).Disputed(s.allocation.CIDR.Addr()); err != nil {
		return err
	}
	return errors.Join(r.dropRetained(ctx, s), r.settleNamesakes(ctx, s))
}

// settleNamesakes gives up further records of the claim, and what is recorded for others of its name, if there are any: most claims cost
// no read.
func (r *Reconciler) settleNamesakes(ctx context.Context, s *scope) error {
	if err := r.exit().ReleaseEach(ctx, r.Ledger.Repeats(entitlement.ReferenceOf(s.claim)), claimant.Repeated()); err != nil {
		return err
	}
	isOver := func(h ledger.Holding) bool { return h.Claim.UID != string(s.claim.UID) || r.isSpare(s.claim, h) }
	if !slices.ContainsFunc(r.Ledger.About(entitlement.ReferenceOf(s.claim)).Orphans(), isOver) {
		return nil
	}
	return r.Settle(ctx, client.ObjectKeyFromObject(s.claim))
}

// requestOwned returns what to ask the ledger for, for a record that belongs to the stored claim.
func (r *Reconciler) requestOwned(ctx context.Context, s *scope) (ledger.Claim, error) {
	request, err := r.request(ctx, s)
	if err != nil {
		return ledger.Claim{}, err
	}
	request.Labels, request.Revision = labelsOf(s.claim), s.claim.ResourceVersion
	request.Owners = []metav1.OwnerReference{{
		APIVersion: ipamv1.GroupVersion.String(), Kind: ipamv1.IPClaimKind, Name: s.claim.Name, UID: s.claim.UID, Controller: ptr.To(true),
	}}
	if s.pool != nil {
		request.Owners = append(request.Owners, r.Entitled.Registry.OwnerReference(s.pool))
	}
	return request, nil
}

// request returns what to ask the ledger for. What has its record is not judged by its pool any more.
func (r *Reconciler) request(ctx context.Context, s *scope) (c ledger.Claim, err error) {
	want, _ := netip.ParsePrefix(s.claim.Spec.CIDR) // invalid only where it is empty, by the schema
	if ref := s.claim.Spec.PoolRef; ref != nil && want.IsValid() {
		known := entitlement.PoolOf(s.claim, ref.Kind, ref.Name)
		if err = r.lookUp(ctx, s, known); err != nil {
			return c, err
		}
		c = ledger.Claim{Ref: entitlement.ReferenceOf(s.claim), Pool: known, Bits: want.Bits(), Want: want, Purpose: ledger.ForClaim}
		if r.Ledger.About(c.Ref).Holds(want.Addr()) {
			return c, nil
		}
	}
	c, isBegun := r.begun(s.claim)
	switch {
	case isBegun:
	case s.claim.Annotations[ipamv1.ArrivedAnnotation] != "" && s.claim.Spec.PoolRef != nil:
		c, err = r.Entitled.Adoption(ctx, s.claim)
	default:
		c, err = r.chosen(ctx, s.claim)
	}
	if err != nil {
		return c, err
	}
	return c, r.lookUp(ctx, s, c.Pool)
}

// lookUp notes the claim's pool, if there is one.
func (r *Reconciler) lookUp(ctx context.Context, s *scope, ref ipamv1.PoolReference) error {
	p, err := r.Entitled.Registry.Find(ctx, ref)
	if err == nil {
		s.pool = p
	}
	return client.IgnoreNotFound(err)
}

// chosen returns what the claim asks of the first of its pools that has room.
func (r *Reconciler) chosen(ctx context.Context, claim *ipamv1.IPClaim) (ledger.Claim, error) {
	requests, err := r.Entitled.Requests(ctx, claim)
	if err == nil {
		err = r.Entitled.Agrees(ctx, claim)
	}
	if err != nil {
		return ledger.Claim{}, err
	}
	for _, request := range requests {
		if _, full := r.Ledger.Preview(request); full == nil {
			return request, nil
		}
	}
	return requests[0], nil
}

// begun returns what was asked for a claim without a prefix that has its record already: somebody died before writing it into the
// claim.
func (r *Reconciler) begun(claim *ipamv1.IPClaim) (ledger.Claim, bool) {
	for _, h := range r.Ledger.About(entitlement.ReferenceOf(claim)).Recorded() {
		if h.Claim.UID == string(claim.UID) && claim.Spec.CIDR == "" {
			return ledger.Claim{Ref: entitlement.ReferenceOf(claim), Pool: h.Pool, Bits: h.CIDR.Bits(), Purpose: ledger.ForClaim}, true
		}
	}
	return ledger.Claim{}, false
}

// fill reserves a prefix and writes it into the claim, on condition that nobody has changed that.
func (r *Reconciler) fill(ctx context.Context, s *scope, request ledger.Claim) error {
	allocation, err := r.Ledger.Reserve(ctx, request)
	if err != nil {
		return err
	}
	filled := s.claim.DeepCopy()
	filled.Spec.CIDR = allocation.CIDR.String()
	filled.Spec.PoolRef = &ipamv1.ClaimPoolReference{Kind: request.Pool.Kind, Name: request.Pool.Name}
	if err := r.Client.Patch(ctx, filled, client.MergeFromWithOptions(s.claim, client.MergeFromWithOptimisticLock{})); err != nil {
		return ledger.WriteError(fmt.Sprintf("%s is recorded; spec.cidr could not be written", allocation.CIDR), err)
	}
	s.claim, s.allocation = filled, allocation
	return nil
}

// dropRetained gives up what was retained for a claim of this name, or held while it was in another cluster, now that this one is
// stored and bound. That it still is, a live read proves: it may have been deleted meanwhile, and what it held be retained for the next
// one.
func (r *Reconciler) dropRetained(ctx context.Context, s *scope) error {
	known := r.Ledger.About(entitlement.ReferenceOf(s.claim))
	retained := append(known.Retained(), held(known, s.claim)...)
	if len(retained) == 0 {
		return nil
	}
	seen, live := r.exit().Observe(retained), &ipamv1.IPClaim{}
	if err := seen.Get(ctx, client.ObjectKeyFromObject(s.claim), live); err != nil {
		return client.IgnoreNotFound(err)
	}
	if live.UID != s.claim.UID {
		return nil
	}
	return r.releaseRetained(ctx, retained, live, seen)
}

// held returns what is held for the claim since it moved away, now that it is back.
func held(known *ledger.Account, claim *ipamv1.IPClaim) []ledger.Holding {
	cidr, err := netip.ParsePrefix(claim.Spec.CIDR)
	if ref := claim.Spec.PoolRef; err == nil && ref != nil {
		return known.Moved(entitlement.PoolOf(claim, ref.Kind, ref.Name), cidr)
	}
	return nil
}

// releaseRetained releases what was retained, or held, for the claims before this one, which is
// stored.
func (r *Reconciler) releaseRetained(
	ctx context.Context, retained []ledger.Holding, claim *ipamv1.IPClaim, seen *claimant.Observation,
) error {
	earlier := slices.DeleteFunc(retained, func(h ledger.Holding) bool { return h.Claim.UID == string(claim.UID) })
	return r.exit().ReleaseEach(ctx, earlier, claimant.RetentionEnded(seen.Stored(entitlement.ReferenceOf(claim))))
}

func labelsOf(c *ipamv1.IPClaim) map[string]string {
	if name := claimant.ClusterName(c); name != "" {
		return map[string]string{clusterv1.ClusterNameLabel: name}
	}
	return nil
}
