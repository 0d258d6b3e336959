// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claimant

import (
	"context"
	"errors"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/predicates"
)

// Exit is the only way out of the ledger: nothing else releases or deletes a record. Its callers say what they have proved, and Exit reads
// live what keeps a record all the same: clusterctl moves it, it stands for what has moved, its Cluster is paused, or what it is held for
// lives.
type Exit struct {
	// Client knows the kinds that the API server has.
	Client client.Client
	// Live reads from the API server.
	Live   client.Reader
	Ledger *ledger.Ledger
}

// Proof is what a caller has proved, by a live read that was begun after the ledger had shown it the record.
type Proof uint8

const (
	// ClaimDeleted: the claim is being deleted, neither it nor its Cluster is paused, it does not move, nobody else's finalizer is on
	// it, and its answer has gone. Nothing more is read.
	ClaimDeleted Proof = iota
	// ClaimGone: there is no claim of the record's UID, and no answer to it.
	ClaimGone
	// Untold: nobody can have been told of the record, or another one of the same claim says the same.
	Untold
	// CooledDown: the record was released, and its cooldown is over.
	CooledDown
	// PoolShrunk: the record is of a block of a pool that lives, and has it no more, and nothing is handed out of what goes with it.
	PoolShrunk
)

// Release gives up a record, whose prefix cools down if its pool says so and somebody may have been told of it. It says whether the record
// has gone, or will: something may keep it, or somebody else's finalizer.
func (e *Exit) Release(ctx context.Context, h ledger.Holding, proof Proof) (gone bool, err error) {
	if proof == ClaimDeleted {
		return true, e.Ledger.Out().Release(ctx, h)
	}
	record := &ipamv1.IPAllocation{}
	if err := e.Live.Get(ctx, h.Record, record); err != nil {
		return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
	}
	if kept, err := e.isKept(ctx, record); kept || err != nil {
		return false, err
	}
	hasOurs := slices.Contains(record.Finalizers, ipamv1.AllocationFinalizer)
	gone = hasOurs && len(record.Finalizers) == 1
	switch {
	case proof == CooledDown:
		if lives, err := e.lives(ctx, h.Claim); lives || err != nil {
			return false, err
		}
		return true, e.Ledger.Out().Drop(ctx, h)
	case !hasOurs && !record.DeletionTimestamp.IsZero():
		return false, nil
	case proof == Untold:
		return gone, e.Ledger.Out().Drop(ctx, h)
	default:
		return gone, e.Ledger.Out().Release(ctx, h)
	}
}

// ReleaseAll gives up the records of a claim's UID, but for those that stand for what has moved. The caller has proved that the claim of that UID is gone or deleted.
func (e *Exit) ReleaseAll(ctx context.Context, claim ipamv1.ClaimReference) error {
	var errs []error
	for _, h := range e.Ledger.RecordsOf(claim) {
		errs = append(errs, e.Ledger.Out().Release(ctx, h))
	}
	return errors.Join(errs...)
}

// Void deletes the record of an allocation that its claim was not told of, and cannot be.
func (e *Exit) Void(ctx context.Context, a ledger.Allocation) error {
	return e.Ledger.Out().Void(ctx, a.Holding())
}

// ReleaseRetained gives up what was retained for a claim that has come, or reserved for one that has come back, and has it, unless the
// record is just moving to another cluster. The caller has proved that the claim is stored.
func (e *Exit) ReleaseRetained(ctx context.Context, h ledger.Holding) error {
	record := &ipamv1.IPAllocation{}
	if err := e.Live.Get(ctx, h.Record, record); err != nil {
		return client.IgnoreNotFound(err)
	}
	if predicates.IsMoving(record) {
		return nil
	}
	return e.Ledger.Out().Release(ctx, h)
}

// ReleaseReserved gives up what stands for a claim that has moved, and is back: its own record says the same now. The caller has proved
// that.
func (e *Exit) ReleaseReserved(ctx context.Context, h ledger.Holding) error {
	return e.Ledger.Out().Drop(ctx, h)
}

// Retain releases what a claim had, of which ClaimDeleted is proved, and keeps it for the next claim of the name.
func (e *Exit) Retain(ctx context.Context, h ledger.Holding) error {
	return e.Ledger.Out().Retain(ctx, h)
}

