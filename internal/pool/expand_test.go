// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"context"
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/events"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/conditions"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/poolspec"
)

// errExpansion is what an expander fails with.
var errExpansion = errors.New("cut off")

// expander answers the same of each pool.
type expander struct {
	answer metav1.Condition
	err    error
}

func (e expander) Expand(context.Context, pools.Own) (metav1.Condition, error) {
	return e.answer, e.err
}

// TestWhatIsShownOfAnExpansion: the newest answer stays where none comes, and only at the hub.
func TestWhatIsShownOfAnExpansion(t *testing.T) {
	t.Parallel()
	answer := func(status metav1.ConditionStatus, reason string) metav1.Condition {
		return metav1.Condition{Type: "Expanded", Status: status, Reason: reason, Message: "in words"}
	}
	full := answer(metav1.ConditionFalse, "MaxPoolsReached")
	for name, test := range map[string]struct {
		place       poolspec.Place
		isUnwanted  bool
		before      metav1.Condition
		expander    expander
		want, event string
		err         error
	}{
		"at the hub":             {place: poolspec.Elsewhere, expander: expander{answer: answer(metav1.ConditionTrue, "Sufficient")}, want: "Sufficient"},
		"what cannot be had":     {place: poolspec.Elsewhere, before: answer(metav1.ConditionTrue, "Sufficient"), expander: expander{answer: full}, want: "MaxPoolsReached", event: "Warning ExpansionMaxPoolsReached in words"},
		"the same as before":     {place: poolspec.Elsewhere, before: full, expander: expander{answer: full}, want: "MaxPoolsReached"},
		"no answer":              {place: poolspec.Elsewhere, before: full, want: "MaxPoolsReached"},
		"an error":               {place: poolspec.Elsewhere, before: full, expander: expander{err: errExpansion}, want: "MaxPoolsReached", err: errExpansion},
		"a copy at its member":   {place: poolspec.Delegated, before: full, expander: expander{answer: full}},
		"a stray copy":           {place: poolspec.Stray, before: full, expander: expander{answer: full}},
		"not asked for any more": {place: poolspec.Elsewhere, isUnwanted: true, before: full, expander: expander{answer: full}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := delegatedPool(nil)
			p.Spec.Expansion = &ipamv1.Expansion{ThresholdPercent: 20, PrefixLength: 25, MaxPools: 3}
			if test.isUnwanted {
				p.Spec.Expansion = nil
			}
			if test.before.Type != "" {
				conditions.Set(p, test.before)
			}
			before := p.DeepCopy()
			recorder := events.NewFakeRecorder(1)
			r := &Reconciler{reporter: reporter{Options: Options{Expander: test.expander, Recorder: recorder}}}
			s := &scope{pool: p, says: poolspec.Pool{Place: test.place, DelegateTo: "edge-a"}}
			if err := r.expand(t.Context(), s); !errors.Is(err, test.err) {
				t.Errorf("err %v", err)
			}
			showExpanded(s)
			r.announceExpanded(before, p)
			if got := conditions.GetReason(p, ipamv1.ExpandedCondition); got != test.want {
				t.Errorf("shown %q, want %q", got, test.want)
			}
			event := ""
			select {
			case event = <-recorder.Events:
			default:
			}
			if event != test.event {
				t.Errorf("event %q, want %q", event, test.event)
			}
		})
	}
}
