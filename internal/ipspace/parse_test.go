// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ipspace_test

import (
	"net/netip"
	"regexp"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go4.org/netipx"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ipspace"
)

// message returns the text of err, "" for nil.
func message(err error) string {
	if err == nil {
		return ""
	}
	return err.Error()
}

func TestParsePrefix(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text string
		err  string
	}{
		"an IPv4 network":                        {text: "192.0.2.0/24"},
		"a single IPv4 host":                     {text: "192.0.2.7/32"},
		"half of IPv4":                           {text: "128.0.0.0/1"},
		"an IPv6 network":                        {text: "2001:db8::/32"},
		"a single IPv6 host":                     {text: "2001:db8::1/128"},
		"the block next to the IPv4-mapped ones": {text: "::fffe:0:0/96"},
		"host bits are shown masked": {
			text: "10.0.0.1/24", err: `"10.0.0.1/24" is not canonical: write "10.0.0.0/24"`},
		"IPv6 host bits are shown masked": {
			text: "2001:db8::1/64", err: `"2001:db8::1/64" is not canonical: write "2001:db8::/64"`},
		"upper case is shown lower": {
			text: "2001:DB8::/32", err: `"2001:DB8::/32" is not canonical: write "2001:db8::/32"`},
		"spelled-out zeros are shown shortened": {
			text: "2001:db8:0:0::/64", err: `"2001:db8:0:0::/64" is not canonical: write "2001:db8::/64"`},
		"an IPv4-mapped network is shown as IPv4": {
			text: "::ffff:192.0.2.0/120", err: `"::ffff:192.0.2.0/120" is not canonical: write "192.0.2.0/24"`},
		"a network around the IPv4-mapped ones": {
			text: "::/64", err: `"::/64" contains IPv4-mapped addresses (::ffff:0:0/96)`},
		"all of IPv4":       {text: "0.0.0.0/0", err: `"0.0.0.0/0" contains every address of its family`},
		"all of IPv6":       {text: "::/0", err: `"::/0" contains every address of its family`},
		"a lone address":    {text: "192.0.2.7", err: `"192.0.2.7" is not a CIDR: write "192.0.2.7/32"`},
		"a lone IPv6":       {text: "2001:db8::7", err: `"2001:db8::7" is not a CIDR: write "2001:db8::7/128"`},
		"a zone":            {text: "fe80::%eth0/64", err: `"fe80::%eth0/64" is not a CIDR`},
		"leading zeros":     {text: "10.00.0.0/24", err: `"10.00.0.0/24" is not a CIDR: write "10.0.0.0/24"`},
		"a zero-led length": {text: "10.0.0.0/024", err: `"10.0.0.0/024" is not a CIDR: write "10.0.0.0/24"`},
		"a netmask":         {text: "10.0.4.0/255.255.252.0", err: `"10.0.4.0/255.255.252.0" is not a CIDR: write "10.0.4.0/22"`},
		"a wild card mask":  {text: "10.0.4.0/0.0.3.255", err: `"10.0.4.0/0.0.3.255" is not a CIDR`},
		"a range":           {text: "10.0.4.0-10.0.4.9", err: `"10.0.4.0-10.0.4.9" is not a CIDR`},
		"too long a length": {text: "10.0.0.0/33", err: `"10.0.0.0/33" is not a CIDR`},
		"a blank":           {text: " 10.0.0.0/24", err: `" 10.0.0.0/24" is not a CIDR: write "10.0.0.0/24"`},
		"nothing":           {text: "", err: `"" is not a CIDR`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := ipspace.ParsePrefix(tc.text)
			if diff := cmp.Diff(tc.err, message(err)); diff != "" {
				t.Fatalf("error (-want +got):\n%s", diff)
			}
			if err == nil && got.String() != tc.text {
				t.Errorf("got %v", got)
			}
			if err != nil && got.IsValid() {
				t.Errorf("got %v beside an error", got)
			}
		})
	}
}

