// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package book

import (
	"fmt"
	"slices"
	"time"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/records"
)

// takeoverDelay is how long a record of another manager is left alone before it is taken over, so
// that two managers that answer the same claim at once do not write for nothing. Economy only:
// taking over is safe at any time.
const takeoverDelay = 5 * time.Second

// Book is who has what in every address space, in the order in which the API server stored it. It
// is built in floors; each uses only those below it:
//
//	promiser   what is proposed to objects under admission, and to whom
//	chooser    what is free
//	serving    which pools hand out prefixes, and what they keep back
//	stock      what is handed out of each pool
//	claims     what is recorded for a claim
//	lineage    which block was carved from which, and so which of two records wins
//	state      records, address spaces and pools
type Book struct{ promiser }

// Advance moves the book's revision. Time running backwards (an etcd restored from a backup) is an
// error: what was handed out since then is not in the records any more.
func (b *Book) Advance(version string) error {
	if b.version != "" {
		order, err := resourceversion.CompareResourceVersion(version, b.version)
		if err != nil {
			return fmt.Errorf("comparing revisions of IPAllocations: %w", err)
		}
		if order < 0 {
			return fmt.Errorf("revision of IPAllocations went back from %s to %s: the API server's storage was restored", b.version, version)
		}
	}
	b.version = version
	return nil
}

// Upsert takes in a new version of a record, and returns what is kept of it.
func (b *Book) Upsert(a *ipamv1.IPAllocation) (*records.Record, error) {
	was := b.managerOf(a)
	r, err := b.place(a)
	if err == nil && r.Instance != was {
		b.lanes.note(r.Instance, b.now())
	}
	return r, err
}

// Revision returns the latest revision that the book has been shown.
func (b *Book) Revision() string { return b.version }

// managerOf returns the manager that is known to answer for the record; "" for a new record.
func (b *Book) managerOf(a *ipamv1.IPAllocation) string {
	if old := b.recordAt(records.IdentityOf(a)); old != nil {
		return old.Instance
	}
	return ""
}

// place stores the version of a record and returns what is kept of it.
func (b *Book) place(a *ipamv1.IPAllocation) (*records.Record, error) {
	r, err := records.Decode(a, b.now())
	if err != nil {
		return nil, err
	}
	old := b.records.At(r.Key)
	switch {
	case old == nil:
	case old.UID == r.UID:
		b.refresh(old, r)
		return old, nil
	default:
		b.remove(old)
	}
	b.insert(r)
	return r, nil
}

// refresh takes over what a newer version of the record says; the rest never changes.
func (b *Book) refresh(old, r *records.Record) {
	b.uncount(old)
	if old.Created == "" {
		old.Created = r.Created
	}
	confirmed := r.Confirmed && !old.Confirmed
	if r.Instance != old.Instance {
		old.Instance, old.Seen = r.Instance, r.Seen
		b.suspect(old)
	}
	old.Version, old.Foreign, old.Owned = r.Version, r.Foreign, r.Owned
	old.Terminating, old.Confirmed, old.ReleasedAt, old.Retained = r.Terminating, r.Confirmed, r.ReleasedAt, r.Retained
	old.Restored, old.Moving, old.Leaves = old.Restored || r.Restored, r.Moving, r.Leaves
	b.records.Update(old)
	b.count(old)
	if confirmed {
		b.reblock(old)
	}
}

func (b *Book) insert(r *records.Record) {
	e := b.poolOf(r.Pool)
	b.records.Insert(r)
	if !b.withdraw(r.Space, r.CIDR) {
		b.crowd(e)
	}
	b.spaceOf(r.Space).taken.Insert(r.CIDR, r.Handle)
	e.history.hold(r)
	b.count(r)
	b.suspect(r)
	if r.Purpose == records.ForChildPool && e.children == 1 && len(e.serving) == 0 {
		b.serve(e) // it does not, but keeps back from now on, for what is carved from it
	}
	if r.Confirmed {
		b.reblock(r)
	}
	switch {
	case isBlock(r.Purpose):
		b.on.PoolChanged(r.Claim.Pool())
	case r.Restored:
		b.on.ClaimConcerned(r.Claim)
	}
}

// suspect notes a record of another manager in its pool: nobody here knows whether it will be told
// to anybody. That a manager is at work shows in what it records from now on: the first list has
// all that ever were.
func (b *Book) suspect(r *records.Record) {
	if r.Instance == b.instance || isBlock(r.Purpose) || r.Seen == 0 {
		return
	}
	b.poolOf(r.Pool).suspected = r.Seen
	for _, e := range b.hindered(r) {
		e.suspected = r.Seen
	}
}

// MarkDeleted notes that this process has deleted the record.
func (b *Book) MarkDeleted(id records.Identity) {
	if r := b.recordAt(id); r != nil {
		r.Deleted = true
		b.records.Update(r)
	}
}

// MarkWon notes, for as long as the record exists, that it has won.
func (b *Book) MarkWon(id records.Identity) {
	if r := b.recordAt(id); r != nil {
		r.Won = true
		b.records.Update(r)
	}
}

func (b *Book) remove(r *records.Record) {
	s := b.spaceOf(r.Space)
	s.taken.Remove(r.CIDR, r.Handle)
	b.unlearn(r)
	b.poolOf(r.Pool).history.release(r, s)
	b.uncount(r)
	b.records.Remove(r.Handle)
	if isBlock(r.Purpose) {
		b.reblock(r)
		b.on.PoolChanged(r.Claim.Pool())
	}
	b.freed(r)
}

// Forget takes out a record that has gone.
func (b *Book) Forget(a *ipamv1.IPAllocation) {
	if r := b.recordAt(records.IdentityOf(a)); r != nil {
		b.remove(r)
	}
}

// Replace takes a list of all records in exchange for all that the book knows.
func (b *Book) Replace(objs []any, version string) error {
	if err := b.Advance(version); err != nil {
		return err
	}
	present := make(map[records.Handle]bool, len(objs))
	for _, obj := range objs {
		a, ok := obj.(*ipamv1.IPAllocation)
		if !ok {
			return fmt.Errorf("listing IPAllocations: got a %T", obj)
		}
		r, err := b.place(a)
		if err != nil {
			return err
		}
		present[r.Handle] = true
	}
	for _, r := range b.missing(present) {
		b.remove(r)
	}
	return nil
}

// missing returns the records that are not among those present, in the order of their prefixes: a
// list does not tell in which order they went.
func (b *Book) missing(present map[records.Handle]bool) []*records.Record {
	var missing []*records.Record
	for h := range b.records.All() {
		if !present[h] {
			missing = append(missing, b.records.Get(h))
		}
	}
	slices.SortStableFunc(missing, func(a, b *records.Record) int { return a.CIDR.Compare(b.CIDR) })
	return missing
}
