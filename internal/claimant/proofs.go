// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claimant

import (
	"context"
	"net/netip"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/finalizer"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/kinds"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/poolspec"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/predicates"
)

// Proofs are made in this file and nowhere else, of what an Observation was shown and what the
// ledger knows. The zero value of each proves nothing, and Release refuses it. A claim, here, is
// what a record is for: a claim of any form, or a pool that has a block.

// recordKind is that of records.
var recordKind = kinds.IPAllocation

// proof is what a reason rests on.
type proof interface {
	// covers reports whether it is a proof about this record.
	covers(h ledger.Holding) bool
}

// ofClaim is a proof about a claim.
type ofClaim struct {
	by    *Observation
	claim ipamv1.ClaimReference
}

// IsProved reports whether there is a proof.
func (p ofClaim) IsProved() bool { return p.by != nil }

// isName reports whether the record is for a claim of that name, of whatever UID.
func (p ofClaim) isName(h ledger.Holding) bool {
	return p.IsProved() && h.Claim.GroupKind() == p.claim.GroupKind() && h.Claim.Namespace == p.claim.Namespace && h.Claim.Name == p.claim.Name
}

// isClaim reports whether the record is for the very claim.
func (p ofClaim) isClaim(h ledger.Holding) bool { return p.isName(h) && h.Claim.UID == p.claim.UID }

// ofRecord is a proof about one version of a record.
type ofRecord struct {
	uid     types.UID
	version string
}

func about(h ledger.Holding) ofRecord { return ofRecord{h.Version.UID, h.Version.Version} }

// IsProved reports whether there is a proof.
func (p ofRecord) IsProved() bool { return p.uid != "" }

func (p ofRecord) covers(h ledger.Holding) bool { return p.IsProved() && p == about(h) }

// Deleted proves that a claim is being deleted, that no finalizer of others is on it, that neither
// it nor its Cluster is paused, and that it does not move to another cluster.
type Deleted struct{ ofClaim }

func (p Deleted) covers(h ledger.Holding) bool { return p.isClaim(h) }

// Kept is why a claim that was to be released stays as it is.
type Kept string

// Why a claim stays. The zero value: it is Deleted.
const (
	// InUse: it is not being deleted, or it has finalizers of others.
	InUse Kept = "in use"
	// Paused: it is paused, or its Cluster is.
	Paused Kept = "paused"
	// Moving: clusterctl deletes it because it lives on in another cluster.
	Moving Kept = "moving"
)

// Deleted proves it of a claim that was shown. What only the claim's form knows are the name of
// Weir's finalizer on it, and that of its Cluster, which is read live; "" for none, or for one that
// the caller has seen to.
func (o *Observation) Deleted(ctx context.Context, claim ipamv1.ClaimReference, own, cluster string) (Deleted, Kept, error) {
	obj := o.object(claim)
	if !isLeft(obj, own) {
		return Deleted{}, InUse, nil
	}
	owner, err := Cluster(ctx, o.exit.Live, obj.GetNamespace(), cluster)
	switch {
	case err != nil:
		return Deleted{}, "", err
	case predicates.IsPaused(owner, obj):
		return Deleted{}, Paused, nil
	case predicates.IsMoving(obj):
		return Deleted{}, Moving, nil
	}
	return Deleted{ofClaim{o, claim}}, "", nil
}

// isLeft reports whether an object is being deleted, and nothing but Weir's finalizer keeps it.
func isLeft(obj client.Object, own string) bool {
	return obj != nil && !obj.GetDeletionTimestamp().IsZero() && len(finalizer.Foreign(obj, own)) == 0
}

// MovedAway proves that clusterctl has moved a claim to another cluster, and that only Weir's
// finalizer, which admission has left it, keeps it here.
type MovedAway struct{ ofClaim }

// What the claim came with may be recorded under the UID that it had elsewhere.
func (p MovedAway) covers(h ledger.Holding) bool { return p.isName(h) }

// MovedAway proves it of a claim that was shown. Own is Weir's finalizer on it.
func (o *Observation) MovedAway(claim ipamv1.ClaimReference, own string) MovedAway {
	obj := o.object(claim)
	if !isLeft(obj, own) || !predicates.IsMoving(obj) || obj.GetAnnotations()[ipamv1.MovedAnnotation] != claim.UID {
		return MovedAway{}
	}
	return MovedAway{ofClaim{o, claim}}
}

// Gone proves that there is no claim of a UID: the UID was known, and then there was no object of
// the name, or one of another UID.
type Gone struct{ ofClaim }

func (p Gone) covers(h ledger.Holding) bool { return p.isClaim(h) }

