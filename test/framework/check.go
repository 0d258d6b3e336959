// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

// Report is what Check found. Each finding names its objects.
type Report struct {
	// Claims, Answers and Records are how many were looked at. Claims are those
	// for Weir's pools, answered or not; answers those of live claims.
	Claims, Answers, Records int
	// Overlaps are pairs of live claims (or blocks of child pools) whose answers
	// overlap within an address space.
	Overlaps []string
	// Several are claims with more than one answer.
	Several []string
	// Unrecorded are answers without a record of the same prefix for the UID of
	// their claim. Claims that are being deleted are left out.
	Unrecorded []string
	// Leaks are records that hold a prefix for nobody: no claim of the UID
	// exists, or it was answered otherwise. Cooling and retained ones are none,
	// nor is what is held for a claim that moved to another cluster, or was handed
	// back to a hub.
	Leaks []string
	// Silent are claims with neither an answer nor a reason in their Ready
	// condition. Those that are being deleted are left out.
	Silent []string
}

// Safe returns an error unless everything holds that must hold at any moment:
// no overlaps, one answer for a claim, no answer without a record.
func (r *Report) Safe() error {
	return errors.Join(
		found("overlapping answers", r.Overlaps),
		found("claims with several answers", r.Several),
		found("answers without a record", r.Unrecorded),
	)
}

// AtRest returns an error unless everything holds that must hold once no claim
// comes or goes: it is safe, nothing leaks, every claim is answered or told why
// not. Claims of a paused cluster are rightly silent: leave them out first.
func (r *Report) AtRest() error {
	return errors.Join(r.Safe(), found("leaked records", r.Leaks), found("claims without answer or reason", r.Silent))
}

func (r *Report) String() string {
	return fmt.Sprintf("%d claims, %d answers, %d records: %d overlaps, %d claims with several answers, "+
		"%d answers without a record, %d leaked records, %d silent claims", r.Claims, r.Answers, r.Records,
		len(r.Overlaps), len(r.Several), len(r.Unrecorded), len(r.Leaks), len(r.Silent))
}

func found(what string, findings []string) error {
	if len(findings) == 0 {
		return nil
	}
	const shown = 20
	text := strings.Join(findings[:min(shown, len(findings))], "\n  ")
	return fmt.Errorf("%d %s:\n  %s", len(findings), what, text)
}

// Held is a prefix that somebody holds of whose claim the API knows nothing but
// the record.
type Held struct {
	Space string
	CIDR  netip.Prefix
	// UID is the claim's.
	UID types.UID
	// Pool is the IPPool that it comes from, if that was carved: the blocks
	// around it are no overlaps then.
	Pool types.NamespacedName
}

// Check reads answers, records and claims through the API and reports what
// contradicts the ledger's invariants. It knows CAPI's and Metal3's claims,
// IPClaims and the blocks of child pools, and may run while claims come and go:
// then judge the report with Safe. Cost: about ten lists.
func Check(ctx context.Context, cfg *rest.Config) (*Report, error) {
	return CheckWith(ctx, cfg, func() []Held { return nil })
}

// CheckAdmitted checks, as Check does, where no object of Weir's own kinds has
// come past the webhooks: one that has a prefix has been told it.
func CheckAdmitted(ctx context.Context, cfg *rest.Config) (*Report, error) {
	s, err := takeSnapshot(ctx, cfg)
	if err != nil {
		return nil, err
	}
	s.admitted = true
	holdings, err := s.holdings()
	if err != nil {
		return nil, err
	}
	return s.report(holdings), nil
}

// CheckWith checks, as Check does, what held returns as well, both before and
// after the lists are read: those were held all the time in between.
func CheckWith(ctx context.Context, cfg *rest.Config, held func() []Held) (*Report, error) {
	before := held()
	s, err := takeSnapshot(ctx, cfg)
	if err != nil {
		return nil, err
	}
	holdings, err := s.holdings()
	if err != nil {
		return nil, err
	}
	holdings = append(holdings, s.heldAllAlong(before, held())...)
	return s.report(holdings), nil
}

// heldAllAlong makes holdings, and claims to go with them, of what was held both
// before and after.
func (s *snapshot) heldAllAlong(before, after []Held) []*holding {
	var out []*holding
	still := map[Held]bool{}
	for _, h := range after {
		still[h] = true
	}
	for _, h := range before {
		if !still[h] {
			continue
		}
		claim := &item{Kind: "Held"}
		claim.Metadata.Name, claim.Metadata.UID = string(h.UID), h.UID
		s.claims[h.UID] = claim
		held := &holding{space: h.Space, cidr: h.CIDR, answer: claim, claim: claim}
		if h.Pool.Name != "" {
			held.pools = s.chain(poolKey{weirGroup, "IPPool", h.Pool.Namespace, h.Pool.Name})
		}
		out = append(out, held)
	}
	return out
}

