// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"

	"golang.org/x/term"
)

// Values of --color.
const (
	colorAuto   = "auto"
	colorAlways = "always"
	colorNever  = "never"
)

var colors = []string{colorAuto, colorAlways, colorNever}

const (
	red    = "31"
	green  = "32"
	yellow = "33"
)

// useColor reports whether to colour. Auto colours a terminal, unless NO_COLOR is set
// (https://no-color.org) or the terminal is a dumb one.
func useColor(when string, out io.Writer) (bool, error) {
	switch {
	case !slices.Contains(colors, when):
		return false, fmt.Errorf("--color %q is unknown; choose one of %s", when, strings.Join(colors, ", "))
	case when != colorAuto:
		return when == colorAlways, nil
	case os.Getenv("NO_COLOR") != "" || os.Getenv("TERM") == "dumb":
		return false, nil
	}
	return isTerminal(out), nil
}

func isTerminal(out io.Writer) bool {
	file, ok := bare(out).(*os.File)
	return ok && term.IsTerminal(int(file.Fd()))
}

// colored returns a text in a colour, for a bare writer.
func colored(code, text string) string { return "\x1b[" + code + "m" + visible(text) + "\x1b[0m" }

// printColored prints a line in a colour.
func (o *options) printColored(code, text string) {
	if !o.painted {
		fmt.Fprintln(o.stdout, text)
		return
	}
	fmt.Fprintln(bare(o.stdout), colored(code, text))
}
