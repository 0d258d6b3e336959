// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ipspace

import (
	"errors"
	"fmt"
	"net/netip"
	"strings"

	"go4.org/netipx"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/excerpt"
)

// ParsePrefix returns the prefix that text writes in canonical form: RFC 5952,
// with all bits beyond its length zero, such as "10.0.0.0/24". A prefix of
// length 0 and one that touches the IPv4-mapped addresses are refused. The
// error names text and, where there is one, the canonical form.
func ParsePrefix(text string) (netip.Prefix, error) {
	p, err := netip.ParsePrefix(text)
	if err != nil {
		return netip.Prefix{}, notACIDR(text)
	}
	if err := checkCanonical(text, canonicalPrefix(p).String()); err != nil {
		return netip.Prefix{}, err
	}
	if err := checkRange(text, netipx.RangeOfPrefix(p)); err != nil {
		return netip.Prefix{}, err
	}
	return p, nil
}

// ParseAddr returns the address that text writes in canonical form (RFC 5952).
// Zones and IPv4-mapped addresses are refused. The error names text and, where
// there is one, the canonical form.
func ParseAddr(text string) (netip.Addr, error) {
	a, err := netip.ParseAddr(text)
	if err != nil {
		return netip.Addr{}, not("an IP address", text, suggestAddr(text))
	}
	if err := checkCanonical(text, canonicalAddr(a).String()); err != nil {
		return netip.Addr{}, err
	}
	return a, nil
}

// ReadAddr returns the address that text writes in whatever way, as others
// may: without zone, and as IPv4 where it is IPv4-mapped.
func ReadAddr(text string) (netip.Addr, error) {
	a, err := netip.ParseAddr(text)
	return canonicalAddr(a), err
}

// ParseEntry returns the addresses that one entry of a list stands for: a
// CIDR, a range "first-last" with both ends inclusive, or a single address,
// each in canonical form. A range keeps to one family, does not run backwards
// and contains neither a whole family nor IPv4-mapped addresses.
func ParseEntry(text string) (netipx.IPRange, error) {
	switch {
	case rangeSigns.MatchString(text):
		return parseRange(text)
	case strings.Contains(text, "/"):
		return parseCIDR(text)
	default:
		a, err := ParseAddr(text)
		if err != nil {
			return netipx.IPRange{}, err
		}
		return netipx.IPRangeFrom(a, a), nil
	}
}

// parseCIDR offers two readings of a CIDR whose address is not its first: its
// network, and its addresses from that one on.
func parseCIDR(text string) (netipx.IPRange, error) {
	p, err := ParsePrefix(text)
	if err == nil {
		return netipx.RangeOfPrefix(p), nil
	}
	meant, errMeant := netip.ParsePrefix(text)
	if errMeant != nil || meant == meant.Masked() || meant.Addr().Is4In6() {
		return netipx.IPRange{}, err
	}
	rest := netipx.IPRangeFrom(meant.Addr(), netipx.PrefixLastIP(meant))
	return netipx.IPRange{}, fmt.Errorf("%w for the whole network, or %q for its addresses from %s on", err, rest, meant.Addr())
}

func parseRange(text string) (netipx.IPRange, error) {
	first, last, _ := strings.Cut(text, "-")
	from, errFrom := netip.ParseAddr(first)
	to, errTo := netip.ParseAddr(last)
	if errors.Join(errFrom, errTo) != nil {
		return netipx.IPRange{}, not("a range of IP addresses", text, suggestRange(text))
	}
	r := netipx.IPRangeFrom(canonicalAddr(from), canonicalAddr(to))
	if err := checkCanonical(text, r.From().String()+"-"+r.To().String()); err != nil {
		return netipx.IPRange{}, err
	}
	if err := checkRange(text, r); err != nil {
		return netipx.IPRange{}, err
	}
	return r, nil
}

// canonicalAddr returns a without zone, and as IPv4 where it is IPv4-mapped.
func canonicalAddr(a netip.Addr) netip.Addr {
	return a.WithZone("").Unmap()
}

// canonicalPrefix returns p masked, and as IPv4 where all of it is
// IPv4-mapped.
func canonicalPrefix(p netip.Prefix) netip.Prefix {
	const mappedBits = 96
	if p.Addr().Is4In6() && p.Bits() >= mappedBits {
		p = netip.PrefixFrom(p.Addr().Unmap(), p.Bits()-mappedBits)
	}
	return p.Masked()
}

func checkCanonical(text, canonical string) error {
	if text != canonical {
		return fmt.Errorf("%q is not canonical: write %q", excerpt.Of(text), canonical)
	}
	return nil
}

// checkRange refuses what is canonical text but no range to hand out
// addresses from.
func checkRange(text string, r netipx.IPRange) error {
	mapped := netipx.IPRangeFrom(
		netip.AddrFrom16([16]byte{10: 0xff, 11: 0xff}),
		netip.AddrFrom16([16]byte{10: 0xff, 11: 0xff, 12: 0xff, 13: 0xff, 14: 0xff, 15: 0xff}),
	)
	switch {
	case r.From().BitLen() != r.To().BitLen():
		return fmt.Errorf("%q mixes IPv4 and IPv6", excerpt.Of(text))
	case !r.IsValid():
		return fmt.Errorf("%q runs backwards: write %q", excerpt.Of(text), r.To().String()+"-"+r.From().String())
	case isFamily(r):
		return fmt.Errorf("%q contains every address of its family", excerpt.Of(text))
	case r.Overlaps(mapped):
		return fmt.Errorf("%q contains IPv4-mapped addresses (::ffff:0:0/96)", excerpt.Of(text))
	}
	return nil
}

func isFamily(r netipx.IPRange) bool {
	return !r.From().Prev().IsValid() && !r.To().Next().IsValid()
}

// notACIDR explains why text is no CIDR; an address alone is the common slip.
func notACIDR(text string) error {
	if a, err := netip.ParseAddr(tidy(text)); err == nil && a.Zone() == "" {
		a = canonicalAddr(a)
		return not("a CIDR", text, netip.PrefixFrom(a, a.BitLen()).String())
	}
	return not("a CIDR", text, suggestPrefix(text))
}

// not says what text is not, and what to write if that is clear.
func not(what, text, write string) error {
	if write == "" {
		return fmt.Errorf("%q is not %s", excerpt.Of(text), what)
	}
	return fmt.Errorf("%q is not %s: write %q", excerpt.Of(text), what, write)
}
