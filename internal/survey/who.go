// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package survey

import (
	"cmp"
	"context"
	"net/netip"
	"slices"

	"golang.org/x/sync/errgroup"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

const (
	// manyClaims is from how many claims on the records of a pool are not listed to find an address.
	manyClaims = 5000
	// lookups is how many records are looked up at once.
	lookups = 8
)

// Neighbours is whether the records around an address are wanted.
type Neighbours int

const (
	// FewNeighbours: only of pools with few claims.
	FewNeighbours Neighbours = iota
	// AllNeighbours: of pools with many, too.
	AllNeighbours
)

// Whereabouts is what is known of an address or prefix.
type Whereabouts struct {
	Asked netip.Prefix
	// Holders are the records that contain it, and the blocks that are exactly it.
	Holders []Holder
	// Within are the records that lie in it, without those that are it.
	Within []Record
	// Unheld are the pools that it lies in, and in whose address spaces no part of it is held.
	Unheld []*Pool
	// MayHide: the user may not see all records that could hold it.
	MayHide bool
}

// Holder is a record with what it is for.
type Holder struct {
	Record
	// Object is what the record is for.
	Object *Claim
	// Pools lead from the record's pool up, as far as the user may see.
	Pools []*Pool
	// Before and After are the nearest records of the pool; nil for none, or if they were not read.
	Before, After *Record
}

// Who finds what an address or prefix is in use for.
func (s *Survey) Who(ctx context.Context, asked netip.Prefix, neighbours Neighbours) (*Whereabouts, error) {
	pools, _, err := s.Pools(ctx)
	if err != nil {
		return nil, err
	}
	w := &search{survey: s, asked: asked, pools: map[ipamv1.PoolReference]*Pool{}, prefixes: map[netip.Prefix]bool{asked: true}}
	for _, p := range pools {
		w.pools[p.Ref] = p
	}
	innermost := w.innermost(pools)
	for _, p := range innermost {
		if err = w.look(ctx, p, neighbours); err != nil {
			return nil, err
		}
	}
	if len(s.gaps.List()) > 0 {
		// Its pool may be one that the user may not see.
		if _, err = s.Records(ctx, "", w.note); err != nil {
			return nil, err
		}
	}
	found := &Whereabouts{Asked: asked}
	if found.Holders, err = w.holders(ctx); err != nil {
		return nil, err
	}
	found.Within = w.within()
	found.MayHide = s.MissesRecords()
	for _, p := range innermost {
		isHeld := slices.ContainsFunc(found.Holders, func(h Holder) bool { return h.Space == p.Space })
		if !isHeld && !slices.ContainsFunc(found.Within, func(r Record) bool { return r.Space == p.Space }) {
			found.Unheld = append(found.Unheld, p)
		}
	}
	return found, nil
}

// search is the state of one Who.
type search struct {
	survey *Survey
	asked  netip.Prefix
	pools  map[ipamv1.PoolReference]*Pool
	// records are those of the pools around that were listed.
	records []Record
	// prefixes are those of which records are looked up.
	prefixes map[netip.Prefix]bool
}

// innermost returns the pools that contain what is asked for, without those of which a child does.
func (w *search) innermost(pools []*Pool) []*Pool {
	var inner []*Pool
	parents := map[ipamv1.PoolReference]bool{}
	for _, p := range pools {
		if p.contains(w.asked) {
			inner = append(inner, p)
			parents[p.Parent] = true
		}
	}
	return slices.DeleteFunc(inner, func(p *Pool) bool { return parents[p.Ref] })
}

// contains reports whether a prefix lies in the pool.
func (p *Pool) contains(prefix netip.Prefix) bool {
	return p.Addresses != nil && p.Addresses.ContainsPrefix(prefix)
}

// look lists the records of a pool, or notes the prefixes that the pool may have handed out.
func (w *search) look(ctx context.Context, p *Pool, neighbours Neighbours) error {
	if neighbours == AllNeighbours || p.Claims == nil || *p.Claims < manyClaims || !w.asked.IsSingleIP() {
		_, err := w.survey.RecordsOf(ctx, p.Ref, w.note)
		return err
	}
	longest := w.asked.Bits()
	shortest := max(p.Lengths.Shortest, 1)
	if p.Lengths == (Lengths{}) {
		shortest = p.bits(w.asked.Addr())
	}
	if p.Lengths.Longest > 0 {
		longest = min(longest, p.Lengths.Longest)
	}
	for bits := shortest; bits <= longest; bits++ {
		if prefix, err := w.asked.Addr().Prefix(bits); err == nil && p.contains(prefix) {
			w.prefixes[prefix] = true
		}
	}
	return nil
}

// bits is the length of the shortest prefix around an address that the pool contains.
func (p *Pool) bits(address netip.Addr) int {
	for bits := 1; bits < address.BitLen(); bits++ {
		if prefix, err := address.Prefix(bits); err == nil && p.contains(prefix) {
			return bits
		}
	}
	return address.BitLen()
}

// note keeps a record of a list.
func (w *search) note(r Record) {
	if r.Prefix.Overlaps(w.asked) && r.Prefix.Bits() <= w.asked.Bits() && w.isHolder(&r) {
		w.prefixes[r.Prefix] = true
	}
	w.records = append(w.records, r)
}

// isHolder reports whether a record that contains what is asked for is an answer. The block of a
// pool that is shown above the record is not.
func (w *search) isHolder(r *Record) bool {
	return !r.IsBlock() || r.Prefix == w.asked || w.pools[r.Claim.Pool()] == nil
}

// holders reads the records that contain what is asked for, and what they are for.
func (w *search) holders(ctx context.Context) ([]Holder, error) {
	var all []Holder
	group, lookup := errgroup.WithContext(ctx)
	group.SetLimit(lookups)
	found := make(chan Record)
	for prefix := range w.prefixes {
		group.Go(func() error {
			_, err := w.survey.recordObjects(lookup, "spec.cidr="+prefix.String(), func(r Record) { found <- r })
			return err
		})
	}
	done := make(chan error, 1)
	go func() {
		done <- group.Wait()
		close(found)
	}()
	for r := range found {
		if w.isHolder(&r) {
			all = append(all, Holder{Record: r})
		}
	}
	if err := <-done; err != nil {
		return nil, err
	}
	slices.SortFunc(all, func(a, b Holder) int {
		return cmp.Or(cmp.Compare(a.Space, b.Space), a.Prefix.Compare(b.Prefix), cmp.Compare(a.Name, b.Name))
	})
	for i := range all {
		if err := w.describe(ctx, &all[i]); err != nil {
			return nil, err
		}
	}
	return all, nil
}
