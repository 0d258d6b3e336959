// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"errors"
	"net/netip"
	"strings"
	"testing"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/external"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/providers/openstack/neutron"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/openstack/fake"
)

// moveAway has the pool's credentials name another region: the same project, and another Neutron. It returns what ends that.
func (h *here) moveAway() (comeBack func()) {
	h.t.Helper()
	h.pool.Project = h.member.Project()
	region := fake.Start()
	h.t.Cleanup(func() { _ = region.Stop() })
	policy, err := neutron.ParseEndpointPolicy(append(h.Endpoints(), region.Endpoints()...))
	if err != nil {
		h.t.Fatal(err)
	}
	h.Provider = New(Options{Live: h.secrets, Endpoints: policy, Concurrency: 32, Clock: h.clock})
	h.secrets.set(string(region.CloudsYAML()), "", nil)
	return func() { h.secrets.set(string(h.CloudsYAML()), "", nil) }
}

// TestAnotherRegionFindsNothing, and that is taken neither for a release nor for a loss: a project is the same in all regions.
func TestAnotherRegionFindsNothing(t *testing.T) {
	t.Parallel()
	h := newHere(t)
	has := h.mustAcquire(ours)
	h.stock(describeFree(poolKey))
	h.records[has.Addr], h.lives[claimUID] = ours, external.Living
	before := h.FloatingIPs()
	comeBack := h.moveAway()

	for what, release := range map[string]func() error{
		"a claim":    func() error { return h.giveBack(h.ctx(), external.ClaimReleased(ours)) },
		"an address": func() error { return h.giveBack(h.ctx(), external.AddressReleased(ours, has.Addr)) },
		"a pool": func() error {
			found, err := h.Close(h.ctx(), h.pool, external.PoolReleased(h.pool.Ref), h.known())
			if len(found.Awaited)+len(found.Left) > 0 {
				t.Errorf("%+v", found)
			}
			return err
		},
	} {
		err := release()
		if reasonOf(err) != ipamv1.WaitingForCloudReason || !strings.Contains(err.Error(), h.pool.Network) || !strings.Contains(err.Error(), "identityRef") {
			t.Errorf("releasing %s: %v", what, err)
		}
	}
	if _, err := h.takeOver(h.ctx(), ours, has.Addr); reasonOf(err) != ipamv1.ClaimReadyPoolNotReadyReason {
		t.Errorf("taking over: %v", err)
	}
	if _, err := h.acquire(h.ctx(), claim("next", "next-uid")); reasonOf(err) != ipamv1.ClaimReadyPoolNotReadyReason {
		t.Errorf("allocating: %v", err)
	}
	isNotFound := func(err error) bool {
		var fault *external.FaultError
		return errors.As(err, &fault) && fault.Reason == ipamv1.PoolReadyNetworkNotFoundReason
	}
	if found, err := h.Survey(h.ctx(), h.pool, h.known()); !isNotFound(err) || !found.IsEmpty() {
		t.Errorf("comparing: %+v, %v", found, err)
	}
	if outcomes, err := h.Outcomes(h.ctx(), h.pool, []external.Leftover{{ID: has.ID, Address: has.Addr, Claim: ours}}); !isNotFound(err) {
		t.Errorf("outcomes: %v, %v", outcomes, err)
	}

	comeBack()
	h.expectUntouched(before)
	if err := h.giveBack(h.ctx(), external.ClaimReleased(ours)); err != nil || len(h.owned(claimUID)) != 0 {
		t.Errorf("back: %v; left: %+v", err, h.FloatingIPs())
	}
	h.Reset()
}

// TestAnEmptyNetworkIsEmpty: where the pool's network is, nothing is waited for.
func TestAnEmptyNetworkIsEmpty(t *testing.T) {
	t.Parallel()
	h := newHere(t)
	if err := h.giveBack(h.ctx(), external.ClaimReleased(ours)); err != nil {
		t.Errorf("a claim: %v", err)
	}
	h.Reset()
	h.end("a pool", nil, nil)
	h.expectCallsOf("a pool", list, networks)
	address := netip.MustParseAddr("198.18.0.10")
	h.records[address], h.lives[claimUID] = ours, external.Living
	if found := h.compare(list, networks, list, networks); len(found.Missing) != 1 {
		t.Errorf("found %+v", found)
	}
	outcomes, err := h.Outcomes(h.ctx(), h.pool, []external.Leftover{{ID: "gone", Address: address, Claim: ours}})
	if err != nil || outcomes["gone"] != external.Deleted {
		t.Errorf("%v, %v", outcomes, err)
	}
}
