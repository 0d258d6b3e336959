// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claim

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claimant"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/door"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ipspace"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/kinds"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/predicates"
)

// Claims, answers and records that are moved or restored arrive in any order. Of a claim's, these may be here:
//
//	claim       -            -        waits for one of the others, for the grace, and is answered afresh then
//	claim       -          record     gets what the record of its former UID holds
//	claim     answer          *       gets what the answer says
//	  -       answer          -       its address is recorded, and both stay for the grace
//	  -          *         record     stays for the grace

// errArriving: what belongs to a claim has not arrived yet.
var errArriving = errors.New("the claim's address has not arrived yet")

const (
	// retryArriving is when an arrived claim is looked at again that has only just come.
	retryArriving = 2 * time.Second
	// retryWaiting is when one is looked at again that has said that it waits. What arrives wakes it.
	retryWaiting = time.Minute
	// namedFailures is how many answers that cannot be recorded an error names.
	namedFailures = 5
	// hush is for how long an arrived claim says nothing: its answer is often only a moment behind.
	hush = 2 * time.Second
)

// Arrivals is what this process knows of what has arrived and is not complete.
type Arrivals struct {
	clock clock.PassiveClock
	grace time.Duration

	mu sync.Mutex
	// since is when each was seen first, by UID.
	since map[types.UID]time.Time
	// paused are claims whose Cluster has been seen paused: who moves or restores them unpauses it when all is there.
	paused map[types.UID]bool
}

// NewArrivals returns an empty list. Grace is how long what has arrived is waited for.
func NewArrivals(c clock.PassiveClock, grace time.Duration) *Arrivals {
	return &Arrivals{clock: c, grace: grace, since: map[types.UID]time.Time{}, paused: map[types.UID]bool{}}
}

// age is for how long this process has known of the object. It does not jump with the wall clock, and begins anew with each start.
func (a *Arrivals) age(uid types.UID) time.Duration {
	a.mu.Lock()
	defer a.mu.Unlock()
	now := a.clock.Now()
	if _, known := a.since[uid]; !known {
		a.since[uid] = now
	}
	return now.Sub(a.since[uid])
}

func (a *Arrivals) notePaused(uid types.UID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.paused[uid] = true
}

func (a *Arrivals) wasPaused(uid types.UID) bool {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.paused[uid]
}

// forget is for what is complete, or gone.
func (a *Arrivals) forget(uid types.UID) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.since, uid)
	delete(a.paused, uid)
}

// hasArrived says whether an object was marked at its creation: it has been here, or elsewhere, before.
func hasArrived(obj metav1.Object) bool { return obj.GetAnnotations()[ipamv1.ArrivedAnnotation] != "" }

// unmarked takes the mark off, in a patch. The webhooks let Weir do so, by its field manager.
var unmarked = map[string]any{ipamv1.ArrivedAnnotation: nil}

// patchMetadata changes some metadata of an object, if nobody has changed the object since it was read. A patch made of two versions of
// it would take off what the cache does not keep: with the last annotation that it knows, all of them.
func (r *objects) patchMetadata(ctx context.Context, obj client.Object, metadata map[string]any) error {
	metadata["resourceVersion"] = obj.GetResourceVersion()
	body, err := json.Marshal(map[string]any{"metadata": metadata})
	if err != nil {
		return fmt.Errorf("encoding a patch: %w", err)
	}
	return r.Client.Patch(ctx, obj, client.RawPatch(types.MergePatchType, body), client.FieldOwner(ipamv1.FieldManager))
}

// isArriving says whether an answer may still get the claim that it arrived with. Of a shared pool's, what was not chosen here may have arrived
// without a mark: another controller may have made it.
func (r *objects) isArriving(answer *door.Answer) bool {
	mayHave := hasArrived(answer) || r.Form.Conventions(answer.Pool).IsShared && !r.observer.isChosenHere(answer)
	return mayHave && r.Arrivals.age(answer.GetUID()) < r.Arrivals.grace
}

// isRestored says whether an answer for the claim's name was the claim's when it had another UID, or none is known: one of the
// two was marked at its creation, or its pool was another one, too. What a namesake left that died here is not.
func (r *objects) isRestored(s *scope, answer *door.Answer) bool {
	if !r.observer.isMade(answer) {
		return false
	}
	isOfOtherPool := slices.ContainsFunc(answer.GetOwnerReferences(), func(o metav1.OwnerReference) bool {
		return kinds.IsSame(o, s.offer.Owner) && o.UID != s.offer.Owner.UID
	})
	isUnknown := r.Form.Kinds().Commit == door.ByStatus && !r.observer.isChosenHere(answer)
	return hasArrived(s.claim) || hasArrived(answer) || isOfOtherPool || isUnknown
}

