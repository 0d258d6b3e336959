// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import "fmt"

// names is the number of names that claims can have. The last one is of a Weir kind, answered while
// it is created: an IPClaim, or, in walks that carve a pool, the pool that requests its block.
const (
	names    = 4
	weirName = names - 1
)

// space is a set of addresses, one bit each.
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
	version     int   // changes with every write, where the status is the commit
	big         bool  // requests both addresses
	weirKind    bool  // of a Weir kind: its spec names its addresses
	block       bool  // a pool, which requests its block
	carved      bool  // requests from the carved pool, not from the root
	retains     bool  // its record is kept for the next claim of its name
	restored    bool  // created with its answer, from another cluster or a backup
	arrived     bool  // marked as restored until it is answered, where the status is the commit
	terminating bool  // being deleted, kept by Weir's finalizer
	moving      bool  // paused: clusterctl is moving it to another cluster
	status      space // the addresses in its status, or in a Weir claim's spec
	ready       bool  // its status says that it has these addresses
	exhausted   bool  // its status says that nothing is free
	conflict    bool  // its status says that another claim has its addresses
	reported    space // all addresses ever reported to it; not part of the object
}

// candidates returns the sets of addresses that may be recorded for the claim.
func (c claim) candidates() []space {
	if c.big {
		return []space{wholeSpace}
	}
	return []space{0b01, 0b10}
}

// mayHave says whether a pool that keeps these addresses hands out the others to the claim. A claim
// that it keeps something for gets nothing else.
func (c claim) mayHave(name int, s space, kept guarantee) bool {
	if kept.cidr != noSpace && kept.name == name {
		return s == kept.cidr
	}
	return !s.overlaps(kept.cidr)
}

// lives says whether the claim exists and is not being deleted.
func (c claim) lives() bool { return c.uid != 0 && !c.terminating }

// recordFor returns the record of these addresses for the claim.
func (c claim) recordFor(name int, cidr space) record {
	return record{name: name, uid: c.uid, weirKind: c.weirKind, block: c.block, carved: c.carved, adopts: c.weirKind && c.restored, cidr: cidr}
}

// record is a stored IPAllocation. Its id stands for name and UID: a name is used for one attempt
// only.
type record struct {
	id, version int
	created     int // the stored creation revision; 0 before Weir's second write
	name, uid   int // of the claim
	weirKind    bool
	block       bool // a block of the carved pool
	carved      bool // allocated from the carved pool
	adopts      bool // adopts the addresses of a restored claim
	reservation bool // replaces a record that has moved to another cluster
	replaces    int  // the id of the moved record
	cidr        space
	owned       bool // has owner references to a claim that is, or was, stored
	released    int  // when its claim released it; 0 before
	retained    bool // kept for the next claim of the name
	moving      bool // clusterctl deletes it here because it has moved
	replaced    bool // a reservation has replaced it
	ageless     bool // older than its creation revision shows; not part of the object
	finalizer   bool
	terminating bool
	touched     bool // another writer has changed it
}

// isUnwritten says whether the record certainly still has the version that it was created with.
func (r record) isUnwritten() bool { return !r.touched && !r.terminating && r.finalizer }

// hasMoved says whether the record's claim has moved to another cluster, or may be moving there.
func (r record) hasMoved() bool { return r.reservation || r.terminating && r.weirKind }

// answer is a stored IPAddress, with the name and the UID of its claim. The zero value is none. An
// answer without UID has lost its owner.
type answer struct {
	id, name, uid int
	cidr          space
}

// event is one entry of the log of records: the new state of a record, or its removal.
type event struct {
	record
	gone bool
}

// request is the creation of a Weir claim that the API server has not decided yet.
type request struct {
	claim claim // as the mutating webhook has completed it
	begun int
	stage stage
}

type stage int

const (
	proposed stage = iota // the validating webhook has not been called
	called
	admitted
)

// String describes a claim in short, for traces.
func (c claim) String() string {
	if c.uid == 0 {
		return "-"
	}
	words := fmt.Sprintf("%d %02b reported %02b", c.uid, c.status, c.reported)
	for _, special := range []struct {
		is   bool
		word string
	}{
		{c.big, "big"}, {c.block, "block"}, {c.carved, "carved"}, {c.restored, "restored"}, {c.terminating, "terminating"},
		{c.moving, "moving"}, {c.arrived, "arrived"}, {c.ready, "ready"}, {c.exhausted, "exhausted"}, {c.conflict, "conflict"},
	} {
		if special.is {
			words += " " + special.word
		}
	}
	return "{" + words + "}"
}

// String describes a record in short, for traces: its number, version and age, name and UID of its
// claim, addresses and flags.
func (r record) String() string {
	words := fmt.Sprintf("#%d@%d(%d) %d/%d %02b", r.id, r.version, r.created, r.name, r.uid, r.cidr)
	for _, special := range []struct {
		is   bool
		word string
	}{
		{r.block, "block"}, {r.carved, "carved"}, {r.adopts, "adopts"}, {r.reservation, "reservation"}, {r.owned, "owned"}, {r.released != 0, "released"},
		{r.retained, "retained"}, {r.moving, "moving"}, {r.replaced, "replaced"}, {!r.finalizer, "no-finalizer"}, {r.terminating, "terminating"},
	} {
		if special.is {
			words += " " + special.word
		}
	}
	return words
}
