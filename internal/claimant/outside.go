// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claimant

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/api/meta"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/audit"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/external"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/predicates"
)

// Outside is what backs the records of some pools outside of the cluster.
type Outside interface {
	// Backs reports whether something outside chooses the pool's addresses.
	Backs(ctx context.Context, pool ipamv1.PoolReference) (bool, error)
	// GiveBack gives back what the proof covers. It errs with a *KeptError while that cannot be, or
	// must not, because the pool is paused or moves; with ledger.ErrBusy if it is to be called again
	// at once; and with an *AbandonedError if nobody can ever give it back.
	GiveBack(ctx context.Context, pool ipamv1.PoolReference, proof external.Proof) error
	// Close ends a pool outside. It errs like GiveBack, or with an error of known.
	Close(ctx context.Context, pool ipamv1.PoolReference, end external.PoolEnd, known external.Known) (external.Remains, error)
}

// AbandonedError is why what backs a claim outside of the cluster stays there for good.
type AbandonedError struct{ Message string }

func (e *AbandonedError) Error() string { return e.Message }

const (
	// retryOutside is when giving back one record is retried after ledger.ErrBusy.
	retryOutside = time.Second
	// retryPaused is when it is retried while a Cluster is paused.
	retryPaused = 30 * time.Second
)

// GiveBack gives back all that a claim of this pool has outside of the cluster. The claim is proved
// to be Deleted or Gone. Its answer is removed after this: it stays while something outside is in
// use.
//
// It errs with a *KeptError while that cannot be given back. Left names what stays outside because
// it can never be given back; "" for nothing.
func (e *Exit) GiveBack(ctx context.Context, pool ipamv1.PoolReference, claim ipamv1.ClaimReference, why ended) (given GivenBack, left string, err error) {
	if !why.covers(ledger.Holding{Claim: claim}) {
		return GivenBack{}, "", fmt.Errorf("giving back what %s %s/%s has outside: nothing is proved of it", claim.Kind, claim.Namespace, claim.Name)
	}
	recorded := e.Ledger.RecordsOf(claim)
	isBacked, err := e.isBacked(ctx, pool, recorded...)
	if _, isGone := why.(Gone); isGone && isBacked && err == nil {
		err = e.proveNotMoving(ctx, claim)
	}
	if isBacked && err == nil {
		left, err = e.abandoned(ctx, recorded, e.Outside.GiveBack(ctx, pool, external.ClaimReleased(claim, addressesOf(recorded)...)))
	}
	if err != nil {
		return GivenBack{}, "", err
	}
	return why.givenBack(recorded), left, nil
}

// addressesOf returns the addresses of those records that have one each.
func addressesOf(recorded []ledger.Holding) (all []netip.Addr) {
	for _, h := range recorded {
		if h.CIDR.IsSingleIP() {
			all = append(all, h.CIDR.Addr())
		}
	}
	return all
}

// GiveBackSurplus gives back what a claim has outside of the cluster, and was not told, beside its own.
// It reports whether Outside was asked: then that may be given back, whatever the error.
//
// It errs with ledger.ErrBusy if a record holds that by now: another manager was late, and the record goes
// as one beside the claim's answer. Else it errs like Outside.
func (e *Exit) GiveBackSurplus(ctx context.Context, why Surplus) (isAsked bool, _ error) {
	if !why.IsProved() {
		return false, errors.New("giving back what a claim has outside beside its own: nothing is proved of it")
	}
	if len(e.Ledger.Overlapping(why.told.Space, netip.PrefixFrom(why.address, why.address.BitLen()))) > 0 {
		return false, fmt.Errorf("a record holds %s, which %s %s/%s was not told: %w", why.address, why.claim.Kind, why.claim.Namespace, why.claim.Name, ledger.ErrBusy)
	}
	return true, e.Outside.GiveBack(ctx, why.told.Pool, external.AddressReleased(why.claim, why.address))
}

// ClosePool ends what a pool has outside of the cluster. The pool is proved to be Deleted, and nothing is recorded of it. It is to go only
// when nothing is awaited any more.
//
// It errs with a *KeptError while the cloud cannot be asked, and with an *AbandonedError if nobody can ever ask it.
func (e *Exit) ClosePool(ctx context.Context, pool ipamv1.ClaimReference, why Deleted, known external.Known) (external.Remains, error) {
	if !why.covers(ledger.Holding{Claim: pool}) {
		return external.Remains{}, fmt.Errorf("ending what %s %s/%s has outside: nothing is proved of it", pool.Kind, pool.Namespace, pool.Name)
	}
	return e.Outside.Close(ctx, pool.Pool(), external.PoolReleased(pool.Pool()), known)
}

