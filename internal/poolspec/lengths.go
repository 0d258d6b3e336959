// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package poolspec

import (
	"net/netip"
	"slices"

	"go4.org/netipx"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// readLengths reads which prefix lengths may be asked for, and which one a
// claim gets that does not say: host length, unless the bounds exclude it.
func (r *resolver) readLengths() {
	a, path := r.spec.Allocation, r.path.Child("allocation")
	if a == nil || len(r.entries) == 0 {
		return
	}
	host := int32(r.entries[0].addrs.From().BitLen()) //nolint:gosec // at most 128
	shortest, ok1 := r.readLength(path.Child("minPrefixLength"), a.MinPrefixLength, 1, host)
	longest, ok2 := r.readLength(path.Child("maxPrefixLength"), a.MaxPrefixLength, host, host)
	length, ok3 := r.readLength(path.Child("defaultPrefixLength"), a.DefaultPrefixLength, host, host)
	path = path.Child("defaultPrefixLength")
	switch {
	case !ok1 || !ok2 || !ok3:
	case shortest > longest:
		r.invalid(r.path.Child("allocation", "minPrefixLength"), shortest, "is longer than maxPrefixLength, %d", longest)
	case a.DefaultPrefixLength == nil && length > longest:
		r.fail(field.Required(path, "maxPrefixLength excludes single addresses"))
	case length < shortest || length > longest:
		r.invalid(path, length, "must be between minPrefixLength and maxPrefixLength, %d and %d", shortest, longest)
	case !slices.ContainsFunc(r.entries, func(e entry) bool { return holdsBlock(e.addrs, int(length)) }):
		r.invalid(path, length, "no part of the pool holds a block of that length")
	default:
		r.claimBits = int(length)
		if a.MinPrefixLength != nil || a.MaxPrefixLength != nil {
			r.shortestBits, r.longestBits = int(shortest), int(longest)
		}
	}
}

func (r *resolver) readLength(path *field.Path, given *int32, absent, host int32) (int32, bool) {
	if given == nil {
		return absent, true
	}
	if *given < 1 || *given > host {
		r.invalid(path, *given, "must be between 1 and %d in a pool of %s", host, r.family)
		return 0, false
	}
	return *given, true
}

func holdsBlock(addrs netipx.IPRange, bits int) bool {
	return slices.ContainsFunc(addrs.Prefixes(), func(p netip.Prefix) bool { return p.Bits() <= bits })
}
