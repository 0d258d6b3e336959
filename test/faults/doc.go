// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package faults injects faults while managers work: it kills and stops replicas,
// cuts them off and makes them miss history. A journal keeps what became of every
// object meanwhile. A failed expectation fails the spec.
package faults

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2" //nolint:staticcheck // for specs only
	. "github.com/onsi/gomega"    //nolint:staticcheck // for specs only
)

// Follow runs what must never end by itself, until the spec or suite is cleaned up.
func Follow(start func(context.Context) error) {
	ctx, cancel := context.WithCancel(context.Background())
	done := make(chan error, 1)
	go func() { done <- start(ctx) }()
	DeferCleanup(func() {
		cancel()
		Eventually(done, "1m").Should(Receive(Succeed()))
	})
}

// Together runs all parts at once, each for as long as its context lasts. The
// first that ends, or fails, ends the others; if one fails, so does this.
func Together(ctx context.Context, parts ...func(context.Context)) {
	GinkgoHelper()
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	var done sync.WaitGroup
	var ended atomic.Int64
	for _, part := range parts {
		done.Go(func() {
			defer cancel()
			defer GinkgoRecover()
			part(ctx)
			ended.Add(1)
		})
	}
	done.Wait()
	Expect(ended.Load()).To(BeNumerically("==", len(parts)), "some part has failed: see there")
}

// Sleep waits; it ends early with ctx.
func Sleep(ctx context.Context, d time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(d):
	}
}

// UpTo returns a duration from zero to less than d.
func UpTo(random *rand.Rand, d time.Duration) time.Duration {
	return time.Duration(random.Int64N(int64(d)))
}