// Gone proves it of a claim whose name was read.
func (o *Observation) Gone(claim ipamv1.ClaimReference) Gone {
	obj, looked := o.at(claim)
	if !looked || !o.claims[claim.UID] || obj != nil && string(obj.GetUID()) == claim.UID {
		return Gone{}
	}
	return Gone{ofClaim{o, claim}}
}

// GivenBack proves that a claim is Deleted or Gone, and that it has nothing outside of the cluster
// any more. What backs a record is there before the record: so of the backed records it is about those
// that were known before anything was given back. What backs a later one may be there still.
type GivenBack struct {
	ofClaim
	known []ledger.Holding
}

func (p GivenBack) covers(h ledger.Holding) bool {
	wasKnown := func(known ledger.Holding) bool { return known.Version.UID == h.Version.UID }
	return p.isClaim(h) && (!h.Backed || slices.ContainsFunc(p.known, wasKnown))
}

// Covered returns those of a claim's records that it is about. What backs the others has to be given
// back first.
func (p GivenBack) Covered(records []ledger.Holding) []ledger.Holding {
	return slices.DeleteFunc(slices.Clone(records), func(h ledger.Holding) bool { return !p.covers(h) })
}

// WithNothingOutside proves it of IPClaims and pools: nothing backs their records outside.
func (p Deleted) WithNothingOutside() GivenBack { return p.givenBack(nil) }

// Redelegated proves that the hub has delegated a block to this cluster: the copy of the pool is
// stored, serves and is not being deleted, and its template is known. It is about what was known then
// to have been handed back of the block for other templates.
type Redelegated struct {
	by       *Observation
	template string
	space    string
	block    netip.Prefix
}

// IsProved reports whether there is a proof.
func (p Redelegated) IsProved() bool { return p.by != nil }

func (p Redelegated) covers(h ledger.Holding) bool {
	isOf := h.Purpose == ledger.ForHandBack && h.Space == p.space && h.CIDR.Overlaps(p.block)
	return p.IsProved() && isOf && h.Claim.UID != p.template && p.by.knew(h)
}

// Ends reports whether it ends what was handed back.
func (p Redelegated) Ends(h ledger.Holding) bool { return p.covers(h) }

// Redelegated proves it of a copy that was shown, in the cluster of that name.
func (o *Observation) Redelegated(copied ipamv1.ClaimReference, cluster string) Redelegated {
	obj, isPool := o.object(copied).(interface {
		client.Object
		PoolSpec() *ipamv1.IPPoolSpec
	})
	if !isPool || !obj.GetDeletionTimestamp().IsZero() {
		return Redelegated{}
	}
	spec, template := obj.PoolSpec(), poolspec.TemplateOf(obj.GetUID(), obj.GetAnnotations())
	says := poolspec.Read(spec, copied.Pool(), obj.GetLabels()).At(cluster, obj.GetAnnotations())
	block, err := netip.ParsePrefix(spec.CIDR)
	isServed := says.Place == poolspec.Delegated && (says.Mode == "" || says.Mode == ipamv1.ServingMode)
	if err != nil || !isServed || !template.IsKnown {
		return Redelegated{}
	}
	return Redelegated{o, template.UID, says.Space, block}
}

// Superseded proves that another record keeps with a member what this one keeps.
type Superseded struct{ ofRecord }

// Superseded proves it by the other record, which was shown, and by the ledger, which has said that of
// these two it is the other one that stands.
func (o *Observation) Superseded(h, other ledger.Holding) Superseded {
	record := o.record(other)
	if record == nil || record.UID != other.Version.UID || record.Spec.State != ipamv1.ConfirmedState {
		return Superseded{}
	}
	spec, name := record.Spec, record.Spec.ClaimRef
	name.UID = h.Claim.UID
	isAlike := spec.DelegatedTo == h.Member && spec.CIDR == h.CIDR.String() && spec.PoolRef.Canonical() == h.Pool && spec.AddressSpace == h.Space && name == h.Claim
	stands := spec.ReleasedAt.IsZero() && record.DeletionTimestamp.IsZero() && slices.Contains(record.Finalizers, ipamv1.AllocationFinalizer)
	if !isAlike || !stands || h.Version.UID == other.Version.UID {
		return Superseded{}
	}
	return Superseded{about(h)}
}

// ended is a proof that a claim of a UID needs nothing any more.
type ended interface {
	proof
	// givenBack is the proof once everything of the claim was given back that was outside when these records were known.
	givenBack(known []ledger.Holding) GivenBack
}

func (p Deleted) givenBack(known []ledger.Holding) GivenBack { return GivenBack{p.ofClaim, known} }

func (p Gone) givenBack(known []ledger.Holding) GivenBack { return GivenBack{p.ofClaim, known} }

// Stored proves that a claim is stored. It is about what was known then of earlier claims of the
// name.
type Stored struct{ ofClaim }

