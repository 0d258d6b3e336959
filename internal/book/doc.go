// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package book says who has what, in the order in which the API server stored it: which of two
// records wins, and what is free.
//
// It is a state machine without lock, context or client. Everything in it assumes that its caller
// serialises calls, and feeds it the changes of all IPAllocations in revision order.
package book
