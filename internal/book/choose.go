// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package book

import (
	"cmp"
	"errors"
	"fmt"
	"net/netip"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/allocator"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/records"
)

// request is what to look for in a pool.
type request = allocator.Request[records.Handle]

// chooser finds what is free, and for whom. It owns what a pool's entry says that it chose last in
// a crowd. It searches the spaces for what the policy hands out and claims and lineage leave to the
// claim, and marks what it has chosen. What a search passes over is kept out through pools
// meanwhile.
type chooser struct {
	records *records.Table
	watched *watched
	ages    *ages
	spaces  *spaces
	lineage *lineage
	claims  *claims
	pools   *pools
	foreign *foreigners
	policy  *policy
	marks   *marks
	lanes   *lanes
	// random is what pools that choose at random choose by.
	random func() uint64
}

// Choose picks a prefix for the claim and marks it, so that no other goroutine of this process
// picks it too. The mark, for a record of that name, lasts until Unmark.
func (b *chooser) Choose(c Claim, key types.NamespacedName) (*records.Record, error) {
	b.marks.redeem(c)
	e, cidr, err := b.find(c)
	if err != nil {
		return nil, err
	}
	return b.marks.mark(e.pool.Space, e, cidr, c, key), nil
}

// Promise picks a prefix for the claim and keeps it from others until Expire, which the caller sees
// to after PromiseTime. Where several managers choose at this moment, each prefers other prefixes.
func (b *chooser) Promise(c Claim) (*records.Record, error) {
	e, cidr, err := b.find(c)
	if err != nil {
		return nil, err
	}
	_, isKept := b.policy.keptFor(e, c)
	_, isTried := b.firstTry(b.spaces.of(e.pool.Space), e, c)
	if !isKept && !isTried && !c.Want.IsValid() && b.marks.isCrowded(e) {
		cidr = b.inLane(e, c, cidr)
	}
	r := &records.Record{Role: promised, CIDR: cidr, Space: e.pool.Space, Pool: e.ref, Claim: c.Ref, Purpose: c.Purpose, Member: c.DelegatedTo}
	return b.marks.add(r, mark{stem: c.GenerateName[:min(len(c.GenerateName), maxStem)]}), nil
}

// find picks a prefix for the claim. What is asked for while an object is admitted comes before the
// API server has looked at the object's name: no row could hold one that is too long.
func (b *chooser) find(c Claim) (*poolEntry, netip.Prefix, error) {
	if (&records.Record{Claim: c.Ref, Alias: c.Alias}).IsTooLong() {
		return nil, netip.Prefix{}, fmt.Errorf("the claim's name has %d characters, and its alias %d", len(c.Ref.Name), len(c.Alias))
	}
	e, ok := b.open(c)
	if !ok {
		return nil, netip.Prefix{}, ErrNotReady
	}
	if b.foreign.awaits(e.pool.Space) && !c.IsRestored() {
		return nil, netip.Prefix{}, fmt.Errorf("which addresses other providers have handed out is still being read: %w", ErrBusy)
	}
	cidr, err := b.pickKept(b.spaces.of(e.pool.Space), e, c)
	if errors.Is(err, allocator.ErrExhausted) && !errors.Is(err, ErrTaken) {
		err = b.exhausted(e, c)
	}
	return e, cidr, err
}

// open returns the claim's pool, if it may be asked: it serves, or it is known and the claim has
// had already what it asks for. What arrives is recorded before its pool serves, so that nobody
// else gets it then; but not before it can be told whose blocks are around it. Blocks are what that
// is told by. An external pool may be asked for the address that was chosen outside, and for no
// other.
func (b *chooser) open(c Claim) (*poolEntry, bool) {
	e, ok := b.pools.find(c.Pool)
	switch {
	case !ok || e.pool == nil:
		return e, false
	case e.pool.Shape.IsExternal():
		return e, c.Want.IsValid()
	case e.isOpen():
		return e, true
	}
	return e, c.IsRestored() && c.Want.IsValid() && (isBlock(c.Purpose) || b.lineage.isRooted(c.Pool, c.Want))
}

func (b *chooser) pick(s *space, e *poolEntry, c Claim) (netip.Prefix, error) {
	r := request{
		Blocks:   e.blocksFor(c),
		Own:      b.pools.aboveAll(e),
		Bits:     c.Bits,
		Reserved: e.pool.Shape.Reserved,
	}
	if !c.Want.IsValid() {
		if err := denies(e, c); err != nil {
			return netip.Prefix{}, err
		}
		return b.fitFor(s, e, r, c)
	}
	if err := b.policy.refuses(e, c); err != nil && !b.claims.isWithinOwn(e.pool.Space, c) {
		return netip.Prefix{}, err
	}
	if c.isUnfit(c.Want) {
		return netip.Prefix{}, &RefusedError{CIDR: c.Want, Reason: "would have an answer of a name that another object has"}
	}
	return c.Want, b.taken(s, e, c)
}

