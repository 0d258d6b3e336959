// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claim

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claimant"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/explanation"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ipspace"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/predicates"
)

// Explain says what the controller would do about a claim now: it asks the controller's own questions, in their order, and writes nothing.
// The ledger may be an offline one, which need not have all. An error is one of the API server's other than that something is forbidden, a
// NotFound where there is no such claim.
func (r *Reconciler) Explain(ctx context.Context, key types.NamespacedName, unread claimant.Unread) (*explanation.Explanation, error) {
	claim, err := r.observer.getClaim(ctx, r.Client, key)
	if err != nil {
		return nil, err
	}
	s := r.observer.newScope(claim)
	s.began = r.clock.Now()
	w := &walk{Reconciler: r, scope: s, Walk: claimant.Walk{Unread: unread, Open: []error{errWaiting, errArriving}}}
	for _, q := range w.questions() {
		if err := w.Ask(ctx, q); err != nil {
			return nil, err
		}
	}
	if w.isForThePool() {
		w.blamePool()
	}
	if w.IsSure() {
		if ready, ok := r.reporter.readyCondition(ctx, s, w.Outcome); ok {
			w.Explained.Ready = &ready
		}
	}
	return &w.Explained, nil
}

// walk is one claim on its way through the questions.
type walk struct {
	*Reconciler
	*scope
	claimant.Walk

	// decision is what is done about the claim; "" before that is known. refusal is why there is no offer.
	decision action
	refusal  error
	// held is what the claim's answer stands for; the zero value where it has none that is to become its own.
	held netip.Prefix
}

// questions are those that the controller asks, in their order.
func (w *walk) questions() []claimant.Question {
	return []claimant.Question{
		{ID: explanation.Served, Ask: w.served, IsVital: true},
		{ID: explanation.Unhalted, Ask: w.unhalted},
		{ID: explanation.Living, Ask: w.living},
		{ID: explanation.Named, Ask: w.named},
		{ID: explanation.Offered, Ask: w.offered, IsVital: true, IsOfRecords: true},
		{ID: explanation.Decided, Ask: w.decided, IsVital: true, IsOfRecords: true},
		{ID: explanation.Asked, Ask: w.asked, IsVital: true, IsOfRecords: true},
		{ID: explanation.Free, Ask: w.free, IsVital: true, IsOfRecords: true},
	}
}

// blamePool says that it is the pool that stops the claim, not what is done then.
func (w *walk) blamePool() {
	verdicts := map[explanation.StepID]explanation.Verdict{explanation.Offered: explanation.Stops, explanation.Decided: explanation.Passed}
	for i := range w.Explained.Steps {
		if verdict, ok := verdicts[w.Explained.Steps[i].ID]; ok {
			w.Explained.Steps[i].Verdict = verdict
		}
	}
}

// isForThePool says whether what was decided is so because of what the pool offers.
func (w *walk) isForThePool() bool {
	return w.decision == withhold || w.decision == refuseNew || w.decision == refuseClaim
}

// served asks whether the claim is Weir's.
func (w *walk) served(context.Context) (string, error) {
	pool := w.claim.Pool
	switch {
	case !w.Source.Serves(pool):
		return fmt.Sprintf("%s %s of group %q is another provider's", pool.Kind, pool.Name, pool.Group), errWaiting
	case !predicates.IsWatched(w.claim, w.watchFilter):
		return "the label cluster.x-k8s.io/watch-filter is not the manager's " + w.watchFilter, errWaiting
	case w.namespace != "" && w.claim.GetNamespace() != w.namespace:
		return "the manager serves namespace " + w.namespace + " alone", errWaiting
	}
	return pool.Kind + " " + pool.Name, nil
}

// unhalted asks whether the claim's Cluster is there, and neither is paused.
func (w *walk) unhalted(ctx context.Context) (string, error) {
	why, err := w.observer.halted(ctx, w.claim)
	if why != nil || err != nil {
		return "", errors.Join(why, err)
	}
	if name := clusterOf(w.claim); name != "" {
		return "Cluster " + name, nil
	}
	return "of no Cluster", nil
}

// living asks whether the claim is being deleted.
func (w *walk) living(context.Context) (string, error) {
	if w.claim.GetDeletionTimestamp().IsZero() {
		return "", nil
	}
	text := "it is being deleted"
	if others := w.reporter.keepers(w.claim); len(others) > 0 {
		text += ", and kept by " + strings.Join(others, ", ")
	}
	return text, errWaiting
}

// named asks what there is under the claim's name.
func (w *walk) named(ctx context.Context) (string, error) {
	answers, err := w.observer.namesakes(ctx, w.claim)
	if err != nil {
		return "", err
	}
	w.answers = answers
	kind := w.observer.answerKind()
	switch len(answers) {
	case 0:
		return "no " + kind, nil
	case 1:
		return kind + " " + answers[0].GetName(), nil
	}
	return fmt.Sprintf("%d of kind %s", len(answers), kind), nil
}

