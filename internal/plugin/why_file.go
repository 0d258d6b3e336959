// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/cli-runtime/pkg/resource"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/explanation"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/survey"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/trial"
)

// WhyAttempt is a claim or pool of a manifest, and what would come of it.
type WhyAttempt struct {
	survey.Object `json:",inline"`
	// Verdict is Created, Applied (to the object of that name) or Refused.
	Verdict  trial.Verdict  `json:"verdict"`
	Warnings []string       `json:"warnings,omitempty"`
	Refusal  *trial.Refusal `json:"refusal,omitempty"`
	// CIDR is the prefix that an IPClaim would have, or the block of a pool, as far as it is known before.
	CIDR string `json:"cidr,omitempty"`
	// Pending is the claim's pool, if it is of the manifests as well and not stored yet: the rest is said as if it stayed so.
	Pending *survey.Object `json:"pending,omitempty"`
	// Decision is what would be done about a claim; absent of a pool, and of what is refused or there already.
	Decision *explanation.Explanation `json:"decision,omitempty"`
}

// whyFiles says what would come of manifests.
func (o *options) whyFiles(ctx context.Context, stdin io.Reader, files []string) error {
	w := &Why{Header: header("Why"), Gaps: []survey.Gap{}, Objects: []WhyObject{}}
	var tried []*unstructured.Unstructured
	namespace, isGiven, err := o.contextNamespace()
	if err != nil {
		return err
	}
	s, err := o.surveyOfWeir(survey.Scope{Only: namespace})
	if err != nil {
		return err
	}
	objects, err := o.manifests(stdin, files)
	if err != nil {
		return err
	}
	for _, object := range objects {
		isPool, failure := s.IsPool(ctx, object)
		if failure != nil {
			return failure
		}
		if !isPool && !survey.IsClaim(object) {
			w.NotTried = append(w.NotTried, *survey.ObjectOf(object))
			continue
		}
		if err = o.place(object, namespace, isGiven); err != nil {
			return err
		}
		tried = append(tried, object)
	}
	if err = o.try(ctx, s, w, tried); err != nil {
		return err
	}
	w.Gaps = s.Gaps().List()
	if err = o.printWhy(w); err != nil {
		return err
	}
	return w.attempted()
}

// manifests reads objects as kubectl does: files, folders, URLs and, for "-", standard input.
func (o *options) manifests(stdin io.Reader, files []string) (found []*unstructured.Unstructured, err error) {
	builder := resource.NewBuilder(o.config).Unstructured().Local() // kinds that the API server has not are none of Weir's
	named := slices.DeleteFunc(slices.Clone(files), func(name string) bool { return name == standardInput })
	if len(named) < len(files) {
		builder.Stream(stdin, "standard input")
	}
	if len(named) > 0 {
		builder.FilenameParam(false, &resource.FilenameOptions{Filenames: named})
	}
	err = builder.Flatten().Do().Visit(func(info *resource.Info, err error) error {
		if object, ok := info.Object.(*unstructured.Unstructured); err == nil && ok {
			found = append(found, object)
		}
		return err
	})
	if err != nil {
		return nil, fmt.Errorf("reading manifests: %w", err)
	}
	return found, nil
}

// place puts an object into the namespace of --namespace or the context, unless it names one.
func (o *options) place(object *unstructured.Unstructured, namespace string, isGiven bool) error {
	mapper, err := o.config.ToRESTMapper()
	if err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	kind := object.GroupVersionKind()
	mapping, err := mapper.RESTMapping(kind.GroupKind(), kind.Version)
	switch own := object.GetNamespace(); {
	case err != nil:
		return fmt.Errorf("looking up kind %s of the manifests: %w", kind.Kind, err)
	case mapping.Scope.Name() != meta.RESTScopeNameNamespace:
	case own == "":
		object.SetNamespace(namespace)
	case isGiven && own != namespace:
		return fmt.Errorf("%s is not in namespace %s; leave --namespace out, or name that one", survey.ObjectOf(object), namespace)
	}
	return nil
}

// try tries claims and pools one after the other, and decides about the claims that would be stored.
func (o *options) try(ctx context.Context, s *survey.Survey, w *Why, objects []*unstructured.Unstructured) error {
	config, err := o.config.ToRESTConfig()
	if err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	mapper, err := o.config.ToRESTMapper()
	if err != nil {
		return fmt.Errorf("reading the kubeconfig: %w", err)
	}
	bench, err := trial.NewBench(survey.ReadOnly(config), mapper)
	if err != nil {
		return err
	}
	stage, err := o.stage(ctx, s)
	if err != nil {
		return err
	}
	var pending []survey.Object
	for _, object := range objects {
		tried, err := bench.Try(ctx, object)
		if err != nil {
			return err
		}
		attempt := attemptOf(tried)
		isNew := tried.Verdict == trial.Created
		if !survey.IsClaim(object) {
			if isNew {
				pending = append(pending, attempt.Object)
			}
		} else if attempt.Pending, err = poolAmong(ctx, s, pending, object); err == nil && isNew {
			attempt.Decision, err = stage.ExplainUnstored(ctx, tried.Object)
		}
		if err != nil {
			return err
		}
		w.Attempts = append(w.Attempts, attempt)
	}
	return nil
}

