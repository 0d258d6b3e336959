// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package incluster

import (
	"errors"
	"net/netip"
	"strings"

	"go4.org/netipx"
)

var (
	errNoEntry   = errors.New("must be an IP address, a CIDR or a range first-last")
	errNoAddress = errors.New("must be an IP address")
	errMapped    = errors.New("is an IPv4 address in IPv6: write it as IPv4")
	errZone      = errors.New("has a zone")
	errBackwards = errors.New("ends before it begins")
	errMixed     = errors.New("mixes IPv4 and IPv6")
)

// parseAddress returns the address of a text that need not be canonical.
func parseAddress(text string) (netip.Addr, error) {
	address, err := netip.ParseAddr(text)
	switch {
	case err != nil:
		return netip.Addr{}, errNoAddress
	case address.Is4In6():
		return netip.Addr{}, errMapped
	case address.Zone() != "":
		return netip.Addr{}, errZone
	}
	return address, nil
}

// parseEntry returns the addresses of an entry: one address, those of a CIDR, whose host bits do not count, or a range.
func parseEntry(text string) (netipx.IPRange, error) {
	if first, last, isRange := strings.Cut(text, "-"); isRange {
		return parseRange(first, last)
	}
	if address, bits, isPrefix := strings.Cut(text, "/"); isPrefix {
		return parseCIDR(address, bits)
	}
	address, err := parseAddress(text)
	if errors.Is(err, errNoAddress) {
		err = errNoEntry
	}
	return netipx.IPRangeFrom(address, address), err
}

func parseCIDR(address, bits string) (netipx.IPRange, error) {
	if parsed, err := parseAddress(address); err != nil && !errors.Is(err, errNoAddress) {
		return netipx.IPRangeFrom(parsed, parsed), err
	}
	prefix, err := netip.ParsePrefix(address + "/" + bits)
	if err != nil {
		return netipx.IPRange{}, errNoEntry
	}
	return netipx.RangeOfPrefix(prefix), nil
}

func parseRange(first, last string) (netipx.IPRange, error) {
	from, err := parseAddress(first)
	if err != nil {
		return netipx.IPRange{}, err
	}
	to, err := parseAddress(last)
	switch {
	case err != nil:
		return netipx.IPRange{}, err
	case from.BitLen() != to.BitLen():
		return netipx.IPRange{}, errMixed
	case to.Less(from):
		return netipx.IPRange{}, errBackwards
	}
	return netipx.IPRangeFrom(from, to), nil
}
