// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package webhookserver

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"time"

	"k8s.io/utils/clock"
)

const (
	// maxBody is in bytes. etcd stores no object of more than 1.5 MiB by default, and a review has two at most, the old and the
	// new one: what is larger would be refused in any case.
	maxBody = 4 << 20
	// smallBody is in bytes. Reviews of Weir's kinds have some thousand. What is larger waits for a place.
	smallBody = 32 << 10
	// largeBodies is how many bodies of more than smallBody are in memory at once: 16 MiB, and their copies while they are decoded.
	// The small ones of maxConnections take as much.
	largeBodies = 4
)

// limits bound what the bodies of requests take of the memory.
type limits struct {
	// places are taken by large bodies, from before they are read until they are answered.
	places chan struct{}
	// send is sendTime, but in tests.
	send  time.Duration
	clock clock.Clock
}

func newLimits() limits {
	return limits{places: make(chan struct{}, largeBodies), send: sendTime, clock: clock.RealClock{}}
}

// around returns a handler that serves requests within the limits, and refuses others.
func (l limits) around(next http.Handler) http.Handler {
	return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		l.begin(w)
		if r.ContentLength > maxBody {
			http.Error(w, fmt.Sprintf("the review has %d bytes; at most %d are read", r.ContentLength, maxBody), http.StatusRequestEntityTooLarge)
			return
		}
		if r.ContentLength < 0 || r.ContentLength > smallBody {
			if !l.take(connectionOf(r)) {
				http.Error(w, fmt.Sprintf("%d other reviews of more than %d bytes are being read; retry", largeBodies, smallBody), http.StatusServiceUnavailable)
				return
			}
			defer func() { <-l.places }()
		}
		limited := *r // the server looks at its own, whether the connection is good for another request
		limited.Body = &body{ReadCloser: http.MaxBytesReader(w, r.Body, maxBody), read: func() { sent(w, r) }}
		next.ServeHTTP(w, &limited)
	})
}

// take waits for a place, for as long as the request may take to arrive and its connection is open.
func (l limits) take(v *visitor) bool {
	timeout := l.clock.NewTimer(l.send)
	defer timeout.Stop()
	select {
	case l.places <- struct{}{}:
		return true
	case <-v.gone:
		return false
	case <-timeout.C():
		return false
	}
}

// begin bounds the time of a request from its header on: that of its body, the wait for a place included, and that of its answer.
func (l limits) begin(w http.ResponseWriter) {
	connection, now := http.NewResponseController(w), l.clock.Now()
	_ = connection.SetReadDeadline(now.Add(l.send))
	_ = connection.SetWriteDeadline(now.Add(writeTime))
}

// sent notes that a request has been read to its end. What comes next may take its time.
func sent(w http.ResponseWriter, r *http.Request) {
	connectionOf(r).arrived()
	_ = http.NewResponseController(w).SetReadDeadline(time.Time{}) // else the request would be cancelled then
}

// body is a request's.
type body struct {
	io.ReadCloser

	read func()
}

// Read calls read at the end.
func (b *body) Read(p []byte) (int, error) {
	n, err := b.ReadCloser.Read(p)
	if errors.Is(err, io.EOF) {
		b.read()
	}
	return n, err
}
