// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package atlas

import (
	"bufio"
	"context"
	"errors"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/survey"
)

// scripted is a source whose maps and changes a test gives.
type scripted struct {
	mu       sync.Mutex
	revision string
	// broken is the mistake of the next call of Changes, once it is sent.
	broken chan error
	change chan struct{}
	ready  chan struct{}
	// again lets the map try again after a mistake.
	again chan struct{}
}

func (s *scripted) Draw(context.Context) (*Map, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	return Draw(Input{Pools: []*survey.Pool{poolOf("nodes", "10.0.0.0/24")}, Revision: s.revision, Taken: taken}), nil
}

func (s *scripted) become(revision string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.revision = revision
}

func (s *scripted) Changes(ctx context.Context, ready, changed func()) error {
	ready()
	s.ready <- struct{}{}
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-s.broken:
			return err
		case <-s.change:
			changed()
		}
	}
}

// hasty waits for nothing, but after a mistake until a test lets it try again.
type hasty struct {
	again chan struct{}
}

func (hasty) Now() time.Time { return taken }

func (h hasty) Wait(ctx context.Context, long time.Duration) {
	if long != retrying {
		return
	}
	select {
	case <-ctx.Done():
	case <-h.again:
	}
}

// serve runs a live map.
func serve(t *testing.T) (*scripted, *Live, *httptest.Server) {
	t.Helper()
	source := &scripted{revision: "1", broken: make(chan error), change: make(chan struct{}), ready: make(chan struct{}, 16), again: make(chan struct{})}
	live, err := NewLive(t.Context(), source, hasty{source.again})
	if err != nil {
		t.Fatal(err)
	}
	server := httptest.NewServer(live)
	ctx, stop := context.WithCancel(t.Context())
	done := make(chan struct{})
	go func() {
		defer close(done)
		live.Run(ctx)
	}()
	t.Cleanup(func() {
		stop()
		<-done
		server.CloseClientConnections()
		server.Close()
	})
	return source, live, server
}

// ask returns status, headers and body of an answer.
func ask(t *testing.T, method, url, host string) (int, http.Header, string) {
	t.Helper()
	request, err := http.NewRequestWithContext(t.Context(), method, url, nil)
	if err != nil {
		t.Fatal(err)
	}
	request.Host = host
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		t.Fatal(err)
	}
	return response.StatusCode, response.Header, string(body)
}

// TestLiveMapIsForItsUser: without the token, by another name of the host or by another method there is nothing.
func TestLiveMapIsForItsUser(t *testing.T) {
	t.Parallel()
	_, live, server := serve(t)
	if len(live.Path()) != 2+2*tokenBytes {
		t.Errorf("the path is %s", live.Path())
	}
	for name, c := range map[string]struct {
		method, path, host string
		status             int
	}{
		"page":           {"GET", live.Path(), "", 200},
		"model":          {"GET", live.Path() + "model", "", 200},
		"localhost":      {"GET", live.Path() + "model", "localhost:8080", 200},
		"IPv6":           {"GET", live.Path() + "model", "[::1]:8080", 200},
		"rebound":        {"GET", live.Path(), "evil.example:80", 403},
		"rebound, bare":  {"GET", live.Path(), "evil.example", 403},
		"other address":  {"GET", live.Path(), "192.0.2.1:80", 403},
		"no token":       {"GET", "/", "", 404},
		"wrong token":    {"GET", "/" + strings.Repeat("0", 2*tokenBytes) + "/", "", 404},
		"no token model": {"GET", "/model", "", 404},
		"another path":   {"GET", live.Path() + "etc/passwd", "", 404},
		"POST":           {"POST", live.Path() + "model", "", 405},
		"HEAD":           {"HEAD", live.Path(), "", 405},
	} {
		status, header, body := ask(t, c.method, server.URL+c.path, c.host)
		if status != c.status {
			t.Errorf("%s: %d, not %d", name, status, c.status)
		}
		if status != http.StatusOK && strings.Contains(body, "nodes") {
			t.Errorf("%s: the answer is %s", name, body)
		}
		policy := header.Get("Content-Security-Policy")
		if !strings.HasPrefix(policy, "default-src 'none'; script-src 'sha256-") || strings.Contains(policy, "unsafe") ||
			header.Get("Cache-Control") != "no-store" || header.Get("Referrer-Policy") != "no-referrer" {
			t.Errorf("%s: headers %v", name, header)
		}
	}
}

// TestLiveMapFollows: the page is told of a change, of a mistake, and of what is there after it.
func TestLiveMapFollows(t *testing.T) {
	t.Parallel()
	source, live, server := serve(t)
	request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, server.URL+live.Path()+"events", nil)
	if err != nil {
		t.Fatal(err)
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		t.Fatal(err)
	}
	defer response.Body.Close()
	events := bufio.NewScanner(response.Body)
	await := func(what, text string, isThere func() bool) {
		t.Helper()
		for events.Scan() {
			if strings.Contains(events.Text(), text) && isThere() {
				return
			}
		}
		t.Fatalf("%s: %v", what, events.Err())
	}
	has := func(revision string) func() bool {
		return func() bool {
			_, _, model := ask(t, http.MethodGet, server.URL+live.Path()+"model", "")
			return strings.Contains(model, `"revision":"`+revision+`"`)
		}
	}
	<-source.ready
	source.become("2")
	source.change <- struct{}{}
	await("a change", `data: {"number":`, has("2"))
	source.become("3")
	source.broken <- errors.New("the API server is away")
	await("a mistake", `"trouble":"the API server is away"`, func() bool { return true })
	source.again <- struct{}{}
	<-source.ready
	await("what is there after it", `data: {"number":`, has("3"))
}
