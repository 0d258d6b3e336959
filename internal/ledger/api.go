// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"net/netip"
	"time"

	"k8s.io/client-go/rest"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/book"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/records"
)

// What the book calls by these names, the ledger's callers do too.
type (
	// Pool is what the ledger needs to know of a pool that it hands out from.
	Pool = book.Pool
	// Claim is a request for one prefix.
	Claim = book.Claim
	// Holding is one record as readers see it.
	Holding = book.Holding
	// Account is what is recorded for claims of one name.
	Account = book.Account
	// Capacity counts the addresses of a pool.
	Capacity = book.Capacity
	// Withheld is what a pool keeps back of a block below it.
	Withheld = book.Withheld
	// Return is what a hold is for, back again.
	Return = book.Return
	// Foreign is an address in a pool that an IPAddress of another provider names.
	Foreign = book.Foreign
	// Why tells reasons of a RefusedError apart.
	Why = book.Why
	// RefusedError says why an asked prefix is not handed out.
	RefusedError = book.RefusedError
	// Purpose is what a record is for.
	Purpose = records.Purpose
	// TakenError says that an asked prefix or a pool's block is held by another claimant.
	TakenError = book.TakenError
)

// What records are for; see package records.
const (
	ForClaim     = records.ForClaim
	ForAdopted   = records.ForAdopted
	ForChildPool = records.ForChildPool
	ForRoot      = records.ForRoot
	ForHandBack  = records.ForHandBack
	ForEnded     = records.ForEnded
	ForMoved     = records.ForMoved
)

// Why a prefix is refused; see package book.
const (
	OutsidePool   = book.OutsidePool
	KeptElsewhere = book.KeptElsewhere
	Denied        = book.Denied
)

// Deepest is how many pools may lie above a prefix.
const Deepest = book.Deepest

var (
	// ErrExhausted: nothing that fits is free, and the book is at least as new as the request.
	ErrExhausted = book.ErrExhausted
	// ErrTaken: the asked prefix is held by another claimant.
	ErrTaken = book.ErrTaken
	// ErrRefused: the asked prefix is never handed out by this pool; RefusedError says why.
	ErrRefused = book.ErrRefused
	// ErrNotReady: the pool is unknown here, or none of its blocks is confirmed yet.
	ErrNotReady = book.ErrNotReady
	// ErrBusy: trying again soon may end otherwise.
	ErrBusy = book.ErrBusy
)

// HeldFor returns what holds the prefix that stands in the way, or no more than the claim that it is
// kept for, and the words that continue the text of err; false if nothing of that kind does. Whether they may be shown is for
// the caller to find out.
func HeldFor(err error) (who Holding, words string, ok bool) { return book.HeldFor(err) }

// ClaimOf is how the records of a pool's own blocks name the pool.
func ClaimOf(pool ipamv1.PoolReference, uid string) ipamv1.ClaimReference {
	return book.ClaimOf(pool, uid)
}

// DefaultGrace is how long a record may wait for the object that was admitted with it, where
// Options say nothing else: twice the API server's request timeout, as that is by default
// (--request-timeout).
const DefaultGrace = 2 * time.Minute

// Options of a Ledger.
type Options struct {
	// Client writes, and watches IPAllocations. It must not be limited to some namespaces and must
	// not read from a cache.
	Client client.WithWatch
	// REST lists IPAllocations, as ListClient makes it.
	REST rest.Interface
	// Instance names this process among all managers that ever write: unique for each start.
	Instance string
	Clock    clock.PassiveClock
	// Grace is for how long a record is left alone whose object is not stored: it may still be.
	// DefaultGrace if 0. It must be longer than the API server's request timeout.
	Grace time.Duration
}

// Allocation is a record that has won: its prefix may be told to the claim that it was made for,
// and to nobody else.
type Allocation struct {
	CIDR netip.Prefix

	record records.Identity
}

// Name returns the name of the record.
func (a Allocation) Name() string { return a.record.Key.Name }
