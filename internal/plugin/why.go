// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/reasons"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/survey"
)

// Why is what the command why prints as JSON and YAML.
type Why struct {
	Header `json:",inline"`
	// Gaps are what the user may not see.
	Gaps []survey.Gap `json:"gaps"`
	// Owner is what owns the claims, if they were found by it.
	Owner *survey.Object `json:"owner,omitempty"`
	// Objects are claims and pools.
	Objects []WhyObject `json:"objects"`
	// Attempts are the claims and pools of manifests, in their order; NotTried is what is neither.
	Attempts []WhyAttempt    `json:"attempts,omitempty"`
	NotTried []survey.Object `json:"notTried,omitempty"`
}

// WhyObject is a claim or pool with what Weir has committed to its status.
type WhyObject struct {
	survey.Object `json:",inline"`
	Generation    int64     `json:"generation"`
	DeletingSince time.Time `json:"deletingSince,omitzero"`
	// Finalizers keep the object; they are there if it is being deleted.
	Finalizers []string        `json:"finalizers,omitempty"`
	Answer     *survey.Address `json:"answer,omitempty"`
	// Pool is that of a claim.
	Pool *WhyPool `json:"pool,omitempty"`
	// Decision is what would be done about a claim now; absent of a pool.
	Decision *WhyDecision `json:"decision,omitempty"`
	// Conditions begin with Ready. Where there is none it is Unknown, with reason Unreported or, of a
	// claim for another provider's pool, OtherProvider.
	Conditions []WhyCondition `json:"conditions"`

	isPool bool
}

// WhyPool is the pool of a claim.
type WhyPool struct {
	survey.Object `json:",inline"`
	// Presence is whether it is there: Present, Gone or Hidden (the user may not see it).
	Presence survey.Presence `json:"presence"`
	// State is Exhausted, Deleting, Unreported or the reason of the condition Ready.
	State   string `json:"state,omitempty"`
	Message string `json:"message,omitempty"`
}

// WhyCondition is a condition with its meaning.
type WhyCondition struct {
	Type    string                 `json:"type"`
	Status  metav1.ConditionStatus `json:"status"`
	Reason  string                 `json:"reason"`
	Message string                 `json:"message,omitempty"`
	Since   time.Time              `json:"since,omitzero"`
	// ObservedGeneration is of which generation of the object this was committed; 0 if that is not known.
	ObservedGeneration int64 `json:"observedGeneration,omitempty"`
	// IsGood: there is nothing to do.
	IsGood bool   `json:"isGood"`
	Means  string `json:"means"`
	Do     string `json:"do,omitempty"`
	// Docs is a page that says more.
	Docs string `json:"docs,omitempty"`
}

func whyCommand(o *options, stdin io.Reader) *cobra.Command {
	var files []string
	cmd := &cobra.Command{
		Use:   "why ([KIND/]NAME | -f FILE)",
		Short: "Show why a claim has no address, or a pool does not serve, and what to do",
		Long: "Show what Weir has committed to the status of a claim or pool, what it means and what to do.\n" +
			"About a claim it decides anew, as a manager would, by what you may see.\n" +
			"KIND is claim or pool, for those of any kind; a kind of the API server; or a kind that owns claims, as Machine and Cluster do.\n" +
			"With -f it asks the API server, on dry run, whether it would store the claims and pools of manifests, and who refuses what.\n" +
			"Exit code 1 means that there is something to do, or no such object.\n\n" + exitCodes,
		Example: "  kubectl weir why -n team-red claim/md-9\n  kubectl weir why -n team-red machine/prod-eu-md-0-x7k2p\n" +
			"  kubectl weir why globalippool/fleet -o json\n  kubectl weir why -f claim.yaml",
		Args: func(_ *cobra.Command, args []string) error {
			if (len(args) == 1) == (len(files) > 0) || len(args) > 1 {
				return errors.New("name one claim, pool or owner of claims, or manifests by -f")
			}
			return nil
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(files) > 0 {
				return o.whyFiles(cmd.Context(), stdin, files)
			}
			return o.whyNamed(cmd.Context(), args[0])
		},
	}
	cmd.Flags().StringArrayVarP(&files, "filename", "f", nil, "Manifests of claims and pools, in YAML or JSON: files, folders or URLs; - is standard input")
	return cmd
}

