// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"fmt"
	"net/http"
	"testing"
	"time"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/external"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/openstack"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/openstack/fake"
)

// manyAsk has claims ask that have nothing, all in vain and for this reason, and returns how many calls of a name the cloud saw of that.
func (b *bench) manyAsk(reason, call string) int {
	b.t.Helper()
	before := b.Count(call)
	for i := range 10 {
		if _, err := b.acquire(b.ctx(), claim(fmt.Sprint("many-", i), fmt.Sprint("many-", i))); reasonOf(err) != reason {
			b.t.Errorf("a claim: %v", err)
		}
	}
	return b.Count(call) - before
}

// expectPauses has claims ask just before each pause is over, for which nothing is called, and then, for which one call finds out: its requests
// are at most so many.
func (b *bench) expectPauses(reason, call string, most int, pauses ...time.Duration) {
	b.t.Helper()
	for _, pause := range pauses {
		b.clock.Step(pause - 1)
		all := len(b.Calls())
		if b.manyAsk(reason, call); len(b.Calls()) != all {
			b.t.Errorf("%v within %s after the last one", b.Calls()[all:], pause)
		}
		b.clock.Step(1)
		if seen := b.manyAsk(reason, call); seen < 1 || seen > most {
			b.t.Errorf("%d calls %s after the last one, want 1 to %d", seen, pause, most)
		}
	}
}

// TestACloudThatFailsIsLeftAlone: for 5 seconds at first and for 5 minutes in the end claims and releases are told the same, and nothing is
// called. Then one call finds out whether the cloud does better.
func TestACloudThatFailsIsLeftAlone(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		fault fake.Fault
		// lists are how many requests a list is at most: one more with a new token, or if the connection had been used before.
		lists int
	}{
		"Unauthorized":                      {fake.Fault{Effect: fake.Refuse, Code: http.StatusUnauthorized}, 2},
		"Forbidden":                         {fake.Fault{Effect: fake.Refuse, Code: http.StatusForbidden}, 1},
		"Busy (413)":                        {fake.Fault{Effect: fake.Refuse, Code: http.StatusRequestEntityTooLarge}, 1},
		"Busy (429)":                        {fake.Fault{Effect: fake.Refuse, Code: http.StatusTooManyRequests}, 1},
		"Unavailable (503)":                 {fake.Fault{Effect: fake.Refuse, Code: http.StatusServiceUnavailable}, 1},
		"Unavailable (no answer)":           {fake.Fault{Effect: fake.CutBefore}, 2},
		"Unavailable (a part of an answer)": {fake.Fault{Effect: fake.CutAnswer}, 1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.mustAcquire(ours)
			test.fault.Call, test.fault.Times = list, -1
			b.Inject(test.fault)
			if seen := b.manyAsk("PoolNotReady", list); seen < 1 || seen > test.lists {
				t.Errorf("%d lists at first, want %d", seen, test.lists)
			}
			all := len(b.Calls())
			if err := b.giveBack(b.ctx(), external.ClaimReleased(ours)); reasonOf(err) != "WaitingForCloud" || len(b.Calls()) != all {
				t.Errorf("a release: %v, %v", err, b.Calls()[all:])
			}
			b.expectPauses("PoolNotReady", list, test.lists, 5*time.Second, 10*time.Second, 20*time.Second, 40*time.Second, 80*time.Second,
				160*time.Second, 5*time.Minute, 5*time.Minute)
			b.ClearFaults()
			b.clock.Step(5 * time.Minute)
			b.mustAcquire(ours)
			b.Inject(test.fault)
			b.manyAsk("PoolNotReady", list)
			b.expectPauses("PoolNotReady", list, test.lists, 5*time.Second)
			b.ClearFaults()
			b.secrets.set(string(b.CloudsYAML())+"# another\n", "", nil)
			b.mustAcquire(ours) // other credentials may do better
		})
	}
}

