// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package openstack backs the addresses of pools with floating IPs of Neutron.
//
// The description of a floating IP says whose it is (identity.go): it is the only state outside.
// Nothing of it is kept in memory. Before a floating IP is created, deleted or changed, Neutron is
// asked for those of just this claim, so a lost answer or another manager's work is found.
//
// Invariants:
//   - A floating IP is created with its claim's UID, never without.
//   - A floating IP is deleted, or its owner cleared, only if judge allows it (giveback.go): by the
//     caller's proof, the pool's key, the claim's UID, without a port, and on condition of the
//     revision that was judged.
//   - What is free is deleted only when its pool ends, and only if judgeEnd allows it (close.go).
//   - One that was there before Weir is never deleted, and one that others have described never changed.
//     A claim takes only what judgeStock allows (stock.go), on condition of the revision that was judged.
//   - Credentials come from the pool's Secret, read live at each use. They are in no error and no
//     log. No text of a server is in an error.
//   - No call waits for another one's end: a cloud that hangs holds a bounded number of workers.
//
// Any manager calls Neutron. Two of them may create a floating IP each for one claim; the ledger
// decides which one is told, and both carry the claim's UID until they are given back.
package openstack
