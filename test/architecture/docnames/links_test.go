// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package docnames

import (
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

// mostWords is how long the README may be: what is longer has a page of its own.
const mostWords = 900

func TestTheREADMEIsShort(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(root + "README.md")
	if err != nil {
		t.Fatal(err)
	}
	if words := len(strings.Fields(string(text))); words > mostWords {
		t.Errorf("README.md has %d words, and may have %d", words, mostWords)
	}
}

var (
	// link is a link or an image whose target is no address of a host.
	link    = regexp.MustCompile(`\]\(([^):\[\s]+)\)`)
	heading = regexp.MustCompile(`(?m)^#{1,6} +(.+?) *$`)
	// notInAnchors is what a heading's anchor leaves out.
	notInAnchors = regexp.MustCompile(`[^\p{L}\p{N} _-]`)
	anchorTag    = regexp.MustCompile(`<a (?:id|name)="([^"]+)"`)
	linkText     = regexp.MustCompile(`\[([^\]]+)\]\([^)]*\)`)
)

// TestLinksLeadSomewhere follows each link from one page to a file of the repository, and to the heading that it names.
func TestLinksLeadSomewhere(t *testing.T) {
	t.Parallel()
	for _, page := range append(pages(t), root+"CHANGELOG.md") {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, match := range link.FindAllStringSubmatch(fencedBlock.ReplaceAllString(string(text), ""), -1) {
			file, anchor, _ := strings.Cut(match[1], "#")
			target := page
			if file != "" {
				target = filepath.Join(filepath.Dir(page), file)
			}
			if mistake := follow(target, anchor); mistake != "" {
				t.Errorf("%s: %s: %s", strings.TrimPrefix(page, root), match[1], mistake)
			}
		}
	}
}

// follow returns what is wrong with a link to a heading of a file, or "".
func follow(file, anchor string) string {
	if _, err := os.Stat(file); err != nil {
		return "there is no such file"
	}
	if anchor == "" || !strings.HasSuffix(file, ".md") {
		return ""
	}
	text, err := os.ReadFile(file)
	if err != nil {
		return err.Error()
	}
	if !anchorsOf(string(text))[anchor] {
		return "there is no such heading"
	}
	return ""
}

// anchorsOf returns the anchors of a page's headings, as GitHub makes them; of headings that are alike the first one's only.
func anchorsOf(page string) map[string]bool {
	anchors := map[string]bool{}
	for _, match := range heading.FindAllStringSubmatch(fencedBlock.ReplaceAllString(page, ""), -1) {
		plain := linkText.ReplaceAllString(match[1], "$1")
		anchors[strings.ReplaceAll(notInAnchors.ReplaceAllString(strings.ToLower(plain), ""), " ", "-")] = true
	}
	for _, match := range anchorTag.FindAllStringSubmatch(page, -1) {
		anchors[match[1]] = true
	}
	return anchors
}

func TestFollow(t *testing.T) {
	t.Parallel()
	page := filepath.Join(t.TempDir(), "page.md")
	text := "# The `page`, of [links](x)\n\n```sh\n# no heading\n```\n\n<a id=\"here\"></a>\n\n## Is all well: status\n"
	if err := os.WriteFile(page, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for anchor, want := range map[string]string{
		"": "", "the-page-of-links": "", "is-all-well-status": "", "here": "",
		"no-heading": "there is no such heading", "status": "there is no such heading",
	} {
		if got := follow(page, anchor); got != want {
			t.Errorf("#%s: %q, want %q", anchor, got, want)
		}
	}
	if got := follow(page+"x", ""); got != "there is no such file" {
		t.Errorf("a file that is missing: %q", got)
	}
}
