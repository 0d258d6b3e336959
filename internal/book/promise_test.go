// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package book

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
)

// promiseTo has the pool promise a prefix to a claim of Weir's own kind.
func (b *book) promiseTo(t *testing.T, name string) string {
	t.Helper()
	c := claimFor(name)
	c.Ref.APIGroup, c.Ref.Kind, c.Revision = ipamv1.GroupVersion.Group, ipamv1.IPClaimKind, "1"
	cidr, err := b.promise(c)
	if err != nil {
		t.Fatal(err)
	}
	return cidr.String()
}

func TestManagersOfOldHaveNoLane(t *testing.T) {
	t.Parallel()
	b := newBook()
	records := make([]*ipamv1.IPAllocation, 0, 51)
	records = append(records, root("p", "10.0.0.0/24", confirmed))
	for i := range 50 {
		a := recordNamed(fmt.Sprint("r", i), fmt.Sprintf("10.9.0.%d/32", i))
		a.Spec.Manager.Instance = fmt.Sprint("manager-", i)
		records = append(records, a)
	}
	for _, a := range records {
		a.ResourceVersion = b.next()
	}
	b.list(records...)
	if _, of := b.x.lanes.position(b.x.ages.now()); of != 1 {
		t.Errorf("%d lanes, of managers that have recorded something at some time", of)
	}
	b.put(recordNamed("new", "10.9.1.1/32", func(a *ipamv1.IPAllocation) { a.Spec.Manager.Instance = "other" }))
	if _, of := b.x.lanes.position(b.x.ages.now()); of != 2 {
		t.Errorf("%d lanes of this manager and one that records now", of)
	}
}

func TestAPromiseThatCameToNothingLeavesNoTraceInTheHistory(t *testing.T) {
	t.Parallel()
	b := newBook()
	b.serving(shapeConfig{entries: "10.0.0.0/29", reserved: pooltree.AllocateReserved}.by(pooltree.LeastRecentlyUsed))
	e := b.x.pools.of(poolRef("p"))
	for i := range 3 {
		b.promiseTo(t, fmt.Sprint("a", i))
	}
	for mark := range b.x.marks.all {
		b.x.Unmark(mark)
	}
	known := e.history.used.Len()
	b.put(recordNamed("r", "10.0.0.0/32"))
	b.cut(recordNamed("r", "10.0.0.0/32"))
	if got := b.promiseTo(t, "next"); got != "10.0.0.1/32" {
		t.Errorf("promised %s: the history takes what was promised for used (%d entries)", got, known)
	}
}

// crowdedBook is a pool of 256 addresses, out of which another manager has recorded the first.
func crowdedBook(strategy pooltree.Strategy) *book {
	b := newBook()
	b.serving(shapeConfig{entries: "10.0.0.0/24", reserved: pooltree.AllocateReserved, strategy: strategy})
	b.put(recordNamed("others", "10.0.0.0/32", func(a *ipamv1.IPAllocation) { a.Spec.Manager.Instance = "n" }))
	return b
}

func (b *book) promised(t *testing.T, name string) netip.Addr {
	t.Helper()
	p, err := b.promise(claimFor(name))
	if err != nil {
		t.Fatal(err)
	}
	return p.Addr()
}

// TestOneClientGetsTheLowest: each of its claims is recorded before the next one comes, here or
// elsewhere.
func TestOneClientGetsTheLowest(t *testing.T) {
	b := crowdedBook(pooltree.FirstFit)
	for i := 1; i < 100; i++ {
		want := netip.AddrFrom4([4]byte{10, 0, 0, byte(i)})
		name := fmt.Sprint("c", i)
		if i%3 != 0 { // proposed here
			if got := b.promised(t, name); got != want {
				t.Fatalf("claim %d was promised %s, not %s", i, got, want)
			}
		}
		b.put(recordNamed(name, want.String()+"/32", func(a *ipamv1.IPAllocation) { a.Spec.Manager.Instance = []string{"m", "n"}[i%2] }))
	}
}

