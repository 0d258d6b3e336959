// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package claim answers Cluster API's IPAddressClaims with IPAddresses, as the IPAM provider contract says.
//
// It chooses no address: the ledger does. It decides when a claim may be answered (a Cluster that is there and not paused,
// a pool that serves), commits the ledger's choice by creating the IPAddress, which is named like the claim so that only
// one can exist, and proves by a live read that a claim is gone before it lets the ledger release anything.
//
// What a claim is told names nothing of another project: errors of the ledger go through told.
//
// It must not touch a claim of another provider's pool: references are matched on group and kind (Source), never on the
// name alone.
package claim