// restore makes an answer that came back that of the claim that came back. One that is being deleted cannot be kept: the
// garbage collector has not found the owners that it had before. The claim gets another one of the same address. A live read tells
// which claim of the name lives.
func (r *executor) restore(ctx context.Context, s *scope, answer *door.Answer) error {
	live, err := r.observer.getClaim(ctx, r.Live, keyOf(s.claim))
	if err != nil {
		return client.IgnoreNotFound(err)
	}
	if live.GetUID() != s.claim.GetUID() {
		return errWaiting
	}
	if answer.GetDeletionTimestamp().IsZero() {
		return r.adopt(ctx, s, answer, ledger.ForAdopted)
	}
	address, err := ipspace.ParseAddr(answer.Address)
	if err != nil {
		return r.objects.unreadable(answer, err)
	}
	if err = r.proveBacked(ctx, s, address, hasArrived(s.claim) || hasArrived(answer)); err != nil {
		return err
	}
	allocation, err := r.records.record(ctx, s, r.records.carried(s, answer, address, ledger.ForAdopted), hasArrived(s.claim) || hasArrived(answer))
	if err != nil {
		return r.reporter.adoptError(ctx, s, answer, ledger.ForAdopted, err)
	}
	if err := r.objects.removeAnswer(ctx, answer); err != nil {
		return err
	}
	return r.commit(ctx, s, allocation)
}

// receive deals with an arrived claim that has no answer: it waits for that, and is answered afresh when the grace is over.
func (r *executor) receive(ctx context.Context, s *scope) error {
	if h, ok := r.records.former(s); ok {
		return r.answerAs(ctx, s, h)
	}
	age, wasPaused := r.Arrivals.age(s.claim.GetUID()), r.Arrivals.wasPaused(s.claim.GetUID())
	switch {
	case !wasPaused && age < hush:
		return errArriving
	case !wasPaused && age < r.Arrivals.grace:
		return errors.Join(errArriving, refuse(ipamv1.ClaimReadyWaitingForRestoreReason,
			"the claim was created with Weir's finalizer, as a restore does: for %s (--repair-grace) it waits for its IPAddress or IPAllocation "+
				"to be restored, too; with an empty annotation %s it is answered at once", r.Arrivals.grace, ipamv1.ArrivedAnnotation))
	}
	_, err := r.observer.getAnswer(ctx, r.Live, s.claim)
	switch {
	case err == nil:
		return errArriving // the cache will show it
	case !apierrors.IsNotFound(err):
		return err
	}
	if err = cmp.Or(r.unmark(ctx, s), s.offer.Closed); err != nil {
		return err
	}
	return r.allocateAfresh(ctx, s)
}

// former returns the record of what a restored claim has had: its own, or one of a former UID, if all of those are of the same prefix: it may have
// been moved or restored before, too. What is held since it moved away is not enough: it comes back with its answer.
func (r *records) former(s *scope) (ledger.Holding, bool) {
	var found []ledger.Holding
	for _, h := range r.observer.about(s).Recorded() {
		switch {
		case h.Pool != s.offer.Pool || h.Purpose == ledger.ForMoved:
		case h.Claim.UID == s.ref.UID:
			return h, true
		default:
			found = append(found, h)
		}
	}
	isOther := func(h ledger.Holding) bool { return h.CIDR != found[0].CIDR }
	if len(found) == 0 || slices.ContainsFunc(found, isOther) {
		return ledger.Holding{}, false
	}
	return found[0], true
}

// answerAs answers a claim with what its record, or that of its former UID, holds.
func (r *executor) answerAs(ctx context.Context, s *scope, h ledger.Holding) error {
	if err := r.proveBacked(ctx, s, h.CIDR.Addr(), hasArrived(s.claim)); err != nil {
		return err
	}
	allocation, err := r.records.record(ctx, s, h.CIDR, true)
	if err != nil {
		return r.reporter.receiveError(ctx, s, h, err)
	}
	return r.commit(ctx, s, allocation)
}

