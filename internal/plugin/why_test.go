// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	"errors"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/explanation"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/survey"
)

// noon is when Weir has committed what these tests print, six minutes before they do.
var noon = time.Date(2026, 11, 21, 12, 0, 0, 0, time.UTC)

func condition(kind string, status metav1.ConditionStatus, reason, message string) metav1.Condition {
	return metav1.Condition{Type: kind, Status: status, Reason: reason, Message: message, LastTransitionTime: metav1.NewTime(noon), ObservedGeneration: 1}
}

func claimTold(conditions ...metav1.Condition) *survey.Told {
	return &survey.Told{
		Object:     survey.Object{APIGroup: "ipam.cluster.x-k8s.io", Kind: "IPAddressClaim", Namespace: "red", Name: "md"},
		Generation: 1, Conditions: conditions,
		Pool: &survey.NamedPool{Object: survey.Object{APIGroup: "ipam.weir.dev", Kind: "IPPool", Namespace: "red", Name: "nope"}, Presence: survey.Gone},
	}
}

// TestWhyExplainsConditions of claims and pools: what was committed, what it means and what to do.
func TestWhyExplainsConditions(t *testing.T) {
	t.Parallel()
	answered := claimTold(condition("WithinPool", "False", "OutsidePolicy", "it is excluded"), condition("Ready", "True", "Allocated", ""))
	answered.Address = &survey.Address{Address: "10.0.0.3/24"}
	changed := claimTold(condition("Ready", "False", "ClusterNotFound", "there is no Cluster"))
	changed.Generation, changed.Pool.Presence = 2, survey.Hidden
	leaving := claimTold(condition("Ready", "True", "Allocated", ""), condition("Deleting", "True", "WaitingForFinalizers", "kept by example.com/x"))
	leaving.Generation, leaving.Conditions[0].ObservedGeneration = 2, 1
	leaving.DeletingSince, leaving.Finalizers = noon, []string{"example.com/x", "ipam.weir.dev/claim"}
	foreign := claimTold()
	foreign.Pool = nil
	for name, test := range map[string]struct {
		told *survey.Told
		want string
		code int
	}{
		"a claim without a pool": {claimTold(condition("Ready", "False", "PoolNotReady", "there is no IPPool nope")), `IPAddressClaim red/md has no address: PoolNotReady since 2026-11-21 12:00 (6m)
  message there is no IPPool nope
  means   The pool does not exist (yet), or a GlobalIPPool is not visible to the claim's namespace. Or the pool drains, is being deleted, is at home elsewhere, cannot be served, or its blocks are not recorded yet. A claim that is created together with its pool may say this for a moment. An answered claim keeps its address and its condition while its pool is being deleted.
  do      Look at the pool's Ready condition. The claim is answered by itself when the pool serves, appears or becomes visible.
  docs    docs/guides/projects.md
  pool    IPPool red/nope   does not exist
`, ExitBadNews},
		"an answered claim that its pool would not answer": {answered, `IPAddressClaim red/md has 10.0.0.3/24: Allocated since 2026-11-21 12:00 (6m)
  also    WithinPool is False: OutsidePolicy since 2026-11-21 12:00 (6m): it is excluded
  means   The claim or pool came with what it has from elsewhere or a backup, or its pool was changed since. Not applied are exclusions, bounds or what is kept for others; the message says which. Nothing is wrong with the address. After a change of the pool the condition comes with the next look at the claim, --sync-period (ten minutes) later at most; the warning that answers the change names the claims at once.
  do      Decide whether the address should stay. To have another one, delete the claim.
  docs    docs/guides/restore.md#what-happens
`, ExitBadNews},
		"a claim that was changed since": {changed, `IPAddressClaim red/md has no address: ClusterNotFound since 2026-11-21 12:00 (6m)
  message there is no Cluster
  stale   this is of generation 1; the object is at 2 now, which no manager has looked at
  means   The Cluster that the claim names does not exist. Nothing is done for the claim before it does; deleting the claim goes on. An answered claim keeps its address and its condition when its Cluster goes.
  do      Make the Cluster, or correct what the message names: spec.clusterName, else the label cluster.x-k8s.io/cluster-name, else an owner.
  pool    IPPool red/nope   not shown
`, ExitBadNews},
		"a claim that is being deleted": {leaving, `IPAddressClaim red/md has an address that is not shown: Allocated since 2026-11-21 12:00 (6m)
  deleted 2026-11-21 12:00 (6m), kept by finalizers example.com/x, ipam.weir.dev/claim
  also    Deleting is True: WaitingForFinalizers since 2026-11-21 12:00 (6m): kept by example.com/x
  means   Finalizers of others are on the claim. The message names them, and what is known of what takes them off. Until they are off the claim keeps its address: it is in use, or the finalizer was forgotten.
  do      Wait for their owners. Take one off by hand only when you know that its owner is done.
`, ExitBadNews},
		"a claim that no manager has looked at": {claimTold(), `IPAddressClaim red/md has no address: Unreported
  means   No manager has written a status.
  do      See whether a manager runs and leads (kubectl weir status), and whether its flags --namespace and --watch-filter leave this out.
  docs    docs/guides/troubleshooting.md#no-condition-at-all
  pool    IPPool red/nope   does not exist
`, ExitBadNews},
		"a claim of another provider's pool": {foreign, `IPAddressClaim red/md has no address: OtherProvider
  means   The claim names a pool of another provider. Weir does not look at it.
  do      See whether spec.poolRef.apiGroup is meant to be ipam.weir.dev, else ask that provider.
`, ExitBadNews},
		"a pool with a reason of a later version": {&survey.Told{
			Object: survey.Object{APIGroup: "ipam.weir.dev", Kind: "GlobalIPPool", Name: "fleet"}, IsPool: true, Generation: 1,
			Conditions: []metav1.Condition{condition("Ready", "False", "Melting", "it is warm")},
		}, `GlobalIPPool fleet is not ready: Melting since 2026-11-21 12:00 (6m)
  message it is warm
  means   This version of the plugin does not know the reason.
`, ExitBadNews},
		"a pool that moves nothing, which is fine": {&survey.Told{
			Object: survey.Object{APIGroup: "ipam.weir.dev", Kind: "GlobalIPPool", Name: "fleet"}, IsPool: true, Generation: 1,
			Conditions: []metav1.Condition{
				condition(ipamv1.MovableCondition, "False", "DependentsNotMoved", "some stay"), condition("Ready", "True", "Available", ""),
			},
		}, `GlobalIPPool fleet is ready: Available since 2026-11-21 12:00 (6m)
  also    Movable is False: DependentsNotMoved since 2026-11-21 12:00 (6m): some stay
`, ExitOK},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			o := &options{stdout: &out, stderr: &out, format: formatTable, now: func() time.Time { return noon.Add(6 * time.Minute) }}
			w := why(&survey.Answer{Told: []*survey.Told{test.told}}, nil)
			if err := o.printWhy(w); err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(test.want, out.String()); diff != "" {
				t.Error(diff)
			}
			if code, _ := codeOf(w.verdict("claim/md", "red", false)); code != test.code {
				t.Errorf("exit code %d, want %d", code, test.code)
			}
		})
	}
}

