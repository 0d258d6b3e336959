// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package mapping

import (
	"bytes"
	"cmp"
	"flag"
	"fmt"
	"image/png"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/chromedp/cdproto/emulation"
	"github.com/chromedp/chromedp"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/atlas"
)

var (
	pictures    = flag.String("pictures", "", "keep pictures of the page, wide and narrow, light and dark, in this folder")
	screenshots = flag.String("screenshots", "", "write the pictures for the documentation into this folder")
)

// prefers sets what the system wants of pages.
func (b *browser) prefers(feature, value string) {
	b.t.Helper()
	features := []*emulation.MediaFeature{{Name: feature, Value: value}}
	if _, err := chromedp.Call(b, emulation.SetEmulatedMedia, emulation.SetEmulatedMediaParams{Features: features}); err != nil {
		b.t.Fatal(err)
	}
}

// ofNodes is the view of a pool with an address of it.
const ofNodes = "#space=default&pool=IPPool+team-red%2Fnodes&at=10.0.0.17"

// views are what pictures show.
func views() map[string]struct {
	site atlas.Input
	view string
} {
	return map[string]struct {
		site atlas.Input
		view string
	}{
		"fleet": {fleet(), ""},
		"nodes": {fleet(), ofNodes},
		"crowd": {crowd(20_000), ""},
	}
}

// TestPictures looks at the page wide and narrow, light and dark: every text stands out from what is behind it by 4.5 to 1,
// nothing is wider than the window, and nothing moves.
func TestPictures(t *testing.T) {
	for name, shown := range views() {
		b := open(t, shown.site, shown.view)
		for _, width := range []int64{1440, 400} {
			for _, scheme := range []string{"light", "dark"} {
				b.run(chromedp.EmulateViewport(width, 900))
				b.prefers("prefers-color-scheme", scheme)
				if paper := value[string](b, `getComputedStyle(document.body).backgroundColor`); (paper == "rgb(255, 255, 255)") != (scheme == "light") {
					t.Errorf("%s: the paper is %s", scheme, paper)
				}
				if moving := b.number(`document.getAnimations().length`); moving != 0 {
					t.Errorf("%d things move", moving)
				}
				if dim := value[[]string](b, dimTexts); len(dim) > 0 {
					t.Errorf("%s, %d px, %s: the contrast is less than 4.5:\n%s", name, width, scheme, strings.Join(dim, "\n"))
				}
				if wide := b.number(`document.documentElement.scrollWidth`); wide > int(width) {
					t.Errorf("%s: %d px are wanted of %d", name, wide, width)
				}
				if *pictures != "" {
					b.keep(chromedp.FullScreenshot(100), filepath.Join(*pictures, fmt.Sprintf("map-%s-%d-%s.png", name, width, scheme)))
				}
			}
		}
		if name != "crowd" {
			b.documented(name)
		}
	}
}

// documented checks, and keeps with -screenshots, the picture for the documentation: what of the page is in a window.
func (b *browser) documented(name string) {
	b.t.Helper()
	b.run(chromedp.EmulateViewport(1200, 640))
	b.prefers("prefers-color-scheme", "light")
	folder := cmp.Or(*screenshots, b.t.TempDir())
	picture := b.keep(chromedp.CaptureScreenshot(), filepath.Join(folder, fmt.Sprintf("map-%s-light.png", name)))
	shown, err := png.DecodeConfig(bytes.NewReader(picture))
	if err != nil || shown.Width != 1200 || shown.Height != 640 {
		b.t.Errorf("a picture of %d by %d: %v", shown.Width, shown.Height, err)
	}
}

// keep takes a picture, and writes it to a file.
func (b *browser) keep(take chromedp.Action[[]byte], file string) []byte {
	b.t.Helper()
	picture, err := chromedp.Run(b, take)
	if err != nil {
		b.t.Fatal(err)
	}
	if err = os.WriteFile(file, picture, 0o600); err != nil {
		b.t.Fatal(err)
	}
	return picture
}

// dimTexts are the texts of the page whose contrast is less than 4.5 (WCAG 2.2, 1.4.3). A text in the picture has a rim of the
// colour behind it.
const dimTexts = `(() => {
	const channel = (c) => (c / 255 <= 0.04045 ? c / 255 / 12.92 : ((c / 255 + 0.055) / 1.055) ** 2.4);
	const parse = (text) => { const n = text.match(/[\d.]+/g).map(Number); return {rgb: n.slice(0, 3), alpha: n.length > 3 ? n[3] : 1}; };
	const luminance = ({rgb: [r, g, b]}) => 0.2126 * channel(r) + 0.7152 * channel(g) + 0.0722 * channel(b);
	const ratio = (a, b) => { const [x, y] = [luminance(parse(a)), luminance(parse(b))]; return (Math.max(x, y) + 0.05) / (Math.min(x, y) + 0.05); };
	const behind = (node) => { for (; node; node = node.parentElement) { const c = getComputedStyle(node).backgroundColor; if (parse(c).alpha === 1) return c; } return "rgb(255, 255, 255)"; };
	const dim = new Set();
	let seen = 0;
	const walker = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
	while (walker.nextNode()) {
		const node = walker.currentNode.parentElement;
		if (!walker.currentNode.textContent.trim() || !node.checkVisibility() || node.closest("option, script, :disabled")) continue;
		seen++;
		const style = getComputedStyle(node), isDrawn = node.closest("#bars") !== null;
		const n = isDrawn ? ratio(style.fill, style.stroke) : ratio(style.color, behind(node));
		if (n < 4.5) dim.add(n.toFixed(2) + " " + node.className + " " + node.textContent.slice(0, 30));
	}
	return seen < 30 ? ["only " + seen + " texts were seen"] : [...dim];
})()`
