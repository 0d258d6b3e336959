// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/explanation"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/rehearsal"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/survey"
)

// WhyDecision is what a manager would do about a claim now, as far as the user may see what that goes by.
type WhyDecision struct {
	explanation.Explanation `json:",inline"`
	// Agreement is how that goes together with the claim's condition Ready.
	Agreement Agreement `json:"agreement"`
}

// Agreement is how a decision and a condition go together.
type Agreement string

const (
	// Same: the claim is told just that.
	Same Agreement = "Same"
	// Different: the claim is told something else.
	Different Agreement = "Different"
	// Untold: no manager has told the claim anything.
	Untold Agreement = "Untold"
	// Undecided: the claim would be told nothing new, or the user may not see what decides.
	Undecided Agreement = "Undecided"
)

// decide has Weir's controllers decide anew about the claims that were found.
func (o *options) decide(ctx context.Context, s *survey.Survey, w *Why) error {
	var stage *rehearsal.Stage
	for i := range w.Objects {
		object := &w.Objects[i]
		if object.isPool || object.Pool == nil {
			continue
		}
		if stage == nil {
			var err error
			if stage, err = o.stage(ctx, s); err != nil {
				return err
			}
		}
		kind := schema.GroupKind{Group: object.APIGroup, Kind: object.Kind}
		e, err := stage.Explain(ctx, kind, types.NamespacedName{Namespace: object.Namespace, Name: object.Name})
		switch {
		case err == nil:
			object.Decision = &WhyDecision{Explanation: *e, Agreement: agreementOf(e.Ready, &object.Conditions[0])}
		case !errors.Is(err, rehearsal.ErrNoDoor) && !apierrors.IsNotFound(err):
			return err
		}
	}
	return nil
}

// stage is where controllers rehearse with the user's rights, as managers are told to decide.
func (o *options) stage(ctx context.Context, s *survey.Survey) (*rehearsal.Stage, error) {
	config, err := o.config.ToRESTConfig()
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	mapper, err := o.config.ToRESTMapper()
	if err != nil {
		return nil, fmt.Errorf("reading the kubeconfig: %w", err)
	}
	scheme, err := rehearsal.Scheme()
	if err != nil {
		return nil, err
	}
	c, err := client.New(survey.ReadOnly(config), client.Options{Scheme: scheme, Mapper: mapper})
	if err != nil {
		return nil, fmt.Errorf("creating a client: %w", err)
	}
	flags, err := s.Flags(ctx)
	if err != nil {
		return nil, err
	}
	isInCluster, err := s.ServesInCluster(ctx)
	if err != nil {
		return nil, err
	}
	return &rehearsal.Stage{
		Client: c, Clock: clock.RealClock{}, Namespace: flags.Namespace, Platform: flags.Value("platform-project"), Cluster: flags.Value("cluster-name"),
		InCluster: isInCluster,
	}, nil
}

func agreementOf(decided *metav1.Condition, told *WhyCondition) Agreement {
	switch {
	case decided == nil:
		return Undecided
	case told.Since.IsZero():
		return Untold
	case decided.Status == told.Status && decided.Reason == told.Reason && decided.Message == told.Message:
		return Same
	}
	return Different
}

// text says of a decision what the condition does not.
func (d *WhyDecision) text() string {
	unseen, isUnseen := d.First(explanation.Unknown)
	switch {
	case d.Agreement == Same:
		return "decided anew, with the same result"
	case d.Agreement == Different:
		return "a manager would say now: " + conditionText(d.Ready) + "; none has yet: kubectl weir status"
	case d.Agreement == Untold:
		return "a manager would say: " + conditionText(d.Ready)
	case isUnseen:
		return "cannot be decided here: " + unseen.Text
	}
	return "a manager would say nothing new"
}

func conditionText(c *metav1.Condition) string {
	if c.Message == "" {
		return c.Reason
	}
	return c.Reason + ": " + c.Message
}

// titles are the questions, for people.
var titles = map[explanation.StepID]string{
	explanation.Served:   "Weir's to answer",
	explanation.Unhalted: "Cluster and pause",
	explanation.Living:   "not being deleted",
	explanation.Named:    "answer by its name",
	explanation.Offered:  "what the pool has",
	explanation.Decided:  "what is done",
	explanation.Asked:    "asks for",
	explanation.Free:     "available",
}

// marks are the verdicts, for people.
var marks = map[explanation.Verdict]string{
	explanation.Passed: "ok", explanation.Stops: "no", explanation.Unknown: "?", explanation.NotReached: "-",
}

// printDecision prints the decision, and the way to it where something is to be done.
func (o *options) printDecision(w *WhyObject) {
	d := w.Decision
	if d == nil {
		return
	}
	o.line("now", d.text())
	if w.Conditions[0].IsGood && d.Agreement != Different {
		return
	}
	o.printSteps(d.Steps)
}

// printSteps prints the way to a decision.
func (o *options) printSteps(steps []explanation.Step) {
	for _, step := range steps {
		fmt.Fprintln(o.stdout, strings.TrimRight(fmt.Sprintf("          %-3s %-18s %s", marks[step.Verdict], titles[step.ID], step.Text), " "))
	}
}
