// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package allocator_test

import (
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/allocator"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/oracle"
)

type (
	request = allocator.Request[int]
	held    = oracle.Held[int]
)

// failer is what testing.T and rapid.T have in common.
type failer interface {
	Helper()
	Fatalf(format string, args ...any)
}

// pair is a Space and the oracle, doing the same and compared at every
// question. A difference fails the test and shows what was done before.
type pair struct {
	tb    failer
	name  string // of the run: its seed, say
	space allocator.Space[int]
	naive oracle.Space[int]
	log   []string
}

func (p *pair) note(format string, args ...any) { p.log = append(p.log, fmt.Sprintf(format, args...)) }

func (p *pair) fail(question string, args ...any) {
	p.tb.Helper()
	p.tb.Fatalf("%s: %s\nwith %v\nafter:\n%s",
		p.name, fmt.Sprintf(question, args...), p.naive.Held(), strings.Join(p.log, "\n"))
}

func (p *pair) insert(at netip.Prefix, e int) {
	p.note("insert %v %d", at, e)
	p.space.Insert(at, e)
	p.naive.Insert(at, e)
}

func (p *pair) remove(at netip.Prefix, e int) {
	p.tb.Helper()
	p.note("remove %v %d", at, e)
	got, want := p.space.Remove(at, e), p.naive.Remove(at, e)
	if got != want {
		p.fail("Remove(%v, %d) = %t, want %t", at, e, got, want)
	}
}

func (p *pair) checkFirstFit(r request) (netip.Prefix, bool) {
	p.tb.Helper()
	got, err := p.space.FirstFit(r)
	want, ok := p.naive.FirstFit(oracle.Request[int](r))
	if got != want || ok != (err == nil) || !ok && !errors.Is(err, allocator.ErrExhausted) {
		p.fail("FirstFit(/%d in %v) = %v, %v, want %v, %t", r.Bits, r.Blocks, got, err, want, ok)
	}
	return got, ok
}

func (p *pair) checkBestFit(r request) (netip.Prefix, bool) {
	p.tb.Helper()
	return p.checkBestFitAmong(p.naive.Gaps(oracle.Request[int](r)), r)
}

// checkBestFitAmong is checkBestFit where all gaps in r.Blocks are known.
func (p *pair) checkBestFitAmong(gaps []netip.Prefix, r request) (netip.Prefix, bool) {
	p.tb.Helper()
	got, err := p.space.BestFit(r)
	want, ok := oracle.BestFit(gaps, oracle.Request[int](r))
	if got != want || ok != (err == nil) || !ok && !errors.Is(err, allocator.ErrExhausted) {
		p.fail("BestFit(/%d in %v) = %v, %v, want %v, %t", r.Bits, r.Blocks, got, err, want, ok)
	}
	return got, ok
}

// checkRandomFit takes whatever may be had, as long as there is an answer when
// FirstFit has one.
func (p *pair) checkRandomFit(r request, random func() uint64) (netip.Prefix, bool) {
	p.tb.Helper()
	got, err := p.space.RandomFit(r, random)
	_, ok := p.naive.FirstFit(oracle.Request[int](r))
	if ok != (err == nil) || !ok && !errors.Is(err, allocator.ErrExhausted) {
		p.fail("RandomFit(/%d in %v) = %v, %v, want %t", r.Bits, r.Blocks, got, err, ok)
	}
	if fits := p.naive.Fits(oracle.Request[int](r), got); ok && (fits != oracle.Fits || got.Bits() != r.Bits || got != got.Masked()) {
		p.fail("RandomFit(/%d in %v) = %v: %v", r.Bits, r.Blocks, got, fits)
	}
	return got, ok
}

// checkSearches compares all searches, and that they do not disturb another.
func (p *pair) checkSearches(r request, random func() uint64) {
	p.tb.Helper()
	p.checkBestFit(r)
	p.checkRandomFit(r, random)
	p.checkFirstFit(r)
	p.checkBestFit(r)
}

func (p *pair) checkFits(r request, asked netip.Prefix) {
	p.tb.Helper()
	want := map[oracle.Answer]error{
		oracle.OutOfRange: allocator.ErrOutOfRange,
		oracle.Taken:      allocator.ErrTaken,
		oracle.Reserved:   allocator.ErrReserved,
	}[p.naive.Fits(oracle.Request[int](r), asked)]
	if got := p.space.Fits(r, asked); !errors.Is(got, want) {
		p.fail("Fits(%v in %v) = %v, want %v", asked, r.Blocks, got, want)
	}
}

func (p *pair) checkLargestFree(blocks []netip.Prefix, own func(int) bool) {
	p.tb.Helper()
	got, ok := p.space.LargestFree(blocks, own)
	want, wantOK := p.naive.LargestFree(blocks, own)
	if ok != wantOK || ok && got != want {
		p.fail("LargestFree(%v) = %d, %t, want %d, %t", blocks, got, ok, want, wantOK)
	}
}

func (p *pair) checkContents(at netip.Prefix) {
	p.tb.Helper()
	if got, want := p.space.Len(), p.naive.Len(); got != want {
		p.fail("Len() = %d, want %d", got, want)
	}
	got, want := slices.Collect(p.space.At(at)), p.naive.At(at)
	if diff := cmp.Diff(want, got, cmpopts.EquateEmpty()); diff != "" {
		p.fail("At(%v) (-want +got):\n%s", at, diff)
	}
	if diff := diffHeld(p.naive.Overlapping(at), overlapping(&p.space, at)); diff != "" {
		p.fail("Overlapping(%v) (-want +got):\n%s", at, diff)
	}
}

func overlapping(s *allocator.Space[int], at netip.Prefix) []held {
	var found []held
	for p, e := range s.Overlapping(at) {
		found = append(found, held{Prefix: p, Entry: e})
	}
	return found
}

func diffHeld(want, got []held) string {
	if slices.Equal(want, got) {
		return ""
	}
	return cmp.Diff(want, got, cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }))
}

func prefixes(texts ...string) []netip.Prefix {
	ps := make([]netip.Prefix, len(texts))
	for i, text := range texts {
		ps[i] = netip.MustParsePrefix(text)
	}
	return ps
}
