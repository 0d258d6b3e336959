// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"slices"
	"time"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/records"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/audit"
)

// Cooling returns what claims have let go of in a pool and what is not to be handed out before Drop, in no order: it cools down,
// or is retained.
func (l *Ledger) Cooling(pool ipamv1.PoolReference) []Holding { return l.index.coolingIn(pool) }

// LetGo gives up one record, if it has not changed since it was read: where its pool has a cooldown it begins to cool down,
// else it is dropped. Of a pool that is not known here nobody can say that it has none. The caller has proved what Release
// wants proved.
func (l *Ledger) LetGo(ctx context.Context, h Holding) error {
	if l.Cools(h) && !l.isHeldOn(h) {
		return l.letGo(ctx, h, ipamv1.CoolingState)
	}
	return l.giveUp(ctx, h, audit.Gone)
}

// isHeldOn says whether a namesake of the claim holds the very same prefix, or it is retained for the next: then nothing is let go of. One
// whose object was perhaps never stored holds on to nothing: its record goes without cooling.
func (l *Ledger) isHeldOn(h Holding) bool {
	x := l.index
	x.mu.Lock()
	defer x.mu.Unlock()
	return slices.ContainsFunc(x.records.Of(records.ClaimantOf(h.Claim)), func(r *records.Record) bool {
		isIts := r.Claim.UID != h.Claim.UID && r.CIDR == h.CIDR && r.Pool == h.Pool
		return isIts && (!r.Released() || r.Retained && !r.Terminating) && !r.Deleted && !x.isUnstored(r)
	})
}

// Retain gives up one record, if it has not changed since it was read, and keeps its prefix for the next claim of that name. The
// caller has proved what Release wants proved.
func (l *Ledger) Retain(ctx context.Context, h Holding) error {
	return l.letGo(ctx, h, ipamv1.RetainedState)
}

// Cools says whether a prefix cools down when its claim lets go of it.
func (l *Ledger) Cools(h Holding) bool { return l.index.cools(h) }

// coolPatch takes the owners off a record and says when its claim let go of it.
type coolPatch struct {
	Metadata struct {
		patchMetadata   `json:",inline"`
		Labels          map[string]string       `json:"labels"`
		OwnerReferences []metav1.OwnerReference `json:"ownerReferences"`
	} `json:"metadata"`
	Spec struct {
		ReleasedAt metav1.Time            `json:"releasedAt"`
		State      ipamv1.AllocationState `json:"state"`
		// Manager is left as it was but for the revision: what is absent from a merge patch stays.
		Manager ipamv1.AllocationManager `json:"manager"`
	} `json:"spec"`
}

// letGo stores that the claim has let go of the prefix. The owners go with it, for the garbage collector would take the record
// along with them; clusterctl moves what has no owner by its label.
func (l *Ledger) letGo(ctx context.Context, h Holding, state ipamv1.AllocationState) error {
	id, reason := h.version, audit.Cooling
	if state == ipamv1.RetainedState {
		reason = audit.Retained
	}
	var p coolPatch
	p.Metadata.patchMetadata = patchMetadata{UID: id.UID, ResourceVersion: id.Version, Annotations: l.touched()}
	p.Metadata.Labels = map[string]string{clusterctlv1.ClusterctlMoveLabel: ""}
	p.Spec.ReleasedAt = metav1.NewTime(nextSecond(l.clock.Now()))
	p.Spec.State, p.Spec.Manager.CreatedRevision = state, id.Created
	if _, err := l.patch(ctx, id, p); err != nil {
		return err
	}
	tellReleased(h, reason)
	return nil
}

// nextSecond rounds up to what the API stores, so that no cooldown is cut short.
func nextSecond(t time.Time) time.Time {
	return t.Add(time.Second - time.Nanosecond).Truncate(time.Second)
}

// cools says whether a prefix cools down when it is released, as far as the index knows. What the pool keeps for the very claim
// nobody else gets, so that need not.
func (x *index) cools(h Holding) bool {
	x.mu.Lock()
	defer x.mu.Unlock()
	e, ok := x.pools[h.Pool]
	if !ok || e.pool == nil {
		return true
	}
	own, isKept := e.pool.Shape.KeptFor(h.Claimant())
	return e.pool.Cooldown > 0 && (!isKept || own != h.CIDR)
}

func (x *index) coolingIn(ref ipamv1.PoolReference) []Holding {
	x.mu.Lock()
	defer x.mu.Unlock()
	e, ok := x.pools[ref]
	if !ok {
		return nil
	}
	found := make([]Holding, 0, len(e.released))
	for h := range e.released {
		if r := x.records.Get(h); !r.Deleted {
			found = append(found, holdingOf(r))
		}
	}
	return found
}