// TestTheCloudSaysWhenToCallAgain: for so long nothing is called, and the claim that has asked comes back then.
func TestTheCloudSaysWhenToCallAgain(t *testing.T) {
	t.Parallel()
	for _, call := range []string{list, create} {
		b := newBench(t)
		b.mustAcquire(claim("warm", "warm"))
		b.Inject(fake.Fault{Call: call, Effect: fake.Refuse, Code: http.StatusTooManyRequests, RetryAfter: "90", Times: -1})
		for _, again := range []time.Duration{90 * time.Second, retry} {
			if _, err := b.acquire(b.ctx(), ours); retryTimeOf(err) != again {
				t.Errorf("%s: to be tried again after %s, want %s: %v", call, retryTimeOf(err), again, err)
			}
		}
		b.expectPauses("PoolNotReady", call, 1, 90*time.Second, 90*time.Second)
	}
}

// TestOneCallFindsOut whether a cloud does better: others are to come again, and call nothing.
func TestOneCallFindsOut(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.mustAcquire(ours)
	b.Inject(fake.Fault{Call: list, Effect: fake.Refuse, Code: http.StatusServiceUnavailable})
	b.manyAsk("PoolNotReady", list)
	b.clock.Step(5 * time.Second)
	hold := b.Hold(list, fake.Delay)
	done := make(chan error)
	go func() {
		_, err := b.Acquire(b.ctx(), b.pool, asks(ours))
		done <- err
	}()
	<-hold.Arrived
	if seen := b.manyAsk("busy", list); seen != 0 {
		t.Errorf("%d lists beside that of the one", seen)
	}
	hold.Release()
	if err := <-done; err != nil {
		t.Error(err)
	}
	b.mustAcquire(claim("next", "next"))
}

// TestACallThatTellsNothingIsFollowedByAnother: its caller went, or its answer was lost.
func TestACallThatTellsNothingIsFollowedByAnother(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.mustAcquire(claim("warm", "warm"))
	b.Inject(fake.Fault{Call: list, Effect: fake.Refuse, Code: http.StatusServiceUnavailable})
	b.manyAsk("PoolNotReady", list)
	b.clock.Step(5 * time.Second)
	for _, call := range []string{list, create} {
		ctx, release := b.lose(call)
		if _, err := b.acquire(ctx, ours); reasonOf(err) != "busy" {
			t.Errorf("its caller went: %v", err)
		}
		release()
		b.eventually("the call is executed", func() bool { return b.Active() == 0 })
	}
	b.mustAcquire(ours)
	b.mustAcquire(claim("next", "next"))
}