func (s *snapshot) report(holdings []*holding) *Report {
	report := &Report{Answers: len(holdings), Records: len(s.records)}
	report.Overlaps = overlaps(holdings)
	answered := map[types.UID][]*holding{}
	for _, h := range holdings {
		uid := h.claim.Metadata.UID
		answered[uid] = append(answered[uid], h)
		if !h.claim.terminating() && !s.recorded(h) {
			report.Unrecorded = append(report.Unrecorded, h.String())
		}
	}
	s.checkClaims(report, answered)
	for _, record := range s.records {
		if leak := s.leak(record, answered); leak != "" {
			report.Leaks = append(report.Leaks, leak)
		}
	}
	return report
}

func (s *snapshot) checkClaims(report *Report, answered map[types.UID][]*holding) {
	for uid, claim := range s.claims {
		if claim.isPool() || !claim.pool().ours() {
			continue
		}
		report.Claims++
		switch answers := answered[uid]; {
		case len(answers) > 1:
			report.Several = append(report.Several, fmt.Sprintf("%s: %v", claim, answers))
		case len(answers) == 0 && !claim.terminating() && !claim.toldReason():
			report.Silent = append(report.Silent, claim.String())
		}
	}
	slices.Sort(report.Several)
	slices.Sort(report.Silent)
}

// holding is a prefix in use: the answer of a live claim, or a child pool's
// block.
type holding struct {
	space string
	cidr  netip.Prefix
	// answer is the IPAddress; for an own kind it is the claim itself.
	answer, claim *item
	// pools are the pool that the prefix comes from and that pool's ancestors;
	// their blocks rightly contain it.
	pools []poolKey
	// block is the pool whose block the prefix is, if it is one.
	block poolKey
}

func (h *holding) String() string {
	return fmt.Sprintf("%s in %s (%s for %s, uid %s)", h.cidr, h.space, h.answer, h.claim, h.claim.Metadata.UID)
}

// holdings returns the prefixes in use by live claims and child pools.
func (s *snapshot) holdings() ([]*holding, error) {
	var out []*holding
	for _, answer := range s.answers {
		claim := s.claimOf(answer)
		if claim == nil || !answer.pool().ours() {
			continue
		}
		cidr, err := s.extent(answer)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", answer, err)
		}
		if h := s.holding(answer, claim, cidr, answer.pool()); !s.isLate(h) {
			out = append(out, h)
		}
	}
	for _, object := range s.own {
		if object.Spec.CIDR == "" || object.isPool() && object.Spec.ParentRef == nil {
			continue
		}
		if !s.admitted && !object.ready() && len(s.recordsOf[object.Metadata.UID]) == 0 {
			continue // It asks for this prefix and has not been answered.
		}
		cidr, err := netip.ParsePrefix(object.Spec.CIDR)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", object, err)
		}
		out = append(out, s.ownHolding(object, cidr))
	}
	return out, nil
}

func (s *snapshot) ownHolding(object *item, cidr netip.Prefix) *holding {
	if !object.isPool() {
		return s.holding(object, object, cidr, object.pool())
	}
	parent := *object.Spec.ParentRef
	parent.APIGroup = weirGroup
	h := s.holding(object, object, cidr, keyOf(parent, object.Metadata.Namespace))
	h.block = poolKey{weirGroup, object.Kind, object.Metadata.Namespace, object.Metadata.Name}
	return h
}

func (s *snapshot) holding(answer, claim *item, cidr netip.Prefix, pool poolKey) *holding {
	h := &holding{answer: answer, claim: claim, cidr: cidr, pools: s.chain(pool)}
	h.space = s.space(h)
	return h
}

// claimOf returns the live claim that an IPAddress answers: by the UID of its
// controller or, since consumers follow it, by the claim's own reference. That
// may be to a later answer of the same name, if this one is not there any more,
// or one that was nobody's when it was read and has been recorded and adopted
// since: the next check judges it.
//
// Of Metal3's IPAddresses a claim may have several for a moment: it has the one
// that its status names, and no other was told to anybody.
func (s *snapshot) claimOf(answer *item) *item {
	told := s.claimByAnswer[answerKey{answer.Group, answer.Metadata.Namespace, answer.Metadata.Name}]
	claim := s.controller(answer)
	switch {
	case claim != nil && answer.Group == metal3Group && claim != told:
		return nil
	case claim != nil:
		return claim
	}
	still := s.still[answer.Metadata.UID]
	if still == nil || s.controller(still) != nil {
		return nil
	}
	return told
}

func (s *snapshot) controller(answer *item) *item {
	for _, owner := range answer.Metadata.OwnerReferences {
		claim := s.claims[owner.UID]
		if claim != nil && !claim.isPool() && (owner.Controller != nil && *owner.Controller || answer.Group == metal3Group) {
			return claim
		}
	}
	return nil
}

// isLate reports whether an answer came when its claim was being released
// already: its record has gone, and the claim has not been told.
func (s *snapshot) isLate(h *holding) bool {
	told := cmp.Or(h.claim.Status.AddressRef.Name, h.claim.Status.Address.Name)
	return h.claim.terminating() && told == "" && !s.recorded(h)
}

