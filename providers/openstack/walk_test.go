// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"net/netip"
	"slices"
	"sync"
	"testing"
	"time"

	"k8s.io/utils/clock"
	clocktesting "k8s.io/utils/clock/testing"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/external"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/providers/openstack/neutron"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/openstack/fake"
)

// walk is two managers at random over one cloud. What a manager does with the provider it does here
// with a ledger of a few lines: a record per address, and the first record of a claim that is
// committed is told.
type walk struct {
	*bench

	mu     sync.Mutex
	random *rand.Rand
	// claims are all that ever were, by UID; current are the last ones, by name.
	claims  map[string]*walkClaim
	current map[string]*walkClaim
	records map[netip.Addr]string
	late    []func()
	counts  map[string]int
	// lent are those that the pool lists.
	lent []neutron.FloatingIP
}

type walkClaim struct {
	ref ipamv1.ClaimReference
	// told is what the claim was told; dying, that it is being deleted; gone, that it is no more.
	told        netip.Addr
	dying, gone bool
	// dyingSince and releasedSince are how many changes there were in the cloud when that began.
	dyingSince, releasedSince int
}

const (
	walkNames = 3
	walkSteps = 200
)

// TestRandomWalk: two managers, faults at each call, managers that die at any moment, ports that
// come and go. At the end each floating IP is of a living claim, or free; it was created too late
// for its claim's release to see it; or it was never this pool's, and is as it was.
func TestRandomWalk(t *testing.T) {
	t.Parallel()
	for _, policy := range []ipamv1.FloatingIPReclaimPolicy{ipamv1.DeleteFloatingIPs, ipamv1.RetainFloatingIPs} {
		t.Run(string(policy), func(t *testing.T) {
			t.Parallel()
			randomWalk(t, policy)
		})
	}
}

// randomWalk walks in a pool with that policy. That which retains has been lent floating IPs, too.
func randomWalk(t *testing.T, policy ipamv1.FloatingIPReclaimPolicy) {
	t.Helper()
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	w := &walk{
		bench: newBench(t), random: rand.New(rand.NewPCG(seed, 0)), claims: map[string]*walkClaim{}, current: map[string]*walkClaim{},
		records: map[netip.Addr]string{}, counts: map[string]int{},
	}
	w.strangers()
	before := w.FloatingIPs()
	w.pool.Source.ReclaimPolicy = policy
	if policy == ipamv1.RetainFloatingIPs {
		w.lent = w.lend("", "")
	}
	var managers sync.WaitGroup
	for range 2 {
		managers.Go(w.manage)
	}
	managers.Wait()
	w.settle()
	w.expectUntouched(before)
	w.expectOwners(before)
	w.expectChanges(before)
	t.Logf("%d claims, %d changes in the cloud: %v", len(w.claims), len(w.Changes()), w.counts)
	happens := []string{"told", "gone", "died", "WaitingForPort", "busy", "PoolNotReady"}
	if policy == ipamv1.RetainFloatingIPs {
		happens = append(happens, "taken from stock")
		for _, f := range w.lent {
			if !slices.ContainsFunc(w.FloatingIPs(), func(g fake.FloatingIP) bool { return g.ID == f.ID }) {
				t.Errorf("%+v was lent, and has gone", f)
			}
		}
	}
	for _, what := range happens {
		if w.counts[what] == 0 {
			t.Errorf("it never happened: %s", what)
		}
	}
}

// n returns a random number below most.
func (w *walk) n(most int) int {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.random.IntN(most)
}

func (w *walk) count(what string) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.counts[what]++
}

// manage is one manager, which dies now and then. Up to a minute passes between its steps.
func (w *walk) manage() {
	now := clocktesting.NewFakeClock(time.Unix(1e9, 0))
	provider := w.newProvider(now, 32)
	for range walkSteps {
		now.Step(time.Duration(w.n(60)) * time.Second)
		w.disturb()
		patience := time.Duration(1+w.n(10)) * 10 * time.Millisecond
		if w.n(8) == 0 {
			patience = time.Duration(w.n(3000)) * time.Microsecond
		}
		ctx, cancel := context.WithTimeout(w.ctx(), patience)
		isAlive := w.step(ctx, provider, w.n(10) == 0)
		cancel()
		if !isAlive || w.n(20) == 0 {
			w.count("died")
			provider = w.newProvider(now, 32)
		}
	}
}