// TestWhatLeavesACloudOpen: the cloud answers, and says no; or what it has done is not known.
func TestWhatLeavesACloudOpen(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]fake.Fault{
		"a conflict":             {Effect: fake.Refuse, Code: http.StatusConflict},
		"changed":                {Effect: fake.Refuse, Code: http.StatusPreconditionFailed},
		"invalid":                {Effect: fake.Refuse, Code: http.StatusBadRequest},
		"forbidden":              {Effect: fake.Refuse, Code: http.StatusForbidden},
		"no network":             {Effect: fake.Refuse, Code: http.StatusNotFound, Body: `{"NeutronError": {"type": "NetworkNotFound", "message": "", "detail": ""}}`},
		"an answer that is lost": {Effect: fake.CutAfter},
		"an internal error":      {Effect: fake.Refuse, Code: http.StatusInternalServerError},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.mustAcquire(ours)
			fault.Call = create
			b.Inject(fault)
			if _, err := b.acquire(b.ctx(), claim("fails", "fails")); err == nil {
				t.Error("it does not fail")
			}
			if err := b.giveBack(b.ctx(), external.ClaimReleased(ours)); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestNothingIsAcquiredWhereNothingIsCreated: where the quota is used up, the network is full, or creation is forbidden, claims that have nothing
// are searched for once, and then told so without a call, for half a minute at first and 5 minutes in the end. What a claim has it is given, releases go on, and so does
// another pool. Once something was given back, claims ask again.
func TestNothingIsAcquiredWhereNothingIsCreated(t *testing.T) {
	t.Parallel()
	body := func(kind string) string {
		return fmt.Sprintf(`{"NeutronError": {"type": %q, "message": "", "detail": ""}}`, kind)
	}
	for name, test := range map[string]struct {
		fault  fake.Fault
		reason string
	}{
		"Quota":     {fake.Fault{Code: http.StatusConflict, Body: body("OverQuota")}, "PoolExhausted"},
		"NoAddress": {fake.Fault{Code: http.StatusConflict, Body: body("IpAddressGenerationFailure")}, "PoolExhausted"},
		"Forbidden": {fake.Fault{Code: http.StatusForbidden}, "PoolNotReady"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			other := b.pool
			other.Key = "another-key"
			b.mustAcquire(claim("c", "c"))
			test.fault.Call, test.fault.Effect, test.fault.Times = create, fake.Refuse, -1
			b.Inject(test.fault)
			if seen := b.manyAsk(test.reason, create); seen != 1 {
				t.Errorf("%d creations at first", seen)
			}
			b.expectPauses(test.reason, create, 1, 30*time.Second, 60*time.Second, 120*time.Second, 240*time.Second, 5*time.Minute, 5*time.Minute)
			recorded, told, another := asks(claim("recorded", "recorded")), asks(claim("told", "told")), b.newProvider(b.clock, 32)
			for _, request := range []external.Request{recorded, told} { // this manager knows that they have nothing, and another one creates it
				if _, err := b.Acquire(b.ctx(), b.pool, request); reasonOf(err) != test.reason {
					t.Error(err)
				}
				b.ClearFaults()
				if _, err := another.Acquire(b.ctx(), b.pool, request); err != nil {
					t.Fatal(err)
				}
				b.Inject(test.fault)
			}
			recorded.IsRecorded, told.IsTold = true, true
			for _, request := range []external.Request{recorded, told} {
				if _, err := b.Acquire(b.ctx(), b.pool, request); err != nil {
					t.Errorf("what it has: %v", err)
				}
			}
			if err := b.giveBack(b.ctx(), external.ClaimReleased(claim("nothing", "nothing"))); err != nil || b.manyAsk(test.reason, create) != 0 {
				t.Errorf("nothing was given back: %v", err)
			}
			if err := b.giveBack(b.ctx(), external.ClaimReleased(claim("c", "c"))); err != nil {
				t.Error(err)
			}
			if seen := b.manyAsk(test.reason, create); seen != 1 {
				t.Errorf("%d creations after something was given back", seen)
			}
			b.ClearFaults()
			if _, err := b.Acquire(b.ctx(), other, asks(ours)); err != nil {
				t.Errorf("another pool: %v", err)
			}
			b.clock.Step(30 * time.Second)
			b.mustAcquire(ours)
			b.mustAcquire(claim("next", "next"))
		})
	}
}

// TestWhatIsFreedForAllPoolsOfAnAccount: another pool's release makes room in the quota.
func TestWhatIsFreedForAllPoolsOfAnAccount(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	other := b.pool
	other.Key = "another-key"
	if _, err := b.Acquire(b.ctx(), other, asks(ours)); err != nil {
		t.Fatal(err)
	}
	for _, policy := range []ipamv1.FloatingIPReclaimPolicy{ipamv1.RetainFloatingIPs, ipamv1.DeleteFloatingIPs} {
		if err := b.SetQuota(t.Context(), 1); err != nil {
			t.Fatal(err)
		}
		if seen := b.manyAsk("PoolExhausted", create); seen != 1 {
			t.Errorf("%d creations before a release with %s", seen, policy)
		}
		other.Source = other.Source.DeepCopy()
		other.Source.ReclaimPolicy = policy
		if err := b.GiveBack(b.ctx(), other, external.ClaimReleased(ours)); err != nil {
			t.Fatal(err)
		}
		if policy == ipamv1.RetainFloatingIPs { // the claim takes it up again
			if _, err := b.Acquire(b.ctx(), other, asks(ours)); err != nil {
				t.Fatal(err)
			}
		}
	}
	b.mustAcquire(claim("next", "next"))
}

