// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package mapping looks at the page of kubectl weir map with a browser: at a file that is made from a site that there is not.
//
//   - TestPage: the pools are shown, chosen and zoomed, by mouse and by keys; names stay text; nothing is asked of a network.
//   - TestManyRecords: 20,000 records are few elements.
//   - pictures_test.go: pictures, kept with -pictures FOLDER; contrast.
//   - bench_test.go: how long the first picture takes.
//   - search_test.go: what is found by which name, and what a sent address of the page shows.
//   - readers_test.go: the grid, the tree and the table, by keys.
//   - live_test.go: the page of a server, whose site changes.
//   - world_test.go: the sites.
package mapping

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/atlas"
)

const (
	// browserProgram is Debian's browser without a window; make chromium-packages installs it.
	browserProgram = "chromium-headless-shell"
	// patience bounds a whole test.
	patience = 3 * time.Minute
	// mostElements is how many elements the picture may have.
	mostElements = 1500
)

// browser is a page in a browser, with what it has asked for and complained of.
type browser struct {
	context.Context //nolint:containedctx // chromedp keeps the browser in it
	t               testing.TB

	mu         sync.Mutex
	asked      []string
	complaints []string
}

// open draws a map and opens its file, with the view that a fragment names.
func open(tb testing.TB, in atlas.Input, view string) *browser {
	tb.Helper()
	file := filepath.Join(tb.TempDir(), "map.html")
	written, err := os.Create(file)
	if err != nil {
		tb.Fatal(err)
	}
	if err = atlas.WritePage(written, atlas.Draw(in)); err != nil {
		tb.Fatal(err)
	}
	if err = written.Close(); err != nil {
		tb.Fatal(err)
	}
	return visit(tb, "file://"+file+view)
}

// visit opens a page.
func visit(tb testing.TB, url string) *browser {
	tb.Helper()
	path, err := exec.LookPath(browserProgram)
	if err != nil {
		tb.Fatalf("%v; make chromium-packages installs it", err)
	}
	bounded, cancel := context.WithTimeout(tb.Context(), patience)
	tb.Cleanup(cancel)
	options := []chromedp.ExecAllocatorOption{chromedp.ExecPath(path), chromedp.NoSandbox}
	b := &browser{t: tb}
	tab, closeTab := chromedp.NewContext(bounded, chromedp.WithAllocatorOptions(options...), chromedp.WithListener(b.note))
	tb.Cleanup(closeTab)
	b.Context = tab
	b.run(chromedp.EmulateViewport(1440, 900))
	if _, err = chromedp.Call(tab, network.Enable, network.EnableParams{}); err != nil {
		tb.Fatal(err)
	}
	b.run(chromedp.Navigate(url), chromedp.WaitReady(chromedp.CSS("html[data-drawn]")))
	return b
}

// note keeps what the page asks for, and its mistakes.
func (b *browser) note(event any) {
	b.mu.Lock()
	defer b.mu.Unlock()
	switch e := event.(type) {
	case *network.EventRequestWillBeSent:
		b.asked = append(b.asked, e.Request.URL)
	case *runtime.EventExceptionThrown:
		b.complaints = append(b.complaints, e.ExceptionDetails.Text)
	}
}

func (b *browser) run(actions ...chromedp.Action[chromedp.Void]) {
	b.t.Helper()
	if err := chromedp.Do(b, actions...); err != nil {
		b.t.Fatal(err)
	}
}

// value is what an expression of the page's comes to.
func value[T any](b *browser, expression string) T {
	b.t.Helper()
	v, err := chromedp.Run(b, chromedp.Evaluate[T](expression))
	if err != nil {
		b.t.Fatal(err)
	}
	return v
}

// text is the text of the first element.
func (b *browser) text(selector string) string {
	b.t.Helper()
	return value[string](b, fmt.Sprintf("document.querySelector(%q).textContent", selector))
}

// number is what an expression comes to.
func (b *browser) number(expression string) int {
	b.t.Helper()
	return value[int](b, expression)
}