func TestParseAddr(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text string
		err  string
	}{
		"an IPv4 address": {text: "192.0.2.7"},
		"an IPv6 address": {text: "2001:db8::7"},
		"an IPv4-mapped address is shown as IPv4": {
			text: "::ffff:192.0.2.7", err: `"::ffff:192.0.2.7" is not canonical: write "192.0.2.7"`},
		"a zone is left out": {text: "fe80::1%eth0", err: `"fe80::1%eth0" is not canonical: write "fe80::1"`},
		"spelled-out zeros are shown shortened": {
			text: "2001:db8:0::7", err: `"2001:db8:0::7" is not canonical: write "2001:db8::7"`},
		"a CIDR":        {text: "192.0.2.0/24", err: `"192.0.2.0/24" is not an IP address`},
		"leading zeros": {text: "192.0.2.07", err: `"192.0.2.07" is not an IP address: write "192.0.2.7"`},
		"a blank":       {text: "192.0.2.7 ", err: `"192.0.2.7 " is not an IP address: write "192.0.2.7"`},
		"an IPv6 blank": {text: "2001:DB8::07 ", err: `"2001:DB8::07 " is not an IP address: write "2001:db8::7"`},
		"nothing":       {text: "", err: `"" is not an IP address`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := ipspace.ParseAddr(tc.text)
			if diff := cmp.Diff(tc.err, message(err)); diff != "" {
				t.Fatalf("error (-want +got):\n%s", diff)
			}
			if err == nil && got.String() != tc.text {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestReadAddr(t *testing.T) {
	for text, want := range map[string]string{
		"10.0.0.1":        "10.0.0.1",
		"::ffff:10.0.0.1": "10.0.0.1",
		"2001:DB8:0::7":   "2001:db8::7",
		"fe80::1%eth0":    "fe80::1",
	} {
		if got, err := ipspace.ReadAddr(text); err != nil || got.String() != want {
			t.Errorf("%s: %s, %v", text, got, err)
		}
	}
	if got, err := ipspace.ReadAddr("10.0.0"); err == nil || got.IsValid() {
		t.Errorf("no address: %s", got)
	}
}

func TestParseEntry(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		text string
		want string
		err  string
	}{
		"a CIDR is all its addresses":      {text: "192.0.2.0/30", want: "192.0.2.0-192.0.2.3"},
		"an address is a range of one":     {text: "192.0.2.7", want: "192.0.2.7-192.0.2.7"},
		"a range includes both ends":       {text: "192.0.2.7-192.0.2.9", want: "192.0.2.7-192.0.2.9"},
		"a range may be one address":       {text: "192.0.2.7-192.0.2.7", want: "192.0.2.7-192.0.2.7"},
		"a range may be IPv6":              {text: "2001:db8::-2001:db8::f", want: "2001:db8::-2001:db8::f"},
		"a range may end its family":       {text: "255.0.0.0-255.255.255.255", want: "255.0.0.0-255.255.255.255"},
		"a CIDR is canonical":              {text: "192.0.2.1/30", err: `"192.0.2.1/30" is not canonical: write "192.0.2.0/30" for the whole network, or "192.0.2.1-192.0.2.3" for its addresses from 192.0.2.1 on`},
		"an address is canonical":          {text: "2001:DB8::", err: `"2001:DB8::" is not canonical: write "2001:db8::"`},
		"a range is canonical":             {text: "2001:DB8::-2001:db8::0:f", err: `"2001:DB8::-2001:db8::0:f" is not canonical: write "2001:db8::-2001:db8::f"`},
		"a range does not run backwards":   {text: "192.0.2.9-192.0.2.7", err: `"192.0.2.9-192.0.2.7" runs backwards: write "192.0.2.7-192.0.2.9"`},
		"a range keeps to one family":      {text: "192.0.2.9-2001:db8::", err: `"192.0.2.9-2001:db8::" mixes IPv4 and IPv6`},
		"a range is not a family":          {text: "0.0.0.0-255.255.255.255", err: `"0.0.0.0-255.255.255.255" contains every address of its family`},
		"a range is not IPv4-mapped":       {text: "::1-::ffff:192.0.2.1", err: `"::1-::ffff:192.0.2.1" is not canonical: write "::1-192.0.2.1"`},
		"a range avoids IPv4-mapped":       {text: "::1-::1:0:0:0", err: `"::1-::1:0:0:0" contains IPv4-mapped addresses (::ffff:0:0/96)`},
		"a range has two ends":             {text: "192.0.2.7-", err: `"192.0.2.7-" is not a range of IP addresses`},
		"a range has no more than two":     {text: "192.0.2.7-192.0.2.8-192.0.2.9", err: `"192.0.2.7-192.0.2.8-192.0.2.9" is not a range of IP addresses`},
		"a range is not written in blanks": {text: "192.0.2.7 - 192.0.2.9", err: `"192.0.2.7 - 192.0.2.9" is not a range of IP addresses: write "192.0.2.7-192.0.2.9"`},
		"a range has a dash":               {text: "192.0.2.7..192.0.2.9", err: `"192.0.2.7..192.0.2.9" is not a range of IP addresses: write "192.0.2.7-192.0.2.9"`},
		"a range has no long dash":         {text: "192.0.2.7–192.0.2.9", err: `"192.0.2.7–192.0.2.9" is not a range of IP addresses: write "192.0.2.7-192.0.2.9"`},
		"a range has no words":             {text: "192.0.2.7 to 192.0.2.9", err: `"192.0.2.7 to 192.0.2.9" is not a range of IP addresses: write "192.0.2.7-192.0.2.9"`},
		"a range's last octet":             {text: "192.0.2.10-20", err: `"192.0.2.10-20" is not a range of IP addresses: write "192.0.2.10-192.0.2.20"`},
		"a range's last two octets":        {text: "192.0.2.10-.3.20", err: `"192.0.2.10-.3.20" is not a range of IP addresses: write "192.0.2.10-192.0.3.20"`},
		"a range that would run backwards": {text: "192.0.2.10-9", err: `"192.0.2.10-9" is not a range of IP addresses`},
		"a range without a start":          {text: ".10-20", err: `".10-20" is not a range of IP addresses`},
		"a range with leading zeros":       {text: "192.0.2.010-192.0.2.020", err: `"192.0.2.010-192.0.2.020" is not a range of IP addresses: write "192.0.2.10-192.0.2.20"`},
		"an IPv6 range in blanks":          {text: "2001:db8::1 - 2001:db8::f", err: `"2001:db8::1 - 2001:db8::f" is not a range of IP addresses: write "2001:db8::1-2001:db8::f"`},
		"an entry with a blank":            {text: "192.0.2.0/24 ", err: `"192.0.2.0/24 " is not a CIDR: write "192.0.2.0/24"`},
		"an entry with a netmask":          {text: "192.0.2.0/255.255.255.0", err: `"192.0.2.0/255.255.255.0" is not a CIDR: write "192.0.2.0/24"`},
		"a range is not of CIDRs":          {text: "192.0.2.0/24-192.0.3.0/24", err: `"192.0.2.0/24-192.0.3.0/24" is not a range of IP addresses`},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got, err := ipspace.ParseEntry(tc.text)
			if diff := cmp.Diff(tc.err, message(err)); diff != "" {
				t.Fatalf("error (-want +got):\n%s", diff)
			}
			if err == nil && got.String() != tc.want {
				t.Errorf("got %v, want %s", got, tc.want)
			}
			if err != nil && got != (netipx.IPRange{}) {
				t.Errorf("got %v beside an error", got)
			}
		})
	}
}

