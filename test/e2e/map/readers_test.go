// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package mapping

import (
	"strings"
	"testing"

	"github.com/chromedp/cdproto/accessibility"
	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// focused is what a screen reader says of what has the focus: its label or its text.
func (b *browser) focused() string {
	b.t.Helper()
	return value[string](b, `(document.activeElement.getAttribute("aria-label") || document.activeElement.textContent)`)
}

func TestGrid(t *testing.T) {
	b := open(t, fleet(), "")
	cells := func() int { return b.number(`document.querySelectorAll("#grid:not([hidden]) td.cell").length`) }
	if n := cells(); n != 0 {
		t.Errorf("of 16,777,216 addresses %d are shown", n)
	}
	b.find("nodes")
	b.run(chromedp.KeyEvent(kb.Enter))
	if n := cells(); n != 256 {
		t.Errorf("of 256 addresses %d are shown", n)
	}
	signs := value[string](b, `[...document.querySelectorAll("#grid tr:first-child td")].map((cell) => cell.textContent).join("")`)
	if want := "·g··▒"; signs != want {
		t.Errorf("the first row is %s, not %s", signs, want)
	}
	t.Run("keys walk the cells", func(t *testing.T) {
		b.t = t
		b.run(chromedp.KeyEvent("g"), chromedp.KeyEvent("g"))
		if label := b.focused(); label != "10.0.0.0 free" {
			t.Fatalf("the focus is on %s", label)
		}
		b.run(chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.ArrowRight))
		if label := b.focused(); label != "10.0.0.33 held, IPAddressClaim team-red/prod-eu-md-0-x7k2p-29" {
			t.Errorf("the focus is on %s", label)
		}
		b.contains(b.text("#details"), "10.0.0.33", "IPAddressClaim team-red/prod-eu-md-0-x7k2p-29")
		b.run(chromedp.KeyEvent(kb.ArrowUp), chromedp.KeyEvent(kb.ArrowUp), chromedp.KeyEvent(kb.ArrowLeft))
		b.contains(b.text("#details"), "10.0.0.0")
	})
	t.Run("g hides it", func(t *testing.T) {
		b.t = t
		b.run(chromedp.KeyEvent("g"))
		if n := cells(); n != 0 {
			t.Errorf("%d cells are left", n)
		}
		b.run(chromedp.KeyEvent("g"))
	})
	t.Run("a mouse chooses a cell", func(t *testing.T) {
		b.t = t
		b.run(chromedp.Click(chromedp.CSS(`#grid td[aria-label^="10.0.0.18 "]`)))
		b.contains(b.text("#details"), "10.0.0.18", "cooling for 4d")
	})
	b.t = t
	b.askedNothing()
}

// TestGridOfLargePools: of a large pool the grid shows what is in sight, or what is around an address.
func TestGridOfLargePools(t *testing.T) {
	b := open(t, crowd(20_000), "")
	cells := func() int { return b.number(`document.querySelectorAll("#grid:not([hidden]) td.cell").length`) }
	b.find("many-4711")
	b.run(chromedp.KeyEvent(kb.Enter))
	b.contains(b.text("#details"), "172.16.36.206", "IPAddressClaim team-blue/many-4711")
	if n := cells(); n == 0 || n > 1024 {
		t.Errorf("around an address %d are shown", n)
	}
	b.find("big")
	b.run(chromedp.KeyEvent(kb.Enter))
	if n := cells(); n != 0 {
		t.Errorf("of 262,144 addresses %d are shown", n)
	}
	for range 12 {
		b.run(chromedp.KeyEvent("+"))
	}
	if n := cells(); n == 0 || n > 1024 {
		t.Errorf("of few in sight %d are shown", n)
	}
	if drawn := b.number(`document.querySelectorAll("#bars *").length`); drawn > mostElements {
		t.Errorf("%d elements", drawn)
	}
}

