// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claimant"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/external"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/providers/openstack/neutron"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/openstack/fake"
)

// TestJudge: each condition alone keeps a floating IP.
func TestJudge(t *testing.T) {
	t.Parallel()
	address, other := netip.MustParseAddr("198.18.0.10"), netip.MustParseAddr("198.18.0.11")
	c, next := claim("c", claimUID), claim("c", "next-uid")
	own, err := describe(poolKey, c)
	if err != nil {
		t.Fatal(err)
	}
	whole, one := external.ClaimReleased(c), external.AddressReleased(c, address)
	for name, test := range map[string]struct {
		description, port, key string
		proof                  external.Proof
		want                   standing
	}{
		"the claim's":                       {own, "", poolKey, whole, released},
		"the claim's, of the address":       {own, "", poolKey, one, released},
		"the claim's, shortened by hand":    {"weir/1/" + poolKey + "/" + claimUID, "", poolKey, whole, released},
		"the claim's, of another address":   {own, "", poolKey, external.AddressReleased(c, other), foreign},
		"bound":                             {own, "port", poolKey, whole, bound},
		"bound, of the address":             {own, "port", poolKey, one, bound},
		"bound, of another address":         {own, "port", poolKey, external.AddressReleased(c, other), foreign},
		"without a proof":                   {own, "", poolKey, external.Proof{}, foreign},
		"by the next claim of the name":     {own, "", poolKey, external.ClaimReleased(next), foreign},
		"of another pool":                   {own, "", "another-key", whole, foreign},
		"of no pool":                        {own, "", "", whole, foreign},
		"of a key that begins the same":     {own, "", poolKey[:8], whole, foreign},
		"of a UID that begins the same":     {own, "", poolKey, external.ClaimReleased(claim("c", claimUID[:8])), foreign},
		"free":                              {describeFree(poolKey), "", poolKey, whole, foreign},
		"free, by a claim of that UID":      {describeFree(poolKey), "", poolKey, external.ClaimReleased(claim("c", free)), foreign},
		"a person's":                        {"office", "", poolKey, whole, foreign},
		"without a description":             {"", "", poolKey, whole, foreign},
		"without a description, or a proof": {"", "", "", external.Proof{}, foreign},
		"of a later version of this":        {"weir/2/" + poolKey + "/" + claimUID, "", poolKey, whole, foreign},
		"with the UID elsewhere":            {"weir/1/" + poolKey + "/next-uid/" + claimUID, "", poolKey, whole, foreign},
		"another's, and bound":              {"weir/1/" + poolKey + "/next-uid", "port", poolKey, whole, foreign},
	} {
		seen := neutron.FloatingIP{ID: "id", Address: address, Description: test.description, PortID: test.port, Revision: 7}
		may, is := judge(seen, test.key, test.proof)
		if is != test.want || (may.seen.ID != "") != (is == released) {
			t.Errorf("%s: %s, %+v", name, is, may)
		}
		if is == released && may.seen.Revision != 7 {
			t.Errorf("%s: of revision %d", name, may.seen.Revision)
		}
	}
}

// TestWhatIsBoundStays, and so does all that the claim has.
func TestWhatIsBoundStays(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c := claim("c", claimUID)
	has := b.mustAcquire(c)
	surplus, err := b.member.Create(t.Context(), neutron.CreateOptions{NetworkID: b.pool.Network, Description: b.owned(claimUID)[0].Description})
	if err != nil {
		t.Fatal(err)
	}
	port, err := b.Bind(t.Context(), has.ID)
	if err != nil {
		t.Fatal(err)
	}
	b.Reset()
	err = b.giveBack(b.ctx(), external.ClaimReleased(c))
	if reasonOf(err) != "WaitingForPort" || !strings.Contains(err.Error(), port) || !strings.Contains(err.Error(), has.Addr.String()) {
		t.Errorf("bound: %v", err)
	}
	b.expectCalls("bound", list)
	// What its claim was never told goes alone.
	if err := b.giveBack(b.ctx(), external.AddressReleased(c, surplus.Address)); err != nil || len(b.owned(claimUID)) != 1 {
		t.Errorf("surplus: %v; left: %+v", err, b.FloatingIPs())
	}
	if err := b.Unbind(t.Context(), port); err != nil {
		t.Fatal(err)
	}
	if err := b.giveBack(b.ctx(), external.ClaimReleased(c)); err != nil || len(b.owned(claimUID)) != 0 {
		t.Errorf("no port has it: %v; left: %+v", err, b.FloatingIPs())
	}
}

