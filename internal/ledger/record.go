// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/resourceversion"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// record is what the index keeps of one IPAllocation. The same type stands for the other things that make a prefix unavailable
// for choosing: a tentative choice of this process, what it has proposed to an object under admission, an exclusion of a pool,
// and what a pool keeps for one claim.
//
// It is a copy: the index keeps it in its table, and finds it by its handle.
type record struct {
	identity
	handle handle
	role   roleOf
	cidr   netip.Prefix
	// space and pool are shared by all records of the pool.
	space   *space
	pool    *poolEntry
	claim   ipamv1.ClaimReference
	purpose ipamv1.AllocationPurpose

	// releasedAt is when the claim let go of the prefix, in seconds; 0 while it holds it.
	releasedAt int64
	// seen is when this process first saw the record, or that another manager answers for it, by index.now.
	seen int64
	// instance is the manager that answers for the record.
	instance string

	terminating bool
	confirmed   bool
	// retained: the claim has let go of the prefix, and nobody gets it but the next claim of that name.
	retained bool
	// owned: the record has owner references, so that what it is held for is, or was, a stored object.
	owned bool
	// arrived: somebody else than Weir has made the record: it was moved here, or restored.
	arrived bool
	// moving: clusterctl deletes the record because it has moved it to another cluster.
	moving bool
	// left: this process has dropped the record, and the watch has not shown that yet.
	left bool
	// won is set once this process has judged the record and found it undisputed. It stays true while the record exists.
	won bool
}

type roleOf uint8

const (
	stored roleOf = iota
	tentative
	promised
	excluded
	kept
)

// isBlock says whether the record is, or is about to be, a block of a pool rather than something handed out of one.
func (r *record) isBlock() bool { return isBlock(r.purpose) }

func isBlock(p ipamv1.AllocationPurpose) bool {
	return p == ipamv1.RootPurpose || p == ipamv1.ChildPoolPurpose
}

// isBlockOf says whether the record is a block of that pool.
func (r *record) isBlockOf(pool ipamv1.PoolReference) bool {
	return r.isBlock() && r.owner() == pool
}

// isOwnBlock says whether the record is a root pool's own block: that neither counts as allocated nor as delegated.
func (r *record) isOwnBlock() bool { return r.role == stored && r.purpose == ipamv1.RootPurpose }

// answers says whether the record can be the answer to a claim. One that somebody has marked for deletion is so only where it is
// known to have been: it won here, or it belongs to an object that is its own answer, or came with it, and is stored. A hold never is:
// what it is held for is elsewhere, although a claim of that UID may be here still while it moves.
func (r *record) answers(c Claim) bool {
	isIts := isOwnKind(r) || r.purpose == ipamv1.AdoptedPurpose || c.Purpose == ipamv1.AdoptedPurpose && c.Want.IsValid()
	stands := r.purpose != ipamv1.MovedPurpose && (!r.terminating || r.won || r.owned && isIts)
	return r.claim.UID == c.Ref.UID && !r.released() && !r.left && stands && (!c.Want.IsValid() || r.cidr == c.Want)
}

// owner is the pool that a block belongs to, or is about to.
func (r *record) owner() ipamv1.PoolReference {
	return r.claim.Pool()
}

// released says whether the claim has let go of the prefix, which cools down or is retained.
func (r *record) released() bool { return r.releasedAt != 0 }

// holds says whether the record keeps what has moved to another cluster.
func (r *record) holds() bool { return r.purpose == ipamv1.MovedPurpose && !r.released() }

func (r *record) holding() Holding {
	h := Holding{CIDR: r.cidr, Purpose: r.purpose, Pool: r.pool.ref, Claim: r.claim, Record: r.key, version: r.identity, space: r.space.name, seen: r.seen}
	if r.released() {
		h.ReleasedAt, h.Retained = time.Unix(r.releasedAt, 0), r.retained
	}
	h.Terminating, h.arrived = r.terminating, r.arrived
	return h
}

