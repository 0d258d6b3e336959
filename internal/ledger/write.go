// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// touchedAnnotation changes with every write that must show in the watch: a manager takes the record over, or proves that
// its index is current.
const touchedAnnotation = "ipam.weir.dev/touched"

// fieldOwner is on every write, so that one of somebody else's can be told.
const fieldOwner = client.FieldOwner(ipamv1.FieldManager)

// maxNameStem leaves room in a record's name for the hash and the random part: a name has 253 characters at most.
const maxNameStem = 220

// recordName is the name for the first attempt at a claim: two managers that answer the same claim at once collide here
// already, before either has a second record.
func recordName(claim, uid string) string {
	sum := sha256.Sum256([]byte(uid))
	return nameStem(claim) + hex.EncodeToString(sum[:5])
}

// nameStem is what the names of all records for claims of that name begin with.
func nameStem(claim string) string {
	return strings.TrimRight(claim[:min(len(claim), maxNameStem)], "-.") + "-"
}

// nextRecordName is a name for a further attempt, never used before.
func nextRecordName(claim, uid string) string {
	return recordName(claim, uid) + "-" + rand.String(8)
}

func newRecord(instance string, c Claim, key types.NamespacedName, mark *record) *ipamv1.IPAllocation {
	return &ipamv1.IPAllocation{
		ObjectMeta: metav1.ObjectMeta{
			Namespace:       key.Namespace,
			Name:            key.Name,
			Labels:          c.Labels,
			Finalizers:      []string{ipamv1.AllocationFinalizer},
			OwnerReferences: c.Owners,
		},
		Spec: ipamv1.IPAllocationSpec{
			PoolRef:      c.Pool,
			AddressSpace: mark.space.name,
			CIDR:         mark.cidr.String(),
			ClaimRef:     c.Ref,
			Purpose:      c.Purpose,
			Manager:      ipamv1.AllocationManager{Instance: instance},
		},
		Status: ipamv1.IPAllocationStatus{AllocatedCIDR: mark.cidr.String()},
	}
}

func identityOf(a *ipamv1.IPAllocation) identity {
	return identity{
		key:     types.NamespacedName{Namespace: a.Namespace, Name: a.Name},
		uid:     a.UID,
		version: a.ResourceVersion,
		created: creationOf(a),
		foreign: len(foreignFinalizers(a)) > 0,
	}
}

func foreignFinalizers(a *ipamv1.IPAllocation) []string {
	return slices.DeleteFunc(slices.Clone(a.Finalizers), func(f string) bool { return f == ipamv1.AllocationFinalizer })
}

// kept returns what others' finalizers there are on exactly this version of the record: a write of Weir's must leave them.
func (l *Ledger) kept(ctx context.Context, id identity) ([]string, error) {
	if !id.foreign {
		return nil, nil
	}
	a := &ipamv1.IPAllocation{}
	err := l.client.Get(ctx, id.key, a)
	switch {
	case apierrors.IsNotFound(err) || (err == nil && (a.UID != id.uid || a.ResourceVersion != id.version)):
		return nil, fmt.Errorf("record %s has changed: %w", id.key, ErrBusy)
	case err != nil:
		return nil, fmt.Errorf("getting IPAllocation %s: %w", id.key, err)
	}
	return foreignFinalizers(a), nil
}

// patchMetadata is the metadata of a conditional merge patch.
type patchMetadata struct {
	UID             types.UID         `json:"uid"`
	ResourceVersion string            `json:"resourceVersion,omitempty"`
	Annotations     map[string]string `json:"annotations,omitempty"`
	Finalizers      []string          `json:"finalizers,omitempty"`
}

type managerPatch struct {
	Metadata patchMetadata `json:"metadata"`
	Spec     struct {
		Manager ipamv1.AllocationManager `json:"manager"`
		State   ipamv1.AllocationState   `json:"state,omitempty"`
	} `json:"spec"`
}

