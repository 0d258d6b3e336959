// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pools

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claimant"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/external"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/poolspec"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/predicates"
)

// retryOutside is when giving back is retried that the pool, or the closed gate, prevents.
const retryOutside = 30 * time.Second

var _ claimant.Outside = &Registry{}

// checkGate refuses a pool of floating IPs while their gate is closed.
func (r *Registry) checkGate(says poolspec.Pool) *field.Error {
	if !says.External || r.External != nil {
		return nil
	}
	return field.Forbidden(field.NewPath("spec", "openStack"), "floating IPs need the feature gate OpenStack: start the manager with --feature-gates=OpenStack=true")
}

// Outside returns what backs the addresses of a pool outside of the cluster; nil if nothing does, or the pool is not known there yet.
func (r *Registry) Outside(p *Known) *external.Backing {
	own, ok := p.Object.(Own)
	if !ok || !p.Says.Cloud.IsKnown() || r.External == nil {
		return nil
	}
	ref, uid, isLimited := p.Says.Ref, p.GetUID(), own.PoolSpec().OpenStack.MaxIPs != nil
	return &external.Backing{
		Provider: r.External, Pool: r.OutsidePool(own, p.Says),
		Begin: func(claim ipamv1.ClaimReference) (int, func(), error) { return r.begin(ref, uid, claim, isLimited) },
		Holders: func(address netip.Addr) (claims []ipamv1.ClaimReference) {
			for _, h := range r.Ledger.Overlapping(p.Says.Space, netip.PrefixFrom(address, address.BitLen())) {
				claims = append(claims, h.Claim)
			}
			return claims
		},
	}
}

// OutsidePool is how a pool is known outside, as far as that is so.
func (r *Registry) OutsidePool(p Own, says poolspec.Pool) external.Pool {
	return external.Pool{
		Ref: says.Ref, Key: says.Cloud.Key, Network: says.Cloud.Network, Project: says.Cloud.Project,
		Source: p.PoolSpec().OpenStack, SecretNamespace: r.RecordNamespace(says.Ref), Room: external.Unlimited,
	}
}

// Backs implements claimant.Outside. The source of a pool never changes, so its registration tells. A pool that is not registered is read:
// nothing has been made outside for one that is not known there.
func (r *Registry) Backs(ctx context.Context, ref ipamv1.PoolReference) (bool, error) {
	r.mu.Lock()
	v, registered := r.known[ref]
	r.mu.Unlock()
	if registered {
		return v.pool.Shape.IsExternal(), nil
	}
	p, err := r.readLive(ctx, ref)
	return p != nil && p.Says.Cloud.IsKnown(), err
}

// GiveBack implements claimant.Outside. The pool is read live: a pause, or a move, may have begun since the claim was deleted.
func (r *Registry) GiveBack(ctx context.Context, ref ipamv1.PoolReference, proof external.Proof) error {
	p, err := r.readLive(ctx, ref)
	if err == nil {
		err = r.mayGiveBack(ctx, ref, p)
	}
	if err != nil {
		return err
	}
	backing := r.Outside(p)
	err = orAbandoned(ref, p, backing.Provider.GiveBack(ctx, backing.Pool, proof))
	if err == nil {
		err = r.proveNotElsewhere(p, proof)
	}
	var kept *claimant.KeptError
	if errors.As(err, &kept) {
		r.Ledger.Notices().PoolChanged(ref) // it finds out why
	}
	return err
}

// proveNotElsewhere errs if what the proof covers is recorded in another address space than the pool's. The network of a pool never changes: it
// is another pool than the one that had this name before.
func (r *Registry) proveNotElsewhere(p *Known, proof external.Proof) error {
	for _, h := range r.Ledger.RecordsOf(proof.Claim()) {
		if h.Backed && h.Space != p.Says.Space && h.Pool == p.Says.Ref && proof.Covers(h.Claim.UID, h.CIDR.Addr()) {
			return &claimant.AbandonedError{Message: Sentence(p.Says.Ref, fmt.Sprintf("is another pool now, of %s, and %s was of %s", p.Says.Space, h.CIDR.Addr(), h.Space))}
		}
	}
	return nil
}

