// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package servingcert

import (
	"crypto/tls"
	"crypto/x509"
	"maps"
	"testing"
	"time"

	"github.com/open-policy-agent/cert-controller/pkg/rotator"
)

const service = "weir-webhook-service.weir-system.svc"

// made returns a Secret with a new CA and certificate, as cert-controller makes them.
func made(t *testing.T) map[string][]byte {
	t.Helper()
	r := &rotator.CertRotator{CAName: caName, CAOrganization: organization, DNSName: service, ExtKeyUsages: &[]x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}}
	begin, end := time.Now().Add(-time.Hour), time.Now().Add(365*24*time.Hour)
	ca, err := r.CreateCACert(begin, end)
	if err != nil {
		t.Fatal(err)
	}
	cert, key, err := r.CreateCertPEM(ca, begin, end)
	if err != nil {
		t.Fatal(err)
	}
	return map[string][]byte{caKey: ca.CertPEM, caKeyKey: ca.KeyPEM, certKey: cert, "tls.key": key}
}

// accepts reports whether a client that trusts ca.crt of one Secret accepts a server with the certificate of another.
func accepts(t *testing.T, trusted, serving map[string][]byte) bool {
	t.Helper()
	pair, err := tls.X509KeyPair(serving[certKey], serving["tls.key"])
	if err != nil {
		t.Fatal(err)
	}
	leaf, intermediates := pair.Leaf, x509.NewCertPool()
	for _, der := range pair.Certificate[1:] {
		between, bad := x509.ParseCertificate(der)
		if bad != nil {
			t.Fatal(bad)
		}
		intermediates.AddCert(between)
	}
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(trusted[caKey])
	_, err = leaf.Verify(x509.VerifyOptions{DNSName: service, Roots: roots, Intermediates: intermediates})
	return err == nil
}

func TestOldAndNewAcceptEachOther(t *testing.T) {
	t.Parallel()
	before, after := made(t), made(t)
	bare := maps.Clone(after)
	if accepts(t, before, bare) || accepts(t, bare, before) {
		t.Fatal("nothing is to be bridged")
	}
	if err := bridge(before, after); err != nil {
		t.Fatal(err)
	}
	secrets := map[string]map[string][]byte{"before": before, "after": after}
	for trusted, ca := range secrets {
		for serving, cert := range secrets {
			if !accepts(t, ca, cert) {
				t.Errorf("trusting what was %s does not accept the certificate of %s", trusted, serving)
			}
		}
	}

	last := made(t)
	if err := bridge(after, last); err != nil {
		t.Fatal(err)
	}
	if !accepts(t, after, last) || !accepts(t, last, after) {
		t.Error("the second change is not bridged")
	}
	if accepts(t, last, before) {
		t.Error("CAs pile up")
	}
}

func TestWhatCannotSignIsReplaced(t *testing.T) {
	t.Parallel()
	mixed := made(t)
	mixed[caKeyKey] = made(t)[caKeyKey]
	broken := made(t)
	broken[caKeyKey] = []byte("-----BEGIN RSA PRIVATE KEY-----\nAAAA\n-----END RSA PRIVATE KEY-----\n")
	for name, before := range map[string]map[string][]byte{
		"an empty Secret": nil, "no PEM": {caKey: []byte("x"), caKeyKey: []byte("y")}, "a key of another": mixed, "a broken key": broken,
	} {
		after := made(t)
		want := maps.Clone(after)
		if err := bridge(before, after); err != nil {
			t.Errorf("%s: %v", name, err)
		}
		if string(after[caKey]) != string(want[caKey]) || string(after[certKey]) != string(want[certKey]) {
			t.Errorf("%s: the new CA is changed", name)
		}
	}
}

func TestANewCertificateOfTheSameCAIsLeftAlone(t *testing.T) {
	t.Parallel()
	before := made(t)
	after := maps.Clone(before)
	if err := bridge(before, after); err != nil {
		t.Fatal(err)
	}
	if string(after[caKey]) != string(before[caKey]) || string(after[certKey]) != string(before[certKey]) {
		t.Error("it is changed")
	}
}