// extent returns the prefix that an IPAddress stands for: the address, or the
// block that begins there where the pool hands out blocks.
func (s *snapshot) extent(answer *item) (netip.Prefix, error) {
	addr, err := netip.ParseAddr(answer.Spec.Address)
	if err != nil {
		return netip.Prefix{}, err
	}
	bits := addr.BitLen()
	if pool := s.pools[answer.pool()]; pool != nil && pool.Spec.Allocation.DefaultPrefixLength != 0 {
		bits = pool.Spec.Allocation.DefaultPrefixLength
	}
	return addr.Prefix(bits)
}

// chain returns the pool and its ancestors, as far as they exist.
func (s *snapshot) chain(key poolKey) []poolKey {
	var chain []poolKey
	for key != (poolKey{}) && !slices.Contains(chain, key) {
		chain = append(chain, key)
		next := s.parents[key]
		if pool := s.pools[key]; pool != nil {
			next = parentOf(pool)
		}
		key = next
	}
	return chain
}

// space returns the address space: what the pool or the nearest ancestor says;
// for spaces that follow from elsewhere (OpenStack, Metal3, a pool that is
// gone) what the record says.
func (s *snapshot) space(h *holding) string {
	derived := false
	for _, key := range h.pools {
		pool := s.pools[key]
		switch {
		case pool == nil || pool.Spec.OpenStack != nil:
			derived = true
		case pool.Spec.AddressSpace != "":
			return pool.Spec.AddressSpace
		}
	}
	if records := s.recordsOf[h.claim.Metadata.UID]; derived && len(records) > 0 {
		return records[0].Spec.AddressSpace
	}
	return "default"
}

// recorded reports whether the ledger holds the prefix for the claim's UID, and
// has not let go of it.
func (s *snapshot) recorded(h *holding) bool {
	return slices.ContainsFunc(s.recordsOf[h.claim.Metadata.UID], func(record *item) bool {
		return record.Spec.CIDR == h.cidr.String() && record.Spec.AddressSpace == h.space && !record.released()
	})
}

// leak says why a record holds its prefix for nobody, or returns "".
func (s *snapshot) leak(record *item, answered map[types.UID][]*holding) string {
	uid := record.Spec.ClaimRef.UID
	switch answers := answered[uid]; {
	case record.released(), record.Spec.State == "Moved", record.Spec.Purpose == "HandBack":
		return ""
	case s.claims[uid] == nil:
		return fmt.Sprintf("%s (%s): no claim of uid %s (%s/%s) exists", record, record.Spec.CIDR, uid,
			record.Spec.ClaimRef.Namespace, record.Spec.ClaimRef.Name)
	case len(answers) > 0 && !slices.ContainsFunc(answers, func(h *holding) bool { return h.cidr.String() == record.Spec.CIDR }):
		return fmt.Sprintf("%s (%s): its claim was answered %s", record, record.Spec.CIDR, answers[0].cidr)
	default:
		return ""
	}
}

// overlaps returns the pairs that may not overlap and do. Two prefixes overlap
// only if one contains the other: in the order of addresses, shorter prefixes
// first, the prefixes that contain the present one are a stack.
func overlaps(holdings []*holding) []string {
	holdings = slices.Clone(holdings)
	slices.SortFunc(holdings, func(a, b *holding) int {
		return cmp.Or(strings.Compare(a.space, b.space), a.cidr.Addr().Compare(b.cidr.Addr()),
			cmp.Compare(a.cidr.Bits(), b.cidr.Bits()), cmp.Compare(a.claim.Metadata.UID, b.claim.Metadata.UID))
	})
	var out []string
	var around []*holding
	for _, h := range holdings {
		for len(around) > 0 && !contains(around[len(around)-1], h) {
			around = around[:len(around)-1]
		}
		for _, outer := range around {
			if !mayContain(outer, h) {
				out = append(out, fmt.Sprintf("%s and %s", outer, h))
			}
		}
		around = append(around, h)
	}
	return out
}

func contains(outer, inner *holding) bool {
	return outer.space == inner.space && outer.cidr.Overlaps(inner.cidr)
}

// mayContain reports whether an overlap is right or not proved: a pool's block
// around what comes from that pool, two answers of one claim (reported as
// such), or answers of different kinds, read one after the other, of which one
// was being released.
func mayContain(outer, inner *holding) bool {
	if isAround(outer, inner) || outer.claim == inner.claim {
		return true
	}
	sameList := outer.answer.Group == inner.answer.Group && outer.answer.Kind == inner.answer.Kind
	return !sameList && (outer.claim.terminating() || inner.claim.terminating())
}

// isAround reports whether one of the two is a pool's block, and the other comes
// from that pool.
func isAround(outer, inner *holding) bool {
	return outer.block != (poolKey{}) && slices.Contains(inner.pools, outer.block) ||
		inner.block != (poolKey{}) && slices.Contains(outer.pools, inner.block)
}
