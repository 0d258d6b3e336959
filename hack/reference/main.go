// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Command reference writes the pages of docs/reference that are made of data.
package main

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/reasons"
)

// pages are the texts by their names in docs/reference.
var pages = map[string]func() string{"reasons.md": reasonsPage}

func main() {
	for name, text := range pages {
		if err := os.WriteFile(filepath.Join("docs", "reference", name), []byte(text()), 0o644); err != nil {
			fmt.Fprintln(os.Stderr, err)
			os.Exit(1)
		}
	}
}

const reasonsIntro = `# Reasons of conditions

What the conditions of claims and pools mean, and what to do. ` + "`kubectl weir why`" + ` shows those of an object
([operate](../guides/operate.md#an-object-why)). An object without conditions, refusals by webhooks, events and metrics are in
[troubleshooting](../guides/troubleshooting.md). This page is generated.
`

// reasonsPage is a table for each condition.
func reasonsPage() string {
	var page strings.Builder
	page.WriteString(reasonsIntro)
	var subject reasons.Subject
	for _, c := range reasons.All {
		if c.Subject != subject {
			subject = c.Subject
			fmt.Fprintf(&page, "\n## %s\n", subject)
		}
		fmt.Fprintf(&page, "\n### %s of %s\n\n%s\n\n", c.Type, strings.ToLower(string(subject)), c.Means)
		page.WriteString("| reason | status | what it means | what to do |\n|---|---|---|---|\n")
		for i := range c.Reasons {
			r := &c.Reasons[i]
			fmt.Fprintf(&page, "| `%s` | %s | %s | %s |\n", r.Name, r.Status, r.Means, strings.TrimSpace(r.Do+" "+link(r.See)))
		}
	}
	return page.String()
}

// link links a page of docs.
func link(see string) string {
	if see == "" {
		return ""
	}
	path, anchor, _ := strings.Cut(see, "#")
	text := strings.TrimSuffix(filepath.Base(path), ".md")
	if anchor != "" {
		text += ": " + strings.ReplaceAll(anchor, "-", " ")
	}
	return fmt.Sprintf("See [%s](../%s).", text, see)
}
