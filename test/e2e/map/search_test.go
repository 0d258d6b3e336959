// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package mapping

import (
	"fmt"
	"strings"
	"testing"

	"github.com/chromedp/chromedp"
	"github.com/chromedp/chromedp/kb"
)

// find writes into the field of the search, and returns what is found.
func (b *browser) find(text string) string {
	b.t.Helper()
	b.run(chromedp.KeyEvent("/"))
	value[bool](b, fmt.Sprintf(`(() => {
		const field = document.querySelector("#search");
		field.value = %q;
		return field.dispatchEvent(new Event("input"));
	})()`, text))
	return value[string](b, `[...document.querySelectorAll("#found li")].map((item) => item.textContent).join("\n")`)
}

func TestSearch(t *testing.T) {
	b := open(t, fleet(), "")
	for name, c := range map[string]struct {
		text    string
		first   string
		details []string
	}{
		"an address": {
			"10.0.0.17", "10.0.0.17 of IPPool team-red/nodes in address space default, IPAddressClaim team-red/prod-eu-md-0-x7k2p-13",
			[]string{"10.0.0.17", "held", "in IPPool team-red/nodes", "Machine prod-eu-md-0-x7k2p of Cluster prod-eu", "kubectl weir why -n team-red claim/prod-eu-md-0-x7k2p-13"},
		},
		"a free address":              {"10.0.1.9", "10.0.1.9 of IPPool team-red/vips in address space default", []string{"10.0.1.9", "free", "kubectl weir who 10.0.1.9"}},
		"an IPv6 address":             {"2001:DB8::7", "2001:db8::7 of IPPool team-blue/fleet-v6 in address space default", []string{"2001:db8::7", "free"}},
		"a prefix":                    {"10.0.64.0/27", "10.0.64.0/27 of IPPool team-red/prod-eu in address space default", []string{"10.0.64.0/27", "IPAddressClaim team-red/pods"}},
		"a claim":                     {"prod-eu-md-0-x7k2p-7", "IPAddressClaim team-red/prod-eu-md-0-x7k2p-7 10.0.0.11", []string{"10.0.0.11", "held"}},
		"a claim, with its namespace": {"team-red/pods", "IPAddressClaim team-red/pods 10.0.64.0/26", []string{"10.0.64.0/26", "64 addresses"}},
		"a Machine":                   {"prod-eu-md-0-X7K2P", "Machine team-red/prod-eu-md-0-x7k2p, 240 records", []string{"10.0.0.4"}},
		"a Cluster":                   {"team-red/prod-eu", "Cluster team-red/prod-eu, 250 records", []string{"IPPool team-red/prod-eu", "carved from GlobalIPPool east"}},
		"a pool":                      {"vips", "IPPool team-red/vips 10.0.1.0/28", []string{"IPPool team-red/vips", "carved from IPPool team-red/prod-eu"}},
		"a pool by its block":         {"2001:db8::/48", "2001:db8::/48 of IPPool team-blue/fleet-v6 in address space default", []string{"2001:db8::/48"}},
		"a hostile name":              {"onerror=", "IPAddressClaim team-red/" + hostile, []string{hostile}},
	} {
		t.Run(name, func(t *testing.T) {
			b.t = t
			b.find("fleet-v6") // from elsewhere, whatever was found before
			b.run(chromedp.KeyEvent(kb.Enter))
			found := b.find(c.text)
			if first, _, _ := strings.Cut(found, "\n"); !strings.HasPrefix(first, c.first) {
				t.Errorf("found first: %q\nof %s", first, found)
			}
			b.run(chromedp.KeyEvent(kb.Enter))
			b.contains(b.text("#details"), c.details...)
			if drawn := b.number(`document.querySelectorAll("#bars rect.chosen").length`); drawn != 1 {
				t.Errorf("%d boxes are marked", drawn)
			}
		})
	}
	b.t = t
	b.contains(b.find("no-such-thing")+b.text("#results"), "nothing found")
	b.run(chromedp.KeyEvent(kb.Escape))
	t.Run("the records of a Machine are listed", func(t *testing.T) {
		b.t = t
		b.find("prod-eu-md-0-x7k2p")
		b.run(chromedp.KeyEvent(kb.Enter))
		b.contains(b.text("#records caption"), "Machine team-red/prod-eu-md-0-x7k2p: 240 records, 1 to 100")
	})
	t.Run("the second one is taken by keys, in another address space", func(t *testing.T) {
		b.t = t
		found := b.find("10.0.0.9")
		if lines := strings.Split(found, "\n"); len(lines) != 2 || !strings.Contains(lines[1], "IPPool team-blue/lab in address space lab") {
			t.Errorf("found %s", found)
		}
		b.run(chromedp.KeyEvent(kb.ArrowDown), chromedp.KeyEvent(kb.Enter))
		b.contains(b.text("#details"), "10.0.0.9", "free", "in IPPool team-blue/lab")
		if space := value[string](b, `document.querySelector("#space").value`); space != "1" {
			t.Errorf("address space %s is chosen", space)
		}
	})
	b.t = t
	b.askedNothing()
}

// TestSentView: the address of the page names what is shown; opened elsewhere it shows the same. What it names and is not there
// changes nothing.
func TestSentView(t *testing.T) {
	b := open(t, fleet(), "")
	b.find("10.0.1.2")
	b.run(chromedp.KeyEvent(kb.Enter), chromedp.KeyEvent("+"))
	view, zoom := value[string](b, "location.hash"), b.text("#zoom")
	b.contains(view, "space=default", "pool=IPPool+team-red%2Fvips", "at=10.0.1.2", "zoom=")

	other := open(t, fleet(), view)
	other.contains(other.text("#details"), "10.0.1.2", "IPAddressClaim team-red/vip-2")
	if got := other.text("#zoom"); got != zoom {
		t.Errorf("%s, not %s", got, zoom)
	}
	if got := value[string](other, "location.hash"); got != view {
		t.Errorf("it is now %s, not %s", got, view)
	}
	for _, wrong := range []string{"#pool=IPPool+no/such&at=10.0.0.9", "#space=none&zoom=-1,x", "#pool=IPPool+team-red%2Fvips&at=192.0.2.1", "#%%%"} {
		value[string](other, fmt.Sprintf("location.hash = %q", wrong))
		value[bool](other, `dispatchEvent(new Event("hashchange"))`)
		if zoom := other.text("#zoom"); strings.Contains(wrong, "vips") == (zoom == "zoom 1.0×") {
			t.Errorf("%s: %s", wrong, zoom)
		}
	}
	other.askedNothing()
}
