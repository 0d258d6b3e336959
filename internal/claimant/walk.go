// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claimant

import (
	"context"
	"errors"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/explanation"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
)

// ErrElsewhere: only somebody else knows, who is not asked.
var ErrElsewhere = errors.New("is decided outside of the cluster")

// Unread is why an offline ledger has not all; nil for what it has.
type Unread struct {
	// Records are Weir's: of the claim's pool, those above it, and the claim's name.
	Records error
	// Others are the addresses of other providers, which matter to what is free alone.
	Others error
}

// Walk is a claim on its way through the questions that its controller asks. What the reader may not see ends a question as unknown, and what
// may still be asked is.
type Walk struct {
	Explained explanation.Explanation
	Unread    Unread
	// Open are outcomes of the controller's own, after which nothing new is told.
	Open []error
	// Outcome is what the claim would be told; Ended says that no question is left.
	Outcome error
	Ended   bool
}

// Question is one that a controller asks about a claim.
type Question struct {
	ID explanation.StepID
	// Ask returns what was found, and what ends the walk, as the controller's error; nil if it goes on.
	Ask func(context.Context) (found string, outcome error)
	// IsVital: without an answer nothing more can be asked. IsOfRecords: all records are needed to answer it.
	IsVital, IsOfRecords bool
}

// Ask asks one question, and notes what came of it. Its error is one of the API server's, other than that something is forbidden.
func (w *Walk) Ask(ctx context.Context, q Question) error {
	step := explanation.Step{ID: q.ID, Verdict: explanation.NotReached}
	defer func() { w.Explained.Steps = append(w.Explained.Steps, step) }()
	switch {
	case w.Ended:
		return nil
	case q.IsOfRecords && w.Unread.Records != nil:
		step.Verdict, step.Text, w.Ended = explanation.Unknown, w.Unread.Records.Error(), q.IsVital
		return nil
	}
	found, outcome := q.Ask(ctx)
	step.Text = found
	switch {
	case outcome == nil:
		step.Verdict = explanation.Passed
	case apierrors.IsForbidden(outcome), errors.Is(outcome, ErrElsewhere):
		step.Verdict, step.Text = explanation.Unknown, outcome.Error()
		w.Ended = q.IsVital
	case w.IsOutcome(outcome):
		step.Verdict, w.Outcome, w.Ended = explanation.Stops, outcome, true
		if step.Text == "" {
			step.Text = OutcomeText(outcome)
		}
	default:
		return outcome
	}
	return nil
}

// IsOutcome says whether an error is one that the controller makes of what it has read.
func (w *Walk) IsOutcome(err error) bool {
	var refusal *Refusal
	known := append([]error{ledger.ErrExhausted, ledger.ErrTaken, ledger.ErrRefused, ledger.ErrNotReady, ledger.ErrBusy}, w.Open...)
	return errors.As(err, &refusal) || slices.ContainsFunc(known, func(k error) bool { return errors.Is(err, k) })
}

// IsSure says whether every question that was asked has an answer.
func (w *Walk) IsSure() bool {
	return !slices.ContainsFunc(w.Explained.Steps, func(s explanation.Step) bool { return s.Verdict == explanation.Unknown })
}

// OutcomeText is what an outcome says, without the field that it is about.
func OutcomeText(outcome error) string {
	var refusal *Refusal
	if errors.As(outcome, &refusal) {
		if refusal.Paused != "" {
			return refusal.Paused
		}
		return refusal.Message
	}
	return outcome.Error()
}
