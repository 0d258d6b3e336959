// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package survey

import (
	"context"
	"fmt"
	"io"
	"net/netip"
	"time"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

var ipallocations = resource{ipamv1.GroupVersion.WithResource("ipallocations"), true}

// Record is what is known of a record of the ledger.
type Record struct {
	// Namespace is "" where the record was read from a table.
	Namespace, Name string
	Prefix          netip.Prefix
	Space           string
	Pool            ipamv1.PoolReference
	// Claim has no UID where the record was read from a table.
	Claim   ipamv1.ClaimReference
	Purpose ipamv1.AllocationPurpose
	State   ipamv1.AllocationState
	// Member is the cluster that the block is delegated to. It is "" where the record was read from a
	// table.
	Member string
	// Cluster is the one that the claim belongs to.
	Cluster             string
	Created, ReleasedAt time.Time
}

// IsBlock reports whether the record is the block of a pool.
func (r *Record) IsBlock() bool { return r.Purpose == ipamv1.PoolBlockPurpose }

// recordOf reads a record from its object.
func recordOf(a *ipamv1.IPAllocation) (Record, error) {
	prefix, err := netip.ParsePrefix(a.Spec.CIDR)
	if err != nil {
		return Record{}, fmt.Errorf("IPAllocation %s/%s: %w", a.Namespace, a.Name, err)
	}
	return Record{
		Namespace: a.Namespace, Name: a.Name, Prefix: prefix, Space: a.Spec.AddressSpace,
		Pool: a.Spec.PoolRef.Canonical(), Claim: a.Spec.ClaimRef, Purpose: a.Spec.Purpose, State: a.Spec.State,
		Member: a.Spec.DelegatedTo, Cluster: a.Labels[clusterNameLabel],
		Created: a.CreationTimestamp.Time, ReleasedAt: a.Spec.ReleasedAt.Time,
	}, nil
}

// RecordsOf passes on the records of one pool, in no order, and returns false if the user may list
// none of them.
func (s *Survey) RecordsOf(ctx context.Context, pool ipamv1.PoolReference, each func(Record)) (isAllowed bool, err error) {
	pool = pool.Canonical()
	fields := "spec.poolRef.name=" + pool.Name + ",spec.poolRef.namespace=" + pool.Namespace
	return s.Records(ctx, fields, func(r Record) {
		if r.Pool == pool {
			each(r)
		}
	})
}

// Records passes on the records that match a field selector, in no order: from a table, which is a
// tenth of the objects, or from these where the API server's table lacks columns. It returns false
// if the user may list none of them.
func (s *Survey) Records(ctx context.Context, fields string, each func(Record)) (isAllowed bool, err error) {
	_, isAllowed, err = s.RecordsAt(ctx, fields, each)
	return isAllowed, err
}

// RecordsAt is Records with the revision of the list; "" if it was read from objects.
func (s *Survey) RecordsAt(ctx context.Context, fields string, each func(Record)) (revision string, isAllowed bool, err error) {
	hasColumns := true
	result, err := s.list(ctx, ipallocations, query{fields: fields, accept: tableAccept, table: true}, func(body io.Reader) (err error) {
		hasColumns, err = readTable(body, &revision, held(each))
		return err
	})
	if err == nil && !hasColumns {
		isAllowed, err = s.recordObjects(ctx, fields, each)
		return "", isAllowed, err
	}
	return revision, result == listed || result == partly, err
}

// MissesRecords reports whether records could not be listed everywhere.
func (s *Survey) MissesRecords() bool { return s.gaps.Misses(ipallocations.GroupResource()) }

// recordObjects passes on the records that match a field selector, from their objects.
func (s *Survey) recordObjects(ctx context.Context, fields string, each func(Record)) (isAllowed bool, err error) {
	var mistake error
	result, err := s.list(ctx, ipallocations, query{fields: fields}, func(body io.Reader) error {
		return readItems(body, func(a *ipamv1.IPAllocation) {
			record, malformed := recordOf(a)
			if malformed != nil {
				mistake = malformed
				return
			}
			held(each)(record)
		})
	})
	if err == nil {
		err = mistake
	}
	return result == listed || result == partly, err
}

// held passes on records, but for those that hold nothing: of hand-backs that have ended.
func held(each func(Record)) func(Record) {
	return func(r Record) {
		if r.State != ipamv1.EndedState {
			each(r)
		}
	}
}