// TestWhatIsBoundMeanwhileStays: between the look and the deletion.
func TestWhatIsBoundMeanwhileStays(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	has := b.mustAcquire(ours)
	hold := b.Hold(remove, fake.Delay)
	done := make(chan error)
	go func() { done <- b.GiveBack(b.ctx(), b.pool, external.ClaimReleased(ours)) }()
	<-hold.Arrived
	if _, err := b.Bind(t.Context(), has.ID); err != nil {
		t.Fatal(err)
	}
	hold.Release()
	if err := <-done; reasonOf(err) != "busy" {
		t.Errorf("it has changed: %v", err)
	}
	b.expectBound()
}

// TestWhatIsBoundBeforeALateDeletionStays: its manager has gone.
func TestWhatIsBoundBeforeALateDeletionStays(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	has := b.mustAcquire(ours)
	ctx, release := b.lose(remove)
	if err := b.giveBack(ctx, external.ClaimReleased(ours)); reasonOf(err) != "busy" {
		t.Errorf("a manager that stops: %v", err)
	}
	if _, err := b.Bind(t.Context(), has.ID); err != nil {
		t.Fatal(err)
	}
	release()
	b.eventually("the deletion is refused", func() bool { return b.Count(remove) == 1 })
	b.expectBound()
}

// expectBound checks that the claim's floating IP is there and bound, and that its release waits.
func (b *bench) expectBound() {
	b.t.Helper()
	if owned := b.owned(claimUID); len(owned) != 1 || owned[0].PortID == "" {
		b.t.Errorf("left: %+v", owned)
	}
	if err := b.giveBack(b.ctx(), external.ClaimReleased(ours)); reasonOf(err) != "WaitingForPort" {
		b.t.Errorf("bound: %v", err)
	}
}

// TestWhatMayNotBeDeletedBecomesFree: it is no claim's then, and bound ones stay as they are.
func TestWhatMayNotBeDeletedBecomesFree(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c := claim("c", claimUID)
	b.mustAcquire(c)
	b.Reset()
	if err := b.SetPolicy(map[string]string{"delete_floatingip": "!"}); err != nil {
		t.Fatal(err)
	}
	if err := b.giveBack(b.ctx(), external.ClaimReleased(c)); err != nil {
		t.Error(err)
	}
	b.expectCalls("it may not be deleted", list, remove, describing)
	if all := b.FloatingIPs(); len(all) != 1 || all[0].Description != "weir/1/"+poolKey+"/-" {
		t.Errorf("left: %+v", all)
	}
	b.mustAcquire(c)
	if err := b.SetPolicy(map[string]string{"delete_floatingip": "!", "update_floatingip": "!"}); err != nil {
		t.Fatal(err)
	}
	if err := b.giveBack(b.ctx(), external.ClaimReleased(c)); reasonOf(err) != "WaitingForCloud" || len(b.owned(claimUID)) != 1 {
		t.Errorf("nothing is allowed: %v; left: %+v", err, b.FloatingIPs())
	}
}

// TestOthersStay: whatever the claim of the name, and the pool, gives back.
func TestOthersStay(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	c := claim("c", claimUID)
	b.strangers()
	before := b.FloatingIPs()
	b.mustAcquire(c)
	for _, proof := range []external.Proof{external.ClaimReleased(c), external.ClaimReleased(claim("c", "unheard-of"))} {
		if err := b.giveBack(b.ctx(), proof); err != nil {
			t.Error(err)
		}
	}
	b.expectUntouched(before)
}

