// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import "fmt"

// names is the number of names that claims can have; the last is that of an own kind, answered as it is created: an IPClaim, or
// in walks that carve a pool, whose block it asks for.
const (
	names    = 4
	weirName = names - 1
)

// space is a set of addresses, one bit each: what a claim or a record covers.
type space uint8

const (
	addresses        = 2
	wholeSpace space = 0b11
	noSpace    space = 0
)

func (s space) overlaps(other space) bool { return s&other != 0 }
func (s space) contains(other space) bool { return s&other == other }

// claim is a stored claim. The zero value is none.
type claim struct {
	uid         int
	big         bool  // wants both addresses at once
	weirKind    bool  // one of Weir's own kinds: its spec says what it got
	block       bool  // a pool, which asks for its block
	carved      bool  // asks the carved pool, and not the root
	retains     bool  // what it had is kept for the next claim of its name
	restored    bool  // came with its answer, from another cluster or a backup
	terminating bool  // deleted, and kept by Weir's finalizer
	moving      bool  // paused: clusterctl is taking it to another cluster
	status      space // what its status, or an own claim's spec, names
	ready       bool  // its status says that it has what it names
	exhausted   bool  // its status says that nothing is free
	conflict    bool  // its status says that somebody else holds what it came with
	reported    space // all that was ever committed to it; no part of the object
}

// candidates returns what may be recorded for the claim.
func (c claim) candidates() []space {
	if c.big {
		return []space{wholeSpace}
	}
	return []space{0b01, 0b10}
}

// lives says whether the claim exists and is not being deleted.
func (c claim) lives() bool { return c.uid != 0 && !c.terminating }

// asks is the record that the claim wants made, for these addresses.
func (c claim) recordFor(name int, cidr space) record {
	return record{name: name, uid: c.uid, weirKind: c.weirKind, block: c.block, carved: c.carved, adopts: c.weirKind && c.restored, cidr: cidr}
}

// record is a stored IPAllocation. Its id stands for name and UID: a name is used for one attempt only.
type record struct {
	id, version int
	created     int // the revision of creation as stored in the holder; 0 before Weir's second write
	name, uid   int // of the claim
	weirKind    bool
	block       bool // a block of the carved pool
	carved      bool // handed out of the carved pool
	adopts      bool // for a claim that came with its answer
	reservation bool // in the place of a record that has moved to another cluster
	replaces    int  // the id of that record
	cidr        space
	owned       bool // has owner references to a claim that is, or was, stored
	released    int  // when its claim let go of it; 0 before
	retained    bool // for the next claim of the name
	moving      bool // clusterctl deletes it here because it lives on elsewhere
	replaced    bool // a hold is in its place
	ageless     bool // stands for one that is older than it looks; no part of the object
	finalizer   bool
	terminating bool
	touched     bool // somebody else has written to it
}

// unwritten says whether the record certainly has the version that it was created with.
func (r record) isUnwritten() bool { return !r.touched && !r.terminating && r.finalizer }

// hasGone says whether the claim has moved to another cluster, or may just be moving there.
func (r record) hasMoved() bool { return r.reservation || r.terminating && r.weirKind }

// answer is a stored IPAddress, found by the name of its claim. The zero value is none; one without UID has lost its owner.
type answer struct {
	id, uid int
	cidr    space
}

// event is one entry of the log of records: what the record became, or that it is gone.
type event struct {
	record
	gone bool
}

// request is the creation of an own claim that the API server has not decided yet.
type request struct {
	claim claim // as the mutating webhook has completed it
	begun int
	stage stage
}

type stage int

const (
	proposed stage = iota // the validating webhook is to be called
	called
	admitted
)

// String tells a claim in short, for histories.
func (c claim) String() string {
	if c.uid == 0 {
		return "-"
	}
	words := fmt.Sprintf("%d %02b told %02b", c.uid, c.status, c.reported)
	for _, special := range []struct {
		is   bool
		word string
	}{
		{c.big, "big"}, {c.block, "block"}, {c.carved, "carved"}, {c.restored, "arrived"}, {c.terminating, "terminating"},
		{c.moving, "moving"}, {c.ready, "ready"}, {c.exhausted, "exhausted"}, {c.conflict, "duplicate"},
	} {
		if special.is {
			words += " " + special.word
		}
	}
	return "{" + words + "}"
}

// String tells a record in short, for histories: its number, whose it is, its addresses, and what is special.
func (r record) String() string {
	words := fmt.Sprintf("#%d@%d(%d) %d/%d %02b", r.id, r.version, r.created, r.name, r.uid, r.cidr)
	for _, special := range []struct {
		is   bool
		word string
	}{
		{r.block, "block"}, {r.carved, "carved"}, {r.adopts, "adopts"}, {r.reservation, "hold"}, {r.owned, "owned"}, {r.released != 0, "released"},
		{r.retained, "retained"}, {r.moving, "moving"}, {r.replaced, "held"}, {!r.finalizer, "bare"}, {r.terminating, "terminating"},
	} {
		if special.is {
			words += " " + special.word
		}
	}
	return words
}
