// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/book"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/records"
)

// What cools down in a namespace that ends gets a record in the manager's namespace by the same steps:
// a namespace waits for its records, a cooldown does not wait for it.
//
// What clusterctl moves to another cluster out of a pool that stays is held here: admission leaves
// the record its finalizer, so that it stays, marked, and the prefix taken. Hold then puts a record
// of purpose Moved in its place:
//
//	record, marked and kept -> hold stored -> the record's finalizer off
//
// Dying in between leaves both, and both keep the prefix. There is nothing to judge: what else
// overlaps came after the record. For a record that has lost nothing is held. A hold that was stored
// after its record had gone goes again: another manager had seen to that, and what it held may have
// been given up since. Whoever lets a record go on the strength of that hold does so later than it
// was stored. While a late hold is there, a record that has won since may be judged anew: so a hold
// is no older than itself, and no reason to delete what was made before it.

// TakeAlong marks a record for deletion as clusterctl marks what it moves: its claim has moved to
// another cluster, which the caller has read live, and the record has not. Like what clusterctl has
// marked, it keeps its prefix until Hold has put a hold in its place.
func (o Out) TakeAlong(ctx context.Context, h Holding) error {
	p := o.l.patchOf(h.Version)
	p.Metadata.Annotations = map[string]string{clusterctlv1.DeleteForMoveAnnotation: "", ipamv1.MovedAnnotation: h.Claim.UID}
	marked, err := o.l.patch(ctx, h.Version, p)
	if err != nil {
		return err
	}
	record := &ipamv1.IPAllocation{ObjectMeta: metav1.ObjectMeta{Namespace: marked.Key.Namespace, Name: marked.Key.Name}}
	return o.l.deleteError(marked, o.l.client.Delete(ctx, record, client.Preconditions{UID: &marked.UID, ResourceVersion: &marked.Version}))
}

// Hold keeps the prefix of a record for the claim that has moved away with it, or until it has cooled
// down, and lets the record itself go. The caller has read live that the record is being deleted
// because it moves, or while it cools down. Of one that can never have been committed nothing is kept.
func (o Out) Hold(ctx context.Context, h Holding, namespace string) error {
	key := types.NamespacedName{Namespace: namespace, Name: holdName(h)}
	mark := &records.Record{CIDR: h.CIDR, Space: h.Space}
	hold := newRecord(o.l.instance, Claim{Ref: h.Claim, Alias: h.Alias, Pool: h.Pool, Purpose: h.Purpose, DelegatedTo: h.Member}, key, mark)
	if isCooling := !h.ReleasedAt.IsZero() && !h.Retained; isCooling { // no claim comes back with it: it goes on cooling down
		hold.Spec.ReleasedAt, hold.Spec.State = metav1.NewTime(h.ReleasedAt), ipamv1.CoolingState
	} else {
		hold.Spec.State, hold.Spec.Origin = ipamv1.MovedState, ""
	}
	if ask(o.l.feed, (*book.Book).HasLost, h.Version) {
		return o.letMove(ctx, h, hold)
	}
	going, made := o.l.feed.lookFor(h.Version.Key), o.l.feed.lookFor(key)
	defer o.l.feed.dismiss(going)
	defer o.l.feed.dismiss(made)
	if !ask(o.l.feed, (*book.Book).Has, h.Version) {
		return fmt.Errorf("record %s is gone: %w", h.Version.Key, ErrBusy)
	}
	isNew, err := o.ensureHold(ctx, hold)
	if err != nil {
		return err
	}
	if err = o.letMove(ctx, h, hold); err == nil || !isNew {
		return err
	}
	id := records.IdentityOf(hold)
	if _, awaited := o.l.feed.await(ctx, made, id); awaited != nil || !o.l.feed.wentBefore(going, h.Version, id.Version) {
		return errors.Join(err, awaited)
	}
	return errors.Join(err, o.l.delete(ctx, id))
}

// letMove takes the ledger's finalizer off the record in whose place the hold is. It is being
// deleted, and goes with its last finalizer: as with letGo, that must be an update.
func (o Out) letMove(ctx context.Context, h Holding, hold *ipamv1.IPAllocation) error {
	a, err := o.l.stored(ctx, h.Version)
	if err != nil {
		return err
	}
	a.Finalizers = records.ForeignFinalizers(a)
	metav1.SetMetaDataAnnotation(&a.ObjectMeta, ipamv1.HeldAnnotation, hold.Name)
	return changeError(h.Version, o.l.client.Update(ctx, a, fieldOwner))
}

// holdName is made of the whole UID of the record: holds of all namespaces are in one.
func holdName(h Holding) string {
	stem := strings.TrimRight(h.Claim.Name[:min(len(h.Claim.Name), maxHoldStem)], "-.")
	return stem + "-moved-" + strings.ToLower(string(h.Version.UID))
}

// maxHoldStem leaves room in a hold's name for a UID, of up to 128 characters.
const maxHoldStem = 100

// ensureHold stores a hold, and says whether it did. One that is there already must say the same,
// and stand.
func (o Out) ensureHold(ctx context.Context, hold *ipamv1.IPAllocation) (isNew bool, err error) {
	want := hold.Spec
	err = o.l.client.Create(ctx, hold, fieldOwner)
	switch {
	case err == nil:
		return true, nil
	case !apierrors.IsAlreadyExists(err):
		return false, fmt.Errorf("creating IPAllocation: %w", err)
	}
	if err := o.l.client.Get(ctx, client.ObjectKeyFromObject(hold), hold); err != nil {
		return false, fmt.Errorf("getting IPAllocation: %w", err)
	}
	got := hold.Spec
	if got.ClaimRef != want.ClaimRef || got.CIDR != want.CIDR || got.PoolRef.Canonical() != want.PoolRef || got.Purpose != want.Purpose || (got.State == ipamv1.MovedState) != (want.State == ipamv1.MovedState) ||
		got.DelegatedTo != want.DelegatedTo || got.AddressSpace != want.AddressSpace || got.ReleasedAt.IsZero() != want.ReleasedAt.IsZero() || !hold.DeletionTimestamp.IsZero() {
		return false, fmt.Errorf("IPAllocation %s/%s is in the way of a hold: %w", hold.Namespace, hold.Name, ErrBusy)
	}
	return false, nil
}
