// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"fmt"
	"io"
	"log"
	"net/http"
	"net/http/httptest"
	"net/http/httputil"
	"net/url"
	"sync/atomic"

	"k8s.io/client-go/rest"
)

// Meter stands between a client and the API server, and counts what the client asks for.
type Meter struct {
	server          *httptest.Server
	requests, bytes atomic.Int64
}

// NewMeter opens a meter whose requests have the identity of cfg. Answers are not compressed, so that their bytes are those of the text.
func NewMeter(cfg *rest.Config) (*Meter, error) {
	cfg = rest.CopyConfig(cfg)
	cfg.DisableCompression = true
	upstream, err := rest.TransportFor(cfg)
	if err != nil {
		return nil, fmt.Errorf("building the meter's transport: %w", err)
	}
	target, err := url.Parse(cfg.Host)
	if err != nil {
		return nil, fmt.Errorf("reading the API server's address: %w", err)
	}
	m := &Meter{}
	m.server = httptest.NewServer(&httputil.ReverseProxy{
		Rewrite: func(r *httputil.ProxyRequest) {
			r.SetURL(target)
			r.Out.Header.Del("Accept-Encoding")
		},
		Transport: upstream, FlushInterval: -1, ErrorLog: log.New(io.Discard, "", 0),
		ModifyResponse: func(r *http.Response) error {
			m.requests.Add(1)
			r.Body = &meteredBody{r.Body, &m.bytes}
			return nil
		},
	})
	return m, nil
}

// URL is where clients without credentials find it.
func (m *Meter) URL() string { return m.server.URL }

// Config is for clients in the process.
func (m *Meter) Config() *rest.Config { return &rest.Config{Host: m.server.URL} }

// Read returns how many requests were answered, and the bytes of their answers, since the last reading.
func (m *Meter) Read() (requests, bytes int) {
	return int(m.requests.Swap(0)), int(m.bytes.Swap(0))
}

// Stop ends the meter with all that goes through it.
func (m *Meter) Stop() {
	m.server.CloseClientConnections()
	m.server.Close()
}

// meteredBody counts the bytes that are read.
type meteredBody struct {
	io.ReadCloser
	bytes *atomic.Int64
}

func (b *meteredBody) Read(into []byte) (int, error) {
	n, err := b.ReadCloser.Read(into)
	b.bytes.Add(int64(n))
	return n, err
}