// labels are the texts in the picture.
func (b *browser) labels() string {
	b.t.Helper()
	return value[string](b, `[...document.querySelectorAll("#bars text")].map((t) => t.textContent).join("\n")`)
}

// contains checks that a text has parts.
func (b *browser) contains(text string, parts ...string) {
	b.t.Helper()
	for _, part := range parts {
		if !strings.Contains(text, part) {
			b.t.Errorf("there is no %q in:\n%s", part, text)
		}
	}
}

// click clicks at the middle of what carries a label.
func (b *browser) click(label string) {
	b.t.Helper()
	at := value[[]float64](b, fmt.Sprintf(`(() => {
		const text = [...document.querySelectorAll("#bars text")].find((t) => t.textContent.startsWith(%q));
		const box = text.getBoundingClientRect();
		return [box.left + box.width / 2, box.top + box.height / 2];
	})()`, label))
	b.run(chromedp.MouseClickXY(at[0], at[1]))
}

func TestPage(t *testing.T) {
	b := open(t, fleet(), "")
	b.contains(b.labels(), "GlobalIPPool fleet 10.0.0.0/8", "GlobalIPPool east", "west", "prod-eu", "nodes", "fleet-v6 2001:db8::/48")
	b.contains(b.text("#notes"), "not shown: you may not list ipaddressclaims", "revision 812345", "2026-11-27T18:02:11Z")
	b.contains(b.text("#legend"), "held", "pool's block", "cooling", "conflict", "not shown")
	b.contains(b.text("#space"), "default", "lab")

	t.Run("a pool is chosen by mouse", func(t *testing.T) {
		b.t = t
		b.click("GlobalIPPool east")
		b.contains(b.text("#details"), "GlobalIPPool east", "carved from GlobalIPPool fleet", "IPPool team-red/prod-eu")
	})
	t.Run("the wheel zooms", func(t *testing.T) {
		b.t = t
		before := b.number(`document.querySelectorAll("#bars rect.pool").length`)
		value[bool](b, `document.querySelector("#bars").dispatchEvent(new WheelEvent("wheel", {deltaY: -1200, clientX: 60, clientY: 90, bubbles: true, cancelable: true}))`)
		if zoom := b.text("#zoom"); zoom == "zoom 1.0×" {
			t.Errorf("%s, %v pools before", zoom, before)
		}
		b.run(chromedp.Focus(chromedp.CSS("#bars")), chromedp.KeyEvent(kb.Backspace), chromedp.KeyEvent(kb.Backspace), chromedp.KeyEvent(kb.Backspace))
		if zoom := b.text("#zoom"); zoom != "zoom 1.0×" {
			t.Errorf("after Backspace it is %s", zoom)
		}
	})
	t.Run("keys walk, zoom and change the scale", func(t *testing.T) {
		b.t = t
		b.run(chromedp.KeyEvent("t"), chromedp.KeyEvent("t"), chromedp.KeyEvent(kb.ArrowDown))
		b.contains(b.text("#details h2"), "GlobalIPPool fleet")
		for _, want := range []string{"GlobalIPPool east", "IPPool team-red/prod-eu", "IPPool team-red/nodes"} {
			b.run(chromedp.KeyEvent(kb.ArrowDown))
			b.contains(b.text("#details h2"), want)
		}
		b.run(chromedp.KeyEvent(kb.Enter), chromedp.KeyEvent(kb.ArrowDown))
		b.contains(b.text("#details"), "10.0.0.0", "in IPPool team-red/nodes")
		b.run(chromedp.KeyEvent(kb.ArrowRight))
		b.contains(b.text("#details"), "10.0.0.1", "gateway", "kubectl weir who 10.0.0.1")
		b.run(chromedp.KeyEvent(kb.ArrowRight), chromedp.KeyEvent(kb.ArrowRight))
		b.contains(b.text("#details"), "IPAddressClaim team-red/prod-eu-md-0-x7k2p-0, Machine prod-eu-md-0-x7k2p of Cluster prod-eu", "held for 4d")
		zoomed := b.text("#zoom")
		b.run(chromedp.KeyEvent("+"))
		if zoom := b.text("#zoom"); zoom == zoomed || zoom == "zoom 1.0×" {
			t.Errorf("after Enter it is %s, after + it is %s", zoomed, zoom)
		}
		b.run(chromedp.KeyEvent("t"))
		if pressed := b.number(`document.querySelectorAll("#true[aria-pressed=true], #fit[aria-pressed=false]").length`); pressed != 2 {
			t.Errorf("t presses %v of two buttons", pressed)
		}
		b.run(chromedp.KeyEvent("t"))
	})
	t.Run("a hostile name stays text", func(t *testing.T) {
		b.t = t
		b.run(chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.ArrowDown),
			chromedp.KeyEvent(kb.Enter), chromedp.KeyEvent(kb.ArrowDown))
		found := ""
		for range 60 {
			if found = b.text("#details"); strings.Contains(found, hostile) {
				break
			}
			b.run(chromedp.KeyEvent(kb.ArrowRight))
		}
		b.contains(found, hostile)
		title := value[string](b, "document.title")
		if title != "Weir map" || b.number(`document.querySelectorAll("img").length`) != 0 {
			t.Errorf("the title is %q", title)
		}
	})
	t.Run("another address space is shown", func(t *testing.T) {
		b.t = t
		b.run(chromedp.SetValue(chromedp.CSS("#space"), "1"))
		value[bool](b, `document.querySelector("#space").dispatchEvent(new Event("change"))`)
		labels := b.labels()
		b.contains(labels, "IPPool team-blue/lab 10.0.0.0/24")
		if strings.Contains(labels, "fleet") {
			t.Errorf("the pools of another one are shown as well:\n%s", labels)
		}
	})
	b.t = t
	b.askedNothing()
}

