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
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/audit"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/predicates"
)

// Exit is the only way out of the ledger: nothing else releases or deletes a record. A record goes
// for a Reason, which has its proof, and by the rule of that reason.
type Exit struct {
	// Client knows the kinds that the API server has.
	Client client.Client
	// Live reads from the API server.
	Live   client.Reader
	Ledger *ledger.Ledger
	// NewPool returns an empty pool of a kind; nil if there are no pools of that kind. Only the
	// reason PoolGone needs it.
	NewPool func(schema.GroupKind) client.Object
	// Outside gives back what backs records outside of the cluster; nil where nothing does.
	Outside Outside
}

// Release does with a record what its reason says. It reports whether the record has gone, or will:
// what is read live may keep it, or others' finalizers. It errs if the reason is not proved of this
// record, and with a *KeptError while what backs the record outside of the cluster is not given
// back.
//
// A block that a member may use stays, whatever the reason, but for those by which the member uses it
// no more; or another record of a pool of its name keeps the same with that member. So does what this
// cluster has handed back, but for when the hub delegates it here again, or a user deletes the record.
func (e *Exit) Release(ctx context.Context, h ledger.Holding, why Reason) (gone bool, err error) {
	rule, applies, err := e.ruleFor(ctx, h, why)
	if !applies || err != nil {
		return false, err
	}
	record := &ipamv1.IPAllocation{}
	if rule.reads {
		if err := e.Live.Get(ctx, h.Record, record); err != nil {
			return apierrors.IsNotFound(err), client.IgnoreNotFound(err)
		}
	}
	for _, keeps := range rule.keeps {
		if kept, err := keeps(ctx, e, h, record); kept || err != nil {
			return false, err
		}
	}
	gone = true
	if rule.waits {
		hasOurs := slices.Contains(record.Finalizers, ipamv1.AllocationFinalizer)
		if !hasOurs && !record.DeletionTimestamp.IsZero() {
			return false, nil
		}
		gone = hasOurs && len(record.Finalizers) == 1
	}
	if rule.givesBack {
		if err := e.giveBackOne(ctx, h, why.row); err != nil {
			return false, err
		}
	}
	return gone, rule.then(ctx, e, h, why)
}

// ruleFor returns the rule for a record. It errs if the reason is not proved of it, and does not apply
// to a block that a member may use, unless the reason ends that, or another record stands for it.
func (e *Exit) ruleFor(ctx context.Context, h ledger.Holding, why Reason) (_ rule, applies bool, err error) {
	found, isProved := why.ruleFor(h)
	switch {
	case !isProved:
		return found, false, fmt.Errorf("releasing record %s: the reason %q is not proved of it", h.Record, why.row)
	case h.Purpose.IsHandBack():
		return found, found.endsHandBack, nil
	case !h.IsWithMember() || found.endsDelegation:
		return found, true, nil
	}
	superseded, err := e.superseded(ctx, h)
	found.then = deleteBlock
	return found, superseded.covers(h), err
}

// superseded proves it of a record that another one stands for, as the ledger has it.
func (e *Exit) superseded(ctx context.Context, h ledger.Holding) (Superseded, error) {
	other, ok := e.Ledger.StandsFor(h)
	if !ok {
		return Superseded{}, nil
	}
	seen := e.Observe(nil)
	if err := seen.Get(ctx, other.Record, &ipamv1.IPAllocation{}); err != nil {
		return Superseded{}, client.IgnoreNotFound(err)
	}
	return seen.Superseded(h, other), nil
}

// ReleaseEach does so with several records.
func (e *Exit) ReleaseEach(ctx context.Context, records []ledger.Holding, why Reason) error {
	errs := make([]error, 0, len(records))
	for _, h := range records {
		_, err := e.Release(ctx, h, why)
		errs = append(errs, err)
	}
	return errors.Join(errs...)
}

// rule is what one reason does to a record.
type rule struct {
	// reads: the record is read live. One that is not there has gone.
	reads bool
	// keeps are what may keep the record all the same, in the order in which they are asked.
	keeps []keeper
	// waits: as long as others' finalizers are on the record, it has not gone.
	waits bool
	// givesBack: before that, what backs the record outside of the cluster is given back.
	givesBack bool
	// endsDelegation: also a block goes that a member may use. Of every other reason only Superseded
	// makes it go.
	endsDelegation bool
	// endsHandBack: also the record goes that this cluster has let go of a block.
	endsHandBack bool
	// then brings the record to its next state.
	then action
}

// rules is the way out of the ledger as a table. docs/design/ledger.md has it with the proofs.
var rules = map[row]rule{
	claimDeleted:      {then: release},
	claimRetains:      {then: retain},
	claimGone:         {reads: true, keeps: []keeper{moves, isHold, isPaused}, waits: true, givesBack: true, then: releaseOrDelete},
	answerDiscarded:   {then: release},
	answeredOtherwise: {reads: true, keeps: []keeper{moves, isHold, isPaused}, waits: true, givesBack: true, then: release},
	neverCommitted:    {reads: true, keeps: []keeper{moves, isHold, isPaused}, waits: true, givesBack: true, then: deleteRecord},
	repeated:          {then: takeOver},
	claimMoved:        {then: markMoved},
	recordLeaves:      {endsDelegation: true, then: hold},
	recordEvicted:     {reads: true, keeps: []keeper{moves, isPaused}, then: hold},
	holdEnded:         {endsDelegation: true, then: deleteRecord},
	holdDeleted:       {keeps: []keeper{isClaimed}, endsDelegation: true, endsHandBack: true, then: release},
	blockHandedBack:   {endsDelegation: true, then: release},
	blockForced:       {endsDelegation: true, then: releaseByForce},
	handBackEnded:     {endsHandBack: true, then: endHandBack},
	retentionEnded:    {reads: true, keeps: []keeper{moves}, then: release},
	cooledDown:        {reads: true, keeps: []keeper{moves, isHold, isPaused, isClaimed}, then: deleteRecord},
	poolGone:          {reads: true, keeps: []keeper{isHold, movesFromPool}, then: releaseOrDelete},
	poolShrunk:        {reads: true, keeps: []keeper{moves, isHold, isPaused}, then: deleteBlock},
	rootShrunk:        {then: deleteBlock},
}

