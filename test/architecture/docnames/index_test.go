// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package docnames

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

const (
	index = root + "docs/README.md"
	// clicks is how far a page may be from the index.
	clicks = 2
)

var indexItem = regexp.MustCompile(`(?m)^- \[[^\]]+\]\(([^)]+)\): \S`)

// TestTheIndexListsEachPageOnce: what the site's menu is made of has each page under one kind. Decisions are listed by a page of their own.
func TestTheIndexListsEachPageOnce(t *testing.T) {
	t.Parallel()
	text, err := os.ReadFile(index)
	if err != nil {
		t.Fatal(err)
	}
	items := indexItem.FindAllStringSubmatch(string(text), -1)
	listed := make([]string, 0, len(items))
	for _, match := range items {
		listed = append(listed, root+"docs/"+match[1])
	}
	decisions := filepath.Dir(root + "docs/adr/README.md")
	var want []string
	for _, page := range filesUnder(t, root+"docs", ".md") {
		if page != index && (filepath.Dir(page) != decisions || filepath.Base(page) == "README.md") {
			want = append(want, page)
		}
	}
	slices.Sort(listed)
	slices.Sort(want)
	if !slices.Equal(listed, want) {
		t.Errorf("docs/README.md lists\n%q\nwant\n%q", listed, want)
	}
}

// TestEachPageIsNearTheIndex follows links from the index on.
func TestEachPageIsNearTheIndex(t *testing.T) {
	t.Parallel()
	near := []string{index}
	for range clicks {
		for _, page := range near {
			text, err := os.ReadFile(page)
			if err != nil {
				t.Fatal(err)
			}
			for _, match := range link.FindAllStringSubmatch(fencedBlock.ReplaceAllString(string(text), ""), -1) {
				file, _, _ := strings.Cut(match[1], "#")
				target := filepath.Join(filepath.Dir(page), file)
				if strings.HasSuffix(target, ".md") && !slices.Contains(near, target) {
					near = append(near, target)
				}
			}
		}
	}
	for _, page := range filesUnder(t, root+"docs", ".md") {
		if !slices.Contains(near, page) {
			t.Errorf("%s is more than %d clicks from the index", strings.TrimPrefix(page, root), clicks)
		}
	}
}
