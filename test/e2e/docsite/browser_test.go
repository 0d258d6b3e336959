// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package docsite

import (
	"context"
	"fmt"
	"os/exec"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/chromedp/cdproto/network"
	"github.com/chromedp/cdproto/runtime"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

const (
	// browserProgram is Debian's browser without a window; make chromium-packages installs it.
	browserProgram = "chromium-headless-shell"
	patience       = 2 * time.Minute
)

// browser is a page in a browser, with what it has asked for and complained of.
type browser struct {
	context.Context //nolint:containedctx // chromedp keeps the browser in it
	t               *testing.T

	mu         sync.Mutex
	asked      []string
	complaints []string
}

// visit opens a page of the site.
func visit(t *testing.T, url string) *browser {
	t.Helper()
	path, err := exec.LookPath(browserProgram)
	if err != nil {
		t.Fatalf("%v; make chromium-packages installs it", err)
	}
	bounded, cancel := context.WithTimeout(t.Context(), patience)
	t.Cleanup(cancel)
	b := &browser{t: t}
	tab, closeTab := chromedp.NewContext(bounded, chromedp.WithListener(b.note),
		chromedp.WithAllocatorOptions(chromedp.ExecPath(path), chromedp.NoSandbox))
	t.Cleanup(closeTab)
	b.Context = tab
	if _, err = chromedp.Call(tab, network.Enable, network.EnableParams{}); err != nil {
		t.Fatal(err)
	}
	b.run(chromedp.Navigate(url))
	return b
}

// note keeps what a page asks for, and its mistakes.
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

// text is the text of the first element.
func (b *browser) text(selector string) string {
	b.t.Helper()
	text, err := chromedp.Run(b, chromedp.Evaluate[string](fmt.Sprintf("document.querySelector(%q).textContent", selector)))
	if err != nil {
		b.checkManners()
		b.t.Fatal(err)
	}
	return text
}

// search puts a question in place of the last one.
func (b *browser) search(question string) {
	b.t.Helper()
	b.run(chromedp.KeyEvent(kb.Escape), chromedp.Focus(chromedp.CSS("#search")), chromedp.KeyEvent(question))
}

// follow goes to what was found first.
func (b *browser) follow() {
	b.t.Helper()
	b.run(chromedp.KeyEvent(kb.Enter), chromedp.WaitReady(chromedp.CSS("a[aria-current][href$='pools.html']")))
}

// checkManners sees to it that no script failed, and that nothing was asked of a network.
func (b *browser) checkManners() {
	b.t.Helper()
	b.mu.Lock()
	defer b.mu.Unlock()
	if len(b.complaints) > 0 {
		b.t.Errorf("the page complains: %q", b.complaints)
	}
	for _, address := range b.asked {
		if !strings.HasPrefix(address, "file://") {
			b.t.Errorf("the page asks for %s", address)
		}
	}
	if len(b.asked) == 0 {
		b.t.Error("no request was seen")
	}
}
