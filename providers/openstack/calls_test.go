// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/external"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/providers/openstack/neutron"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/openstack"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/openstack/fake"
)

const (
	logIn      = "LogIn"
	extensions = "ListExtensions"
	list       = "ListFloatingIPs"
	networks   = "ListNetworks"
	look       = "GetFloatingIP"
	create     = "CreateFloatingIP"
	describing = "DescribeFloatingIP"
	remove     = "DeleteFloatingIP"
)

// TestTwoCallsToAllocateAndTwoToRelease counts what a claim costs the cloud.
func TestTwoCallsToAllocateAndTwoToRelease(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first, second := claim("first", claimUID), claim("second", "second-uid")
	has := b.mustAcquire(first)
	b.expectCalls("the first claim", logIn, extensions, list, create)
	b.mustAcquire(second)
	b.expectCalls("the next claim", list, create)
	if again := b.mustAcquire(first); again != has {
		t.Errorf("it was %v, and is %v", has, again)
	}
	b.expectCalls("the first claim once more", list, look)
	if err := b.adopt(b.ctx(), first, has.Addr); err != nil {
		t.Error(err)
	}
	b.expectCalls("adopting", list)
	if err := b.giveBack(b.ctx(), external.ClaimReleased(first)); err != nil {
		t.Error(err)
	}
	b.expectCalls("the release", list, remove)
	if err := b.giveBack(b.ctx(), external.ClaimReleased(first)); err != nil {
		t.Error(err)
	}
	b.expectCalls("the release once more", list, networks)
	if owned := b.FloatingIPs(); len(owned) != 1 || owned[0].Description != "weir/1/"+poolKey+"/second-uid/infra/second" {
		t.Errorf("left: %+v", owned)
	}
	if b.secrets.reads != 6 {
		t.Errorf("the Secret was read %d times", b.secrets.reads)
	}
}

// TestARecordedAddressIsPreferred: of several floating IPs of a claim, that of its record; without
// one, each manager takes the same.
func TestARecordedAddressIsPreferred(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c := claim("c", claimUID)
	description, err := describe(poolKey, c)
	if err != nil {
		t.Fatal(err)
	}
	for range 5 {
		if _, err := b.member.Create(t.Context(), neutron.CreateOptions{NetworkID: b.pool.Network, Description: description}); err != nil {
			t.Fatal(err)
		}
	}
	all := b.FloatingIPs()
	if has := b.mustAcquire(c); has != (external.Address{Addr: all[0].Address, ID: all[0].ID}) {
		t.Errorf("without a record: %v", has)
	}
	for _, f := range all {
		has, err := b.Acquire(b.ctx(), b.pool, asksAgain(c, f.Address))
		if err != nil || has != (external.Address{Addr: f.Address, ID: f.ID}) {
			t.Errorf("the record holds %s: %v, %v", f.Address, has, err)
		}
	}
	if n := len(b.FloatingIPs()); n != 5 {
		t.Errorf("there are %d", n)
	}
}

