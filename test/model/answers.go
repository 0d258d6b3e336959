// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import "slices"

// statusName is the first of the names that are answered by status, in walks that have them. The
// last one is that before weirName.
const statusName = 1

// answers are the stored answers, each under its own name. Most claims have an answer that is named
// like the claim, so that only one can exist. An answer by status is named after its addresses, so
// that a claim can have several. Which one counts, the claim's status says.
type answers [names + int(wholeSpace)]answer

// isByStatus says whether claims of the name are answered by status.
func (s *server) isByStatus(name int) bool {
	return s.statusCommits && name >= statusName && name < weirName
}

// slot returns the name of the answer with these addresses to a claim.
func (s *server) slot(name int, cidr space) int {
	if s.isByStatus(name) {
		return names + int(cidr) - 1
	}
	return name
}

// naming returns the answers that name a claim of this name, whatever their UID.
func (stored answers) naming(name int) []answer {
	return slices.DeleteFunc(slices.Clone(stored[:]), func(a answer) bool { return a.id == 0 || a.name != name })
}

// isUnchanged says whether the claim is the one that was read. Where the status is the commit, its
// version must be the same, too.
func (s *server) isUnchanged(name int, read claim) bool {
	c := s.claims[name]
	return c.uid == read.uid && (c.version == read.version || !s.isByStatus(name) || !s.rules.CommitNamesVersion)
}

// commitStatus reports an answer to the claim, if it is still the one that was read.
func (s *server) commitStatus(name int, read claim, cidr space) bool {
	if !s.isUnchanged(name, read) {
		return false
	}
	s.claims[name].version++
	s.claims[name].arrived = false
	s.setStatus(name, read.uid, cidr)
	return true
}

// endArrival removes the mark of a restored claim, if it is still the one that was read.
func (s *server) endArrival(name int, read claim) {
	if s.isUnchanged(name, read) {
		s.claims[name].version++
		s.claims[name].arrived = false
	}
}
