// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync"
	"time"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/records"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/utils/clock"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/allocator"
)

// index is every record of every address space, in the order in which the API server made them. It is the store of the
// reflector that follows IPAllocations: its callbacks run one at a time, in revision order, and judge inside.
//
// A callback that fails leaves the index broken for good: nothing is judged any more and the process ends, because a
// reflector only logs such an error and would go on with a gap.
type index struct {
	// instance is this manager's: what others have recorded lately may yet come to nothing.
	instance string
	clock    clock.PassiveClock
	// started is when the index was made, and grace how long a record may wait for its object to be stored, in seconds.
	started time.Time
	grace   int64
	// on is told what happened; it must not block.
	on listener
	// random is what pools that choose at random choose by.
	random func() uint64

	mu      sync.Mutex
	records *records.Table
	spaces  map[string]*space
	pools   map[ipamv1.PoolReference]*poolEntry
	waiters map[types.NamespacedName][]*waiter
	lanes   lanes
	// promises are what this process has proposed to objects under admission.
	promises promises
	version  string
	synced   chan struct{}
	broken   error
}

// listener hears from the index.
type listener interface {
	// poolFreed: the pool may have room again, or may serve now.
	poolFreed(ipamv1.PoolReference)
	// poolChanged: the pool's sums have changed.
	poolChanged(ipamv1.PoolReference)
	// claimConcerned: a record has arrived under the claim's name.
	claimConcerned(ipamv1.ClaimReference)
	// indexBroke: nothing is judged any more, and the process must end.
	indexBroke(error)
}

// space is one address space.
type space struct {
	name  string
	taken allocator.Space[records.Handle]
	// histories is how many of its pools have one.
	histories int
}

func newIndex(instance string, c clock.PassiveClock, on listener) *index {
	return &index{
		instance: instance,
		clock:    c,
		started:  c.Now(),
		on:       on,
		random:   rand.Uint64,
		records:  records.NewTable(),
		spaces:   map[string]*space{},
		pools:    map[ipamv1.PoolReference]*poolEntry{},
		waiters:  map[types.NamespacedName][]*waiter{},
		promises: promises{},
		lanes:    lanes{own: instance, seen: map[string]int64{}},
		synced:   make(chan struct{}),
	}
}

// now counts seconds since the index was made, from 1. It does not jump with the wall clock.
func (x *index) now() int64 { return 1 + int64(x.clock.Now().Sub(x.started)/time.Second) }

// isRecent says whether something was seen, as now counts, less than takeoverDelay ago. Should the clock have been set back since
// all the same, it says no: nothing may wait until it has caught up.
func (x *index) isRecent(seen int64) bool {
	ago := x.now() - seen
	return ago >= 0 && ago < int64(takeoverDelay/time.Second)
}

// isNew says whether something was seen less than the grace ago.
func (x *index) isNew(seen int64) bool { return x.now()-seen <= x.grace }

// Add implements cache.ReflectorStore.
func (x *index) Add(obj any) error { return x.apply(obj, x.upsert) }

// Update implements cache.ReflectorStore.
func (x *index) Update(obj any) error { return x.apply(obj, x.upsert) }

// Delete implements cache.ReflectorStore.
func (x *index) Delete(obj any) error { return x.apply(obj, x.forget) }

// Resync implements cache.ReflectorStore; there is nothing to resync.
func (x *index) Resync() error { return nil }

// Bookmark implements cache.ReflectorBookmarkStore.
func (x *index) Bookmark(version string) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.guard(x.advance(version))
	return nil
}

// Replace implements cache.ReflectorStore: one swap, after which every waiter can be told what became of its record.
func (x *index) Replace(objs []any, version string) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.broken == nil {
		x.guard(x.replace(objs, version))
	}
	return nil
}

