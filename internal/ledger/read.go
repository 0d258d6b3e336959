// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"fmt"
	"slices"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/records"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// recordOf returns the claim's record, by UID: the one that has won here, else the first. An asked prefix narrows it. One that
// somebody has marked for deletion is not taken over: it stays taken until the claim is answered otherwise or gone. The record
// that is known to be stuck does not count. One in dispute comes with the record that it is disputed with.
func (x *index) recordOf(c Claim, stuck types.UID) (found *records.Record, dispute *Holding) {
	x.mu.Lock()
	defer x.mu.Unlock()
	for _, r := range x.records.Of(records.ClaimantOf(c.Ref)) {
		if answers(r, c) && r.UID != stuck && (found == nil || r.Won && !found.Won) {
			found = r
		}
	}
	if found == nil {
		return nil, nil
	}
	return found, x.disputeOf(found)
}

// disputeOf returns what keeps this manager's record from winning, without being reason to drop it.
func (x *index) disputeOf(r *records.Record) *Holding {
	if r.Won || r.Confirmed || r.Instance != x.instance {
		return nil
	}
	v := x.judge(r)
	if v.outcome != blocked {
		return nil
	}
	return &v.by
}

// recordsFor returns the records of all claims of this kind, namespace and name.
func (x *index) recordsFor(claim ipamv1.ClaimReference) []*records.Record {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.records.Of(records.ClaimantOf(claim))
}

// blocksOf returns the records of the blocks that a pool of this name has, whatever its UID.
func (x *index) blocksOf(pool ipamv1.PoolReference) []*records.Record {
	return slices.DeleteFunc(x.recordsFor(ClaimOf(pool, "")), func(r *records.Record) bool { return !isBlock(r.Purpose) || r.Released() })
}

func (x *index) holdings(ref ipamv1.PoolReference) []Holding {
	x.mu.Lock()
	defer x.mu.Unlock()
	e, ok := x.pools[ref]
	if !ok {
		return nil
	}
	records := x.recordsOf(e)
	holdings := make([]Holding, 0, len(records))
	for _, h := range records {
		holdings = append(holdings, holdingOf(x.records.Get(h)))
	}
	return sortHoldings(holdings)
}

// failure returns what broke the index, if anything has: then nothing in it may be told to anybody.
func (x *index) failure() error {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.broken
}

func (x *index) revision() string {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.version
}

// notBefore breaks the index when a write was answered with a revision older than what the watch had shown before it.
func (x *index) notBefore(before, reply string) error {
	if before == "" {
		return nil
	}
	order, err := resourceversion.CompareResourceVersion(reply, before)
	if err == nil && order > 0 {
		return nil
	}
	x.mu.Lock()
	defer x.mu.Unlock()
	x.guard(fmt.Errorf("a write was answered with revision %s after the watch had shown %s: the API server's storage was restored", reply, before))
	return x.broken
}
