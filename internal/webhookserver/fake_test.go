// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package webhookserver

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"io"
	"math/big"
	"net"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
)

// patience is how long what must happen may take: only what never happens fails.
const patience = time.Minute

// authority signs client certificates.
type authority struct {
	key  *ecdsa.PrivateKey
	cert *x509.Certificate
}

func newAuthority(t *testing.T) *authority {
	t.Helper()
	a := &authority{cert: &x509.Certificate{
		Subject: pkix.Name{CommonName: "ca"}, IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign,
		SerialNumber: big.NewInt(1), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}}
	a.cert, a.key = a.sign(t, a.cert)
	return a
}

// sign completes a certificate; the first one is the authority's own.
func (a *authority) sign(t *testing.T, template *x509.Certificate) (*x509.Certificate, *ecdsa.PrivateKey) {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	signer := a.key
	if signer == nil {
		signer = key
	}
	der, err := x509.CreateCertificate(rand.Reader, template, a.cert, key.Public(), signer)
	if err != nil {
		t.Fatal(err)
	}
	cert, err := x509.ParseCertificate(der)
	if err != nil {
		t.Fatal(err)
	}
	return cert, key
}

// client returns a client's certificate, changed before it is signed.
func (a *authority) client(t *testing.T, name string, changes ...func(*x509.Certificate)) tls.Certificate {
	t.Helper()
	template := &x509.Certificate{
		Subject: pkix.Name{CommonName: name}, ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
		SerialNumber: big.NewInt(2), NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour),
	}
	for _, change := range changes {
		change(template)
	}
	cert, key := a.sign(t, template)
	return tls.Certificate{Certificate: [][]byte{cert.Raw}, PrivateKey: key}
}

// write puts the certificates of the authorities into a file.
func write(t *testing.T, path string, all ...*authority) {
	t.Helper()
	text := make([]byte, 0, 4096)
	for _, a := range all {
		text = append(text, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: a.cert.Raw})...)
	}
	if err := os.WriteFile(path, text, 0o600); err != nil {
		t.Fatal(err)
	}
}

// served is a server that runs until the test ends, with one webhook.
type served struct {
	address string
	roots   *x509.CertPool
}

func serve(t *testing.T, hook http.HandlerFunc, connections int, clients *Clients) *served {
	t.Helper()
	return serveWith(t, hook, clients, func(s *Server) { s.connections = connections })
}

// serveWith is serve of a server that is changed before it starts.
func serveWith(t *testing.T, hook http.HandlerFunc, clients *Clients, change func(*Server)) *served {
	t.Helper()
	certs := t.TempDir()
	bundle, err := framework.ServingCerts(certs)
	if err != nil {
		t.Fatal(err)
	}
	port, err := framework.FreePort()
	if err != nil {
		t.Fatal(err)
	}
	s := New(Options{Host: "127.0.0.1", Port: port, CertDir: certs, Clients: clients})
	change(s)
	s.Register("/hook", hook)
	ctx, cancel := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- s.Start(ctx) }()
	t.Cleanup(func() {
		cancel()
		if err := <-ended; err != nil {
			t.Errorf("ends with %v", err)
		}
	})
	eventually(t, "serving", func() bool { return s.StartedChecker()(nil) == nil })
	out := &served{address: fmt.Sprintf("127.0.0.1:%d", port), roots: x509.NewCertPool()}
	out.roots.AppendCertsFromPEM(bundle)
	return out
}

func (s *served) tls(certs ...tls.Certificate) *tls.Config {
	return &tls.Config{RootCAs: s.roots, Certificates: certs}
}

// as returns an API server's client.
func (s *served) as(t *testing.T, certs ...tls.Certificate) *http.Client {
	t.Helper()
	transport := &http.Transport{TLSClientConfig: s.tls(certs...), MaxIdleConnsPerHost: 25}
	t.Cleanup(transport.CloseIdleConnections)
	return &http.Client{Transport: transport, Timeout: patience}
}

// post returns the code and text of the answer.
func (s *served) post(c *http.Client, body io.Reader) (int, string, error) {
	resp, err := c.Post("https://"+s.address+"/hook", "application/json", body)
	if err != nil {
		return 0, "", err
	}
	defer resp.Body.Close()
	text, err := io.ReadAll(resp.Body)
	return resp.StatusCode, string(text), err
}

// answers fails the test unless the server answers a small request.
func (s *served) answers(t *testing.T, c *http.Client) {
	t.Helper()
	if code, text, err := s.post(c, strings.NewReader("small")); err != nil || code != http.StatusOK {
		t.Errorf("answers %d %s %v", code, text, err)
	}
}

// connect opens a connection that the test writes to by itself.
func (s *served) connect(t *testing.T) net.Conn {
	t.Helper()
	conn, err := net.Dial("tcp", s.address)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = conn.Close() })
	return conn
}

// begin opens a connection and sends the beginning of a request.
func (s *served) begin(t *testing.T, request string) net.Conn {
	t.Helper()
	conn := tls.Client(s.connect(t), &tls.Config{RootCAs: s.roots, ServerName: "127.0.0.1"})
	if _, err := io.WriteString(conn, request); err != nil {
		t.Fatal(err)
	}
	return conn
}

// large is the beginning of a request that has a body of n bytes.
func large(n int) string {
	return fmt.Sprintf("POST /hook HTTP/1.1\r\nHost: weir\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n", n)
}

// isClosed says whether the server has closed the connection.
func isClosed(conn net.Conn) bool {
	_ = conn.SetReadDeadline(time.Now().Add(50 * time.Millisecond))
	_, err := io.Copy(io.Discard, conn)
	var waiting net.Error
	return err == nil || !errors.As(err, &waiting) || !waiting.Timeout()
}

func eventually(t *testing.T, what string, done func() bool) {
	t.Helper()
	for end := time.Now().Add(patience); !done(); time.Sleep(10 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("waiting for: %s", what)
		}
	}
}

// readAll is a webhook that reads its request, and closes it, as controller-runtime's do.
func readAll(w http.ResponseWriter, r *http.Request) {
	defer r.Body.Close()
	if _, err := io.Copy(io.Discard, r.Body); err != nil {
		http.Error(w, err.Error(), http.StatusBadRequest)
	}
}

func caFile(t *testing.T) string {
	t.Helper()
	return filepath.Join(t.TempDir(), "ca.crt")
}
