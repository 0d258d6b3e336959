// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package fsck

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
)

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
// contradicts the ledger's invariants. It knows CAPI's claims, also of the in-cluster
// provider's pools, and Metal3's, IPClaims and the blocks of child pools, and may
// run while claims come and go: then judge the report with Safe. Cost: about ten lists.
func Check(ctx context.Context, cfg *rest.Config) (*Report, error) {
	return CheckWith(ctx, cfg, func() []Held { return nil })
}

// CheckCloud checks, as Check does, floating IPs as well. They are listed before anything else.
func CheckCloud(ctx context.Context, cfg *rest.Config, floatingIPs []FloatingIP) (*Report, error) {
	s, err := takeSnapshot(ctx, cfg)
	if err != nil {
		return nil, err
	}
	s.floatingIPs = floatingIPs
	holdings, err := s.holdings()
	if err != nil {
		return nil, err
	}
	return s.report(holdings), nil
}

// CheckAdmitted checks, as Check does, where no object of Weir's own kinds has
// come past the webhooks: one that has a prefix has been told it.
func CheckAdmitted(ctx context.Context, cfg *rest.Config) (*Report, error) {
	s, err := takeSnapshot(ctx, cfg)
	if err != nil {
		return nil, err
	}
	s.Admitted = true
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
func (s *Snapshot) heldAllAlong(before, after []Held) []*Holding {
	var out []*Holding
	still := map[Held]bool{}
	for _, h := range after {
		still[h] = true
	}
	for _, h := range before {
		if !still[h] {
			continue
		}
		claim := &Item{Kind: "Held"}
		claim.Metadata.Name, claim.Metadata.UID = string(h.UID), h.UID
		s.Claims[h.UID] = claim
		held := &Holding{Space: h.Space, CIDR: h.CIDR, Answer: claim, Claim: claim}
		if h.Pool.Name != "" {
			held.Pools = s.Chain(PoolKey{WeirGroup, "IPPool", h.Pool.Namespace, h.Pool.Name})
		}
		out = append(out, held)
	}
	return out
}

// Holding is a prefix in use: the answer of a live claim, or a child pool's
// block.
type Holding struct {
	// Space is "" while it is not known: the holding overlaps no other one then, and IsRecorded reports false.
	Space string
	CIDR  netip.Prefix
	// answer is the IPAddress; for an own kind it is the claim itself.
	Answer, Claim *Item
	// pools are the pool that the prefix comes from and that pool's ancestors;
	// their blocks rightly contain it.
	Pools []PoolKey
	// block is the pool whose block the prefix is, if it is one.
	Block PoolKey
}

// objects are the answer and the claim.
func (h *Holding) objects() []Object {
	if h.Answer == h.Claim {
		return []Object{h.Claim.object()}
	}
	return []Object{h.Answer.object(), h.Claim.object()}
}

func (h *Holding) String() string {
	return fmt.Sprintf("%s in %s (%s for %s, uid %s)", h.CIDR, cmp.Or(h.Space, "an unknown address space"), h.Answer, h.Claim, h.Claim.Metadata.UID)
}

// holdings returns the prefixes in use by live claims and child pools.
func (s *Snapshot) holdings() ([]*Holding, error) {
	out, err := s.ownHoldings()
	if err != nil {
		return nil, err
	}
	for _, answer := range s.answers {
		claim := s.claimOf(answer)
		if claim == nil || !s.isServed(answer.Pool()) {
			continue
		}
		cidr, err := s.Extent(answer, claim.Metadata.UID)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", answer, err)
		}
		if h := s.Holding(answer, claim, cidr, answer.Pool()); !s.isLate(h) {
			out = append(out, h)
		}
	}
	return out, nil
}

// ownHoldings returns what objects of the own kinds hold.
func (s *Snapshot) ownHoldings() ([]*Holding, error) {
	var out []*Holding
	for _, object := range s.own {
		if object.Spec.CIDR == "" || object.IsPool() && object.Spec.ParentRef == nil {
			continue
		}
		if !s.Admitted && !object.isReady() && len(s.RecordsOf[object.Metadata.UID]) == 0 {
			continue // It asks for this prefix and has not been answered.
		}
		cidr, err := netip.ParsePrefix(object.Spec.CIDR)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", object, err)
		}
		if h := s.OwnHolding(object, cidr); !s.isReleased(h) && !isHandedBack(object) {
			out = append(out, h)
		}
	}
	return out, nil
}

// isReleased reports whether a claim is being deleted, and the ledger does not hold the prefix for it any more.
// Until then the prefix is the claim's: a foreign finalizer may keep a claim for long.
func (s *Snapshot) isReleased(h *Holding) bool { return h.Claim.IsTerminating() && !s.IsRecorded(h) }

// isHandedBack reports whether an object is the copy of a delegated pool that is being deleted and has handed back
// its block. Its record stays until it is gone, and the block may be that of a further copy.
func isHandedBack(object *Item) bool { return object.IsTerminating() && object.Status.Released != nil }

// OwnHolding returns what an object of an own kind holds.
func (s *Snapshot) OwnHolding(object *Item, cidr netip.Prefix) *Holding {
	if !object.IsPool() {
		return s.Holding(object, object, cidr, object.Pool())
	}
	parent := *object.Spec.ParentRef
	parent.APIGroup = WeirGroup
	h := s.Holding(object, object, cidr, keyOf(parent, object.Metadata.Namespace))
	h.Block = object.Key()
	return h
}

