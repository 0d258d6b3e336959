// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"net/netip"
	"strings"
	"testing"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/external"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/providers/openstack/neutron"
)

// TestWhatPortForwardingsUseIsInUse: Neutron shows the router of such a floating IP, and no port.
func TestWhatPortForwardingsUseIsInUse(t *testing.T) {
	t.Parallel()
	own, _ := describe(poolKey, ours)
	address := netip.MustParseAddr("198.18.0.10")
	used := func(description string) neutron.FloatingIP {
		return neutron.FloatingIP{ID: "id", Address: address, Description: description, RouterID: "router"}
	}
	free := used(describeFree(poolKey))
	if _, is := judge(used(own), poolKey, external.ClaimReleased(ours)); is != bound {
		t.Errorf("a claim's: %s", is)
	}
	for what, f := range map[string]neutron.FloatingIP{"free": free, "listed": used("")} {
		if _, is := judgeStock(f, poolKey, true); is != inUse || !isUnowned(f, poolKey, true) {
			t.Errorf("%s, to a claim that looks for one: %s", what, is)
		}
		if _, is := judgeOwnership(f, poolKey, arrived, true); is != unownedInUse {
			t.Errorf("%s, to a claim that arrives with it: %s", what, is)
		}
	}
	ref := ipamv1.PoolReference{Kind: "IPPool", Namespace: "infra", Name: "floating"}
	if _, is := judgeEnd(free, external.Pool{Ref: ref, Key: poolKey, Source: &ipamv1.OpenStackSource{}}, external.PoolReleased(ref)); is != staying {
		t.Errorf("free, to its pool that ends: %s", is)
	}
}

const usedByForwardings = "used by port forwardings of router "

// forward makes a port forwarding of a floating IP, and returns what ends it.
func (b *bench) forward(id string) (end func()) {
	b.t.Helper()
	port, err := b.Forward(b.t.Context(), id)
	if err != nil {
		b.t.Fatal(err)
	}
	return func() {
		b.t.Helper()
		if err := b.Unbind(b.t.Context(), port); err != nil {
			b.t.Fatal(err)
		}
	}
}

// TestStockThatPortForwardingsUse is not handed out, and the pool says so.
func TestStockThatPortForwardingsUse(t *testing.T) {
	t.Parallel()
	h := newHere(t)
	lent := h.lend("")[0]
	end := h.forward(lent.ID)
	if has := h.mustAcquire(ours); has.ID == lent.ID {
		t.Error("it was handed out")
	}
	if is, err := h.Identify(h.ctx(), h.pool); err != nil || len(is.Doubts) != 1 || !strings.Contains(is.Doubts[0], lent.Address.String()+" is "+usedByForwardings) {
		t.Errorf("the pool says %v, %v", is.Doubts, err)
	}
	if _, err := h.takeOver(h.ctx(), arrived, lent.Address); err == nil || !strings.Contains(err.Error(), usedByForwardings) {
		t.Errorf("a claim that arrives: %v", err)
	}
	if found, err := h.Survey(h.ctx(), h.pool, h.known()); err != nil || found.Stock.Free != 0 || found.Stock.Bound != 1 {
		t.Errorf("the comparison: %+v, %v", found, err)
	}
	h.Reset()
	end()
	if next := h.mustAcquire(claim("next", "next-uid")); next.ID != lent.ID {
		t.Errorf("without them the next claim has %v", next)
	}
}

// TestPortForwardingsKeepAFloatingIP of a claim that is released, or was not told of it.
func TestPortForwardingsKeepAFloatingIP(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	has := b.mustAcquire(ours)
	end := b.forward(has.ID)
	if _, err := b.acquire(b.ctx(), ours); reasonOf(err) != ipamv1.ClaimReadyAllocationFailedReason || !strings.Contains(err.Error(), usedByForwardings) {
		t.Errorf("a claim that was not told: %v", err)
	}
	told := asks(ours)
	told.IsTold = true
	if again, err := b.Acquire(b.ctx(), b.pool, told); err != nil || again != has {
		t.Errorf("a claim that was told: %v, %v", again, err)
	}
	before := b.FloatingIPs()
	b.Reset()
	err := b.giveBack(b.ctx(), external.ClaimReleased(ours))
	if reasonOf(err) != ipamv1.WaitingForPortReason || !strings.Contains(err.Error(), usedByForwardings) || !strings.Contains(err.Error(), "they are deleted") {
		t.Errorf("the release: %v", err)
	}
	b.expectCalls("the release", list)
	b.expectUntouched(before)
	end()
	if err := b.giveBack(b.ctx(), external.ClaimReleased(ours)); err != nil || len(b.FloatingIPs()) != 0 {
		t.Errorf("without them: %v; left: %+v", err, b.FloatingIPs())
	}
}
