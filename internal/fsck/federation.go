// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package fsck

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"sync"

	"k8s.io/client-go/rest"
)

// Hub is the cluster that delegates pools, as CheckFederation reads it. While its
// API server is stopped, nothing changes there, and what was read last counts:
// call CheckFederation once before it is.
type Hub struct {
	config *rest.Config

	mu   sync.Mutex
	last []block
}

// NewHub returns the hub that the configuration reaches.
func NewHub(cfg *rest.Config) *Hub { return &Hub{config: cfg} }

// block is a prefix that the hub's ledger holds for a member.
type block struct {
	record, member, space string
	cidr                  netip.Prefix
	// isLikely: the record is not confirmed, and its pool is not stored. Either the record is being
	// judged, or the pool is gone, and the member may use the block.
	isLikely bool
}

func (b block) String() string {
	return fmt.Sprintf("%s in %s, delegated to %s by %s", b.cidr, b.space, b.member, b.record)
}

// FederationReport is what CheckFederation found. Each finding names its objects.
type FederationReport struct {
	// Blocks and InUse are how many were looked at: blocks that the hub has
	// delegated, and prefixes in use at members out of pools that were.
	Blocks, InUse int
	// Hub is why the hub could be read neither before nor after the members, so
	// that what was read earlier counts; nil if it could.
	Hub error
	// Shared are pairs of blocks of two members that overlap in an address space.
	Shared []string
	// Uncovered are prefixes in use at a member, out of a delegated pool, that
	// lie in no block of the hub's that is delegated to that member.
	Uncovered []string
}

// Safe returns an error unless everything holds that must hold at any moment.
func (r *FederationReport) Safe() error {
	return errors.Join(
		problem("blocks that are delegated to two members", r.Shared),
		problem("prefixes in use at a member that the hub has not delegated to it", r.Uncovered),
	)
}

// CheckFederation reads records and pools of a hub and its members, which are
// given by the names that pools are delegated to, and reports what two of them
// may have at once. A prefix in use is a record at a member that is neither
// released nor moved, and belongs to a delegated pool or to one carved from such
// a pool, also if the pool is not that member's. The hub is read before and
// after: a block that it had at either time counts.
func CheckFederation(ctx context.Context, hub *Hub, members map[string]*rest.Config) (*FederationReport, error) {
	before, missedBefore := hub.read(ctx)
	inUse := map[string][]*Item{}
	for name, cfg := range members {
		c, err := readCluster(ctx, cfg)
		if err != nil {
			return nil, fmt.Errorf("reading member %s: %w", name, err)
		}
		inUse[name] = c.inUse()
	}
	after, missedAfter := hub.read(ctx)
	report, err := judgeFederation(before, after, inUse)
	if err != nil {
		return nil, err
	}
	if missedBefore != nil && missedAfter != nil {
		report.Hub = fmt.Errorf("reading the hub: %w", missedAfter)
	}
	return report, nil
}

// read returns the hub's delegated blocks, or those that it had last and why it
// cannot be read.
func (h *Hub) read(ctx context.Context) ([]block, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	c, err := readCluster(ctx, h.config)
	if err != nil {
		return h.last, err
	}
	blocks, err := c.delegated()
	if err != nil {
		return h.last, err
	}
	h.last = blocks
	return blocks, nil
}

// judgeFederation compares what members use with the blocks that the hub had
// before and after.
func judgeFederation(before, after []block, inUse map[string][]*Item) (*FederationReport, error) {
	report := &FederationReport{Blocks: len(after), Shared: slices.Concat(shared(before), shared(after), usedTwice(before, after, inUse))}
	for member, records := range inUse {
		for _, record := range records {
			report.InUse++
			cidr, err := netip.ParsePrefix(record.Spec.CIDR)
			if err != nil {
				return nil, fmt.Errorf("reading %s of %s: %w", record, member, err)
			}
			if !covers(before, member, record.Spec.AddressSpace, cidr) && !covers(after, member, record.Spec.AddressSpace, cidr) {
				report.Uncovered = append(report.Uncovered, fmt.Sprintf("%s in %s at %s (%s for %s %s/%s)", cidr, record.Spec.AddressSpace, member,
					record, record.Spec.ClaimRef.Kind, record.Spec.ClaimRef.Namespace, record.Spec.ClaimRef.Name))
			}
		}
	}
	slices.Sort(report.Shared)
	report.Shared = slices.Compact(report.Shared)
	slices.Sort(report.Uncovered)
	return report, nil
}

// covers reports whether a prefix lies in a block of the member. A likely block
// counts unless another member has part of it.
func covers(blocks []block, member, space string, cidr netip.Prefix) bool {
	return slices.ContainsFunc(blocks, func(b block) bool {
		return b.contains(member, space, cidr) && (!b.isLikely || !slices.ContainsFunc(blocks, func(other block) bool {
			return !other.isLikely && b.conflicts(other)
		}))
	})
}

func (b block) contains(member, space string, cidr netip.Prefix) bool {
	return b.member == member && b.space == space && b.cidr.Bits() <= cidr.Bits() && b.cidr.Contains(cidr.Addr())
}

