// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"cmp"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/fsck"
)

const (
	weirManager    = "weir"
	weirFinalizers = "ipam.weir.dev/"
	arrived        = "ipam.weir.dev/arrived"
	deleteForMove  = "clusterctl.cluster.x-k8s.io/delete-for-move"
	// heldKind is what a note of a suite is about: see History.Hold.
	heldKind = "Held"
)

// change is what one write did to one object.
type change struct {
	revision int64
	key      string
	// object is what is stored from then on; nil if nothing is.
	object *fsck.Item
	// isFirst: the object was created by this write. It is false where that was
	// missed.
	isFirst bool
	// isMissed: other changes before this one may have been missed.
	isMissed bool
}

// HistoryAccount counts what a history has seen.
type HistoryAccount struct {
	// Changes are the writes, and Moments the revisions after which everything
	// was looked at.
	Changes, Moments int
	// Holdings are how often somebody got a prefix, and Reuses how often that was
	// one that somebody else had had before.
	Holdings, Reuses int
	// Terminating are the IPAddresses that were made for a claim that was being
	// deleted, Late those of them for a claim that nobody used any more or that
	// was gone, and LateTaken those of these whose address was another claim's
	// meanwhile. LongestLate is for how long one was there.
	Terminating, Late, LateTaken int
	LongestLate                  time.Duration
	// Gaps are how often changes were missed, and taken from a list.
	Gaps int
}

func (a HistoryAccount) String() string {
	return fmt.Sprintf("%d changes, %d moments, %d times a prefix was given, %d of them one that somebody else had had; "+
		"%d IPAddresses for claims that were being deleted, %d of them when nobody used the claim any more (for %s at most), %d with an "+
		"address that was another's meanwhile; %d gaps",
		a.Changes, a.Moments, a.Holdings, a.Reuses, a.Terminating, a.Late, a.LongestLate.Round(time.Millisecond), a.LateTaken, a.Gaps)
}

// life is what became of one claim, one pool or one note, by UID.
type life struct {
	// claim is as it is now.
	claim *fsck.Item
	// answer is its IPAddress, if it has one.
	answer *fsck.Item
	// has is what it holds, and since when.
	has   *fsck.Holding
	since int64
	// moves: clusterctl has deleted, or marked, a record of it.
	moves bool
}

// isDeleted reports whether the claim is being deleted or is gone.
func (l *life) isDeleted() bool { return l == nil || l.claim.IsTerminating() }

// isLetGo reports whether the claim is deleted and nobody but Weir and the
// garbage collector holds on to it. That does not change any more: what is being
// deleted gets no new finalizers.
func (l *life) isLetGo() bool {
	return l == nil || l.claim.IsTerminating() && !slices.ContainsFunc(l.claim.Metadata.Finalizers, func(name string) bool {
		return !strings.HasPrefix(name, weirFinalizers) && name != metav1.FinalizerDeleteDependents && name != metav1.FinalizerOrphanDependents
	})
}

func (l *life) String() string { return fmt.Sprintf("%s since revision %d", l.has, l.since) }

// answered is an IPAddress and the claim that it was made or adopted for.
type answered struct {
	claim types.UID
	// since is the revision from which on it is late; zero if it is not.
	since int64
	// late is what it would be if it were somebody's, for one of Weir's.
	late *fsck.Holding
	made time.Time
	// isTaken: somebody has had that meanwhile.
	isTaken bool
}

// place is a prefix of an address space.
type place struct {
	space string
	cidr  netip.Prefix
}

// past is what was stored at one moment, and what was wrong up to then. It
// replays changes in the order of their revisions: what it says of a moment is
// true of that moment, of all kinds of objects together.
//
// A claim, or a carved pool, holds its prefix from the write on that stores its
// IPAddress (an own kind: its prefix, recorded) until it is gone, or is let go
// and has neither IPAddress nor record any more. An IPAddress that is made when
// its claim has been let go is late and nobody's.
type past struct {
	// state is the snapshot that the checker would have taken.
	state    *fsck.Snapshot
	revision int64
	objects  map[string]*fsck.Item
	lives    map[types.UID]*life
	// gone are the claims that are.
	gone map[types.UID]bool
	// answers are the IPAddresses that were somebody's, by their UIDs.
	answers  map[types.UID]*answered
	former   map[place]types.UID
	findings []string
	account  HistoryAccount
}

