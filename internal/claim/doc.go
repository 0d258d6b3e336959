// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package claim answers claims whose answer is another object, of any form: Cluster API's IPAddressClaims, for instance, with
// IPAddresses. A Form says what kind of claim it is and translates; it decides nothing (docs/design/doors.md).
//
// It chooses no address: the ledger does. It decides when a claim may be answered (a Cluster that is there and not paused,
// a pool that serves), commits the ledger's choice by creating the answer, whose name follows from the claim's so that only
// one can exist, and proves by a live read that a claim is gone before it has anything released.
//
// What a claim is told names nothing of another project: errors of the ledger go through told.
//
// It must not touch a claim of another provider's pool: references are matched on group and kind (Source), never on the
// name alone.
package claim
