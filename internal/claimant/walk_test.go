// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claimant

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"github.com/google/go-cmp/cmp"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/explanation"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
)

// TestWhatComesOfAQuestion: what the reader may not see is unknown, and is not taken for what stops the claim.
func TestWhatComesOfAQuestion(t *testing.T) {
	t.Parallel()
	const id = explanation.Offered
	unread := errors.New("the records may not be read")
	own := errors.New("it waits for its own reasons")
	forbidden := apierrors.NewForbidden(schema.GroupResource{Resource: "pools"}, "p", nil)
	elsewhere := fmt.Errorf("the cloud: %w", ErrElsewhere)
	refusal := &Refusal{Field: "spec.poolRef", Message: "the pool is not for it"}
	for sentence, test := range map[string]struct {
		walk    Walk
		asks    Question
		found   string
		outcome error
		// isSpared: the question is not asked.
		isSpared bool
		want     explanation.Step
		ends     bool
		// stops: it is what the claim would be told.
		stops bool
		err   error
	}{
		"it goes on":                       {found: "pool p", want: explanation.Step{ID: id, Verdict: explanation.Passed, Text: "pool p"}},
		"an earlier one ended it":          {walk: Walk{Ended: true}, isSpared: true, want: explanation.Step{ID: id, Verdict: explanation.NotReached}, ends: true},
		"the records are not known":        {walk: Walk{Unread: Unread{Records: unread}}, asks: Question{IsOfRecords: true}, isSpared: true, want: explanation.Step{ID: id, Verdict: explanation.Unknown, Text: unread.Error()}},
		"nor can it go on without them":    {walk: Walk{Unread: Unread{Records: unread}}, asks: Question{IsOfRecords: true, IsVital: true}, isSpared: true, want: explanation.Step{ID: id, Verdict: explanation.Unknown, Text: unread.Error()}, ends: true},
		"it needs no records":              {walk: Walk{Unread: Unread{Records: unread}}, found: "pool p", want: explanation.Step{ID: id, Verdict: explanation.Passed, Text: "pool p"}},
		"all records are known":            {asks: Question{IsOfRecords: true}, found: "pool p", want: explanation.Step{ID: id, Verdict: explanation.Passed, Text: "pool p"}},
		"it may not be read":               {outcome: forbidden, want: explanation.Step{ID: id, Verdict: explanation.Unknown, Text: forbidden.Error()}},
		"it may not be read, and is vital": {asks: Question{IsVital: true}, outcome: forbidden, want: explanation.Step{ID: id, Verdict: explanation.Unknown, Text: forbidden.Error()}, ends: true},
		"only the cloud knows":             {outcome: elsewhere, want: explanation.Step{ID: id, Verdict: explanation.Unknown, Text: elsewhere.Error()}},
		"it is refused":                    {outcome: refusal, want: explanation.Step{ID: id, Verdict: explanation.Stops, Text: "the pool is not for it"}, ends: true, stops: true},
		"it is refused, and why was found": {found: "pool p", outcome: refusal, want: explanation.Step{ID: id, Verdict: explanation.Stops, Text: "pool p"}, ends: true, stops: true},
		"it is paused":                     {outcome: &Refusal{Paused: "Cluster c is paused"}, want: explanation.Step{ID: id, Verdict: explanation.Stops, Text: "Cluster c is paused"}, ends: true, stops: true},
		"there is no room":                 {outcome: ledger.ErrExhausted, want: explanation.Step{ID: id, Verdict: explanation.Stops, Text: ledger.ErrExhausted.Error()}, ends: true, stops: true},
		"the controller's own reason":      {walk: Walk{Open: []error{own}}, outcome: own, want: explanation.Step{ID: id, Verdict: explanation.Stops, Text: own.Error()}, ends: true, stops: true},
		"the API server does not answer":   {outcome: errFailed, want: explanation.Step{ID: id, Verdict: explanation.NotReached}, err: errFailed},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			isAsked := false
			test.asks.ID, test.asks.Ask = id, func(context.Context) (string, error) {
				isAsked = true
				return test.found, test.outcome
			}
			w := test.walk
			err := w.Ask(t.Context(), test.asks)
			if diff := cmp.Diff([]explanation.Step{test.want}, w.Explained.Steps); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if !errors.Is(err, test.err) || isAsked == test.isSpared || w.Ended != test.ends || errors.Is(w.Outcome, test.outcome) != (test.stops || test.outcome == nil) {
				t.Errorf("asked %t, ended %t, outcome %v, %v", isAsked, w.Ended, w.Outcome, err)
			}
		})
	}
}
