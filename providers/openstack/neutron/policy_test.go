// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package neutron

import (
	"errors"
	"net"
	"net/netip"
	"net/url"
	"strings"
	"testing"
)

func TestEndpointPolicyChecksURLs(t *testing.T) {
	t.Parallel()
	all := func(urls string, allowed bool) map[string]bool {
		m := map[string]bool{}
		for u := range strings.FieldsSeq(urls) {
			m[u] = allowed
		}
		return m
	}
	for name, test := range map[string]struct {
		patterns         string
		allowed, refused string
	}{
		"default": {
			"",
			"https://k https://k:5000/v3 https://10.0.0.1 https://[2001:db8::1]:5000",
			`http://k ftp://k https://127.0.0.1 https://127.1.2.3:5000 https://[::1] https://169.254.169.254 https://[fe80::1] https://0.0.0.0
			https://[::] https://224.0.0.1 https://[::ffff:127.0.0.1] https://[::ffff:169.254.169.254] https://255.255.255.255
			https://[fe80::1%25eth0] https://u:p@k https://`,
		},
		"a name": {
			"https://k.example.com",
			"https://k.example.com https://K.Example.com:5000/v3 https://k.example.com.:5000",
			"http://k.example.com https://example.com https://a.k.example.com https://k.example.com.evil.com https://10.0.0.1",
		},
		"a port": {
			"https://k:5000 https://l:443 http://m:80",
			"https://k:5000/v3 https://l https://l:443/ http://m http://m:80",
			"https://k https://k:5001 https://l:80 http://m:443",
		},
		"any label": {
			"https://*.example.com",
			"https://k.example.com https://l.example.com:1",
			"https://example.com https://a.b.example.com https://kexample.com https://.example.com https://k.example.com.evil.com",
		},
		"addresses": {
			"http://127.0.0.1:5000 https://10.0.0.0/8 https://[2001:db8::]/32 https://192.0.2.0:443/24",
			"http://127.0.0.1:5000/v3 https://10.1.2.3:9696 https://[2001:db8:1::1] https://192.0.2.9 https://[::ffff:10.0.0.1]",
			"http://127.0.0.1 http://127.0.0.1:5001 https://127.0.0.1:5000 http://10.0.0.1 https://11.0.0.1 https://192.0.2.9:5000 https://localhost",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			policy, err := ParseEndpointPolicy(strings.Fields(test.patterns))
			if err != nil {
				t.Fatal(err)
			}
			cases := all(test.refused, false)
			for u, allowed := range all(test.allowed, true) {
				cases[u] = allowed
			}
			for text, allowed := range cases {
				u, err := url.Parse(text)
				if err != nil {
					t.Fatal(err)
				}
				err = policy.Check(u)
				if (err == nil) != allowed {
					t.Errorf("%s: %v", text, err)
				}
				var refused *EndpointError
				if err != nil && (!errors.As(err, &refused) || strings.Contains(err.Error(), "u:p")) {
					t.Errorf("%s: %v", text, err)
				}
			}
		})
	}
}

func TestParseEndpointPolicyRefuses(t *testing.T) {
	t.Parallel()
	for _, pattern := range []string{
		"", "k", "//k", "ftp://k", "https://", "https://k/v3", "https://k/", "https://u@k", "https://k?x", "https://k#x",
		"https://*", "https://*.", "https://a.*.com", "https://*a.com", "https://**.com", "https://a_b", "https://a..b",
		"https://10.0.0.1/8", "https://10.0.0.0/33", "https://10.0.0.0/x", "https://0.0.0.0/0", "https://[::]/0", "https://[2001:db8::1]/32",
		"https://" + strings.Repeat("a", 300),
	} {
		if _, err := ParseEndpointPolicy([]string{pattern}); err == nil {
			t.Errorf("%q is accepted", pattern)
		}
	}
	if _, err := ParseEndpointPolicy(make([]string, 65)); err == nil || !strings.Contains(err.Error(), "at most 64") {
		t.Error(err)
	}
}

func TestDialerRefusesWhatANameResolvesTo(t *testing.T) {
	t.Parallel()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = listener.Close() }()
	dial := EndpointPolicy{}.dialer(net.Dialer{})
	port := netip.MustParseAddrPort(listener.Addr().String()).Port()

	var refused *EndpointError
	byName := net.JoinHostPort("localhost", listener.Addr().String()[strings.LastIndex(listener.Addr().String(), ":")+1:])
	if _, err = dial(t.Context(), "tcp", byName); !errors.As(err, &refused) {
		t.Errorf("port %d of localhost: %v", port, err)
	}
	// An address was judged with its URL.
	conn, err := dial(t.Context(), "tcp", listener.Addr().String())
	if err != nil {
		t.Fatal(err)
	}
	if err := conn.Close(); err != nil {
		t.Error(err)
	}
	for _, address := range []string{"169.254.169.254:80", "[::1]:80", "[fe80::1%eth0]:80", "[::ffff:127.0.0.1]:80", "nonsense"} {
		if checkDialled(address) == nil {
			t.Errorf("%s is allowed", address)
		}
	}
	if err := checkDialled("192.0.2.1:443"); err != nil {
		t.Error(err)
	}
}
