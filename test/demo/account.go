// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"io"
	"maps"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
)

const (
	indent    = "   "
	lineWidth = 100
)

// account is what the person at the terminal reads.
type account struct {
	out      io.Writer
	chapters int
	began    time.Time
}

func newAccount(out io.Writer) *account { return &account{out: out, began: time.Now()} }

// heading begins a chapter.
func (a *account) heading(title string) {
	a.chapters++
	fmt.Fprintf(a.out, "\n%d. %s\n", a.chapters, title)
}

// say writes a paragraph.
func (a *account) say(format string, args ...any) {
	for _, line := range wrap(fmt.Sprintf(format, args...), lineWidth) {
		fmt.Fprintf(a.out, "%s%s\n", indent, line)
	}
}

// quote writes what Weir or the API server said.
func (a *account) quote(text string) {
	for _, line := range wrap(text, lineWidth-len(indent)) {
		fmt.Fprintf(a.out, "%s  > %s\n", indent, line)
	}
}

// did says what has been done, and how long it took since begin.
func (a *account) did(begin time.Time, format string, args ...any) {
	a.say("%s (%s)", fmt.Sprintf(format, args...), round(time.Since(begin)))
}

// table writes rows below a head, in columns.
func (a *account) table(head []string, rows [][]string) {
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	for _, row := range append([][]string{head}, rows...) {
		fmt.Fprintln(w, indent+strings.Join(row, "\t"))
	}
	_ = w.Flush() // As with all other output, there is nobody to tell.
}

// screen writes a command and what it printed.
func (a *account) screen(command, shown string) {
	fmt.Fprintf(a.out, "\n%s$ %s\n", indent, command)
	for line := range strings.Lines(shown) {
		fmt.Fprint(a.out, indent+line)
	}
}

// farewell says how to use and how to stop clusters that are kept.
func (a *account) farewell(stages []*stage) {
	kubectl, err := framework.Binary("kubectl")
	if err != nil {
		kubectl = "kubectl"
	}
	running := map[string]int{}
	for _, s := range stages {
		fmt.Fprintf(a.out, "\n%s is kept. To look around:\n  export KUBECONFIG=%s\n", s.name, s.site.KubeconfigPath())
		for _, kinds := range s.kinds {
			fmt.Fprintf(a.out, "  %s get %s -A\n", kubectl, kinds)
		}
		fmt.Fprintf(a.out, "The manager's log:\n  %s\n", s.manager.LogPath())
		maps.Copy(running, s.pids())
	}
	fmt.Fprintf(a.out, "\nTo stop everything (%s):\n  make demo-stop\n", strings.Join(slices.Sorted(maps.Keys(running)), ", "))
}

// wrap breaks text into lines of at most width bytes, where words allow it.
func wrap(text string, width int) []string {
	var lines []string
	line := ""
	for _, word := range strings.Fields(text) {
		if line != "" && len(line)+1+len(word) > width {
			lines = append(lines, line)
			line = ""
		}
		line = strings.TrimPrefix(line+" "+word, " ")
	}
	return append(lines, line)
}

func round(d time.Duration) time.Duration {
	if d < time.Second {
		return d.Round(time.Millisecond)
	}
	return d.Round(100 * time.Millisecond)
}
