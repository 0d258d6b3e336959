// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"fmt"
	"net/http"
	"testing"
	"time"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/external"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/providers/openstack/neutron"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/openstack"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/openstack/fake"
)

// operation is a method of the provider, with what must be so before it.
type operation struct {
	calls []string
	// hasOne: the claim has a floating IP before.
	hasOne bool
	policy map[string]string
	run    func(context.Context, *bench) error
	// leaves is how many the claim has once it has succeeded.
	leaves int
}

var ours = claim("c", claimUID)

// formerUID is the UID that the claim ours had before it moved.
const formerUID = "former-uid"

// lendTo makes a floating IP that a claim has.
func (b *bench) lendTo(c ipamv1.ClaimReference) {
	b.t.Helper()
	description, err := describe(poolKey, c)
	if err == nil {
		_, err = b.member.Create(b.t.Context(), neutron.CreateOptions{NetworkID: b.pool.Network, Description: description})
	}
	if err != nil {
		b.t.Fatal(err)
	}
}

var operations = map[string]operation{
	"allocate": {
		calls: []string{logIn, extensions, list, create}, leaves: 1,
		run: func(ctx context.Context, b *bench) error { _, err := b.acquire(ctx, ours); return err },
	},
	"allocate again": {
		calls: []string{logIn, extensions, list}, hasOne: true, leaves: 1,
		run: func(ctx context.Context, b *bench) error { _, err := b.acquire(ctx, ours); return err },
	},
	"adopt": {
		calls: []string{logIn, extensions, list}, hasOne: true, leaves: 1,
		run: func(ctx context.Context, b *bench) error { return b.adopt(ctx, ours, b.owned(claimUID)[0].Address) },
	},
	"take over": {
		calls: []string{logIn, extensions, list, describing}, leaves: 1,
		run: func(ctx context.Context, b *bench) error {
			if len(b.owned(formerUID)) == 0 && len(b.owned(claimUID)) == 0 {
				b.lendTo(claim(ours.Name, formerUID))
			}
			all := append(b.owned(formerUID), b.owned(claimUID)...)
			_, err := b.takeOver(ctx, ours, all[0].Address)
			return err
		},
	},
	"release": {
		calls: []string{logIn, extensions, list, remove}, hasOne: true,
		run: func(ctx context.Context, b *bench) error { return b.giveBack(ctx, external.ClaimReleased(ours)) },
	},
	"release where deleting is forbidden": {
		calls: []string{describing}, hasOne: true, policy: map[string]string{"delete_floatingip": "!"},
		run: func(ctx context.Context, b *bench) error { return b.giveBack(ctx, external.ClaimReleased(ours)) },
	},
}

// faults are all that the fake does to a request. Words of a server are in each answer, and the
// password.
func faults() map[string]fake.Fault {
	body := func(kind string) string {
		return fmt.Sprintf(`{"NeutronError": {"type": %q, "message": "%s %s", "detail": ""}}`,
			kind, serverWords, openstack.Password(openstack.Member))
	}
	all := map[string]fake.Fault{
		"quota":                  {Effect: fake.Refuse, Code: http.StatusConflict, Body: body("OverQuota")},
		"no address":             {Effect: fake.Refuse, Code: http.StatusConflict, Body: body("IpAddressGenerationFailure")},
		"no network":             {Effect: fake.Refuse, Code: http.StatusNotFound, Body: body("NetworkNotFound")},
		"a load balancer's page": {Effect: fake.Refuse, Code: http.StatusBadGateway, Body: "<html>" + serverWords},
		"slow down":              {Effect: fake.Refuse, Code: http.StatusTooManyRequests, Body: body("X"), RetryAfter: "120"},
		"cut before":             {Effect: fake.CutBefore},
		"cut after":              {Effect: fake.CutAfter},
		"cut answer":             {Effect: fake.CutAnswer},
		"cut answers":            {Effect: fake.CutAnswer, Times: 3},
		"delay":                  {Effect: fake.Delay, For: 10 * time.Millisecond},
		"delay of the answer":    {Effect: fake.DelayAnswer, For: 10 * time.Millisecond},
		"late":                   {Effect: fake.Late},
	}
	for _, code := range []int{302, 400, 401, 403, 404, 408, 409, 412, 413, 429, 500, 502, 503, 504} {
		all[fmt.Sprint("refused with ", code)] = fake.Fault{Effect: fake.Refuse, Code: code, Body: body("X")}
		all[fmt.Sprint("twice refused with ", code)] = fake.Fault{Effect: fake.Refuse, Code: code, Body: body("X"), Times: 2}
	}
	for _, code := range []int{202, 400, 403, 409, 412, 429, 500, 502, 503, 504} {
		all[fmt.Sprint("executed and refused with ", code)] = fake.Fault{Effect: fake.RefuseLate, Code: code, Body: body("X")}
	}
	return all
}

// TestTheNextCallFindsWhatAFaultLeft: after each fault at each call of each operation, the error is
// one of those that may leave the provider, and the next call of the same or of another manager, when
// it is time, ends as if there had been no fault.
func TestTheNextCallFindsWhatAFaultLeft(t *testing.T) {
	t.Parallel()
	for name, op := range operations {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBench(t)
			for _, call := range op.calls {
				for fault, f := range faults() {
					f.Call = call
					b.expectRecovery(op, f, true, fmt.Sprintf("%s: %s, same manager", call, fault))
					if f.Effect != fake.Refuse {
						b.expectRecovery(op, f, false, fmt.Sprintf("%s: %s, another manager", call, fault))
					}
				}
			}
		})
	}
}

