// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claimant"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/conditions"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/poolspec"
)

// memberOf returns the member that may use a block of the very pool; "" if none does.
func memberOf(p pools.Object, blocks []ledger.Holding) string {
	i := slices.IndexFunc(blocks, func(h ledger.Holding) bool { return h.IsWithMember() && h.Claim.UID == string(p.GetUID()) })
	if i < 0 {
		return ""
	}
	return blocks[i].Member
}

// orderBack orders the member of a delegated pool that is being deleted to hand its block back: the mode travels with the spec. It is the first write
// after the deletion, and of a pool that is deleted at once the first of all: it names the pool as well, for a copy that no propagator
// marks, whose report would not count. Where it fails the pool goes all the same once nothing uses its block.
func (r *Reconciler) orderBack(ctx context.Context, s *scope) error {
	own, isOwn := s.pool.(pools.Own)
	if !isOwn || s.says.Place != poolspec.Elsewhere || own.PoolSpec().Mode == ipamv1.ClosingMode {
		return nil
	}
	closing, _ := own.DeepCopyObject().(pools.Own)
	closing.PoolSpec().Mode = ipamv1.ClosingMode
	nameTemplate(closing)
	if err := r.Client.Patch(ctx, closing, lockedMerge(s.before), client.FieldOwner(ipamv1.FieldManager)); err != nil {
		return fmt.Errorf("writing spec.mode: %w", err)
	}
	s.pool = closing
	s.before, _ = closing.DeepCopyObject().(pools.Object)
	return nil
}

// awaitsMessage is what a pool that is being deleted waits for while its block is with a member.
func awaitsMessage(p pools.Object, member, waitsFor string) string {
	message := fmt.Sprintf("the block is delegated to cluster %q, which is to hand it back: %s", member, waitsFor)
	if own, isOwn := p.(pools.Own); isOwn && own.PoolSpec().Mode != ipamv1.ClosingMode {
		message += "; that could not be asked of it, because spec.mode could not be written: see the manager's log"
	}
	if forced := p.GetAnnotations()[ipamv1.ForceReleaseAnnotation]; forced != "" && forced != member {
		message += fmt.Sprintf("; the annotation %s names %q instead", ipamv1.ForceReleaseAnnotation, forced)
	}
	return fmt.Sprintf("%s; if the cluster cannot report, and nothing there uses the block, nor will, set the annotation %s: %s", message, ipamv1.ForceReleaseAnnotation, member)
}

// endingMessage says of a pool whose namespace is being deleted that its member may be out of reach; "" for any other. Karmada's binding does not wait
// for the pool.
func (r *reporter) endingMessage(ctx context.Context, p pools.Object) string {
	namespace := &metav1.PartialObjectMetadata{}
	namespace.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	if p.GetNamespace() == "" || r.Client.Get(ctx, client.ObjectKey{Name: p.GetNamespace()}, namespace) != nil || namespace.DeletionTimestamp.IsZero() {
		return ""
	}
	return "; its namespace is being deleted: by Karmada neither the order to hand the block back nor a report gets through any more"
}

// announceForced tells of blocks that were released because an operator has said so.
func (r *reporter) announceForced(p pools.Object, member string, blocks []ledger.Holding) {
	var released []string
	for _, h := range blocks {
		if h.Member == member && h.Claim.UID == string(p.GetUID()) {
			released = append(released, h.CIDR.String())
		}
	}
	r.Recorder.Eventf(p, nil, corev1.EventTypeWarning, ipamv1.BlockForceReleasedReason, "Release", "released %s, which was delegated to cluster %q: the annotation %s says that it is not used there",
		strings.Join(released, ", "), member, ipamv1.ForceReleaseAnnotation)
}

// keepDelegated sees to the blocks of pools of a name that is not there, and returns those that no
// member may use. The others stay, and the pool that they lie in says so; one that only a create left
// behind, which the API server refused, is confirmed. What another record stands for goes.
func (r *Reconciler) keepDelegated(ctx context.Context, ref ipamv1.PoolReference, blocks []ledger.Holding) ([]ledger.Holding, error) {
	isHeld := ledger.Holding.IsWithMember
	others := slices.DeleteFunc(slices.Clone(blocks), isHeld)
	if len(others) == len(blocks) {
		return blocks, nil
	}
	seen := r.exit().Observe(blocks)
	if exists, err := r.exists(ctx, seen, ref); exists || err != nil {
		return nil, err
	}
	errs := make([]error, 0, len(blocks))
	for _, h := range blocks {
		if isHeld(h) {
			errs = append(errs, r.releaseOther(ctx, h, claimant.PoolGone(seen.Gone(h.Claim))))
			r.Ledger.Notices().PoolChanged(h.Pool)
		}
	}
	return others, errors.Join(errs...)
}

