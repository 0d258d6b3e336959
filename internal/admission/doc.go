// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package admission holds Weir's webhooks.
//
//   - IPPool, GlobalIPPool: defaulting sets what is derived or set once, validation refuses specs
//     that cannot be served and changes that would take away what is in use. A pool that is carved
//     from another one gets its block while it is created, as an IPClaim gets its prefix.
//   - Pools of front doors: validation refuses specs that their own webhooks refuse, as far as a
//     change brings that about, and changes that would take away what is in use. A new one gets the
//     address space that its Namespace names, where its kind has an annotation for that.
//   - IPClaim: the mutating webhook proposes a prefix and writes it into the claim, the validating
//     webhook records it for the claim's UID, and the claim is answered when it is stored.
//   - IPAddressClaim of Cluster API: gets Weir's finalizer at creation, which saves the controller a
//     write. The controller adds it where this webhook was not asked.
//   - IPAddressClaim, IPAddress, IPAllocation: marked at creation if they are restored
//     (docs/design/restore.md).
//   - IPAllocation, IPAddressClaim: keep Weir's finalizer when clusterctl deletes what it has moved
//     out of a pool that stays (docs/design/move.md).
//
// Invariants:
//   - A dry run stores nothing and keeps nothing from others: it is shown what a create would get.
//   - What a create leaves behind is the ledger's: a promise, in the memory of this process for some
//     seconds, and then the record. The record of an object that the API server does not store after
//     all is deleted when the grace is over (docs/design/ledger.md).
//   - Admission explains and refuses early; safety is the ledger's. What is in use comes from a cache
//     that may lag, and a webhook can be bypassed: the controllers check all of it again.
//   - A message names no object that the requester may not get: it counts those. Only audience words
//     such messages.
//   - What the schema refuses is left to the schema: a mutating webhook that cannot read an object
//     changes nothing. The one exception is text of pools that is not canonical, because the schema
//     cannot show how to write it.
package admission
