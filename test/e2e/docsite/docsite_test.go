// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package docsite builds the site of the docs with Hugo, follows its links, and searches it with a browser.
package docsite

import (
	"bytes"
	"encoding/json"
	"io/fs"
	"net/url"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

const (
	// root is the repository's folder, seen from this package.
	root = "../../../"
	// hosted is where files of the repository are that are not among the pages.
	hosted = "https://github.com/weir-ipam/cluster-api-ipam-provider-weir/blob/main/"
	home   = "index.html"
	// clicks is how far a page may be from home.
	clicks = 2
)

// page is what a page of the site has.
type page struct {
	title string
	// ids are those of its elements, links where its links lead to, and parts what a browser loads with it.
	ids, links, parts []string
	// unknown are elements that HTML does not have: a placeholder such as <name> outside of backticks, which no reader sees.
	unknown []string
}

// build makes the site, and returns its folder.
func build(t *testing.T) string {
	t.Helper()
	if _, err := exec.LookPath("hugo"); err != nil {
		t.Fatalf("%v; make site-packages installs it", err)
	}
	dir := t.TempDir()
	// Make is asked for, so that what a person runs is what is tested.
	command := exec.CommandContext(t.Context(), "make", "--silent", "site", "SITE_DIR="+dir)
	command.Dir = root
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return dir
}

// filesUnder returns the paths of files, seen from their folder.
func filesUnder(t *testing.T, dir, ending string) []string {
	t.Helper()
	var paths []string
	err := filepath.WalkDir(dir, func(path string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() || !strings.HasSuffix(path, ending) {
			return err
		}
		path, err = filepath.Rel(dir, path)
		paths = append(paths, path)
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	text, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return text
}

// readPage reads what a page has.
func readPage(t *testing.T, path string) page {
	t.Helper()
	document, err := html.Parse(bytes.NewReader(read(t, path)))
	if err != nil {
		t.Fatalf("%s: %v", path, err)
	}
	var p page
	for node := range document.Descendants() {
		if node.Type == html.ElementNode {
			p.add(node)
		}
	}
	return p
}

// add takes in an element.
func (p *page) add(element *html.Node) {
	if element.Data == "title" && element.FirstChild != nil {
		p.title = element.FirstChild.Data
	}
	if element.DataAtom == 0 {
		p.unknown = append(p.unknown, element.Data)
	}
	for _, attribute := range element.Attr {
		switch {
		case attribute.Key == "id":
			p.ids = append(p.ids, attribute.Val)
		case attribute.Key == "href" && element.Data == "a":
			p.links = append(p.links, attribute.Val)
		case attribute.Key == "href" || attribute.Key == "src":
			p.parts = append(p.parts, attribute.Val)
		}
	}
}

// target returns where a link of a page leads to: a file of the site and an element of it, or, if it leaves the site, nothing.
func target(t *testing.T, from, link string) (file, id string) {
	t.Helper()
	u, err := url.Parse(link)
	if err != nil {
		t.Errorf("%s: %v", from, err)
		return "", ""
	}
	if u.Scheme != "" || u.Host != "" {
		return "", ""
	}
	if u.Path == "" {
		return from, u.Fragment
	}
	return filepath.Join(filepath.Dir(from), u.Path), u.Fragment
}

func TestSite(t *testing.T) {
	t.Parallel()
	dir := build(t)
	pages := map[string]page{}
	for _, name := range filesUnder(t, dir, ".html") {
		pages[name] = readPage(t, filepath.Join(dir, name))
	}
	t.Run("has each page of the docs, with a title", func(t *testing.T) { checkPages(t, pages) })
	t.Run("has no dead link, and loads nothing of another host", func(t *testing.T) {
		for name := range pages {
			checkLinks(t, dir, name, pages)
		}
	})
	t.Run("has each page near the first one", func(t *testing.T) { checkDistance(t, pages) })
	t.Run("can be searched without a server", func(t *testing.T) { checkSearch(t, dir, pages) })
}

func checkPages(t *testing.T, pages map[string]page) {
	t.Helper()
	for name, p := range pages {
		if len(p.unknown) > 0 {
			t.Errorf("%s has no text but elements %q", name, p.unknown)
		}
	}
	docs := filesUnder(t, root+"docs", ".md")
	for _, doc := range docs {
		name := strings.TrimSuffix(doc, ".md") + ".html"
		if doc == "README.md" {
			name = home
		}
		if p, ok := pages[name]; !ok || strings.TrimSpace(strings.TrimSuffix(p.title, " - Weir")) == "" {
			t.Errorf("docs/%s has no page, or one without a title", doc)
		}
	}
	if len(docs) < 40 || len(pages) != len(docs) {
		t.Errorf("%d pages are made of %d", len(pages), len(docs))
	}
}

func checkLinks(t *testing.T, dir, name string, pages map[string]page) {
	t.Helper()
	for _, link := range pages[name].links {
		if path, ok := strings.CutPrefix(link, hosted); ok {
			path, _, _ = strings.Cut(path, "#")
			if _, err := os.Stat(root + path); err != nil {
				t.Errorf("%s: %s is not in the repository", name, link)
			}
			continue
		}
		file, id := target(t, name, link)
		if file == "" {
			continue
		}
		if p, ok := pages[file]; !ok || id != "" && !slices.Contains(p.ids, id) {
			t.Errorf("%s: %s leads nowhere", name, link)
		}
	}
	for _, part := range pages[name].parts {
		file, _ := target(t, name, part)
		if _, err := os.Stat(filepath.Join(dir, file)); file == "" || err != nil {
			t.Errorf("%s: %s is not a file of the site", name, part)
		}
	}
}

func checkDistance(t *testing.T, pages map[string]page) {
	t.Helper()
	near := []string{home}
	for range clicks {
		for _, name := range near {
			for _, link := range pages[name].links {
				if file, _ := target(t, name, link); pages[file].title != "" && !slices.Contains(near, file) {
					near = append(near, file)
				}
			}
		}
	}
	for name := range pages {
		if !slices.Contains(near, name) {
			t.Errorf("%s is more than %d clicks from the first page", name, clicks)
		}
	}
}

// checkSearch holds the index against the pages, and asks a browser for one of them.
func checkSearch(t *testing.T, dir string, pages map[string]page) {
	t.Helper()
	text, _ := bytes.CutPrefix(bytes.TrimSpace(read(t, filepath.Join(dir, "search-index.js"))), []byte("window.weirSections = "))
	var sections []struct{ Title, Heading, Text, URL string }
	if err := json.Unmarshal(bytes.TrimSuffix(text, []byte(";")), &sections); err != nil {
		t.Fatal(err)
	}
	found := map[string]bool{home: true}
	for _, section := range sections {
		file, id := target(t, home, section.URL)
		if p, ok := pages[file]; !ok || id != "" && !slices.Contains(p.ids, id) {
			t.Errorf("the index has %q, which leads nowhere", section.URL)
		}
		found[file] = true
	}
	for name := range pages {
		if !found[name] {
			t.Errorf("%s cannot be found", name)
		}
	}

	b := visit(t, "file://"+filepath.Join(dir, "guides", "install.html"))
	b.search("cooling down")
	if first := b.text("#found a"); !strings.HasPrefix(first, "Pools: Cooling down") {
		t.Errorf("found first: %q", first)
	}
	b.search("<b>no-such-word</b>")
	if none := b.text("#found"); none != "Nothing has all of these words." {
		t.Errorf("found of nothing: %q", none)
	}
	b.search("cooling down")
	b.follow()
	if heading := b.text("h1"); heading != "Pools" {
		t.Errorf("the first found is the page %q", heading)
	}
	b.checkManners()
}
