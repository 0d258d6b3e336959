// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package external

import (
	"net/netip"
	"slices"
	"testing"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

func TestProofCoversWhatItSays(t *testing.T) {
	t.Parallel()
	claim := ipamv1.ClaimReference{Namespace: "n", Name: "c", UID: "u"}
	one, other := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	for name, test := range map[string]struct {
		proof   Proof
		uid     string
		address netip.Addr
		want    bool
	}{
		"all of the claim":           {ClaimReleased(claim), "u", one, true},
		"another claim":              {ClaimReleased(claim), "v", one, false},
		"no address":                 {ClaimReleased(claim), "u", netip.Addr{}, false},
		"the address":                {AddressReleased(claim, one), "u", one, true},
		"another address":            {AddressReleased(claim, one), "u", other, false},
		"the address of another":     {AddressReleased(claim, one), "v", one, false},
		"no address is proved":       {AddressReleased(claim, netip.Addr{}), "u", one, false},
		"no address at all":          {AddressReleased(claim, netip.Addr{}), "u", netip.Addr{}, false},
		"nothing is proved":          {Proof{}, "u", one, false},
		"nothing is proved, no UID":  {Proof{}, "", netip.Addr{}, false},
		"a claim without UID":        {ClaimReleased(ipamv1.ClaimReference{}), "", one, false},
		"an owner that has no UID":   {ClaimReleased(claim), "", one, false},
		"the name without its UID":   {ClaimReleased(ipamv1.ClaimReference{Namespace: "n", Name: "c"}), "", one, false},
		"an address of nobody's UID": {AddressReleased(ipamv1.ClaimReference{}, one), "", one, false},
	} {
		if got := test.proof.Covers(test.uid, test.address); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}

// TestWhatIsRecordedProvesNothing by itself.
func TestWhatIsRecordedProvesNothing(t *testing.T) {
	t.Parallel()
	claim := ipamv1.ClaimReference{Namespace: "n", Name: "c", UID: "u"}
	one, other := netip.MustParseAddr("192.0.2.1"), netip.MustParseAddr("192.0.2.2")
	for name, test := range map[string]struct {
		proof Proof
		want  []netip.Addr
	}{
		"a claim with records":    {ClaimReleased(claim, one, other), []netip.Addr{one, other}},
		"a claim without records": {ClaimReleased(claim), nil},
		"an address":              {AddressReleased(claim, one), []netip.Addr{one}},
		"nothing":                 {Proof{}, nil},
	} {
		if got := test.proof.Recorded(); !slices.Equal(got, test.want) {
			t.Errorf("%s: %v", name, got)
		}
	}
	if AddressReleased(claim, one).Covers("u", other) || ClaimReleased(claim, one).Covers("v", one) {
		t.Error("more is covered than was proved")
	}
}

func TestPoolEndCoversThatPool(t *testing.T) {
	t.Parallel()
	pool := ipamv1.PoolReference{APIGroup: "ipam.weir.dev", Kind: "IPPool", Namespace: "n", Name: "p"}
	elsewhere, global := pool, pool
	elsewhere.Namespace, global.Kind = "m", "GlobalIPPool"
	for name, test := range map[string]struct {
		end  PoolEnd
		pool ipamv1.PoolReference
		want bool
	}{
		"the pool":                     {PoolReleased(pool), pool, true},
		"one of another namespace":     {PoolReleased(pool), elsewhere, false},
		"one of another kind":          {PoolReleased(pool), global, false},
		"nothing is proved":            {PoolEnd{}, pool, false},
		"nothing is proved of no pool": {PoolEnd{}, ipamv1.PoolReference{}, false},
	} {
		if got := test.end.Covers(test.pool); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
