// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"errors"
	"fmt"
	"strconv"
	"time"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/clock"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/records"
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

// Fill returns, claim by claim, why it gets nothing once those before it have what they get; nil if it gets something. Nothing is kept
// of that afterwards. It is for an offline ledger, where nothing that is taken may come free: what else holds a prefix is certain.
func (l *Ledger) Fill(claims []Claim) []error {
	errs := make([]error, len(claims))
	defer l.feed.lock()()
	chosen := make([]*records.Record, 0, len(claims))
	for i, c := range claims {
		mark, err := l.feed.book.Choose(c, types.NamespacedName{Name: "offline-" + strconv.Itoa(i)})
		switch {
		case err == nil:
			chosen = append(chosen, mark)
		case errors.Is(err, ErrBusy): // the choices of those before it are in its way
			errs[i] = ErrExhausted
		default:
			errs[i] = provedOrNot(err)
		}
	}
	for _, mark := range chosen {
		l.feed.book.Unmark(mark)
	}
	return errs
}

// moment is a clock that stands still.
type moment struct{ at time.Time }

var _ clock.PassiveClock = &moment{}

// Now implements clock.PassiveClock.
func (m *moment) Now() time.Time { return m.at }

// Since implements clock.PassiveClock.
func (m *moment) Since(t time.Time) time.Duration { return m.at.Sub(t) }
