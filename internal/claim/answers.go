// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claim

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/lru"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/door"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ipspace"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/predicates"
)

// Of a form that commits by the name, managers make one answer at most, named like the claim. Of a shared pool there may be others, which another
// controller has named: where one of them is not the answer, it holds its address and no more. Of a form that commits by the status a claim may
// have several: two managers may create one each, and only one of them can then have the claim's status name its own. Till the status does so, any
// of the claim's can become the answer, and nothing of the claim goes. From then on it is that one for the claim's life, and the others are strays:
//
//	IPAddress stored -> status names it, on condition of the claim's version (the commit) -> strays go -> their records go
//
// A stray is read before the live read of the claim that shows that the status names another one; its record goes after it. What no record
// shows to have been chosen here is no stray, unless this process has stored it itself: it came from elsewhere, and a host may use its address.

// answersTo reads all answers to claims of that name. The error is the API server's.
func (r *observer) answersTo(ctx context.Context, c client.Reader, key types.NamespacedName) ([]*door.Answer, error) {
	stored, err := r.Form.Answers(ctx, c, key)
	if err != nil {
		return nil, fmt.Errorf("getting %s: %w", r.answerKind(), err)
	}
	others, err := r.namedOtherwise(ctx, c, key)
	if err != nil {
		return nil, fmt.Errorf("getting %s: %w", r.answerKind(), err)
	}
	answers := make([]*door.Answer, 0, len(stored)+len(others))
	for _, answer := range append(stored, others...) {
		answers = append(answers, r.answerIn(answer))
	}
	return answers, nil
}

// namedOtherwise reads the answers to a claim that another controller of a shared pool has named otherwise. The cache finds them, as the API server
// selects none by the claim: what is moved or restored wakes the claim once the cache shows it.
func (r *observer) namedOtherwise(ctx context.Context, c client.Reader, key types.NamespacedName) ([]client.Object, error) {
	if kinds := r.Form.Kinds(); kinds.Commit != door.ByName || kinds.ClaimField == "" {
		return nil, nil
	}
	list := r.Form.Kinds().NewAnswerList()
	selected := client.MatchingFields{r.Form.Kinds().ClaimField: key.Name}
	if err := r.Client.List(ctx, list, client.InNamespace(key.Namespace), selected, client.UnsafeDisableDeepCopy); err != nil {
		return nil, err
	}
	var found []client.Object
	err := meta.EachListItem(list, func(item runtime.Object) error {
		cached, ok := item.(client.Object)
		if !ok || cached.GetName() == key.Name || !r.Form.Conventions(r.Form.Says(cached).Pool).IsShared {
			return nil
		}
		stored := r.Form.Kinds().NewAnswer()
		err := c.Get(ctx, client.ObjectKeyFromObject(cached), stored)
		if err == nil && r.Form.ClaimOf(stored) == key {
			found = append(found, stored)
		}
		return client.IgnoreNotFound(err)
	})
	return found, err
}

// getAnswer reads the answer to a claim, or an error that is a NotFound.
func (r *observer) getAnswer(ctx context.Context, c client.Reader, claim *door.Claim) (*door.Answer, error) {
	answers, err := r.answersTo(ctx, c, keyOf(claim))
	if err != nil {
		return nil, err
	}
	if answer := r.choose(answers, claim); answer != nil {
		return answer, nil
	}
	kind := r.Form.Kinds().Answer
	return nil, apierrors.NewNotFound(schema.GroupResource{Group: kind.Group, Resource: kind.Kind}, claim.GetName())
}

// choose returns which of the answers under the claim's name is its answer, or can become it: the one that is committed, and no other where
// one was; else one that the claim names, one that came from elsewhere, one that carries the claim's UID, or any; nil for none.
func (r *observer) choose(answers []*door.Answer, claim *door.Claim) *door.Answer {
	isByStatus := r.Form.Kinds().Commit == door.ByStatus
	answers = slices.DeleteFunc(r.candidates(answers, claim), func(a *door.Answer) bool {
		return isByStatus && claim.AnswerName != "" && a.GetName() != claim.AnswerName
	})
	switch len(answers) {
	case 0:
		return nil
	case 1:
		return answers[0]
	}
	return slices.MinFunc(answers, func(a, b *door.Answer) int { return r.distance(a, claim) - r.distance(b, claim) })
}