// DropRepeats deletes second records of a claim that say the same as an older one, and says whether there were any. It judges each once more
// before, and needs no proof.
func (e *Exit) DropRepeats(ctx context.Context, claim ipamv1.ClaimReference) (bool, error) {
	repeats := e.Ledger.Repeats(claim)
	errs := make([]error, 0, len(repeats))
	for _, h := range repeats {
		errs = append(errs, e.Ledger.Out().DropRepeat(ctx, h))
	}
	return len(repeats) > 0, errors.Join(errs...)
}

// TakeAlong marks the record of a claim as moved: a live read has shown that the claim has moved to another cluster.
func (e *Exit) TakeAlong(ctx context.Context, h ledger.Holding) error {
	return e.Ledger.Out().TakeAlong(ctx, h)
}

// Hold puts a reservation in that namespace into the place of a record that moves away, as a live read has shown.
func (e *Exit) Hold(ctx context.Context, h ledger.Holding, namespace string) error {
	return e.Ledger.Out().Hold(ctx, h, namespace)
}

// ReleaseUnwanted gives up what stands for a claim that has moved, and that somebody has deleted.
func (e *Exit) ReleaseUnwanted(ctx context.Context, h ledger.Holding) error {
	if lives, err := e.lives(ctx, h.Claim); lives || err != nil {
		return err
	}
	return e.Ledger.Out().Release(ctx, h)
}

// ReleaseBlock gives up a block that its pool does not have any more: a root's own is free at once, and so is what a carved pool shrinks by. The
// block of a carved pool that is gone cools down if the parent says so, and somebody may have had it.
func (e *Exit) ReleaseBlock(ctx context.Context, block ledger.Holding, proof Proof) error {
	switch {
	case proof == Untold || block.Purpose != ledger.ForChildPool:
		return e.Ledger.Out().Drop(ctx, block)
	case proof == PoolShrunk:
		return e.releaseShrunk(ctx, block)
	default:
		return e.Ledger.Out().Release(ctx, block)
	}
}

// releaseShrunk gives up a block that its pool has no more, unless it is just moving away with what was handed out of it.
func (e *Exit) releaseShrunk(ctx context.Context, block ledger.Holding) error {
	record := &ipamv1.IPAllocation{}
	if err := e.Live.Get(ctx, block.Record, record); err != nil {
		return client.IgnoreNotFound(err)
	}
	if kept, err := e.isKept(ctx, record); kept || err != nil {
		return err
	}
	return e.Ledger.Out().DropBlock(ctx, block)
}

// isKept says whether a record must stay for now: clusterctl moves it or has moved its claim, or its Cluster is paused.
func (e *Exit) isKept(ctx context.Context, record *ipamv1.IPAllocation) (bool, error) {
	if predicates.IsMoving(record) || IsReservation(record) {
		return true, nil
	}
	return IsClusterPaused(ctx, e.Live, record)
}

// IsReservation says whether a record stands for what a claim took along to another cluster. It does until somebody deletes it.
func IsReservation(record *ipamv1.IPAllocation) bool {
	return record.Spec.State == ipamv1.MovedState && record.DeletionTimestamp.IsZero() && record.Spec.ReleasedAt.IsZero()
}

// IsClusterPaused says whether the Cluster in an object's label is there and paused.
func IsClusterPaused(ctx context.Context, reader client.Reader, obj metav1.Object) (bool, error) {
	cluster, err := Cluster(ctx, reader, obj.GetNamespace(), obj.GetLabels()[clusterv1.ClusterNameLabel])
	return cluster != nil && predicates.IsPaused(cluster, obj), err
}

// lives asks the API server whether there is an object of that kind and UID still: somebody else may have marked its record as released. One
// that this manager may not read counts as living.
func (e *Exit) lives(ctx context.Context, claim ipamv1.ClaimReference) (bool, error) {
	mapping, err := e.Client.RESTMapper().RESTMapping(claim.GroupKind())
	if meta.IsNoMatchError(err) {
		return false, nil // what has no kind has gone with it
	} else if err != nil {
		return false, fmt.Errorf("looking up kind %s: %w", claim.GroupKind(), err)
	}
	live := &metav1.PartialObjectMetadata{}
	live.SetGroupVersionKind(mapping.GroupVersionKind)
	err = e.Live.Get(ctx, client.ObjectKey{Namespace: claim.Namespace, Name: claim.Name}, live)
	if apierrors.IsForbidden(err) {
		return true, nil // nobody can say that it has gone
	}
	return err == nil && string(live.GetUID()) == claim.UID, client.IgnoreNotFound(err)
}
