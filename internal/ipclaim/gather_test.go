// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ipclaim

import (
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	testingclock "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

func TestWhoComesAloneDoesNotWaitAndOthersWaitTogether(t *testing.T) {
	t.Parallel()
	clock := testingclock.NewFakePassiveClock(time.Now())
	g := &gathering{clock: clock}
	for _, step := range []struct{ after, want time.Duration }{
		{0, 0},
		{10 * time.Millisecond, gatherTime - 10*time.Millisecond},
		{gatherTime - 11*time.Millisecond, time.Millisecond},
		{time.Millisecond, 0}, // the next time begins
		{time.Millisecond, gatherTime - time.Millisecond},
		{time.Hour, 0},
	} {
		clock.SetTime(clock.Now().Add(step.after))
		if got := g.wait(); got != step.want {
			t.Errorf("%s later: waits %s, want %s", step.after, got, step.want)
		}
	}
}

func TestOnlyClaimsThatHaveTheirAnswerWait(t *testing.T) {
	t.Parallel()
	claim := func(change func(*ipamv1.IPClaim)) *ipamv1.IPClaim {
		c := &ipamv1.IPClaim{Spec: ipamv1.IPClaimSpec{CIDR: "10.0.0.1/32"}}
		change(c)
		return c
	}
	for name, test := range map[string]struct {
		obj  client.Object
		want bool
	}{
		"answered in the call":    {claim(func(*ipamv1.IPClaim) {}), true},
		"past the webhooks":       {claim(func(c *ipamv1.IPClaim) { c.Spec.CIDR = "" }), false},
		"looked at before":        {claim(func(c *ipamv1.IPClaim) { c.Status.Conditions = []metav1.Condition{{}} }), false},
		"arrived with its prefix": {claim(func(c *ipamv1.IPClaim) { c.Annotations = map[string]string{ipamv1.ArrivedAnnotation: "now"} }), false},
		"being deleted":           {claim(func(c *ipamv1.IPClaim) { c.DeletionTimestamp = &metav1.Time{Time: time.Now()} }), false},
		"an object of other kind": {&ipamv1.IPPool{}, false},
	} {
		if got := isAnswered(test.obj); got != test.want {
			t.Errorf("%s: waits %t, want %t", name, got, test.want)
		}
	}
}

func TestAsManyAreBoundAtOnceAsThereAreSlots(t *testing.T) {
	t.Parallel()
	g := newGathering(2 * bindingShare)
	leave, _ := g.enter(t.Context()), g.enter(t.Context())
	begun := time.Now()
	g.enter(t.Context())() // waits for as long as claims may, and holds nothing
	if waited := time.Since(begun); waited < gatherTime {
		t.Errorf("the third did not wait (%s)", waited)
	}
	leave()
	if g.enter(t.Context()); len(g.slots) != cap(g.slots) {
		t.Error("the slot that was given back is not taken")
	}
}
