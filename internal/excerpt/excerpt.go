// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package excerpt

import (
	"fmt"
	"strings"
)

const (
	// MaxValue is how many bytes are shown of one value. Names have 253 at most.
	MaxValue = 256
	// MaxMessage is how many bytes a message has. A condition's may have 32 KiB.
	MaxMessage = 4096
)

// more ends what is cut.
const more = "..."

// Of returns what is shown of a value.
func Of[T ~string](value T) T { return T(Cut(string(value), MaxValue)) }

// Any returns what is shown of a value that may be text.
func Any(value any) any {
	if text := fmt.Sprint(value); len(text) > MaxValue {
		return Of(text)
	}
	return value
}

// Message returns what is shown of a message.
func Message(message string) string { return Cut(message, MaxMessage) }

// Cut returns a text with at most so many bytes, of which there are more than a few.
func Cut(text string, length int) string {
	if len(text) <= length {
		return text
	}
	return strings.ToValidUTF8(strings.Clone(text[:length-len(more)]), "") + more
}
