// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package servingcert keeps the certificate of the webhooks in a Secret, and its CA in the webhook configurations, where there is no
// cert-manager. Making certificates and replacing them in time is cert-controller's part.
//
// Invariants:
//   - An API server that trusts the CA of before, or this one, accepts a manager that serves the certificate of before, or this one. So it
//     does not matter who sees a change first.
//   - It reads and writes one Secret and two webhook configurations, and no other: its lists and watches name them.
//   - Any number of managers may do this at once: each write is on condition of the version that was read.
package servingcert
