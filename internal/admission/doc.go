// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package admission holds Weir's webhooks.
//
//   - IPPool, GlobalIPPool: defaulting sets what is derived or set once,
//     validation refuses specs that cannot be served and changes that would
//     take away what is in use.
//   - IPClaim: refused until Weir serves it.
//   - IPAddressClaim of Cluster API: gets Weir's finalizer at creation, which
//     saves the controller a write. The controller adds it where this webhook
//     was not asked.
//
// Invariants:
//   - Nothing is stored and nothing is held here, so a dry run is like any
//     other request.
//   - Admission explains and refuses early; safety is the ledger's. What is in
//     use comes from a cache that may lag, and a webhook can be bypassed: the
//     controllers check all of it again.
//   - An answer names no object that the requester may not get: it counts
//     those. What words a message is audience, and nothing else.
//   - What the schema refuses is left to the schema: a mutating webhook that
//     cannot read an object changes nothing. The one exception is text of
//     pools that is not canonical, because the schema cannot show how to write
//     it.
package admission
