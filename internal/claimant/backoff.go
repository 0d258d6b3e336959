// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claimant

import (
	"time"

	"k8s.io/client-go/util/workqueue"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

const (
	firstBackoff = 5 * time.Millisecond
	// longestBackoff bounds how long an object waits after errors in a row. By controller-runtime's own bound, 17 minutes, what an
	// outage of the API server interrupts would be answered long after the end of the outage.
	longestBackoff = 30 * time.Second
)

// ControllerOptions returns the options of each of Weir's controllers, with so many workers.
func ControllerOptions(workers int) controller.Options {
	return controller.Options{
		MaxConcurrentReconciles: workers,
		RateLimiter:             workqueue.NewTypedItemExponentialFailureRateLimiter[reconcile.Request](firstBackoff, longestBackoff),
	}
}