// releaseOther releases a block of another pool of a name. One that a member may use is kept.
func (r *Reconciler) releaseOther(ctx context.Context, h ledger.Holding, why claimant.Reason) error {
	if h.IsWithMember() && h.Terminating {
		return r.leaveOne(ctx, h)
	}
	if gone, err := r.exit().Release(ctx, h, why); gone || err != nil || !h.IsWithMember() {
		return err
	}
	if err := r.Ledger.KeepBlock(ctx, h); !errors.Is(err, ledger.ErrBusy) { // repair comes back for it
		return err
	}
	return nil
}

// setBlocksHeld says which blocks of the pool members may use whose pools are gone. Of a pool that
// none was delegated from nothing is read.
func (r *reporter) setBlocksHeld(ctx context.Context, s *scope) error {
	var held []ledger.Holding
	for _, h := range r.Ledger.Of(s.says.Ref).WithMembers() {
		isThere, err := r.isThere(ctx, h.Claim)
		if err != nil {
			return err
		}
		if !isThere {
			held = append(held, h)
		}
	}
	if len(held) == 0 {
		conditions.Delete(s.pool, ipamv1.BlocksHeldCondition)
		return nil
	}
	shown := make([]string, 0, shownHoldings)
	for _, h := range held[:min(len(held), shownHoldings)] {
		shown = append(shown, r.heldMessage(ctx, s.pool, h))
	}
	message := strings.Join(shown, "; ")
	if more := len(held) - shownHoldings; more > 0 {
		message = fmt.Sprintf("%s; and %d more", message, more)
	}
	conditions.Set(s.pool, metav1.Condition{
		Type: ipamv1.BlocksHeldCondition, Status: metav1.ConditionTrue, Reason: ipamv1.PoolGoneReason, Message: message,
		ObservedGeneration: s.pool.GetGeneration(),
	})
	return nil
}

// heldMessage says what is held, for which member, and what to do. The pool and the record are named where that may be.
func (r *reporter) heldMessage(ctx context.Context, p pools.Object, h ledger.Holding) string {
	gone, record := "its pool", "the IPAllocation of that spec.cidr"
	if r.Registry.Rules.MayName(ctx, p.GetNamespace(), h.Claim) {
		gone, record = h.String(), "IPAllocation "+h.Record.String()
	}
	return fmt.Sprintf("%s is delegated to %s and %s is gone: create it again with this cidr and delegateTo and delete it, or, if %s does not use it any more, delete %s",
		h.CIDR, h.Member, gone, h.Member, record)
}

// isThere reports whether there is a pool of that UID. A pool that the cache does not show may be new.
func (r *reporter) isThere(ctx context.Context, claim ipamv1.ClaimReference) (bool, error) {
	if !r.Registry.Knows(claim.GroupKind()) {
		return false, nil
	}
	var err error
	for _, reader := range []client.Reader{r.Client, r.Live} {
		p := r.Registry.NewPool(claim.GroupKind())
		if err = reader.Get(ctx, client.ObjectKey{Namespace: claim.Namespace, Name: claim.Name}, p); err == nil && string(p.GetUID()) == claim.UID {
			return true, nil
		}
	}
	return false, client.IgnoreNotFound(err)
}

// checkThere errs with ErrBusy unless the API server shows a delegated pool, not being deleted, whose
// block is to be recorded: the record would stay, and the cache may be of another time.
func (r *Reconciler) checkThere(ctx context.Context, s *scope) error {
	if s.says.Place != poolspec.Elsewhere {
		return nil
	}
	live, err := r.live(ctx, r.Live, s.pool)
	if err == nil && (live == nil || !live.GetDeletionTimestamp().IsZero()) {
		err = fmt.Errorf("the pool is gone, or is being deleted: %w", ledger.ErrBusy)
	}
	return err
}