// offered asks what the pool has for the claim.
func (w *walk) offered(ctx context.Context) (string, error) {
	offer, err := w.observer.offer(ctx, w.claim)
	switch {
	case err != nil && !w.IsOutcome(err):
		return "", err
	case err != nil:
		w.refusal = err
		return claimant.OutcomeText(err), nil // the decision says whether that matters
	}
	w.offer = offer
	for _, why := range []error{offer.Hidden, offer.Halted, offer.Closed} {
		if why != nil {
			return claimant.OutcomeText(why), nil
		}
	}
	return fmt.Sprintf("%s %s hands out addresses", w.claim.Pool.Kind, w.claim.Pool.Name), nil
}

// decided asks what is done about the claim.
func (w *walk) decided(ctx context.Context) (string, error) {
	if err := w.observer.correctAnswerName(ctx, w.scope); err != nil {
		return "", err
	}
	answer := w.observer.choose(w.answers, w.claim)
	w.decision = w.executor.records.observe(w.scope, answer).decide()
	w.Explained.Decision = string(w.decision)
	var outcome error
	switch w.decision {
	case allocateAfresh:
	case adoptAnswer, adoptHeld, reserveAsked:
		w.answer = answer
	case keepAnswer:
		w.answer, w.Ended = answer, true
	case rejectAnswer:
		outcome = w.executor.objects.reject(w.scope, answer)
	case refuseSeveral:
		outcome = w.executor.objects.refuseSeveral(w.scope)
	case withhold:
		outcome = withheldBy(w.offer)
		if w.offer.Hidden == nil && hasAnswer(w.claim) {
			outcome = errWaiting
		}
	case refuseNew:
		outcome = w.offer.Closed
	case refuseClaim:
		outcome = w.refusal
	default: // the manager writes first, and decides once more
		outcome = errWaiting
	}
	return string(w.decision), outcome
}

// asked asks whether what the claim asks for, or its answer carries, can be read.
func (w *walk) asked(context.Context) (string, error) {
	if w.answer == nil {
		want, err := wanted(w.scope)
		if err != nil || !want.IsValid() {
			return "any address", err
		}
		return want.String(), nil
	}
	address, err := ipspace.ParseAddr(w.answer.Address)
	if err != nil {
		return "", w.executor.objects.unreadable(w.answer, err)
	}
	purpose := ledger.ForAdopted
	if w.decision == reserveAsked {
		purpose = ledger.ForClaim
	}
	w.held = w.executor.records.carried(w.scope, w.answer, address, purpose)
	return w.held.String(), w.executor.objects.controlledElsewhere(w.answer)
}

// free asks whether the claim can have it.
func (w *walk) free(ctx context.Context) (string, error) {
	switch {
	case w.offer.Outside != nil && w.answer == nil:
		return "", claimant.ErrElsewhere
	case w.answer == nil:
		return w.freeOf(ctx)
	case w.executor.records.holds(w.scope, w.held.Addr()), w.observer.about(w.scope).Holds(w.held.Addr()):
		return w.held.String() + " is recorded for it", w.disputed(ctx)
	case w.offer.Outside != nil:
		return "", claimant.ErrElsewhere
	case w.decision == adoptHeld:
		if err := w.executor.records.mayHave(ctx, w.scope, w.answer); err != nil {
			return "", w.reporter.adoptError(ctx, w.scope, w.answer, ledger.ForClaim, err)
		}
		return w.held.String() + " is recorded for its answer", nil
	case w.decision == reserveAsked:
		return w.preview(ctx, w.held, ledger.ForClaim)
	}
	return w.preview(ctx, w.held, ledger.ForAdopted)
}

// disputed says whether another claim has what this one holds.
func (w *walk) disputed(ctx context.Context) error {
	if err := w.observer.about(w.scope).Disputed(w.held.Addr()); err != nil {
		return w.reporter.adoptError(ctx, w.scope, w.answer, ledger.ForAdopted, err)
	}
	return nil
}

// freeOf asks for an address that the claim has not had before, unless one is recorded for it.
func (w *walk) freeOf(ctx context.Context) (string, error) {
	recorded := w.observer.about(w.scope).Recorded()
	isIts := func(h ledger.Holding) bool {
		return h.Claim.UID == w.ref.UID && h.Pool == w.offer.Pool && h.Purpose != ledger.ForMoved
	}
	if i := slices.IndexFunc(recorded, isIts); i >= 0 {
		return recorded[i].CIDR.String() + " is recorded for it", nil
	}
	want, err := wanted(w.scope)
	if err != nil {
		return "", err
	}
	if w.offer.HostBits == 0 {
		return "the pool has no addresses", ledger.ErrExhausted
	}
	return w.preview(ctx, want, ledger.ForClaim)
}

// preview asks the ledger.
func (w *walk) preview(ctx context.Context, want netip.Prefix, purpose ledger.Purpose) (string, error) {
	request, err := w.executor.records.request(ctx, w.scope, want, purpose)
	if err != nil {
		return "", err
	}
	cidr, err := w.ledger.Preview(request)
	switch {
	case err != nil && w.answer != nil:
		return "", w.reporter.adoptError(ctx, w.scope, w.answer, purpose, err)
	case err != nil:
		return w.reporter.told(ctx, w.scope, err), err
	case w.Unread.Others != nil:
		return "", w.Unread.Others
	}
	return cidr.String() + " is free", nil
}
