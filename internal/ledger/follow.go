// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/tools/cache"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// watchRetry and watchRetryMax are how soon a broken watch is begun anew. Nothing is judged
// meanwhile, so that the reflector's own half minute would be too long.
const (
	watchRetry    = 50 * time.Millisecond
	watchRetryMax = 2 * time.Second
)

// Start follows IPAllocations until ctx ends, and returns an error as soon as the book cannot be
// trusted any more: the process must end then.
func (l *Ledger) Start(ctx context.Context) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	reflector := cache.NewReflectorWithOptions(l.listWatch(), &ipamv1.IPAllocation{}, l.feed, cache.ReflectorOptions{
		Name:    "ledger",
		Backoff: &wait.Backoff{Duration: watchRetry, Factor: 2, Jitter: 0.5, Steps: 10, Cap: watchRetryMax},
	})
	go reflector.RunWithContext(ctx)
	select {
	case <-ctx.Done():
		return nil
	case err := <-l.feed.failed:
		return fmt.Errorf("following IPAllocations: %w", err)
	}
}

// NeedLeaderElection is false: the book of a replica that does not lead must be current too.
func (l *Ledger) NeedLeaderElection() bool { return false }

// WaitForSync returns once the book holds every record, or ctx ends.
func (l *Ledger) WaitForSync(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-l.feed.synced:
		return nil
	}
}

// errNotSynced is what the readiness check says until then.
var errNotSynced = errors.New("the ledger has not read all IPAllocations yet")

// Synced errs until the book holds every record, and again when it is broken.
func (l *Ledger) Synced() error {
	select {
	case <-l.feed.synced:
	default:
		return errNotSynced
	}
	return l.feed.failure()
}
