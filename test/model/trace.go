// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package model

import (
	"fmt"
	"reflect"
	"runtime"
	"strings"
)

// trace is the history of a walk, kept only when the walk is replayed. A nil trace keeps nothing.
type trace struct{ lines []string }

// add notes the step of a manager's actor, by the step that follows.
func (t *trace) add(w *world, m, actor int) {
	if t == nil {
		return
	}
	p := w.managers[m]
	switch actor {
	case actorRepair:
		t.note("M%d repair, name %d, then %s", m+1, p.repair.name, stepName(p.repair.next))
	case actorPoolController:
		t.note("M%d pool controller, record %d, then %s", m+1, p.poolController.record.id, stepName(p.poolController.next))
	case actorWebhooks:
		t.note("M%d webhooks, claim %d, then %s", m+1, p.webhooks.claim.uid, stepName(p.webhooks.next))
	case actorWatch:
		t.note("M%d watch, %d of %d events seen", m+1, p.index.seen, len(w.server.log))
	case actorClaimCache, actorAnswerCache:
		t.note("M%d cache, claims %v, answers %v", m+1, uids(p.claims), p.answers)
	default:
		t.note("M%d task, claim %d of name %d, then %s", m+1, p.tasks[actor].claim.uid, actor, stepName(p.tasks[actor].next))
	}
}

// addEnvironment notes what the server has stored after a step of the environment.
func (t *trace) addEnvironment(w *world) {
	if t != nil {
		t.note("environment, clock %d: claims %v, answers %v, requests %+v", w.server.clock, w.server.claims, w.server.answers, w.server.requests)
		t.note("    records %v", w.server.records)
	}
}

func (t *trace) note(format string, args ...any) {
	t.lines = append(t.lines, fmt.Sprintf(format, args...))
}

// last returns the end of the trace.
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