// keeper asks the API server whether a record must stay for now.
type keeper func(ctx context.Context, e *Exit, h ledger.Holding, record *ipamv1.IPAllocation) (bool, error)

// moves: clusterctl deletes the record because it lives on in another cluster.
func moves(_ context.Context, _ *Exit, _ ledger.Holding, record *ipamv1.IPAllocation) (bool, error) {
	return predicates.IsMoving(record), nil
}

// isHold: the record stands for what a claim took along to another cluster. It does until a user
// deletes it.
func isHold(_ context.Context, _ *Exit, _ ledger.Holding, record *ipamv1.IPAllocation) (bool, error) {
	isHeld := record.Spec.State == ipamv1.MovedState && record.DeletionTimestamp.IsZero() && record.Spec.ReleasedAt.IsZero()
	return isHeld, nil
}

// isPaused: the record's Cluster is paused.
func isPaused(ctx context.Context, e *Exit, _ ledger.Holding, record *ipamv1.IPAllocation) (bool, error) {
	return IsClusterPaused(ctx, e.Live, record)
}

// movesFromPool: clusterctl moves the block of a carved pool, and the pool that it lies in stays.
// What has moved out of that is not to be handed out here.
func movesFromPool(ctx context.Context, e *Exit, _ ledger.Holding, record *ipamv1.IPAllocation) (bool, error) {
	if !predicates.IsMoving(record) || record.Spec.IsRootBlock() {
		return false, nil
	}
	if e.NewPool == nil {
		return true, nil // the pool may be there
	}
	ref := record.Spec.PoolRef
	pool := e.NewPool(ref.GroupKind())
	if pool == nil {
		return false, nil
	}
	err := e.Live.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, pool)
	return err == nil, client.IgnoreNotFound(err)
}

// isClaimed: there is an object of the kind and UID that the record is for. A user may have marked
// the record as released. An object that this manager may not read counts.
func isClaimed(ctx context.Context, e *Exit, h ledger.Holding, _ *ipamv1.IPAllocation) (bool, error) {
	claim := h.Claim
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
		return true, nil // it may be there
	}
	return err == nil && string(live.GetUID()) == claim.UID, client.IgnoreNotFound(err)
}

// IsClusterPaused reports whether the Cluster in an object's label is there and paused.
func IsClusterPaused(ctx context.Context, reader client.Reader, obj metav1.Object) (bool, error) {
	cluster, err := Cluster(ctx, reader, obj.GetNamespace(), obj.GetLabels()[clusterv1.ClusterNameLabel])
	return cluster != nil && predicates.IsPaused(cluster, obj), err
}

// action brings a record to its next state, on condition that it has not changed.
type action func(ctx context.Context, e *Exit, h ledger.Holding, why Reason) error

// release: the record cools down if its pool says so, else it is deleted. The block of a root is
// free at once, and so is what was handed back.
func release(ctx context.Context, e *Exit, h ledger.Holding, why Reason) error {
	if h.Purpose == ledger.ForRoot || h.Purpose.IsHandBack() {
		return deleteRecord(ctx, e, h, why)
	}
	return e.Ledger.Out().Release(ctx, h)
}

// releaseByForce: the block is released, and the trail says that an operator has stated that its member uses
// it no more.
func releaseByForce(ctx context.Context, e *Exit, h ledger.Holding, why Reason) error {
	if err := release(ctx, e, h, why); err != nil || h.Member == "" {
		return err
	}
	audit.ForceReleased(audit.Entry{
		Prefix: h.CIDR, AddressSpace: h.Space, Pool: h.Pool, Claim: h.Claim, Allocation: h.Record, Reason: audit.Forced,
	}, h.Member)
	return nil
}

// releaseOrDelete: the record is deleted if its object was never stored, for no client knows of the
// prefix; else it is released.
func releaseOrDelete(ctx context.Context, e *Exit, h ledger.Holding, why Reason) error {
	if e.Ledger.About(h.Claim).IsUnstored(h) {
		return deleteRecord(ctx, e, h, why)
	}
	return release(ctx, e, h, why)
}

func retain(ctx context.Context, e *Exit, h ledger.Holding, _ Reason) error {
	return e.Ledger.Out().Retain(ctx, h)
}

func deleteRecord(ctx context.Context, e *Exit, h ledger.Holding, _ Reason) error {
	return e.Ledger.Out().Drop(ctx, h)
}

// endHandBack: the record stays, and holds nothing: a copy of its template is never served again.
func endHandBack(ctx context.Context, e *Exit, h ledger.Holding, _ Reason) error {
	return e.Ledger.Out().EndHandBack(ctx, h)
}

func deleteBlock(ctx context.Context, e *Exit, h ledger.Holding, _ Reason) error {
	return e.Ledger.Out().DropBlock(ctx, h)
}

func takeOver(ctx context.Context, e *Exit, h ledger.Holding, _ Reason) error {
	return e.Ledger.Out().DropRepeat(ctx, h)
}

func markMoved(ctx context.Context, e *Exit, h ledger.Holding, _ Reason) error {
	return e.Ledger.Out().TakeAlong(ctx, h)
}

func hold(ctx context.Context, e *Exit, h ledger.Holding, why Reason) error {
	return e.Ledger.Out().Hold(ctx, h, why.namespace)
}
