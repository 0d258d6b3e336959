// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3

import (
	"net/netip"
	"strings"

	"go4.org/netipx"
	"k8s.io/apimachinery/pkg/util/validation/field"

	m3v1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/metal3/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ipspace"
)

// readAddress returns the address at path; false if there is none, or no address.
func (r *reader) readAddress(path *field.Path, text *m3v1.Address) (netip.Addr, bool) {
	if text == nil {
		return netip.Addr{}, false
	}
	address, err := ParseAddress(*text)
	if err != nil {
		r.invalid(path, *text, "must be an IP address")
		return netip.Addr{}, false
	}
	return address, true
}

// ParseAddress returns the address of a text that need not be canonical. An IPv4-mapped one is IPv4, as for Metal3.
func ParseAddress(text m3v1.Address) (netip.Addr, error) {
	return ipspace.ReadAddr(string(text))
}

// parseSubnet returns the address of a subnet as it is written, with the length. Of the length, a leading zero does not count.
func parseSubnet(text m3v1.Subnet) (netip.Prefix, error) {
	address, bits, _ := strings.Cut(string(text), "/")
	if trimmed := strings.TrimLeft(bits, "0"); trimmed != "" {
		bits = trimmed
	} else if bits != "" {
		bits = "0"
	}
	return netip.ParsePrefix(address + "/" + bits)
}

// readRange returns the addresses of an entry; the zero value, with a mistake or a warning, if it has none.
func (r *reader) readRange(path *field.Path, entry *m3v1.Pool) netipx.IPRange {
	start, end, subnet, ok := r.readBounds(path, entry)
	if !ok {
		return netipx.IPRange{}
	}
	if !start.IsValid() && !subnet.IsValid() {
		r.warn(path, "has no addresses: set start or subnet")
		if !end.IsValid() {
			r.shape.Refused = append(r.shape.Refused, field.Required(path, "has no addresses: set start or subnet"))
		}
		return netipx.IPRange{}
	}
	if !start.IsValid() {
		start = subnet.Addr().Next()
	}
	addresses := bounded(start, end, subnet)
	switch {
	case !addresses.IsValid():
		r.warn(path, "has no addresses: they would begin behind the last, or outside subnet")
		return netipx.IPRange{}
	case !addresses.From().Prev().IsValid() && !addresses.To().Next().IsValid():
		r.invalid(path, describe(entry), "contains every address of its family")
		return netipx.IPRange{}
	}
	return addresses
}

// readBounds returns what an entry says of its range, the zero value for what it does not say; false, with every mistake, if that makes no
// range.
func (r *reader) readBounds(path *field.Path, entry *m3v1.Pool) (start, end netip.Addr, subnet netip.Prefix, ok bool) {
	mistakes := len(r.errs)
	start, _ = r.readAddress(path.Child("start"), entry.Start)
	end, _ = r.readAddress(path.Child("end"), entry.End)
	if entry.Subnet != nil {
		var err error
		if subnet, err = parseSubnet(*entry.Subnet); err != nil || subnet.Addr().Is4In6() {
			r.invalid(path.Child("subnet"), *entry.Subnet, "must be an IP address with a prefix length")
		}
	}
	switch {
	case len(r.errs) > mistakes:
	case !sameFamily(start, end, subnet.Addr()):
		r.invalid(path, describe(entry), "mixes IPv4 and IPv6")
	case start.IsValid() && end.IsValid() && end.Less(start):
		r.invalid(path.Child("end"), *entry.End, "is before start, %s", start)
	}
	return start, end, subnet, len(r.errs) == mistakes
}

// bounded returns the addresses from start to the first of end, the last address of subnet, and that of the family; an invalid range
// if there are none. A start outside of subnet has none: Metal3 looks no further there.
func bounded(start, end netip.Addr, subnet netip.Prefix) netipx.IPRange {
	if !start.IsValid() || subnet.IsValid() && !subnet.Contains(start) {
		return netipx.IPRange{}
	}
	last := netipx.PrefixLastIP(netip.PrefixFrom(start, 0).Masked())
	if subnet.IsValid() {
		last = netipx.PrefixLastIP(subnet.Masked())
	}
	if end.IsValid() && end.Less(last) {
		last = end
	}
	return netipx.IPRangeFrom(start, last)
}

// sameFamily reports whether those that are valid are of one family.
func sameFamily(addresses ...netip.Addr) bool {
	bits := 0
	for _, a := range addresses {
		if a.IsValid() && bits != 0 && a.BitLen() != bits {
			return false
		}
		bits = max(bits, a.BitLen())
	}
	return true
}

// describe shows the bounds of an entry in a message.
func describe(entry *m3v1.Pool) string {
	var bounds []string
	if entry.Start != nil {
		bounds = append(bounds, "start "+string(*entry.Start))
	}
	if entry.End != nil {
		bounds = append(bounds, "end "+string(*entry.End))
	}
	if entry.Subnet != nil {
		bounds = append(bounds, "subnet "+string(*entry.Subnet))
	}
	return strings.Join(bounds, ", ")
}
