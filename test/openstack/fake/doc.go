// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package fake is a cloud in memory: the part of Keystone v3 and Neutron v2.0 that package neutron uses, with faults on demand.
//
// What it answers is what the real ones answer; one conformance suite runs against both (test/integration/neutron). Two things it
// does more harshly: an address that was given up is handed out again at once, the lowest first, and the quota is strict.
// A thousand floating IPs take no time. Everything is safe for concurrent use.
package fake