// TestWhyOfNothing ends with bad news, or with what the user may not see.
func TestWhyOfNothing(t *testing.T) {
	t.Parallel()
	machine := &survey.Object{APIGroup: "cluster.x-k8s.io", Kind: "Machine", Namespace: "red", Name: "m"}
	gaps := []survey.Gap{{Text: "you may not list ipclaims"}}
	for name, test := range map[string]struct {
		answer survey.Answer
		gaps   []survey.Gap
		code   int
		text   string
	}{
		"no object":                  {survey.Answer{}, nil, ExitBadNews, "there is no claim/md in namespace red; choose another --namespace"},
		"an object that is hidden":   {survey.Answer{IsHidden: true}, gaps, ExitForbidden, "you may not see claim/md, or what it owns: you may not list ipclaims; ask for the right to"},
		"an owner of nothing":        {survey.Answer{Owner: machine}, nil, ExitBadNews, "Machine red/m owns no claim; what makes its claims may not have made them yet"},
		"an owner of what is hidden": {survey.Answer{Owner: machine}, gaps, ExitForbidden, "you may not see claim/md, or what it owns: you may not list ipclaims; ask for the right to"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			err := why(&test.answer, test.gaps).verdict("claim/md", "red", test.answer.IsHidden)
			var exit *exitError
			if !errors.As(err, &exit) || exit.code != test.code || exit.Error() != test.text {
				t.Errorf("ended with %v", err)
			}
		})
	}
}

// TestWhySaysHowADecisionAndTheConditionGoTogether, and shows the way to it unless nothing is to be done.
func TestWhySaysHowADecisionAndTheConditionGoTogether(t *testing.T) {
	t.Parallel()
	exhausted := condition("Ready", "False", "PoolExhausted", "it is full")
	allocated := condition("Ready", "True", "Allocated", "")
	steps := []explanation.Step{
		{ID: explanation.Served, Verdict: explanation.Passed, Text: "IPPool nope"}, {ID: explanation.Living, Verdict: explanation.Passed},
		{ID: explanation.Offered, Verdict: explanation.Unknown, Text: "pools are forbidden"}, {ID: explanation.Decided, Verdict: explanation.NotReached},
	}
	way := `          ok  Weir's to answer   IPPool nope
          ok  not being deleted
          ?   what the pool has  pools are forbidden
          -   what is done
`
	for name, test := range map[string]struct {
		decided *metav1.Condition
		told    *survey.Told
		want    string
		isGood  bool
	}{
		"the same, and well":     {&allocated, claimTold(allocated), "  now     decided anew, with the same result\n", true},
		"the same, and not well": {&exhausted, claimTold(exhausted), "  now     decided anew, with the same result\n" + way, false},
		"well, which is not told yet": {
			&allocated, claimTold(exhausted), "  now     a manager would say now: Allocated; none has yet: kubectl weir status\n" + way, false,
		},
		"not well any more": {
			&exhausted, claimTold(allocated), "  now     a manager would say now: PoolExhausted: it is full; none has yet: kubectl weir status\n" + way, false,
		},
		"nothing told yet":  {&exhausted, claimTold(), "  now     a manager would say: PoolExhausted: it is full\n" + way, false},
		"not to be decided": {nil, claimTold(exhausted), "  now     cannot be decided here: pools are forbidden\n" + way, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var out bytes.Buffer
			o := &options{stdout: &out, now: func() time.Time { return noon }}
			object := &why(&survey.Answer{Told: []*survey.Told{test.told}}, nil).Objects[0]
			object.Decision = &WhyDecision{
				Explanation: explanation.Explanation{Steps: steps, Ready: test.decided}, Agreement: agreementOf(test.decided, &object.Conditions[0]),
			}
			o.printDecision(object)
			if diff := cmp.Diff(test.want, out.String()); diff != "" {
				t.Error(diff)
			}
			if object.isGood() != test.isGood {
				t.Errorf("well is %t, want %t", object.isGood(), test.isGood)
			}
		})
	}
}