func (p Stored) covers(h ledger.Holding) bool {
	return p.isName(h) && p.by.knew(h) && h.Claim.UID != p.claim.UID
}

// Stored proves it of a claim that was shown.
func (o *Observation) Stored(claim ipamv1.ClaimReference) Stored {
	if o.object(claim) == nil {
		return Stored{}
	}
	return Stored{ofClaim{o, claim}}
}

// Answered proves that a claim is stored and has its answer. It is about what was known then under
// the name of the claim. Which of that is not the answer's the caller decides by the answer.
type Answered struct{ ofClaim }

func (p Answered) covers(h ledger.Holding) bool { return p.isName(h) && p.by.knew(h) }

// Answered proves it of a claim that was shown, and its answer, which was, too: an object that the
// claim owns, or the claim itself.
func (o *Observation) Answered(claim ipamv1.ClaimReference, answer client.Object) Answered {
	stored, shown := o.object(claim), o.copyOf(answer)
	if stored == nil || shown == nil {
		return Answered{}
	}
	isOwner := func(owner metav1.OwnerReference) bool { return owner.UID == stored.GetUID() }
	if shown.GetUID() != stored.GetUID() && !slices.ContainsFunc(shown.GetOwnerReferences(), isOwner) {
		return Answered{}
	}
	return Answered{ofClaim{o, claim}}
}

// Answer is what only a claim's form knows of its answer.
type Answer struct {
	// Stored is the answer that the claim's status names, as it was read; nil if there is none.
	Stored client.Object
	// Address is what it carries.
	Address netip.Addr
	// Cluster is the name of the claim's Cluster; "" for none.
	Cluster string
}

// Surplus proves of an address outside of the cluster that a claim lives and was told another one, which
// it keeps: so it will not be told this one. Neither the claim nor its Cluster is paused; neither the
// claim nor its answer is being deleted, moves or came from elsewhere; and a record that was made here
// holds the other address.
type Surplus struct {
	ofClaim

	// told is that record.
	told    ledger.Holding
	address netip.Addr
}

// Surplus proves it of a claim and its answer that were shown, and of the record of the answer's address,
// which was known before. The Cluster is read live.
func (o *Observation) Surplus(ctx context.Context, told ledger.Holding, answer Answer, address netip.Addr) (Surplus, error) {
	if answer.Stored == nil || !o.Answered(told.Claim, answer.Stored).IsProved() || !o.keeps(told, answer.Address) {
		return Surplus{}, nil
	}
	claim, shown := o.object(told.Claim), o.copyOf(answer.Stored)
	if !address.IsValid() || address == answer.Address || !staysHere(claim) || !staysHere(shown) {
		return Surplus{}, nil
	}
	cluster, err := Cluster(ctx, o.exit.Live, claim.GetNamespace(), answer.Cluster)
	if err != nil || predicates.IsPaused(cluster, claim) {
		return Surplus{}, err
	}
	return Surplus{ofClaim{o, told.Claim}, told, address}, nil
}

// keeps reports whether a record that was known before was made here, and holds the address of something
// outside.
func (o *Observation) keeps(h ledger.Holding, address netip.Addr) bool {
	isIts := h.CIDR.IsSingleIP() && h.CIDR.Addr() == address
	return isIts && h.Backed && !h.Restored && !h.Terminating && h.ReleasedAt.IsZero() && o.knew(h)
}

// staysHere reports whether an object is not being deleted, does not move, and did not come from elsewhere
// a moment ago.
func staysHere(obj client.Object) bool {
	return obj.GetDeletionTimestamp().IsZero() && !predicates.IsMoving(obj) && obj.GetAnnotations()[ipamv1.ArrivedAnnotation] == ""
}

// Shrunk proves that a pool lives and is as the caller knows it, and that neither it nor its
// Cluster is paused or moves. It is about the blocks that were known then.
type Shrunk struct{ ofClaim }

func (p Shrunk) covers(h ledger.Holding) bool { return p.isClaim(h) && p.by.knew(h) }

// Shrunk proves it of a pool that was shown. It errs with ErrBusy if the pool does not say yet that
// it has the blocks no more.
func (o *Observation) Shrunk(ctx context.Context, pool ipamv1.ClaimReference, known client.Object) (Shrunk, error) {
	obj := o.object(pool)
	if obj == nil || obj.GetGeneration() != known.GetGeneration() || predicates.IsMoving(obj) || predicates.IsPaused(nil, obj) {
		return Shrunk{}, nil
	}
	if grant := known.GetAnnotations()[ipamv1.GrantedAnnotation]; obj.GetAnnotations()[ipamv1.GrantedAnnotation] != grant {
		return Shrunk{}, ledger.ErrBusy
	}
	// If it is moving, what was handed out of a block may have left before it.
	if paused, err := IsClusterPaused(ctx, o.exit.Live, obj); paused || err != nil {
		return Shrunk{}, err
	}
	return Shrunk{ofClaim{o, pool}}, nil
}