// TestReaders: without a picture there are a tree of the pools and a table of records, each one key away.
func TestReaders(t *testing.T) {
	b := open(t, fleet(), "")
	roles := b.roles()
	if roles["treeitem"] != 19 || roles["tree"] != 1 || roles["image"] != 1 || roles["combobox"] != 2 {
		t.Errorf("a screen reader gets %v", roles)
	}
	b.run(chromedp.KeyEvent("o"))
	for _, step := range []struct{ key, focus string }{
		{"", "▾GlobalIPPool fleet 10.0.0.0/8, Available"},
		{kb.ArrowDown, "▾GlobalIPPool east 10.0.0.0/12, Available"},
		{kb.ArrowLeft, "▸GlobalIPPool east 10.0.0.0/12, Available"},
		{kb.ArrowDown, "GlobalIPPool west 10.16.0.0/12, Delegated"},
		{kb.ArrowLeft, "▾GlobalIPPool fleet 10.0.0.0/8, Available"},
		{kb.End, "IPPool team-blue/fleet-v6 2001:db8::/48, Available"},
		{kb.Home, "▾GlobalIPPool fleet 10.0.0.0/8, Available"},
		{kb.ArrowDown, "▸GlobalIPPool east 10.0.0.0/12, Available"},
		{kb.ArrowRight, "▾GlobalIPPool east 10.0.0.0/12, Available"},
		{kb.ArrowRight, "▾IPPool team-red/prod-eu 10.0.0.0/16, Available"},
		{kb.ArrowDown, "IPPool team-red/nodes 10.0.0.0/24, 96% used, Exhausted"},
		{kb.Enter, "IPPool team-red/nodes 10.0.0.0/24, 96% used, Exhausted"},
	} {
		if step.key != "" {
			b.run(chromedp.KeyEvent(step.key))
		}
		if focus := value[string](b, "document.activeElement.textContent"); focus != step.focus {
			t.Fatalf("the focus is on %q, not %q", focus, step.focus)
		}
	}
	b.contains(b.text("#details"), "IPPool team-red/nodes")
	b.contains(b.text("#records caption"), "Records of IPPool team-red/nodes: 240 records, 1 to 100")
	b.contains(value[string](b, `[...document.querySelectorAll("#records tbody tr:first-child td")].map((cell) => cell.textContent).join("|")`),
		"10.0.0.4|held|4d|IPAddressClaim team-red/prod-eu-md-0-x7k2p-0|prod-eu-md-0-x7k2p|prod-eu")
	b.run(chromedp.Click(chromedp.CSS("#records > button:last-child")), chromedp.Click(chromedp.CSS("#records > button:last-child")))
	b.contains(b.text("#records caption"), "201 to 240")
	b.run(chromedp.Click(chromedp.CSS("#records tbody tr:last-child button")))
	b.contains(b.text("#details"), "10.0.0.243", hostile)

	b.run(chromedp.KeyEvent("?"))
	if open := b.number(`document.querySelectorAll("dialog[open]").length`); open != 1 {
		t.Error("? shows no keys")
	}
	b.run(chromedp.KeyEvent(kb.Escape), chromedp.KeyEvent("m"))
	if id := value[string](b, "document.activeElement.id"); id != "bars" {
		t.Errorf("m leads to %s", id)
	}
	for _, unnamed := range value[[]string](b, `[...document.querySelectorAll("button, input, select, [tabindex='0'], [role=grid], [role=tree], [role=region]")]
		.filter((n) => !(n.getAttribute("aria-label") || n.textContent.trim() || n.labels?.length)).map((n) => n.outerHTML)`) {
		t.Errorf("without a name: %s", unnamed)
	}
	b.askedNothing()
}

// roles counts the roles that a screen reader gets.
func (b *browser) roles() map[string]int {
	b.t.Helper()
	result, err := chromedp.Call(b, accessibility.GetFullAXTree, accessibility.GetFullAXTreeParams{})
	if err != nil {
		b.t.Fatal(err)
	}
	roles := map[string]int{}
	for _, node := range result.Nodes {
		if !node.Ignored && node.Role != nil {
			roles[strings.Trim(string(node.Role.Value), `"`)]++
		}
	}
	return roles
}