// candidates returns those of the answers under the claim's name that are its answer, or can become it.
func (r *observer) candidates(answers []*door.Answer, claim *door.Claim) []*door.Answer {
	return slices.DeleteFunc(slices.Clone(answers), func(a *door.Answer) bool { return r.standsAside(a, claim) })
}

// standsAside reports whether an answer under the claim's name only holds its address in another pool, so that the claim goes on without it. One
// that was chosen here is an earlier claim's; one that is being deleted waits for Weir's finalizer; and one that has the name which the claim's
// answer must have is in the way.
func (r *observer) standsAside(answer *door.Answer, claim *door.Claim) bool {
	isNamedAlike := r.Form.Kinds().Commit == door.ByName && answer.GetName() == claim.GetName()
	isEnding := !answer.GetDeletionTimestamp().IsZero() && r.isMade(answer)
	return r.isElsewhere(answer, claim) && !isNamedAlike && !isEnding && !r.isChosenHere(answer)
}

// These are nearer to a claim than any relation.
const (
	namedByStatus = iota - 3
	namedAlike
	fromElsewhere
)

// distance orders the answers under a claim's name.
func (r *observer) distance(answer *door.Answer, claim *door.Claim) int {
	stands, isByName := r.relationOf(answer, claim), r.Form.Kinds().Commit == door.ByName
	switch {
	case isByName && stands == its && answer.GetName() == claim.AnswerName:
		return namedByStatus
	case isByName && answer.GetName() == claim.GetName():
		return namedAlike
	case stands != anothers && !r.isChosenHere(answer):
		return fromElsewhere
	}
	return int(stands)
}

// isCommitted says whether the answer is the claim's for good, as far as the claim was read.
func (r *observer) isCommitted(answer *door.Answer, claim *door.Claim) bool {
	return r.Form.Kinds().Commit == door.ByName || answer.GetName() == claim.AnswerName
}

// split parts the answers under a claim's name into the one that is committed, or one that is nobody's, and all others.
func (r *observer) split(answers []*door.Answer, claim *door.Claim) (committed *door.Answer, others []*door.Answer) {
	committed = r.answerIn(r.Form.Kinds().NewAnswer())
	own := r.choose(answers, claim)
	for _, answer := range answers {
		if answer == own && r.isCommitted(answer, claim) {
			committed = answer
		} else {
			others = append(others, answer)
		}
	}
	return committed, others
}

// untold remembers by their names the answers that this process has begun to store and that no claim is known to be told of, with their
// claims. Their records need not be there any more: a create may take so long that another manager has answered the claim meanwhile,
// and released them.
type untold struct{ claims *lru.Cache }

// maxUntold bounds what is remembered. One that is forgotten stays beside its claim's answer while that claim lives.
const maxUntold = 1024

func newUntold() untold { return untold{lru.New(maxUntold)} }

func (u untold) begin(answer *door.Answer, claim ipamv1.ClaimReference) {
	u.claims.Add(keyOf(answer), claim)
}

// told is for the claim's answer, if its status names one.
func (u untold) told(claim *door.Claim) {
	u.claims.Remove(types.NamespacedName{Namespace: claim.GetNamespace(), Name: claim.AnswerName})
}

// has says whether the answer is such a one of the claim, which has no UID where the answer has lost its owner.
func (u untold) has(answer *door.Answer, claim ipamv1.ClaimReference) bool {
	stored, _ := u.claims.Get(keyOf(answer))
	own, isKnown := stored.(ipamv1.ClaimReference)
	claim.UID = cmp.Or(claim.UID, own.UID)
	return isKnown && own == claim
}