// TestLanesMeetNowhere: what nobody takes in the other lane is in nobody's way, however much that
// is.
func TestLanesMeetNowhere(t *testing.T) {
	for _, strategy := range []pooltree.Strategy{pooltree.FirstFit, pooltree.BestFit} {
		b := crowdedBook(strategy)
		b.promised(t, "first")
		seen := map[netip.Addr]bool{}
		for i := range 100 {
			got := b.promised(t, fmt.Sprint("c", i))
			if got.As4()[3]%2 != 0 || seen[got] {
				t.Fatalf("claim %d was promised %s out of the lane of even addresses; had before: %t", i, got, seen[got])
			}
			seen[got] = true
		}
	}
}

// TestNobodyIsInACrowdForLong: once the others are silent the lowest free address comes next, and
// nothing of the crowd is left.
func TestNobodyIsInACrowdForLong(t *testing.T) {
	for _, strategy := range []pooltree.Strategy{pooltree.FirstFit, pooltree.LeastRecentlyUsed} {
		b := crowdedBook(strategy)
		for i := range 50 {
			b.promised(t, fmt.Sprint("c", i))
		}
		for mark := range b.x.marks.all {
			b.x.Expire(mark)
		}
		b.now.SetTime(b.now.Now().Add((crowdedTime + 1) * time.Second))
		if got := b.promised(t, "late"); got != netip.MustParseAddr("10.0.0.1") {
			t.Errorf("strategy %v: was promised %s", strategy, got)
		}
	}
}

// TestPoolWithNothingInTheLane: what is free goes to whoever asks.
func TestPoolWithNothingInTheLane(t *testing.T) {
	b := crowdedBook(pooltree.FirstFit)
	for i := 2; i < 256; i += 2 { // all of this manager's lane
		b.put(recordNamed(fmt.Sprint("r", i), fmt.Sprintf("10.0.0.%d/32", i)))
	}
	seen := map[netip.Addr]bool{}
	for i := range 128 {
		seen[b.promised(t, fmt.Sprint("c", i))] = true
	}
	if len(seen) != 128 {
		t.Errorf("promised %d addresses of 128", len(seen))
	}
}

// What is being admitted may say anything: the API server looks at names after it has asked
// webhooks.
func TestANameThatIsTooLongIsNotAsked(t *testing.T) {
	t.Parallel()
	b := newBook()
	b.serving(shapeConfig{entries: "10.0.0.0/24"})
	victim := b.put(recordNamed("victim-claim-001", "10.0.0.7/32"))
	for _, length := range []int{1040, 2000, 70000} {
		if cidr, err := b.promise(claimFor(strings.Repeat("x", length))); err == nil {
			t.Errorf("a name of %d characters got %s", length, cidr)
		}
	}
	if _, err := b.promise(claimFor(strings.Repeat("x", 253))); err != nil {
		t.Errorf("the longest name that there is: %v", err)
	}
	if n := len(b.x.marks.all); n != 1 {
		t.Errorf("%d promises, want 1", n)
	}
	for i := range 40 { // they would take the place of what a row too short had given back
		b.put(recordNamed(fmt.Sprintf("another-claim-%02d", i), fmt.Sprintf("10.0.0.%d/32", 20+i)))
	}
	if n := len(b.x.RecordsFor(victim.Spec.ClaimRef)); n != 1 {
		t.Errorf("%d records of the claim, want 1", n)
	}
}

func TestNothingIsKeptForWhatHasNoNameYet(t *testing.T) {
	t.Parallel()
	b := newBook()
	b.serving(shapeConfig{entries: "10.0.0.0/30", reserved: pooltree.AllocateReserved, kept: "10.0.0.0/32"})
	retained := b.put(recordNamed("web", "10.0.0.1/32", released, func(a *ipamv1.IPAllocation) { a.Spec.State = ipamv1.RetainedState }))
	unnamed := claimFor("")
	unnamed.Ref.UID = ""
	if got, err := b.promise(unnamed); err != nil || got.String() != "10.0.0.2/32" {
		t.Errorf("promised %s, %v", got, err)
	}
	named := claimFor("web")
	named.Ref.UID = "another"
	if got, err := b.promise(named); err != nil || got.String() != retained.Spec.CIDR {
		t.Errorf("who it is retained for was promised %s, %v", got, err)
	}
}
