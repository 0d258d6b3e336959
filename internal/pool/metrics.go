// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"math/big"

	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

var capacityAddresses = prometheus.NewGaugeVec(prometheus.GaugeOpts{
	Namespace: "weir",
	Subsystem: "pool",
	Name:      "capacity_addresses",
	Help:      "Addresses of a pool by state; exact up to 2^53.",
}, []string{"kind", "namespace", "name", "state"})

func init() { metrics.Registry.MustRegister(capacityAddresses) }

// observe sets the gauges of a pool, of what is known of it.
func observe(ref ipamv1.PoolReference, c ipamv1.Capacity) {
	for state, count := range map[string]string{
		"total": c.Total, "allocated": c.Allocated, "available": c.Available,
		"excluded": c.Excluded, "cooling": c.Cooling, "delegated": c.Delegated,
	} {
		if count != "" {
			capacityAddresses.WithLabelValues(kindLabel(ref), ref.Namespace, ref.Name, state).Set(number(count))
		}
	}
}

// unobserve drops the gauges of a pool that is gone.
func unobserve(ref ipamv1.PoolReference) {
	capacityAddresses.DeletePartialMatch(prometheus.Labels{"kind": kindLabel(ref), "namespace": ref.Namespace, "name": ref.Name})
}

// kindLabel is the kind of a pool, with its group if that is not Weir's: names of kinds are no more than that.
func kindLabel(ref ipamv1.PoolReference) string {
	if ref.APIGroup == "" {
		return ref.Kind
	}
	return ref.GroupKind().String()
}

func number(count string) float64 {
	n, ok := new(big.Float).SetString(count)
	if !ok {
		return 0
	}
	f, _ := n.Float64()
	return f
}
