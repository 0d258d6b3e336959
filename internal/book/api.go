// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package book

import (
	"net/netip"
	"time"

	"k8s.io/apimachinery/pkg/types"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/foreign"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/records"
)

// What the feed and the ledger ask of one part alone. What takes more than one is in book.go,
// account.go and capacity.go. The part's own comment on a method says more.

// Advance moves the book's revision, and errs where that went back.
func (b *Book) Advance(version string) error { return b.watched.Advance(version) }

// Revision returns the latest revision that the book has been shown.
func (b *Book) Revision() string { return b.watched.Revision() }

// MarkDeleted notes that this process has deleted the record.
func (b *Book) MarkDeleted(id records.Identity) { b.watched.MarkDeleted(id) }

// MarkWon notes, for as long as the record exists, that it has won.
func (b *Book) MarkWon(id records.Identity) { b.watched.MarkWon(id) }

// Named returns the record of that name, or nil.
func (b *Book) Named(key types.NamespacedName) *records.Record { return b.records.At(key) }

// Has reports whether the watch shows the record, at whatever version.
func (b *Book) Has(id records.Identity) bool { return b.watched.Has(id) }

// HasSeen reports whether the watch has shown the record, which may have gone since.
func (b *Book) HasSeen(a *ipamv1.IPAllocation) bool { return b.watched.HasSeen(a) }

// AppendSome appends records from this handle on, and returns where to go on; 0 at the end.
func (b *Book) AppendSome(holdings []Holding, from records.Handle) ([]Holding, records.Handle) {
	return b.watched.AppendSome(holdings, from)
}

// IsRecent reports whether something was seen less than takeoverDelay ago. It may be asked without
// the lock.
func (b *Book) IsRecent(seen int64) bool { return b.ages.IsRecent(seen) }

// Overlapping returns every record of the address space that overlaps the prefix.
func (b *Book) Overlapping(space string, prefix netip.Prefix) []Holding {
	return b.spaces.Overlapping(space, prefix)
}

// Judge decides about r at this moment of the watch.
func (b *Book) Judge(r *records.Record) Verdict { return b.lineage.Judge(r) }

// RecordOf returns the claim's record, other than the stuck one, and what it is in dispute with.
func (b *Book) RecordOf(c Claim, stuck types.UID) (*records.Record, *Holding) {
	return b.claims.RecordOf(c, stuck)
}

// RecordsFor returns the records of all claims of this kind, namespace and name.
func (b *Book) RecordsFor(claim ipamv1.ClaimReference) []*records.Record {
	return b.claims.RecordsFor(claim)
}

// Repeats returns the claim's records that say what an older one of them says already.
func (b *Book) Repeats(claim ipamv1.ClaimReference) []*records.Record { return b.claims.Repeats(claim) }

// HasLost reports whether this very version of a claim's record is overlapped by an older one.
func (b *Book) HasLost(id records.Identity) bool { return b.claims.HasLost(id) }

// Obstacle returns a record that keeps this one from winning and is not just about to go.
func (b *Book) Obstacle(id records.Identity) (Holding, bool) { return b.claims.Obstacle(id) }

// LeftBehind returns what has gone to another cluster, or is just going, with what the claim has won.
func (b *Book) LeftBehind(c Claim, mark *records.Record) (Holding, bool) {
	return b.claims.LeftBehind(c, mark)
}

// StandsFor returns the record that keeps with a member what this version of another record keeps.
func (b *Book) StandsFor(id records.Identity) (Holding, bool) { return b.claims.StandsFor(id) }

// OtherBlocks returns the records of blocks of pools of the name that keep does not name.
func (b *Book) OtherBlocks(pool ipamv1.PoolReference, uid types.UID, keep []netip.Prefix) []Holding {
	return b.claims.OtherBlocks(pool, uid, keep)
}

// HandedBack returns, by prefix, what pools of the name have handed back, for whatever template, also
// what has ended since.
func (b *Book) HandedBack(pool ipamv1.PoolReference) []Holding { return b.claims.HandedBack(pool) }

// HandedBackIn returns, by prefix, what was handed back of a block by pools of whatever name.
func (b *Book) HandedBackIn(space string, block netip.Prefix) []Holding {
	return b.stock.HandedBackIn(space, block)
}

// Withheld returns what the pool that the block is to be carved from keeps back in it, and what the
// pools above that do.
func (b *Book) Withheld(parent ipamv1.PoolReference, block netip.Prefix) []Withheld {
	return b.pools.Withheld(parent, block)
}

// Serves reports whether the pool hands out prefixes.
func (b *Book) Serves(pool ipamv1.PoolReference) bool { return b.pools.Serves(pool) }

// SetPool registers a pool or what it has become.
func (b *Book) SetPool(p Pool) { b.serving.SetPool(p) }

// DropPool forgets the shape of a pool; its records stay taken.
func (b *Book) DropPool(ref ipamv1.PoolReference) { b.serving.DropPool(ref) }

// Ready returns a channel that is closed once the pool serves.
func (b *Book) Ready(ref ipamv1.PoolReference) <-chan struct{} { return b.serving.Ready(ref) }

// IsConfirmed reports whether the block is the pool's and stays it.
func (b *Book) IsConfirmed(p Pool, block netip.Prefix) bool { return b.serving.IsConfirmed(p, block) }