func (x *index) apply(obj any, change func(*ipamv1.IPAllocation) error) error {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.broken != nil {
		return nil
	}
	allocation, ok := obj.(*ipamv1.IPAllocation)
	if !ok {
		x.guard(fmt.Errorf("watching IPAllocations: got a %T", obj))
		return nil
	}
	err := x.advance(allocation.ResourceVersion)
	if err == nil {
		err = change(allocation)
	}
	x.guard(err)
	return nil
}

// guard breaks the index on the first error. The callbacks return none: a reflector would only log it.
func (x *index) guard(err error) {
	if err == nil || x.broken != nil {
		return
	}
	x.broken = err
	for _, waiters := range x.waiters {
		for _, w := range waiters {
			w.signal()
		}
	}
	x.on.indexBroke(err)
}

// advance moves the index's revision. Time running backwards (an etcd restored from a backup) is an error: what was
// handed out since then is not in the records any more.
func (x *index) advance(version string) error {
	if x.version != "" {
		order, err := resourceversion.CompareResourceVersion(version, x.version)
		if err != nil {
			return fmt.Errorf("comparing revisions of IPAllocations: %w", err)
		}
		if order < 0 {
			return fmt.Errorf("revision of IPAllocations went back from %s to %s: the API server's storage was restored", x.version, version)
		}
	}
	x.version = version
	return nil
}

func (x *index) upsert(a *ipamv1.IPAllocation) error {
	was := x.holderOf(a)
	r, err := x.place(a)
	if err != nil {
		return err
	}
	if r.Instance != was {
		x.lanes.note(r.Instance, x.now())
	}
	x.judgeFor(r)
	return nil
}

// holderOf returns the manager that is known to answer for the record; "" for a new record.
func (x *index) holderOf(a *ipamv1.IPAllocation) string {
	if old := x.records.At(types.NamespacedName{Namespace: a.Namespace, Name: a.Name}); old != nil && old.UID == a.UID {
		return old.Instance
	}
	return ""
}

// place stores the version of a record and returns what the index keeps of it.
func (x *index) place(a *ipamv1.IPAllocation) (*records.Record, error) {
	r, err := records.Decode(a, x.now())
	if err != nil {
		return nil, err
	}
	old := x.records.At(r.Key)
	switch {
	case old == nil:
	case old.UID == r.UID:
		x.refresh(old, r)
		return old, nil
	default:
		x.remove(old)
	}
	x.insert(r)
	return r, nil
}

// refresh takes over what a newer version of the record says; the rest never changes.
func (x *index) refresh(old, r *records.Record) {
	x.uncount(old)
	if old.Created == "" {
		old.Created = r.Created
	}
	confirmed := r.Confirmed && !old.Confirmed
	if r.Instance != old.Instance {
		old.Instance, old.Seen = r.Instance, r.Seen
		x.suspect(old)
	}
	old.Version, old.Foreign, old.Owned = r.Version, r.Foreign, r.Owned
	old.Terminating, old.Confirmed, old.ReleasedAt, old.Retained = r.Terminating, r.Confirmed, r.ReleasedAt, r.Retained
	old.Restored, old.Moving = old.Restored || r.Restored, r.Moving
	x.records.Update(old)
	x.count(old)
	if confirmed {
		x.reblock(old)
	}
}

func (x *index) insert(r *records.Record) {
	e := x.poolOf(r.Pool)
	x.records.Insert(r)
	if !x.withdraw(r.Space, r.CIDR) {
		x.crowd(e)
	}
	x.spaceOf(r.Space).taken.Insert(r.CIDR, r.Handle)
	e.history.hold(r)
	x.count(r)
	x.suspect(r)
	if r.Purpose == ipamv1.ChildPoolPurpose && e.children == 1 && len(e.serving) == 0 {
		x.serve(e) // it does not, but keeps back from now on, for what is carved from it
	}
	if r.Confirmed {
		x.reblock(r)
	}
	switch {
	case isBlock(r.Purpose):
		x.on.poolChanged(r.Claim.Pool())
	case r.Restored:
		x.on.claimConcerned(r.Claim)
	}
}

