// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"encoding/json"
	"fmt"
	"slices"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/records"
)

// fieldOwner is on every write, so that one of somebody else's can be told.
const fieldOwner = client.FieldOwner(ipamv1.FieldManager)

func newRecord(instance string, c Claim, key types.NamespacedName, mark *records.Record) *ipamv1.IPAllocation {
	a := &ipamv1.IPAllocation{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       key.Namespace,
			Name:            key.Name,
			Labels:          c.Labels,
			Finalizers:      []string{ipamv1.AllocationFinalizer},
			OwnerReferences: c.Owners,
		},
		Spec: ipamv1.IPAllocationSpec{
			PoolRef:      c.Pool,
			AddressSpace: mark.Space,
			CIDR:         mark.CIDR.String(),
			ClaimRef:     c.Ref,
			ClaimAlias:   c.Alias,
			Manager:      ipamv1.AllocationManager{Instance: instance},
			DelegatedTo:  c.DelegatedTo,
			External:     ipamv1.ExternalReference{ID: c.ExternalID},
		},
		Status: ipamv1.IPAllocationStatus{AllocatedCIDR: mark.CIDR.String()},
	}
	c.Purpose.Write(&a.Spec)
	return a
}

// writer is the only writer of IPAllocations.
type writer struct {
	reader
	client   client.WithWatch
	instance string
	clock    clock.PassiveClock
}

// kept returns what others' finalizers there are on exactly this version of the record: a write of
// Weir's must leave them.
func (l *writer) kept(ctx context.Context, id records.Identity) ([]string, error) {
	if !id.Foreign {
		return nil, nil
	}
	a, err := l.stored(ctx, id)
	if err != nil {
		return nil, err
	}
	return records.ForeignFinalizers(a), nil
}

// stored returns exactly this version of the record. One that has changed or gone is ErrBusy.
func (l *writer) stored(ctx context.Context, id records.Identity) (*ipamv1.IPAllocation, error) {
	a := &ipamv1.IPAllocation{}
	err := l.client.Get(ctx, id.Key, a)
	switch {
	case apierrors.IsNotFound(err) || (err == nil && (a.UID != id.UID || a.ResourceVersion != id.Version)):
		return nil, fmt.Errorf("record %s has changed: %w", id.Key, ErrBusy)
	case err != nil:
		return nil, fmt.Errorf("getting IPAllocation %s: %w", id.Key, err)
	}
	return a, nil
}

// recordPatch is a conditional merge patch of a record: what is absent from it stays as it is.
type recordPatch struct {
	Metadata struct {
		UID             types.UID         `json:"uid"`
		ResourceVersion string            `json:"resourceVersion,omitempty"`
		Annotations     map[string]string `json:"annotations,omitempty"`
		Labels          map[string]string `json:"labels,omitempty"`
		Finalizers      []string          `json:"finalizers,omitempty"`
		// OwnerReferences that are none, as against absent, take all owners away.
		OwnerReferences *[]metav1.OwnerReference `json:"ownerReferences,omitempty"`
	} `json:"metadata"`
	Spec struct {
		Manager    ipamv1.AllocationManager `json:"manager"`
		State      ipamv1.AllocationState   `json:"state,omitempty"`
		ReleasedAt *metav1.Time             `json:"releasedAt,omitempty"`
		External   ipamv1.ExternalReference `json:"external,omitzero"`
	} `json:"spec"`
}

// patchOf returns what all patches of that version of a record say. Each stores the revision of the
// record's creation, which the record's own version no longer says then, and changes the record, so
// that the watch shows the version made.
func (l *writer) patchOf(id records.Identity) (p recordPatch) {
	p.Metadata.UID, p.Metadata.ResourceVersion = id.UID, id.Version
	p.Metadata.Annotations = map[string]string{records.TouchedAnnotation: l.instance + "/" + rand.String(8)}
	p.Spec.Manager.CreatedRevision = id.Created
	return p
}

// patchByManager returns a patch that makes this manager responsible for the record. It puts back a
// finalizer that an interrupted deletion has removed.
func (l *writer) patchByManager(ctx context.Context, id records.Identity) (recordPatch, error) {
	var err error
	p := l.patchOf(id)
	p.Metadata.Finalizers, err = l.kept(ctx, id)
	p.Metadata.Finalizers = append(p.Metadata.Finalizers, ipamv1.AllocationFinalizer)
	p.Spec.Manager.Instance = l.instance
	return p, err
}

// setManager makes this manager responsible for a record, if the record is still at that version,
// and returns the version made.
func (l *writer) setManager(ctx context.Context, id records.Identity, state ipamv1.AllocationState) (records.Identity, error) {
	p, err := l.patchByManager(ctx, id)
	if err != nil {
		return records.Identity{}, err
	}
	p.Spec.State = state
	return l.patch(ctx, id, p)
}

// own does so, and gives the record owners and labels, and the id of what backs it outside, if that is known.
func (l *writer) own(ctx context.Context, id records.Identity, c Claim) (records.Identity, error) {
	p, err := l.patchByManager(ctx, id)
	if err != nil {
		return records.Identity{}, err
	}
	p.Metadata.Labels, p.Metadata.OwnerReferences = c.Labels, &c.Owners
	p.Spec.External.ID = c.ExternalID
	return l.patch(ctx, id, p)
}

