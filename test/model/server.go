// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import "slices"

// requestTimeout is how many ticks the API server works on a request.
const requestTimeout = 2

// server is the API server. Every method is one request, and atomic.
type server struct {
	rules         *Rules
	clock         int
	revision, ids int
	requests      []request
	claims        [names]claim
	statusCommits bool // names from statusName on are answered by status
	answers       answers
	kept          guarantee // the addresses that the pool keeps for the claims of a name
	records       []record
	log           []event
	monitor       monitor
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

// find returns the index of the record, and whether it exists at this version. Version 0 is any
// version.
func (s *server) find(id, version int) (int, bool) {
	i := slices.IndexFunc(s.records, func(r record) bool { return r.id == id })
	return i, i >= 0 && (version == 0 || s.records[i].version == version)
}

// updateRecord changes a record at this version, and says whether it could. A terminating record is
// removed with its finalizer. Admission keeps the finalizer on a moving record until a reservation
// has replaced it.
func (s *server) updateRecord(id, version int, change func(*record)) (record, bool) {
	i, ok := s.find(id, version)
	if !ok {
		return record{}, false
	}
	s.revision++
	had := s.records[i].finalizer
	change(&s.records[i])
	changed := &s.records[i]
	changed.version = s.revision
	if changed.moving && !changed.replaced && !changed.reservation && s.rules.MovingKeepsFinalizer {
		changed.finalizer = changed.finalizer || had
	}
	stored := *changed
	if stored.terminating && !stored.finalizer {
		s.records = slices.Delete(s.records, i, i+1)
		s.publish(stored, true)
		return stored, true
	}
	s.publish(stored, false)
	return stored, true
}

// deleteRecord removes a record at this version, or marks it as terminating while it has the
// finalizer.
func (s *server) deleteRecord(id, version int) {
	s.updateRecord(id, version, func(r *record) { r.terminating = true })
}

func (s *server) createAnswer(name int, a answer) (answer, bool) {
	at := s.slot(name, a.cidr)
	if s.answers[at].id != 0 {
		return answer{}, false
	}
	a.id, a.name = s.newID(), name
	s.answers[at] = a
	if !s.isByStatus(name) {
		s.report(name, a.uid, a.cidr)
	}
	return a, true
}

// setAnswerOwner gives an answer that has lost its owner a new one.
func (s *server) setAnswerOwner(a answer, uid int) bool {
	stored := &s.answers[s.slot(a.name, a.cidr)]
	if stored.id != a.id || stored.uid != 0 {
		return false
	}
	stored.uid = uid
	if c := &s.claims[a.name]; c.uid == uid {
		c.restored = true // it has an answer that was not made for it
	}
	return true
}

// deleteAnswer deletes an answer, if it has not changed.
func (s *server) deleteAnswer(a answer) {
	if at := s.slot(a.name, a.cidr); s.answers[at] == a {
		s.answers[at] = answer{}
	}
}

// setStatus reports the addresses in the status of the claim of this UID. UID 0 is any claim of the
// name.
func (s *server) setStatus(name, uid int, cidr space) {
	c := &s.claims[name]
	if c.uid == 0 || (uid != 0 && c.uid != uid) {
		return
	}
	c.status, c.ready, c.exhausted, c.conflict = cidr, true, false, false
	s.report(name, c.uid, cidr)
}

// setExhausted reports to the claim of this UID that nothing is free. setConflict reports that
// another claim has the addresses that it was restored with.
func (s *server) setExhausted(name int, read claim) {
	if c := &s.claims[name]; s.isUnchanged(name, read) && !c.exhausted {
		c.version++
		c.exhausted, c.conflict, c.ready = true, false, false
	}
}

func (s *server) setConflict(name int, read claim) {
	if c := &s.claims[name]; s.isUnchanged(name, read) && !c.conflict {
		c.version++
		c.exhausted, c.conflict, c.ready = false, true, false
	}
}

func (s *server) report(name, uid int, cidr space) {
	if c := &s.claims[name]; c.uid == uid {
		s.monitor.observe(name, c, cidr, s.clock)
	}
}

// createClaim stores a claim under its name, if that is free. Storing a Weir claim reports its
// addresses, unless it is restored.
func (s *server) createClaim(name int, c claim) {
	if s.claims[name].uid != 0 {
		return
	}
	s.claims[name] = c
	if !c.weirKind || c.restored {
		return
	}
	s.report(name, c.uid, c.status)
	s.monitor.endRetention(name) // it has the retained addresses, or others
}

// deleteClaim marks a claim for deletion. Weir's finalizer keeps it until it is released.
func (s *server) deleteClaim(name int) {
	s.monitor.endUse(name, s.claims[name], s.clock)
	s.claims[name].terminating = s.claims[name].uid != 0
	s.claims[name].version++
}

// removeClaim removes the claim of this UID: its last finalizer is gone.
func (s *server) removeClaim(name, uid int) {
	if s.claims[name].uid == uid {
		s.monitor.endUse(name, s.claims[name], s.clock)
		s.claims[name] = claim{}
	}
}

// releaseClaim removes a claim that Weir has released. If the claim retains its addresses, Weir has
// retained their record by then, unless a person has deleted that.
func (s *server) releaseClaim(name, uid int) {
	c := s.claims[name]
	isTerminating := func(r record) bool { return r.name == name && r.cidr == c.reported && r.terminating }
	wanted := c.uid == uid && c.retains && c.reported != noSpace && (c.ready || !c.restored)
	if wanted && !slices.ContainsFunc(s.records, isTerminating) {
		s.monitor.retained = append(s.monitor.retained, guarantee{name, c.reported})
	}
	s.removeClaim(name, uid)
}

func (s *server) findRequest(uid int) int {
	return slices.IndexFunc(s.requests, func(r request) bool { return r.claim.uid == uid })
}

// admitRequest is the answer of the validating webhook. It comes too late if the request has timed
// out.
func (s *server) admitRequest(uid int) {
	if i := s.findRequest(uid); i >= 0 {
		s.requests[i].stage = admitted
	}
}

// endRequest ends a request. Its claim is stored if it was admitted, no other webhook rejects it,
// and its name is free.
func (s *server) endRequest(i int, rejected bool) {
	r := s.requests[i]
	s.requests = slices.Delete(s.requests, i, i+1)
	if r.stage == admitted && !rejected {
		s.createClaim(weirName, r.claim)
	}
}

// failRequest ends the request of this UID, if it is still undecided: the webhook has denied it, or
// its process has died.
func (s *server) failRequest(uid int) {
	if i := s.findRequest(uid); i >= 0 && s.requests[i].stage != admitted {
		s.endRequest(i, true)
	}
}

// tick lets time pass. Requests that are older than requestTimeout end.
func (s *server) tick() {
	s.clock++
	s.requests = slices.DeleteFunc(s.requests, func(r request) bool { return s.clock > r.begun+requestTimeout })
}
