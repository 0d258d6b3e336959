// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"go4.org/netipx"
	"k8s.io/apimachinery/pkg/api/equality"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claimant"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/poolspec"
)

// A member hands the block of a copy back when spec.mode of that is Closing:
//
//	nothing in use -> every stored answer recorded -> hand-back recorded, and won -> status.released -> the copy may go
//
// The record is the last allocation of the block, and stays when the copy goes. A copy of the same
// template never serves again. One of another template ends it, once a live read has shown that copy:
// then it holds nothing, and only tells that the former template is not to be served.
// A copy that is deleted without that order goes when nothing is in use, and is served when it is made
// again: the hub has not taken its block back.

// isOrderedBack reports whether the hub takes back the block of the copy.
func isOrderedBack(says poolspec.Pool) bool {
	return says.Place == poolspec.Delegated && says.Mode == ipamv1.ClosingMode
}

// letGo hands back the recorded blocks of a copy, if the hub takes them back and nothing of them is in
// use. What is, is noted in the scope. A copy that has none, as it never served, has nothing to hand back.
func (r *Reconciler) letGo(ctx context.Context, s *scope) error {
	blocks := r.rootsOf(s)
	if _, isBack := r.Registry.HandBackOf(s.pool); isBack || !isOrderedBack(s.says) || len(blocks) == 0 {
		return nil
	}
	var err error
	if s.holdings, err = r.holdings(ctx, s.says.Ref); len(s.holdings) > 0 || err != nil {
		return err
	}
	if err = r.checkOrdered(ctx, s.pool); err != nil {
		return err
	}
	if err = r.checkRecorded(ctx, s.says.Ref); err != nil {
		ctrl.LoggerFrom(ctx).Info("The block is not handed back yet", "why", err.Error())
		s.unrecorded = unrecordedMessage(s.pool, err)
		return err
	}
	for _, h := range blocks {
		// With the manager, where the namespace controller does not delete it with the copy's namespace.
		p := ledger.Pool{Ref: s.says.Ref, Space: h.Space, Namespace: r.Registry.Namespace}
		if err = r.Ledger.HandBack(ctx, p, pools.TemplateOf(s.pool).UID, h.CIDR); err != nil {
			return fmt.Errorf("handing %s back: %w", h.CIDR, err)
		}
	}
	return nil
}

// rootsOf returns what is recorded as the blocks of the very copy.
func (r *Reconciler) rootsOf(s *scope) []ledger.Holding {
	return slices.DeleteFunc(r.Ledger.Of(s.says.Ref).OtherBlocks(s.pool.GetUID(), nil), func(h ledger.Holding) bool {
		return h.Purpose != ledger.ForRoot || h.Claim.UID != string(s.pool.GetUID())
	})
}

// unrecordedMessage says what keeps a block from being handed back that is stored out of the pool. It is named only where it is of the pool's
// own namespace.
func unrecordedMessage(p pools.Object, err error) string {
	const message = "something that is stored out of the pool has no IPAllocation yet; if it stays so, delete that"
	var child *unrecordedChild
	if p.GetNamespace() == "" || errors.As(err, &child) && child.ref.Namespace != p.GetNamespace() {
		return message + " (the manager's log names it)"
	}
	return message + ": " + err.Error()
}

// unrecordedChild is that a pool has a block of another one which is not recorded.
type unrecordedChild struct{ ref ipamv1.PoolReference }

func (e *unrecordedChild) Error() string {
	return pools.Sentence(e.ref, "is carved from the pool") + ", and its block is not recorded yet"
}

func (e *unrecordedChild) Unwrap() error { return ledger.ErrTaken }

// checkOrdered errs with ErrBusy unless the API server shows the copy, of that template, as the cache
// does: the hub may have delegated the block here again since.
func (r *Reconciler) checkOrdered(ctx context.Context, p pools.Object) error {
	live, err := r.live(ctx, r.Live, p)
	if err == nil && (live == nil || !isOrderedBack(r.Registry.Says(live)) || pools.TemplateOf(live).UID != pools.TemplateOf(p).UID) {
		err = fmt.Errorf("the pool has changed: %w", ledger.ErrBusy)
	}
	return err
}

