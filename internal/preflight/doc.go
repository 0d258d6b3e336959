// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package preflight says what clusterctl move would leave behind of what is handed out of a pool, and why.
//
// clusterctl moves the objects of a namespace whose kinds it knows, if all their owners move, up to a Cluster or to an object
// that is labelled to move. Everything else it passes over without a word. Owners of any kind may own a claim, and Weir has
// no right to read them all, so an owner is judged by its kind alone: those of Cluster API's groups and Weir's own pools and
// claims count as moving, any other as staying. That holds for an owner, too, which stays itself: what an IPAddressClaim without
// owners owns counts as moving.
//
// Left is pure: it decides by the object itself. So Remains is kept up to date by what changes, and holds nothing but what
// would stay.
package preflight
