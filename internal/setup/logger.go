// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"errors"
	"slices"

	"github.com/go-logr/logr"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/excerpt"
)

// Logger returns a logger that writes the same lines, but no text in them that is longer than a message may be: errors of the API server,
// and of libraries, repeat what callers sent.
func Logger(logger logr.Logger) logr.Logger {
	bounded := boundedSink{logger.GetSink()}
	if deeper, ok := bounded.LogSink.(logr.CallDepthLogSink); ok {
		bounded.LogSink = deeper.WithCallDepth(1)
	}
	return logger.WithSink(bounded)
}

// boundedSink bounds what another one writes.
type boundedSink struct{ logr.LogSink }

var _ logr.CallDepthLogSink = boundedSink{}

// Init does nothing: the other sink is initialized.
func (s boundedSink) Init(logr.RuntimeInfo) {}

// Info implements logr.LogSink.
func (s boundedSink) Info(level int, message string, keysAndValues ...any) {
	s.LogSink.Info(level, excerpt.Message(message), boundValues(keysAndValues)...)
}

// Error implements logr.LogSink.
func (s boundedSink) Error(err error, message string, keysAndValues ...any) {
	if err != nil && len(err.Error()) > excerpt.MaxMessage {
		err = errors.New(excerpt.Message(err.Error()))
	}
	s.LogSink.Error(err, excerpt.Message(message), boundValues(keysAndValues)...)
}

// WithValues implements logr.LogSink.
func (s boundedSink) WithValues(keysAndValues ...any) logr.LogSink {
	return boundedSink{s.LogSink.WithValues(boundValues(keysAndValues)...)}
}

// WithName implements logr.LogSink.
func (s boundedSink) WithName(name string) logr.LogSink { return boundedSink{s.LogSink.WithName(name)} }

// WithCallDepth implements logr.CallDepthLogSink.
func (s boundedSink) WithCallDepth(depth int) logr.LogSink {
	if deeper, ok := s.LogSink.(logr.CallDepthLogSink); ok {
		return boundedSink{deeper.WithCallDepth(depth)}
	}
	return s
}

// boundValues cuts the values that are too long, in a copy.
func boundValues(keysAndValues []any) []any {
	bounded := keysAndValues
	for i, value := range keysAndValues {
		text, isText := textOf(value)
		if !isText || len(text) <= excerpt.MaxMessage {
			continue
		}
		if &bounded[0] == &keysAndValues[0] {
			bounded = slices.Clone(keysAndValues)
		}
		bounded[i] = excerpt.Message(text)
	}
	return bounded
}

// textOf returns a value's text, if it is one.
func textOf(value any) (text string, isText bool) {
	switch v := value.(type) {
	case string:
		return v, true
	case error:
		return v.Error(), true
	}
	return "", false
}
