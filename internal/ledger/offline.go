// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"fmt"
	"time"

	"k8s.io/utils/clock"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// Offline returns a ledger of the records that a list showed at this revision, for questions only: it
// follows nothing and stores nothing. Every record counts as seen so long ago that no grace is left,
// so that it says of what is not free "exhausted" and not "try again". It errs if a record cannot be
// read.
func Offline(all []*ipamv1.IPAllocation, revision string, now time.Time) (*Ledger, error) {
	still := &moment{at: now.Add(-2 * DefaultGrace)}
	l := New(Options{Instance: "offline", Clock: still})
	objs := make([]any, 0, len(all))
	for _, a := range all {
		objs = append(objs, a)
	}
	if err := l.feed.Replace(objs, revision); err != nil {
		return nil, err
	}
	if err := l.feed.failure(); err != nil {
		return nil, fmt.Errorf("reading a list of IPAllocations: %w", err)
	}
	still.at = now
	return l, nil
}

// moment is a clock that stands still.
type moment struct{ at time.Time }

var _ clock.PassiveClock = &moment{}

// Now implements clock.PassiveClock.
func (m *moment) Now() time.Time { return m.at }

// Since implements clock.PassiveClock.
func (m *moment) Since(t time.Time) time.Duration { return m.at.Sub(t) }
