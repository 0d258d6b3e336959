// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"net/netip"
	"strconv"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/book"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ipspace"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/records"
)

// fed is a ledger whose book is fed as the watch would feed it.
type fed struct {
	*Ledger
	x   *feed
	now *clocktesting.FakePassiveClock
	rev int
}

func newFed() *fed {
	now := clocktesting.NewFakePassiveClock(time.Unix(1, 0))
	l := New(Options{Instance: "m", Clock: now})
	return &fed{Ledger: l, x: l.feed, now: now, rev: 100}
}

// next is the revision of the next write.
func (b *fed) next() string {
	b.rev++
	return strconv.Itoa(b.rev)
}

// put has the watch show a record as just written; it sets the resourceVersion.
func (b *fed) put(a *ipamv1.IPAllocation) *ipamv1.IPAllocation {
	a.ResourceVersion = b.next()
	b.show(a)
	return a
}

// show has the watch show a record as it is.
func (b *fed) show(a *ipamv1.IPAllocation) {
	if old := ask(b.x, (*book.Book).Named, nameOf(a)); old != nil && old.UID == a.UID {
		_ = b.x.Update(a.DeepCopy())
		return
	}
	_ = b.x.Add(a.DeepCopy())
}

// cut has the watch show that a record is gone.
func (b *fed) cut(a *ipamv1.IPAllocation) {
	a = a.DeepCopy()
	a.ResourceVersion = b.next()
	_ = b.x.Delete(a)
}

// list has the feed take a list in exchange for all that it knows.
func (b *fed) list(all ...*ipamv1.IPAllocation) {
	objs := make([]any, 0, len(all))
	for _, a := range all {
		objs = append(objs, a.DeepCopy())
	}
	_ = b.x.Replace(objs, b.next())
}

// judged puts a record while somebody waits for it.
func (b *fed) judged(t *testing.T, a *ipamv1.IPAllocation) {
	t.Helper()
	w := b.x.expect(nameOf(a))
	defer b.x.dismiss(w)
	b.put(a)
	if _, done, err := b.x.verdictOn(w, records.IdentityOf(a)); !done || err != nil {
		t.Fatalf("no verdict: done %v, error %v", done, err)
	}
}

// serving registers pool p of that block, which is confirmed.
func (b *fed) serving(block string) {
	b.put(root("p", block, confirmed))
	b.SetPool(servingPool(block))
}

// servingPool is pool p of one block, of which every address is handed out.
func servingPool(block string) Pool {
	r, err := ipspace.ParseEntry(block)
	if err != nil {
		panic(err)
	}
	network := pooltree.Network{Bits: netip.MustParsePrefix(block).Bits()}
	shape := pooltree.New(pooltree.Config{Areas: []pooltree.Area{{Range: r, Network: network}}, Reserved: pooltree.AllocateReserved})
	return Pool{Ref: poolRef("p"), UID: types.UID("pool p"), Space: "default", Shape: shape, Namespace: "ns"}
}

// claimFor is the request to pool p of the claim that recordNamed makes records for.
func claimFor(name string) Claim {
	return Claim{Ref: recordNamed(name, "").Spec.ClaimRef, Pool: poolRef("p"), Bits: 32, Purpose: records.ForClaim}
}