// older says whether r was certainly created before s.
func (r *record) older(s *record) bool {
	if r.created == "" || s.created == "" {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(r.created, s.created)
	return err == nil && order < 0
}

// decode reads an IPAllocation. An error means that the record cannot be understood, and so that nobody can say what is
// free: the index ends the process on it.
func (x *index) decode(a *ipamv1.IPAllocation) (*record, error) {
	cidr, err := netip.ParsePrefix(a.Spec.CIDR)
	if err != nil {
		return nil, fmt.Errorf("reading IPAllocation %s/%s: spec.cidr: %w", a.Namespace, a.Name, err)
	}
	r := &record{
		identity:    identityOf(a),
		cidr:        cidr.Masked(),
		space:       x.spaceOf(a.Spec.AddressSpace),
		pool:        x.poolOf(a.Spec.PoolRef.Canonical()),
		claim:       a.Spec.ClaimRef,
		purpose:     a.Spec.Purpose,
		seen:        x.now(),
		instance:    a.Spec.Manager.Instance,
		terminating: !a.DeletionTimestamp.IsZero(),
		confirmed:   a.Spec.State == ipamv1.ConfirmedState,
		retained:    a.Spec.State == ipamv1.RetainedState,
		owned:       len(a.OwnerReferences) > 0,
		releasedAt:  seconds(a.Spec.ReleasedAt),
		arrived:     hasArrived(a),
		moving:      !a.DeletionTimestamp.IsZero() && has(a.Annotations, clusterctlv1.DeleteForMoveAnnotation),
	}
	if r.textLength() > maxText {
		return nil, fmt.Errorf("reading IPAllocation %s/%s: its names are too long", a.Namespace, a.Name)
	}
	return r, nil
}

// hasArrived says whether somebody else than Weir has made the record: Weir's webhook has marked it, or the record was created with the
// revision of its creation, which nobody can know. Only holds of Weir's are, which have that of the record that they stand for.
func hasArrived(a *ipamv1.IPAllocation) bool {
	return knowsAge(a) || a.Annotations[ipamv1.ArrivedAnnotation] != ""
}

// knowsAge says whether the record came with the revision of its creation, which is one of another cluster or of the past.
func knowsAge(a *ipamv1.IPAllocation) bool {
	return a.Generation == 1 && a.Spec.Manager.CreatedRevision != "" && a.Spec.Purpose != ipamv1.MovedPurpose
}

func has(annotations map[string]string, key string) bool {
	_, ok := annotations[key]
	return ok
}

// creationOf returns the revision that the record was created at, or "" when that cannot be told for certain. Every write
// of Weir's stores it, so its absence means that Weir has not written since; a second field manager means that somebody
// else has, and then the record's own revision is a later one. Taking something away leaves no field manager: that somebody
// took the finalizer, or the garbage collector one of a claim's two owners, shows in what is missing.
func creationOf(a *ipamv1.IPAllocation) string {
	if a.Spec.Manager.CreatedRevision != "" && !knowsAge(a) {
		return a.Spec.Manager.CreatedRevision
	}
	touched := a.Annotations[touchedAnnotation] != "" || len(a.ManagedFields) > 1 || !a.DeletionTimestamp.IsZero() ||
		!slices.Contains(a.Finalizers, ipamv1.AllocationFinalizer) ||
		((a.Spec.Purpose == ipamv1.ClaimPurpose || a.Spec.Purpose == ipamv1.AdoptedPurpose) && len(a.OwnerReferences) == 1)
	if touched {
		return ""
	}
	return a.ResourceVersion
}

// seconds since 1970; 0 for the zero time.
func seconds(t metav1.Time) int64 {
	if t.IsZero() {
		return 0
	}
	return t.Unix()
}

func sortHoldings(holdings []Holding) []Holding {
	slices.SortFunc(holdings, func(a, b Holding) int { return a.CIDR.Compare(b.CIDR) })
	return holdings
}
