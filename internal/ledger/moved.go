// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/records"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// What clusterctl moves to another cluster out of a pool that stays is held here: admission leaves the record its finalizer, so
// that it stays, marked, and the prefix taken. Hold then puts a record of purpose Moved in its place:
//
//	record, marked and kept -> hold stored -> the record's finalizer off
//
// Dying in between leaves both, and both keep the prefix. There is nothing to judge: what else overlaps came after the record, whose
// age the hold has. For a record that has lost nothing is held. A hold that was stored after its record had gone goes again: another
// manager had seen to that, and what it held may have been given up since. Whoever lets a record go on the strength of that hold does so
// later than it was stored.

// Leaving returns what is handed out of a pool and marked for deletion because it moves away, or is held for what has moved, in no order.
// What lives beside the pool moves with it.
func (l *Ledger) Leaving(pool ipamv1.PoolReference) []Holding {
	l.index.mu.Lock()
	defer l.index.mu.Unlock()
	e, ok := l.index.pools[pool]
	if !ok {
		return nil
	}
	found := make([]Holding, 0, len(e.leaving))
	for marked := range e.leaving {
		r := l.index.records.Get(marked)
		leaves := r.Moving && pool.Namespace != r.Key.Namespace
		if !r.Deleted && (leaves || r.Purpose == ipamv1.MovedPurpose) {
			found = append(found, holdingOf(r))
		}
	}
	return found
}

// TakeAlong marks a record for deletion as clusterctl marks what it moves: its claim has moved to another cluster, which the caller has
// read live, and the record has not. Like what clusterctl has marked, it keeps its prefix until Hold has put a hold in its place.
func (l *Ledger) TakeAlong(ctx context.Context, h Holding) error {
	var p managerPatch
	p.Metadata = patchMetadata{
		UID: h.version.UID, ResourceVersion: h.version.Version, Annotations: map[string]string{clusterctlv1.DeleteForMoveAnnotation: ""},
	}
	p.Spec.Manager = ipamv1.AllocationManager{CreatedRevision: h.version.Created}
	marked, err := l.patch(ctx, h.version, p)
	if err != nil {
		return err
	}
	record := &ipamv1.IPAllocation{ObjectMeta: metav1.ObjectMeta{Namespace: marked.Key.Namespace, Name: marked.Key.Name}}
	return l.dropError(marked, l.client.Delete(ctx, record, client.Preconditions{UID: &marked.UID, ResourceVersion: &marked.Version}))
}

// Hold keeps the prefix of a record for the claim that has moved away with it, and lets the record itself go. The caller has read
// live that the record is being deleted because it moves. Of one that can never have been told to anybody nothing is kept.
func (l *Ledger) Hold(ctx context.Context, h Holding, namespace string) error {
	key := types.NamespacedName{Namespace: namespace, Name: holdName(h)}
	mark := &records.Record{CIDR: h.CIDR, Space: h.space}
	hold := newRecord(l.instance, Claim{Ref: h.Claim, Pool: h.Pool, Purpose: ipamv1.MovedPurpose}, key, mark)
	if !h.ReleasedAt.IsZero() && !h.Retained { // nobody comes back with what cools down: it goes on doing so
		hold.Spec.ReleasedAt, hold.Spec.State = metav1.NewTime(h.ReleasedAt), ipamv1.CoolingState
	}
	hold.Spec.Manager.CreatedRevision = h.version.Created
	if l.index.hasLost(h.version) {
		return l.letMove(ctx, h, hold)
	}
	going, made := l.index.lookFor(h.version.Key), l.index.lookFor(key)
	defer l.index.dismiss(going)
	defer l.index.dismiss(made)
	if !l.index.has(h.version) {
		return fmt.Errorf("record %s is gone: %w", h.version.Key, ErrBusy)
	}
	isNew, err := l.ensureHold(ctx, hold)
	if err != nil {
		return err
	}
	if err = l.letMove(ctx, h, hold); err == nil || !isNew {
		return err
	}
	id := records.IdentityOf(hold)
	if _, awaited := l.index.await(ctx, made, id); awaited != nil || !l.index.wentBefore(going, h.version, id.Version) {
		return errors.Join(err, awaited)
	}
	return errors.Join(err, l.drop(ctx, id))
}

// letMove takes the ledger's finalizer off the record in whose place the hold is.
func (l *Ledger) letMove(ctx context.Context, h Holding, hold *ipamv1.IPAllocation) error {
	finalizers, err := l.kept(ctx, h.version)
	if err != nil {
		return err
	}
	_, err = l.patch(ctx, h.version, map[string]any{"metadata": map[string]any{
		"uid": h.version.UID, "resourceVersion": h.version.Version, "finalizers": finalizers,
		"annotations": map[string]string{ipamv1.HeldAnnotation: hold.Name},
	}})
	return err
}

// has says whether the watch shows the record, at whatever version.
func (x *index) has(id records.Identity) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	r := x.records.At(id.Key)
	return r != nil && r.UID == id.UID
}

// holdingOf returns the record at exactly that version, if the watch shows it.
func (x *index) holdingOf(id records.Identity) (Holding, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	r := x.records.At(id.Key)
	if r == nil || r.UID != id.UID || r.Version != id.Version {
		return Holding{}, false
	}
	return holdingOf(r), true
}