// setManager makes this manager responsible for a record, if the record is still at the version of r, and
// returns the version made. Like every write it stores the revision of the record's creation, which the
// record's own version no longer says. It always changes the record, so that the watch shows the version
// made, and puts back a finalizer that an interrupted deletion has removed.
func (l *Ledger) setManager(ctx context.Context, r snapshot, state ipamv1.AllocationState) (identity, error) {
	finalizers, err := l.kept(ctx, r.identity)
	if err != nil {
		return identity{}, err
	}
	var p managerPatch
	p.Metadata = patchMetadata{
		UID: r.uid, ResourceVersion: r.version, Annotations: l.touched(), Finalizers: append(finalizers, ipamv1.AllocationFinalizer),
	}
	p.Spec.Manager = ipamv1.AllocationManager{Instance: l.instance, CreatedRevision: r.created}
	p.Spec.State = state
	return l.patch(ctx, r.identity, p)
}

// touch changes a record in nothing but an annotation, so that the watch has something newer to show.
func (l *Ledger) touch(ctx context.Context, r snapshot) (identity, error) {
	var p managerPatch
	p.Metadata = patchMetadata{UID: r.uid, Annotations: l.touched()}
	p.Spec.Manager = ipamv1.AllocationManager{CreatedRevision: r.created}
	return l.patch(ctx, r.identity, p)
}

// touched is an annotation that no version of a record has had before.
func (l *Ledger) touched() map[string]string {
	return map[string]string{touchedAnnotation: l.instance + "/" + rand.String(8)}
}

// patch sends a merge patch that names the UID and, where it must not have changed, the resourceVersion. A record that has changed or gone is ErrBusy.
func (l *Ledger) patch(ctx context.Context, id identity, p any) (identity, error) {
	body, err := json.Marshal(p)
	if err != nil {
		return identity{}, fmt.Errorf("encoding a patch: %w", err)
	}
	a := &ipamv1.IPAllocation{ObjectMeta: metav1.ObjectMeta{Namespace: id.key.Namespace, Name: id.key.Name}}
	err = l.client.Patch(ctx, a, client.RawPatch(types.MergePatchType, body), fieldOwner)
	switch {
	case apierrors.IsConflict(err) || apierrors.IsNotFound(err):
		return identity{}, fmt.Errorf("record %s has changed: %w", id.key, ErrBusy)
	case err != nil:
		return identity{}, fmt.Errorf("patching IPAllocation %s: %w", id.key, err)
	}
	return identityOf(a), nil
}

// drop removes one version of a record: first its finalizer, then the record, each on condition that nobody has changed
// it since. A terminating record that still has the finalizer was therefore marked by somebody else, and stays taken. One
// with somebody else's finalizer stays taken until that is gone, too.
func (l *Ledger) drop(ctx context.Context, id identity) error {
	_, err := l.remove(ctx, id)
	return err
}

// remove does what drop says, and tells whether it was this call that took the record away.
func (l *Ledger) remove(ctx context.Context, id identity) (bool, error) {
	finalizers, err := l.kept(ctx, id)
	if err != nil {
		return false, err
	}
	patch := map[string]any{"metadata": map[string]any{"uid": id.uid, "resourceVersion": id.version, "finalizers": finalizers}}
	if id.created != "" {
		patch["spec"] = map[string]any{"manager": map[string]any{"createdRevision": id.created}}
	}
	body, err := json.Marshal(patch)
	if err != nil {
		return false, fmt.Errorf("encoding a patch: %w", err)
	}
	a := &ipamv1.IPAllocation{ObjectMeta: metav1.ObjectMeta{Namespace: id.key.Namespace, Name: id.key.Name}}
	err = l.client.Patch(ctx, a, client.RawPatch(types.MergePatchType, body), fieldOwner)
	if err != nil {
		return false, l.dropError(id, err)
	}
	if slices.Contains(a.Finalizers, ipamv1.AllocationFinalizer) { // admission has put it back: the record moves, and is held
		return false, fmt.Errorf("record %s is leaving: %w", id.key, ErrBusy)
	}
	drops.Inc()
	err = l.client.Delete(ctx, a, client.Preconditions{UID: &id.uid, ResourceVersion: ptr.To(a.ResourceVersion)})
	if err == nil {
		l.index.leave(id)
	}
	err = l.dropError(id, err)
	return err == nil, err
}

func (l *Ledger) dropError(id identity, err error) error {
	switch {
	case err == nil || apierrors.IsNotFound(err):
		return nil
	case apierrors.IsConflict(err):
		return fmt.Errorf("record %s has changed: %w", id.key, ErrBusy)
	default:
		return fmt.Errorf("deleting IPAllocation %s: %w", id.key, err)
	}
}
