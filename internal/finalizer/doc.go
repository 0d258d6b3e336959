// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package finalizer puts Weir's finalizers on objects and takes them off. Unlike Cluster API's util/finalizers, each write
// names the version that was read: it writes the whole list, and one that somebody has added since must not be lost, because
// nothing is released while somebody else holds on to an object. The last finalizer comes off by an update, every other write is
// a patch: see letGo.
//
// It decides nothing: who calls it has proved that the object may go.
package finalizer
