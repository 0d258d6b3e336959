// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package atlas

import (
	"bytes"
	"crypto/sha256"
	"encoding/base64"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/survey"
)

// TestBundleIsOfItsSources: the first line of what "make web" has made names the hash of what it is made from.
func TestBundleIsOfItsSources(t *testing.T) {
	t.Parallel()
	web := filepath.Join("..", "..", "web")
	modules, err := os.ReadDir(filepath.Join(web, "map"))
	if err != nil {
		t.Fatal(err)
	}
	names := make([]string, 0, 3+len(modules))
	names = append(names, "build.mjs", "package-lock.json", "package.json")
	for _, module := range modules {
		names = append(names, "map/"+module.Name())
	}
	slices.Sort(names)
	hash := sha256.New()
	for _, name := range names {
		text, err := os.ReadFile(filepath.Join(web, name))
		if err != nil {
			t.Fatal(err)
		}
		fmt.Fprintf(hash, "%s\n%s\n", name, text)
	}
	want := "/* Made by make web; sources " + hex.EncodeToString(hash.Sum(nil)) + " */"
	for name, text := range map[string]string{"map.js": pageScript, "map.css": pageStyle} {
		if first, _, _ := strings.Cut(text, "\n"); first != want {
			t.Errorf("page/%s begins with %q; make web writes it anew", name, first)
		}
	}
}

// TestPageIsWhole: the page names its own script and style by their hashes, and no name of an object ends its model.
func TestPageIsWhole(t *testing.T) {
	t.Parallel()
	const hostile = `</script><script>alert(1)</script><!--{{script}}`
	pool := poolOf("nodes", "10.0.0.0/24")
	r := record(pool, "10.0.0.9/32", "")
	r.Claim.Name = hostile
	var page bytes.Buffer
	if err := WritePage(&page, Draw(Input{Pools: []*survey.Pool{pool}, Records: []survey.Record{r}, Taken: taken})); err != nil {
		t.Fatal(err)
	}
	text := page.String()
	policy := between(t, text, `Content-Security-Policy" content="`, `"`)
	if !strings.HasPrefix(policy, "default-src 'none'; ") || strings.Contains(policy, "unsafe") {
		t.Errorf("the policy is %s", policy)
	}
	for name, inline := range map[string]string{
		"script": between(t, text, "<script>", "</script>"), "style": between(t, text, "<style>", "</style>"),
	} {
		sum := sha256.Sum256([]byte(inline))
		if source := name + "-src 'sha256-" + base64.StdEncoding.EncodeToString(sum[:]) + "'"; !strings.Contains(policy, source) {
			t.Errorf("the policy lacks %s: %s", source, policy)
		}
	}
	if n := strings.Count(text, "</script"); n != 2 {
		t.Errorf("%d scripts end", n)
	}
	for _, reference := range []string{" src=", " href=", "url(http", "@import"} {
		if strings.Contains(strings.ReplaceAll(text, pageScript, ""), reference) {
			t.Errorf("the page has a reference: %s", reference)
		}
	}
	read := &Map{}
	if err := json.Unmarshal([]byte(between(t, text, `id="model">`, "</script>")), read); err != nil {
		t.Fatal(err)
	}
	if !slices.Contains(read.Strings, hostile) {
		t.Errorf("the model has %q", read.Strings)
	}
}

// between returns what is between two texts, the first time they are there.
func between(t *testing.T, text, before, after string) string {
	t.Helper()
	_, rest, hasBegin := strings.Cut(text, before)
	inner, _, hasEnd := strings.Cut(rest, after)
	if !hasBegin || !hasEnd {
		t.Fatalf("there is nothing between %s and %s", before, after)
	}
	return inner
}
