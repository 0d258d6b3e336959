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

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/utils/clock"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/allocator"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
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
	records *table
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
	taken allocator.Space[handle]
	// histories is how many of its pools have one.
	histories int
}

// keyOf names a claim without its UID: a claim and its successor under the same name share it.
func keyOf(c ipamv1.ClaimReference) pooltree.Claimant {
	return pooltree.Claimant{Group: c.APIGroup, Kind: c.Kind, Namespace: c.Namespace, Name: c.Name}
}

func newIndex(instance string, c clock.PassiveClock, on listener) *index {
	return &index{
		instance: instance,
		clock:    c,
		started:  c.Now(),
		on:       on,
		random:   rand.Uint64,
		records:  newTable(),
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
	if r.instance != was {
		x.lanes.note(r.instance, x.now())
	}
	x.judgeFor(r)
	return nil
}

// holderOf returns the manager that is known to answer for the record; "" for a new record.
func (x *index) holderOf(a *ipamv1.IPAllocation) string {
	if old := x.records.at(types.NamespacedName{Namespace: a.Namespace, Name: a.Name}); old != nil && old.uid == a.UID {
		return old.instance
	}
	return ""
}

// place stores the version of a record and returns what the index keeps of it.
func (x *index) place(a *ipamv1.IPAllocation) (*record, error) {
	r, err := x.decode(a)
	if err != nil {
		return nil, err
	}
	old := x.records.at(r.key)
	switch {
	case old == nil:
	case old.uid == r.uid:
		x.refresh(old, r)
		return old, nil
	default:
		x.remove(old)
	}
	x.insert(r)
	return r, nil
}

// refresh takes over what a newer version of the record says; the rest never changes.
func (x *index) refresh(old, r *record) {
	x.uncount(old)
	if old.created == "" {
		old.created = r.created
	}
	confirmed := r.confirmed && !old.confirmed
	if r.instance != old.instance {
		old.instance, old.seen = r.instance, r.seen
		x.suspect(old)
	}
	old.version, old.foreign, old.owned = r.version, r.foreign, r.owned
	old.terminating, old.confirmed, old.releasedAt, old.retained = r.terminating, r.confirmed, r.releasedAt, r.retained
	old.arrived, old.moving = old.arrived || r.arrived, r.moving
	x.records.update(old)
	x.count(old)
	if confirmed {
		x.reblock(old)
	}
}

func (x *index) insert(r *record) {
	x.records.insert(r)
	if !x.withdraw(r.space, r.cidr) {
		x.crowd(r.pool)
	}
	r.space.taken.Insert(r.cidr, r.handle)
	r.pool.history.hold(r)
	x.count(r)
	x.suspect(r)
	if e := r.pool; r.purpose == ipamv1.ChildPoolPurpose && e.children == 1 && len(e.serving) == 0 {
		x.serve(e) // it does not, but keeps back from now on, for what is carved from it
	}
	if r.confirmed {
		x.reblock(r)
	}
	switch {
	case r.isBlock():
		x.on.poolChanged(r.owner())
	case r.arrived:
		x.on.claimConcerned(r.claim)
	}
}

// suspect notes a record of another manager in its pool: nobody here knows whether it will be told to anybody. That a manager is
// at work shows in what it records from now on: the first list has all that ever were.
func (x *index) suspect(r *record) {
	if r.instance == x.instance || r.isBlock() || r.seen == 0 {
		return
	}
	r.pool.suspected = r.seen
	for _, e := range x.hindered(r) {
		e.suspected = r.seen
	}
}

// leave notes that this process has dropped the record.
func (x *index) leave(id identity) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if r := x.records.at(id.key); r != nil && r.uid == id.uid {
		r.left = true
		x.records.update(r)
	}
}

func (x *index) remove(r *record) {
	r.space.taken.Remove(r.cidr, r.handle)
	x.unlearn(r)
	r.pool.history.release(r)
	x.uncount(r)
	x.records.remove(r.handle)
	if r.isBlock() {
		x.reblock(r)
		x.on.poolChanged(r.owner())
	}
	x.freed(r)
}

// freed tells who waits for room where the record was.
func (x *index) freed(r *record) {
	x.on.poolFreed(r.pool.ref)
	for _, e := range x.hindered(r) {
		x.on.poolFreed(e.ref)
	}
}

func (x *index) forget(a *ipamv1.IPAllocation) error {
	key := types.NamespacedName{Namespace: a.Namespace, Name: a.Name}
	if r := x.records.at(key); r != nil && r.uid == a.UID {
		x.remove(r)
	}
	x.missed(key, a.ResourceVersion)
	return nil
}

func (x *index) replace(objs []any, version string) error {
	if err := x.advance(version); err != nil {
		return err
	}
	present := make(map[handle]bool, len(objs))
	for _, obj := range objs {
		a, ok := obj.(*ipamv1.IPAllocation)
		if !ok {
			return fmt.Errorf("listing IPAllocations: got a %T", obj)
		}
		r, err := x.place(a)
		if err != nil {
			return err
		}
		present[r.handle] = true
	}
	for _, r := range x.missing(present) {
		x.remove(r)
	}
	x.settle(version)
	return nil
}

// missing returns the records that are not among those present, in the order of their prefixes: a list does not tell in which
// order they went.
func (x *index) missing(present map[handle]bool) []*record {
	var missing []*record
	for h := range x.records.all() {
		if !present[h] {
			missing = append(missing, x.records.get(h))
		}
	}
	slices.SortStableFunc(missing, func(a, b *record) int { return a.cidr.Compare(b.cidr) })
	return missing
}

// settle tells every waiter what a list, which the index shows now, says of its record.
func (x *index) settle(version string) {
	for key := range x.waiters {
		if r := x.records.at(key); r != nil {
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
func (x *index) overlapping(s *space, p netip.Prefix) []*record {
	var found []*record
	for _, h := range s.taken.Overlapping(p) {
		if x.records.shared(h).role == stored {
			found = append(found, x.records.get(h))
		}
	}
	return found
}