// Leaving proves that clusterctl deletes a record because its claim has moved out of a pool that
// stays.
type Leaving struct{ ofRecord }

// Leaving proves it of a record that was shown.
func (o *Observation) Leaving(h ledger.Holding) Leaving {
	record := o.marked(h)
	if record == nil || !predicates.IsMoving(record) || record.Spec.State == ipamv1.MovedState {
		return Leaving{}
	}
	return Leaving{about(h)}
}

// Evicted proves that a record cools down and is marked for deletion in a namespace that is not its
// pool's: the namespace may end, and waits for the record.
type Evicted struct{ ofRecord }

// Evicted proves it of a record that was shown.
func (o *Observation) Evicted(h ledger.Holding) Evicted {
	record := o.marked(h)
	isCooling := !h.ReleasedAt.IsZero() && !h.Retained // as the ledger knows it: by that the new record is made
	if record == nil || !isCooling || record.Spec.State != ipamv1.CoolingState || record.Namespace == record.Spec.PoolRef.Namespace {
		return Evicted{}
	}
	return Evicted{about(h)}
}

// Unwanted proves that a user has deleted a hold, the record of a block that a member may use, or that of
// a hand-back. Only who may manage records can.
type Unwanted struct{ ofRecord }

// Unwanted proves it of a record that was shown.
func (o *Observation) Unwanted(h ledger.Holding) Unwanted {
	record := o.marked(h)
	if record == nil || !record.Spec.ReleasedAt.IsZero() {
		return Unwanted{}
	}
	stays := record.Spec.DelegatedTo != "" || record.Spec.Purpose == ipamv1.HandBackPurpose
	isDeleted := stays && !predicates.IsMoving(record)
	if record.Spec.State != ipamv1.MovedState && !isDeleted {
		return Unwanted{}
	}
	return Unwanted{about(h)}
}

// marked returns a record that was shown, is marked for deletion, and has Weir's finalizer; nil if
// it is not so, or if its pool moves with it: a move that is cut short leaves it like this.
func (o *Observation) marked(h ledger.Holding) *ipamv1.IPAllocation {
	record := o.record(h)
	if record == nil || record.DeletionTimestamp.IsZero() || !slices.Contains(record.Finalizers, ipamv1.AllocationFinalizer) {
		return nil
	}
	_, movesAlone := record.Annotations[ipamv1.MovedAnnotation]
	if predicates.IsMoving(record) && record.Spec.PoolRef.Namespace == record.Namespace && !movesAlone {
		return nil
	}
	return record
}

// Returned proves that what a hold stands for is back, and has a record of its own.
type Returned struct{ ofRecord }

// Returned proves it of a hold that was shown. The ledger does not keep when it was made.
func (o *Observation) Returned(back ledger.Return) Returned {
	hold := o.record(back.Hold)
	if hold == nil || !back.EndsHold(hold.CreationTimestamp.Time) {
		return Returned{}
	}
	return Returned{about(back.Hold)}
}

// Returned proves it by the answer of the claim that is back, and by the ledger, which shows another
// record of the same prefix.
func (p Answered) Returned(hold ledger.Holding) Returned {
	if !p.covers(hold) || !p.by.exit.Ledger.About(p.claim).IsHeldOn(hold) {
		return Returned{}
	}
	return Returned{about(hold)}
}

// Returned proves it by the ledger, of a hold for a carved pool: the pool has a confirmed block of
// just that, in this address space.
func (e *Exit) Returned(pool ipamv1.ClaimReference, space string, hold ledger.Holding) Returned {
	if !e.Ledger.About(pool).HasBlock(space, hold.CIDR) {
		return Returned{}
	}
	return Returned{about(hold)}
}

// Expired proves that a record was released, and that its cooldown is over.
type Expired struct {
	ofRecord

	record ledger.Holding
}

// Record returns the record that has expired.
func (p Expired) Record() ledger.Holding { return p.record }

// Expired proves it, by the cooldown of the record's pool, or returns for how long the record has
// still to cool: never longer than the cooldown, should a clock have been ahead. What the pool
// keeps for the claim that released it does not cool. Nor does what is retained: that stays until a
// user deletes it.
func (e *Exit) Expired(h ledger.Holding, cooldown time.Duration, now time.Time) (Expired, time.Duration) {
	if h.ReleasedAt.IsZero() || h.Retained && !h.Terminating {
		return Expired{}, 0
	}
	left := min(h.ReleasedAt.Add(cooldown).Sub(now), cooldown)
	if left > 0 && !h.Retained && e.Ledger.Of(h.Pool).Cools(h) {
		return Expired{}, left
	}
	return Expired{about(h), h}, 0
}
