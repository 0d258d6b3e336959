// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package book

import (
	"net/netip"
	"time"

	"k8s.io/apimachinery/pkg/types"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/records"
)

// PromiseTime is for how long a prefix that was proposed is kept from others: longer than the API
// server takes between its two calls. Economy only: what is handed out twice meanwhile is found by
// judging.
const PromiseTime = 5 * time.Second

// crowdedTime is for how long a pool counts as one that several ask at once, in seconds. Without
// it 2.9 % of the creates of 6 clients met another's, and with it 0.2 %: simulated, as for lanes.
const crowdedTime = 1

// maxStem is how much of generateName may be told from a name: the API server cuts off more than
// that.
const maxStem = 58

// promiser chooses, and proposes to objects under admission.
type promiser struct{ chooser }

// promises says whether something in the pool is promised.
func (b *promiser) promises(e *poolEntry) bool {
	for mark := range b.marks {
		if mark.Role == promised && mark.Pool == e.ref {
			return true
		}
	}
	return false
}

// Choose picks a prefix for the claim and marks it, so that no other goroutine of this process
// picks it too. The mark, for a record of that name, lasts until Unmark.
func (b *promiser) Choose(c Claim, key types.NamespacedName) (*records.Record, error) {
	b.redeem(c)
	e, cidr, err := b.find(c)
	if err != nil {
		return nil, err
	}
	return b.mark(e.pool.Space, e, cidr, c, key), nil
}

// Promise picks a prefix for the claim and keeps it from others until Expire, which the caller sees
// to after PromiseTime. Where several managers choose at this moment, each prefers other prefixes.
func (b *promiser) Promise(c Claim) (*records.Record, error) {
	e, cidr, err := b.find(c)
	if err != nil {
		return nil, err
	}
	_, isKept := b.policy.keptFor(e, c)
	_, isTried := b.firstTry(b.spaces.of(e.pool.Space), e, c)
	if !isKept && !isTried && !c.Want.IsValid() && b.isCrowded(e) {
		cidr = b.inLane(e, c, cidr)
	}
	r := &records.Record{Role: promised, CIDR: cidr, Space: e.pool.Space, Pool: e.ref, Claim: c.Ref, Purpose: c.Purpose, Member: c.DelegatedTo}
	return b.addMark(r, mark{stem: c.GenerateName[:min(len(c.GenerateName), maxStem)]}), nil
}

// Expire takes a promise back that no claim has asked for.
func (b *promiser) Expire(mark *records.Record) {
	if b.Unmark(mark) {
		b.serving.freed(mark)
	}
}

// withdraw takes back what was promised at exactly that prefix, and says whether anything was.
func (b *promiser) withdraw(s string, cidr netip.Prefix) bool {
	found := false
	for mark := range b.marks {
		if mark.Role == promised && mark.Space == s && mark.CIDR == cidr {
			found = b.Unmark(mark)
		}
	}
	return found
}

// redeem takes back what was promised to the claim, which asks for it now.
func (b *promiser) redeem(c Claim) {
	for r, m := range b.marks {
		if r.Role == promised && r.Pool == c.Pool && isFor(r, c, m.stem) {
			b.Unmark(r)
			return
		}
	}
}

// crowd notes that something was recorded in the pool that was not promised here, while something
// else is. One client that makes one claim after the other is no crowd, whichever managers its
// calls reach.
func (b *promiser) crowd(e *poolEntry) {
	if b.promises(e) {
		e.crowded = b.ages.now()
	}
}

// isCrowded says whether others may be choosing from the pool at this moment.
func (b *promiser) isCrowded(e *poolEntry) bool {
	return b.promises(e) || e.crowded != 0 && b.ages.now()-e.crowded <= crowdedTime
}