func newPast() *past {
	return &past{
		state: &fsck.Snapshot{
			Admitted: true, Pools: map[fsck.PoolKey]*fsck.Item{}, InCluster: map[fsck.PoolKey]*fsck.Item{}, Claims: map[types.UID]*fsck.Item{}, RecordsOf: map[types.UID][]*fsck.Item{},
		},
		objects: map[string]*fsck.Item{}, lives: map[types.UID]*life{}, gone: map[types.UID]bool{},
		answers: map[types.UID]*answered{}, former: map[place]types.UID{},
	}
}

// apply replays one change.
func (p *past) apply(c change) {
	before := p.objects[c.key]
	if before == nil && c.object == nil {
		return
	}
	if before != nil && c.object != nil && before.Metadata.UID != c.object.Metadata.UID {
		p.apply(change{revision: c.revision, key: c.key, isMissed: true})
		before = nil
	}
	p.account.Changes++
	if c.revision > p.revision {
		p.account.Moments++
		p.revision = c.revision
	}
	p.store(c, before)
	switch object := cmp.Or(c.object, before); object.Kind {
	case "IPAddress":
		p.answerChanged(c, before)
	case "IPAllocation":
		p.recordChanged(c, before)
	default:
		p.claimChanged(c, before)
	}
}

// store brings the state up to this change.
func (p *past) store(c change, before *fsck.Item) {
	if before != nil {
		delete(p.objects, c.key)
		delete(p.state.Pools, before.Key())
		delete(p.state.Claims, before.Metadata.UID)
		p.state.Forget(before)
	}
	now := c.object
	if now == nil {
		return
	}
	p.objects[c.key] = now
	if now.IsInClusterPool() { // and one that goes is remembered: its answers may go later
		p.state.InCluster[now.Key()] = now
	}
	switch {
	case now.Kind == "IPAllocation":
		uid := now.Spec.ClaimRef.UID
		p.state.RecordsOf[uid] = append(p.state.RecordsOf[uid], now)
	case now.IsPool() && now.Group == fsck.WeirGroup:
		p.state.Pools[now.Key()] = now
	case now.Kind != "IPAddress":
		p.state.Claims[now.Metadata.UID] = now
	}
}

// claimChanged looks at a claim, a pool or a note.
func (p *past) claimChanged(c change, before *fsck.Item) {
	if c.object == nil {
		uid := before.Metadata.UID
		if l := p.lives[uid]; l != nil {
			p.end(l)
		}
		delete(p.lives, uid)
		p.gone[uid] = true
		return
	}
	now := c.object
	l := p.lives[now.Metadata.UID]
	if l == nil {
		l = &life{}
		p.lives[now.Metadata.UID] = l
	}
	l.claim = now
	if before == nil && c.isMissed {
		if answer := p.objects[answerPath(now)]; answer != nil && controllerOf(answer) == now.Metadata.UID {
			p.relate(change{revision: c.revision, object: answer, isMissed: true})
		}
	}
	if name := toldName(now); name != "" && !c.isMissed && (before == nil || toldName(before) != name) && p.objects[answerPath(now)] == nil {
		p.find("%s, uid %s, is told of IPAddress %s, which does not exist", now, now.Metadata.UID, name)
	}
	p.checkTold(now)
	p.settle(l)
}

func toldName(claim *fsck.Item) string {
	return cmp.Or(claim.Status.AddressRef.Name, claim.Status.Address.Name)
}

// answerPath is the key of the IPAddress that the claim is told of or, before
// that, of the one named like it.
func answerPath(claim *fsck.Item) string {
	name := cmp.Or(toldName(claim), claim.Metadata.Name)
	return fmt.Sprintf("/registry/%s/ipaddresses/%s/%s", claim.Group, claim.Metadata.Namespace, name)
}

// checkTold finds a claim that somebody uses and that is told of another's
// IPAddress, or of one that was made when nobody used the claim any more.
func (p *past) checkTold(claim *fsck.Item) {
	answer, l := p.objects[answerPath(claim)], p.lives[claim.Metadata.UID]
	if toldName(claim) == "" || answer == nil || l == nil || l.isLetGo() {
		return
	}
	if a := p.answers[answer.Metadata.UID]; a != nil && a.claim != claim.Metadata.UID {
		p.find("%s, uid %s, is told of %s, %s, which is of the claim with uid %s", claim, claim.Metadata.UID, answer, answer.Spec.Address, a.claim)
	}
}

