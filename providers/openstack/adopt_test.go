// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"errors"
	"net/netip"
	"strings"
	"sync"
	"testing"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/external"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/providers/openstack/neutron"
)

// arrivedUID is the UID that the claim ours has after a move.
const arrivedUID = "arrived-uid"

// arrived is the claim ours after a move.
var arrived = claim(ours.Name, arrivedUID)

// TestJudgeOwnership: each condition alone keeps a claim from a floating IP.
func TestJudgeOwnership(t *testing.T) {
	t.Parallel()
	long := claim(strings.Repeat("c", 250), arrivedUID)
	was := long
	was.UID = claimUID
	cut, err := describe(poolKey, was)
	if err != nil {
		t.Fatal(err)
	}
	for name, test := range map[string]struct {
		description, port string
		isListed          bool
		want              ownership
	}{
		"its":                                 {"weir/1/" + poolKey + "/" + arrivedUID + "/infra/" + ours.Name, "port", false, its},
		"its, lent":                           {"weir/1/" + poolKey + "/" + arrivedUID + "/+/infra/" + ours.Name, "", true, its},
		"its former self's":                   {"weir/1/" + poolKey + "/" + claimUID + "/infra/" + ours.Name, "", false, former},
		"its former self's, bound":            {"weir/1/" + poolKey + "/" + claimUID + "/infra/" + ours.Name, "port", false, former},
		"its former self's, lent":             {"weir/1/" + poolKey + "/" + claimUID + "/+/infra/" + ours.Name, "port", false, former},
		"of another name":                     {"weir/1/" + poolKey + "/" + claimUID + "/infra/" + ours.Name + "x", "", false, anothers},
		"of another name, and listed":         {"weir/1/" + poolKey + "/" + claimUID + "/infra/" + ours.Name + "x", "", true, anothers},
		"of another namespace":                {"weir/1/" + poolKey + "/" + claimUID + "/other/" + ours.Name, "", false, anothers},
		"of another key":                      {"weir/1/another-key/" + claimUID + "/infra/" + ours.Name, "", false, anothers},
		"of another key, with its UID":        {"weir/1/another-key/" + arrivedUID + "/infra/" + ours.Name, "", true, anothers},
		"without a name":                      {"weir/1/" + poolKey + "/" + claimUID, "", false, anothers},
		"with more than the name":             {"weir/1/" + poolKey + "/" + claimUID + "/infra/" + ours.Name + " for the office", "", false, anothers},
		"free":                                {describeFree(poolKey), "", false, unowned},
		"free, and bound":                     {describeFree(poolKey), "port", false, unownedInUse},
		"free in another pool":                {describeFree("another-key"), "", true, anothers},
		"free, with a name":                   {describeFree(poolKey) + "/infra/" + ours.Name, "", false, unowned},
		"listed":                              {"", "", true, unowned},
		"listed, and bound":                   {"", "port", true, unownedInUse},
		"not listed":                          {"", "", false, anothers},
		"not listed, and bound":               {"", "port", false, anothers},
		"a person's, and listed":              {"office", "", true, anothers},
		"a person's, bound and listed":        {"office", "port", true, anothers},
		"another's, bound and listed":         {"weir/1/" + poolKey + "/" + claimUID + "/infra/x", "port", true, anothers},
		"of a later version of this, and its": {"weir/2/" + poolKey + "/" + arrivedUID + "/infra/" + ours.Name, "", true, anothers},
	} {
		may, is := judgeOwnership(neutron.FloatingIP{ID: "id", Description: test.description, PortID: test.port}, poolKey, arrived, test.isListed)
		isLent := test.want == unowned && test.isListed || test.want == former && strings.Contains(test.description, "/+/")
		if is != test.want || (may.seen.ID != "") != (is == former || is == unowned) || may.isLent != isLent {
			t.Errorf("%s: %s, %+v", name, is, may)
		}
	}
	if _, is := judgeOwnership(neutron.FloatingIP{Description: cut}, poolKey, long, false); is != anothers {
		t.Errorf("a description that was cut may be that of another name: %s", is)
	}
}

