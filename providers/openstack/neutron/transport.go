// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package neutron

import (
	"context"
	"crypto/tls"
	"crypto/x509"
	"fmt"
	"net"
	"net/http"
	"net/http/httptrace"
	"sync/atomic"
	"time"

	"golang.org/x/time/rate"
	"k8s.io/utils/clock"
)

// maxAnswerBytes bounds what is read of one answer: a thousand floating IPs are about 600 kB.
const maxAnswerBytes = 16 << 20

// flight follows the request of one call: what it is named, and whether the cloud may have seen it.
type flight struct {
	call string
	// sent is set as soon as the request has a connection, and cleared by each new attempt.
	sent atomic.Bool
}

type flightKey struct{}

// withFlight returns a context whose requests belong to a call of that name.
func withFlight(ctx context.Context, call string) (context.Context, *flight) {
	f := &flight{call: call}
	return context.WithValue(ctx, flightKey{}, f), f
}

// transport checks, limits, traces and observes every request.
type transport struct {
	base     *http.Transport
	policy   EndpointPolicy
	limiter  *rate.Limiter
	observer Observer
	clock    clock.PassiveClock
}

// newHTTPClient returns a client that follows no redirect and uses no proxy: a proxy would dial for it, past the policy.
func newHTTPClient(o Options, cacert []byte) (http.Client, error) {
	roots, err := x509.SystemCertPool()
	if err != nil {
		return http.Client{}, fmt.Errorf("reading the system's certificates: %w", err)
	}
	roots.AppendCertsFromPEM(cacert)
	return http.Client{
		Transport: &transport{
			base: &http.Transport{
				DialContext:            o.Policy.dialer(net.Dialer{Timeout: o.Timeouts.Dial}),
				TLSClientConfig:        &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12},
				TLSHandshakeTimeout:    o.Timeouts.TLSHandshake,
				ResponseHeaderTimeout:  o.Timeouts.ResponseHeader,
				IdleConnTimeout:        idleConnTimeout,
				MaxIdleConnsPerHost:    maxIdleConns,
				MaxResponseHeaderBytes: maxHeaderBytes,
			},
			policy: o.Policy, limiter: o.Limiter, observer: o.Observer, clock: o.Clock,
		},
		CheckRedirect: func(*http.Request, []*http.Request) error { return http.ErrUseLastResponse },
	}, nil
}

const (
	// idleConnTimeout is shorter than what servers and load balancers commonly allow, so that they close few connections in use.
	idleConnTimeout = 20 * time.Second
	maxIdleConns    = 4
	maxHeaderBytes  = 64 << 10
)

// limitError says that the client's own limiter did not let a request go.
type limitError struct{ error }

// RoundTrip sends one request, if policy and limiter let it go.
func (t *transport) RoundTrip(request *http.Request) (*http.Response, error) {
	ctx := request.Context()
	f, ok := ctx.Value(flightKey{}).(*flight)
	if !ok {
		f = &flight{}
	}
	f.sent.Store(false)
	if err := t.policy.Check(request.URL); err != nil {
		return nil, err
	}
	if t.limiter != nil {
		if err := t.limiter.Wait(ctx); err != nil {
			return nil, limitError{err}
		}
	}
	trace := &httptrace.ClientTrace{GotConn: func(httptrace.GotConnInfo) { f.sent.Store(true) }}
	began := t.clock.Now()
	response, err := t.base.RoundTrip(request.WithContext(httptrace.WithClientTrace(ctx, trace)))
	code := 0
	if err == nil {
		code = response.StatusCode
		response.Body = http.MaxBytesReader(nil, response.Body, maxAnswerBytes)
	}
	if t.observer != nil {
		t.observer(f.call, code, t.clock.Since(began))
	}
	return response, err
}

// CloseIdleConnections closes the connections that no request uses.
func (t *transport) CloseIdleConnections() { t.base.CloseIdleConnections() }
