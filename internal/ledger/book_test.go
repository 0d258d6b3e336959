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

	"go4.org/netipx"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"

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
	old := b.x.records.at(nameOf(a))
	b.x.mu.Unlock()
	if old != nil && old.uid == a.UID {
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
	v, done, err := b.x.verdictOn(w, identityOf(a))
	if !done || err != nil {
		t.Fatalf("no verdict: done %v, error %v", done, err)
	}
	return v
}

func nameOf(a *ipamv1.IPAllocation) types.NamespacedName {
	return types.NamespacedName{Namespace: a.Namespace, Name: a.Name}
}

// poolRef is a namespaced pool's reference.
func poolRef(name string) ipamv1.PoolReference {
	return ipamv1.PoolReference{Kind: ipamv1.IPPoolKind, Namespace: "ns", Name: name}
}

type edit func(*ipamv1.IPAllocation)

// record is a record of the name for a claim of that name, made by manager "m" out of pool "p".
func recordNamed(name, cidr string, edits ...edit) *ipamv1.IPAllocation {
	a := &ipamv1.IPAllocation{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: name, UID: types.UID("uid of " + name),
			Finalizers:      []string{ipamv1.AllocationFinalizer},
			OwnerReferences: []metav1.OwnerReference{{Kind: "IPAddressClaim", Name: name}, {Kind: "IPPool", Name: "p"}},
			ManagedFields:   []metav1.ManagedFieldsEntry{{Manager: "weir"}},
		},
		Spec: ipamv1.IPAllocationSpec{
			PoolRef:      poolRef("p"),
			AddressSpace: "default",
			CIDR:         cidr,
			ClaimRef: ipamv1.ClaimReference{
				APIGroup: "ipam.cluster.x-k8s.io", Kind: "IPAddressClaim", Namespace: "ns", Name: name, UID: "claim " + name,
			},
			Purpose: ipamv1.ClaimPurpose,
			Manager: ipamv1.AllocationManager{Instance: "m"},
		},
	}
	for _, e := range edits {
		e(a)
	}
	return a
}

func fromPool(name string) edit {
	return func(a *ipamv1.IPAllocation) { a.Spec.PoolRef = poolRef(name) }
}

// by makes the record another manager's.
func by(instance string) edit {
	return func(a *ipamv1.IPAllocation) { a.Spec.Manager.Instance = instance }
}

func elsewhere(a *ipamv1.IPAllocation) { a.Spec.AddressSpace = "other" }

func withUID(uid types.UID) edit { return func(a *ipamv1.IPAllocation) { a.UID = uid } }

func createdAt(revision string) edit {
	return func(a *ipamv1.IPAllocation) { a.Spec.Manager.CreatedRevision = revision }
}

func confirmed(a *ipamv1.IPAllocation) { a.Spec.State = ipamv1.ConfirmedState }

func released(a *ipamv1.IPAllocation) { a.Spec.ReleasedAt = metav1.Unix(1, 0) }

func terminating(a *ipamv1.IPAllocation) {
	now := metav1.Unix(1, 0)
	a.DeletionTimestamp = &now
}

// moving: clusterctl has moved it.
func moving(a *ipamv1.IPAllocation) {
	a.Annotations = map[string]string{clusterctlv1.DeleteForMoveAnnotation: ""}
}

// touched: somebody who is not Weir has written, too.
func touched(a *ipamv1.IPAllocation) {
	a.ManagedFields = append(a.ManagedFields, metav1.ManagedFieldsEntry{Manager: "kubectl"})
}

// carved makes the record the block of a child pool.
func carved(child string) edit {
	return func(a *ipamv1.IPAllocation) {
		a.Spec.Purpose = ipamv1.ChildPoolPurpose
		a.Spec.ClaimRef = blockClaim(Pool{Ref: poolRef(child), UID: types.UID("pool " + child)}, netip.Prefix{}, nil).Ref
	}
}

// root is the record of a root pool's own block.
func root(pool, cidr string, edits ...edit) *ipamv1.IPAllocation {
	return recordNamed("block-of-"+pool+"-"+strings.NewReplacer("/", "-", ":", "-").Replace(cidr), cidr, append([]edit{
		fromPool(pool), carved(pool), func(a *ipamv1.IPAllocation) { a.Spec.Purpose = ipamv1.RootPurpose },
	}, edits...)...)
}

// claimFor is the request to pool p of the claim that recordNamed makes records for.
func claimFor(name string) Claim {
	return Claim{Ref: recordNamed(name, "").Spec.ClaimRef, Pool: poolRef("p"), Bits: 32, Purpose: ipamv1.ClaimPurpose}
}

func at(name string) types.NamespacedName { return types.NamespacedName{Namespace: "ns", Name: name} }

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
		config.Kept = append(config.Kept, pooltree.Kept{Prefix: p, For: keyOf(claimFor(ownerOf(p)).Ref)})
	}
	return pooltree.New(config)
}

// ownerOf names the claim that a prefix is kept for.
func ownerOf(p netip.Prefix) string { return "owner-of-" + p.Addr().String() }

func prefixes(texts string) []netip.Prefix {
	var all []netip.Prefix
	for text := range strings.FieldsSeq(texts) {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}

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
