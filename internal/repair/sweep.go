// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package repair

import (
	"context"
	"fmt"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/types"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/predicates"
)

// interval between two sweeps. A claim that dies without Weir keeps its address for so long at most, and a little more.
const interval = time.Minute

var mismatches = prometheus.NewCounterVec(prometheus.CounterOpts{
	Namespace: "weir", Subsystem: "repair", Name: "mismatches_total",
	Help: "Relations of claim, record and answer that were found wrong.",
}, []string{"kind"})

func init() { metrics.Registry.MustRegister(mismatches) }

// Claims settles one claim by its name, whether it exists or not.
type Claims interface {
	Settle(ctx context.Context, claim types.NamespacedName) error
}

// Repairer sweeps on the leader.
type Repairer struct {
	Ledger *ledger.Ledger
	Client client.Client
	Claims Claims
	// Namespace is the only one that is served; empty means all are.
	Namespace string
}

// Start sweeps until ctx ends.
func (r *Repairer) Start(ctx context.Context) error {
	if err := r.Ledger.WaitForSync(ctx); err != nil {
		return nil // the manager stops
	}
	ticker := time.NewTicker(interval)
	defer ticker.Stop()
	for {
		if err := r.Sweep(ctx); err != nil && ctx.Err() == nil {
			ctrl.LoggerFrom(ctx).WithName("repair").Error(err, "Sweeping")
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// NeedLeaderElection is true: one sweep a cluster is enough, and any number is safe.
func (r *Repairer) NeedLeaderElection() bool { return true }

// Sweep has every suspect settled once.
func (r *Repairer) Sweep(ctx context.Context) error {
	suspects, err := r.suspects(ctx)
	if err != nil {
		return err
	}
	for key, kind := range suspects {
		mismatches.WithLabelValues(kind).Inc()
		if err := r.Claims.Settle(ctx, key); err != nil {
			ctrl.LoggerFrom(ctx).Error(err, "Settling claim", "claim", key)
		}
	}
	return nil
}

// suspects are the names under which there is a record or an answer, and, as far as the cache knows, no claim of that UID.
func (r *Repairer) suspects(ctx context.Context) (map[types.NamespacedName]string, error) {
	holdings := r.Ledger.All()
	answers := &ipamv1beta2.IPAddressList{}
	if err := r.Client.List(ctx, answers, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing IPAddresses: %w", err)
	}
	claims := &ipamv1beta2.IPAddressClaimList{}
	if err := r.Client.List(ctx, claims, client.UnsafeDisableDeepCopy); err != nil {
		return nil, fmt.Errorf("listing IPAddressClaims: %w", err)
	}
	living := make(map[types.NamespacedName]types.UID, len(claims.Items))
	for i := range claims.Items {
		living[client.ObjectKeyFromObject(&claims.Items[i])] = claims.Items[i].UID
	}
	found := map[types.NamespacedName]string{}
	for i := range answers.Items {
		key := client.ObjectKeyFromObject(&answers.Items[i])
		if _, ok := living[key]; !ok {
			found[key] = "orphaned answer"
		}
	}
	for _, h := range holdings {
		key := types.NamespacedName{Namespace: h.Claim.Namespace, Name: h.Claim.Name}
		if h.ReleasedAt.IsZero() && predicates.IsServed(key.Namespace, r.Namespace) && h.Claim.Kind == "IPAddressClaim" && string(living[key]) != h.Claim.UID {
			found[key] = "orphaned record"
		}
	}
	return found, nil
}