// touch changes a record in nothing but an annotation, at whatever version, so that the watch has
// something newer to show.
func (l *writer) touch(ctx context.Context, id records.Identity) (records.Identity, error) {
	p := l.patchOf(id)
	p.Metadata.ResourceVersion = ""
	return l.patch(ctx, id, p)
}

// patch sends a merge patch that names the UID and, where it must not have changed, the
// resourceVersion. A record that has changed or gone is ErrBusy.
func (l *writer) patch(ctx context.Context, id records.Identity, p any) (records.Identity, error) {
	body, err := json.Marshal(p)
	if err != nil {
		return records.Identity{}, fmt.Errorf("encoding a patch: %w", err)
	}
	a := &ipamv1.IPAllocation{ObjectMeta: metav1.ObjectMeta{Namespace: id.Key.Namespace, Name: id.Key.Name}}
	if err := changeError(id, l.client.Patch(ctx, a, client.RawPatch(types.MergePatchType, body), fieldOwner)); err != nil {
		return records.Identity{}, err
	}
	return records.IdentityOf(a), nil
}

// changeError translates the error of a write that was on condition of the record's version.
func changeError(id records.Identity, err error) error {
	switch {
	case apierrors.IsConflict(err) || apierrors.IsNotFound(err):
		return fmt.Errorf("record %s has changed: %w", id.Key, ErrBusy)
	case err != nil:
		return WriteError(fmt.Sprintf("IPAllocation %s could not be changed", id.Key), err)
	}
	return nil
}

// delete deletes one version of a record: first its finalizer, then the record, each on condition
// that nobody has changed it since. A terminating record that still has the finalizer was therefore
// marked by somebody else, and stays taken. One with somebody else's finalizer stays taken until
// that is gone, too.
func (l *writer) delete(ctx context.Context, id records.Identity) error {
	_, err := l.deleteOnce(ctx, id)
	return err
}

// deleteOnce does so, and says whether it was this call that deleted the record.
func (l *writer) deleteOnce(ctx context.Context, id records.Identity) (bool, error) {
	remove := l.unfinalize
	if id.Terminating {
		remove = l.letGo
	}
	a, err := remove(ctx, id)
	if err != nil {
		return false, l.deleteError(id, err)
	}
	if slices.Contains(a.Finalizers, ipamv1.AllocationFinalizer) { // admission has put it back: the record moves, and is held
		return false, fmt.Errorf("record %s is leaving: %w", id.Key, ErrBusy)
	}
	drops.Inc()
	err = l.client.Delete(ctx, a, client.Preconditions{UID: &id.UID, ResourceVersion: ptr.To(a.ResourceVersion)})
	if err == nil {
		l.markDeleted(id)
	}
	err = l.deleteError(id, err)
	return err == nil, err
}

// unfinalize takes Weir's finalizer off that version of a record, and returns the version made.
func (l *writer) unfinalize(ctx context.Context, id records.Identity) (*ipamv1.IPAllocation, error) {
	finalizers, err := l.kept(ctx, id)
	if err != nil {
		return nil, err
	}
	patch := map[string]any{"metadata": map[string]any{"uid": id.UID, "resourceVersion": id.Version, "finalizers": finalizers}}
	if id.Created != "" {
		patch["spec"] = map[string]any{"manager": map[string]any{"createdRevision": id.Created}}
	}
	body, err := json.Marshal(patch)
	if err != nil {
		return nil, fmt.Errorf("encoding a patch: %w", err)
	}
	a := &ipamv1.IPAllocation{ObjectMeta: metav1.ObjectMeta{Namespace: id.Key.Namespace, Name: id.Key.Name}}
	return a, l.client.Patch(ctx, a, client.RawPatch(types.MergePatchType, body), fieldOwner)
}

// letGo does so with a terminating record, which goes with its last finalizer. That must be an
// update, which names the UID: after a patch the API server would remove whatever has the name by
// then, and the claim may have got another record of this name.
func (l *writer) letGo(ctx context.Context, id records.Identity) (*ipamv1.IPAllocation, error) {
	a, err := l.stored(ctx, id)
	if err != nil {
		return nil, err
	}
	a.Finalizers = records.ForeignFinalizers(a)
	if id.Created != "" {
		a.Spec.Manager.CreatedRevision = id.Created
	}
	return a, l.client.Update(ctx, a, fieldOwner)
}

func (l *writer) markDeleted(id records.Identity) {
	defer l.feed.lock()()
	l.feed.book.MarkDeleted(id)
}

func (l *writer) deleteError(id records.Identity, err error) error {
	switch {
	case err == nil || apierrors.IsNotFound(err):
		return nil
	case apierrors.IsConflict(err):
		return fmt.Errorf("record %s has changed: %w", id.Key, ErrBusy)
	default:
		return fmt.Errorf("deleting IPAllocation %s: %w", id.Key, err)
	}
}

// createError translates a refused create. The name is taken when another manager is answering the
// same claim.
func (l *writer) createError(err error) error {
	if apierrors.IsAlreadyExists(err) {
		return fmt.Errorf("another manager is answering the claim: %w", ErrBusy)
	}
	return WriteError("the IPAllocation could not be created", err)
}