// TestAClaimThatArrivesTakesOverWhatItsFormerSelfHad, also while it is in use; and the former UID has
// nothing then.
func TestAClaimThatArrivesTakesOverWhatItsFormerSelfHad(t *testing.T) {
	t.Parallel()
	for name, isLent := range map[string]bool{"made": false, "lent": true} {
		b := newBench(t)
		if isLent {
			b.lend("")
		}
		has := b.mustAcquire(ours)
		if _, err := b.Bind(t.Context(), has.ID); err != nil {
			t.Fatal(err)
		}
		if err := b.adopt(b.ctx(), arrived, has.Addr); reasonOf(err) != "AllocationFailed" {
			t.Errorf("%s: it has not arrived: %v", name, err)
		}
		b.Reset()
		for range 2 {
			if got, err := b.takeOver(b.ctx(), arrived, has.Addr); err != nil || got != has {
				t.Errorf("%s: %v, %v", name, got, err)
			}
		}
		b.expectCalls(name, list, describing, list)
		want := "weir/1/" + poolKey + "/" + arrivedUID + map[bool]string{true: "/+"}[isLent] + "/infra/" + ours.Name
		b.described(has.ID, want)
		if err := b.giveBack(b.ctx(), external.ClaimReleased(ours)); err != nil {
			t.Errorf("%s: the former self is released: %v", name, err)
		}
		b.described(has.ID, want)
	}
}

// TestWhatIsNobodysIsTakenOver by the claim that arrives with its address.
func TestWhatIsNobodysIsTakenOver(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	all := b.lend("", describeFree(poolKey))
	for i, f := range all {
		isOthers := true
		adoption := external.Adoption{
			Claim: claim("c", arrivedUID), Address: f.Address, HasArrived: true, IsOthers: func(a netip.Addr) bool { return isOthers && a == f.Address },
		}
		if has, err := b.Adopt(b.ctx(), b.pool, adoption); !errors.Is(err, ledger.ErrTaken) || reasonOf(err) != "AllocationFailed" {
			t.Errorf("%d: another claim is not released yet: %v, %v", i, has, err)
		}
		b.described(f.ID, f.Description)
		isOthers = false
		if has, err := b.Adopt(b.ctx(), b.pool, adoption); err != nil || has.ID != f.ID {
			t.Errorf("%d: %v, %v", i, has, err)
		}
		b.described(f.ID, "weir/1/"+poolKey+"/"+arrivedUID+"/+/infra/c")
	}
}

// TestWhatIsNotTakenOver stays as it is.
func TestWhatIsNotTakenOver(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	all := b.lend("the office's", describeFree("another-key"), describeFree(poolKey), "", "weir/1/"+poolKey+"/x/infra/x")
	for _, f := range all[2:4] {
		if _, err := b.Bind(t.Context(), f.ID); err != nil {
			t.Fatal(err)
		}
	}
	before := b.FloatingIPs()
	for i, f := range all {
		if has, err := b.takeOver(b.ctx(), arrived, f.Address); reasonOf(err) != "AllocationFailed" {
			t.Errorf("%d: %v, %v", i, has, err)
		}
	}
	if has, err := b.takeOver(b.ctx(), arrived, netip.MustParseAddr("198.18.0.250")); reasonOf(err) != "AllocationFailed" || !strings.Contains(err.Error(), "does not exist") {
		t.Errorf("%v, %v", has, err)
	}
	b.SetRevisions(false)
	b.Provider = b.newProvider(b.clock, 32)
	has := b.mustAcquire(ours)
	if got, err := b.takeOver(b.ctx(), arrived, has.Addr); reasonOf(err) != "AllocationFailed" || !strings.Contains(err.Error(), "no revision numbers") {
		t.Errorf("without revisions: %v, %v", got, err)
	}
	b.expectUntouched(before)
}

// TestOneOfSeveralTakesOver: of claims that arrive with one address at once, one gets it.
func TestOneOfSeveralTakesOver(t *testing.T) {
	t.Parallel()
	b := newBench(t)
	one := b.lend(describeFree(poolKey))[0]
	const claims = 8
	var wait sync.WaitGroup
	var mu sync.Mutex
	won := 0
	for i := range claims {
		wait.Go(func() {
			c := claim(string(rune('a'+i)), "uid-"+string(rune('a'+i)))
			_, err := b.takeOver(b.ctx(), c, one.Address)
			for errors.Is(err, ledger.ErrBusy) {
				_, err = b.takeOver(b.ctx(), c, one.Address)
			}
			mu.Lock()
			defer mu.Unlock()
			if err == nil {
				won++
			}
		})
	}
	wait.Wait()
	if won != 1 {
		t.Errorf("%d claims have it", won)
	}
}
