// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package webhookserver

import (
	"crypto/tls"
	"crypto/x509"
	"net/http"
	"os"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

func TestAClientIsTurnedAwayInTheHandshake(t *testing.T) {
	t.Parallel()
	ca, other := newAuthority(t), newAuthority(t)
	file := caFile(t)
	write(t, file, ca)
	tests := map[string]struct {
		certs []tls.Certificate
		// name is whom the server wants.
		name   string
		served bool
	}{
		"without a certificate":                  {},
		"of another CA":                          {certs: []tls.Certificate{other.client(t, "api")}},
		"of another CA, by the right name":       {certs: []tls.Certificate{other.client(t, "api")}, name: "api"},
		"of the CA, by another name":             {certs: []tls.Certificate{ca.client(t, "kubelet")}, name: "api"},
		"of the CA, without a name":              {certs: []tls.Certificate{ca.client(t, "")}, name: "api"},
		"of the CA, expired":                     {certs: []tls.Certificate{ca.client(t, "api", func(c *x509.Certificate) { c.NotAfter = time.Now().Add(-time.Minute) })}},
		"of the CA, not valid yet":               {certs: []tls.Certificate{ca.client(t, "api", func(c *x509.Certificate) { c.NotBefore = time.Now().Add(time.Hour) })}},
		"of the CA, for a server":                {certs: []tls.Certificate{ca.client(t, "api", func(c *x509.Certificate) { c.ExtKeyUsage = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth} })}},
		"of the CA, where every name will do":    {certs: []tls.Certificate{ca.client(t, "kubelet")}, served: true},
		"of the CA, by the right name":           {certs: []tls.Certificate{ca.client(t, "api")}, name: "api", served: true},
		"of the CA, by the right name among DNS": {certs: []tls.Certificate{ca.client(t, "x", func(c *x509.Certificate) { c.DNSNames = []string{"y", "api"} })}, name: "api", served: true},
	}
	for name, test := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			clients, err := NewClients(file, test.name)
			if err != nil {
				t.Fatal(err)
			}
			var called atomic.Int32
			s := serve(t, func(http.ResponseWriter, *http.Request) { called.Add(1) }, maxConnections, clients)
			for _, version := range []uint16{tls.VersionTLS12, tls.VersionTLS13} {
				config := s.tls(test.certs...)
				config.MaxVersion = version
				if test.served {
					s.answers(t, &http.Client{Transport: &http.Transport{TLSClientConfig: config, DisableKeepAlives: true}})
					continue
				}
				conn, err := tls.Dial("tcp", s.address, config)
				if err == nil { // of TLS 1.3, the client's part of the handshake, which the server judges later
					_, err = conn.Read(make([]byte, 1))
					_ = conn.Close()
				}
				if err == nil || !strings.Contains(err.Error(), "remote error: tls: ") {
					t.Errorf("TLS %x: %v", version, err)
				}
			}
			if reached := called.Load() > 0; reached != test.served {
				t.Errorf("the webhook was called %d times", called.Load())
			}
		})
	}
}

func TestAClientOfACAThatIsNoMoreIsRefusedOnItsOpenConnection(t *testing.T) {
	t.Parallel()
	former, next := newAuthority(t), newAuthority(t)
	file := caFile(t)
	write(t, file, former)
	clients, err := NewClients(file, "")
	if err != nil {
		t.Fatal(err)
	}
	s := serve(t, readAll, maxConnections, clients)
	old, renewed := s.as(t, former.client(t, "api")), s.as(t, next.client(t, "api"))
	s.answers(t, old)
	write(t, file, former, next)
	eventually(t, "the new CA's client to be served", func() bool {
		code, _, _ := s.post(renewed, strings.NewReader("small"))
		return code == http.StatusOK
	})
	s.answers(t, old)
	write(t, file, next)
	eventually(t, "the former CA's client to be refused", func() bool {
		code, _, err := s.post(old, strings.NewReader("small"))
		return err == nil && code == http.StatusUnauthorized
	})
	if _, _, err := s.post(old, strings.NewReader("small")); err == nil {
		t.Error("the connection is left open")
	}
	s.answers(t, renewed)
}

func TestACAThatCannotBeReadIsAnError(t *testing.T) {
	t.Parallel()
	file := caFile(t)
	for _, text := range []string{"", "no certificate", "-----BEGIN CERTIFICATE-----\nAAAA\n-----END CERTIFICATE-----\n"} {
		if err := os.WriteFile(file, []byte(text), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := NewClients(file, ""); err == nil {
			t.Errorf("%q is a CA", text)
		}
	}
	if _, err := NewClients(file+".missing", ""); err == nil {
		t.Error("a file that is missing is a CA")
	}
}