// Holding returns what a claim holds by an answer.
func (s *Snapshot) Holding(answer, claim *Item, cidr netip.Prefix, pool PoolKey) *Holding {
	h := &Holding{Answer: answer, Claim: claim, CIDR: cidr, Pools: s.Chain(pool)}
	h.Space = s.space(h)
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
func (s *Snapshot) claimOf(answer *Item) *Item {
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

func (s *Snapshot) controller(answer *Item) *Item {
	for _, owner := range answer.Metadata.OwnerReferences {
		claim := s.Claims[owner.UID]
		if claim != nil && !claim.IsPool() && (owner.Controller != nil && *owner.Controller || answer.Group == metal3Group) {
			return claim
		}
	}
	return nil
}

// isLate reports whether an answer came when its claim was being released
// already: its record has gone, and the claim has not been told.
func (s *Snapshot) isLate(h *Holding) bool {
	told := cmp.Or(h.Claim.Status.AddressRef.Name, h.Claim.Status.Address.Name)
	return h.Claim.IsTerminating() && told == "" && !s.IsRecorded(h)
}

// Extent returns the prefix that an IPAddress stands for: what is recorded there for its claim. Without such
// a record it is the address, or the block of the length that the pool hands out by default. That length may
// have changed since the claim was answered, so the record comes first.
func (s *Snapshot) Extent(answer *Item, claim types.UID) (netip.Prefix, error) {
	addr, err := netip.ParseAddr(answer.Spec.Address)
	if err != nil {
		return netip.Prefix{}, err
	}
	for _, record := range s.RecordsOf[claim] {
		cidr, err := netip.ParsePrefix(record.Spec.CIDR)
		if err == nil && cidr.Addr() == addr && record.Pool() == answer.Pool() && !record.IsReleased() {
			return cidr, nil
		}
	}
	bits := addr.BitLen()
	if pool := s.Pools[answer.Pool()]; pool != nil && pool.Spec.Allocation.DefaultPrefixLength != 0 {
		bits = pool.Spec.Allocation.DefaultPrefixLength
	}
	return addr.Prefix(bits)
}

// Chain returns the pool and its ancestors, as far as they exist.
func (s *Snapshot) Chain(key PoolKey) []PoolKey {
	var chain []PoolKey
	for key != (PoolKey{}) && !slices.Contains(chain, key) {
		chain = append(chain, key)
		next := s.parents[key]
		if pool := cmp.Or(s.Pools[key], s.InCluster[key]); pool != nil {
			next = parentOf(pool)
		}
		key = next
	}
	return chain
}

// space returns the address space: what the pool or the nearest ancestor says, or, of a pool of floating IPs,
// its network; for spaces that follow from elsewhere (Metal3, a pool that is gone) what the record says.
func (s *Snapshot) space(h *Holding) string {
	records, derived := s.RecordsOf[h.Claim.Metadata.UID], false
	for _, key := range h.Pools {
		if pool := s.InCluster[key]; pool != nil && parentOf(pool) == (PoolKey{}) {
			return inClusterSpace(pool)
		}
		pool := s.Pools[key]
		switch {
		case pool == nil:
			derived = true
		case pool.Spec.OpenStack != nil:
			return openStackSpace(pool, records)
		case pool.Spec.AddressSpace != "":
			return pool.Spec.AddressSpace
		}
	}
	if derived && len(records) > 0 {
		return records[0].Spec.AddressSpace
	}
	return defaultSpace
}

// openStackSpace is the address space of a claim of floating IPs: its pool's network or, if the pool does not name
// that yet, what the claim's record says. Without both it is "".
func openStackSpace(pool *Item, records []*Item) string {
	if fields := strings.Fields(pool.Metadata.Annotations[cloudAnnotation]); len(fields) == 3 {
		return "openstack/" + fields[2]
	}
	if len(records) > 0 {
		return records[0].Spec.AddressSpace
	}
	return ""
}

// IsRecorded reports whether the ledger holds the prefix for the claim's UID, and
// has not let go of it.
func (s *Snapshot) IsRecorded(h *Holding) bool {
	return slices.ContainsFunc(s.RecordsOf[h.Claim.Metadata.UID], func(record *Item) bool {
		return record.Spec.CIDR == h.CIDR.String() && record.Spec.AddressSpace == h.Space && !record.IsReleased()
	})
}

// Contains reports whether two prefixes of one address space overlap; so one contains the other.
func Contains(outer, inner *Holding) bool {
	return outer.Space != "" && outer.Space == inner.Space && outer.CIDR.Overlaps(inner.CIDR)
}

// mayContain reports whether an overlap is right or not proved: a pool's block
// around what comes from that pool, two answers of one claim (reported as
// such), or answers of different kinds, read one after the other, of which one
// was released.
func (s *Snapshot) mayContain(outer, inner *Holding) bool {
	if IsAround(outer, inner) || outer.Claim == inner.Claim {
		return true
	}
	isOneList := outer.Answer.groupKind() == inner.Answer.groupKind()
	return !isOneList && (s.isReleased(outer) || s.isReleased(inner))
}

// IsAround reports whether one of the two is a pool's block, and the other comes
// from that pool.
func IsAround(outer, inner *Holding) bool {
	return outer.Block != (PoolKey{}) && slices.Contains(inner.Pools, outer.Block) ||
		inner.Block != (PoolKey{}) && slices.Contains(outer.Pools, inner.Block)
}
