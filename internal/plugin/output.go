// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"

	"sigs.k8s.io/yaml"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/survey"
)

// APIVersion is that of all objects that the plugin prints.
const APIVersion = "plugin.ipam.weir.dev/v1alpha1"

// Header begins each object that the plugin prints.
type Header struct {
	APIVersion string `json:"apiVersion"`
	Kind       string `json:"kind"`
}

func header(kind string) Header { return Header{APIVersion: APIVersion, Kind: kind} }

// Values of --output.
const (
	formatTable = "table"
	formatWide  = "wide"
	formatJSON  = "json"
	formatYAML  = "yaml"
	formatName  = "name"
)

var formats = []string{formatTable, formatWide, formatJSON, formatYAML, formatName}

// isObject reports whether a format prints the versioned object.
func isObject(format string) bool { return format == formatJSON || format == formatYAML }

// printObject prints the versioned object.
func printObject(w io.Writer, format string, object any) error {
	text, err := json.MarshalIndent(object, "", "  ")
	if err != nil {
		return fmt.Errorf("encoding the answer: %w", err)
	}
	shown := visibleJSON(string(text))
	if format == formatYAML && shown == string(text) { // else it stays JSON, which is YAML: no YAML encoder escapes all
		if text, err = yaml.JSONToYAML(text); err != nil {
			return fmt.Errorf("encoding the answer: %w", err)
		}
		shown = strings.TrimSuffix(string(text), "\n")
	}
	_, err = fmt.Fprintln(bare(w), shown)
	return err
}

// printGaps begins an answer with what it lacks.
func printGaps(w io.Writer, gaps []survey.Gap) {
	for _, gap := range gaps {
		fmt.Fprintf(w, "not shown: %s\n", gap.Text)
	}
}

// printTable prints rows with columns of equal width. Paint colours a padded cell by its text; it may
// be nil. Empty columns without a head are left out.
func printTable(w io.Writer, head []string, rows [][]string, paint func(column int, text, padded string) string) {
	all := append([][]string{head}, rows...)
	widths := make([]int, len(head))
	for _, row := range all {
		for i := range row {
			row[i] = visible(row[i])
			widths[i] = max(widths[i], utf8.RuneCountInString(row[i]))
		}
	}
	for n, row := range all {
		last := len(row) - 1
		for last > 0 && row[last] == "" {
			last--
		}
		line := make([]string, 0, len(row))
		for i, cell := range row[:last+1] {
			padded := cell
			if i < last {
				padded += strings.Repeat(" ", widths[i]-utf8.RuneCountInString(cell))
			}
			if n > 0 && paint != nil {
				padded = paint(i, cell, padded)
			}
			line = append(line, padded)
		}
		fmt.Fprintln(bare(w), strings.TrimRight(strings.Join(line, "  "), " "))
	}
}

// checkFormat refuses formats that there are not.
func checkFormat(format string) error {
	if slices.Contains(formats, format) {
		return nil
	}
	return fmt.Errorf("--output %q is unknown; choose one of %s", format, strings.Join(formats, ", "))
}
