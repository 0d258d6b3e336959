// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claim

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/door"
)

var start = time.Unix(1_000_000, 0)

// at is a claim that was made, and answered, so long after the start; answered may be 0 for a claim that waits.
func at(created, answered time.Duration) *door.Claim {
	stored := &ipamv1beta2.IPAddressClaim{}
	stored.CreationTimestamp = metav1.NewTime(start.Add(created))
	if answered != 0 {
		stored.Status.Conditions = []metav1.Condition{{Type: ipamv1.ReadyCondition, LastTransitionTime: metav1.NewTime(start.Add(answered))}}
	}
	return &door.Claim{Stored: stored, Object: stored}
}

// TestWasThere: nothing is later than the work on the claim.
func TestWasThere(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct{ shown, created, want time.Duration }{
		"the cache has shown a later claim":       {50 * time.Second, time.Second, 50 * time.Second},
		"the claim itself is the last":            {time.Second, 50 * time.Second, 50 * time.Second},
		"the API server's clock is an hour ahead": {time.Second, time.Hour, time.Minute},
	} {
		if got := wasThere(start.Add(test.shown), at(test.created, 0), start.Add(time.Minute)).Sub(start); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

func TestShownUntil(t *testing.T) {
	t.Parallel()
	clock := clocktesting.NewFakePassiveClock(start.Add(time.Minute))
	s := &shown{Clock: clock}
	for _, step := range []struct {
		name  string
		claim *door.Claim
		want  time.Duration
	}{
		{"a claim that was made", at(10*time.Second, 0), 10 * time.Second},
		{"an older claim that was answered later", at(5*time.Second, 20*time.Second), 20 * time.Second},
		{"an older claim, as a list shows it", at(time.Second, 2*time.Second), 20 * time.Second},
		{"an answer of another clock, which is ahead", at(5*time.Second, time.Hour), 20 * time.Second},
		{"a claim made this moment", at(time.Minute, 0), time.Minute},
	} {
		s.note(step.claim)
		if got := s.moment().Sub(start); got != step.want {
			t.Errorf("after %s: until %s, want %s", step.name, got, step.want)
		}
	}
}
