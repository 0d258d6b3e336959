// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package fsck

import (
	"cmp"
	"net/netip"
	"slices"
	"strings"

	"go4.org/netipx"
	"k8s.io/apimachinery/pkg/types"
)

// report judges what was read.
func (s *Snapshot) report(holdings []*Holding) *Report {
	r := &Report{Answers: len(holdings), Records: len(s.records), FloatingIPs: len(s.floatingIPs)}
	s.findOverlaps(r, holdings)
	answered := map[types.UID][]*Holding{}
	for _, h := range holdings {
		uid := h.Claim.Metadata.UID
		answered[uid] = append(answered[uid], h)
		if !h.Claim.IsTerminating() && !s.IsRecorded(h) {
			r.find(NoRecord, h.objects(), "%s", h)
		}
		s.checkParent(r, h)
	}
	s.checkRoots(r)
	s.checkClaims(r, answered)
	for _, record := range s.records {
		s.checkRecord(r, record, answered[record.Spec.ClaimRef.UID])
	}
	s.checkFloatingIPs(r)
	r.sort()
	return r
}

func (s *Snapshot) checkClaims(r *Report, answered map[types.UID][]*Holding) {
	for uid, claim := range s.Claims {
		if claim.IsPool() || !s.isServed(claim.Pool()) {
			continue
		}
		r.Claims++
		switch answers := answered[uid]; {
		case len(answers) > 1:
			objects := append(make([]Object, 0, 1+len(answers)), claim.object())
			for _, h := range answers {
				objects = append(objects, h.Answer.object())
			}
			r.find(SeveralAnswers, objects, "%s: %v", claim, answers)
		case len(answers) == 0 && !claim.IsTerminating() && !claim.toldReason():
			r.find(Silent, []Object{claim.object()}, "%s", claim)
		}
	}
}

// checkRecord finds a record that holds its prefix for nobody.
func (s *Snapshot) checkRecord(r *Report, record *Item, answers []*Holding) {
	ref := record.Spec.ClaimRef
	claim := Object{APIGroup: ref.APIGroup, Kind: ref.Kind, Namespace: ref.Namespace, Name: ref.Name}
	isOfAnswer := func(h *Holding) bool { return h.CIDR.String() == record.Spec.CIDR }
	switch {
	case record.IsReleased(), record.Spec.State == "Moved", record.Spec.Purpose == "HandBack", s.isByHand(record):
	case s.Claims[ref.UID] == nil:
		r.find(NoClaim, []Object{record.object(), claim}, "%s (%s): no %s of uid %s (%s/%s) exists",
			record, record.Spec.CIDR, cmp.Or(ref.Kind, "claim"), ref.UID, ref.Namespace, ref.Name)
	case len(answers) > 0 && !slices.ContainsFunc(answers, isOfAnswer):
		r.find(OtherAnswer, []Object{record.object(), claim}, "%s (%s): its claim %s was answered %s",
			record, record.Spec.CIDR, answers[0].Claim, answers[0].CIDR)
	}
}

// isByHand reports whether a record holds the address of an IPAddress that was made by hand, and that no
// claim has: it names the UID of the IPAddress.
func (s *Snapshot) isByHand(record *Item) bool {
	answer := s.still[record.Spec.ClaimRef.UID]
	if answer == nil || answer.Group != record.Spec.ClaimRef.APIGroup || s.Claims[record.Spec.ClaimRef.UID] != nil {
		return false
	}
	prefix, err := netip.ParsePrefix(record.Spec.CIDR)
	address, none := netip.ParseAddr(answer.Spec.Address)
	return err == nil && none == nil && prefix.Contains(address)
}

// checkParent finds a carved pool whose block is not in its parent. What a pool that came from a hub
// names as its parent is a pool of the hub: its record is of the pool itself. Pools that are being deleted are
// left out.
func (s *Snapshot) checkParent(r *Report, h *Holding) {
	if h.Block == (PoolKey{}) || h.Claim.IsTerminating() {
		return
	}
	parent := s.Pools[parentOf(h.Claim)]
	if parent == nil || h.Claim.Spec.DelegateTo != "" && !s.isCarvedHere(h) {
		return
	}
	if addresses := parent.addresses(); !addresses.ContainsPrefix(h.CIDR) {
		r.find(OutsideParent, []Object{h.Claim.object(), parent.object()}, "%s of %s does not lie in %s, which it is carved from", h.CIDR, h.Claim, parent)
	}
}

// isCarvedHere reports whether a record says that the block comes from the pool's parent.
func (s *Snapshot) isCarvedHere(h *Holding) bool {
	return slices.ContainsFunc(s.RecordsOf[h.Claim.Metadata.UID], func(record *Item) bool {
		return record.Pool() == parentOf(h.Claim)
	})
}

// checkRoots finds roots that both serve, and overlap within an address space.
func (s *Snapshot) checkRoots(r *Report) {
	var roots []*Item
	for _, pool := range s.own {
		if pool.IsPool() && pool.Spec.ParentRef == nil && pool.isReady() && !pool.IsTerminating() {
			roots = append(roots, pool)
		}
	}
	slices.SortFunc(roots, func(a, b *Item) int { return strings.Compare(a.String(), b.String()) })
	for i, pool := range roots {
		addresses := pool.addresses()
		for _, other := range roots[:i] {
			if cmp.Or(pool.Spec.AddressSpace, defaultSpace) == cmp.Or(other.Spec.AddressSpace, defaultSpace) && addresses.Overlaps(other.addresses()) {
				r.find(RootsOverlap, []Object{other.object(), pool.object()}, "%s and %s overlap, and both are Ready", other, pool)
			}
		}
	}
}

// addresses are those of a pool. Entries that cannot be read are left out: such a pool serves nothing.
func (i *Item) addresses() *netipx.IPSet {
	var builder netipx.IPSetBuilder
	for _, entry := range slices.Concat(i.Spec.Addresses, []string{i.Spec.CIDR, i.Status.AllocatedCIDR}) {
		if prefix, err := netip.ParsePrefix(entry); err == nil {
			builder.AddPrefix(prefix)
		} else if r, err := netipx.ParseIPRange(entry); err == nil {
			builder.AddRange(r)
		}
	}
	set, err := builder.IPSet()
	if err != nil {
		return &netipx.IPSet{}
	}
	return set
}

// findOverlaps finds the pairs that may not overlap and do. Two prefixes overlap
// only if one contains the other: in the order of addresses, shorter prefixes
// first, the prefixes that contain the present one are a stack.
func (s *Snapshot) findOverlaps(r *Report, holdings []*Holding) {
	holdings = slices.Clone(holdings)
	slices.SortFunc(holdings, func(a, b *Holding) int {
		return cmp.Or(strings.Compare(a.Space, b.Space), a.CIDR.Addr().Compare(b.CIDR.Addr()),
			cmp.Compare(a.CIDR.Bits(), b.CIDR.Bits()), cmp.Compare(a.Claim.Metadata.UID, b.Claim.Metadata.UID))
	})
	var around []*Holding
	for _, h := range holdings {
		for len(around) > 0 && !Contains(around[len(around)-1], h) {
			around = around[:len(around)-1]
		}
		for _, outer := range around {
			if !s.mayContain(outer, h) {
				r.find(Overlap, slices.Concat(outer.objects(), h.objects()), "%s and %s", outer, h)
			}
		}
		around = append(around, h)
	}
}
