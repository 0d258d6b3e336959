// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claim

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claimant"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/door"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/external"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
)

// Addresses of a pool of floating IPs are chosen by the cloud, for one claim each:
//
//	live read of claim and Cluster -> address acquired in the cloud -> record -> IPAddress
//
// A manager that dies between two steps, or loses a reply, leaves a floating IP that carries the claim's UID. The next manager finds it by
// that UID.

// allocateOutside allocates the address that the claim has in the cloud. Two managers may acquire two of them at once. The IPAddress that
// was stored first decides; tidy releases the other record, and what backs it.
func (r *executor) allocateOutside(ctx context.Context, s *scope, want netip.Prefix) error {
	if want.IsValid() {
		return refuse(ipamv1.ClaimReadyAllocationFailedReason, "%s: no address can be asked for: those of the pool are chosen outside of the cluster", s.claim.AskedField)
	}
	live, err := r.proveLiving(ctx, s)
	if err != nil {
		return err
	}
	allocation, err := r.acquire(ctx, s, live)
	if err != nil {
		return err
	}
	return r.commit(ctx, s, allocation)
}

// proveLiving reads a claim and its Cluster live. It errs with errWaiting if the claim has gone or is being deleted, and with a refusal while
// either is paused.
func (r *executor) proveLiving(ctx context.Context, s *scope) (*door.Claim, error) {
	live, err := r.observer.getClaim(ctx, r.Live, keyOf(s.claim))
	switch {
	case client.IgnoreNotFound(err) != nil:
		return nil, err
	case err != nil, live.GetUID() != s.claim.GetUID(), !live.GetDeletionTimestamp().IsZero():
		return nil, errWaiting
	}
	why, err := r.observer.haltedBy(ctx, r.Live, live)
	return live, errors.Join(why, err)
}

// patience is for how long a claim waits for a floating IP that is free before its former claim's record has gone. It gets a new one then: the
// former claim may be paused.
const patience = 30 * time.Second

// acquire acquires an address in the cloud for a claim that was just read, and records it. Until then the claim counts towards the pool's limit.
func (r *executor) acquire(ctx context.Context, s *scope, live *door.Claim) (ledger.Allocation, error) {
	pool := s.offer.Outside.Pool
	room, done, err := s.offer.Outside.Begin(s.ref)
	if err != nil {
		return ledger.Allocation{}, err
	}
	defer done()
	pool.Room = room
	address, err := s.offer.Outside.Provider.Acquire(ctx, pool, external.Request{
		Claim: s.ref, IsTold: live.AnswerName != "", IsRecorded: len(r.Ledger.RecordsOf(s.ref)) > 0, IsPatient: r.Clock.Since(live.GetCreationTimestamp().Time) < patience,
		Holds: func(address netip.Addr) bool { return r.observer.about(s).Holds(address) },
		IsOthers: func(address netip.Addr) bool {
			return slices.ContainsFunc(s.offer.Outside.Holders(address), func(c ipamv1.ClaimReference) bool { return c.UID != s.ref.UID })
		},
	})
	if isPools(err) {
		r.Ledger.Notices().PoolChanged(s.offer.Pool)
	}
	if err != nil {
		return ledger.Allocation{}, err
	}
	return r.records.reserveAcquired(ctx, s, address)
}

// isPools reports whether an error is of a kind that the pool's status shows, too.
func isPools(err error) bool {
	var refusal *claimant.Refusal
	return errors.As(err, &refusal) &&
		(refusal.Reason == ipamv1.ClaimReadyPoolNotReadyReason || refusal.Reason == ipamv1.ClaimReadyPoolExhaustedReason)
}

// reserveAcquired records an address that was acquired in the cloud.
func (r *records) reserveAcquired(ctx context.Context, s *scope, address external.Address) (ledger.Allocation, error) {
	s.backing = address
	return r.reserve(ctx, s, netip.PrefixFrom(address.Addr, address.Addr.BitLen()), ledger.ForClaim)
}