// checkRecorded sees to it that whatever is stored and has part of the pool is recorded: it may have
// been restored without a record.
func (r *Reconciler) checkRecorded(ctx context.Context, ref ipamv1.PoolReference) error {
	if err := r.RecordStored(ctx, ref); err != nil {
		return err
	}
	return r.checkChildren(ctx, ref)
}

// checkChildren errs with ErrTaken while a pool, of whatever namespace, has a block of this one that is
// not recorded. It asks the API server.
func (r *Reconciler) checkChildren(ctx context.Context, parent ipamv1.PoolReference) error {
	for _, kind := range r.Registry.Kinds() {
		list := kind.NewList()
		if err := r.Registry.Live.List(ctx, list); err != nil {
			return fmt.Errorf("listing %ss: %w", kind.Kind, err)
		}
		if err := meta.EachListItem(list, func(item runtime.Object) error {
			p, ok := item.(pools.Object)
			if !ok {
				return nil
			}
			return r.checkChild(p, parent)
		}); err != nil {
			return err
		}
	}
	return nil
}

func (r *Reconciler) checkChild(p pools.Object, parent ipamv1.PoolReference) error {
	says := r.Registry.Says(p)
	if says.Parent != parent || says.CIDR == "" && !hasBlocks(p) {
		return nil
	}
	if len(r.Ledger.RecordsOf(ledger.ClaimOf(says.Ref, string(p.GetUID())))) == 0 {
		return &unrecordedChild{says.Ref}
	}
	return nil
}

// reportFirst errs with ErrBusy until a copy that is about to go says in its status what was handed
// back: who has to see that may look no later.
func (r *Reconciler) reportFirst(s *scope) error {
	own, isOwn := s.before.(pools.Own)
	report := r.releasedOf(s.pool)
	if !isOwn || report == nil || equality.Semantic.DeepEqual(own.PoolStatus().Released, report) {
		return nil
	}
	return fmt.Errorf("reporting what was handed back: %w", ledger.ErrBusy)
}

// releasedOf is status.released of a copy. It says nothing that is not in the ledger.
func (r *reporter) releasedOf(p pools.Object) *ipamv1.ReleasedTemplate {
	if _, isBack := r.Registry.HandBackOf(p); !isBack {
		return nil
	}
	template := pools.TemplateOf(p)
	return &ipamv1.ReleasedTemplate{TemplateUID: template.UID, TemplateGeneration: template.Generation}
}

// showReleased writes it. Of any other pool it leaves what stands there.
func (r *reporter) showReleased(s *scope) {
	if own, isOwn := s.pool.(pools.Own); isOwn && s.says.Place == poolspec.Delegated {
		own.PoolStatus().Released = r.releasedOf(s.pool)
	}
}

// redelegate ends what was handed back of a copy's blocks, before they are recorded, if the hub has
// delegated them here again. What others have of that stays handed back. A copy whose own template has
// handed a block back ends nothing: whoever shows what a later template has handed back shows that, too,
// for it was recorded, or ended, before.
func (r *Reconciler) redelegate(ctx context.Context, s *scope, blocks []netip.Prefix) error {
	if s.says.Place != poolspec.Delegated || isOrderedBack(s.says) {
		return nil
	}
	found := r.handedBackIn(s, blocks)
	if len(found) == 0 {
		return nil
	}
	seen := r.exit().Observe(found)
	if live, err := r.live(ctx, seen, s.pool); live == nil || r.Registry.IsHandedBack(live) {
		return err
	}
	again, template := seen.Redelegated(r.claimOf(s.pool), r.Registry.Cluster), pools.TemplateOf(s.pool).UID
	for _, h := range found {
		if !again.Ends(h) {
			if h.Claim.UID != template { // its own block it may have all the same, and nothing comes out of that
				s.overlap = &ledger.TakenError{CIDR: h.CIDR, By: h}
			}
			continue
		}
		if err := r.keepRest(ctx, h, blocks); err != nil {
			return err
		}
		if _, err := r.exit().Release(ctx, h, claimant.HandBackEnded(again)); err != nil {
			return err
		}
	}
	return nil
}