// isChosenHere says whether a record shows that a manager of this cluster has chosen the answer's address for the claim whose UID the answer
// carries, or for any of the name where the garbage collector has taken that off; or whether this process has stored it.
func (r *observer) isChosenHere(answer *door.Answer) bool {
	uid, isOwnerless := r.claimUID(answer), r.isOwnerless(answer)
	claim := r.reference(r.Form.ClaimOf(answer.Stored), uid)
	if r.isMade(answer) && !hasArrived(answer) && r.untold.has(answer, claim) {
		return true
	}
	recorded := r.Ledger.About(claim).Recorded()
	return slices.ContainsFunc(recorded, func(h ledger.Holding) bool {
		isItsClaims := h.Claim.UID == string(uid) || isOwnerless
		return isItsClaims && h.Purpose == ledger.ForClaim && !h.Restored && r.holdsAnswer(h, answer)
	})
}

// hasWonHere says whether this process itself has chosen the answer's address.
func (r *observer) hasWonHere(answer *door.Answer) bool {
	address, err := ipspace.ParseAddr(answer.Address)
	return err == nil && r.Ledger.About(r.reference(r.Form.ClaimOf(answer.Stored), r.claimUID(answer))).HasWon(address)
}

// dropStrays removes what managers have made for a claim that was answered otherwise, or for one before it of the name.
func (r *objects) dropStrays(ctx context.Context, s *scope) error {
	answers, err := r.observer.answersTo(ctx, r.Live, keyOf(s.claim))
	if err != nil {
		return err
	}
	live, err := r.observer.getClaim(ctx, r.Live, keyOf(s.claim))
	switch {
	case err != nil:
		return client.IgnoreNotFound(err)
	case isAnother(s, live), live.AnswerName == "", !live.GetDeletionTimestamp().IsZero(), predicates.IsMoving(live):
		return nil
	}
	_, others := r.observer.split(answers, live)
	for _, stray := range others {
		if !r.observer.isChosenHere(stray) {
			continue
		}
		if err := r.removeAnswer(ctx, stray); err != nil {
			return err
		}
	}
	return nil
}

// isAnother reports whether a live read shows another claim than what is decided about: one of another UID, or one whose status names
// another answer than the claim has and is about to be put right.
func isAnother(s *scope, live *door.Claim) bool {
	return live.GetUID() != s.claim.GetUID() || s.claim.AnswerName != "" && live.AnswerName != s.claim.AnswerName
}

// correctAnswerName has the claim's record decide which answer it has, where it has one: whoever may write the claim's status could move it
// off its address otherwise. A manager that commits another answer has recorded that before; the record is looked for live, for the index may
// not show it yet.
func (r *observer) correctAnswerName(ctx context.Context, s *scope) error {
	if !r.wasCommitted(s.claim) || s.offer == nil {
		return nil
	}
	own := r.answerNames(s, r.about(s).Recorded())
	if len(own) == 0 || slices.Contains(own, s.claim.AnswerName) {
		return nil
	}
	stored, err := r.storedHoldings(ctx, s)
	switch {
	case err != nil:
		return err
	case slices.Contains(r.answerNames(s, stored), s.claim.AnswerName):
		return fmt.Errorf("the index does not show the record of %s %s yet: %w", r.answerKind(), s.claim.AnswerName, ledger.ErrBusy)
	}
	s.claim.AnswerName = own[0]
	return nil
}

// answerNames returns the names of the answers that records of the claim stand for: of those that are there, then of those that would be made.
func (r *observer) answerNames(s *scope, recorded []ledger.Holding) []string {
	var found, composed []string
	for _, h := range recorded {
		if h.Claim.UID != s.ref.UID || h.Pool != s.offer.Pool || h.Purpose == ledger.ForMoved {
			continue
		}
		for _, answer := range s.answers {
			if r.holdsAnswer(h, answer) {
				found = append(found, answer.GetName())
			}
		}
		composed = append(composed, r.Form.Compose(s.claim, s.offer, h.CIDR, s.offer.Network(h.CIDR.Addr())).GetName())
	}
	return append(found, composed...)
}