// TestNothingIsCreatedWithoutRoom: in the pool, by the quota, or in the network.
func TestNothingIsCreatedWithoutRoom(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c := claim("c", claimUID)
	expect := func(what, words string) {
		t.Helper()
		if _, err := b.acquire(b.ctx(), c); reasonOf(err) != "PoolExhausted" || !strings.Contains(err.Error(), words) {
			t.Errorf("%s: %v", what, err)
		}
	}
	shortage := func(want external.Shortage) {
		t.Helper()
		if last, _ := b.LastAnswer(b.pool); last.Shortage != want {
			t.Errorf("the pool is told %q, want %q", last.Shortage, want)
		}
	}
	b.pool.Room = 0
	expect("no room", "maxIPs")
	shortage("")
	b.expectCalls("no room", logIn, extensions, list)
	b.pool.Room = 1
	if err := b.SetQuota(t.Context(), 0); err != nil {
		t.Fatal(err)
	}
	expect("quota", "quota")
	shortage(external.QuotaUsedUp)
	if err := b.SetQuota(t.Context(), -1); err != nil {
		t.Fatal(err)
	}
	b.clock.Step(shortestCreationClosure)
	tiny, err := b.member.FindNetwork(t.Context(), neutron.NetworkFilter{Name: openstack.Tiny})
	if err != nil {
		t.Fatal(err)
	}
	b.pool.Network = tiny.ID
	others := []string{"a", "b", "c"}
	for _, name := range others {
		b.mustAcquire(claim(name, name))
	}
	shortage("")
	expect("network", "no free address")
	shortage(external.NetworkFull)
	if err := b.giveBack(b.ctx(), external.ClaimReleased(claim("b", "b"))); err != nil {
		t.Fatal(err)
	}
	shortage("")
	b.mustAcquire(c)
	b.pool.Room = 0
	b.mustAcquire(c) // what it has, it keeps
}

// TestAClaimHasWhatCarriesItsUID: another claim of the same name has nothing of it.
func TestAClaimHasWhatCarriesItsUID(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	first, next := claim("c", claimUID), claim("c", "next-uid")
	has := b.mustAcquire(first)
	if err := b.adopt(b.ctx(), next, has.Addr); reasonOf(err) != "AllocationFailed" {
		t.Errorf("the next claim of the name adopts: %v", err)
	}
	if err := b.adopt(b.ctx(), first, has.Addr.Next()); reasonOf(err) != "AllocationFailed" {
		t.Errorf("another address is adopted: %v", err)
	}
	if other := b.mustAcquire(next); other.Addr == has.Addr {
		t.Errorf("both have %v", has)
	}
	if err := b.giveBack(b.ctx(), external.ClaimReleased(first)); err != nil || len(b.owned(claimUID)) != 0 || len(b.owned("next-uid")) != 1 {
		t.Errorf("%v; left: %+v", err, b.FloatingIPs())
	}
}

func TestWhatHasNoUIDGetsNothing(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	for _, uid := range []string{"", "-", "a/b"} {
		_, err := b.Acquire(b.ctx(), b.pool, asks(claim("c", uid)))
		if reasonOf(err) != "AllocationFailed" {
			t.Errorf("UID %q: %v", uid, err)
		}
		if err := b.giveBack(b.ctx(), external.ClaimReleased(claim("c", uid))); reasonOf(err) != "WaitingForCloud" {
			t.Errorf("UID %q: %v", uid, err)
		}
	}
	if err := b.giveBack(b.ctx(), external.Proof{}); reasonOf(err) != "WaitingForCloud" {
		t.Errorf("without a proof: %v", err)
	}
	b.expectCalls("nothing", logIn, extensions)
}

// TestACloudThatHangsHoldsFourCalls: the fifth is not made, and another cloud has its own four.
func TestACloudThatHangsHoldsFourCalls(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.mustAcquire(claim("warm", "warm"))
	b.Provider = b.newProvider(b.clock, 2*(callsPerCloud+1))
	b.mustAcquire(claim("warm", "warm"))
	other := b.pool
	other.Source = other.Source.DeepCopy()
	other.Source.IdentityRef.CloudName = openstack.Other
	if _, err := b.Acquire(b.ctx(), other, asks(claim("warm", "warm"))); err != nil {
		t.Fatal(err)
	}
	b.Reset()

	var done sync.WaitGroup
	hang := func(pool external.Pool, uid string) fake.Hold {
		hold := b.Hold(create, fake.Delay)
		done.Go(func() {
			if _, err := b.Acquire(b.ctx(), pool, asks(claim(uid, uid))); err != nil {
				t.Errorf("%s: %v", uid, err)
			}
		})
		<-hold.Arrived
		return hold
	}
	holds := make([]fake.Hold, 0, callsPerCloud+1)
	for _, uid := range []string{"a", "b", "c", "d"} {
		holds = append(holds, hang(b.pool, uid))
	}
	reads := b.secrets.reads
	for range 3 {
		if _, err := b.acquire(b.ctx(), claim("e", "e")); !errors.Is(err, ledger.ErrBusy) {
			t.Errorf("the fifth of a cloud: %v", err)
		}
	}
	holds = append(holds, hang(other, "f")) // the last of all
	if _, err := b.Acquire(b.ctx(), other, asks(claim("g", "g"))); !errors.Is(err, ledger.ErrBusy) {
		t.Errorf("the sixth of all: %v", err)
	}
	if b.secrets.reads != reads+1 {
		t.Errorf("the Secret was read %d times by what was not to begin", b.secrets.reads-reads-1)
	}
	for _, hold := range holds {
		hold.Release()
	}
	done.Wait()
	b.mustAcquire(claim("e", "e"))
	if n := b.Count(create); n != 6 {
		t.Errorf("%d were created", n)
	}
}

