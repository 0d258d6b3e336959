// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package size says how much the suites do.
package size

import (
	"fmt"
	"os"
)

// Env names the variable that says how much the suites do: "gate" (the
// default, and "": what a change has to pass), "long" (all paths, an hour) or
// "soak" (hours).
const Env = "WEIR_SUITE_SIZE"

// Size is how much the suites do.
type Size int

// The sizes, in order.
const (
	Gate Size = iota
	Long
	Soak
)

// Now returns the size that Env names. It panics on any other
// name: a suite that does less than it was asked to would go unnoticed.
func Now() Size {
	switch name := os.Getenv(Env); name {
	case "", "gate":
		return Gate
	case "long":
		return Long
	case "soak":
		return Soak
	default:
		panic(fmt.Sprintf("%s=%s: must be gate, long or soak", Env, name))
	}
}

// Of returns the value for the size that the suites run at.
func Of[T any](gate, long, soak T) T {
	return [...]T{Gate: gate, Long: long, Soak: soak}[Now()]
}

// FromLong defines specs that the gate leaves out: they run from the size long
// on. Call it while the tree of specs is built.
func FromLong(define func()) {
	if Now() >= Long {
		define()
	}
}