func attemptOf(tried *trial.Attempt) WhyAttempt {
	cidr, _, _ := unstructured.NestedString(tried.Object.Object, "spec", "cidr")
	return WhyAttempt{
		Object: *survey.ObjectOf(tried.Object), Verdict: tried.Verdict, Warnings: tried.Warnings, Refusal: tried.Refusal, CIDR: cidr,
	}
}

// poolAmong returns the pool of a claim if it is among others.
func poolAmong(ctx context.Context, s *survey.Survey, pools []survey.Object, claim *unstructured.Unstructured) (*survey.Object, error) {
	pool, err := s.PoolOf(ctx, claim)
	if err != nil || pool == nil || !slices.Contains(pools, *pool) {
		return nil, err
	}
	return pool, nil
}

// waits reports whether a manager would have the claim wait.
func (a *WhyAttempt) waits() bool {
	return a.Decision.Ready != nil && a.Decision.Ready.Status != metav1.ConditionTrue
}

// attempted returns the error that ends the command: bad news where something is refused or a claim would wait, and that rights are missing
// where they alone leave something open.
func (w *Why) attempted() error {
	if len(w.Attempts) == 0 {
		return &exitError{code: ExitUsage, err: errors.New("the manifests have neither claims nor pools of Weir's")}
	}
	isOpen := false
	for i := range w.Attempts {
		a := &w.Attempts[i]
		switch {
		case a.Refusal != nil && a.Refusal.By == trial.Rights:
			isOpen = true
		case a.Refusal != nil:
			return badNews
		case a.Decision == nil:
		case a.waits():
			return badNews
		default:
			_, isUnseen := a.Decision.First(explanation.Unknown)
			isOpen = isOpen || isUnseen
		}
	}
	if isOpen {
		return forbidden("not all could be tried or decided with your rights")
	}
	return nil
}

// verdictTexts are the verdicts, for people.
var verdictTexts = map[trial.Verdict]string{
	trial.Created: "would be created", trial.Applied: "is there; the change would be accepted", trial.Refused: "would be refused",
}

func (o *options) printAttempt(a *WhyAttempt) {
	head, color := fmt.Sprintf("%s %s", a.Object, verdictTexts[a.Verdict]), green
	if a.CIDR != "" && a.Verdict == trial.Created {
		head += ", with " + a.CIDR
	}
	if a.Refusal != nil {
		head, color = strings.TrimSpace(fmt.Sprintf("%s by %s %s", head, refuserTexts[a.Refusal.By], a.Refusal.Name)), red
	}
	o.printColored(color, head)
	for _, text := range a.Warnings {
		o.line("warning", text)
	}
	if r := a.Refusal; r != nil {
		o.line("message", r.Message)
		o.line("do", r.Do)
	}
	if a.Pending != nil {
		o.line("pool", a.Pending.String()+" is not there yet; create it first, and ask again")
	}
	if a.Decision == nil {
		return
	}
	o.line("now", wouldSay(a.Decision))
	if _, isUnseen := a.Decision.First(explanation.Unknown); isUnseen || a.waits() {
		o.printSteps(a.Decision.Steps)
	}
}

// refuserTexts are what refuses, for people.
var refuserTexts = map[trial.Refuser]string{
	trial.Webhook: "webhook", trial.UnreachableWebhook: "the API server, for want of webhook", trial.Policy: "policy", trial.Quota: "quota",
	trial.Rights: "the API server, for want of rights", trial.Namespace: "the API server, for its namespace", trial.Schema: "the schema of its kind",
	trial.APIServer: "the API server",
}

// wouldSay is what a manager would say of a claim once it is stored.
func wouldSay(e *explanation.Explanation) string {
	unseen, isUnseen := e.First(explanation.Unknown)
	stops, isStopped := e.StoppedBy()
	switch {
	case e.Ready != nil && e.Ready.Status == metav1.ConditionTrue:
		return "a manager would answer it: " + e.Steps[len(e.Steps)-1].Text
	case e.Ready != nil:
		return "a manager would say: " + conditionText(e.Ready)
	case isUnseen:
		return "cannot be decided here: " + unseen.Text
	case isStopped:
		return "no manager would answer it: " + stops.Text
	}
	return "a manager would say nothing"
}