// suspect notes a record of another manager in its pool: nobody here knows whether it will be told to anybody. That a manager is
// at work shows in what it records from now on: the first list has all that ever were.
func (x *index) suspect(r *records.Record) {
	if r.Instance == x.instance || isBlock(r.Purpose) || r.Seen == 0 {
		return
	}
	x.poolOf(r.Pool).suspected = r.Seen
	for _, e := range x.hindered(r) {
		e.suspected = r.Seen
	}
}

// leave notes that this process has dropped the record.
func (x *index) leave(id records.Identity) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if r := x.records.At(id.Key); r != nil && r.UID == id.UID {
		r.Deleted = true
		x.records.Update(r)
	}
}

func (x *index) remove(r *records.Record) {
	s := x.spaceOf(r.Space)
	s.taken.Remove(r.CIDR, r.Handle)
	x.unlearn(r)
	x.poolOf(r.Pool).history.release(r, s)
	x.uncount(r)
	x.records.Remove(r.Handle)
	if isBlock(r.Purpose) {
		x.reblock(r)
		x.on.poolChanged(r.Claim.Pool())
	}
	x.freed(r)
}

// freed tells who waits for room where the record was.
func (x *index) freed(r *records.Record) {
	x.on.poolFreed(r.Pool)
	for _, e := range x.hindered(r) {
		x.on.poolFreed(e.ref)
	}
}

func (x *index) forget(a *ipamv1.IPAllocation) error {
	key := types.NamespacedName{Namespace: a.Namespace, Name: a.Name}
	if r := x.records.At(key); r != nil && r.UID == a.UID {
		x.remove(r)
	}
	x.missed(key, a.ResourceVersion)
	return nil
}

func (x *index) replace(objs []any, version string) error {
	if err := x.advance(version); err != nil {
		return err
	}
	present := make(map[records.Handle]bool, len(objs))
	for _, obj := range objs {
		a, ok := obj.(*ipamv1.IPAllocation)
		if !ok {
			return fmt.Errorf("listing IPAllocations: got a %T", obj)
		}
		r, err := x.place(a)
		if err != nil {
			return err
		}
		present[r.Handle] = true
	}
	for _, r := range x.missing(present) {
		x.remove(r)
	}
	x.settle(version)
	return nil
}

// missing returns the records that are not among those present, in the order of their prefixes: a list does not tell in which
// order they went.
func (x *index) missing(present map[records.Handle]bool) []*records.Record {
	var missing []*records.Record
	for h := range x.records.All() {
		if !present[h] {
			missing = append(missing, x.records.Get(h))
		}
	}
	slices.SortStableFunc(missing, func(a, b *records.Record) int { return a.CIDR.Compare(b.CIDR) })
	return missing
}

// settle tells every waiter what a list, which the index shows now, says of its record.
func (x *index) settle(version string) {
	for key := range x.waiters {
		if r := x.records.At(key); r != nil {
			x.judgeFor(r)
		} else {
			x.missed(key, version)
		}
	}
	if x.isSynced() {
		relists.Inc()
	} else {
		close(x.synced)
	}
}

// isSynced says whether there has been a list.
func (x *index) isSynced() bool {
	select {
	case <-x.synced:
		return true
	default:
		return false
	}
}

func (x *index) spaceOf(name string) *space {
	s, ok := x.spaces[name]
	if !ok {
		s = &space{name: name}
		x.spaces[name] = s
	}
	return s
}

// overlapping returns every record of the space that overlaps the prefix, in the order of their prefixes.
func (x *index) overlapping(space string, p netip.Prefix) []*records.Record {
	var found []*records.Record
	for _, h := range x.spaceOf(space).taken.Overlapping(p) {
		if x.records.Terms(h).Role == records.Stored {
			found = append(found, x.records.Get(h))
		}
	}
	return found
}
