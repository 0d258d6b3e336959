// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claimant

import (
	"fmt"
	"slices"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
)

// simulation is a pool that thousands of claims wait for.
type simulation struct {
	list waitlist
	// all is who waits, the oldest first, and unable who could not be served.
	all    []reconcile.Request
	unable map[reconcile.Request]bool
	// free is how much nobody has, underway how much is just being handed out, which comes to nothing so many times.
	free, underway, failures int
	// woken and served count.
	woken, served int
	last          []reconcile.Request
}

func newSimulation(waiting int) *simulation {
	p := &simulation{unable: map[reconcile.Request]bool{}}
	for i := range waiting {
		p.all = append(p.all, requestFor("team", fmt.Sprintf("c-%05d", i)))
	}
	return p
}

// release frees some addresses.
func (p *simulation) release(n int) {
	p.free += n
	p.list.join(slices.Clone(p.all))
}

// step is one pace: whoever was woken takes an address if there is one.
func (p *simulation) step() {
	p.last = nil
	if p.list.left == 0 {
		return
	}
	var none error
	switch {
	case p.free == 0 && p.underway > 0:
		none = ledger.ErrBusy
	case p.free == 0:
		none = ledger.ErrExhausted
	}
	p.last = p.list.next(p.free, none, 0)
	p.woken += len(p.last)
	for _, r := range p.last {
		if p.free == 0 || p.unable[r] {
			continue
		}
		if p.free--; p.failures > 0 {
			p.underway, p.failures = p.underway+1, p.failures-1
			p.all = slices.DeleteFunc(p.all, func(o reconcile.Request) bool { return o == r }) // it has vanished
			continue
		}
		p.served++
		p.all = slices.DeleteFunc(p.all, func(o reconcile.Request) bool { return o == r })
	}
}

func TestWhatIsFreedWakesAboutAsManyAsItCanServe(t *testing.T) {
	t.Parallel()
	p := newSimulation(2000)
	for i := range 100 {
		p.release(1 + i%3)
		for range 3 {
			p.step()
		}
	}
	if p.served != 199 || p.woken > 2*p.served {
		t.Errorf("%d are served and %d woken, want 199 and not twice as many", p.served, p.woken)
	}
	if first := p.all[0]; first != requestFor("team", "c-00199") {
		t.Errorf("%s is the oldest that waits: somebody came before his turn", first)
	}
}

func TestAllAreServedWhenEnoughIsFreed(t *testing.T) {
	t.Parallel()
	p := newSimulation(2000)
	p.release(5000)
	for range 20 {
		p.step()
	}
	if p.served != 2000 || p.woken != 2000 {
		t.Errorf("%d of 2000 are served, %d woken", p.served, p.woken)
	}
}

func TestThoseWhoCannotBeServedKeepNobodyOut(t *testing.T) {
	t.Parallel()
	p := newSimulation(2000)
	for _, r := range p.all[:1500] {
		p.unable[r] = true
	}
	p.release(1)
	steps := 0
	for ; p.served == 0 && steps < 100; steps++ {
		p.step()
	}
	if steps > 20 {
		t.Errorf("it took %d paces until somebody who can be served was woken", steps)
	}
	before := p.woken
	for range 10 { // now they are at the end of the waitlist
		p.release(1)
		p.step()
	}
	if p.served != 11 || p.woken-before > 20 {
		t.Errorf("%d are served, and %d were woken for the last ten", p.served, p.woken-before)
	}
}

func TestWhatComesToNothingGoesToTheNext(t *testing.T) {
	t.Parallel()
	p := newSimulation(100)
	p.failures = 3
	p.release(1)
	for range 5 {
		p.step()
		if len(p.last) > 0 && p.underway > 0 {
			p.step()
			if len(p.last) > 0 {
				t.Fatalf("%v are woken for what is being handed out", p.last)
			}
			p.free, p.underway = p.free+p.underway, 0 // it came to nothing, and nobody is told
		}
	}
	if p.served == 0 {
		t.Error("nobody was served")
	}
	if p.release(0); p.list.left != len(p.all) {
		t.Errorf("%d are on the waitlist, want %d", p.list.left, len(p.all))
	}
}

func TestNobodyIsWokenForeverForWhatNobodyTakes(t *testing.T) {
	t.Parallel()
	p := newSimulation(2000)
	for _, r := range p.all {
		p.unable[r] = true
	}
	p.release(1)
	for range 1000 {
		p.step()
	}
	if p.woken != 2000 {
		t.Errorf("%d are woken, want each of 2000 once", p.woken)
	}
}

// TestWhatIsFreedOnceMoreBeginsAnew: what all were woken for in vain does not have all of them woken again at once.
func TestWhatIsFreedOnceMoreBeginsAnew(t *testing.T) {
	t.Parallel()
	p := newSimulation(100)
	for _, r := range p.all {
		p.unable[r] = true
	}
	for range 2 {
		p.release(1)
		if p.step(); len(p.last) != p.free {
			t.Errorf("%d are woken first, want %d", len(p.last), p.free)
		}
		for range 20 {
			p.step()
		}
	}
}

func TestAQueueThatIsNeverEmptyDelaysTheLineAndDoesNotStopIt(t *testing.T) {
	t.Parallel()
	l := &waitlist{}
	l.join(newSimulation(10).all)
	paces := 1
	for len(l.next(1, nil, 5)) == 0 && paces < 100 {
		paces++
	}
	if paces != patience+1 {
		t.Errorf("somebody was woken at pace %d", paces)
	}
}
