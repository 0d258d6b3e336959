// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"
	"strings"

	"github.com/spf13/cobra"
	"github.com/spf13/pflag"
)

const referenceHead = `# kubectl weir

Generated from the program by ` + "`make generate-reference`" + `; do not edit. [Operate](../guides/operate.md) shows how the commands are used,
what they print, and the exit codes of each.
`

// homely is a flag whose default is in the home of who runs the program.
const homely = "cache-dir"

// Reference returns the reference of all commands and flags, in Markdown.
func Reference() string {
	root := command(Config{})
	var text strings.Builder
	text.WriteString(referenceHead)
	fmt.Fprintf(&text, "\n%s\n", root.Long)
	for _, cmd := range root.Commands() {
		writeCommand(&text, cmd)
	}
	text.WriteString("\n## Flags of all commands\n\nThose that kubectl has mean the same.\n\n")
	writeFlags(&text, root.PersistentFlags())
	return text.String()
}

func writeCommand(text *strings.Builder, cmd *cobra.Command) {
	fmt.Fprintf(text, "\n## %s\n\n%s\n\n```sh\nkubectl weir %s\n", cmd.Name(), described(cmd), cmd.Use)
	if cmd.Example != "" {
		text.WriteString("\n# Examples\n")
		for line := range strings.SplitSeq(cmd.Example, "\n") {
			text.WriteString(strings.TrimSpace(line) + "\n")
		}
	}
	text.WriteString("```\n")
	if flags := cmd.LocalNonPersistentFlags(); flags.HasAvailableFlags() {
		text.WriteString("\n")
		writeFlags(text, flags)
	}
}

// described is a command's description without what all commands have.
func described(cmd *cobra.Command) string {
	return strings.TrimSpace(strings.ReplaceAll(cmd.Long, exitCodes, ""))
}

func writeFlags(text *strings.Builder, flags *pflag.FlagSet) {
	text.WriteString("| flag | default | |\n|---|---|---|\n")
	flags.VisitAll(func(f *pflag.Flag) {
		if f.Hidden {
			return
		}
		name := "--" + f.Name
		if f.Shorthand != "" {
			name = "-" + f.Shorthand + ", " + name
		}
		_, usage := pflag.UnquoteUsage(f)
		fmt.Fprintf(text, "| `%s` | %s | %s |\n", name, defaultOf(f), strings.ReplaceAll(usage, "|", `\|`))
	})
}

func defaultOf(f *pflag.Flag) string {
	switch {
	case f.Name == homely:
		return "`~/.kube/cache`"
	case f.DefValue == "" || f.DefValue == "[]" || f.DefValue == "false":
		return ""
	}
	return "`" + f.DefValue + "`"
}