// answerChanged looks at an IPAddress.
func (p *past) answerChanged(c change, before *fsck.Item) {
	object := cmp.Or(c.object, before)
	a := p.answers[object.Metadata.UID]
	switch {
	case c.object == nil:
		delete(p.answers, object.Metadata.UID)
		if a != nil {
			p.part(a, object)
		}
		if a != nil && a.late != nil {
			p.account.LongestLate = max(p.account.LongestLate, time.Since(a.made))
		}
		return
	case controllerOf(object) != "" && (a == nil || a.claim != controllerOf(object)):
		if a != nil {
			p.part(a, object)
		}
		p.relate(c)
	case a != nil && a.since == 0 && p.lives[a.claim] != nil:
		p.lives[a.claim].answer = object
	}
	claims := fmt.Sprintf("/registry/%s/ipaddressclaims/%s/", object.Group, object.Metadata.Namespace)
	if claim := p.objects[claims+object.Spec.ClaimRef.Name]; claim != nil {
		p.checkTold(claim)
	}
}

// controllerOf returns the UID of the claim that an IPAddress says it answers.
func controllerOf(answer *fsck.Item) types.UID {
	for _, owner := range answer.Metadata.OwnerReferences {
		if owner.Kind == "IPAddressClaim" && owner.Controller != nil && *owner.Controller || owner.Kind == "IPClaim" {
			return owner.UID
		}
	}
	return ""
}

// part takes an IPAddress from the claim that it was of.
func (p *past) part(a *answered, answer *fsck.Item) {
	if l := p.lives[a.claim]; l != nil && l.answer != nil && l.answer.Metadata.UID == answer.Metadata.UID {
		l.answer = nil
		p.settle(l)
	}
}

// relate makes an IPAddress the answer of the claim that it names; of one that
// this history knows.
func (p *past) relate(c change) {
	uid := controllerOf(c.object)
	l := p.lives[uid]
	if l == nil && !p.gone[uid] {
		return
	}
	a := &answered{claim: uid}
	p.answers[c.object.Metadata.UID] = a
	isMade := c.isFirst && madeByWeir(c.object)
	if isMade && l.isDeleted() {
		p.account.Terminating++
	}
	if l.isLetGo() {
		a.since = c.revision
		if isMade {
			p.countLate(a, c.object)
		}
		return
	}
	p.answer(l, c.object)
	if isMade && l.has != nil && !p.state.IsRecorded(l.has) {
		p.find("%s is made without a record", l)
	}
}

// answer gives a claim its IPAddress.
func (p *past) answer(l *life, object *fsck.Item) {
	if l.answer != nil {
		p.find("%s, uid %s, has two IPAddresses, %s and %s", l.claim, l.claim.Metadata.UID, l.answer, object)
	}
	l.answer = object
	p.settle(l)
}

// madeByWeir reports whether Weir created the IPAddress; clusterctl brings the
// managers of what it moves along.
func madeByWeir(object *fsck.Item) bool {
	return object.Metadata.Annotations[arrived] == "" && slices.ContainsFunc(object.Metadata.ManagedFields, func(f metav1.ManagedFieldsEntry) bool { return f.Manager == weirManager })
}

// countLate counts an IPAddress that Weir has made too late.
func (p *past) countLate(a *answered, answer *fsck.Item) {
	p.account.Late++
	cidr, err := p.state.Extent(answer, a.claim)
	if err != nil {
		p.find("reading %s: %v", answer, err)
		return
	}
	a.late, a.made = p.state.Holding(answer, answer, cidr, answer.Pool()), time.Now()
	for _, l := range p.lives {
		if l.has != nil {
			p.countTaken(a, l.has)
		}
	}
}

// countTaken counts a late IPAddress, once, if a claim has what it carries.
func (p *past) countTaken(a *answered, h *fsck.Holding) {
	if a.late != nil && !a.isTaken && fsck.Contains(h, a.late) && !fsck.IsAround(p.asNow(h), a.late) {
		a.isTaken = true
		p.account.LateTaken++
	}
}