// conflicts reports whether two blocks overlap and are two members'.
func (b block) conflicts(other block) bool {
	return b.member != other.member && b.space == other.space && b.cidr.Overlaps(other.cidr)
}

// shared returns the pairs of blocks that overlap and are two members'.
func shared(blocks []block) []string {
	var out []string
	for i, b := range blocks {
		for _, other := range blocks[:i] {
			if !b.isLikely && !other.isLikely && b.conflicts(other) {
				out = append(out, fmt.Sprintf("%s, and %s", other, b))
			}
		}
	}
	return out
}

// usedTwice returns the pairs of likely blocks that overlap and are both used, by
// two members. One of two has lost, so that no member may use it. Both must have
// been there before and after: one that is released is another member's later.
func usedTwice(before, after []block, inUse map[string][]*Item) []string {
	used := slices.DeleteFunc(slices.Clone(after), func(b block) bool {
		return !b.isLikely || !slices.Contains(before, b) || !slices.ContainsFunc(inUse[b.member], func(record *Item) bool {
			cidr, err := netip.ParsePrefix(record.Spec.CIDR)
			return err == nil && b.contains(b.member, record.Spec.AddressSpace, cidr)
		})
	})
	for i := range used {
		used[i].isLikely = false
	}
	return shared(used)
}

// cluster is what CheckFederation reads of one: the records that hold something,
// and then all pools.
type cluster struct {
	records []*Item
	pools   map[PoolKey]*Item
}

func readCluster(ctx context.Context, cfg *rest.Config) (*cluster, error) {
	l, err := newLister(cfg)
	if err != nil {
		return nil, err
	}
	c := &cluster{pools: map[PoolKey]*Item{}}
	c.records = slices.DeleteFunc(l.list(ctx, recordResource), func(record *Item) bool {
		return record.IsReleased() || record.Spec.State == "Moved"
	})
	for _, pool := range l.list(ctx, ownResources[0], ownResources[1], metal3Pools) {
		c.pools[pool.Key()] = pool
	}
	if err := l.failure(); err != nil {
		return nil, err
	}
	return c, nil
}

// delegated returns the blocks that records name a member for, also where their
// pool is gone. A record that is not confirmed, and whose pool has another block,
// is no pool's.
func (c *cluster) delegated() ([]block, error) {
	byPool := byUID(slices.Collect(maps.Values(c.pools)))
	var blocks []block
	for _, record := range c.records {
		pool := byPool[record.Spec.ClaimRef.UID]
		isConfirmed := record.Spec.State == "Confirmed"
		if record.Spec.DelegatedTo == "" || pool != nil && pool.Spec.CIDR != record.Spec.CIDR && !isConfirmed {
			continue
		}
		cidr, err := netip.ParsePrefix(record.Spec.CIDR)
		if err != nil {
			return nil, fmt.Errorf("reading %s: %w", record, err)
		}
		blocks = append(blocks, block{
			record: record.String(), member: record.Spec.DelegatedTo, space: record.Spec.AddressSpace, cidr: cidr,
			isLikely: pool == nil && !isConfirmed,
		})
	}
	return blocks, nil
}

// inUse returns the records of what comes from a delegated pool. The record of
// the pool's own block does not count once the member says that it has handed
// that back: it stays until the copy goes. Nor does that of handing it back.
func (c *cluster) inUse() []*Item {
	return slices.DeleteFunc(slices.Clone(c.records), func(record *Item) bool {
		if c.isHandedBack(record) {
			return true
		}
		ref := record.Spec.PoolRef
		if ref.APIGroup == "" {
			ref.APIGroup = WeirGroup
		}
		key := keyOf(ref, record.Metadata.Namespace)
		pool := c.pools[key]
		isBack := pool != nil && pool.Status.Released != nil && record.Spec.ClaimRef.UID == pool.Metadata.UID
		return isBack || record.Spec.Purpose == "HandBack" || !c.comesFromDelegated(key)
	})
}

// isHandedBack reports whether a record is a hand-back, or the block of a copy
// that was handed back: the copy has it until it is deleted.
func (c *cluster) isHandedBack(record *Item) bool {
	if record.Spec.Purpose != "PoolBlock" {
		return record.Spec.Purpose == "HandBack"
	}
	return record.Spec.ClaimRef.Name == record.Spec.PoolRef.Name && slices.ContainsFunc(c.records, func(back *Item) bool {
		isOf := back.Spec.PoolRef == record.Spec.PoolRef && back.Spec.CIDR == record.Spec.CIDR && back.Spec.AddressSpace == record.Spec.AddressSpace
		return isOf && back.Spec.Purpose == "HandBack" && back.Spec.State == "Confirmed"
	})
}

// comesFromDelegated reports whether the pool is delegated, or one above it is.
func (c *cluster) comesFromDelegated(key PoolKey) bool {
	for range len(c.pools) {
		pool := c.pools[key]
		if pool == nil || pool.Spec.DelegateTo != "" {
			return pool != nil
		}
		key = parentOf(pool)
	}
	return false
}
