// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"
)

// trace is the history of a walk, kept only when one is told again. A nil trace keeps nothing.
type trace struct{ lines []string }

// add notes what a manager's actor has done, by what it will do next.
func (t *trace) add(w *world, m, actor int) {
	if t == nil {
		return
	}
	p := w.managers[m]
	switch actor {
	case mends:
		t.note("M%d repairs name %d, then %s", m+1, p.mender.name, stepName(p.mender.next))
	case keeps:
		t.note("M%d keeps record %d, then %s", m+1, p.keeper.record.id, stepName(p.keeper.next))
	case admits:
		t.note("M%d admits claim %d, then %s", m+1, p.porter.claim.uid, stepName(p.porter.next))
	case watches:
		t.note("M%d has seen %d of %d events", m+1, p.index.seen, len(w.server.log))
	case cachesClaims, cachesAnswers:
		t.note("M%d reads claims %v and answers %v", m+1, uids(p.claims), p.answers)
	default:
		t.note("M%d works on claim %d of name %d, then %s", m+1, p.tasks[actor].claim.uid, actor, stepName(p.tasks[actor].next))
	}
}

// addDisturbance notes what the server holds after something came from outside.
func (t *trace) addDisturbance(w *world) {
	if t != nil {
		t.note("outside, %d: claims %v, answers %v, requests %+v", w.server.clock, w.server.claims, w.server.answers, w.server.requests)
		t.note("    records %v", w.server.records)
	}
}

func (t *trace) note(format string, args ...any) {
	t.lines = append(t.lines, fmt.Sprintf(format, args...))
}

// last returns the end of the history.
func (t *trace) last(lines int) string {
	return strings.Join(t.lines[max(0, len(t.lines)-lines):], "\n")
}

func uids(claims [names]claim) []int {
	found := make([]int, 0, names)
	for _, c := range claims {
		found = append(found, c.uid)
	}
	return found
}

// stepName returns the name of a machine's next step, or of a scenario.
func stepName(next any) string {
	v := reflect.ValueOf(next)
	if v.IsNil() {
		return "nothing"
	}
	name := runtime.FuncForPC(v.Pointer()).Name()
	return name[strings.LastIndex(name, ".")+1:]
}
