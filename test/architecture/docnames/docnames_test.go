// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package docnames holds the names of code in the docs against the code.
package docnames

import (
	"os"
	"path/filepath"
	"regexp"
	"slices"
	"strings"
	"testing"
)

// TestNamesInDocsExist finds names of code in docs/, README.md, CONTRIBUTING.md and SECURITY.md that the code does not have. A
// page names code in backticks, outside of fenced blocks. Taken for names of code are
//
//   - words such as TestXxx, FuzzXxx and BenchmarkXxx: a function of that name exists;
//   - words that begin with a folder of repositoryFolders, or with "./" and such a folder, also
//     within a command: that file or folder exists; "*" is a pattern, a last "..." is left out, and
//     what has a placeholder (<name>, {a,b}, $NAME) is no path;
//   - words that are a file name with the ending .go: such a file exists in some folder;
//   - Go expressions that select or call (see codeNames): what they select or call exists.
//
// Everything else is no name of code: single words, fields of objects (`spec.cidr`), kinds,
// groups, labels, flags, commands.
func TestNamesInDocsExist(t *testing.T) {
	t.Parallel()
	code := loadNames(t)
	files := goFiles(t)
	for _, page := range pages(t) {
		text, err := os.ReadFile(page)
		if err != nil {
			t.Fatal(err)
		}
		for _, span := range codeSpans(string(text)) {
			for _, name := range missing(span, code, files) {
				t.Errorf("%s: `%s` names %s, which does not exist", strings.TrimPrefix(page, root), span, name)
			}
		}
	}
}

// root is the repository's folder, seen from this package.
const root = "../../../"

// repositoryFolders are the folders in which paths of the docs begin. What is built (bin, out) is
// not among them.
var repositoryFolders = []string{".ci", "api", "cmd", "config", "docs", "hack", "internal", "providers", "templates", "test"}

// pages are the paths of all pages that are checked.
func pages(t *testing.T) []string {
	t.Helper()
	return append(filesUnder(t, root+"docs", ".md"), root+"README.md", root+"CONTRIBUTING.md", root+"SECURITY.md")
}

// goFiles are the names of all Go files in repositoryFolders, without the folders.
func goFiles(t *testing.T) map[string]bool {
	t.Helper()
	names := map[string]bool{}
	for _, folder := range repositoryFolders {
		for _, path := range filesUnder(t, root+folder, ".go") {
			names[filepath.Base(path)] = true
		}
	}
	return names
}

func filesUnder(t *testing.T, dir, ending string) []string {
	t.Helper()
	var paths []string
	err := filepath.WalkDir(dir, func(path string, _ os.DirEntry, err error) error {
		if strings.HasSuffix(path, ending) {
			paths = append(paths, path)
		}
		return err
	})
	if err != nil {
		t.Fatal(err)
	}
	return paths
}

var (
	fencedBlock = regexp.MustCompile("(?ms)^ *```.*?^ *```")
	blankLine   = regexp.MustCompile(`\n\s*\n`)
	codeSpan    = regexp.MustCompile("`([^`]+)`")
)

// codeSpans returns what stands in backticks. A span may go on in the next line, and ends with its
// paragraph.
func codeSpans(page string) []string {
	var spans []string
	for _, paragraph := range blankLine.Split(fencedBlock.ReplaceAllString(page, "\n\n"), -1) {
		for _, match := range codeSpan.FindAllStringSubmatch(paragraph, -1) {
			spans = append(spans, strings.Join(strings.Fields(match[1]), " "))
		}
	}
	return spans
}

func TestCodeSpans(t *testing.T) {
	t.Parallel()
	got := codeSpans("# `a.B`\n```go\n`not this`\n```\nan odd ` here\n\n`c\nd` and | `e` |\n")
	if want := []string{"a.B", "c d", "e"}; !slices.Equal(got, want) {
		t.Errorf("got %q, want %q", got, want)
	}
}

var (
	testName = regexp.MustCompile(`^(Test|Fuzz|Benchmark)[A-Z]\w*$`)
	goFile   = regexp.MustCompile(`^\w+\.go$`)
	fileName = regexp.MustCompile(`^[\w-]+\.(go|json|md|sh|yaml)$`)
)

// missing returns the names of code in a span that do not exist.
func missing(span string, code *names, files map[string]bool) []string {
	var lacking []string
	for word := range strings.FieldsSeq(span) {
		switch {
		case testName.MatchString(word) && !code.functions[word],
			goFile.MatchString(word) && !files[word],
			isPath(word) && !pathExists(word):
			lacking = append(lacking, word)
		}
	}
	if fileName.MatchString(span) {
		return lacking
	}
	for _, chain := range codeNames(span) {
		if code.isName(chain) && !code.has(chain) {
			lacking = append(lacking, strings.Join(chain, "."))
		}
	}
	return lacking
}

func isPath(word string) bool {
	folder, rest, ok := strings.Cut(strings.TrimPrefix(word, "./"), "/")
	return ok && slices.Contains(repositoryFolders, folder) && !strings.ContainsAny(rest, ":<{$")
}

func pathExists(word string) bool {
	found, err := filepath.Glob(filepath.Join(root, strings.TrimSuffix(word, "...")))
	return err == nil && len(found) > 0
}