// step is one reconciliation of a claim, or of records whose claims are gone. It reports whether
// the manager outlives it.
func (w *walk) step(ctx context.Context, provider *Provider, dies bool) bool {
	c := w.pick()
	ref, isDying := w.look(c)
	if isDying {
		w.release(ctx, provider, c)
		return true
	}
	has, err := provider.Acquire(ctx, w.pool, w.asks(c))
	w.expectOneOf(err, true)
	w.count(reasonOf(err))
	if err != nil || !w.record(ref.UID, has.Addr) {
		return true
	}
	if dies {
		return false
	}
	w.commit(c, has.Addr)
	w.tidy(ctx, provider)
	return true
}

// pick returns a claim, after some have come, and some are to go.
func (w *walk) pick() *walkClaim {
	w.mu.Lock()
	defer w.mu.Unlock()
	name := fmt.Sprintf("claim-%d", w.random.IntN(walkNames))
	c := w.current[name]
	if c == nil || c.gone {
		uid := fmt.Sprintf("uid-%d", len(w.claims))
		c = &walkClaim{ref: claim(name, uid)}
		w.claims[uid], w.current[name] = c, c
	}
	if !c.dying && w.random.IntN(12) == 0 {
		c.dying, c.dyingSince = true, len(w.Changes())
	}
	return c
}

func (w *walk) look(c *walkClaim) (ipamv1.ClaimReference, bool) {
	w.mu.Lock()
	defer w.mu.Unlock()
	return c.ref, c.dying
}

// asks returns what a manager asks for a claim.
func (w *walk) asks(c *walkClaim) external.Request {
	isPatient := w.n(2) == 0
	w.mu.Lock()
	defer w.mu.Unlock()
	return external.Request{
		Claim: c.ref, IsTold: c.told.IsValid(), IsPatient: isPatient,
		Holds:    func(a netip.Addr) bool { return w.holder(a) == c.ref.UID },
		IsOthers: func(a netip.Addr) bool { return w.holder(a) != "" && w.holder(a) != c.ref.UID },
	}
}

func (w *walk) holder(a netip.Addr) string {
	w.mu.Lock()
	defer w.mu.Unlock()
	return w.records[a]
}

// record stores and judges the record of an address: it wins if no other claim's is there.
func (w *walk) record(uid string, a netip.Addr) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	if holder := w.records[a]; holder != "" && holder != uid {
		w.counts["taken"]++
		return false
	}
	w.records[a] = uid
	return true
}

// commit tells a claim its address, if it is there still and has not been told another one.
func (w *walk) commit(c *walkClaim, a netip.Addr) {
	w.mu.Lock()
	defer w.mu.Unlock()
	if !c.dying && !c.told.IsValid() {
		c.told = a
		w.counts["told"]++
	}
}

