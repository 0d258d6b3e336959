// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package mapping

import (
	"context"
	"errors"
	"net/http/httptest"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/atlas"
)

// growing is a source to whose site a test adds.
type growing struct {
	mu     sync.Mutex
	in     atlas.Input
	change chan struct{}
	broken chan error
}

// Draw implements atlas.Source.
func (g *growing) Draw(context.Context) (*atlas.Map, error) {
	g.mu.Lock()
	defer g.mu.Unlock()
	return atlas.Draw(g.in), nil
}

// Changes implements atlas.Source.
func (g *growing) Changes(ctx context.Context, ready, changed func()) error {
	ready()
	for {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case err := <-g.broken:
			return err
		case <-g.change:
			changed()
		}
	}
}

// patient is a clock that waits until the context ends for long, and not at all for short.
type patient struct{}

// Now implements atlas.Clock.
func (patient) Now() time.Time { return taken }

// Wait implements atlas.Clock.
func (patient) Wait(ctx context.Context, long time.Duration) {
	if long > time.Second {
		<-ctx.Done()
	}
}

// await waits until an expression of the page's is true.
func (b *browser) await(expression string) {
	b.t.Helper()
	for !value[bool](b, expression) {
		select {
		case <-b.Done():
			b.t.Fatalf("never: %s", expression)
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// TestLive: the page shows a change, keeps its view, says when it may be old, and asks its own server only.
func TestLive(t *testing.T) {
	source := &growing{in: fleet(), change: make(chan struct{}), broken: make(chan error)}
	live, err := atlas.NewLive(t.Context(), source, patient{})
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
		server.CloseClientConnections()
		server.Close()
		<-done
	})
	b := visit(t, server.URL+live.Path())
	b.await(`document.querySelector("#live").textContent === "● live"`)
	b.find("10.0.1.9")
	b.run(chromedp.KeyEvent(kb.Enter))
	b.contains(b.text("#details"), "10.0.1.9", "free")
	zoom := b.text("#zoom")
	b.run(chromedp.KeyEvent("o"))

	w := &world{fleet()}
	for _, p := range w.Pools {
		if p.Ref.Name == "vips" {
			w.record(p, netip.MustParsePrefix("10.0.1.9/32"), ipamv1.ActiveState, "made-just-now")
		}
	}
	source.mu.Lock()
	source.in = w.Input
	source.mu.Unlock()
	source.change <- struct{}{}
	b.await(`document.querySelector("#details").textContent.includes("made-just-now")`)
	b.contains(b.text("#details"), "10.0.1.9", "held")
	if focus := value[string](b, `document.activeElement.closest("[role=treeitem]")?.textContent || "nothing"`); !strings.Contains(focus, "IPPool team-red/vips") {
		t.Errorf("the focus is on %q", focus)
	}
	if now := b.text("#zoom"); now != zoom {
		t.Errorf("it was %s, and is %s", zoom, now)
	}
	source.broken <- errors.New("the API server is away")
	b.await(`document.querySelector("#live").textContent.includes("the API server is away")`)

	b.mu.Lock()
	defer b.mu.Unlock()
	for _, url := range b.asked {
		if !strings.HasPrefix(url, server.URL+live.Path()) {
			t.Errorf("asked for %s", url)
		}
	}
	if len(b.complaints) != 0 {
		t.Errorf("complains of %q", b.complaints)
	}
}