// TestOneCallLogsIn: what comes meanwhile does not wait for it.
func TestOneCallLogsIn(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	hold := b.Hold(logIn, fake.Delay)
	done := make(chan error)
	go func() {
		_, err := b.Acquire(b.ctx(), b.pool, asks(claim("first", "first")))
		done <- err
	}()
	<-hold.Arrived
	if _, err := b.acquire(b.ctx(), claim("next", "next")); !errors.Is(err, ledger.ErrBusy) {
		t.Errorf("another log-in is under way: %v", err)
	}
	hold.Release()
	if err := <-done; err != nil {
		t.Error(err)
	}
	b.mustAcquire(claim("next", "next"))
	if n := b.Count(logIn); n != 1 {
		t.Errorf("%d log-ins", n)
	}
}

// TestUnusedClientsAreDropped after an hour, and made again when they are needed.
func TestUnusedClientsAreDropped(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	other := b.pool
	other.Source = other.Source.DeepCopy()
	other.Source.IdentityRef.CloudName = openstack.Other
	b.mustAcquire(claim("c", "c"))
	for i, want := range []int{2, 2, 1} {
		if _, err := b.Acquire(b.ctx(), other, asks(claim("d", "d"))); err != nil {
			t.Fatal(err)
		}
		if n := len(b.clouds); n != want {
			t.Errorf("%d: there are %d", i, n)
		}
		b.clock.Step(clientIdle/2 + time.Second)
	}
	b.Reset()
	b.mustAcquire(claim("c", "c"))
	b.expectCalls("a client that was dropped", logIn, extensions, list, look)
}

// TestAThousandFloatingIPs cost two calls each to allocate, and two to release.
func TestAThousandFloatingIPs(t *testing.T) {
	t.Parallel()
	const many = 1000
	b := newBench(t)
	each := func(run func(ctx context.Context, c ipamv1.ClaimReference) error, want ...string) {
		t.Helper()
		b.Reset()
		for i := range many {
			if err := run(b.ctx(), claim(fmt.Sprint("c", i), fmt.Sprint("uid-", i))); err != nil {
				t.Fatal(err)
			}
		}
		for _, call := range want {
			if n := b.Count(call); n != many {
				t.Errorf("%d calls of %s", n, call)
			}
		}
		if n := len(b.Calls()); n > len(want)*many+2 {
			t.Errorf("%d calls", n)
		}
	}
	each(func(ctx context.Context, c ipamv1.ClaimReference) error { _, err := b.acquire(ctx, c); return err }, list, create)
	if n := len(b.FloatingIPs()); n != many {
		t.Errorf("there are %d", n)
	}
	each(func(ctx context.Context, c ipamv1.ClaimReference) error {
		return b.giveBack(ctx, external.ClaimReleased(c))
	}, list, remove)
	if n := len(b.FloatingIPs()); n != 0 {
		t.Errorf("%d are left", n)
	}
}
