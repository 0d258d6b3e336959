// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package model

// mender is repair, for one record or one name at a time. The record is read first, from the index, then the answer and
// the claim, live:
//
//	the claim lives, its answer has another address     the record is void: dropped
//	no claim of the record's UID, no answer either      orphaned: dropped
//	no claim of the name, but an answer                 the answer is left over: removed, then the record dropped
//	anything else                                       right, or for the claim's own task to settle
type mender struct {
	dropper

	name   int
	record record // the zero value if only the name is looked at
	answer answer
	next   func(*mender)
}

func (m *mender) idle() bool { return m.next == nil }

func (m *mender) step() {
	if m.next == nil {
		m.begin(m.manager.random.IntN(len(m.manager.index.entries) + 1))
		return
	}
	m.next(m)
}

// begin looks at the i-th record of the index, or at any name if there is none.
func (m *mender) begin(i int) {
	*m = mender{dropper: dropper{manager: m.manager}, name: m.manager.random.IntN(names), next: (*mender).readAnswer}
	if i >= len(m.manager.index.entries) {
		return
	}
	m.record = m.manager.aged(m.manager.index.entries[i])
	m.name = m.record.name
	if m.record.own && m.manager.rules.GraceForUnstored && m.manager.server.request(m.record.uid) >= 0 {
		m.next = nil
	}
}

func (m *mender) readAnswer() {
	m.answer = m.manager.readAnswer(m.name)
	m.next = (*mender).readClaim
}

func (m *mender) readClaim() {
	c := m.manager.readClaim(m.name)
	answered := m.answer.uid != 0 && m.answer.uid == m.record.uid
	switch {
	case c.uid == 0 && m.answer.uid != 0:
		m.next = (*mender).removeAnswer
	case m.record.uid == 0:
		m.next = nil
	case c.uid == m.record.uid && answered && m.answer.cidr != m.record.cidr,
		c.uid != m.record.uid && !answered,
		!m.record.own && !answered && !m.manager.rules.NoDropByAge:
		m.drop()
	default:
		m.next = nil
	}
}

func (m *mender) removeAnswer() {
	m.manager.server.deleteAnswer(m.name, m.answer.id)
	m.drop()
}

func (m *mender) drop() {
	if m.record.uid != 0 {
		m.manager.tally.repaired++
		m.queue = []record{m.record}
	}
	m.next = (*mender).dropping
}

func (m *mender) dropping() {
	if m.dropStep() {
		m.next = nil
	}
}