// storedHoldings reads live what is recorded for claims of the name, and has not moved away.
func (r *observer) storedHoldings(ctx context.Context, s *scope) ([]ledger.Holding, error) {
	list := &ipamv1.IPAllocationList{}
	selected := client.MatchingFields{"spec.claimRef.name": s.claim.GetName()}
	if err := r.Live.List(ctx, list, client.InNamespace(s.claim.GetNamespace()), selected); err != nil {
		return nil, fmt.Errorf("listing IPAllocations: %w", err)
	}
	holdings := make([]ledger.Holding, 0, len(list.Items))
	for i := range list.Items {
		spec := &list.Items[i].Spec
		cidr, err := netip.ParsePrefix(spec.CIDR)
		if err == nil && spec.ReleasedAt.IsZero() && spec.State != ipamv1.MovedState {
			holdings = append(holdings, ledger.Holding{CIDR: cidr, Pool: spec.PoolRef, Claim: spec.ClaimRef})
		}
	}
	return holdings, nil
}

// remake makes the answer that the claim's status names, and that somebody has removed, once more: the claim was told of its address. Without a
// record nobody can say which one that was.
func (r *executor) remake(ctx context.Context, s *scope) error {
	told, ok := r.observer.recordOfTold(s)
	if !ok {
		return refuse(ipamv1.ClaimReadyAddressConflictReason,
			"status names %s %s, which is not there, and no record tells its address: delete the claim", r.observer.answerKind(), s.claim.AnswerName)
	}
	allocation, err := r.records.reserve(ctx, s, told.CIDR, ledger.ForAdopted)
	if err != nil {
		return err
	}
	return r.commit(ctx, s, allocation)
}

// recordOfTold returns that record of the claim which the answer that its status names stands for; false if there is none. The claim may have
// others: managers that were late have left them.
func (r *observer) recordOfTold(s *scope) (ledger.Holding, bool) {
	for _, h := range r.about(s).Recorded() {
		if h.Claim.UID != s.ref.UID || h.Pool != s.offer.Pool || h.Purpose == ledger.ForMoved {
			continue
		}
		if r.Form.Compose(s.claim, s.offer, h.CIDR, s.offer.Network(h.CIDR.Addr())).GetName() == s.claim.AnswerName {
			return h, true
		}
	}
	return ledger.Holding{}, false
}

// cameTogether says whether several answers came from elsewhere to a claim that does not say which one it had: its status was lost in a move.
func (r *observer) cameTogether(s *scope) bool {
	came := 0
	for _, answer := range r.candidates(s.answers, s.claim) {
		if r.distance(answer, s.claim) < fromElsewhere {
			return false
		}
		if r.relationOf(answer, s.claim) != anothers && !r.isChosenHere(answer) {
			came++
		}
	}
	return came > 1 && !r.wasCommitted(s.claim)
}

// secureOthers records what stands beside the claim's answer, or in its place, and was not chosen here: it holds its address, for nobody who is
// here.
func (r *records) secureOthers(ctx context.Context, s *scope, own *door.Answer) error {
	for _, answer := range s.answers {
		if answer == own && !r.observer.isElsewhere(answer, s.claim) || r.observer.isChosenHere(answer) {
			continue
		}
		if err := r.secure(ctx, answer, nil); err != nil {
			return err
		}
	}
	return nil
}

// refuseSeveral has a user say which of several answers stays.
func (r *objects) refuseSeveral(s *scope) error {
	answers := r.observer.candidates(s.answers, s.claim)
	names := make([]string, 0, len(answers))
	for _, answer := range answers {
		names = append(names, answer.GetName())
	}
	slices.Sort(names)
	return refuse(ipamv1.ClaimReadyAddressConflictReason,
		"%ss %v came with the claim, and its status does not say which one it had: delete the others", r.observer.answerKind(), names)
}