func (r *reporter) receiveError(ctx context.Context, s *scope, h ledger.Holding, err error) error {
	if errors.Is(err, ledger.ErrTaken) {
		told := r.told(ctx, s, err)
		return errors.Join(refuse(ipamv1.ClaimReadyAddressConflictReason, "IPAllocation %s: %s", h.Record.Name, told), ledger.ErrTaken)
	}
	return fmt.Errorf("recording what IPAllocation %s holds: %w", h.Record.Name, err)
}

// unmark makes an arrived claim a claim like any other: it has waited long enough. That is stored, so that a restart does not begin
// to wait again, and that what is recorded for it from now on does not count as what it came with.
func (r *executor) unmark(ctx context.Context, s *scope) error {
	claim, _ := s.claim.Stored.DeepCopyObject().(claimant.Claimant)
	if err := r.objects.patchMetadata(ctx, claim, map[string]any{"annotations": unmarked}); err != nil {
		return fmt.Errorf("taking annotation %s off: %w", ipamv1.ArrivedAnnotation, err)
	}
	r.Arrivals.forget(s.claim.GetUID())
	s.claim = r.observer.claim(claim)
	return nil
}

// rest is all that is done for a claim that must not be touched: its answer may have arrived without a record, so that its address
// could be handed out. Recording it touches neither of the two.
func (r *executor) rest(ctx context.Context, claim *door.Claim) error {
	if !claim.GetDeletionTimestamp().IsZero() {
		return nil
	}
	if hasArrived(claim) && claim.AnswerName == "" {
		cluster, err := claimant.Cluster(ctx, r.Client, claim.GetNamespace(), clusterOf(claim))
		if err != nil {
			return err
		}
		if cluster != nil && predicates.IsPaused(cluster, cluster) {
			r.Arrivals.notePaused(claim.GetUID())
		}
	}
	return r.records.secureAll(ctx, claim)
}

// secureAll records what the claim's answer stands for, and what stands beside it.
func (r *records) secureAll(ctx context.Context, claim *door.Claim) (err error) {
	s := r.observer.newScope(claim)
	if s.answers, err = r.observer.answersTo(ctx, r.Client, keyOf(claim)); err != nil {
		return err
	}
	own := r.observer.choose(s.answers, claim)
	if own != nil {
		if err = r.secure(ctx, own, claim); err != nil {
			return err
		}
	}
	return r.secureOthers(ctx, s, own)
}

// secure records what one of Weir's answers stands for, unless a record of the claim that it answers does, or one of another claim of the
// name covers all of it in the same pool: for the claim, or for nobody yet if there is none. Whoever holds the address is told that it has
// come a second time.
func (r *records) secure(ctx context.Context, answer *door.Answer, claim *door.Claim) error {
	_, err := r.trySecure(ctx, answer, claim)
	return err
}

// trySecure does so, and returns why the pool offers nothing, in which case nothing is recorded.
func (r *records) trySecure(ctx context.Context, answer *door.Answer, claim *door.Claim) (refused *claimant.Refusal, err error) {
	claim = r.observer.claimFor(answer, claim)
	if !r.observer.mayHold(answer, claim) || isLeaving(answer) || !r.Source.Serves(answer.Pool) {
		return nil, nil //nolint:nilnil // nothing was refused
	}
	s := r.observer.newScope(claim)
	address, err := ipspace.ParseAddr(answer.Address)
	if err != nil || r.hasRecord(s, answer) {
		return nil, nil //nolint:nilnil // the claim is told
	}
	if s.offer, err = r.observer.offer(ctx, claim); errors.As(err, &refused) {
		return refused, nil
	} else if err != nil {
		return nil, err
	}
	if r.isUnbacked(s, answer) {
		return nil, nil //nolint:nilnil // nothing was refused
	}
	want := r.carried(s, answer, address, ledger.ForAdopted)
	isCovered := func(h ledger.Holding) bool {
		return h.Pool == s.offer.Pool && h.CIDR.Bits() <= want.Bits() && h.CIDR.Contains(address)
	}
	if slices.ContainsFunc(r.observer.about(s).Recorded(), isCovered) {
		return nil, nil //nolint:nilnil // nothing was refused
	}
	if r.observer.isAsking(answer) {
		return nil, r.recordByHand(ctx, s, want)
	}
	return nil, r.recordUnseen(ctx, s, want, hasArrived(answer) || hasArrived(claim))
}

// claimFor returns the claim that an answer may hold its address for, or what stands in for one that is not here.
func (r *observer) claimFor(answer *door.Answer, claim *door.Claim) *door.Claim {
	if claim == nil || r.isElsewhere(answer, claim) {
		return r.claim(r.Form.StandIn(answer.Stored))
	}
	return claim
}

