// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"errors"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/metrics"
)

// What is done for an object while it is created: its prefix is chosen, and then reserved.
const (
	proposeStep = "propose"
	reserveStep = "reserve"
)

// reservationDuration has buckets from half a millisecond to eight seconds, which no call is given.
var reservationDuration = metrics.Histogram("admission", "reservation_duration_seconds",
	"Time that IPClaims and carved pools waited for the ledger while they were created.",
	prometheus.ExponentialBuckets(0.0005, 2, 15), "step", "result")

// timed begins to time a step, and returns what ends that once the step's error is known.
func timed(step string, err *error) (end func() time.Duration) {
	return prometheus.NewTimer(prometheus.ObserverFunc(func(seconds float64) {
		reservationDuration.WithLabelValues(step, resultOf(*err)).Observe(seconds)
	})).ObserveDuration
}

// resultOf names what came of a step, by what its caller does next.
func resultOf(err error) string {
	for _, known := range []struct {
		is   error
		name string
	}{
		{nil, "ok"},
		{ledger.ErrExhausted, "exhausted"},
		{ledger.ErrBusy, "busy"},
		{ledger.ErrTaken, "taken"},
		{ledger.ErrRefused, "refused"},
		{ledger.ErrNotReady, "not ready"},
	} {
		if errors.Is(err, known.is) {
			return known.name
		}
	}
	return "error"
}
