// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package foreign

import (
	"net/netip"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func named(name, prefix string) Address {
	return Address{Key: Key{"team", name}, Pool: "InClusterIPPool other", Prefix: netip.MustParsePrefix(prefix)}
}

func namesIn(s *Set, prefix string) []string {
	names := []string{}
	for a := range s.Overlapping(netip.MustParsePrefix(prefix)) {
		names = append(names, a.Name)
	}
	return names
}

func TestTheSetIsSortedByPrefix(t *testing.T) {
	t.Parallel()
	var s Set
	for _, a := range []Address{
		named("nine", "10.0.0.9/32"), named("two", "10.0.0.2/32"), named("block", "10.0.0.0/28"), named("far", "10.0.1.1/32"), named("six", "2001:db8::6/128"),
	} {
		s.Put(a)
	}
	for prefix, want := range map[string][]string{
		"10.0.0.0/24":   {"block", "two", "nine"},
		"10.0.0.9/32":   {"block", "nine"},
		"10.0.0.64/26":  {},
		"10.0.1.0/24":   {"far"},
		"2001:db8::/64": {"six"},
	} {
		if diff := cmp.Diff(want, namesIn(&s, prefix)); diff != "" {
			t.Errorf("%s (-want +got):\n%s", prefix, diff)
		}
	}
	for a := range s.Overlapping(netip.MustParsePrefix("10.0.0.0/24")) {
		if a.Name != "block" {
			t.Error("goes on after the caller has stopped")
		}
		break
	}
}

func TestAnObjectIsInTheSetOnce(t *testing.T) {
	t.Parallel()
	var s Set
	s.Put(named("a", "10.0.0.1/32"))
	s.Put(named("b", "10.0.0.1/32"))
	s.Put(named("a", "10.0.0.2/32"))
	if got := namesIn(&s, "10.0.0.0/24"); !slices.Equal(got, []string{"b", "a"}) || s.Len() != 2 {
		t.Errorf("got %v", got)
	}
	s.Delete(Key{"team", "b"})
	s.Delete(Key{"team", "b"})
	if got := namesIn(&s, "10.0.0.0/24"); !slices.Equal(got, []string{"a"}) || s.Len() != 1 {
		t.Errorf("after a deletion got %v", got)
	}
	if a, ok := s.Get(Key{"team", "a"}); !ok || a != named("a", "10.0.0.2/32") || a.String() != "IPAddress team/a of InClusterIPPool other" {
		t.Errorf("got %v", a)
	}
	if _, ok := s.Get(Key{"team", "b"}); ok {
		t.Error("what was deleted is there")
	}
}
