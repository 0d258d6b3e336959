// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package rehearsal

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claimant"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/clusterapi"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/doors"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
)

// reading reads the records that a decision about a claim goes by: those of its pool and of the pools above, and those of its name.
type reading struct {
	client   client.Client
	registry *pools.Registry
	// open are the extensions whose pools are not other providers'.
	open []doors.Extension
	// unread is why not all could be read: the API server forbids it to the user.
	unread claimant.Unread

	records map[types.UID]*ipamv1.IPAllocation
	// beside are the pools of which only the records in their own namespaces could be read, and why.
	beside map[ipamv1.PoolReference]error
	// revision is the oldest one that a list showed.
	revision string
	// space is the address space of the pools; "" if that is not known.
	space string
}

// reading returns what reads for one question, or for several of one moment.
func (s *Stage) reading(c client.Client, registry *pools.Registry) *reading {
	return &reading{
		client: c, registry: registry, open: s.extensions(), records: map[types.UID]*ipamv1.IPAllocation{}, beside: map[ipamv1.PoolReference]error{},
	}
}

// listedPool is a pool of which records are read.
type listedPool struct {
	ref ipamv1.PoolReference
	// children is how many pools are carved from it, by its status.
	children int
}

// ledger returns a ledger of the records. A claim that names no pool of Weir's has no reference.
func (r *reading) ledger(ctx context.Context, pool ipamv1.PoolReference, of types.NamespacedName, now time.Time) (*ledger.Ledger, error) {
	line, err := r.line(ctx, pool)
	if err != nil {
		return nil, err
	}
	for _, p := range line {
		if err = r.listOf(ctx, p.ref); err != nil {
			return nil, err
		}
	}
	if err = r.list(ctx, of.Namespace, client.MatchingFields{"spec.claimRef.name": of.Name}); missed(&r.unread.Records, err) != nil {
		return nil, err
	}
	r.unread.Records = cmp.Or(r.unread.Records, r.lackOf(line))
	book, err := ledger.Offline(slices.Collect(maps.Values(r.records)), r.revision, now)
	if err != nil {
		return nil, err
	}
	return book, r.noteForeign(ctx, book)
}

// line returns a pool and those above it, as far as they are there and may be read.
func (r *reading) line(ctx context.Context, ref ipamv1.PoolReference) (found []listedPool, err error) {
	for range ledger.Deepest + 1 {
		stored, isPool := r.registry.NewPool(ref.GroupKind()).(pools.Object)
		if !isPool || ref.Name == "" {
			return found, nil
		}
		found = append(found, listedPool{ref: ref})
		err = r.client.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, stored)
		switch {
		case err == nil:
		case isAbsent(err), apierrors.IsForbidden(err): // whoever asks for what the pool offers is told
			return found, nil
		default:
			return nil, fmt.Errorf("reading %s %s: %w", ref.Kind, ref.Name, err)
		}
		if own, isOwn := stored.(pools.Own); isOwn {
			found[len(found)-1].children = int(ptr.Deref(own.PoolStatus().Children, 0))
		}
		if err = r.readHome(ctx, stored); err != nil {
			return nil, err
		}
		says := r.registry.Says(stored)
		r.space = says.Space
		if !says.IsCarved() {
			return found, nil
		}
		ref = says.Parent
	}
	return found, nil
}

// readHome reads what tells this cluster from others, once a pool says where it is at home.
func (r *reading) readHome(ctx context.Context, pool client.Object) (err error) {
	if r.registry.Home != "" || pool.GetAnnotations()[ipamv1.HomeAnnotation] == "" {
		return nil
	}
	if r.registry.Home, err = home(ctx, r.client); err != nil && missed(&r.unread.Records, err) != nil {
		return fmt.Errorf("reading what tells this cluster from others: %w", err)
	}
	return nil
}

// listOf reads the records of a pool in all namespaces: the block of a pool that is carved from it is recorded beside that one. Where the user may
// not, it reads the records beside the pool, its own block's among them.
func (r *reading) listOf(ctx context.Context, pool ipamv1.PoolReference) error {
	itsRecords := client.MatchingFields{"spec.poolRef.name": pool.Name, "spec.poolRef.namespace": pool.Namespace}
	err := r.list(ctx, "", itsRecords)
	if apierrors.IsForbidden(err) && pool.Namespace != "" {
		r.beside[pool] = err
		err = r.list(ctx, pool.Namespace, itsRecords)
		if err == nil {
			err = r.list(ctx, pool.Namespace, client.MatchingFields{"spec.claimRef.name": pool.Name})
		}
	}
	return missed(&r.unread.Records, err)
}

// lackOf returns why records of pools were not read: only those beside a pool could be, and its status counts more pools that are carved from it.
// It is asked once all lists are read.
func (r *reading) lackOf(line []listedPool) error {
	for _, p := range line {
		blocks := map[string]struct{}{}
		for _, a := range r.records {
			if a.Spec.Purpose == ipamv1.PoolBlockPurpose && !a.Spec.IsRootBlock() && a.Spec.PoolRef.Canonical() == p.ref {
				blocks[a.Spec.CIDR] = struct{}{}
			}
		}
		if len(blocks) < p.children && r.beside[p.ref] != nil {
			return r.beside[p.ref]
		}
	}
	return nil
}

// list reads records, in one namespace or ("") all. That this is forbidden is returned in the API server's words.
func (r *reading) list(ctx context.Context, namespace string, matching client.MatchingFields) error {
	list := &ipamv1.IPAllocationList{}
	err := r.client.List(ctx, list, client.InNamespace(namespace), matching)
	switch {
	case apierrors.IsForbidden(err):
		return err
	case err != nil:
		return fmt.Errorf("listing IPAllocations: %w", err)
	}
	for i := range list.Items {
		r.records[list.Items[i].UID] = &list.Items[i]
	}
	if order, err := resourceversion.CompareResourceVersion(list.ResourceVersion, r.revision); r.revision == "" || err == nil && order < 0 {
		r.revision = list.ResourceVersion
	}
	return nil
}

// noteForeign tells the ledger what other providers have handed out, which counts in the address space default.
func (r *reading) noteForeign(ctx context.Context, book *ledger.Ledger) error {
	if !r.isShared() {
		return nil
	}
	others, err := clusterapi.ListForeign(ctx, r.client, doors.Serves(r.open...))
	if err != nil && !isAbsent(err) && missed(&r.unread.Others, err) != nil {
		return fmt.Errorf("listing IPAddresses: %w", err)
	}
	for i := range others {
		book.NoteForeign(others[i])
	}
	return nil
}

// isShared reports whether the pools' address space may be the one that other providers hand out of.
func (r *reading) isShared() bool { return r.space == "" || r.space == ipamv1.DefaultAddressSpace }

// missed notes that the user may not read something, and returns any other error.
func missed(unread *error, err error) error {
	if !apierrors.IsForbidden(err) {
		return err
	}
	if *unread == nil {
		*unread = err
	}
	return nil
}
