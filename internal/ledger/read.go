// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"fmt"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// snapshot is a copy of a record, to be read without the index's lock.
type snapshot struct {
	record
	// dispute is another record, where that keeps this one from winning for now. Only recordOf fills it in.
	dispute *Holding
}

func (r snapshot) allocation() Allocation { return Allocation{CIDR: r.cidr, record: r.identity} }

// recordOf returns the claim's record, by UID: the one that has won here, else the first. An asked prefix narrows it. One that
// somebody has marked for deletion is not taken over: it stays taken until the claim is answered otherwise or gone. The record
// that is known to be stuck does not count. One in dispute comes with the record that it is disputed with.
func (x *index) recordOf(c Claim, stuck types.UID) (snapshot, bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	var records []snapshot
	for _, r := range x.records.of(keyOf(c.Ref)) {
		if r.answers(c) && r.uid != stuck {
			records = append(records, snapshot{record: *r, dispute: x.disputeOf(r)})
		}
	}
	for _, r := range records {
		if r.won {
			return r, true
		}
	}
	if len(records) == 0 {
		return snapshot{}, false
	}
	return records[0], true
}

// disputeOf returns what keeps this manager's record from winning, without being reason to drop it.
func (x *index) disputeOf(r *record) *Holding {
	if r.won || r.confirmed || r.instance != x.instance {
		return nil
	}
	v := x.judge(r)
	if v.outcome != blocked {
		return nil
	}
	return &v.by
}

// recordsFor returns the records of all claims of this kind, namespace and name.
func (x *index) recordsFor(claim ipamv1.ClaimReference) []snapshot {
	x.mu.Lock()
	defer x.mu.Unlock()
	records := x.records.of(keyOf(claim))
	found := make([]snapshot, 0, len(records))
	for _, r := range records {
		found = append(found, snapshot{record: *r})
	}
	return found
}

// blocksOf returns the records of the blocks that a pool of this name has, whatever its UID.
func (x *index) blocksOf(pool ipamv1.PoolReference) []snapshot {
	return slices.DeleteFunc(x.recordsFor(ClaimOf(pool, "")), func(r snapshot) bool { return !r.isBlock() || r.released() })
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
		holdings = append(holdings, x.records.get(h).holding())
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
