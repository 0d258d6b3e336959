// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package neutron

import (
	"context"
	"fmt"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"syscall"
)

const (
	maxPatterns      = 64
	maxPatternLength = 300
	// minPrefixLength keeps 0.0.0.0/0 from allowing for loopback addresses in passing.
	minPrefixLength = 8
)

// EndpointPolicy says which URLs a client may call. It guards the manager's network: credentials, and so auth_url and the catalog
// behind it, come from whoever may write a Secret. The zero value is the default policy. It is immutable.
//
// The default: every https URL. A policy of patterns allows for what matches one of them, and nothing else.
//
// Whatever the patterns, addresses that are loopback, link-local, multicast or unspecified are refused, when a URL names them and
// when a name resolves to them (the check is made on the address that is dialled), unless the URL names the address itself and a
// pattern of an address or network covers it.
type EndpointPolicy struct {
	patterns []pattern
}

// pattern is one allowed form of scheme, host and port.
type pattern struct {
	scheme string
	// port is empty for every port.
	port string
	// network is set for addresses; host, in lower case, for names.
	network netip.Prefix
	host    string
}

// ParseEndpointPolicy reads the patterns of --openstack-endpoint-allow, at most 64 of at most 300 characters:
//
//	https://keystone.example.com        a name, every port
//	https://*.cloud.example.com:5000    any one label before .cloud.example.com, one port
//	http://127.0.0.1:5000               an address
//	https://10.0.0.0/8                  every address of a network; with a port: https://10.0.0.0:443/8
//	https://[2001:db8::]/32             the same for IPv6
//
// The scheme is https or http and must match. A prefix length is at least 8. Patterns have no path (networks have their length there), user, query or fragment.
// A pattern of addresses covers URLs that name an address, not names that resolve to one. An empty list is the default policy.
func ParseEndpointPolicy(patterns []string) (EndpointPolicy, error) {
	if len(patterns) > maxPatterns {
		return EndpointPolicy{}, fmt.Errorf("at most %d patterns are allowed (%d given)", maxPatterns, len(patterns))
	}
	var policy EndpointPolicy
	for _, text := range patterns {
		parsed, err := parsePattern(text)
		if err != nil {
			return EndpointPolicy{}, err
		}
		policy.patterns = append(policy.patterns, parsed)
	}
	return policy, nil
}

func parsePattern(text string) (pattern, error) {
	if len(text) > maxPatternLength {
		return pattern{}, fmt.Errorf("a pattern has at most %d characters (%d given)", maxPatternLength, len(text))
	}
	refused := func(problem string) (pattern, error) { return pattern{}, fmt.Errorf("pattern %q: %s", text, problem) }
	u, err := url.Parse(text)
	if err != nil || !isPlain(u) {
		return refused("must be scheme://host[:port], with scheme https or http")
	}
	p := pattern{scheme: u.Scheme, port: u.Port(), host: canonicalHost(u)}
	address, isAddress := literal(p.host)
	if !isAddress {
		if u.Path != "" {
			return refused("must have no path; only an address may be followed by a prefix length")
		}
		if !isHostPattern(p.host) {
			return refused("must have a name of letters, digits, hyphens and dots, or *. and such a name")
		}
		return p, nil
	}
	length := fmt.Sprintf("/%d", address.BitLen())
	if u.Path != "" {
		length = u.Path
	}
	p.network, err = netip.ParsePrefix(address.String() + length)
	if err != nil || p.network != p.network.Masked() || p.network.Bits() < minPrefixLength {
		return refused("must have an address and the length of a prefix without host bits, at least 8")
	}
	return p, nil
}

// canonicalHost returns a URL's host in lower case and without the dot that may end a name.
func canonicalHost(u *url.URL) string { return strings.TrimSuffix(strings.ToLower(u.Hostname()), ".") }

// literal returns the address that a host is, if it is one.
func literal(host string) (netip.Addr, bool) {
	address, err := netip.ParseAddr(host)
	return address.Unmap(), err == nil
}