// recordChanged finds a record that goes while its claim holds the prefix and is
// used. What moves is recorded elsewhere. Until clusterctl deletes its claim as
// well, that may get another record here, which may go again.
func (p *past) recordChanged(c change, before *fsck.Item) {
	for _, record := range []*fsck.Item{before, c.object} {
		if record == nil {
			continue
		}
		l := p.lives[record.Spec.ClaimRef.UID]
		if l == nil {
			continue
		}
		_, moves := record.Metadata.Annotations[deleteForMove]
		wasRecorded := l.has != nil && record == before && !record.IsReleased() && record.Spec.CIDR == l.has.CIDR.String()
		l.moves = l.moves || wasRecorded && moves
		if wasRecorded && !l.moves && !c.isMissed && !l.isLetGo() && !p.state.IsRecorded(l.has) {
			p.find("%s: its record %s, made at %s, goes, and nobody has let go of the claim", l, record, record.Metadata.CreationTimestamp.Format(time.TimeOnly))
		}
		p.settle(l)
	}
}

// settle brings up to date what a claim holds.
func (p *past) settle(l *life) {
	h, err := p.holdingOf(l)
	switch {
	case err != nil:
		p.find("reading %s: %v", l.claim, err)
	case l.has == nil && h != nil && !l.isLetGo():
		p.begin(l, h)
	case l.has != nil && h != nil && h.CIDR.Addr() != l.has.CIDR.Addr():
		p.find("%s is answered anew, with %s", l, h.CIDR)
		p.end(l)
		p.begin(l, h)
	case l.has != nil && h != nil && l.has.Space == "" && h.Space != "":
		p.begin(l, h)
	case l.has != nil && h == nil && l.isLetGo():
		p.end(l)
	}
}

// holdingOf returns what a claim has been given: its IPAddress's extent; of an
// own kind its prefix, if that is recorded for it. It is nil if that is nothing.
func (p *past) holdingOf(l *life) (*fsck.Holding, error) {
	switch {
	case l.claim.Kind == heldKind:
		cidr, err := netip.ParsePrefix(l.claim.Spec.CIDR)
		return &fsck.Holding{Space: l.claim.Spec.AddressSpace, CIDR: cidr, Answer: l.claim, Claim: l.claim}, err
	case l.claim.Group != fsck.WeirGroup:
		if l.answer == nil {
			return nil, nil //nolint:nilnil // nothing is no error
		}
		cidr, err := p.state.Extent(l.answer, l.claim.Metadata.UID)
		return p.state.Holding(l.answer, l.claim, cidr, l.answer.Pool()), err
	case l.claim.Spec.CIDR == "", l.claim.IsPool() && l.claim.Spec.ParentRef == nil:
		return nil, nil //nolint:nilnil // nothing is no error
	}
	cidr, err := netip.ParsePrefix(l.claim.Spec.CIDR)
	if err != nil {
		return nil, err
	}
	if h := p.state.OwnHolding(l.claim, cidr); p.state.IsRecorded(h) {
		return h, nil
	}
	return nil, nil //nolint:nilnil // nothing is no error
}

// begin gives a claim a prefix, and finds who else has part of it.
func (p *past) begin(l *life, h *fsck.Holding) {
	l.has, l.since = h, p.revision
	p.account.Holdings++
	if former, ok := p.former[place{h.Space, h.CIDR}]; ok && former != h.Claim.Metadata.UID {
		p.account.Reuses++
	}
	for _, other := range p.lives {
		if other == l || other.has == nil || !fsck.Contains(other.has, h) {
			continue
		}
		if !fsck.IsAround(p.asNow(other.has), h) {
			p.find("%s and %s", other, l)
		}
	}
	for _, a := range p.answers {
		p.countTaken(a, h)
	}
}

// asNow returns a holding with the pools above it as they are now: some may have
// come after it.
func (p *past) asNow(h *fsck.Holding) *fsck.Holding {
	now := *h
	if len(h.Pools) > 0 {
		now.Pools = p.state.Chain(h.Pools[0])
	}
	return &now
}

func (p *past) end(l *life) {
	if l.has != nil {
		p.former[place{l.has.Space, l.has.CIDR}] = l.has.Claim.Metadata.UID
		l.has = nil
	}
}

func (p *past) find(format string, args ...any) {
	p.findings = append(p.findings, fmt.Sprintf("revision %d: ", p.revision)+fmt.Sprintf(format, args...))
}

// late names the IPAddresses that are late and still there.
func (p *past) late() []string {
	var names []string
	for _, object := range p.objects {
		if a := p.answers[object.Metadata.UID]; a != nil && a.since != 0 {
			names = append(names, fmt.Sprintf("%s, %s, since revision %d", object, object.Spec.Address, a.since))
		}
	}
	return names
}