// whyNamed explains the claims and pools of a name, or the claims of an owner.
func (o *options) whyNamed(ctx context.Context, asked string) error {
	namespace, _, err := o.contextNamespace()
	if err != nil {
		return err
	}
	s, err := o.surveyOfWeir(survey.Scope{Only: namespace})
	if err != nil {
		return err
	}
	kind, name, hasKind := strings.Cut(asked, "/")
	if !hasKind {
		kind, name = "", asked
	}
	answer, err := s.Told(ctx, namespace, kind, name)
	if err != nil {
		return err
	}
	w := why(answer, s.Gaps().List())
	if err = o.decide(ctx, s, w); err != nil {
		return err
	}
	if err = o.printWhy(w); err != nil {
		return err
	}
	return w.verdict(asked, namespace, answer.IsHidden)
}

// why puts what was read into the object that is printed.
func why(answer *survey.Answer, gaps []survey.Gap) *Why {
	w := &Why{Header: header("Why"), Gaps: gaps, Owner: answer.Owner, Objects: []WhyObject{}}
	for _, told := range answer.Told {
		w.Objects = append(w.Objects, whyObject(told))
	}
	return w
}

func whyObject(t *survey.Told) WhyObject {
	o := WhyObject{
		Object: t.Object, Generation: t.Generation, DeletingSince: t.DeletingSince, Finalizers: t.Finalizers, Answer: t.Address,
		Conditions: []WhyCondition{}, isPool: t.IsPool,
	}
	if p := t.Pool; p != nil {
		o.Pool = &WhyPool{Object: p.Object, Presence: p.Presence, State: p.State, Message: p.Message}
	}
	if !t.IsPool && t.Pool == nil {
		o.Conditions = append(o.Conditions, unreported(&reasons.OtherProvider, ""))
		return o
	}
	subject := reasons.Claims
	if t.IsPool {
		subject = reasons.Pools
	}
	for i := range t.Conditions {
		o.Conditions = append(o.Conditions, whyCondition(subject, &t.Conditions[i]))
	}
	isReady := func(c WhyCondition) bool { return c.Type == ipamv1.ReadyCondition }
	slices.SortStableFunc(o.Conditions, func(a, b WhyCondition) int { return cmp.Compare(a.Type, b.Type) })
	ready := unreported(&reasons.Unreported, t.ErrorMessage)
	if i := slices.IndexFunc(o.Conditions, isReady); i >= 0 {
		ready = o.Conditions[i]
	}
	o.Conditions = slices.Insert(slices.DeleteFunc(o.Conditions, isReady), 0, ready)
	return o
}

// unreported stands for the condition Ready of an object that has none.
func unreported(r *reasons.Reason, message string) WhyCondition {
	return WhyCondition{
		Type: ipamv1.ReadyCondition, Status: r.Status, Reason: r.Name, Message: message, IsGood: r.IsGood(),
		Means: plain(r.Means), Do: plain(r.Do), Docs: docs(r),
	}
}

func whyCondition(subject reasons.Subject, c *metav1.Condition) WhyCondition {
	w := WhyCondition{
		Type: c.Type, Status: c.Status, Reason: c.Reason, Message: c.Message, Since: c.LastTransitionTime.Time, ObservedGeneration: c.ObservedGeneration,
	}
	r := reasons.Find(subject, c.Type, c.Reason)
	if r == nil {
		w.Means = "This version of the plugin does not know the reason."
		w.IsGood = c.Type != ipamv1.ReadyCondition || c.Status == metav1.ConditionTrue
		return w
	}
	w.IsGood, w.Means, w.Do, w.Docs = r.IsGood(), plain(r.Means), plain(r.Do), docs(r)
	return w
}

// plain leaves out what only a page needs.
func plain(text string) string { return strings.ReplaceAll(text, "`", "") }

func docs(r *reasons.Reason) string {
	if r.See == "" {
		return ""
	}
	return "docs/" + r.See
}

// isGood reports whether there is nothing to do.
func (o *WhyObject) isGood() bool {
	if o.Decision != nil && o.Decision.Agreement == Different {
		return false
	}
	return !slices.ContainsFunc(o.Conditions, func(c WhyCondition) bool { return !c.IsGood })
}

// verdict returns the error that ends the command.
func (w *Why) verdict(asked, namespace string, isHidden bool) error {
	switch {
	case slices.ContainsFunc(w.Objects, func(o WhyObject) bool { return !o.isGood() }):
		return badNews
	case len(w.Objects) > 0:
		return nil
	case isHidden || w.Owner != nil && len(w.Gaps) > 0:
		return forbidden("you may not see %s, or what it owns: %s; ask for the right to", asked, texts(w.Gaps))
	case w.Owner != nil:
		return &exitError{code: ExitBadNews, err: fmt.Errorf("%s owns no claim; what makes its claims may not have made them yet", w.Owner)}
	}
	return &exitError{code: ExitBadNews, err: fmt.Errorf("there is no %s in namespace %s; choose another --namespace", asked, namespace)}
}
