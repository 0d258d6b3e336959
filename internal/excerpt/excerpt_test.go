// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package excerpt_test

import (
	"strings"
	"testing"
	"unicode/utf8"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/excerpt"
)

func TestWhatIsLongIsCut(t *testing.T) {
	t.Parallel()
	if got := excerpt.Of(strings.Repeat("a", excerpt.MaxValue)); len(got) != excerpt.MaxValue || strings.HasSuffix(got, "...") {
		t.Errorf("a value that is not too long became %q", got)
	}
	if got := excerpt.Of(strings.Repeat("ü", 1000)); len(got) > excerpt.MaxValue || !utf8.ValidString(got) || !strings.HasSuffix(got, "ü...") {
		t.Errorf("a value of %d bytes: %q", len(got), got)
	}
	if got := excerpt.Message(strings.Repeat("a", 1<<20)); len(got) != excerpt.MaxMessage {
		t.Errorf("a message of %d bytes", len(got))
	}
}