// TestWhatAClaimHasIsFoundWhereNothingIsCreated: the manager that created it has died, or its answer was lost. Each claim is searched for once,
// and nothing is created.
func TestWhatAClaimHasIsFoundWhereNothingIsCreated(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	theirs, err := b.newProvider(b.clock, 32).Acquire(b.ctx(), b.pool, asks(ours))
	if err != nil {
		t.Fatal(err)
	}
	full := fake.Fault{Call: create, Effect: fake.Refuse, Code: http.StatusConflict, Body: `{"NeutronError": {"type": "OverQuota", "message": "", "detail": ""}}`, Times: -1}
	b.Inject(full)
	b.manyAsk("PoolExhausted", create)
	b.Reset()
	if has := b.mustAcquire(ours); has != theirs {
		t.Errorf("%v, want %v", has, theirs)
	}
	if seen := b.manyAsk("PoolExhausted", create); seen != 0 || b.Count(list) != 1 {
		t.Errorf("%d creations, %d lists", seen, b.Count(list))
	}

	b.clock.Step(30 * time.Second)
	b.ClearFaults()
	b.Inject(fake.Fault{Call: create, Effect: fake.CutAfter})
	lost := claim("many-0", "many-0")
	if _, err = b.acquire(b.ctx(), lost); reasonOf(err) != "busy" {
		t.Errorf("its answer is lost: %v", err)
	}
	b.Inject(full)
	if _, err = b.acquire(b.ctx(), claim("many-1", "many-1")); reasonOf(err) != "PoolExhausted" {
		t.Errorf("the next one: %v", err)
	}
	b.mustAcquire(lost)
	if has := b.owned("many-0"); len(has) != 1 {
		t.Errorf("it has %v", has)
	}
}

// TestAClaimThatIsReleasedIsForgotten, also if it had nothing.
func TestAClaimThatIsReleasedIsForgotten(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.Inject(fake.Fault{Call: create, Effect: fake.Refuse, Code: http.StatusForbidden, Times: -1})
	b.manyAsk("PoolNotReady", create)
	for i := range 10 {
		if err := b.giveBack(b.ctx(), external.ClaimReleased(claim("", fmt.Sprint("many-", i)))); err != nil {
			t.Error(err)
		}
	}
	if c := b.cloudOf(accountOf(b.pool)); len(c.creationOf(b.pool.Key).without) != 0 {
		t.Errorf("kept: %v", c.creationOf(b.pool.Key).without)
	}
}

// TestAnotherAccountGoesOn: credentials that are refused, a project that is to call less, and one without room are no matter of the next entry of
// the same Secret.
func TestAnotherAccountGoesOn(t *testing.T) {
	t.Parallel()
	for name, fault := range map[string]fake.Fault{
		"its log-in is refused": {Call: logIn, Effect: fake.Refuse, Code: http.StatusUnauthorized, Times: -1},
		"its token is refused":  {Call: list, Effect: fake.Refuse, Code: http.StatusUnauthorized, Times: -1},
		"it is to call less":    {Call: list, Effect: fake.Refuse, Code: http.StatusTooManyRequests, RetryAfter: "600", Times: -1},
		"it may not create":     {Call: create, Effect: fake.Refuse, Code: http.StatusForbidden, Times: -1},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			b.Inject(fault)
			b.manyAsk("PoolNotReady", fault.Call)
			b.ClearFaults()
			other := b.pool
			other.Source = other.Source.DeepCopy()
			other.Source.IdentityRef.CloudName = openstack.Other
			if _, err := b.Acquire(b.ctx(), other, asks(claim("theirs", "theirs"))); err != nil {
				t.Errorf("the other one: %v", err)
			}
			if seen := b.manyAsk("PoolNotReady", create); seen != 0 {
				t.Errorf("%d creations", seen)
			}
		})
	}
}

// TestWhatOnePoolIsForbidden leaves the claims of others alone: they need nothing but floating IPs.
func TestWhatOnePoolIsForbidden(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.mustAcquire(ours)
	b.Inject(fake.Fault{Call: "ListNetworks", Effect: fake.Refuse, Code: http.StatusForbidden, Times: -1})
	if _, err := b.Identify(b.ctx(), b.pool); err == nil {
		t.Error("it is not forbidden")
	}
	if err := b.giveBack(b.ctx(), external.ClaimReleased(ours)); err != nil {
		t.Error(err)
	}
}
