// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"strconv"
	"time"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/metrics"
)

var callDuration = metrics.Histogram("external", "call_duration_seconds",
	"Time from a request to a cloud until the head of its answer, by call and HTTP status; none without an answer.",
	[]float64{.05, .1, .25, .5, 1, 2.5, 5, 10, 30}, "call", "code")

// observe is the neutron.Observer of all clients.
func observe(call string, code int, took time.Duration) {
	status := "none"
	if code != 0 {
		status = strconv.Itoa(code)
	}
	callDuration.WithLabelValues(call, status).Observe(took.Seconds())
}
