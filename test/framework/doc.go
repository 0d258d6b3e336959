// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package framework runs what the integration tests, the end-to-end tests, the
// demo and the benchmark run against: a real etcd, kube-apiserver and, where
// wanted, kube-controller-manager as child processes on loopback ports, Weir's
// manager as a separate process that can be killed and paused, and an
// independent checker for the ledger's invariants. Site puts these together:
// what a suite needs is a few lines, see docs/testing.md.
//
// Invariants:
//   - No child process outlives the process that started it, however that ends
//     (unless Options.Detach asks for it).
//   - Nothing listens on other than 127.0.0.1, and nothing is written outside
//     the control plane's own folder.
//   - The checker reads through the API only. It imports none of Weir's
//     internal packages, so that it cannot share their mistakes.
//
// The package must never be imported by code that is not a test, the demo or
// the benchmark. Binaries come from the folder KUBEBUILDER_ASSETS or, where
// that lacks one, from the repository's bin/ ("make control-plane manager").
package framework
