// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"fmt"
	"net/netip"
	"sync"
	"time"

	"k8s.io/apimachinery/pkg/types"
)

// clientView is what clients have been told, from when they heard it until they give it back: they find a prefix that is handed out
// twice by themselves, without a look at anything that is stored.
type clientView struct {
	mu      sync.Mutex
	held    map[types.UID]told
	doubles []string
	// answers is how often anybody was told anything.
	answers int
}

type told struct {
	cidr netip.Prefix
	from *source
	// as is the pool whose block the prefix is, if it is one.
	as    *source
	name  string
	since time.Time
}

func (t told) String() string {
	return fmt.Sprintf("%s out of %s told to %s at %s", t.cidr, t.from.name, t.name, t.since.Format("15:04:05.000"))
}

// fits says whether the two may be held at once: apart, or one inside a block that it comes from.
func (t told) fits(other told) bool {
	return !t.cidr.Overlaps(other.cidr) || t.as != nil && t.as.above(other.from) || other.as != nil && other.as.above(t.from)
}

func newClientView() *clientView { return &clientView{held: map[types.UID]told{}} }

// hold notes what somebody has just been told.
func (t *clientView) hold(uid types.UID, what told) {
	t.mu.Lock()
	defer t.mu.Unlock()
	what.since = time.Now()
	for _, other := range t.held {
		if !what.fits(other) {
			t.doubles = append(t.doubles, fmt.Sprintf("%s, and %s", other, what))
		}
	}
	t.held[uid] = what
	t.answers++
}

// leave notes that somebody is about to give back what he holds.
func (t *clientView) leave(uid types.UID) {
	t.mu.Lock()
	defer t.mu.Unlock()
	delete(t.held, uid)
}

func (t *clientView) found() (doubles []string, answers int) {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.doubles, t.answers
}
