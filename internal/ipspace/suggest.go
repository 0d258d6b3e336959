// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ipspace

import (
	"net/netip"
	"regexp"
	"strconv"
	"strings"

	"go4.org/netipx"
)

// suggestAddr, suggestPrefix and suggestRange return in canonical form what
// text means to people who write addresses in other ways: with blanks, with
// leading zeros, with a netmask, with "..", or with the last octets of a
// range alone. They return "" if that is not clear.

func suggestAddr(text string) string {
	a, err := netip.ParseAddr(tidy(text))
	if err != nil {
		return ""
	}
	return canonicalAddr(a).String()
}

func suggestPrefix(text string) string {
	address, length, _ := strings.Cut(tidy(text), "/")
	if mask, err := netip.ParseAddr(length); err == nil {
		length = bitsOf(mask)
	}
	p, err := netip.ParsePrefix(address + "/" + length)
	if err != nil {
		return ""
	}
	return canonicalPrefix(p).String()
}

func suggestRange(text string) string {
	first, last, _ := strings.Cut(tidy(text), "-")
	from, errFrom := netip.ParseAddr(first)
	to, errTo := netip.ParseAddr(completed(last, first))
	if errFrom != nil || errTo != nil {
		return ""
	}
	r := netipx.IPRangeFrom(canonicalAddr(from), canonicalAddr(to))
	if !r.IsValid() {
		return ""
	}
	return r.String()
}

var (
	rangeSigns   = regexp.MustCompile(`\s*(-|–|\.{2,3}|\bto\b)\s*`)
	leadingZeros = regexp.MustCompile(`(^|[./-])0+([0-9])`)
)

// tidy returns text without blanks and leading zeros, with "-" between the
// ends of a range. Zeros of IPv6 groups stay: netip reads them.
func tidy(text string) string {
	text = rangeSigns.ReplaceAllString(strings.TrimSpace(text), "-")
	if strings.Contains(text, ":") {
		return text
	}
	text = leadingZeros.ReplaceAllString(text, "$1$2")
	return strings.ReplaceAll(text, " ", "")
}

// completed returns the end of a range with the octets of its start that it
// leaves out: "192.0.2.20" for "20" or ".20" after "192.0.2.10".
func completed(last, first string) string {
	const octets = 4
	given, start := strings.Split(strings.TrimPrefix(last, "."), "."), strings.Split(first, ".")
	if len(start) != octets || len(given) >= octets {
		return last
	}
	return strings.Join(append(start[:octets-len(given)], given...), ".")
}

// bitsOf returns the length that a netmask stands for, "" for another address.
func bitsOf(mask netip.Addr) string {
	for bits := range mask.BitLen() + 1 {
		all := netip.PrefixFrom(netip.AddrFrom4([4]byte{255, 255, 255, 255}), bits)
		if p := all.Masked(); mask.Is4() && p.Addr() == mask {
			return strconv.Itoa(bits)
		}
	}
	return ""
}