// TestWhatAnotherKeyHasIsNamed: a pool has taken the name of the one that the claim's floating IP is of. It sees nothing of the claim, which is
// no release where a record tells of the address.
func TestWhatAnotherKeyHasIsNamed(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	has := b.mustAcquire(ours)
	former, other := b.pool, netip.MustParseAddr("198.18.0.250")
	b.strangers()
	before := b.FloatingIPs()
	b.pool.Key = "key-of-the-next-pool"
	next := b.mustAcquire(claim("next", "next-uid"))
	b.Reset()
	for name, test := range map[string]struct {
		proof external.Proof
		isIts bool
	}{
		"the claim, of that address":  {external.ClaimReleased(ours, other, has.Addr), true},
		"the address":                 {external.AddressReleased(ours, has.Addr), true},
		"the claim, of another one":   {external.ClaimReleased(ours, other), false},
		"the claim, without a record": {external.ClaimReleased(ours), false},
		"another claim's record":      {external.ClaimReleased(claim("other", "other-uid"), has.Addr), false},
		"another address":             {external.AddressReleased(ours, other), false},
	} {
		err := b.GiveBack(b.ctx(), b.pool, test.proof)
		var abandoned *claimant.AbandonedError
		if errors.As(err, &abandoned) != test.isIts || !test.isIts && err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if err != nil && (!strings.Contains(err.Error(), has.ID) || !strings.Contains(err.Error(), has.Addr.String()) || !strings.Contains(err.Error(), poolKey)) {
			t.Errorf("%s: %v", name, err)
		}
	}
	b.Reset()
	if err := b.GiveBack(b.ctx(), b.pool, external.ClaimReleased(ours, other, has.Addr)); err == nil {
		t.Error("given back")
	}
	b.expectCalls("one address at a time", list, networks, list, list)
	b.expectUntouched(before)
	b.Reset()
	if err := b.giveBack(b.ctx(), external.ClaimReleased(claim("next", "next-uid"), next.Addr, has.Addr)); err != nil {
		t.Errorf("the next pool's own: %v", err)
	}
	b.expectCalls("the next pool's own", list, remove)
	b.pool = former
	if err := b.giveBack(b.ctx(), external.ClaimReleased(ours, has.Addr)); err != nil || len(b.owned(claimUID)) != 1 { // one of the strangers
		t.Errorf("by its own key: %v; left: %+v", err, b.owned(claimUID))
	}
}

// strangers makes floating IPs that are not the claims' of the pool.
func (b *bench) strangers() {
	b.t.Helper()
	for _, description := range []string{
		"", "office", "weir/1/another-key/" + claimUID + "/infra/c", describeFree("another-key"), "weir/1/" + poolKey + "/another-uid/infra/c",
		"weir/1/" + poolKey + "/" + claimUID + "x/infra/c", "weir/2/" + poolKey + "/" + claimUID + "/infra/c",
	} {
		if _, err := b.member.Create(b.t.Context(), neutron.CreateOptions{NetworkID: b.pool.Network, Description: description}); err != nil {
			b.t.Fatal(err)
		}
	}
}

// expectUntouched checks that those are all that there are, or are among them, as they were.
func (b *bench) expectUntouched(before []fake.FloatingIP) {
	b.t.Helper()
	after := b.FloatingIPs()
	for _, f := range before {
		if !slices.ContainsFunc(after, func(g fake.FloatingIP) bool {
			return g.ID == f.ID && g.Revision == f.Revision && g.Description == f.Description
		}) {
			b.t.Errorf("%+v was touched", f)
		}
	}
}

// TestWithoutRevisions the floating IP is read just before it is deleted.
func TestWithoutRevisions(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	b.SetRevisions(false)
	c := claim("c", claimUID)
	has := b.mustAcquire(c)
	b.Reset()
	hold := b.Hold("GetFloatingIP", fake.Delay)
	done := make(chan error)
	go func() { done <- b.GiveBack(b.ctx(), b.pool, external.ClaimReleased(c)) }()
	<-hold.Arrived
	port, err := b.Bind(t.Context(), has.ID)
	if err != nil {
		t.Fatal(err)
	}
	hold.Release()
	if err := <-done; reasonOf(err) != "busy" || b.Count(remove) != 0 {
		t.Errorf("it has changed: %v", err)
	}
	if err := b.Unbind(t.Context(), port); err != nil {
		t.Fatal(err)
	}
	if err := b.giveBack(b.ctx(), external.ClaimReleased(c)); err != nil || len(b.FloatingIPs()) != 0 {
		t.Errorf("%v; left: %+v", err, b.FloatingIPs())
	}
	b.Reset() // changes without a condition are right here
}
