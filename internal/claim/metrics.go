// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claim

import (
	"github.com/prometheus/client_golang/prometheus"
	"sigs.k8s.io/controller-runtime/pkg/metrics"
)

var exhausted = prometheus.NewCounter(prometheus.CounterOpts{
	Namespace: "weir", Subsystem: "claim", Name: "exhausted_total",
	Help: "How often a claim was told that its pool is exhausted.",
})

func init() { metrics.Registry.MustRegister(exhausted) }