// IsBacked reports whether a claim of this pool may have something outside of the cluster.
func (e *Exit) IsBacked(ctx context.Context, pool ipamv1.PoolReference, claim ipamv1.ClaimReference) (bool, error) {
	return e.isBacked(ctx, pool, e.Ledger.RecordsOf(claim)...)
}

// isBacked asks the records first, then the pool: something may have been made that is not recorded yet.
func (e *Exit) isBacked(ctx context.Context, pool ipamv1.PoolReference, recorded ...ledger.Holding) (bool, error) {
	if e.Outside == nil {
		return false, nil
	}
	if slices.ContainsFunc(recorded, func(h ledger.Holding) bool { return h.Backed }) {
		return true, nil
	}
	return e.Outside.Backs(ctx, pool)
}

// proveNotMoving errs with a *KeptError while a Cluster of the claim's namespace is paused. A claim
// that is gone, and was not released by Weir, may live on in another cluster: clusterctl takes the
// finalizers off what it has moved. It pauses the Cluster before, and deletes it last.
func (e *Exit) proveNotMoving(ctx context.Context, claim ipamv1.ClaimReference) error {
	clusters := &clusterv1.ClusterList{}
	err := e.Live.List(ctx, clusters, client.InNamespace(claim.Namespace))
	if meta.IsNoMatchError(err) {
		return nil
	} else if err != nil {
		return fmt.Errorf("listing Clusters of namespace %s: %w", claim.Namespace, err)
	}
	i := slices.IndexFunc(clusters.Items, func(c clusterv1.Cluster) bool { return predicates.IsPaused(&c, &c) })
	if i < 0 {
		return nil
	}
	return &KeptError{
		Reason: ipamv1.WaitingForPoolReason, After: retryPaused,
		Message: fmt.Sprintf("Cluster %q is paused: %s %q may have moved to another cluster with it", clusters.Items[i].Name, claim.Kind, claim.Name),
	}
}

// giveBackOne gives back what backs one record, for this reason. What was restored may be in use
// elsewhere, and what another record holds as well is in use here.
func (e *Exit) giveBackOne(ctx context.Context, h ledger.Holding, why row) error {
	if h.Restored || !h.CIDR.IsSingleIP() {
		return nil
	}
	isOther := func(other ledger.Holding) bool { return other.Version.UID != h.Version.UID }
	isBacked, err := e.isBacked(ctx, h.Pool, h)
	if !isBacked || err != nil || slices.ContainsFunc(e.Ledger.Overlapping(h.Space, h.CIDR), isOther) {
		return err
	}
	if why == claimGone {
		if err = e.proveNotMoving(ctx, h.Claim); err != nil {
			return err
		}
	}
	err = e.Outside.GiveBack(ctx, h.Pool, external.AddressReleased(h.Claim, h.CIDR.Addr()))
	if errors.Is(err, ledger.ErrBusy) {
		return &KeptError{Reason: ipamv1.WaitingForCloudReason, Message: err.Error(), After: retryOutside}
	}
	_, err = e.abandoned(ctx, []ledger.Holding{h}, err)
	return err
}

// abandoned writes the audit lines for what stays outside for good, if that is the error, and names it.
func (e *Exit) abandoned(ctx context.Context, recorded []ledger.Holding, err error) (left string, _ error) {
	var abandoned *AbandonedError
	if !errors.As(err, &abandoned) {
		return "", err
	}
	var names []string
	for _, h := range recorded {
		record := &ipamv1.IPAllocation{}
		if err := e.Live.Get(ctx, h.Record, record); err != nil {
			if client.IgnoreNotFound(err) != nil {
				return "", err
			}
			continue
		}
		audit.Abandoned(audit.Entry{
			Prefix: h.CIDR, AddressSpace: h.Space, Pool: h.Pool, Claim: h.Claim, Allocation: h.Record, Reason: audit.Unreachable,
		}, record.Spec.External.ID, abandoned.Message)
		names = append(names, backing(h.CIDR.Addr(), record.Spec.External.ID))
	}
	if len(names) == 0 {
		names = []string{"whatever it has outside of the cluster"}
	}
	return strings.Join(names, ", ") + " stays there: " + abandoned.Message, nil
}

// backing names what backs an address.
func backing(address netip.Addr, id string) string {
	if id == "" {
		return address.String()
	}
	return fmt.Sprintf("%s (%s)", address, id)
}