// Witnesses returns what a proof about these pools may change: confirmed blocks.
func (b *Book) Witnesses(pools map[ipamv1.PoolReference]bool) []*records.Record {
	return b.serving.Witnesses(pools)
}

// Capacity returns the sums of a registered pool.
func (b *Book) Capacity(ref ipamv1.PoolReference) (Capacity, bool) { return b.stock.Capacity(ref) }

// States returns how many records of the pool there are in each state, its own blocks not counted. A state without records may be missing.
func (b *Book) States(ref ipamv1.PoolReference) map[ipamv1.AllocationState]int {
	return b.stock.States(ref)
}

// Elsewhere returns the address spaces other than the pool's in which claims of an earlier pool of its name hold something, ascending. Until there
// is none the pool does not serve.
func (b *Book) Elsewhere(ref ipamv1.PoolReference) []string { return b.stock.Elsewhere(ref) }

// Holdings returns, by prefix, what is handed out of the pool.
func (b *Book) Holdings(ref ipamv1.PoolReference) []Holding { return b.stock.Holdings(ref) }

// Cooling returns, in no order, what cools down in the pool.
func (b *Book) Cooling(ref ipamv1.PoolReference) []Holding { return b.stock.Cooling(ref) }

// Cools reports whether a prefix cools down when it is released, as far as the book knows.
func (b *Book) Cools(h Holding) bool { return b.stock.Cools(h) }

// WithMembers returns, by prefix, the blocks of a pool that members may use.
func (b *Book) WithMembers(pool ipamv1.PoolReference) []Holding { return b.stock.WithMembers(pool) }

// Leaving returns, in no order, what is to go out of a pool.
func (b *Book) Leaving(pool ipamv1.PoolReference) []Holding { return b.stock.Leaving(pool) }

// Returned returns what may be back of what is held in a pool.
func (b *Book) Returned(pool ipamv1.PoolReference) []Return { return b.stock.Returned(pool) }

// NoteForeign takes in what an IPAddress of another provider names.
func (b *Book) NoteForeign(a foreign.Address) { b.foreign.Note(a) }

// ForgetForeign takes out what such an IPAddress named, which is gone.
func (b *Book) ForgetForeign(key foreign.Key) { b.foreign.Forget(key) }

// AwaitForeign has nothing be chosen where other providers may have handed out, until ForeignKnown.
func (b *Book) AwaitForeign() { b.foreign.Await() }

// ForeignKnown ends that: all IPAddresses of other providers were noted.
func (b *Book) ForeignKnown() { b.foreign.Known() }

// Foreign returns, by prefix, what IPAddresses of other providers name in a pool.
func (b *Book) Foreign(pool ipamv1.PoolReference) []Foreign { return b.foreign.In(pool) }

// ForeignIn returns, by prefix, those that share something with prefixes of an address space.
func (b *Book) ForeignIn(space string, prefixes []netip.Prefix) []foreign.Address {
	return b.foreign.Overlapping(space, prefixes)
}

// Stored notes that there is, or was, an object of Weir's own kinds of that UID.
func (b *Book) Stored(claim ipamv1.ClaimReference) { b.stock.Stored(claim) }

// Unstored returns how many prefixes of the pool are recorded for objects of that namespace, and of
// all namespaces, that were not seen stored.
func (b *Book) Unstored(pool ipamv1.PoolReference, namespace string) (own, all int) {
	return b.stock.Unstored(pool, namespace)
}

// NextOverdue returns when, from now, the next grace is over of a record whose object was not
// seen.
func (b *Book) NextOverdue() (time.Duration, bool) { return b.stock.NextOverdue() }

// Choose picks a prefix for the claim and marks it for a record of that name, until Unmark.
func (b *Book) Choose(c Claim, key types.NamespacedName) (*records.Record, error) {
	return b.chooser.Choose(c, key)
}

// ChooseTaken marks exactly what arrived, whoever holds it.
func (b *Book) ChooseTaken(c Claim, key types.NamespacedName) (*records.Record, error) {
	return b.chooser.ChooseTaken(c, key)
}

// ChooseBlock marks exactly the asked block, unless another claimant holds part of it.
func (b *Book) ChooseBlock(c Claim, space string, key types.NamespacedName) (*records.Record, error) {
	return b.chooser.ChooseBlock(c, space, key)
}

// ChooseHandBack marks exactly the block that is handed back, unless anything is handed out of it.
func (b *Book) ChooseHandBack(c Claim, space string, key types.NamespacedName) (*records.Record, error) {
	return b.chooser.ChooseHandBack(c, space, key)
}

// Promise picks a prefix for the claim and keeps it from others until Expire, which the caller sees
// to after PromiseTime.
func (b *Book) Promise(c Claim) (*records.Record, error) { return b.chooser.Promise(c) }

// Preview picks a prefix for the claim and forgets it again.
func (b *Book) Preview(c Claim) (netip.Prefix, error) { return b.chooser.Preview(c) }

// Unmark ends a mark, whatever came of the choice, and reports whether it had not ended before.
func (b *Book) Unmark(r *records.Record) bool { return b.marks.Unmark(r) }

// Expire takes a promise back that no claim has asked for.
func (b *Book) Expire(mark *records.Record) { b.marks.Expire(mark) }
