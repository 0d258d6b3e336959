// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package model

// mender is repair, and what tidies up under the name of a claim that lives; for one record or one name at a time. The record is
// read first, from the index, then claim and answer, live:
//
//	an older record of its claim says the same     the younger is taken over, and given up if it has lost
//	no claim of the name                           what is left of an answer is removed, and the record given up
//	the claim lives, the record can be told        right, or for the claim's own task to settle
//	the claim lives, the record never can          stray: given up
//	an own claim of the record's UID does not live  given up, unless it may be on its way, or is all that the living one has
type mender struct {
	waiter
	dropper

	name   int
	found  entry // the zero value if only the name is looked at
	claim  claim
	answer answer
	proof  int
	next   func(*mender)
}

func (m *mender) step() {
	if m.next == nil {
		m.begin(m.manager.random.IntN(len(m.manager.index.entries) + 1))
		return
	}
	m.next(m)
}

// begin looks at the i-th record of the index, or at any name if there is none.
func (m *mender) begin(i int) {
	x := &m.manager.index
	*m = mender{dropper: dropper{manager: m.manager}, name: m.manager.random.IntN(names)}
	if i < len(x.entries) {
		m.found = x.entries[i]
		m.name = m.found.name
	}
	if m.found.released != 0 { // for the keeper
		m.found = entry{}
	}
	m.claim = m.manager.claims[m.name]
	switch {
	case m.found.uid != 0 && x.isRepeated(m.found) && m.manager.rules.SecondIsJudged:
		m.next = (*mender).takeOver
	case m.found.uid != 0 && x.isRepeated(m.found):
		m.part(drops)
	case m.name == ownName:
		m.beginOwn()
	case m.claim.lives():
		m.next = (*mender).readOwner
	default:
		m.next = (*mender).readLeftover
	}
}

// takeOver makes a second record of a claim this process's own: its creator may not have seen the first one, and that may be gone.
func (m *mender) takeOver() {
	old := m.manager.index.aged(m.found)
	held, ok := m.manager.server.updateRecord(old.id, old.version, func(r *record) {
		r.touched, r.finalizer, r.created = true, true, max(r.created, old.created)
	})
	if !ok {
		m.next = nil
		return
	}
	m.waiter = waiter{record: held, takenOver: true, listening: true}
	m.next = (*mender).heed
}

func (m *mender) heed() {
	switch m.verdict {
	case pending:
	case lost:
		m.manager.tally.repaired++
		m.giveUp(drops, m.record)
		m.next = (*mender).dropping
	default:
		m.next = nil
	}
}

// readLeftover and readGone look under the name of a claim that is gone, as far as the cache knows.
func (m *mender) readLeftover() {
	m.answer = m.manager.readAnswer(m.name)
	m.next = (*mender).readGone
}

func (m *mender) readGone() {
	switch gone := m.manager.readClaim(m.name).uid == 0; {
	case !gone:
		m.next = nil
	case m.answer.id != 0:
		m.next = (*mender).removeAnswer
	default:
		m.next = (*mender).partUnlessKept
	}
}

func (m *mender) removeAnswer() {
	m.manager.server.deleteAnswer(m.name, m.answer)
	m.next = (*mender).partUnlessKept
}

// readOwner and readItsAnswer look under the name of a claim that lives.
func (m *mender) readOwner() {
	m.next = (*mender).readItsAnswer
	if live := m.manager.readClaim(m.name); live.uid != m.claim.uid || m.claim.moving {
		m.next = nil
	}
}

func (m *mender) readItsAnswer() {
	m.answer = m.manager.readAnswer(m.name)
	void := m.isVoid()
	switch {
	case m.found.uid == 0 || !m.isStray():
		m.next = nil
	case void && m.found.hold && m.manager.index.isHeldOn(m.found.record):
		m.part(drops)
	case void:
		m.next = (*mender).dropUnlessKept
	default:
		m.next = (*mender).partUnlessKept
	}
}

// isStray says whether a record under the claim's name can go: not what holds the answer's addresses, nor, before there is an
// answer of the claim's own, any record of the claim.
func (m *mender) isStray() bool {
	rules := m.manager.rules
	answered, holdsAnswer := m.answer.id != 0 && m.answer.uid == m.claim.uid, m.answer.cidr == m.found.cidr
	switch {
	case m.found.uid == m.claim.uid:
		return answered && !holdsAnswer || !answered && !rules.NoDropByAge
	case holdsAnswer && answered:
		x := &m.manager.index
		return x.hasWon(m.claim.uid, m.found.cidr) || x.precedes(m.claim.uid, m.found) || !rules.NamesakeGoesLast
	case holdsAnswer: // the earlier claim may have been told
		return false
	default:
		return true
	}
}

// isVoid says whether nothing is let go of: nobody was told of the record, or the claim's own holds the same.
func (m *mender) isVoid() bool {
	if m.found.uid == m.claim.uid {
		return !m.manager.index.hasWon(m.claim.uid, m.found.cidr)
	}
	return m.answer.uid == m.claim.uid && m.answer.cidr == m.found.cidr
}

// beginOwn looks at the record of an own claim. Its object is the only answer.
func (m *mender) beginOwn() {
	if m.found.uid != 0 && !m.manager.index.isPending(m.found) {
		m.next = (*mender).readOwn
	}
}

func (m *mender) readOwn() {
	live := m.manager.readClaim(m.name)
	switch {
	case live.uid == m.found.uid, m.needs(live):
		m.next = nil
	case m.found.isUnstored() && !m.found.block: // nobody was told of it: it need not cool
		m.next = (*mender).dropUnlessKept
	case m.found.block && live.uid == 0:
		m.proof = len(m.manager.server.log)
		m.next = (*mender).proveEmpty
	default:
		m.next = (*mender).partUnlessKept
	}
}

// needs says whether a namesake's record is all that keeps the addresses of a claim that arrived together with it.
func (m *mender) needs(live claim) bool {
	x := &m.manager.index
	return live.uid != 0 && live.status == m.found.cidr && m.manager.rules.NamesakeGoesLast &&
		!x.hasWon(live.uid, live.status) && !live.ready
}

// proveEmpty waits until it is certain that nothing is handed out of a pool that is gone.
func (m *mender) proveEmpty() {
	x := &m.manager.index
	switch {
	case x.seen < m.proof:
	case len(x.all(func(e entry) bool { return e.carved })) > 0:
		m.next = nil
	default:
		m.next = (*mender).partUnlessKept
	}
}

// partUnlessKept and dropUnlessKept read the record itself.
func (m *mender) partUnlessKept() { m.partIf(letsGo) }
func (m *mender) dropUnlessKept() { m.partIf(drops) }

func (m *mender) partIf(how way) {
	if m.found.uid == 0 || m.manager.isKept(m.found.record) {
		m.next = nil
		return
	}
	m.part(how)
}

func (m *mender) part(how way) {
	m.manager.tally.repaired++
	m.giveUp(how, m.manager.index.aged(m.found))
	m.next = (*mender).dropping
}

func (m *mender) dropping() {
	if m.dropStep() {
		m.next = nil
	}
}
