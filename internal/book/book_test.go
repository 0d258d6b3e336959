// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package book

import (
	"errors"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"go4.org/netipx"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ipspace"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/records"
)

// heard is a listener that remembers.
type heard struct {
	mu             sync.Mutex
	freed, changed []ipamv1.PoolReference
}

func (h *heard) ClaimConcerned(ipamv1.ClaimReference) {}

func (h *heard) PoolFreed(ref ipamv1.PoolReference) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.freed = append(h.freed, ref)
}

func (h *heard) PoolChanged(ref ipamv1.PoolReference) {
	h.mu.Lock()
	defer h.mu.Unlock()
	h.changed = append(h.changed, ref)
}

// forget empties the memory and returns what was in it.
func (h *heard) forget() (freed, changed []ipamv1.PoolReference) {
	h.mu.Lock()
	defer h.mu.Unlock()
	freed, changed = h.freed, h.changed
	h.freed, h.changed = nil, nil
	return freed, changed
}

// book is a Book, fed as the watch would feed it.
type book struct {
	*heard
	x   *Book
	now *clocktesting.FakePassiveClock
	rev int
}

func newBook() *book {
	h, now := &heard{}, clocktesting.NewFakePassiveClock(time.Unix(1, 0))
	return &book{heard: h, x: New("m", now, 0, h), now: now, rev: 100}
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
func (b *book) show(a *ipamv1.IPAllocation) *records.Record {
	r, err := b.x.Upsert(a.DeepCopy())
	if err = errors.Join(err, b.x.Advance(a.ResourceVersion)); err != nil {
		panic(err)
	}
	return r
}

// cut has the watch show that a record is gone.
func (b *book) cut(a *ipamv1.IPAllocation) {
	b.x.Forget(a.DeepCopy())
	_ = b.x.Advance(b.next())
}

// list has the book take a list in exchange for all that it knows.
func (b *book) list(all ...*ipamv1.IPAllocation) {
	objs := make([]any, 0, len(all))
	for _, a := range all {
		objs = append(objs, a.DeepCopy())
	}
	if err := b.x.Replace(objs, b.next()); err != nil {
		panic(err)
	}
}

// judged puts a record and returns the verdict about it.
func (b *book) judged(t *testing.T, a *ipamv1.IPAllocation) Verdict {
	t.Helper()
	a.ResourceVersion = b.next()
	r := b.show(a)
	v := b.x.Judge(r)
	if v.Outcome == Won {
		b.x.MarkWon(r.Identity)
	}
	return v
}

// promise returns the prefix that is proposed to the claim.
func (b *book) promise(c Claim) (netip.Prefix, error) {
	mark, err := b.x.Promise(c)
	if err != nil {
		return netip.Prefix{}, err
	}
	return mark.CIDR, nil
}

// claimFor is the request to pool p of the claim that recordNamed makes records for.
func claimFor(name string) Claim {
	return Claim{Ref: recordNamed(name, "").Spec.ClaimRef, Pool: poolRef("p"), Bits: 32, Purpose: records.ForClaim}
}

// shapeConfig describes a pool: entries and exclusions as in a pool's spec.
type shapeConfig struct {
	entries, excluded, gateway string
	reserved                   pooltree.ReservedPolicy
	strategy                   pooltree.Strategy
	longestBits                int
	// kept are prefixes, each kept for the claim that ownerOf names.
	kept string
	// tiers are the pool's parts in their order, each like entries.
	tiers []string
	// denied are names of claims that get nothing.
	denied []string
	// keepsGateways: a gateway stays with who arrived with it.
	keepsGateways bool
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
	config := pooltree.Config{Reserved: c.reserved, Strategy: c.strategy, LongestBits: c.longestBits, KeepsGateways: c.keepsGateways}
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
	for _, name := range c.denied {
		if config.Denied == nil {
			config.Denied = map[pooltree.Claimant]string{}
		}
		config.Denied[pooltree.Claimant{Namespace: "ns", Name: name}] = "is denied " + name
	}
	for _, tier := range c.tiers {
		config.Tiers = append(config.Tiers, ranges(tier))
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
	b.x.SetPool(p)
	b.forget()
	return p
}

// nameP says whether pool p is among those named.
func nameP(refs []ipamv1.PoolReference) bool { return slices.Contains(refs, poolRef("p")) }
