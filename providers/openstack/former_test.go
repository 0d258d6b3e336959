// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/external"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/providers/openstack/neutron"
)

// expectRefused checks that a claim gets nothing, and is told these words. It waits for a record of another
// claim if isOthers.
func (b *bench) expectRefused(request external.Request, isOthers bool, words ...string) {
	b.t.Helper()
	has, err := b.Acquire(b.ctx(), b.pool, request)
	b.expectOneOf(err, true)
	if err == nil || reasonOf(err) != "AllocationFailed" || errors.Is(err, ledger.ErrTaken) != isOthers {
		b.t.Fatalf("%v, %v", has, err)
	}
	for _, word := range words {
		if !strings.Contains(err.Error(), word) {
			b.t.Errorf("%v does not have %q", err, word)
		}
	}
}

// TestWhatAFormerClaimMayBindIsNotTaken: a floating IP of the stock is taken once no record of its former claim
// is left. A patient claim waits for that, another one gets a new floating IP.
func TestWhatAFormerClaimMayBindIsNotTaken(t *testing.T) {
	t.Parallel()
	for name, description := range map[string]string{"kept": describeFree(poolKey), "lent": ""} {
		b := newBench(t)
		one := b.lend(description)[0]
		if description != "" {
			b.pool.Source.PreAllocatedFloatingIPs = nil
		}
		isLeaving := true
		request := asks(ours)
		request.IsPatient, request.IsOthers = true, func(a netip.Addr) bool { return isLeaving && a == one.Address }
		b.expectRefused(request, true, one.Address.String(), "not released yet")
		b.described(one.ID, description)
		if n := len(b.FloatingIPs()); n != 1 {
			t.Errorf("%s: there are %d", name, n)
		}
		impatient := request
		impatient.Claim, impatient.IsPatient = claim("old", "old"), false
		if has, err := b.Acquire(b.ctx(), b.pool, impatient); err != nil || has.ID == one.ID {
			t.Errorf("%s: the other claim has %v, %v", name, has, err)
		}
		b.described(one.ID, description)
		isLeaving = false
		if has, err := b.Acquire(b.ctx(), b.pool, request); err != nil || has.ID != one.ID {
			t.Errorf("%s: the claim has %v, %v", name, has, err)
		}
	}
}

// TestAnotherOneOfTheStockIsTaken where a former claim may bind the first.
func TestAnotherOneOfTheStockIsTaken(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	all := b.lend("", "", "")
	request := asks(ours)
	request.IsPatient, request.IsOthers = true, func(a netip.Addr) bool { return a != all[1].Address }
	if has, err := b.Acquire(b.ctx(), b.pool, request); err != nil || has.ID != all[1].ID {
		t.Errorf("the claim has %v, %v", has, err)
	}
}

// TestWhatAPortHasIsNotTold: a claim that was not told waits until its floating IP is unbound, also if a record of
// the claim holds it; one that was told has it.
func TestWhatAPortHasIsNotTold(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	has := b.mustAcquire(ours)
	port, err := b.Bind(t.Context(), has.ID)
	if err != nil {
		t.Fatal(err)
	}
	told := asks(ours)
	told.IsTold = true
	if again, err := b.Acquire(b.ctx(), b.pool, told); err != nil || again != has {
		t.Errorf("the claim that was told has %v, %v", again, err)
	}
	for _, request := range []external.Request{asks(ours), asksAgain(ours, has.Addr)} {
		b.expectRefused(request, false, has.Addr.String(), port)
	}
	if err := b.Unbind(t.Context(), port); err != nil {
		t.Fatal(err)
	}
	if again := b.mustAcquire(ours); again != has {
		t.Errorf("it was %v, and is %v", has, again)
	}
}

// TestAFormerClaimIsAwaitedBeforeTheLastLook: its consumer may bind the address until its record has gone. So a
// floating IP that was seen without a port before that is looked at after it.
func TestAFormerClaimIsAwaitedBeforeTheLastLook(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	has := b.mustAcquire(ours)
	request := asks(ours)
	request.IsOthers = func(netip.Addr) bool { return true }
	b.expectRefused(request, true, has.Addr.String(), "not released yet")
	var port string
	request.IsOthers = func(netip.Addr) bool { // the list has shown no port; it gets one, and the former claim goes
		var err error
		if port, err = b.Bind(t.Context(), has.ID); err != nil {
			t.Error(err)
		}
		return false
	}
	_, err := b.Acquire(b.ctx(), b.pool, request)
	if reasonOf(err) != "AllocationFailed" || port == "" || !strings.Contains(err.Error(), port) {
		t.Errorf("port %q: %v", port, err)
	}
}

// TestAFloatingIPThatIsReleasedDuringTheLastLook is not the claim's any more.
func TestAFloatingIPThatIsReleasedDuringTheLastLook(t *testing.T) {
	t.Parallel()
	for name, change := range map[string]func(b *bench, seen neutron.FloatingIP) error{
		"deleted": func(b *bench, seen neutron.FloatingIP) error { return b.member.Delete(b.t.Context(), seen) },
		"freed": func(b *bench, seen neutron.FloatingIP) error {
			_, err := b.member.Describe(b.t.Context(), seen, describeFree(poolKey))
			return err
		},
	} {
		b := newBench(t)
		has := b.mustAcquire(ours)
		request := asks(ours)
		request.IsOthers = func(netip.Addr) bool {
			seen, err := b.member.Get(t.Context(), has.ID)
			if err == nil {
				err = change(b, seen)
			}
			if err != nil {
				t.Error(err)
			}
			return false
		}
		if again, err := b.Acquire(b.ctx(), b.pool, request); !errors.Is(err, ledger.ErrBusy) {
			t.Errorf("%s: %v, %v", name, again, err)
		}
	}
}

// TestOfSeveralTheBoundOneWasTold to a claim that has lost its record; one that was not told gets another.
func TestOfSeveralTheBoundOneWasTold(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	description, err := describe(poolKey, ours)
	if err != nil {
		t.Fatal(err)
	}
	for range 3 {
		if _, err := b.member.Create(t.Context(), neutron.CreateOptions{NetworkID: b.pool.Network, Description: description}); err != nil {
			t.Fatal(err)
		}
	}
	all := b.FloatingIPs()
	told := asks(ours)
	told.IsTold = true
	for _, f := range all {
		port, err := b.Bind(t.Context(), f.ID)
		if err != nil {
			t.Fatal(err)
		}
		if has, err := b.Acquire(b.ctx(), b.pool, told); err != nil || has.ID != f.ID {
			t.Errorf("told: %v, %v", has, err)
		}
		if has := b.mustAcquire(ours); has.ID == f.ID {
			t.Errorf("not told: %v", has)
		}
		if err := b.Unbind(t.Context(), port); err != nil {
			t.Fatal(err)
		}
	}
}
