// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"fmt"
	"testing"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
)

// promiseTo has the pool promise a prefix to a claim of Weir's own kind.
func (b *book) promiseTo(t *testing.T, name string) string {
	t.Helper()
	c := claimFor(name)
	c.Ref.APIGroup, c.Ref.Kind, c.Revision = ipamv1.GroupVersion.Group, ipamv1.IPClaimKind, "1"
	cidr, err := b.x.promise(c)
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
		a.Spec.Holder.Instance = fmt.Sprint("manager-", i)
		records = append(records, a)
	}
	for _, a := range records {
		a.ResourceVersion = b.next()
	}
	b.list(records...)
	if _, of := b.x.lanes.position(b.x.now()); of != 1 {
		t.Errorf("%d lanes, of managers that have recorded something at some time", of)
	}
	b.put(recordNamed("new", "10.9.1.1/32", func(a *ipamv1.IPAllocation) { a.Spec.Holder.Instance = "other" }))
	if _, of := b.x.lanes.position(b.x.now()); of != 2 {
		t.Errorf("%d lanes of this manager and one that records now", of)
	}
}

func TestAPromiseThatCameToNothingLeavesNoTraceInTheHistory(t *testing.T) {
	t.Parallel()
	b := newBook()
	b.serving(shapeConfig{entries: "10.0.0.0/29", reserved: pooltree.AllocateReserved}.by(pooltree.LeastRecentlyUsed))
	e := b.x.pools[poolRef("p")]
	for i := range 3 {
		b.promiseTo(t, fmt.Sprint("a", i))
	}
	b.x.mu.Lock()
	for mark := range b.x.promises {
		b.x.takeBack(mark)
	}
	known := e.history.used.Len()
	b.x.mu.Unlock()
	b.put(recordNamed("r", "10.0.0.0/32"))
	b.cut(recordNamed("r", "10.0.0.0/32"))
	if got := b.promiseTo(t, "next"); got != "10.0.0.1/32" {
		t.Errorf("promised %s: the history takes what was promised for used (%d entries)", got, known)
	}
}
