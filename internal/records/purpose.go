// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package records

import (
	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// Purpose is what a record is for, in one word: an IPAllocation says it by purpose, origin, state and
// whose block it is.
type Purpose string

const (
	// ForClaim: the prefix was handed out to a claim.
	ForClaim Purpose = "Claim"
	// ForAdopted: the claim arrived with its answer, and the record was made for that.
	ForAdopted Purpose = "Adopted"
	// ForChildPool: the prefix is the block of a pool that was carved from this one.
	ForChildPool Purpose = "ChildPool"
	// ForRoot: the prefix is a root pool's own block.
	ForRoot Purpose = "Root"
	// ForHandBack: this cluster has let go of the block of a delegated pool, and hands out nothing of it.
	ForHandBack Purpose = "HandBack"
	// ForEnded: the block was handed back for a template, and delegated to this cluster again since. The
	// record holds nothing.
	ForEnded Purpose = "Ended"
	// ForMoved: the prefix is kept for what has moved to another cluster.
	ForMoved Purpose = "Moved"
)

// IsHandBack reports whether records of the purpose say that a block was handed back, ended or not.
func (p Purpose) IsHandBack() bool { return p == ForHandBack || p == ForEnded }

// PurposeOf returns what an IPAllocation is for.
func PurposeOf(spec *ipamv1.IPAllocationSpec) Purpose {
	switch {
	case spec.Purpose == ipamv1.HandBackPurpose && spec.State == ipamv1.EndedState:
		return ForEnded
	case spec.Purpose == ipamv1.HandBackPurpose:
		return ForHandBack
	case spec.State == ipamv1.MovedState:
		return ForMoved
	case spec.IsRootBlock():
		return ForRoot
	case spec.Purpose == ipamv1.PoolBlockPurpose:
		return ForChildPool
	case spec.Origin == ipamv1.AdoptedOrigin:
		return ForAdopted
	default:
		return ForClaim
	}
}

// Write writes the purpose into a new IPAllocation, which says already who has it.
func (p Purpose) Write(spec *ipamv1.IPAllocationSpec) {
	spec.Purpose = ipamv1.ClaimPurpose
	switch p {
	case ForRoot, ForChildPool:
		spec.Purpose = ipamv1.PoolBlockPurpose
	case ForHandBack:
		spec.Purpose = ipamv1.HandBackPurpose
	case ForEnded:
		spec.Purpose, spec.State = ipamv1.HandBackPurpose, ipamv1.EndedState
	case ForAdopted:
		spec.Origin = ipamv1.AdoptedOrigin
	case ForMoved:
		spec.State = ipamv1.MovedState
	case ForClaim:
	}
}
