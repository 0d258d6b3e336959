// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package book

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/util/resourceversion"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/records"
)

// watched is what the watch has shown: records at their latest versions, and the latest revision.
// It owns the revision, and what this process has noted of a record. The table is the book's, which
// puts records in.
type watched struct {
	records *records.Table
	version string
}

// Advance moves the book's revision. Time running backwards (an etcd restored from a backup) is an
// error: what was handed out since then is not in the records any more.
func (b *watched) Advance(version string) error {
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

// Revision returns the latest revision that the book has been shown.
func (b *watched) Revision() string { return b.version }

// at returns the record, at whatever version, or nil.
func (b *watched) at(id records.Identity) *records.Record {
	if r := b.records.At(id.Key); r != nil && r.UID == id.UID {
		return r
	}
	return nil
}

// managerOf returns the manager that is known to answer for the record; "" for a new record.
func (b *watched) managerOf(a *ipamv1.IPAllocation) string {
	if old := b.at(records.IdentityOf(a)); old != nil {
		return old.Instance
	}
	return ""
}

// MarkDeleted notes that this process has deleted the record.
func (b *watched) MarkDeleted(id records.Identity) {
	if r := b.at(id); r != nil {
		r.Deleted = true
		b.records.Update(r)
	}
}

// MarkWon notes, for as long as the record exists, that it has won.
func (b *watched) MarkWon(id records.Identity) {
	if r := b.at(id); r != nil {
		r.Won = true
		b.records.Update(r)
	}
}

// missing returns the records that are not among those present, in the order of their prefixes: a
// list does not tell in which order they went.
func (b *watched) missing(present map[records.Handle]bool) []*records.Record {
	var missing []*records.Record
	for h := range b.records.All() {
		if !present[h] {
			missing = append(missing, b.records.Get(h))
		}
	}
	slices.SortStableFunc(missing, func(a, b *records.Record) int { return a.CIDR.Compare(b.CIDR) })
	return missing
}

// Has says whether the watch shows the record, at whatever version.
func (b *watched) Has(id records.Identity) bool {
	return b.at(id) != nil
}

// HasSeen says whether the watch has shown the record, which may have gone since.
func (b *watched) HasSeen(a *ipamv1.IPAllocation) bool {
	if b.Has(records.IdentityOf(a)) {
		return true
	}
	order, err := resourceversion.CompareResourceVersion(b.version, a.ResourceVersion)
	return err == nil && order >= 0
}

// RowsAtOnce is how many rows All looks at in one go: nothing is judged meanwhile.
const RowsAtOnce = 1 << 12

// AppendSome appends records from this handle on, and returns where to go on; 0 at the end.
func (b *watched) AppendSome(holdings []Holding, from records.Handle) ([]Holding, records.Handle) {
	holdings = slices.Grow(holdings, min(b.records.Len(), RowsAtOnce))
	for h := range b.records.From(from) {
		if h >= from+RowsAtOnce {
			return holdings, h
		}
		holdings = append(holdings, HoldingOf(b.records.Get(h)))
	}
	return holdings, 0
}