func isHostPattern(host string) bool {
	for label := range strings.SplitSeq(strings.TrimPrefix(host, "*."), ".") {
		isOther := func(r rune) bool {
			return (r < 'a' || r > 'z') && (r < '0' || r > '9') && r != '-'
		}
		if label == "" || strings.ContainsFunc(label, isOther) {
			return false
		}
	}
	return true
}

// EndpointError says that the policy refuses a URL or an address. Its text has scheme, host and port only.
type EndpointError struct {
	// Endpoint is scheme://host[:port] of a URL, or the address that was dialled, with its port.
	Endpoint string
	// Problem ends the sentence.
	Problem string
}

func (e *EndpointError) Error() string {
	return fmt.Sprintf("endpoint %s %s; see --openstack-endpoint-allow", e.Endpoint, e.Problem)
}

// Check returns an *EndpointError if the policy refuses a URL. The addresses behind a name are checked when they are dialled.
func (p EndpointPolicy) Check(u *url.URL) error {
	refused := func(problem string) error {
		return &EndpointError{Endpoint: u.Scheme + "://" + u.Host, Problem: problem}
	}
	if u.User != nil {
		return refused("has a user, which is not allowed")
	}
	host := canonicalHost(u)
	address, isAddress := literal(host)
	switch {
	case len(p.patterns) > 0 && !p.matches(u, host):
		return refused("is not allowed")
	case len(p.patterns) == 0 && u.Scheme != "https":
		return refused("is not allowed: it is not https")
	case len(p.patterns) == 0 && isAddress && isSpecial(address):
		return refused("is not allowed: it is a loopback, link-local, multicast or unspecified address")
	case host == "":
		return refused("has no host")
	}
	return nil
}

func (p EndpointPolicy) matches(u *url.URL, host string) bool {
	for _, allowed := range p.patterns {
		if u.Scheme == allowed.scheme && (allowed.port == "" || allowed.port == portOf(u)) && allowed.hasHost(host) {
			return true
		}
	}
	return false
}

func portOf(u *url.URL) string {
	switch {
	case u.Port() != "":
		return u.Port()
	case u.Scheme == "https":
		return "443"
	}
	return "80"
}

func (p pattern) hasHost(host string) bool {
	if address, ok := literal(host); ok {
		return p.network.Contains(address)
	}
	suffix, isWild := strings.CutPrefix(p.host, "*")
	if !isWild {
		return p.host == host
	}
	label, found := strings.CutSuffix(host, suffix)
	return found && label != "" && !strings.Contains(label, ".")
}

// isSpecial says whether an address reaches the machine itself, its link or nobody in particular: never a cloud that other
// machines can use. The metadata services of clouds are link-local.
func isSpecial(address netip.Addr) bool {
	a := address.Unmap().WithZone("")
	return a.IsLoopback() || a.IsLinkLocalUnicast() || a.IsMulticast() || a.IsUnspecified() ||
		a == netip.AddrFrom4([4]byte{255, 255, 255, 255})
}

// dialer returns a function that dials what Check has allowed. A host that is an address was judged there; a name was not, so the
// address it resolves to is judged here, between DNS and the connection.
func (p EndpointPolicy) dialer(d net.Dialer) func(context.Context, string, string) (net.Conn, error) {
	guarded := d
	guarded.ControlContext = func(_ context.Context, _, address string, _ syscall.RawConn) error {
		return checkDialled(address)
	}
	return func(ctx context.Context, network, address string) (net.Conn, error) {
		host, _, err := net.SplitHostPort(address)
		if err != nil {
			return nil, err
		}
		if _, isAddress := literal(host); isAddress {
			return d.DialContext(ctx, network, address)
		}
		return guarded.DialContext(ctx, network, address)
	}
}

func checkDialled(address string) error {
	dialled, err := netip.ParseAddrPort(address)
	if err != nil || isSpecial(dialled.Addr()) {
		return &EndpointError{Endpoint: address, Problem: "is what the host's name resolves to, and is not allowed"}
	}
	return nil
}
