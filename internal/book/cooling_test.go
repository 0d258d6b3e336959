// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package book

import (
	"net/netip"
	"testing"
	"time"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/records"
)

func TestCoolsUnlessThePoolIsKnownToHaveNoCooldown(t *testing.T) {
	t.Parallel()
	b := newBook()
	h := Holding{CIDR: netip.MustParsePrefix("10.0.0.1/32"), Pool: poolRef("p"), Claim: claimFor("a").Ref}
	if !b.x.Cools(h) {
		t.Error("of an unknown pool nobody can say that it has no cooldown")
	}
	b.put(recordNamed("a", "10.0.0.1/32"))
	if !b.x.Cools(h) {
		t.Error("nor of a pool that only its records are known of")
	}
	p := poolNamed("p", shapeConfig{entries: "10.0.0.0/24"})
	b.x.SetPool(p)
	if b.x.Cools(h) {
		t.Error("a pool without a cooldown cools")
	}
	p.Cooldown = time.Second
	b.x.SetPool(p)
	if !b.x.Cools(h) {
		t.Error("a pool with a cooldown does not cool")
	}
}

func TestWhatIsKeptForTheClaimNeedNotCool(t *testing.T) {
	t.Parallel()
	b := newBook()
	p := poolNamed("p", shapeConfig{entries: "10.0.0.0/24", kept: "10.0.0.1/32"})
	p.Cooldown = time.Second
	b.x.SetPool(p)
	kept := netip.MustParsePrefix("10.0.0.1/32")
	owner, other := claimFor(ownerOf(kept)).Ref, claimFor("other").Ref
	for _, test := range []struct {
		h    Holding
		want bool
	}{
		{Holding{CIDR: kept, Pool: p.Ref, Claim: owner}, false},
		{Holding{CIDR: netip.MustParsePrefix("10.0.0.2/32"), Pool: p.Ref, Claim: owner}, true},
		{Holding{CIDR: kept, Pool: p.Ref, Claim: other}, true},
		{Holding{CIDR: kept, Pool: p.Ref, Claim: other, Alias: owner.Name}, false},
		{Holding{CIDR: netip.MustParsePrefix("10.0.0.2/32"), Pool: p.Ref, Claim: other, Alias: owner.Name}, true},
		{Holding{CIDR: kept, Pool: p.Ref, Claim: other, Alias: "another"}, true},
	} {
		if got := b.x.Cools(test.h); got != test.want {
			t.Errorf("%s of %s cools: %t", test.h.CIDR, test.h, got)
		}
	}
}

func TestCoolingIsWhatWasReleased(t *testing.T) {
	t.Parallel()
	b := newBook()
	b.x.SetPool(Pool{Ref: poolRef("p"), Space: "default", Shape: shapeConfig{entries: "10.0.0.0/24"}.shape()})
	b.put(recordNamed("held", "10.0.0.1/32"))
	b.put(recordNamed("inside", "10.0.0.2/32", released))
	b.put(recordNamed("outside", "10.0.9.1/32", released))
	b.put(recordNamed("other", "10.0.0.3/32", released, fromPool("q")))
	left := b.put(recordNamed("left", "10.0.0.4/32", released))
	b.x.MarkDeleted(records.IdentityOf(left))
	cooling := SortHoldings(b.x.Cooling(poolRef("p")))
	if len(cooling) != 2 || cooling[0].Record != at("inside") || cooling[1].Record != at("outside") {
		t.Errorf("cooling: %v, want inside and outside", cooling)
	}
	if got, want := cooling[0].String(), "IPAddressClaim ns/inside, cooling down since 1970-01-01T00:00:01Z"; got != want {
		t.Errorf("it is shown as %q, want %q", got, want)
	}
}