// FuzzParse checks that whatever a parser accepts is printed as it was
// written, and that the other parsers agree about it.
func FuzzParse(f *testing.F) {
	for _, text := range []string{
		"192.0.2.0/24", "192.0.2.1/24", "2001:db8::/64", "::ffff:192.0.2.0/120", "::/0",
		"192.0.2.7", "2001:db8::7", "fe80::1%eth0", "192.0.2.7-192.0.2.9", "2001:db8::9-2001:db8::7",
	} {
		f.Add(text)
	}
	f.Fuzz(func(t *testing.T, text string) {
		if p, err := ipspace.ParsePrefix(text); err == nil {
			checkParsedPrefix(t, text, p)
		}
		if a, err := ipspace.ParseAddr(text); err == nil && (a.String() != text || a.Zone() != "" || a.Is4In6()) {
			t.Errorf("ParseAddr(%q) = %v", text, a)
		}
		r, err := ipspace.ParseEntry(text)
		if err == nil {
			checkParsedEntry(t, text, r)
			return
		}
		checkSuggestion(t, text, err)
	})
}

var suggested = regexp.MustCompile(`write "([^"]*)"`)

// checkSuggestion sees to it that what an error suggests to write is accepted.
func checkSuggestion(t *testing.T, text string, err error) {
	t.Helper()
	for _, match := range suggested.FindAllStringSubmatch(err.Error(), -1) {
		if again := message(errOf(ipspace.ParseEntry(match[1]))); strings.Contains(again, " is not ") {
			t.Errorf("ParseEntry(%q) suggests %q, which is refused: %s", text, match[1], again)
		}
	}
}

func errOf(_ netipx.IPRange, err error) error { return err }

func checkParsedPrefix(t *testing.T, text string, p netip.Prefix) {
	t.Helper()
	if p.String() != text || p != p.Masked() || p.Bits() == 0 || p.Addr().Is4In6() {
		t.Errorf("ParsePrefix(%q) = %v", text, p)
	}
	if r, err := ipspace.ParseEntry(text); err != nil || r != netipx.RangeOfPrefix(p) {
		t.Errorf("ParseEntry(%q) = %v, %v, but it is a prefix", text, r, err)
	}
}

func checkParsedEntry(t *testing.T, text string, r netipx.IPRange) {
	t.Helper()
	prefix, isPrefix := r.Prefix()
	isText := r.String() == text ||
		isPrefix && prefix.String() == text ||
		r.From() == r.To() && r.From().String() == text
	if !r.IsValid() || !isText {
		t.Errorf("ParseEntry(%q) = %v", text, r)
	}
	if set := setOf(t, text); ipspace.SetSize(set) != ipspace.RangeSize(r) {
		t.Errorf("the set of %q is %v", text, set)
	}
	for _, a := range []netip.Addr{r.From(), r.To()} {
		if _, err := ipspace.ParseAddr(a.String()); err != nil {
			t.Errorf("ParseEntry(%q) contains %v, which is refused: %v", text, a, err)
		}
	}
}
