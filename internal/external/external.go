// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package external is the seam between pools and what backs the addresses of some of them outside
// of the cluster.
//
// Such a pool has no blocks: its Provider chooses each address, for one claim, and the ledger
// records what was chosen. What is outside carries the claim's UID from its creation to its end, so
// any manager finds what another one began. Nobody is told of an address before its record has won;
// nothing is given back but with a Proof.
package external

import (
	"context"
	"net/netip"
	"time"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// Pool is a pool whose addresses are backed outside.
type Pool struct {
	Ref ipamv1.PoolReference
	// Key names the pool outside. No other pool ever has it, of this cluster or another. It keeps
	// it when it moves or is restored.
	Key string
	// Network is the id of the external network; "" if that is not known yet.
	Network string
	// Project is the id of the project that has what backs the pool; "" if that is not known yet.
	Project string
	Source  *ipamv1.OpenStackSource
	// SecretNamespace is the namespace of the Secret with the credentials.
	SecretNamespace string
	// Room is how many addresses the pool may hand out in addition to those that it has handed out; or
	// Unlimited.
	Room int
}

// Unlimited is the Room of a pool without a limit of its own.
const Unlimited = -1

// Backing is a pool, and who backs its addresses.
type Backing struct {
	Provider Provider
	Pool     Pool
	// Begin counts a claim as one that is getting an address, until done is called, and returns what
	// Room there is for it. It errs with ledger.ErrBusy if claims that this manager is working on may
	// take what is left.
	Begin func(claim ipamv1.ClaimReference) (room int, done func(), err error)
	// Holders returns the claims whose records hold an address.
	Holders func(netip.Addr) []ipamv1.ClaimReference
}

// Request is a claim that is to get an address, and what is known of it here.
type Request struct {
	Claim ipamv1.ClaimReference
	// IsTold: the claim's status names an IPAddress. A port that has the claim's address may be that of
	// its own consumer.
	IsTold bool
	// IsRecorded: a record names the claim. The cloud is asked for its address, whatever the cloud lacks.
	IsRecorded bool
	// IsPatient: the claim waits for an address that its former claim is about to leave, rather than have
	// another one created.
	IsPatient bool
	// Holds reports whether a record of the claim holds an address: that one is preferred if there are
	// several. IsOthers reports whether a record of another claim does: that claim's IPAddress may be
	// there, and its consumer may bind the address.
	Holds, IsOthers func(netip.Addr) bool
}

// Adoption is a claim whose IPAddress, or record, was not made by this manager, and that may have its
// address outside.
type Adoption struct {
	Claim   ipamv1.ClaimReference
	Address netip.Addr
	// HasArrived: the claim came with the address by a move or from a backup. It was proved by a live read
	// that the claim lives, and that neither it nor its Cluster is paused.
	HasArrived bool
	// IsOthers reports whether a record of a claim with another name holds the address.
	IsOthers func(netip.Addr) bool
}

// Shortage is why a cloud did not create an address; "" if it did, or may do so again.
type Shortage string

const (
	// QuotaUsedUp: the project may have no more.
	QuotaUsedUp Shortage = "QuotaUsedUp"
	// NetworkFull: the network, or the subnet that the pool names, has no free address.
	NetworkFull Shortage = "NetworkFull"
)

// Answer is what the cloud of a pool has said of its room, and when.
type Answer struct {
	Shortage Shortage
	At       time.Time
}

// Identity is where a pool is outside.
type Identity struct {
	// Project and Network are ids.
	Project, Network string
	// Doubts say what of the pool's source is not served, and why. They are shown in the pool's Ready
	// condition.
	Doubts []string
}

// FaultError says why nothing outside can back a pool as things are. It is shown in the pool's Ready
// condition, and to nobody of another project.
type FaultError struct {
	// Reason of the Ready condition.
	Reason  string
	Message string
	// After is when to look again: no watch tells when that ends.
	After time.Duration
}

func (e *FaultError) Error() string { return e.Message }

// Address is an address, and what backs it.
type Address struct {
	Addr netip.Addr
	// ID is that of the floating IP.
	ID string
}

// Provider keeps what backs the addresses of pools. It is safe for concurrent use, also by several
// managers.
//
// The calls are made before the methods return. A method errs with ledger.ErrBusy if it is to be
// called again at once: too many calls are under way, the answer to a change was lost, or another
// manager changed what was seen. No text of its errors is a server's.
type Provider interface {
	// Identify returns where the pool is, by what its source names now; once that is known, by the
	// id of the network. It changes nothing. It errs with a *FaultError, or with ledger.ErrBusy.
	Identify(ctx context.Context, pool Pool) (Identity, error)
	// Acquire returns the address that is the claim's outside, and creates one if there is none.
	// The caller has proved that the claim lives, by a live read. A claim that was not told gets no
	// address that was in use when Acquire looked last, once no record of another claim held it.
	//
	// It errs with a *claimant.Refusal, which says when to try again; together with ledger.ErrTaken if a
	// record of another claim is in the way; or with ledger.ErrBusy. Whatever it errs with, there may be
	// an address that is the claim's: it is found by the next call, and goes with GiveBack.
	Acquire(ctx context.Context, pool Pool, request Request) (Address, error)
	// Adopt returns an address that is the claim's outside. What the claim has arrived with becomes the
	// claim's if it was that of the claim's former self, which had the same namespace and name; or if it is
	// free, or listed by the pool, and not in use. Nothing else is changed. It errs with a
	// *claimant.Refusal if the address is not the claim's and does not become so, or if the cloud cannot be
	// asked; or with ledger.ErrBusy.
	Adopt(ctx context.Context, pool Pool, adoption Adoption) (Address, error)
	// GiveBack gives back what the proof covers, and returns nil if there is nothing (more) of
	// that. The caller has read the pool live: neither it nor its Cluster is paused, and it does
	// not move.
	//
	// It errs with a *claimant.KeptError if it cannot be given back now: it is in use, in which
	// case nothing was changed, or the cloud cannot be asked; with a *claimant.AbandonedError if what
	// is recorded is the claim's by another key than the pool's; or with ledger.ErrBusy.
	GiveBack(ctx context.Context, pool Pool, proof Proof) error
	// Survey compares all that is outside of a pool with what is known here. It changes nothing. It errs with a *FaultError, or with
	// ledger.ErrBusy. Errors of known are returned as they are.
	Survey(ctx context.Context, pool Pool, known Known) (Survey, error)
	// Close ends a pool outside: what is free in it, and Weir made for it, is deleted if the pool's reclaimPolicy is Delete. While
	// anything names a claim that is here, nothing is changed. The caller has read the pool live: neither it nor its Cluster is paused,
	// and it does not move. Of known only Life is asked.
	//
	// It errs with a *claimant.KeptError while the cloud cannot be asked, or with ledger.ErrBusy. Errors of known are returned as
	// they are.
	Close(ctx context.Context, pool Pool, end PoolEnd, known Known) (Remains, error)
	// Outcomes returns what has become of floating IPs that were given back, by their ids. It changes nothing. It errs with a
	// *FaultError, or with ledger.ErrBusy.
	Outcomes(ctx context.Context, pool Pool, of []Leftover) (map[string]Outcome, error)
	// LastAnswer returns what the cloud has said last of its room for the pool, to this manager; false
	// if that has not asked it. It calls nobody.
	LastAnswer(pool Pool) (Answer, bool)
}

// Record is what the ledger has of an address of a pool.
type Record struct {
	Claim   ipamv1.ClaimReference
	Address netip.Addr
}

// Life is how a claim stands, by a live read.
type Life string

const (
	// Living: the claim of that UID is here, and is not being deleted.
	Living Life = "living"
	// Ending: it is here, and is being deleted.
	Ending Life = "ending"
	// NotHere: no claim of that UID is here. It may live in another cluster.
	NotHere Life = "not here"
)

// Known is what is known here of a pool's addresses and claims. Each answer is of the moment of its call.
type Known struct {
	// Records returns the records of the pool, but those of claims that have moved to another cluster.
	Records func() []Record
	// IsHeld reports whether any record holds an address.
	IsHeld func(netip.Addr) bool
	// Life reads a claim live, by its UID. The name in the reference may be cut: isCut says so.
	Life func(ctx context.Context, claim ipamv1.ClaimReference, isCut bool) (Life, error)
}

// Leftover is what is outside and has no record here.
type Leftover struct {
	// ID is that of the floating IP.
	ID      string
	Address netip.Addr
	// Claim is what the description says; the zero value of what is free.
	Claim ipamv1.ClaimReference
}

// Surplus is what a claim that lives has outside, without a record, beside what a record of it holds.
type Surplus struct {
	// Leftover names the claim as its record does.
	Leftover
	// Use says what uses it, such as "bound to port x"; "" for nothing.
	Use string
	// IsAltered: somebody has added to its description.
	IsAltered bool
}

// Outcome is what has become of a floating IP that was given back for its claim.
type Outcome string

const (
	// Unreleased: it names its claim still, or says what Weir has not written.
	Unreleased Outcome = "Unreleased"
	// Deleted: it does not exist any more.
	Deleted Outcome = "Deleted"
	// Freed: it became free in its pool.
	Freed Outcome = "Freed"
	// Returned: it says nothing, as before Weir took it.
	Returned Outcome = "Returned"
)

// IsReleased reports whether it is not the claim's any more.
func (o Outcome) IsReleased() bool { return o == Deleted || o == Freed || o == Returned }

// Remains are what is outside of a pool that ends, each in the order of the ids.
type Remains struct {
	// Awaited name claims that are here: the pool must not go before them, for what they have is released by it.
	Awaited []Leftover
	// Left stay outside for good: they name claims that are not here, or are free and not Weir's to delete.
	Left []Leftover
}

// Stock is how many addresses a pool has outside that are no claim's.
type Stock struct {
	// Free ones are handed out. Bound ones are in use, and are not.
	Free, Bound int
}

// Survey is how what is outside differs from the records.
type Survey struct {
	// Unknown names claims that are not here, in the order of their ids. They may live in another cluster: nothing is done about
	// them.
	Unknown []Leftover
	// Surplus are of claims that live and have another one, in the order of their ids. Two were created for one claim.
	Surplus []Surplus
	// Missing are records of living claims whose address does not exist outside, ascending; Taken, those whose address is another
	// claim's or nobody's there.
	Missing, Taken []Record
	// Stock is counted, and no difference.
	Stock Stock
}

// IsEmpty reports whether nothing differs.
func (s Survey) IsEmpty() bool { return len(s.Unknown)+len(s.Surplus)+len(s.Missing)+len(s.Taken) == 0 }
