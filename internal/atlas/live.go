// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package atlas

import (
	"context"
	"crypto/rand"
	"crypto/subtle"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"net"
	"net/http"
	"net/netip"
	"strings"
	"sync"
	"time"

	"golang.org/x/sync/errgroup"
)

const (
	// collecting is how long changes are collected for one reading.
	collecting = 250 * time.Millisecond
	// retrying is how long after a mistake everything is read again.
	retrying = 2 * time.Second
	// rest is how many times as long as a reading took there is none.
	rest = 4
	// tokenBytes are those of the secret in the address of the page.
	tokenBytes = 16
)

// Source is what a live map is drawn from.
type Source interface {
	// Draw reads everything.
	Draw(ctx context.Context) (*Map, error)
	// Changes calls ready once changes are watched, and changed after each, until it can tell of no more.
	Changes(ctx context.Context, ready, changed func()) error
}

// Clock tells the time, and waits.
type Clock interface {
	Now() time.Time
	// Wait returns after a time, or when the context ends.
	Wait(ctx context.Context, long time.Duration)
}

// Live serves a map that follows its source, to who knows the token. Use NewLive.
type Live struct {
	source Source
	clock  Clock
	token  string

	mu sync.Mutex
	// drawn is the map, number that of the drawing, trouble why it may be old.
	drawn   *Map
	number  int
	trouble string
	// news is closed when one of these changes.
	news chan struct{}
}

// NewLive draws a map for the first time.
func NewLive(ctx context.Context, source Source, clock Clock) (*Live, error) {
	token := make([]byte, tokenBytes)
	_, _ = rand.Read(token) // it never errs
	l := &Live{source: source, clock: clock, token: hex.EncodeToString(token), news: make(chan struct{})}
	drawn, err := source.Draw(ctx)
	if err != nil {
		return nil, err
	}
	l.set(drawn)
	return l, nil
}

// Path is that of the page.
func (l *Live) Path() string { return "/" + l.token + "/" }

// Run follows the source until the context ends. After a mistake it begins anew, with everything.
func (l *Live) Run(ctx context.Context) {
	for ctx.Err() == nil {
		if err := l.follow(ctx); err != nil && ctx.Err() == nil {
			l.complain(err)
			l.clock.Wait(ctx, retrying)
		}
	}
}

// follow draws after changes until it is not known any more what changes.
func (l *Live) follow(ctx context.Context) error {
	dirty := make(chan struct{}, 1)
	mark := func() {
		select {
		case dirty <- struct{}{}:
		default:
		}
	}
	group, following := errgroup.WithContext(ctx)
	group.Go(func() error { return l.source.Changes(following, mark, mark) })
	group.Go(func() error {
		for {
			select {
			case <-following.Done():
				return nil
			case <-dirty:
			}
			l.clock.Wait(following, collecting)
			began := l.clock.Now()
			drawn, err := l.source.Draw(following)
			if err != nil {
				return err
			}
			l.set(drawn)
			l.clock.Wait(following, rest*l.clock.Now().Sub(began))
		}
	})
	return group.Wait()
}

func (l *Live) set(drawn *Map) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.drawn, l.trouble = drawn, ""
	l.number++
	l.announce()
}

func (l *Live) complain(err error) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.trouble = err.Error()
	l.announce()
}

// announce wakes who waits for news. The lock is held.
func (l *Live) announce() {
	close(l.news)
	l.news = make(chan struct{})
}

// ServeHTTP answers programs on this machine that know the token.
func (l *Live) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	for name, value := range map[string]string{
		"Cache-Control": "no-store", "Referrer-Policy": "no-referrer", "X-Content-Type-Options": "nosniff",
		"Cross-Origin-Resource-Policy": "same-origin",
		"Content-Security-Policy":      strings.Join([]string{"default-src 'none'", pageSources(), liveSource, "frame-ancestors 'none'"}, "; "),
	} {
		w.Header().Set(name, value)
	}
	token, path, _ := strings.Cut(strings.TrimPrefix(r.URL.Path, "/"), "/")
	switch {
	case !isLoopback(r.Host):
		http.Error(w, "this is served to loopback addresses only", http.StatusForbidden)
	case subtle.ConstantTimeCompare([]byte(token), []byte(l.token)) != 1:
		http.NotFound(w, r)
	case r.Method != http.MethodGet:
		http.Error(w, "only GET is served", http.StatusMethodNotAllowed)
	case path == "":
		l.servePage(w)
	case path == "model":
		l.serveModel(w)
	case path == "events":
		l.serveEvents(w, r)
	default:
		http.NotFound(w, r)
	}
}

// isLoopback reports whether a header Host names this machine: a name that somebody else has pointed here does not.
func isLoopback(host string) bool {
	if name, _, err := net.SplitHostPort(host); err == nil {
		host = name
	}
	address, err := netip.ParseAddr(strings.Trim(host, "[]"))
	return host == "localhost" || (err == nil && address.IsLoopback())
}

func (l *Live) servePage(w http.ResponseWriter) {
	drawn, _, _ := l.current()
	w.Header().Set("Content-Type", "text/html; charset=utf-8")
	_ = writePage(w, drawn, "; "+liveSource) // the browser has gone
}

func (l *Live) serveModel(w http.ResponseWriter) {
	drawn, _, _ := l.current()
	w.Header().Set("Content-Type", "application/json")
	_ = json.NewEncoder(w).Encode(drawn) // the browser has gone
}

// event is what the page is told: which drawing there is, and why it may be old.
type event struct {
	Number  int    `json:"number"`
	Trouble string `json:"trouble,omitempty"`
}

// current returns the map, what to tell of it, and a channel that is closed when these change.
func (l *Live) current() (*Map, event, <-chan struct{}) {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.drawn, event{l.number, l.trouble}, l.news
}

// serveEvents tells the page of news until it goes.
func (l *Live) serveEvents(w http.ResponseWriter, r *http.Request) {
	w.Header().Set("Content-Type", "text/event-stream")
	out := http.NewResponseController(w)
	for {
		_, told, news := l.current()
		text, err := json.Marshal(told)
		if err != nil {
			return
		}
		if _, err = fmt.Fprintf(w, "data: %s\n\n", text); err != nil || out.Flush() != nil {
			return
		}
		select {
		case <-r.Context().Done():
			return
		case <-news:
		}
	}
}
