// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"
	"io"
	"strconv"
	"strings"
	"unicode"
	"unicode/utf8"
)

// screen writes lines for people. Names and messages in them are texts of others, tenants among them, and a terminal acts
// on some characters: these are shown as Go writes them, as \x1b.
type screen struct{ out io.Writer }

// Write writes one line: fmt writes each text at once. A newline within it is of a name or a message, and is shown.
func (s screen) Write(line []byte) (int, error) {
	text, isEnded := strings.CutSuffix(string(line), "\n")
	text = visible(text)
	if isEnded {
		text += "\n"
	}
	if _, err := io.WriteString(s.out, text); err != nil {
		return 0, err
	}
	return len(line), nil
}

// bare returns what a screen writes to: for what is visible already and has colours, and for files.
func bare(w io.Writer) io.Writer {
	if s, isScreen := w.(screen); isScreen {
		return s.out
	}
	return w
}

// isVisible reports whether a character is only shown: control characters, those that turn the direction of a text, and
// spaces other than the usual one are not.
func isVisible(r rune, size int) bool { return unicode.IsPrint(r) && (r != utf8.RuneError || size > 1) }

// visible returns a text of which a terminal only shows the characters.
func visible(text string) string {
	return escaped(text, func(char string) string { return strings.Trim(strconv.Quote(char), `"`) })
}

// visibleJSON returns JSON with those characters escaped that its encoder leaves as they are. They are in strings only, and
// below U+10000: YAML does not know how JSON writes others.
func visibleJSON(text string) string {
	return escaped(text, func(char string) string {
		r, size := utf8.DecodeRuneInString(char)
		if r == '\n' || size == utf8.UTFMax {
			return char
		}
		return fmt.Sprintf(`\u%04x`, r)
	})
}

// escaped returns a text in which the characters that are not visible are escaped.
func escaped(text string, escape func(string) string) string {
	var shown strings.Builder
	for len(text) > 0 {
		r, size := utf8.DecodeRuneInString(text)
		if isVisible(r, size) {
			shown.WriteString(text[:size])
		} else {
			shown.WriteString(escape(text[:size]))
		}
		text = text[size:]
	}
	return shown.String()
}

// printError prints an error. Further lines of it are indented, so that none looks like an answer; cobra's have tabs.
func printError(w io.Writer, err error) {
	lead := "error: "
	text := strings.ReplaceAll(strings.TrimSpace(err.Error()), "\t", "  ")
	for line := range strings.SplitSeq(text, "\n") {
		fmt.Fprintf(w, "%s%s\n", lead, line)
		lead = "       "
	}
}