// TestEnds: the ends of the bars have the first and the last address in sight.
func TestEnds(t *testing.T) {
	b := open(t, fleet(), "")
	for _, c := range []struct{ view, ends string }{
		{"#space=default", "10.0.0.0 to 2001:db8:0:ffff:ffff:ffff:ffff:ffff"},
		{"#space=default&pool=IPPool+team-red%2Fvips", "10.0.1.0 to 10.0.1.15"},
		{"#space=default&pool=GlobalIPPool+west", "10.16.0.0 to 10.31.255.255"},
		{"#space=lab&zoom=4,0.25", "10.0.0.64 to 10.0.0.127"},
	} {
		value[bool](b, fmt.Sprintf("(location.hash = %q) && dispatchEvent(new Event('hashchange'))", c.view))
		if got := b.text("#first") + " to " + b.text("#last"); got != c.ends {
			t.Errorf("%s: %s, not %s", c.view, got, c.ends)
		}
	}
}

// askedNothing checks that the page has asked for itself only, and has complained of nothing.
func (b *browser) askedNothing() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.asked) != 1 || !strings.HasPrefix(b.asked[0], "file://"+os.TempDir()) || len(b.complaints) != 0 {
		b.t.Errorf("asked for %q, complains of %q", b.asked, b.complaints)
	}
}

func TestManyRecords(t *testing.T) {
	const many = 20_000
	b := open(t, crowd(many), "")
	drawn := b.number(`document.querySelectorAll("#bars *").length`)
	t.Logf("%d records are %v elements, drawn %s ms after the start", many, drawn, value[string](b, "document.documentElement.dataset.drawn"))
	if drawn > mostElements || drawn < 100 {
		t.Errorf("%v elements", drawn)
	}
	b.contains(b.text("#merged"), "ranges narrower than 3 px are drawn in bins")
	b.run(chromedp.Focus(chromedp.CSS("#bars")), chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.ArrowDown))
	b.contains(b.text("#details"), "in use, at worst held", "IPAddressClaim team-blue/many-0", "in IPPool team-blue/big")
	for range 12 {
		b.run(chromedp.KeyEvent("+"))
		if drawn = b.number(`document.querySelectorAll("#bars *").length`); drawn > mostElements {
			t.Errorf("%v elements at %s", drawn, b.text("#zoom"))
		}
	}
	b.contains(b.labels(), "held")
}
