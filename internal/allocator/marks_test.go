// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package allocator_test

import (
	"net/netip"
	"testing"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/allocator"
)

// marked returns a space in whose 10.0.0.0/24, entry 0, a search for an
// address has met the reserved 10.0.0.0 to 10.0.0.2.
func marked(t *testing.T) (*allocator.Space[int], request) {
	t.Helper()
	s := spaceOf("10.0.0.0/24")
	r := request{
		Blocks: prefixes("10.0.0.0/24"), Own: these(0), Bits: 32,
		Reserved: addresses("10.0.0.0", "10.0.0.1", "10.0.0.2"),
	}
	wantFit(t, s, r, "10.0.0.3/32")
	return s, r
}

func wantFit(t *testing.T, s *allocator.Space[int], r request, want string) {
	t.Helper()
	if got, err := s.FirstFit(r); err != nil || got.String() != want {
		t.Errorf("got %v, %v, want %s", got, err, want)
	}
}

func TestMarksAreNoEntries(t *testing.T) {
	t.Parallel()
	s, _ := marked(t)
	if s.Len() != 1 {
		t.Errorf("Len() = %d, want 1", s.Len())
	}
	for p, e := range s.Overlapping(netip.MustParsePrefix("10.0.0.0/8")) {
		if e != 0 {
			t.Errorf("entry %d at %v", e, p)
		}
	}
	for e := range s.At(netip.MustParsePrefix("10.0.0.0/32")) {
		t.Errorf("entry %d at a mark", e)
	}
	if s.Remove(netip.MustParsePrefix("10.0.0.0/32"), 0) {
		t.Error("a mark could be removed")
	}
	if bits, ok := s.LargestFree(prefixes("10.0.0.0/24"), these(0)); !ok || bits != 24 {
		t.Errorf("LargestFree = %d, %t, want 24", bits, ok)
	}
}

func TestMarksDoNotStopPrefixes(t *testing.T) {
	t.Parallel()
	s, r := marked(t)
	for bits, want := range map[int]string{24: "10.0.0.0/24", 30: "10.0.0.0/30", 31: "10.0.0.0/31"} {
		r.Bits = bits
		wantFit(t, s, r, want)
	}
	if err := s.Fits(r, netip.MustParsePrefix("10.0.0.0/24")); err != nil {
		t.Errorf("the block does not fit into itself: %v", err)
	}
}

func TestMarksDoNotStopSearchesWithoutARule(t *testing.T) {
	t.Parallel()
	s, r := marked(t)
	r.Reserved = nil
	wantFit(t, s, r, "10.0.0.0/32")
}

func TestMarksAreForgottenWithTheRule(t *testing.T) {
	t.Parallel()
	s, r := marked(t)
	r.Reserved = addresses("10.0.0.0")
	s.Forget(netip.MustParsePrefix("10.0.0.0/24"))
	wantFit(t, s, r, "10.0.0.1/32")
}

func TestForgetKeepsEntriesAndMarksElsewhere(t *testing.T) {
	t.Parallel()
	s, r := marked(t)
	s.Forget(netip.MustParsePrefix("10.0.0.2/31"))
	s.Forget(netip.MustParsePrefix("10.0.0.128/25"))
	s.Forget(netip.MustParsePrefix("192.0.2.0/24"))
	before := s.Visited()
	wantFit(t, s, r, "10.0.0.3/32")
	if steps := s.Visited() - before; steps > 3*32 {
		t.Errorf("took %d steps, as if all marks were gone", steps)
	}
	if s.Len() != 1 {
		t.Errorf("Len() = %d, want 1", s.Len())
	}
}

// A child pool's rule may differ from its parent's, so what the one met must
// not mislead the other: neither when the child's block is carved, nor when it
// comes back.
func TestMarksDoNotOutliveAPool(t *testing.T) {
	t.Parallel()
	s, parent := marked(t)
	block := netip.MustParsePrefix("10.0.0.0/28")
	s.Insert(block, 1)
	child := request{Blocks: []netip.Prefix{block}, Own: these(0, 1), Bits: 32, Reserved: addresses("10.0.0.1", "10.0.0.3")}
	wantFit(t, s, child, "10.0.0.0/32")
	s.Insert(netip.MustParsePrefix("10.0.0.0/32"), 2)
	wantFit(t, s, child, "10.0.0.2/32")
	s.Insert(netip.MustParsePrefix("10.0.0.2/32"), 3)
	wantFit(t, s, child, "10.0.0.4/32")
	wantFit(t, s, parent, "10.0.0.16/32")

	s.Remove(netip.MustParsePrefix("10.0.0.0/32"), 2)
	s.Remove(netip.MustParsePrefix("10.0.0.2/32"), 3)
	s.Remove(block, 1)
	wantFit(t, s, parent, "10.0.0.3/32")
}

// An adopted entry may sit at a reserved address; when it goes, the address is
// reserved again.
func TestAnEntryAtAReservedAddress(t *testing.T) {
	t.Parallel()
	s, r := marked(t)
	at := netip.MustParsePrefix("10.0.0.0/32")
	s.Insert(at, 1)
	wantFit(t, s, r, "10.0.0.3/32")
	s.Remove(at, 1)
	wantFit(t, s, r, "10.0.0.3/32")
	r.Reserved = nil
	wantFit(t, s, r, "10.0.0.0/32")
}

func TestReservedIsAskedOncePerAddress(t *testing.T) {
	t.Parallel()
	s := spaceOf("10.0.0.0/24")
	asked := 0
	r := request{Blocks: prefixes("10.0.0.0/24"), Own: these(0), Bits: 32, Reserved: func(netip.Addr) bool {
		asked++
		return true
	}}
	for range 3 {
		if got, err := s.FirstFit(r); err == nil {
			t.Errorf("got %v, want none", got)
		}
	}
	if asked != 256 {
		t.Errorf("the rule was asked %d times, want 256", asked)
	}
}