// release gives back what a deleted claim has, and then its records.
func (w *walk) release(ctx context.Context, provider *Provider, c *walkClaim) {
	began := len(w.Changes())
	err := provider.GiveBack(ctx, w.pool, external.ClaimReleased(c.ref))
	w.expectOneOf(err, false)
	w.count(reasonOf(err))
	if err != nil {
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	maps.DeleteFunc(w.records, func(_ netip.Addr, uid string) bool { return uid == c.ref.UID })
	if !c.gone {
		c.gone, c.releasedSince = true, began
		w.counts["gone"]++
	}
}

// tidy gives back what records hold that no claim was told, or whose claim is gone.
func (w *walk) tidy(ctx context.Context, provider *Provider) {
	for a, c := range w.superfluous() {
		err := provider.GiveBack(ctx, w.pool, external.AddressReleased(c.ref, a))
		w.expectOneOf(err, false)
		if err != nil {
			continue
		}
		w.mu.Lock()
		if w.records[a] == c.ref.UID {
			delete(w.records, a)
			w.counts[map[bool]string{true: "dead released", false: "untold released"}[c.gone]]++
		}
		w.mu.Unlock()
	}
}

func (w *walk) superfluous() map[netip.Addr]*walkClaim {
	w.mu.Lock()
	defer w.mu.Unlock()
	all := map[netip.Addr]*walkClaim{}
	for a, uid := range w.records {
		c := w.claims[uid]
		if c.gone || !c.dying && c.told.IsValid() && c.told != a {
			all[a] = c
		}
	}
	return all
}

// disturb has something go wrong with the next calls, or a port come or go.
func (w *walk) disturb() {
	calls := []string{logIn, extensions, list, create, create, remove, describing, ""}
	switch call := calls[w.n(len(calls))]; w.n(12) {
	case 0, 1, 2:
		effects := []fake.Effect{fake.CutBefore, fake.CutAfter, fake.CutAnswer, fake.Late}
		w.Inject(fake.Fault{Call: call, Effect: effects[w.n(len(effects))]})
	case 3:
		codes := []int{401, 403, 404, 409, 412, 429, 500, 503, 504}
		w.Inject(fake.Fault{Call: call, Effect: fake.Refuse, Code: codes[w.n(len(codes))]})
	case 4:
		codes := []int{409, 500, 503}
		w.Inject(fake.Fault{Call: call, Effect: fake.RefuseLate, Code: codes[w.n(len(codes))]})
	case 5, 6:
		w.Inject(fake.Fault{Call: create, Effect: fake.Delay, For: time.Duration(1+w.n(30)) * time.Millisecond})
	case 7:
		w.keepForLater(w.Hold(call, fake.Late).Release)
	case 8:
		w.endLate(1)
	case 9, 10:
		w.bind()
	default:
	}
}

func (w *walk) keepForLater(release func()) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.late = append(w.late, release)
}

// endLate lets some late requests go.
func (w *walk) endLate(most int) {
	w.mu.Lock()
	defer w.mu.Unlock()
	for ; most > 0 && len(w.late) > 0; most-- {
		w.late[0]()
		w.late = w.late[1:]
	}
}

// bind binds a floating IP of a claim that was told, or ends what is bound.
func (w *walk) bind() {
	for _, f := range w.FloatingIPs() {
		id, _ := parse(f.Description)
		isTold := w.isTold(id.owner, f.Address)
		switch {
		case f.PortID != "" && w.n(2) == 0:
			_ = w.Unbind(w.t.Context(), f.PortID)
		case f.PortID == "" && isTold && w.n(3) == 0:
			_, _ = w.Bind(w.t.Context(), f.ID) // it may have gone
		}
	}
}

func (w *walk) isTold(uid string, a netip.Addr) bool {
	w.mu.Lock()
	defer w.mu.Unlock()
	c := w.claims[uid]
	return c != nil && c.told == a
}

// settle ends all disturbances, and lets one manager work until there is nothing left to do.
func (w *walk) settle() {
	w.ClearFaults()
	w.endLate(len(w.late))
	w.eventually("late requests are executed", func() bool { return w.Active() == 0 })
	for _, f := range w.FloatingIPs() {
		if f.PortID != "" {
			_ = w.Unbind(w.t.Context(), f.PortID)
		}
	}
	provider := w.newProvider(clock.RealClock{}, 32)
	for range 3 {
		for _, c := range w.current {
			if c.dying && !c.gone {
				w.release(w.ctx(), provider, c)
			} else if !c.dying {
				if has, err := provider.Acquire(w.ctx(), w.pool, w.asks(c)); err != nil {
					w.t.Errorf("at the end: %v", err)
				} else if w.record(c.ref.UID, has.Addr) {
					w.commit(c, has.Addr)
				}
			}
		}
		w.tidy(w.ctx(), provider)
	}
}

