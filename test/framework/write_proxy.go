// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"crypto/tls"
	"fmt"
	"io"
	"log"
	"net"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"regexp"
	"strings"
	"sync"
	"time"

	"k8s.io/client-go/rest"
)

// Loss says what becomes of the write at which a proxy closes.
type Loss string

// What becomes of that write.
const (
	// RequestLost: the API server never sees it.
	RequestLost Loss = "never arrives"
	// ReplyLost: the API server has done it, and nobody hears of that.
	ReplyLost Loss = "is done, but not answered"
)

// WriteProxy stands between one manager and the API server, and closes at a certain write of the manager's: at that moment the
// process is to be killed, so that this write is its last.
type WriteProxy struct {
	server *http.Server
	proxy  *httputil.ReverseProxy
	config *rest.Config
	closed chan struct{}

	mu      sync.Mutex
	writes  int
	closeAt int
	loss    Loss
	counts  func(*http.Request) bool
}

// NewWriteProxy opens a proxy for the identity of cfg that closes at the n-th write to kinds of IP address management, be it a
// failed one. At 0 it never closes.
func (cp *ControlPlane) NewWriteProxy(cfg *rest.Config, n int, loss Loss) (*WriteProxy, error) {
	upstream, err := rest.TransportFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("building the proxy's transport: %w", err)
	}
	target, err := url.Parse(cfg.Host)
	if err != nil {
		return nil, fmt.Errorf("reading the API server's address: %w", err)
	}
	pair, err := cp.ca.serving("127.0.0.1")
	if err != nil {
		return nil, err
	}
	certificate, err := tls.X509KeyPair(pair.cert, pair.key)
	if err != nil {
		return nil, fmt.Errorf("reading the proxy's certificate: %w", err)
	}
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		return nil, fmt.Errorf("opening the proxy's port: %w", err)
	}
	g := &WriteProxy{
		proxy: &httputil.ReverseProxy{
			Rewrite: func(r *httputil.ProxyRequest) { r.SetURL(target) }, Transport: upstream, FlushInterval: -1,
			ErrorLog: log.New(io.Discard, "", 0),
		},
		config:  &rest.Config{Host: "https://" + listener.Addr().String(), TLSClientConfig: rest.TLSClientConfig{CAData: cp.ca.pem}},
		closed:  make(chan struct{}),
		closeAt: n,
		loss:    loss,
		counts:  isWrite,
	}
	g.server = &http.Server{
		Handler: g, TLSConfig: &tls.Config{Certificates: []tls.Certificate{certificate}, MinVersion: tls.VersionTLS12},
		ReadHeaderTimeout: time.Minute, ErrorLog: log.New(io.Discard, "", 0),
	}
	go func() { _ = g.server.ServeTLS(listener, "", "") }()
	return g, nil
}

// Counting has the proxy count these requests, and no others. It is for before the first one.
func (g *WriteProxy) Counting(counts func(*http.Request) bool) *WriteProxy {
	g.counts = counts
	return g
}

// Config is the manager's: it needs no credentials.
func (g *WriteProxy) Config() *rest.Config { return g.config }

// Closed is closed once the manager has made its last write.
func (g *WriteProxy) Closed() <-chan struct{} { return g.closed }

// Writes returns how many writes there have been.
func (g *WriteProxy) Writes() int {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.writes
}

// Stop ends the proxy with all that goes through it.
func (g *WriteProxy) Stop() error { return g.server.Close() }

// ServeHTTP lets a request through, unless the proxy is closed or closes with it.
func (g *WriteProxy) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	loss, last := g.count(r)
	if loss == "" {
		g.proxy.ServeHTTP(w, r)
		return
	}
	if loss == ReplyLost {
		g.proxy.ServeHTTP(httptest.NewRecorder(), r)
	}
	if last {
		close(g.closed)
	}
	panic(http.ErrAbortHandler)
}

// count says how the request is lost, "" if it is not, and whether it is the last write.
func (g *WriteProxy) count(r *http.Request) (loss Loss, last bool) {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.counts(r) {
		g.writes++
		last = g.writes == g.closeAt
	}
	switch {
	case last:
		return g.loss, true
	case g.closeAt == 0 || g.writes < g.closeAt:
		return "", false
	default:
		return RequestLost, false
	}
}

// poolStatus is written at a rate of its own, and nothing depends on it.
var poolStatus = regexp.MustCompile(`/(global)?ippools/[^/]+/status$`)

// isWrite says whether the request changes a claim, an answer, a record or a pool.
func isWrite(r *http.Request) bool {
	switch r.Method {
	case http.MethodPost, http.MethodPut, http.MethodPatch, http.MethodDelete:
		return strings.HasPrefix(r.URL.Path, "/apis/ipam.") && !poolStatus.MatchString(r.URL.Path)
	default:
		return false
	}
}
