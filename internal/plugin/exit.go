// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"errors"
	"fmt"
)

// Exit codes of all commands.
const (
	// ExitOK: all is well.
	ExitOK = 0
	// ExitBadNews: there is an answer, and it is bad news; who found nobody.
	ExitBadNews = 1
	// ExitUsage: the command is used wrongly, or the API cannot be reached.
	ExitUsage = 2
	// ExitForbidden: the user's rights allow no answer.
	ExitForbidden = 3
)

// exitError ends the command with a code. Without err there is nothing left to print.
type exitError struct {
	code int
	err  error
}

func (e *exitError) Error() string {
	if e.err == nil {
		return fmt.Sprintf("exit code %d", e.code)
	}
	return e.err.Error()
}

func (e *exitError) Unwrap() error { return e.err }

// badNews ends a command that has printed its answer.
var badNews = &exitError{code: ExitBadNews}

// forbidden ends a command that may not see what its answer needs.
func forbidden(format string, args ...any) error {
	return &exitError{code: ExitForbidden, err: fmt.Errorf(format, args...)}
}

// codeOf returns the exit code of a command's error, and what to print; nil for nothing.
func codeOf(err error) (code int, message error) {
	var exit *exitError
	switch {
	case err == nil:
		return ExitOK, nil
	case errors.As(err, &exit):
		return exit.code, exit.err
	}
	return ExitUsage, err
}
