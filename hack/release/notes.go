// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"regexp"
	"strings"
)

// relativeLink is the beginning of a Markdown link into the repository.
var relativeLink = regexp.MustCompile(`\]\(([^)#:]+(?:#[^)]*)?)\)`)

// notesOf cuts the section of a heading such as "v0.1.0" or "v0.1.0 - 2026-12-01" out of the changelog. Links into the repository
// become links to the tag. It errs if there is no such section, or if it has no entry.
func notesOf(changelog, section, version string) (string, error) {
	var lines []string
	within := false
	for line := range strings.Lines(changelog) {
		if heading, ok := strings.CutPrefix(line, "## "); ok {
			within = strings.Fields(heading)[0] == section
			continue
		}
		if within {
			lines = append(lines, line)
		}
	}
	text := strings.TrimSpace(strings.Join(lines, ""))
	if !strings.HasPrefix(text, "- ") && !strings.Contains(text, "\n- ") {
		return "", fmt.Errorf("CHANGELOG.md has no entries under %q", section)
	}
	text = relativeLink.ReplaceAllString(text, "]("+repository+"/blob/"+version+"/$1)")
	return "# Weir " + version + "\n\n" + text + "\n", nil
}
