// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import "math/rand/v2"

// manager is one process: an index that follows the log, caches of claims and answers that follow
// at their own pace, and the state machines. A crash loses all of it.
type manager struct {
	rules          *Rules
	cooldown       int
	server         *server
	random         *rand.Rand
	tally          *tally
	index          index
	claims         [names]claim
	answers        answers
	tasks          [names]task
	repair         repair
	poolController poolController
	webhooks       webhooks
}

// start starts a process. Its first list shows the records as of this position.
func (m *manager) start(position int) {
	m.index = index{rules: m.rules, server: m.server, kept: m.server.kept}
	m.claims, m.answers = [names]claim{}, answers{}
	for name := range names {
		m.tasks[name] = task{manager: m, name: name}
		m.tasks[name].stop()
	}
	m.repair, m.webhooks = repair{releaser: releaser{manager: m}}, webhooks{manager: m}
	m.poolController = poolController{releaser: releaser{manager: m}}
	m.relist(position)
}

// forEachWaiter calls a function for every waiter of this process.
func (m *manager) forEachWaiter(call func(*waiter)) {
	for name := range m.tasks {
		call(&m.tasks[name].waiter)
	}
	call(&m.webhooks.waiter)
	call(&m.repair.waiter)
}

// deliver lets the watch show one event. Records are judged in the same callback.
func (m *manager) deliver() bool {
	if m.index.seen == len(m.server.log) {
		return false
	}
	e := m.server.log[m.index.seen]
	m.index.seen++
	if !m.rules.WatchWithoutGaps && m.random.IntN(8) == 0 {
		return true
	}
	m.index.apply(e)
	m.forEachWaiter(func(w *waiter) {
		if e.gone {
			w.observeGone(e.id, e.version)
			return
		}
		w.observe(&m.index, m.index.entries[m.index.find(e.id)])
	})
	return true
}

// relist replaces the index by the records as of a position not before its own, and resolves the
// waiters.
func (m *manager) relist(position int) {
	if position == 0 {
		return
	}
	shown := make([]bool, m.server.ids+1)
	for i := position - 1; i >= m.index.seen; i-- {
		if e := m.server.log[i]; !shown[e.id] {
			shown[e.id] = true // a list shows only its last version
			m.index.apply(e)
		}
	}
	m.index.seen = position
	m.forEachWaiter(func(w *waiter) { m.resolve(w, m.server.log[position-1].version) })
}

func (m *manager) resolve(w *waiter, revision int) {
	i := m.index.find(w.record.id)
	switch {
	case i >= 0 && (m.rules.RelistResolvesWaiters || m.index.entries[i].version == w.record.version):
		w.observe(&m.index, m.index.entries[i])
	case i < 0 && m.rules.RelistResolvesWaiters:
		w.observeGone(w.record.id, revision)
	}
}

// readClaim, readAnswer and readAnswers are the reads that prove a release.
func (m *manager) readClaim(name int) claim {
	if m.rules.LiveReadsBeforeRelease {
		return m.server.claims[name]
	}
	return m.claims[name]
}

// readAnswer returns the answer of the name. By status it is the one with these addresses.
func (m *manager) readAnswer(name int, cidr space) answer {
	for _, a := range m.readAnswers(name) {
		if a.cidr == cidr || !m.server.isByStatus(name) {
			return a
		}
	}
	return answer{}
}

func (m *manager) readAnswers(name int) []answer {
	if m.rules.LiveReadsBeforeRelease {
		return m.server.answers.naming(name)
	}
	return m.answers.naming(name)
}

// isKept reads a record, and says whether it must stay although its claim is gone: clusterctl is
// moving it, or it is a reservation.
func (m *manager) isKept(r record) bool {
	i, ok := m.server.find(r.id, 0)
	if !ok {
		return false
	}
	live := m.server.records[i]
	stands := live.reservation && !live.terminating && live.released == 0
	return live.moving && m.rules.MovingIsKept || stands && m.rules.ReservationOutlivesClaim
}

// isIdle says whether the actor has nothing in progress.
func (m *manager) isIdle(actor int) bool {
	switch actor {
	case actorRepair:
		return m.repair.next == nil
	case actorPoolController:
		return m.poolController.next == nil
	case actorWebhooks:
		return m.webhooks.next == nil
	default:
		return m.tasks[actor].next == nil
	}
}
