// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package foreign

import (
	"iter"
	"net/netip"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/allocator"
)

// Key names an IPAddress.
type Key struct{ Namespace, Name string }

// Address is what an IPAddress names.
type Address struct {
	Key

	// Pool is the kind and name of the pool that it is of.
	Pool string
	// Prefix is the address at host length, or the prefix where the other provider hands out those.
	Prefix netip.Prefix
}

// String names the object and its pool.
func (a Address) String() string {
	return "IPAddress " + a.Namespace + "/" + a.Name + " of " + a.Pool
}

// Set holds one Address for each Key. The zero value is empty. It is not safe for concurrent use.
type Set struct {
	prefixes allocator.Space[Key]
	named    map[Key]Address
}

// Get returns the address of that name, and whether there is one.
func (s *Set) Get(key Key) (Address, bool) {
	a, ok := s.named[key]
	return a, ok
}

// Put takes an address in, in place of the one of that name. The cost grows with the logarithm of
// the set.
func (s *Set) Put(a Address) {
	s.Delete(a.Key)
	if s.named == nil {
		s.named = map[Key]Address{}
	}
	s.named[a.Key] = a
	s.prefixes.Insert(a.Prefix, a.Key)
}

// Delete takes out the address of that name, if there is one.
func (s *Set) Delete(key Key) {
	if a, ok := s.named[key]; ok {
		s.prefixes.Remove(a.Prefix, key)
		delete(s.named, key)
	}
}

// Len returns the number of addresses.
func (s *Set) Len() int { return len(s.named) }

// Overlapping returns the addresses that share something with the prefix, ascending, and what
// contains it first. The cost grows with their number, not with that of the set.
func (s *Set) Overlapping(p netip.Prefix) iter.Seq[Address] {
	return func(yield func(Address) bool) {
		for _, key := range s.prefixes.Overlapping(p) {
			if !yield(s.named[key]) {
				return
			}
		}
	}
}