// fitFor finds a free prefix that is fit for the claim. What is not is held out of the search meanwhile.
func (b *chooser) fitFor(s *space, e *poolEntry, r request, c Claim) (netip.Prefix, error) {
	var passed []*records.Record
	defer func() {
		for _, p := range passed {
			b.pools.letIn(p)
		}
	}()
	for {
		cidr, err := b.fit(s, e, r)
		if err != nil && len(passed) > 0 {
			return cidr, errors.Join(ErrExhausted, ErrTaken) // what is in the way may go, and no record tells of that
		}
		if err != nil || !c.isUnfit(cidr) {
			return cidr, err
		}
		p := &records.Record{Role: tentative, CIDR: cidr, Space: e.pool.Space, Pool: e.ref, Claim: c.Ref, Purpose: c.Purpose}
		b.pools.keepOut(p)
		passed = append(passed, p)
	}
}

func (c Claim) isUnfit(cidr netip.Prefix) bool { return c.IsUnfit != nil && c.IsUnfit(cidr.Addr()) }

// fit finds a free prefix in the first of the pool's tiers that has one.
func (b *chooser) fit(s *space, e *poolEntry, r request) (found netip.Prefix, err error) {
	tiers := e.pool.Shape.Tiers()
	if tiers == nil {
		return b.fitIn(s, e, r)
	}
	for _, r.Blocks = range tiers {
		if found, err = b.fitIn(s, e, r); !errors.Is(err, allocator.ErrExhausted) {
			return found, err
		}
	}
	return netip.Prefix{}, allocator.ErrExhausted
}

// tierOf returns where else to look for what is as good as a choice for the claim: its tier, or all that the claim may get.
func tierOf(e *poolEntry, c Claim, chosen netip.Prefix) []netip.Prefix {
	for _, tier := range e.pool.Shape.Tiers() {
		if slices.ContainsFunc(tier, chosen.Overlaps) {
			return tier
		}
	}
	return e.blocksFor(c)
}

// fitIn finds a free prefix in the blocks of r as the pool's strategy has it. Every strategy finds
// one if, and only if, first fit does.
func (b *chooser) fitIn(s *space, e *poolEntry, r request) (netip.Prefix, error) {
	switch e.pool.Shape.Strategy() {
	case pooltree.BestFit:
		return s.taken.BestFit(r)
	case pooltree.Random:
		return s.taken.RandomFit(r, b.random)
	case pooltree.LeastRecentlyUsed:
		return e.history.fit(&s.taken, r)
	default:
		return s.taken.FirstFit(r)
	}
}

// pickKept picks what the pool keeps for the claim, as if that had asked for it; what another
// request for its name has got; anything where there is neither.
func (b *chooser) pickKept(s *space, e *poolEntry, c Claim) (netip.Prefix, error) {
	own, ok := b.policy.keptFor(e, c)
	if !ok || c.Want.IsValid() {
		if again, ok := b.firstTry(s, e, c); ok {
			return again, nil
		}
		return b.pick(s, e, c)
	}
	c.Want = own
	if _, err := b.pick(s, e, c); err != nil {
		return netip.Prefix{}, fmt.Errorf("the pool keeps %s for the claim: %w", own, err)
	}
	return own, nil
}

// firstTry returns the prefix that another request for the claim's name has got, which was perhaps
// the same client's first try, if the pool gives that still: what is recorded for an object that
// may yet be stored, or is about to be, or promised to one; and what a member may use of an earlier
// pool of the name.
func (b *chooser) firstTry(s *space, e *poolEntry, c Claim) (netip.Prefix, bool) {
	if c.Want.IsValid() || c.Ref.Name == "" || c.Ref.APIGroup != ipamv1.GroupVersion.Group {
		return netip.Prefix{}, false
	}
	var tried []netip.Prefix
	add := func(r *records.Record) {
		if r.Pool == e.ref && r.CIDR.Bits() == c.Bits {
			tried = append(tried, r.CIDR)
		}
	}
	for _, r := range b.records.Of(records.ClaimantOf(c.Ref)) {
		if b.isTried(c, r) {
			add(r)
		}
	}
	for _, mark := range b.marks.ofName(c.Ref) {
		add(mark)
	}
	slices.SortFunc(tried, netip.Prefix.Compare)
	for _, c.Want = range tried {
		if _, err := b.pick(s, e, c); err == nil {
			return c.Want, true
		}
	}
	return netip.Prefix{}, false
}