// isElsewhere reports whether an answer under the claim's name is not the claim's and out of another pool, so that it holds its address there.
func (r *observer) isElsewhere(answer *door.Answer, claim *door.Claim) bool {
	return answer.Pool != claim.Pool && r.relationOf(answer, claim) != its
}

// mayHold reports whether an answer may hold its address for a claim, or for what stands in for one that is not here: the answer is the
// claim's, or Weir's, or somebody made it by hand and no claim asks for its address by it.
func (r *observer) mayHold(answer *door.Answer, claim *door.Claim) bool {
	isTheirs := r.claimUID(answer) == claim.GetUID() || r.isOurs(answer)
	return isTheirs || isStandIn(claim) && r.isAsking(answer)
}

// isStandIn reports whether a claim is not stored: it stands in for one that is not here.
func isStandIn(claim *door.Claim) bool { return claim.GetResourceVersion() == "" }

// isAsking reports whether somebody made an answer by hand that holds what its pool hands out, and nothing else.
func (r *observer) isAsking(answer *door.Answer) bool {
	return r.claimUID(answer) == "" && !r.isOurs(answer)
}

// recordByHand records what an answer that somebody made by hand asks for, if the pool hands it out: no claim gets it meanwhile.
func (r *records) recordByHand(ctx context.Context, s *scope, want netip.Prefix) error {
	asked, err := r.request(ctx, s, want, ledger.ForClaim)
	if err != nil {
		return err
	}
	if _, err = r.Ledger.Preview(asked); err != nil {
		return secured(ledger.Allocation{}, err)
	}
	return r.recordUnseen(ctx, s, want, false)
}

// isHeld reports whether a record holds the answer for nobody who is here, and the claim may have it: it was made by hand before the claim came.
func (r *records) isHeld(answer *door.Answer) bool {
	if r.observer.otherController(answer) != nil {
		return false
	}
	recorded := r.Ledger.About(r.observer.reference(r.Form.ClaimOf(answer.Stored), answer.GetUID())).Recorded()
	return slices.ContainsFunc(recorded, func(h ledger.Holding) bool {
		return h.Claim.UID == string(answer.GetUID()) && r.observer.holdsAnswer(h, answer)
	})
}

// isUnbacked reports whether an IPAddress out of a pool of floating IPs may have been made by hand: it was neither restored nor committed. The
// cloud is asked before the claim is told of it.
func (r *records) isUnbacked(s *scope, answer *door.Answer) bool {
	return s.offer.Outside != nil && !hasArrived(answer) && !hasArrived(s.claim) && !hasAnswer(s.claim)
}

// hasRecord says whether a record of the very claim, or of the one that the answer names, holds the answer.
func (r *records) hasRecord(s *scope, answer *door.Answer) bool {
	return slices.ContainsFunc(r.observer.about(s).Recorded(), func(h ledger.Holding) bool {
		return r.observer.holdsAnswer(h, answer) && (h.Claim.UID == s.ref.UID || h.Claim.UID == string(r.observer.claimUID(answer)))
	})
}

// recordUnseen records what an answer stands for that nothing else is done about.
func (r *records) recordUnseen(ctx context.Context, s *scope, want netip.Prefix, hasArrived bool) error {
	if s.offer.Hidden != nil && !hasArrived {
		return nil // anybody may make an answer that looks like one of Weir's
	}
	c, err := r.request(ctx, s, want, ledger.ForAdopted)
	if err != nil {
		return err
	}
	if isStandIn(s.claim) {
		c.Owners = nil
	}
	record := r.Ledger.Reserve
	if hasArrived {
		record = r.Ledger.Bind
	}
	return secured(record(ctx, c))
}

// secured says what is left to be done about an address that was to be recorded.
func secured(_ ledger.Allocation, err error) error {
	switch {
	case errors.Is(err, ledger.ErrTaken), errors.Is(err, ledger.ErrRefused):
		return nil
	case errors.Is(err, ledger.ErrNotReady): // its pool has not arrived yet
		return errors.Join(errArriving, err)
	}
	return err
}

// isLeaving says whether clusterctl move is just deleting the answer, which lives on elsewhere: its record has left before it, or is
// held. A new one would be left over.
func isLeaving(answer *door.Answer) bool {
	return predicates.IsMoving(answer) && !answer.GetDeletionTimestamp().IsZero()
}
