// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claimant

import (
	"context"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
)

// Observation reads from the API server, keeps what it was shown, and proves things by that alone.
// What it is to prove something of must be known before it begins. So nothing counts as gone that
// came after the read.
//
// It is a client.Reader: the code that knows how a claim or its answer is read reads through it. It
// is for one goroutine.
type Observation struct {
	exit *Exit
	// records are the versions of the records that were known before, by UID; claims are the UIDs
	// of the claims and pools that these records, or answers, name.
	records map[types.UID]string
	claims  map[string]bool
	// shown is what the API server has shown; nil where it has shown that there is nothing.
	shown map[place]client.Object
}

// place is where an object is, or would be.
type place struct {
	schema.GroupKind
	client.ObjectKey
}

// Observe begins an observation. The records are what the ledger has shown so far. An answer names
// claims, too: its owners.
func (e *Exit) Observe(records []ledger.Holding, answers ...client.Object) *Observation {
	o := &Observation{exit: e, records: map[types.UID]string{}, claims: map[string]bool{}, shown: map[place]client.Object{}}
	for _, h := range records {
		o.records[h.Version.UID] = h.Version.Version
		o.claims[h.Claim.UID] = true
	}
	for _, answer := range answers {
		for _, owner := range answer.GetOwnerReferences() {
			o.claims[string(owner.UID)] = true
		}
	}
	return o
}

// Get implements client.Reader.
func (o *Observation) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	kind, err := o.exit.Client.GroupVersionKindFor(obj)
	if err != nil {
		return fmt.Errorf("reading %s: %w", key, err)
	}
	at := place{kind.GroupKind(), key}
	err = o.exit.Live.Get(ctx, key, obj, opts...)
	switch {
	case err == nil:
		o.shown[at], _ = obj.DeepCopyObject().(client.Object)
	case apierrors.IsNotFound(err):
		o.shown[at] = nil
	default:
		delete(o.shown, at)
	}
	return err
}

// List implements client.Reader. That something is not in a list proves nothing.
func (o *Observation) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	if err := o.exit.Live.List(ctx, list, opts...); err != nil {
		return err
	}
	return meta.EachListItem(list, func(item runtime.Object) error {
		kind, err := o.exit.Client.GroupVersionKindFor(item)
		if obj, ok := item.DeepCopyObject().(client.Object); ok && err == nil {
			o.shown[place{kind.GroupKind(), client.ObjectKeyFromObject(obj)}] = obj
		}
		return err
	})
}

// at returns what was shown under the name of a claim, or a pool; nil if there is nothing, and
// false if the name was not read.
func (o *Observation) at(claim ipamv1.ClaimReference) (client.Object, bool) {
	obj, looked := o.shown[place{claim.GroupKind(), client.ObjectKey{Namespace: claim.Namespace, Name: claim.Name}}]
	return obj, looked
}

// object returns the very claim, or pool, as it was shown; nil if it was not.
func (o *Observation) object(claim ipamv1.ClaimReference) client.Object {
	obj, _ := o.at(claim)
	if obj == nil || claim.UID == "" || string(obj.GetUID()) != claim.UID {
		return nil
	}
	return obj
}

// copyOf returns what was shown of an object that the caller has read; nil if that was not through
// the observation.
func (o *Observation) copyOf(obj client.Object) client.Object {
	kind, err := o.exit.Client.GroupVersionKindFor(obj)
	if err != nil {
		return nil
	}
	shown := o.shown[place{kind.GroupKind(), client.ObjectKeyFromObject(obj)}]
	if shown == nil || shown.GetUID() != obj.GetUID() {
		return nil
	}
	return shown
}

// record returns a record as it was shown; nil if it was not.
func (o *Observation) record(h ledger.Holding) *ipamv1.IPAllocation {
	record, _ := o.shown[place{recordKind, h.Record}].(*ipamv1.IPAllocation)
	return record
}

// knew reports whether this very version of a record was known before.
func (o *Observation) knew(h ledger.Holding) bool {
	version, ok := o.records[h.Version.UID]
	return ok && version == h.Version.Version
}
