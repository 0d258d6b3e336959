// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claimant

import (
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// What fails all through an outage of an hour is tried again within half a minute of its end, and seldom meanwhile.
func TestBackoffEndsSoonAfterAnOutage(t *testing.T) {
	t.Parallel()
	limiter := ControllerOptions(1).RateLimiter
	var request reconcile.Request
	tries, waited, last := 0, time.Duration(0), time.Duration(0)
	for ; waited < time.Hour; tries++ {
		last = limiter.When(request)
		waited += last
	}
	if last > 30*time.Second {
		t.Errorf("the last wait was %s", last)
	}
	if tries > 150 {
		t.Errorf("it was tried %d times", tries)
	}
	limiter.Forget(request)
	if first := limiter.When(request); first > 10*time.Millisecond {
		t.Errorf("after a success the first wait is %s", first)
	}
}