// wentBefore says whether the record, which the watch showed while the waiter waited for it, went before that version of another one was
// made. A list that shows both changes at once does not tell.
func (x *index) wentBefore(w *waiter, id records.Identity, version string) bool {
	if x.has(id) {
		return false
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	order, err := resourceversion.CompareResourceVersion(w.latest, version)
	return err == nil && order < 0
}

// hasLost says whether this very version of a claim's record is overlapped by an older one: then it has never won, for anybody. What
// arrived with its object, or is its own answer, may be in use all the same.
func (x *index) hasLost(id records.Identity) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	r := x.records.At(id.Key)
	switch {
	case r == nil || r.UID != id.UID || r.Version != id.Version || r.Won || r.Released():
		return false
	case r.Purpose != ipamv1.ClaimPurpose || r.Restored || isOwnKind(r):
		return false
	}
	return x.judge(r).outcome == lost
}

// holdName is made of the whole UID of the record: holds of all namespaces are in one.
func holdName(h Holding) string {
	stem := strings.TrimRight(h.Claim.Name[:min(len(h.Claim.Name), maxHoldStem)], "-.")
	return stem + "-moved-" + strings.ToLower(string(h.version.UID))
}

// maxHoldStem leaves room in a hold's name for a UID, of up to 128 characters.
const maxHoldStem = 100

// ensureHold stores a hold, and says whether it did. One that is there already must say the same, and stand.
func (l *Ledger) ensureHold(ctx context.Context, hold *ipamv1.IPAllocation) (isNew bool, err error) {
	want := hold.Spec
	err = l.client.Create(ctx, hold, fieldOwner)
	switch {
	case err == nil:
		return true, nil
	case !apierrors.IsAlreadyExists(err):
		return false, fmt.Errorf("creating IPAllocation: %w", err)
	}
	if err := l.client.Get(ctx, client.ObjectKeyFromObject(hold), hold); err != nil {
		return false, fmt.Errorf("getting IPAllocation: %w", err)
	}
	got := hold.Spec
	if got.ClaimRef != want.ClaimRef || got.CIDR != want.CIDR || got.PoolRef.Canonical() != want.PoolRef || got.Purpose != want.Purpose ||
		got.AddressSpace != want.AddressSpace || got.ReleasedAt.IsZero() != want.ReleasedAt.IsZero() || !hold.DeletionTimestamp.IsZero() {
		return false, fmt.Errorf("IPAllocation %s/%s is in the way of a hold: %w", hold.Namespace, hold.Name, ErrBusy)
	}
	return false, nil
}

// Held returns what is held for an earlier claim of this name, which moved away, at exactly this prefix of the pool. Once the claim has
// its own record of that, it can be dropped. What is held of another pool is somebody else's, whatever its name and prefix.
func (l *Ledger) Held(claim ipamv1.ClaimReference, pool ipamv1.PoolReference, cidr netip.Prefix) []Holding {
	var held []Holding
	for _, r := range l.index.recordsFor(claim) {
		if r.Purpose == ipamv1.MovedPurpose && r.Pool == pool && r.CIDR == cidr && r.Claim.UID != claim.UID && !r.Deleted {
			held = append(held, holdingOf(r))
		}
	}
	return held
}

// Return is what a hold is for, back again: retained, for the next claim of the name. It is not the record that left: that was marked
// before there was a hold.
type Return struct{ Back, Hold Holding }

// EndsHold says whether the hold, made at that time, is not needed any more: the record that is back keeps the prefix, and Drop may drop
// the hold. That holds for what left, and for what another claim of the name let go of later, elsewhere. What was let go of before is a
// copy of an earlier time, which says nothing of the claim that moved away. Both times are known to the second.
func (r Return) EndsHold(made time.Time) bool {
	return r.Back.Claim.UID == r.Hold.Claim.UID || r.Back.ReleasedAt.Sub(made) >= 2*time.Second
}

// Returned returns what may be back of what is held in a pool.
func (l *Ledger) Returned(pool ipamv1.PoolReference) []Return {
	l.index.mu.Lock()
	defer l.index.mu.Unlock()
	e, ok := l.index.pools[pool]
	if !ok {
		return nil
	}
	var found []Return
	for released := range e.released {
		back := l.index.records.Get(released)
		if !back.Retained || back.Terminating || back.Deleted {
			continue
		}
		for _, r := range l.index.records.Of(records.ClaimantOf(back.Claim)) {
			if r.Purpose == ipamv1.MovedPurpose && r.Pool == pool && r.CIDR == back.CIDR && !r.Released() && !r.Terminating && !r.Deleted {
				found = append(found, Return{Back: holdingOf(back), Hold: holdingOf(r)})
			}
		}
	}
	return found
}

// leftBehind returns what has gone, or is just going, to another cluster with the prefix that a claim has won here, if anything has:
// the choice may not have seen it yet. Judging lets it pass, as it lets pass what any namesake has left; by now the index shows all
// that is older than the claim's record. Since that was judged a hold may have taken the place of what it was judged with.
func (x *index) leftBehind(c Claim, mark *records.Record) (Holding, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, r := range x.overlapping(mark.Space, mark.CIDR) {
		isPassed := isPredecessor(r, mark) || holds(r) && r.Pool == mark.Pool && records.ClaimantOf(r.Claim) == records.ClaimantOf(mark.Claim)
		if hasGone(r) && isPassed && !c.returnsTo(r) {
			return holdingOf(r), true
		}
	}
	return Holding{}, false
}

// IsHeldOn says whether a namesake of the claim holds the very same prefix: then nothing is let go of with this record.
func (l *Ledger) IsHeldOn(h Holding) bool { return l.isHeldOn(h) }
