// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package book

import (
	"net/netip"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/allocator"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/records"
)

// spaces are the address spaces. They own what takes which prefix, and read the records.
type spaces struct {
	records *records.Table
	named   map[string]*space
}

// space is one address space.
type space struct {
	name  string
	taken allocator.Space[records.Handle]
	// handBacks are the records by which blocks of it were handed back; they are the stock's.
	handBacks map[records.Handle]struct{}
	// histories is how many of its pools have one; serving counts them.
	histories int
}

// of returns the address space of that name, which may be a new one.
func (b *spaces) of(name string) *space {
	s, ok := b.named[name]
	if !ok {
		s = &space{name: name, handBacks: map[records.Handle]struct{}{}}
		b.named[name] = s
	}
	return s
}

// take has a record, or what is none, take its prefix, by its handle. free ends that.
func (b *spaces) take(r *records.Record) { b.of(r.Space).taken.Insert(r.CIDR, r.Handle) }

func (b *spaces) free(r *records.Record) { b.of(r.Space).taken.Remove(r.CIDR, r.Handle) }

// overlapping returns every record of the space that overlaps the prefix, in the order of their
// prefixes.
func (b *spaces) overlapping(space string, p netip.Prefix) []*records.Record {
	var found []*records.Record
	for _, h := range b.of(space).taken.Overlapping(p) {
		if b.records.Terms(h).Role == records.Stored {
			found = append(found, b.records.Get(h))
		}
	}
	return found
}

// Overlapping returns every record of the address space that overlaps the prefix.
func (b *spaces) Overlapping(space string, prefix netip.Prefix) []Holding {
	return HoldingsOf(b.overlapping(space, prefix))
}
