// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package repair looks for what does not fit together and has it put right. Between an IPAddressClaim, the ledger's record
// of its address and the IPAddress that answers it, there are these relations:
//
//	claim ---- record ---- answer    right
//	claim ---- record      -         the answer was not stored: the claim controller takes the record over
//	claim      -      ---- answer    missing record (restored, made by hand): the claim controller adopts the answer
//	claim ==== record, record'       duplicate: the one that the answer does not carry is void
//	claim ==== record, record        repeated, of the same address: the younger one has lost
//	claim ---- record ---- answer'   mismatched: the answer has another address; the record is void
//	-     ---- record                orphaned record: its claim died without Weir
//	-          -      ---- answer    orphaned answer: its claim died without Weir
//
// A claim that exists is brought to where it should be whenever it is reconciled, and so are the pools' blocks. What has no
// claim any more wakes nobody: that is what the sweep is for. It finds suspects in memory, and leaves it to the claim
// controller to prove by live reads that the claim is gone. Nothing is ever dropped for its age.
package repair
