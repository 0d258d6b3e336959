// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claimant

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/metrics"
)

var exhausted = metrics.Counter("claim", "exhausted_total", "How often a claim had to wait because the pool is exhausted.", metrics.PoolLabels...)

// answerBounds begin with a second: that is how exactly the API server says when a claim was created.
var answerBounds = []float64{1, 2, 5, 10, 30, 60, 120, 300, 600, 1800, 3600, 7200}

var answerDuration = metrics.Histogram("claim", "answer_duration_seconds",
	"Time from the creation of a claim until its first answer was in its status, by whether it had been refused before.",
	answerBounds, "form", "waited")

func init() {
	metrics.Computed("pool", "claims", "Claims that name a pool, by state.", func(set func(float64, ...string)) {
		claims.each(func(pool ipamv1.PoolReference, counts [states]int) {
			for in, n := range counts {
				set(float64(n), append(metrics.PoolValues(pool), state(in).String())...)
			}
		})
	}, append(metrics.PoolLabels[:3:3], "state")...)
}

// CountExhausted counts a claim that was told that its pool is exhausted.
func CountExhausted(pool ipamv1.PoolReference) {
	exhausted.WithLabelValues(metrics.PoolValues(pool)...).Inc()
}

// ForgetPool drops what was counted of a pool that is gone. The claims that name it still count.
func ForgetPool(pool ipamv1.PoolReference) { exhausted.DeletePartialMatch(metrics.OfPool(pool)) }

// ObserveAnswer measures how long a claim waited for its first answer. Before is its Ready condition as it was until then; nil for none.
func ObserveAnswer(form schema.GroupKind, claim metav1.Object, before *metav1.Condition, now time.Time) {
	waited := "no"
	if before != nil {
		waited = "yes"
	}
	answerDuration.WithLabelValues(metrics.Kind(form), waited).Observe(now.Sub(claim.GetCreationTimestamp().Time).Seconds())
}
