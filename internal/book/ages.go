// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package book

import (
	"time"

	"k8s.io/utils/clock"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/records"
)

// takeoverDelay is how long a record of another manager is left alone before it is taken over, so
// that two managers that answer the same claim at once do not write for nothing. Economy only:
// taking over is safe at any time.
const takeoverDelay = 5 * time.Second

// ages is how long ago this process saw what. It owns the book's clock, and uses no other part.
type ages struct {
	clock clock.PassiveClock
	// started is when the book was made, and grace how long a record may wait for its object to be
	// stored, in seconds.
	started time.Time
	grace   int64
}

func newAges(c clock.PassiveClock, grace time.Duration) *ages {
	return &ages{clock: c, started: c.Now(), grace: int64(grace / time.Second)}
}

// now counts seconds since the book was made, from 1. It does not jump with the wall clock.
func (b *ages) now() int64 { return 1 + int64(b.clock.Now().Sub(b.started)/time.Second) }

// IsRecent says whether something was seen, as now counts, less than takeoverDelay ago. Should the
// clock have been set back since all the same, it says no: nothing may wait until it has caught up.
// It may be asked without the lock.
func (b *ages) IsRecent(seen int64) bool {
	ago := b.now() - seen
	return ago >= 0 && ago < int64(takeoverDelay/time.Second)
}

// isNew says whether something was seen less than the grace ago.
func (b *ages) isNew(seen int64) bool { return b.now()-seen <= b.grace }

// endOfGrace returns when the grace of what was seen then is over.
func (b *ages) endOfGrace(seen int64) int64 { return seen + b.grace + 1 }

// holdingOf returns a record as readers see it, at this moment.
func (b *ages) holdingOf(r *records.Record) Holding {
	h := HoldingOf(r)
	h.Arriving = r.Restored && b.isNew(r.Seen)
	return h
}

// What the API server refuses after Weir's webhooks (a quota, another webhook) leaves a record for
// an object that was never stored. No read tells such a record from one whose object is about to be
// stored, so it keeps its prefix from everybody else for the grace:
//
//	a client tries again   all tries of one name ask for one prefix, of which the API server stores one object at a time
//	many clients try       Unstored counts them for each namespace and pool, and admission bounds that
//	the grace is over      repair drops the record; nobody was told of it, so it does not cool

// isPending says whether a record may belong to an object of Weir's own kinds that is not stored
// yet, but may still be: the API server has asked a webhook about it less than the grace ago, never
// rounded down. It is the only clock that safety leans on. Each record has a grace of its own: that
// another object of the name was stored, and is gone, says nothing of this one.
func (b *ages) isPending(r *records.Record) bool { return awaitsObject(r) && b.isNew(r.Seen) }
