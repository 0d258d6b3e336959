// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package survey

import (
	"fmt"
	"net/netip"
	"strings"

	"go4.org/netipx"
	"k8s.io/utils/ptr"

	m3v1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/metal3/v1alpha1"
)

// parseEntry reads a CIDR, a range or an address; an invalid range if it is none of these.
func parseEntry(text string) netipx.IPRange {
	if prefix, err := netip.ParsePrefix(text); err == nil {
		return netipx.RangeOfPrefix(prefix)
	}
	if address, err := netip.ParseAddr(text); err == nil {
		return netipx.IPRangeFrom(address, address)
	}
	r, _ := netipx.ParseIPRange(text)
	return r
}

// setOf returns the addresses of entries; nil if there are none.
func setOf(entries []string) *netipx.IPSet {
	var builder netipx.IPSetBuilder
	for _, entry := range entries {
		if r := parseEntry(entry); r.IsValid() {
			builder.AddRange(r)
		}
	}
	set, err := builder.IPSet()
	if err != nil || len(set.Ranges()) == 0 {
		return nil
	}
	return set
}

// summary returns the first of the entries, and how many follow.
func summary(entries []string) string {
	if len(entries) == 0 {
		return ""
	}
	text := entries[0]
	if r := parseEntry(text); strings.Contains(text, "-") && r.IsValid() {
		text = RangeText(r.From(), r.To())
	}
	if more := len(entries) - 1; more > 0 {
		text += fmt.Sprintf(" +%d", more)
	}
	return text
}

// RangeText writes the addresses from first to last: as one address, without what both IPv4
// addresses have in common, or in full.
func RangeText(first, last netip.Addr) string {
	switch {
	case first == last:
		return first.String()
	case first.Is4() && netip.PrefixFrom(first, 24).Contains(last):
		return fmt.Sprintf("%s-.%d", first, last.As4()[3])
	}
	return first.String() + "-" + last.String()
}

// metal3Range returns the addresses of an entry of Metal3's pools; an invalid range if it has none.
func metal3Range(entry m3v1.Pool) netipx.IPRange {
	first, _ := netip.ParseAddr(string(ptr.Deref(entry.Start, "")))
	last, _ := netip.ParseAddr(string(ptr.Deref(entry.End, "")))
	if subnet, err := netip.ParsePrefix(string(ptr.Deref(entry.Subnet, ""))); err == nil {
		if !first.IsValid() {
			first = subnet.Addr().Next()
		}
		if end := netipx.PrefixLastIP(subnet); !last.IsValid() || end.Less(last) {
			last = end
		}
	}
	if first.IsValid() && !last.IsValid() {
		last = netipx.PrefixLastIP(netip.PrefixFrom(first, 0).Masked())
	}
	return netipx.IPRangeFrom(first, last)
}