// proveBacked errs unless the address is the claim's in the cloud. What the claim came with by a move or from a backup becomes the claim's there:
// its floating IP carries the UID of the claim's former self. It asks only before the claim is committed; of one that has arrived, until a record
// of the claim names the floating IP.
func (r *executor) proveBacked(ctx context.Context, s *scope, address netip.Addr, isMarked bool) (err error) {
	if s.offer.Outside == nil || hasAnswer(s.claim) && (!hasArrived(s.claim) || r.records.isBacked(s, address)) {
		return nil
	}
	adoption := external.Adoption{
		Claim: s.ref, Address: address,
		IsOthers: func(address netip.Addr) bool {
			return slices.ContainsFunc(s.offer.Outside.Holders(address), func(c ipamv1.ClaimReference) bool { return !isNamesake(c, s.ref) })
		},
	}
	if isMarked && s.claim.GetDeletionTimestamp().IsZero() { // a claim that is deleted before has nothing there
		if _, err = r.proveLiving(ctx, s); err != nil {
			return err
		}
		adoption.HasArrived = true
	}
	s.backing, err = s.offer.Outside.Provider.Adopt(ctx, s.offer.Outside.Pool, adoption)
	return err
}

// isNamesake reports whether two claims have the same kind, namespace and name.
func isNamesake(a, b ipamv1.ClaimReference) bool {
	a.UID = b.UID
	return a == b
}

// isBacked reports whether a record of the claim names what backs the address in the cloud.
func (r *records) isBacked(s *scope, address netip.Addr) bool {
	return slices.ContainsFunc(r.observer.about(s).Recorded(), func(h ledger.Holding) bool {
		return h.Claim.UID == s.ref.UID && h.CIDR == netip.PrefixFrom(address, address.BitLen()) && h.Backed
	})
}

// isUnnamed reports whether what backs the address in the cloud is known, and no record of the claim names it: it was recorded before.
func (r *records) isUnnamed(s *scope, address netip.Addr) bool {
	return s.backing.ID != "" && !r.isBacked(s, address)
}

// giveBack gives back what a deleted claim has in the cloud. The IPAddress goes after that: while the floating IP is in use, its consumer reads
// the IPAddress. So a finalizer of others on the IPAddress keeps the floating IP as well.
func (r *executor) giveBack(ctx context.Context, live *door.Claim, deleted claimant.Deleted) (claimant.GivenBack, error) {
	pool, ref := r.observer.poolOf(live), r.observer.reference(keyOf(live), live.GetUID())
	isBacked, err := r.objects.exit().IsBacked(ctx, pool, ref)
	if isBacked && err == nil {
		err = r.objects.proveUnused(ctx, live)
	}
	if err != nil {
		return claimant.GivenBack{}, err
	}
	given, left, err := r.objects.exit().GiveBack(ctx, pool, ref, deleted)
	r.reporter.reportAbandoned(live, left)
	return given, err
}

// reportAbandoned records an event for what stays in the cloud for good.
func (r *reporter) reportAbandoned(claim *door.Claim, left string) {
	if left != "" {
		r.Recorder.Eventf(claim.Stored, nil, corev1.EventTypeWarning, addressAbandonedEvent, releaseAction, "%s", left)
	}
}

// proveUnused errs with errWaiting while finalizers of others are on the claim's IPAddress.
func (r *objects) proveUnused(ctx context.Context, claim *door.Claim) error {
	answers, err := r.observer.answersTo(ctx, r.Live, keyOf(claim))
	isUsed := func(a *door.Answer) bool {
		return r.observer.claimUID(a) == claim.GetUID() && slices.ContainsFunc(a.GetFinalizers(), func(f string) bool { return f != r.observer.answerFinalizer(a) })
	}
	if err == nil && slices.ContainsFunc(answers, isUsed) {
		return errWaiting
	}
	return err
}
