// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package book

import (
	"container/list"
	"net/netip"
	"slices"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/allocator"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/records"
)

const (
	// remembered is how many releases a history remembers. What was released before counts as never
	// used.
	remembered = 1 << 16
	// patience is how many releases one choice looks back on.
	patience = 64
)

// history says for how long the prefixes of a pool have been free, as far as this process has seen.
// A prefix is free since the last release of a record that overlapped it. What has not been in use
// since the history began has been free for longest; among equals the lowest comes first.
//
// Choices of this process leave no trace in it, only records do. So a choice that came to nothing
// does not count as use. A record that has lost does: nobody who sees it go knows whether it had
// won.
//
// The releasedAt of records cannot take its place: a record goes when its prefix becomes free, so
// that none is left of what may be chosen. Among 2,000 addresses, half of them released, a choice
// takes 3.9 µs, where a first fit takes 2.5 µs.
//
// A nil history, that of a pool with another strategy, remembers nothing.
type history struct {
	records *records.Table
	space   *space
	// used holds the releases and, of what is taken, as much as searches have come upon.
	used allocator.Space[usage]
	// releases are the prefixes released and not recorded since, the oldest first.
	releases *list.List
	// begun: what was taken at the first choice is in used.
	begun bool
	// looks counts the releases that choices looked at. Tests assert the cost of choices with it.
	looks int
}

// usage is why a prefix does not count as never used: a release, or what takes it now.
type usage struct {
	release *list.Element
	record  records.Handle
}

func newHistory(records *records.Table) *history {
	return &history{records: records, releases: list.New()}
}

// hold notes that a record came: the releases at its prefix and inside it are superseded, whatever
// comes of the record.
func (h *history) hold(r *records.Record) {
	if h == nil || isOwn(r) {
		return
	}
	var superseded []*list.Element
	for p, u := range h.used.Overlapping(r.CIDR) {
		if u.release != nil && p.Bits() >= r.CIDR.Bits() {
			superseded = append(superseded, u.release)
		}
	}
	for _, e := range superseded {
		h.delete(e)
	}
}

// release notes that a record went. Where another record of the pool holds all of it too, it is
// free once that goes.
func (h *history) release(r *records.Record, s *space) {
	if h == nil || isOwn(r) || h.isHeldBeside(r, s) {
		return
	}
	h.used.Insert(r.CIDR, usage{release: h.releases.PushBack(r.CIDR)})
	if h.releases.Len() > remembered {
		h.delete(h.releases.Front())
	}
}

// isHeldBeside says whether another record of the pool holds all that r did.
func (h *history) isHeldBeside(r *records.Record, s *space) bool {
	for p, beside := range s.taken.Overlapping(r.CIDR) {
		if p.Bits() > r.CIDR.Bits() {
			break
		}
		if other := h.records.Terms(beside); other.Role == records.Stored && other.Pool == r.Pool && !isPoolsOwn(other.Purpose) {
			return true
		}
	}
	return false
}

// forget takes what is not taken any more out of what searches have come upon.
func (h *history) forget(r *records.Record) {
	if h != nil {
		h.used.Remove(r.CIDR, usage{record: r.Handle})
	}
}

// fit returns the prefix that has been free for longest, or ErrExhausted if nothing fits. It sets
// aside no more releases than it has patience for; if the oldest make no room, the lowest that is
// free has to do. The cost is that of two first fits, and of a few more searches for each release
// set aside and for each record met for the first time; that of the first choice grows with the
// number of records.
func (h *history) fit(taken *allocator.Space[records.Handle], r request) (netip.Prefix, error) {
	lowest, err := taken.FirstFit(r)
	if err != nil {
		return netip.Prefix{}, err
	}
	h.begin(taken, r)
	found, ok := h.unused(taken, r)
	next := h.releases.Front()
	for n := 0; !ok && next != nil && n < patience; n++ {
		h.looks++
		h.lift(next)
		found, ok = h.unused(taken, r)
		next = next.Next()
	}
	h.lower(next)
	if !ok {
		return lowest, nil
	}
	return found, nil
}

// begin brings in all that is taken at the first choice: searches would come upon it one by one,
// each time from the first block on. The blocks are the same as long as the history lasts.
func (h *history) begin(taken *allocator.Space[records.Handle], r request) {
	if h.begun {
		return
	}
	h.begun = true
	for _, block := range r.Blocks {
		h.learn(taken, r, block)
	}
}

// unused returns the lowest free prefix that neither a release nor anything that is taken overlaps.
func (h *history) unused(taken *allocator.Space[records.Handle], r request) (netip.Prefix, bool) {
	own := func(u usage) bool { return u.record != 0 && r.Own(u.record) }
	for {
		p, err := h.used.FirstFit(allocator.Request[usage]{Blocks: r.Blocks, Own: own, Bits: r.Bits, Reserved: r.Reserved})
		if err != nil {
			return netip.Prefix{}, false
		}
		if taken.Fits(r, p) == nil {
			return p, true
		}
		if !h.learn(taken, r, p) { // the same would come again and again
			return netip.Prefix{}, false
		}
	}
}

// learn brings what takes p, or part of it, into used, but for the blocks that the pool lies in,
// and says whether that was anything. Each record is met inside p once while it lasts, those around
// p may be met again, and are left as they are: every insertion makes the space forget the reserved
// addresses inside.
func (h *history) learn(taken *allocator.Space[records.Handle], r request, p netip.Prefix) (learned bool) {
	for q, met := range taken.Overlapping(p) {
		isAbove := r.Own != nil && r.Own(met) && enclosesAny(q, r.Blocks) // inside a block also the pool's own counts, as for taken
		if u := (usage{record: met}); !isAbove && !h.knows(q, u) {
			h.used.Insert(q, u)
			learned = true
		}
	}
	return learned
}

func enclosesAny(p netip.Prefix, blocks []netip.Prefix) bool {
	return slices.ContainsFunc(blocks, func(b netip.Prefix) bool { return p.Bits() <= b.Bits() && p.Contains(b.Addr()) })
}

func (h *history) knows(p netip.Prefix, u usage) bool {
	for known := range h.used.At(p) {
		if known == u {
			return true
		}
	}
	return false
}

// lift takes a release out of used, lower brings back those before the given one.
func (h *history) lift(e *list.Element) { h.used.Remove(prefixOf(e), usage{release: e}) }

func (h *history) lower(end *list.Element) {
	for e := h.releases.Front(); e != end; e = e.Next() {
		h.used.Insert(prefixOf(e), usage{release: e})
	}
}

// drop forgets a release.
func (h *history) delete(e *list.Element) {
	h.lift(e)
	h.releases.Remove(e)
}

func prefixOf(release *list.Element) netip.Prefix {
	p, _ := release.Value.(netip.Prefix)
	return p
}