// Close implements claimant.Outside. While this manager is getting an address of the pool for a claim it errs with ledger.ErrBusy, and from
// then on it begins to do so for none.
func (r *Registry) Close(ctx context.Context, ref ipamv1.PoolReference, end external.PoolEnd, known external.Known) (external.Remains, error) {
	p, err := r.readLive(ctx, ref)
	if err == nil {
		err = r.mayGiveBack(ctx, ref, p)
	}
	if err != nil {
		return external.Remains{}, err
	}
	if !r.underway.seal(ref, p.GetUID()) {
		return external.Remains{}, fmt.Errorf("a claim is getting an address of %s %q: %w", ref.Kind, ref.Name, ledger.ErrBusy)
	}
	backing := r.Outside(p)
	remains, err := backing.Provider.Close(ctx, backing.Pool, end, known)
	return remains, orAbandoned(ref, p, err)
}

// orAbandoned says that nobody can ever give anything back of a pool, if it is being deleted and its Secret does not exist.
func orAbandoned(ref ipamv1.PoolReference, p Object, err error) error {
	var kept *claimant.KeptError
	if errors.As(err, &kept) && kept.Reason == ipamv1.WaitingForSecretReason && !p.GetDeletionTimestamp().IsZero() {
		return &claimant.AbandonedError{Message: Sentence(ref, "is being deleted, and the Secret with its credentials does not exist any more")}
	}
	return err
}

// IsAbandoned reports whether a pool of floating IPs cannot give anything back because its Secret does not exist. A Secret that may not be read
// counts as one that exists, and so does every one while the gate is closed: no Secret is read then.
func (r *Registry) IsAbandoned(ctx context.Context, p Own) bool {
	says := r.Says(p)
	if !says.External || r.External == nil || r.Live == nil {
		return false
	}
	secret := &metav1.PartialObjectMetadata{}
	secret.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Secret"))
	key := client.ObjectKey{Namespace: r.RecordNamespace(says.Ref), Name: p.PoolSpec().OpenStack.IdentityRef.Name}
	return apierrors.IsNotFound(r.Live.Get(ctx, key, secret))
}

// mayGiveBack errs with the reason why nothing of a pool is given back now, or ever. The pool is nil if there is none.
func (r *Registry) mayGiveBack(ctx context.Context, ref ipamv1.PoolReference, p *Known) error {
	switch {
	case p == nil:
		return &claimant.AbandonedError{Message: Sentence(ref, "does not exist any more")}
	case !p.Says.External: // of the pool that had this name before, nothing is known
		return &claimant.AbandonedError{Message: Sentence(ref, "is another pool now, which has no floating IPs")}
	case r.External == nil:
		return &claimant.KeptError{
			Reason: ipamv1.WaitingForCloudReason, After: retryOutside,
			Message: Sentence(ref, "hands out floating IPs, and the feature gate OpenStack is closed"),
		}
	case !p.Says.Cloud.IsKnown():
		return keptByPool(ref, "does not say where its floating IPs are: its annotation "+ipamv1.OpenStackAnnotation+" is missing or wrong")
	case predicates.IsMoving(p):
		return keptByPool(ref, "is moving to another cluster")
	}
	cluster, _, err := r.ClusterOf(ctx, r.Live, p)
	if err == nil && predicates.IsPaused(cluster, p) {
		return keptByPool(ref, "is paused, by itself or with its Cluster")
	}
	return err
}

func keptByPool(ref ipamv1.PoolReference, why string) error {
	return &claimant.KeptError{Reason: ipamv1.WaitingForPoolReason, Message: Sentence(ref, why), After: retryOutside}
}

// readLive returns a pool as the API server has it; nil if there is none.
func (r *Registry) readLive(ctx context.Context, ref ipamv1.PoolReference) (*Known, error) {
	kind, known := r.kindOf(ref.GroupKind())
	if !known {
		return nil, nil //nolint:nilnil // no pool is an answer
	}
	p := kind.New()
	err := r.Live.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, p)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil //nolint:nilnil // no pool is an answer
	case err != nil:
		return nil, fmt.Errorf("getting %s %s: %w", ref.Kind, ref.Name, err)
	}
	return &Known{Object: p, Says: r.Says(p)}, nil
}