func (b *bench) expectRecovery(op operation, f fake.Fault, isSame bool, what string) {
	b.t.Helper()
	b.Provider = b.newProvider(b.clock, 32)
	if op.hasOne {
		b.mustAcquire(ours)
		b.Provider = b.newProvider(b.clock, 32)
	}
	if err := b.SetPolicy(op.policy); err != nil {
		b.t.Fatal(err)
	}
	ended := b.Count(f.Call)
	ctx, release := b.ctx(), func() {}
	if f.Effect == fake.Late {
		ctx, release = b.lose(f.Call)
	} else {
		b.Inject(f)
	}
	first := op.run(ctx, b)
	b.ClearFaults()
	release()
	b.eventually("the request is executed", func() bool { return b.Count(f.Call) > ended })
	if f.RetryAfter != "" && reasonOf(first) != "busy" && first != nil && retryTimeOf(first) != 2*time.Minute {
		b.t.Errorf("%s: to be tried again after %s", what, retryTimeOf(first))
	}
	if !isSame {
		b.Provider = b.newProvider(b.clock, 32)
	}
	b.clock.Step(max(retryTimeOf(first), time.Second))
	// Deleted and free again is what a release ends with.
	if err := op.run(b.ctx(), b); err != nil || len(b.owned(claimUID)) != op.leaves {
		b.t.Errorf("%s: first %v, then %v; there are %+v", what, first, err, b.owned(claimUID))
	}
	if err := b.SetPolicy(nil); err != nil {
		b.t.Fatal(err)
	}
	b.empty()
}

// empty removes all floating IPs, by calls that are not the provider's.
func (b *bench) empty() {
	b.t.Helper()
	b.expectModestCalls()
	defer b.Reset()
	all, err := b.member.List(b.t.Context(), b.pool.Network)
	if err != nil {
		b.t.Fatal(err)
	}
	for _, f := range all {
		if err := b.member.Delete(b.t.Context(), f); err != nil {
			b.t.Fatal(err)
		}
	}
}

// TestALateCreationIsSurplus: it is executed after the next one, and goes with the claim.
func TestALateCreationIsSurplus(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.mustAcquire(claim("warm", "warm"))
	ctx, release := b.lose(create)
	if _, err := b.acquire(ctx, ours); reasonOf(err) != "busy" {
		t.Errorf("the answer is lost: %v", err)
	}
	has := b.mustAcquire(ours)
	release()
	b.eventually("the late creation", func() bool { return len(b.owned(claimUID)) == 2 })
	if again, err := b.Acquire(b.ctx(), b.pool, asksAgain(ours, has.Addr)); err != nil || again != has {
		t.Errorf("it had %v, and has %v, %v", has, again, err)
	}
	if err := b.giveBack(b.ctx(), external.ClaimReleased(ours)); err != nil || len(b.owned(claimUID)) != 0 {
		t.Errorf("%v; left: %+v", err, b.FloatingIPs())
	}
}

// TestTwoManagersCreateOneEach: both carry the claim's UID; the one that is not told goes alone.
func TestTwoManagersCreateOneEach(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	other := b.newProvider(b.clock, 32)
	hold := b.Hold(create, fake.Delay)
	done := make(chan external.Address)
	go func() {
		has, err := other.Acquire(b.ctx(), b.pool, asks(ours))
		if err != nil {
			t.Error(err)
		}
		done <- has
	}()
	<-hold.Arrived
	told := b.mustAcquire(ours)
	hold.Release()
	surplus := <-done
	if surplus == told || len(b.owned(claimUID)) != 2 {
		t.Errorf("%v and %v of %+v", told, surplus, b.owned(claimUID))
	}
	if err := other.GiveBack(b.ctx(), b.pool, external.AddressReleased(ours, surplus.Addr)); err != nil {
		t.Error(err)
	}
	if left := b.owned(claimUID); len(left) != 1 || left[0].ID != told.ID {
		t.Errorf("left: %+v", left)
	}
}

// TestALateDeletionFindsNothing: neither what was deleted meanwhile, nor what has its address now.
func TestALateDeletionFindsNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	has := b.mustAcquire(ours)
	ctx, release := b.lose(remove)
	if err := b.giveBack(ctx, external.ClaimReleased(ours)); reasonOf(err) != "busy" {
		t.Errorf("the answer is lost: %v", err)
	}
	if err := b.giveBack(b.ctx(), external.ClaimReleased(ours)); err != nil {
		t.Error(err)
	}
	next := b.mustAcquire(claim("next", "next"))
	if next.Addr != has.Addr {
		t.Fatalf("the fake gives %v after %v", next, has)
	}
	ended := b.Count(remove)
	release()
	b.eventually("the late deletion", func() bool { return b.Count(remove) > ended })
	if left := b.FloatingIPs(); len(left) != 1 || left[0].ID != next.ID {
		t.Errorf("left: %+v", left)
	}
}
