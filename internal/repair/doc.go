// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package repair looks for what does not fit together and has it fixed. Between a claim, the
// ledger's record of its address and the object that answers it, there are these relations:
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
// The claim controller fixes the relations of a claim that exists whenever it reconciles the claim, and
// the pool controller those of a pool's blocks. No event reports a name under which there is no claim
// any more, nor a second record that comes after a claim was answered: the sweep looks for those. It
// finds suspects in memory, and leaves it to the controller of the kind to prove by live reads that the
// object is gone.
//
// No record of a claim that another object answers is ever deleted for its age. The record of an IPClaim
// or a carved pool whose object was never stored is, after a grace: until then the API server may still
// store the object, and no read can tell. What was restored waits for the same grace, so that the rest of
// it can follow.
package repair
