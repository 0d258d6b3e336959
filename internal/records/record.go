// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"fmt"
	"net/netip"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
)

// Record is what is kept of one IPAllocation. The same type stands for the other things that make a
// prefix unavailable; their Role says so.
//
// A record is a copy of what a Table keeps: only Table.Update changes that.
type Record struct {
	Identity
	Handle Handle
	Role   Role
	CIDR   netip.Prefix
	// Space is the address space, Pool what the prefix comes out of.
	Space string
	Pool  ipamv1.PoolReference
	Claim ipamv1.ClaimReference
	// Alias is the claim's other name; "" for none.
	Alias   string
	Purpose Purpose
	// Member is the cluster that hands out the block, as its pool is delegated to it; "" for none.
	Member string

	// ReleasedAt is when the claim released the prefix, in seconds; 0 before that.
	ReleasedAt int64
	// Seen is when this process first saw the record, or its present manager, by the book's clock.
	Seen int64
	// Instance is the manager that answers for the record.
	Instance string

	Confirmed bool
	// Retained: the claim has released the prefix, which only the next claim of that name gets.
	Retained bool
	// Owned: the record has owner references, so its claim is, or was, a stored object.
	Owned bool
	// Restored: the record was not made here. It was moved here, or restored.
	Restored bool
	// Moving: clusterctl deletes the record because it has moved it to another cluster.
	Moving bool
	// Leaves: its pool, which stays, is to hold what it has.
	Leaves bool
	// Backed: something outside of the cluster stands behind the prefix.
	Backed bool
	// Deleted: this process has deleted the record, and the watch has not shown that yet.
	Deleted bool
	// Won: this process has judged the record, and it had won. It stays won while it exists.
	Won bool
}

// Role says what a record is kept for.
type Role uint8

// Stored is the role of an IPAllocation. Only those are found by name and by claimant.
const Stored Role = 0

// Released says whether the claim has released the prefix, which cools down or is retained.
func (r *Record) Released() bool { return r.ReleasedAt != 0 }

// IsWithMember says whether the record is of a block that another cluster may use: what happens here
// to its pool does not end that.
func (r *Record) IsWithMember() bool { return r.Member != "" && !r.Released() }

// Identity is one version of one record: what every conditional write names.
type Identity struct {
	Key     types.NamespacedName
	UID     types.UID
	Version string
	// Created is the revision of the record's creation; empty when it cannot be known for certain.
	Created string
	// Foreign: the record has finalizers that are not Weir's.
	Foreign bool
	// Terminating: somebody has marked the record for deletion.
	Terminating bool
}

// Decode reads an IPAllocation that was first seen then. An error means that the record cannot be
// understood, and so that nobody can say what is free.
func Decode(a *ipamv1.IPAllocation, seen int64) (*Record, error) {
	cidr, err := netip.ParsePrefix(a.Spec.CIDR)
	if err != nil {
		return nil, fmt.Errorf("reading IPAllocation %s/%s: spec.cidr: %w", a.Namespace, a.Name, err)
	}
	r := &Record{
		Identity:   IdentityOf(a),
		CIDR:       cidr.Masked(),
		Space:      a.Spec.AddressSpace,
		Pool:       a.Spec.PoolRef.Canonical(),
		Claim:      a.Spec.ClaimRef,
		Alias:      a.Spec.ClaimAlias,
		Purpose:    PurposeOf(&a.Spec),
		Member:     a.Spec.DelegatedTo,
		Seen:       seen,
		Instance:   a.Spec.Manager.Instance,
		Confirmed:  a.Spec.State == ipamv1.ConfirmedState,
		Retained:   a.Spec.State == ipamv1.RetainedState,
		Owned:      len(a.OwnerReferences) > 0,
		Backed:     a.Spec.External.ID != "",
		ReleasedAt: seconds(a.Spec.ReleasedAt),
		Restored:   isRestored(a),
		Moving:     !a.DeletionTimestamp.IsZero() && has(a.Annotations, clusterctlv1.DeleteForMoveAnnotation),
	}
	r.Leaves = r.Moving && (r.Pool.Namespace != r.Key.Namespace || has(a.Annotations, ipamv1.MovedAnnotation))
	if r.IsTooLong() {
		return nil, fmt.Errorf("reading IPAllocation %s/%s: its names are too long", a.Namespace, a.Name)
	}
	return r, nil
}

// isRestored says whether the record was not made here: Weir's webhook has marked it, or it was
// created with the revision of its creation, which only a copy has.
func isRestored(a *ipamv1.IPAllocation) bool {
	return knowsAge(a) || a.Annotations[ipamv1.ArrivedAnnotation] != ""
}

// knowsAge says whether the record came with the revision of its creation, which is one of another
// cluster or of the past.
func knowsAge(a *ipamv1.IPAllocation) bool {
	return a.Generation == 1 && a.Spec.Manager.CreatedRevision != ""
}

func has(annotations map[string]string, key string) bool {
	_, ok := annotations[key]
	return ok
}

// creationOf returns the revision that the record was created at, or "" when that cannot be told
// for certain. Every write of Weir's stores it, so its absence means that Weir has not written
// since; a second field manager means that somebody else has, and then the record's own revision is
// a later one. Taking something away leaves no field manager: that somebody took the finalizer, or
// the garbage collector one of a claim's two owners, shows in what is missing.
func creationOf(a *ipamv1.IPAllocation) string {
	if a.Spec.Manager.CreatedRevision != "" && !knowsAge(a) {
		return a.Spec.Manager.CreatedRevision
	}
	touched := a.Annotations[TouchedAnnotation] != "" || len(a.ManagedFields) > 1 || !a.DeletionTimestamp.IsZero() ||
		!slices.Contains(a.Finalizers, ipamv1.AllocationFinalizer) ||
		(a.Spec.Purpose == ipamv1.ClaimPurpose && len(a.OwnerReferences) == 1)
	if touched {
		return ""
	}
	return a.ResourceVersion
}

// seconds since 1970; 0 for the zero time.
func seconds(t metav1.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}

// IdentityOf returns the version of a record that an IPAllocation is.
func IdentityOf(a *ipamv1.IPAllocation) Identity {
	return Identity{
		Key:     types.NamespacedName{Namespace: a.Namespace, Name: a.Name},
		UID:     a.UID,
		Version: a.ResourceVersion,
		Created: creationOf(a),
		Foreign: len(ForeignFinalizers(a)) > 0, Terminating: !a.DeletionTimestamp.IsZero(),
	}
}

// ForeignFinalizers returns the finalizers that are not Weir's.
func ForeignFinalizers(a *ipamv1.IPAllocation) []string {
	return slices.DeleteFunc(slices.Clone(a.Finalizers), func(f string) bool { return f == ipamv1.AllocationFinalizer })
}

// ClaimantOf names a claim without its UID: claims of the same name, other UID, share it.
func ClaimantOf(c ipamv1.ClaimReference) pooltree.Claimant {
	return pooltree.Claimant{Group: c.APIGroup, Kind: c.Kind, Namespace: c.Namespace, Name: c.Name}
}

// NamesOf returns the names of a claim that something may be kept for: its own, and its alias unless
// that is "".
func NamesOf(c ipamv1.ClaimReference, alias string) []pooltree.Claimant {
	names := []pooltree.Claimant{ClaimantOf(c)}
	if alias != "" {
		c.Name = alias
		names = append(names, ClaimantOf(c))
	}
	return names
}

// TouchedAnnotation changes with every write that must show in the watch: a manager takes the
// record over, or proves that its index is current.
const TouchedAnnotation = "ipam.weir.dev/touched"