// expectOwners checks whose each floating IP is, and that each claim has what it was told.
func (w *walk) expectOwners(strangers []fake.FloatingIP) {
	has := map[netip.Addr]string{}
	for _, f := range w.FloatingIPs() {
		if isOneOf(strangers, f.ID) {
			continue
		}
		id, ok := parse(f.Description)
		c := w.claims[id.owner]
		switch {
		case ok && id.owner == free, w.isLent(f.ID) && f.Description == "":
			w.counts["free at the end"]++
		case !ok || c == nil:
			w.t.Errorf("nobody's: %+v", f)
		case c.gone && w.described(f) < c.releasedSince:
			w.t.Errorf("it was left behind: %+v", f)
		case c.gone:
			w.counts["created after the release"]++
		default:
			has[f.Address] = id.owner
		}
	}
	w.expectTold(has)
}

// described returns the place among the changes at which a floating IP got the owner that it has.
func (w *walk) described(f fake.FloatingIP) (place int) {
	for i, change := range w.Changes() {
		if change.After.ID == f.ID && change.After.Description == f.Description && change.Before.Description != f.Description {
			place = i
		}
	}
	return place
}

func (w *walk) isLent(id string) bool {
	return slices.ContainsFunc(w.lent, func(f neutron.FloatingIP) bool { return f.ID == id })
}

// expectTold checks that living claims were told what they have, and that there are no other
// records.
func (w *walk) expectTold(has map[netip.Addr]string) {
	for name, c := range w.current {
		isRight := !c.dying && c.told.IsValid() && has[c.told] == c.ref.UID && w.records[c.told] == c.ref.UID
		if !c.gone && !isRight {
			w.t.Errorf("%s was told %s, which is held for %q, and has %v", name, c.told, w.records[c.told], has)
		}
	}
	for a, uid := range w.records {
		if c := w.claims[uid]; c.gone || c.told != a {
			w.t.Errorf("there is a record of %s for %+v", a, c)
		}
	}
}

// expectChanges checks that nothing was taken from a port, a stranger, or a claim that lived.
func (w *walk) expectChanges(strangers []fake.FloatingIP) {
	for i, change := range w.Changes() {
		isEnd := change.Call == remove || change.Call == describing
		switch {
		case !isEnd:
		case isOneOf(strangers, change.Before.ID):
			w.t.Errorf("a stranger's: %+v", change)
		case change.Before.PortID != "":
			w.t.Errorf("it was bound: %+v", change)
		case w.isLent(change.Before.ID) && change.Call == remove:
			w.t.Errorf("it was lent: %+v", change)
		case w.claimOf(change.Before) == "":
			w.expectTaking(change)
		default:
			w.expectEnd(i, change)
		}
	}
}

// expectTaking checks that a claim has taken what was free.
func (w *walk) expectTaking(change fake.Change) {
	isFree := change.Before.Description == describeFree(poolKey) || w.isLent(change.Before.ID) && change.Before.Description == ""
	if !isFree || change.Call != describing || w.claimOf(change.After) == "" {
		w.t.Errorf("a stranger's: %+v", change)
	}
	w.counts["taken from stock"]++
}

// expectEnd checks that a claim has given back what it did not need.
func (w *walk) expectEnd(place int, change fake.Change) {
	c := w.claims[w.claimOf(change.Before)]
	isFree := change.After.Description == describeFree(poolKey) || w.isLent(change.Before.ID) && change.After.Description == ""
	switch {
	case c.told == change.Before.Address && (!c.dying || place < c.dyingSince):
		w.t.Errorf("its claim lived: %+v", change)
	case change.Call == describing && !isFree:
		w.t.Errorf("it got another owner: %+v", change)
	}
}

// claimOf returns the UID of the claim that a floating IP of the pool names; "" for none.
func (w *walk) claimOf(f fake.FloatingIP) string {
	id, _ := parse(f.Description)
	if c := w.claims[id.owner]; c != nil && id.key == poolKey {
		return c.ref.UID
	}
	return ""
}

func isOneOf(all []fake.FloatingIP, id string) bool {
	return slices.ContainsFunc(all, func(f fake.FloatingIP) bool { return f.ID == id })
}
