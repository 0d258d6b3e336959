// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"maps"
	"net/netip"
	"slices"
	"strings"
	"time"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
)

// promiseTime is for how long a prefix that was proposed is kept from others: longer than the API server takes between its two
// calls. Economy only: what is handed out twice meanwhile is found by judging.
const promiseTime = 5 * time.Second

// lanesTime is how long a manager that has recorded something counts as one that goes on choosing, in seconds.
const lanesTime = 30

// promises are the prefixes that this process has proposed to objects under admission, as they are in their spaces. The index's
// lock guards them.
type promises map[*record]struct{}

// any says whether something in the pool is promised.
func (p promises) any(e *poolEntry) bool {
	for mark := range p {
		if mark.pool == e {
			return true
		}
	}
	return false
}

// isFor says whether the promise was made to the claim, whose name may not have been complete then.
func (r *record) isFor(c Claim) bool {
	promised, claim := keyOf(r.claim), keyOf(c.Ref)
	complete := strings.HasPrefix(claim.Name, promised.Name)
	promised.Name, claim.Name = "", ""
	return complete && promised == claim && r.cidr == c.Want
}

// withdraw takes back what was promised at exactly that prefix, if anything was.
func (x *index) withdraw(s *space, cidr netip.Prefix) {
	for mark := range x.promises {
		if mark.space == s && mark.cidr == cidr {
			x.takeBack(mark)
		}
	}
}

// takeBack says whether the promise still stood.
func (x *index) takeBack(mark *record) bool {
	if _, ok := x.promises[mark]; !ok {
		return false
	}
	delete(x.promises, mark)
	x.letIn(mark)
	return true
}

// redeem takes back what was promised to the claim, which asks for it now.
func (x *index) redeem(c Claim) {
	for mark := range x.promises {
		if mark.pool.ref == c.Pool && mark.isFor(c) {
			x.takeBack(mark)
			return
		}
	}
}

// preview picks a prefix for the claim and forgets it again.
func (x *index) preview(c Claim) (netip.Prefix, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	_, cidr, err := x.find(c)
	return cidr, err
}

// promise picks a prefix for the claim and keeps it from others for a while. Where several managers choose at this moment, each
// prefers other prefixes.
func (x *index) promise(c Claim) (netip.Prefix, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	e, cidr, err := x.find(c)
	if err != nil {
		return netip.Prefix{}, err
	}
	if e.pool.Shape.Strategy() != pooltree.Random && !c.Want.IsValid() && x.promises.any(e) {
		cidr = x.inLane(c, cidr)
	}
	mark := &record{role: promised, cidr: cidr, space: x.spaceOf(e.pool.Space), pool: e, claim: c.Ref, purpose: c.Purpose}
	x.keepOut(mark)
	x.promises[mark] = struct{}{}
	time.AfterFunc(promiseTime, func() { x.expire(mark) })
	return cidr, nil
}

func (x *index) expire(mark *record) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.takeBack(mark) {
		x.on.poolFreed(mark.pool.ref)
	}
}

// inLane returns the first choice for the claim that is in this manager's lane, or else the very first. Every manager has every
// n-th prefix of a length as its lane, so that what several choose at once seldom meets.
func (x *index) inLane(c Claim, first netip.Prefix) netip.Prefix {
	lane, lanes := x.lanes.position(x.now())
	found := first
	for range lanes {
		if ordinal(found)%lanes == lane {
			break
		}
		passed := &record{role: tentative, cidr: found, space: x.spaceOf(x.pools[c.Pool].pool.Space), pool: x.pools[c.Pool]}
		x.keepOut(passed)
		defer x.letIn(passed)
		_, next, err := x.find(c)
		if err != nil {
			return first
		}
		found = next
	}
	return found
}

// ordinal numbers the prefixes of one length; of the number only the last bits count.
func ordinal(p netip.Prefix) int {
	bytes := p.Addr().AsSlice()
	n := 0
	for _, b := range bytes[:(p.Bits()+7)/8] {
		n = n<<8 | int(b)
	}
	return n >> ((8 - p.Bits()%8) % 8) & 0xffff
}

// lanes are the managers that have recorded something lately.
type lanes struct {
	own  string
	seen map[string]int64
}

// note notes that a manager has recorded something.
func (l *lanes) note(instance string, now int64) { l.seen[instance] = now }

// position returns which of how many lanes is this manager's.
func (l *lanes) position(now int64) (lane, of int) {
	maps.DeleteFunc(l.seen, func(_ string, seen int64) bool { return now-seen > lanesTime })
	others := slices.DeleteFunc(slices.Collect(maps.Keys(l.seen)), func(instance string) bool { return instance == l.own })
	for _, other := range others {
		if other < l.own {
			lane++
		}
	}
	return lane, len(others) + 1
}
