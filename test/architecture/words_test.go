// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package architecture

import (
	"go/ast"
	"go/parser"
	"go/token"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
)

// privateWords are Weir's own for what the field has a word for. What users read has the field's: "same name, other UID", "repair", "release",
// "expire", and the name of the component in place of "somebody".
var privateWords = regexp.MustCompile(`(?i)\b(namesakes?|mend(s|ed|ing)?|thaws?|thawed|lets? go|gives? up|desk|dispensers?)\b`)

// persons stand in messages where a component is meant.
var persons = regexp.MustCompile(`(?i)\b(somebody|nobody)\b`)

// readers are the pages that users read; those of docs/design are for who changes Weir.
var readers = []string{"README.md", "docs/README.md", "docs/tutorial.md", "docs/explanation", "docs/runbooks.md", "docs/guides", "docs/reference"}

// TestPagesHaveTheFieldsWords wants none of Weir's own words in what users read.
func TestPagesHaveTheFieldsWords(t *testing.T) {
	t.Parallel()
	pages := 0
	for _, name := range readers {
		err := filepath.WalkDir(filepath.Join("..", "..", name), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || filepath.Ext(path) != ".md" {
				return err
			}
			pages++
			page, err := os.ReadFile(path)
			for i, line := range strings.Split(string(page), "\n") {
				if word := privateWords.FindString(line); word != "" {
					t.Errorf("%s:%d: %q is a word of Weir's own", path, i+1, word)
				}
			}
			return err
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if pages < len(readers) {
		t.Errorf("%d pages were read", pages)
	}
}

// TestMessagesHaveTheFieldsWords wants the same of every text in the code that has more than a word: messages, events, flags, help.
func TestMessagesHaveTheFieldsWords(t *testing.T) {
	t.Parallel()
	texts := 0
	for _, folder := range []string{"api", "cmd", "internal", "providers"} {
		err := filepath.WalkDir(filepath.Join("..", "..", folder), func(path string, entry fs.DirEntry, err error) error {
			if err != nil || entry.IsDir() || filepath.Ext(path) != ".go" || strings.HasSuffix(path, "_test.go") {
				return err
			}
			files := token.NewFileSet()
			file, err := parser.ParseFile(files, path, nil, parser.SkipObjectResolution)
			if err != nil {
				return err
			}
			ast.Inspect(file, func(n ast.Node) bool {
				literal, ok := n.(*ast.BasicLit)
				if !ok || literal.Kind != token.STRING {
					return true
				}
				text, err := strconv.Unquote(literal.Value)
				if err != nil || !strings.Contains(strings.TrimSpace(text), " ") {
					return true
				}
				texts++
				for _, words := range []*regexp.Regexp{privateWords, persons} {
					if word := words.FindString(text); word != "" {
						t.Errorf("%s: %q in %q", files.Position(literal.Pos()), word, text)
					}
				}
				return true
			})
			return nil
		})
		if err != nil {
			t.Fatal(err)
		}
	}
	if texts < 1000 {
		t.Errorf("%d texts were read", texts)
	}
}
