// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package rehearsal has Weir's controllers decide about a claim by what the API server shows a user now. It writes nothing, and no manager has
// to run.
package rehearsal

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claim"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/direct"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/door"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/doors"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/entitlement"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/explanation"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/external"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ipclaim"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/kinds"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/tenancy"
)

// Stage is where controllers rehearse.
type Stage struct {
	// Client reads from the API server with the user's rights. Its scheme is that of Scheme.
	Client client.Client
	Clock  clock.PassiveClock
	// Namespace is the managers' own, and Platform the name of the platform project, as managers were told.
	Namespace, Platform string
	// Cluster is the name that pools are delegated to this cluster by; "" if none can be.
	Cluster string
	// InCluster: Weir serves the in-cluster provider's pools.
	InCluster bool
}

// extensions are those that managers have, or may have.
func (s *Stage) extensions() []doors.Extension {
	if s.InCluster {
		return []doors.Extension{doors.Metal3(), doors.InCluster()}
	}
	return []doors.Extension{doors.Metal3()}
}

// ErrNoDoor: no front door has claims of the kind.
var ErrNoDoor = errors.New("no front door has such claims")

// Explain says what a manager would do about a claim now: an IPClaim, or one of a front door. It errs with ErrNoDoor where there are no such
// claims, and else with the API server's errors. What the user may not read ends no rehearsal: the questions that need it have no answer.
func (s *Stage) Explain(ctx context.Context, kind schema.GroupKind, key types.NamespacedName) (*explanation.Explanation, error) {
	reader := &direct.Client{Client: s.Client, Indices: map[string]client.IndexerFunc{}}
	registry := s.registry(reader)
	read := s.reading(s.Client, registry)
	if kind == kinds.IPClaim {
		return s.explainIPClaim(ctx, reader, read, key)
	}
	form, of := s.formOf(kind)
	if form == nil {
		return nil, ErrNoDoor
	}
	if field := form.Kinds().ClaimField; field != "" {
		reader.Indices[field] = func(obj client.Object) []string { return []string{form.ClaimOf(obj).Name} }
	}
	stored := form.Kinds().NewClaim()
	if err := reader.Get(ctx, key, stored); err != nil {
		return nil, fmt.Errorf("reading %s %s: %w", kind.Kind, key, err)
	}
	source := of.Source(registry)
	asks := form.Asks(stored)
	var ref ipamv1.PoolReference
	if source.Serves(asks.Pool) {
		ref = source.Reference(asks.Pool, key.Namespace)
	}
	book, err := read.ledger(ctx, ref, key, s.Clock.Now())
	if err != nil {
		return nil, err
	}
	registry.Ledger = book
	return claim.New(claim.Options{
		Client: reader, Live: reader, Ledger: book, Form: form, Source: source, Rules: registry.Rules, Outside: registry,
		Arrivals: claim.NewArrivals(s.Clock, 0), Clock: s.Clock,
	}).Explain(ctx, key, read.unread)
}

// errUnchosen: the records of all pools that a selector matches would have to be read.
var errUnchosen = errors.New("the claim has no spec.poolRef yet, which its admission writes")

// explainIPClaim is Explain for one of Weir's own claims.
func (s *Stage) explainIPClaim(ctx context.Context, reader client.Client, read *reading, key types.NamespacedName) (*explanation.Explanation, error) {
	stored := &ipamv1.IPClaim{}
	if err := reader.Get(ctx, key, stored); err != nil {
		return nil, fmt.Errorf("reading IPClaim %s: %w", key, err)
	}
	var ref ipamv1.PoolReference
	if named := stored.Spec.PoolRef; named != nil {
		ref = entitlement.PoolOf(stored, named.Kind, named.Name)
	} else {
		read.unread.Records = errUnchosen
	}
	book, err := read.ledger(ctx, ref, key, s.Clock.Now())
	if err != nil {
		return nil, err
	}
	read.registry.Ledger = book
	r := &ipclaim.Reconciler{
		Client: reader, Live: reader, Ledger: book, Entitled: &entitlement.IPClaims{Client: reader, Registry: read.registry},
	}
	return r.Explain(ctx, key, read.unread)
}

// formOf returns the form of claims of a kind, and its front door; nil if there is none.
func (s *Stage) formOf(kind schema.GroupKind) (door.Form, *doors.Door) {
	all := doors.With(s.extensions()...)
	for i := range all {
		for _, form := range all[i].Forms {
			if form.Kinds().Claim.GroupKind() == kind {
				return form, &all[i]
			}
		}
	}
	return nil, nil
}

// elsewhere is what backs floating IPs, of which a rehearsal asks nothing: what the cloud would say is claimant.ErrElsewhere, or errOutside.
type elsewhere struct{ external.Provider }

// registry returns a registry of all kinds of pools, which has no ledger yet. Its feature gates are open: the managers' are not known, and a pool
// that needs one is there.
func (s *Stage) registry(reader client.Client) *pools.Registry {
	rules := &tenancy.Rules{Client: reader, Live: reader, Platform: s.Platform, Namespace: s.Namespace}
	registry := &pools.Registry{
		Client: reader, Live: reader, Rules: rules, Namespace: s.Namespace, External: elsewhere{}, Cluster: s.Cluster, Federation: true,
	}
	for _, d := range doors.With(s.extensions()...) {
		for _, kind := range d.Pools {
			registry.AddKind(kind)
		}
	}
	return registry
}

// home returns what tells this cluster from others.
func home(ctx context.Context, c client.Reader) (string, error) {
	system := &metav1.PartialObjectMetadata{}
	system.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	err := c.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, system)
	return string(system.UID), err
}

// isAbsent reports whether an error says that there is no such object, or no such kind.
func isAbsent(err error) bool { return apierrors.IsNotFound(err) || meta.IsNoMatchError(err) }
