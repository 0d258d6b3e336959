// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"slices"
	"strings"
)

// The parts of the benchmark. Each has a control plane of its own.
const (
	answersPart = "answers"
	scalePart   = "scale"
	callsPart   = "calls"
	pluginPart  = "plugin"
)

var allParts = parts{answersPart, scalePart, callsPart, pluginPart}

// parts is a flag: what to measure.
type parts []string

func (p *parts) String() string { return strings.Join(*p, ",") }

// Set implements flag.Value.
func (p *parts) Set(text string) error {
	*p = nil
	for part := range strings.SplitSeq(text, ",") {
		if !slices.Contains(allParts, part) {
			return fmt.Errorf("must be some of %s, separated by commas", allParts.String())
		}
		*p = append(*p, part)
	}
	return nil
}

func (p *parts) has(part string) bool { return slices.Contains(*p, part) }
