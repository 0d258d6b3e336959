// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"strings"
	"testing"
	"unicode/utf8"
)

func TestNotesAreCutToWhatAnEventTakes(t *testing.T) {
	if note := cut(strings.Repeat("ü", 2000)); len(note) > maxNote || !utf8.ValidString(note) {
		t.Errorf("a note of %d bytes", len(note))
	}
	if note := cut("short"); note != "short" {
		t.Errorf("noted %s", note)
	}
}