// handedBackIn returns what was handed back of the blocks; nothing while others hold part of one that is
// not recorded, and cannot be then. Also one that is may have been handed back: by a record that was
// restored, or that a manager made which was late.
func (r *Reconciler) handedBackIn(s *scope, blocks []netip.Prefix) []ledger.Holding {
	var found []ledger.Holding
	own := r.Ledger.About(r.claimOf(s.pool))
	for _, block := range blocks {
		found = append(found, r.Ledger.HandedBackIn(s.registered.Space, block)...)
		if own.HasBlock(s.registered.Space, block) {
			continue
		}
		for _, h := range r.Ledger.Overlapping(s.registered.Space, block) {
			if h.Purpose != ledger.ForHandBack && h.Pool != s.registered.Ref {
				return nil
			}
		}
	}
	return found
}

// keepRest records what of a hand-back lies outside of the blocks, for the template that it was for.
func (r *Reconciler) keepRest(ctx context.Context, h ledger.Holding, blocks []netip.Prefix) error {
	var b netipx.IPSetBuilder
	b.AddPrefix(h.CIDR)
	for _, block := range blocks {
		b.RemovePrefix(block)
	}
	rest, err := b.IPSet()
	if err != nil {
		return fmt.Errorf("what is left of %s: %w", h.CIDR, err)
	}
	p := ledger.Pool{Ref: h.Pool, Space: h.Space, Namespace: h.Record.Namespace}
	for _, prefix := range rest.Prefixes() {
		if err := r.Ledger.HandBack(ctx, p, h.Claim.UID, prefix); err != nil {
			return fmt.Errorf("keeping %s, which was handed back: %w", prefix, err)
		}
	}
	return nil
}

// leaveHandedBack drops what was handed back by pools of a name where somebody has deleted the record.
func (r *Reconciler) leaveHandedBack(ctx context.Context, ref ipamv1.PoolReference) error {
	var errs []error
	for _, h := range r.Ledger.Of(ref).HandedBack() {
		if h.Terminating {
			errs = append(errs, r.leaveOne(ctx, h))
		}
	}
	return errors.Join(errs...)
}

// handedBackMessage is for a copy whose template has handed its block back.
func handedBackMessage(h ledger.Holding) string {
	if h.Purpose == ledger.ForEnded {
		return fmt.Sprintf("the copy is of an earlier pool at the hub (UID %s), which handed the block back (IPAllocation %s). Another pool has had the block here since: apply the pool that the hub has now", h.Claim.UID, h.Record)
	}
	return fmt.Sprintf("the block was handed back to the hub (IPAllocation %s): nothing of it is handed out here until the hub delegates it here again", h.Record)
}

// inTheWayMessage is for a copy whose block was handed back for another template, and which does not end
// that: why, and which record somebody may delete.
func (r *reporter) inTheWayMessage(ctx context.Context, s *scope, h ledger.Holding) string {
	record := "the IPAllocation of that spec.cidr and purpose HandBack"
	if r.Registry.Rules.MayName(ctx, s.pool.GetNamespace(), h.Claim) {
		record = "IPAllocation " + h.Record.String()
	}
	why := "the copy does not name the pool at the hub that it was made of"
	if pools.TemplateOf(s.pool).IsKnown {
		why = "the copy does not serve"
	}
	return fmt.Sprintf("%s was handed back to the hub, and %s: if the hub has delegated it here again, who may manage IPAllocations may delete %s", h.CIDR, why, record)
}
