// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/records"

	"go4.org/netipx"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ipspace"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
)

// heard is a listener that remembers.
type heard struct {
	mu             sync.Mutex
	freed, changed []ipamv1.PoolReference
	broken         []error
}

func (h *heard) claimConcerned(ipamv1.ClaimReference) {}

func (h *heard) poolFreed(ref ipamv1.PoolReference) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.freed = append(h.freed, ref)
}

func (h *heard) poolChanged(ref ipamv1.PoolReference) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.changed = append(h.changed, ref)
}

func (h *heard) indexBroke(err error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.broken = append(h.broken, err)
}

// forget empties the memory and returns what was in it.
func (h *heard) forget() (freed, changed []ipamv1.PoolReference) {
	h.mu.Lock()
	defer h.mu.Unlock()
	freed, changed = h.freed, h.changed
	h.freed, h.changed = nil, nil
	return freed, changed
}

// book is an index, fed as the watch would feed it.
type book struct {
	*heard
	x   *index
	now *clocktesting.FakePassiveClock
	rev int
}

func newBook() *book {
	h, now := &heard{}, clocktesting.NewFakePassiveClock(time.Unix(1, 0))
	return &book{heard: h, x: newIndex("m", now, h), now: now, rev: 100}
}

// next is the revision of the next write.
func (b *book) next() string {
	b.rev++
	return strconv.Itoa(b.rev)
}

// put has the watch show a record as just written; it sets the resourceVersion.
func (b *book) put(a *ipamv1.IPAllocation) *ipamv1.IPAllocation {
	a.ResourceVersion = b.next()
	b.show(a)
	return a
}

// show has the watch show a record as it is.
func (b *book) show(a *ipamv1.IPAllocation) {
	b.x.mu.Lock()
	old := b.x.records.At(nameOf(a))
	b.x.mu.Unlock()
	if old != nil && old.UID == a.UID {
		_ = b.x.Update(a.DeepCopy())
		return
	}
	_ = b.x.Add(a.DeepCopy())
}

// cut has the watch show that a record is gone.
func (b *book) cut(a *ipamv1.IPAllocation) {
	a = a.DeepCopy()
	a.ResourceVersion = b.next()
	_ = b.x.Delete(a)
}

// list has the index take a list in exchange for all that it knows.
func (b *book) list(records ...*ipamv1.IPAllocation) {
	objs := make([]any, 0, len(records))
	for _, a := range records {
		objs = append(objs, a.DeepCopy())
	}
	_ = b.x.Replace(objs, b.next())
}

// judged puts a record while somebody waits for it, and returns the verdict.
func (b *book) judged(t *testing.T, a *ipamv1.IPAllocation) verdict {
	t.Helper()
	w := b.x.expect(nameOf(a))
	defer b.x.dismiss(w)
	b.put(a)
	v, done, err := b.x.verdictOn(w, records.IdentityOf(a))
	if !done || err != nil {
		t.Fatalf("no verdict: done %v, error %v", done, err)
	}
	return v
}

// claimFor is the request to pool p of the claim that recordNamed makes records for.
func claimFor(name string) Claim {
	return Claim{Ref: recordNamed(name, "").Spec.ClaimRef, Pool: poolRef("p"), Bits: 32, Purpose: ipamv1.ClaimPurpose}
}

// shapeConfig describes a pool: entries and exclusions as in a pool's spec.
type shapeConfig struct {
	entries, excluded, gateway string
	reserved                   pooltree.ReservedPolicy
	strategy                   pooltree.Strategy
	longestBits                int
	// kept are prefixes, each kept for the claim that ownerOf names.
	kept string
}

// by returns the same pool with another strategy.
func (c shapeConfig) by(s pooltree.Strategy) shapeConfig {
	c.strategy = s
	return c
}

var strategies = map[string]pooltree.Strategy{
	"FirstFit":          pooltree.FirstFit,
	"BestFit":           pooltree.BestFit,
	"Random":            pooltree.Random,
	"LeastRecentlyUsed": pooltree.LeastRecentlyUsed,
}

func (c shapeConfig) shape() *pooltree.Pool {
	config := pooltree.Config{Reserved: c.reserved, Strategy: c.strategy, LongestBits: c.longestBits}
	for _, r := range ranges(c.entries) {
		network := pooltree.Network{Bits: 24}
		if r.From().Is6() {
			network.Bits = 64
		}
		if c.gateway != "" {
			network.Gateway = netip.MustParseAddr(c.gateway)
		}
		config.Areas = append(config.Areas, pooltree.Area{Range: r, Network: network})
	}
	var excluded netipx.IPSetBuilder
	for _, r := range ranges(c.excluded) {
		excluded.AddRange(r)
	}
	config.Excluded, _ = excluded.IPSet()
	for _, p := range prefixes(c.kept) {
		config.Kept = append(config.Kept, pooltree.Kept{Prefix: p, For: records.ClaimantOf(claimFor(ownerOf(p)).Ref)})
	}
	return pooltree.New(config)
}

// ownerOf names the claim that a prefix is kept for.
func ownerOf(p netip.Prefix) string { return "owner-of-" + p.Addr().String() }

func ranges(entries string) []netipx.IPRange {
	var all []netipx.IPRange
	for text := range strings.FieldsSeq(entries) {
		r, err := ipspace.ParseEntry(text)
		if err != nil {
			panic(err)
		}
		all = append(all, r)
	}
	return all
}

// poolNamed registers with the index under its name.
func poolNamed(name string, c shapeConfig) Pool {
	return Pool{Ref: poolRef(name), UID: types.UID("pool " + name), Space: "default", Shape: c.shape(), Namespace: "ns"}
}

// serving registers pool p, all of whose blocks are confirmed.
func (b *book) serving(c shapeConfig) Pool {
	p := poolNamed("p", c)
	for _, block := range p.Shape.Blocks() {
		b.put(root("p", block.String(), confirmed))
	}
	b.x.setPool(p)
	b.forget()
	return p
}

// nameP says whether pool p is among those named.
func nameP(refs []ipamv1.PoolReference) bool { return slices.Contains(refs, poolRef("p")) }
