// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"maps"
	"net/http"
	"testing"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/external"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/providers/openstack/neutron"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/openstack/fake"
)

func TestOutcomeOf(t *testing.T) {
	t.Parallel()
	own, _ := describe(poolKey, ours)
	next, _ := describe(poolKey, claim("next", "next-uid"))
	for name, test := range map[string]struct {
		now  neutron.FloatingIP
		want external.Outcome
	}{
		"gone":                       {neutron.FloatingIP{}, external.Deleted},
		"free":                       {neutron.FloatingIP{ID: "id", Description: describeFree(poolKey)}, external.Freed},
		"taken since":                {neutron.FloatingIP{ID: "id", Description: next}, external.Freed},
		"empty":                      {neutron.FloatingIP{ID: "id"}, external.Returned},
		"the claim's":                {neutron.FloatingIP{ID: "id", Description: own}, external.Unreleased},
		"the claim's, with words":    {neutron.FloatingIP{ID: "id", Description: own + " office"}, external.Unreleased},
		"a person's":                 {neutron.FloatingIP{ID: "id", Description: "office"}, external.Unreleased},
		"free in another pool":       {neutron.FloatingIP{ID: "id", Description: describeFree("another-key")}, external.Unreleased},
		"of the claim, another pool": {neutron.FloatingIP{ID: "id", Description: "weir/1/another-key/" + claimUID}, external.Unreleased},
	} {
		if got := outcomeOf(test.now, poolKey, ours); got != test.want || got.IsReleased() != (test.want != external.Unreleased) {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

// TestOutcomes are what the cloud shows after a release, whatever became of its reply.
func TestOutcomes(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.lend("")
	want := map[string]external.Outcome{}
	rows := []struct {
		name, loses string
		policy      ipamv1.FloatingIPReclaimPolicy
		want        external.Outcome
	}{
		{"lent", describing, ipamv1.DeleteFloatingIPs, external.Returned},
		{"made", remove, ipamv1.DeleteFloatingIPs, external.Deleted},
		{"kept", describing, ipamv1.RetainFloatingIPs, external.Freed},
		{"alive", "", ipamv1.DeleteFloatingIPs, external.Unreleased},
	}
	all := make([]external.Leftover, 0, len(rows))
	for _, row := range rows { // none takes what another one leaves
		c := claim(row.name, row.name+"-uid")
		has := b.mustAcquire(c)
		all, want[has.ID] = append(all, external.Leftover{ID: has.ID, Address: has.Addr, Claim: c}), row.want
	}
	for i, row := range rows[:3] {
		b.pool.Source.ReclaimPolicy = row.policy
		b.Inject(fake.Fault{Call: row.loses, Effect: fake.CutAfter})
		if err := b.giveBack(b.ctx(), external.ClaimReleased(all[i].Claim)); reasonOf(err) != "busy" {
			t.Errorf("%s: %v", row.name, err)
		}
	}
	b.Reset()
	got, err := b.Outcomes(b.ctx(), b.pool, all)
	if err != nil || !maps.Equal(got, want) {
		t.Errorf("outcomes %v, want %v; %v", got, want, err)
	}
	b.expectCalls("outcomes", list)
	b.Inject(fake.Fault{Call: list, Effect: fake.Refuse, Code: http.StatusServiceUnavailable})
	if got, err = b.Outcomes(b.ctx(), b.pool, all); err == nil || got != nil {
		t.Errorf("the cloud does not answer: %v, %v", got, err)
	}
}
