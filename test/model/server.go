// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import "slices"

// names is the number of names that claims can have; the last is that of an own claim, answered as it is created.
const (
	names   = 4
	ownName = names - 1
)

// space is a set of addresses, one bit each: what a claim or a record covers.
type space uint8

const (
	wholeSpace space = 0b11
	noSpace    space = 0
)

func (s space) overlaps(other space) bool { return s&other != 0 }

// claim is a stored claim. The zero value is none.
type claim struct {
	uid         int
	big         bool  // wants both addresses at once
	own         bool  // one of Weir's own kinds: its spec says what it got
	terminating bool  // deleted, and kept by Weir's finalizer
	status      space // what its status, or an own claim's spec, names
	exhausted   bool  // its status says that nothing is free
	told        space // all that was ever committed to it; no part of the object
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

// record is a stored IPAllocation. Its id stands for name and UID: a name is used for one attempt only.
type record struct {
	id, version int
	created     int // the revision of creation as stored in the holder; 0 before Weir's second write
	name, uid   int // of the claim
	own         bool
	cidr        space
	finalizer   bool
	terminating bool
	touched     bool // somebody else has written to it
}

// unwritten says whether the record certainly has the version that it was created with.
func (r record) unwritten() bool { return !r.touched && !r.terminating && r.finalizer }

// answer is a stored IPAddress, found by the name of its claim. The zero value is none.
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
	claim    claim
	admitted bool
}

// server is the API server. Every method is one request, and atomic.
type server struct {
	revision, ids int
	requests      []request
	claims        [names]claim
	answers       [names]answer
	records       []record
	log           []event
}

func (s *server) newID() int {
	s.ids++
	return s.ids
}

func (s *server) publish(r record, gone bool) {
	s.log = append(s.log, event{record: r, gone: gone})
}

func (s *server) createRecord(r record) record {
	s.revision++
	r.id, r.version, r.finalizer = s.newID(), s.revision, true
	s.records = append(s.records, r)
	s.publish(r, false)
	return r
}

// find returns the place of the record, if it exists at this version; any version if that is 0.
func (s *server) find(id, version int) (int, bool) {
	i := slices.IndexFunc(s.records, func(r record) bool { return r.id == id })
	return i, i >= 0 && (version == 0 || s.records[i].version == version)
}

// updateRecord changes a record at this version. One that is terminating goes with its finalizer.
func (s *server) updateRecord(id, version int, change func(*record)) (record, bool) {
	i, ok := s.find(id, version)
	if !ok {
		return record{}, false
	}
	s.revision++
	change(&s.records[i])
	s.records[i].version = s.revision
	changed := s.records[i]
	if changed.terminating && !changed.finalizer {
		s.records = slices.Delete(s.records, i, i+1)
		s.publish(changed, true)
		return record{}, false
	}
	s.publish(changed, false)
	return changed, true
}

// deleteRecord removes a record at this version, or marks it while it has the finalizer.
func (s *server) deleteRecord(id, version int) {
	s.updateRecord(id, version, func(r *record) { r.terminating = true })
}

func (s *server) createAnswer(name int, a answer) (answer, bool) {
	if s.answers[name].uid != 0 {
		return answer{}, false
	}
	a.id = s.newID()
	s.answers[name] = a
	s.tell(name, a.uid, a.cidr)
	return a, true
}

func (s *server) deleteAnswer(name, id int) {
	if s.answers[name].id == id {
		s.answers[name] = answer{}
	}
}

// setStatus names the address in the status of the claim of this UID; of whatever claim has the name if that is 0.
func (s *server) setStatus(name, uid int, cidr space) {
	c := &s.claims[name]
	if c.uid == 0 || (uid != 0 && c.uid != uid) {
		return
	}
	c.status, c.exhausted = cidr, false
	s.tell(name, c.uid, cidr)
}

// setExhausted tells the claim of this UID that nothing is free.
func (s *server) setExhausted(name, uid int) {
	if c := &s.claims[name]; c.uid == uid {
		c.exhausted = true
	}
}

// tell notes what a claim's client may act on from now on.
func (s *server) tell(name, uid int, cidr space) {
	if c := &s.claims[name]; c.uid == uid {
		c.told |= cidr
	}
}

// createClaim stores a claim under its name, if that is free.
func (s *server) createClaim(name int, c claim) {
	if s.claims[name].uid == 0 {
		c.told = c.status
		s.claims[name] = c
	}
}

func (s *server) request(uid int) int {
	return slices.IndexFunc(s.requests, func(r request) bool { return r.claim.uid == uid })
}

// admit is the answer of the validating webhook, which comes too late if the request has timed out.
func (s *server) admit(c claim) {
	if i := s.request(c.uid); i >= 0 {
		s.requests[i] = request{claim: c, admitted: true}
	}
}

// finish ends a request: its claim is stored if that was admitted, nobody else rejects it, and the name is free.
func (s *server) finish(i int, rejected bool) {
	r := s.requests[i]
	s.requests = slices.Delete(s.requests, i, i+1)
	if r.admitted && !rejected {
		s.createClaim(ownName, r.claim)
	}
}

// fail ends the request of this UID, if it is still running: the webhook has denied it or its process has died.
func (s *server) fail(uid int) {
	if i := s.request(uid); i >= 0 {
		s.finish(i, true)
	}
}

func (s *server) removeClaim(name, uid int) {
	if s.claims[name].uid == uid {
		s.claims[name] = claim{}
	}
}