// isTried says whether a record of the claim's name is of another request for it, or of a block that
// the member may use which this one goes to.
func (b *chooser) isTried(c Claim, r *records.Record) bool {
	isHeld := r.IsWithMember() && r.Member == c.DelegatedTo && !r.Terminating
	return (isHeld || b.ages.isPending(r)) && !r.Deleted
}

// taken says who holds an asked prefix, or that it may be free in a moment. What was handed out of
// a pool that arrives with its block, or whose record of it has gone, may have come before it.
func (b *chooser) taken(s *space, e *poolEntry, c Claim) error {
	asked := &records.Record{CIDR: c.Want, Pool: e.ref, Claim: c.Ref, Purpose: c.Purpose, Member: c.DelegatedTo}
	isBack := c.Arrived || c.Stored || b.claims.hadBlock(asked)
	for _, h := range s.taken.Overlapping(c.Want) {
		r := b.records.Get(h)
		switch {
		case b.lineage.isAbove(r, e.ref, c.Want), r.Role == records.Stored && isBack && b.lineage.isAbove(asked, r.Pool, r.CIDR):
		case r.Role == records.Stored && c.passes(r, asked):
		case isOtherTry(r, asked):
		case r.Role == tentative, r.Role == promised:
			return ErrBusy
		case r.Role == records.Stored:
			return &TakenError{CIDR: c.Want, By: HoldingOf(r)}
		}
	}
	return nil
}

// passes says whether a record, which overlaps what the claim asks for, leaves that to it.
func (c Claim) passes(r, asked *records.Record) bool {
	return areOfOnePool(r, asked) || isPredecessor(r, asked) && (!hasGone(r) || c.returnsTo(r))
}

// exhausted says what it means that the pool has no room: nothing but what is certain may be called
// exhausted.
func (b *chooser) exhausted(e *poolEntry, c Claim) error {
	switch {
	case slices.ContainsFunc(b.records.Of(records.ClaimantOf(c.Ref)), func(r *records.Record) bool { return answers(r, c) }):
		return fmt.Errorf("the claim is recorded already: %w", ErrBusy)
	case b.marks.contended(e):
		return fmt.Errorf("what is left is being handed out: %w", ErrBusy)
	case c.Revision == "":
		return ErrUnproved
	}
	order, err := resourceversion.CompareResourceVersion(b.watched.Revision(), c.Revision)
	if err == nil && order < 0 {
		return ErrUnproved
	}
	return cmp.Or(err, ErrExhausted)
}

// ChooseTaken marks exactly what arrived, whoever holds it.
func (b *chooser) ChooseTaken(c Claim, key types.NamespacedName) (*records.Record, error) {
	e, ok := b.open(c)
	switch {
	case !ok:
		return nil, ErrNotReady
	case b.claims.isMade(c):
		return nil, fmt.Errorf("the record of %s is on its way: %w", c.Want, ErrBusy)
	}
	return b.marks.mark(e.pool.Space, e, c.Want, c, key), nil
}

// ChooseBlock marks exactly the asked block, unless somebody holds part of it: not the pool itself,
// nor what was carved or handed out of its block and arrived before it.
func (b *chooser) ChooseBlock(c Claim, space string, key types.NamespacedName) (*records.Record, error) {
	e := b.pools.of(c.Pool)
	asked := &records.Record{CIDR: c.Want, Claim: c.Ref, Purpose: c.Purpose}
	for _, r := range b.spaces.overlapping(space, c.Want) {
		if !isBlockOf(r, e.ref) && (isHandBack(r) || r.Pool != e.ref && !b.lineage.isAbove(asked, r.Pool, r.CIDR)) {
			return nil, &TakenError{CIDR: c.Want, By: HoldingOf(r)}
		}
	}
	return b.marks.mark(space, e, c.Want, c, key), nil
}

// ChooseHandBack marks exactly the block that is handed back, unless anything is handed out of it.
func (b *chooser) ChooseHandBack(c Claim, space string, key types.NamespacedName) (*records.Record, error) {
	e := b.pools.of(c.Pool)
	for _, r := range b.spaces.overlapping(space, c.Want) {
		if !isBlockOf(r, e.ref) && !isHandBack(r) {
			return nil, &TakenError{CIDR: c.Want, By: HoldingOf(r)}
		}
	}
	return b.marks.mark(space, e, c.Want, c, key), nil
}

// Preview picks a prefix for the claim and forgets it again.
func (b *chooser) Preview(c Claim) (netip.Prefix, error) {
	_, cidr, err := b.find(c)
	return cidr, err
}
