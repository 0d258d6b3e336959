// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package poolspec

import (
	"fmt"
	"net/netip"
	"slices"
	"time"

	"go4.org/netipx"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/excerpt"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ipspace"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
)

// Resolve returns the shape of the pool, or every mistake in its spec, with
// the path of the field; the shape is nil if there is one.
//
// Addresses outside the pool may be excluded, and may be so more than once:
// the pool may grow. Entries of spec.addresses may not overlap. Whether the
// pool can hand out what it is to keep for a claim, and how many prefixes it
// comes to, is looked at once everything else is right.
func Resolve(spec *ipamv1.IPPoolSpec, pool ipamv1.PoolReference) (*pooltree.Pool, field.ErrorList) {
	r := resolver{spec: spec, pool: pool, path: field.NewPath("spec")}
	shape := r.resolve()
	return shape, r.errs
}

// resolve returns the shape, or nil where there are mistakes.
func (r *resolver) resolve() *pooltree.Pool {
	if r.spec.OpenStack != nil {
		return r.resolveOpenStack()
	}
	r.checkDelegation()
	r.checkSource()
	r.checkParent()
	r.checkSpace()
	r.checkClusterName()
	r.checkVisibility()
	r.readBlocks()
	r.checkExpansion()
	r.readExcluded()
	r.readNetworks()
	r.readLengths()
	r.readStrategy()
	r.readPreAllocations()
	if len(r.errs) > 0 {
		return nil
	}
	shape := pooltree.New(r.config())
	if n := len(shape.Blocks()); n > ipamv1.MaxBlocks {
		r.invalid(r.path.Child("addresses"), fmt.Sprintf("%d entries", len(r.spec.Addresses)),
			"come to %d prefixes, each of which is recorded; a pool may have %d%s", n, ipamv1.MaxBlocks, r.wholeNetworkHint())
		return nil
	}
	if n := len(shape.Excluded()); n > ipamv1.MaxExclusions {
		r.invalid(r.path.Child("excludedAddresses"), fmt.Sprintf("%d entries", len(r.spec.ExcludedAddresses)),
			"come to %d prefixes, which are kept in memory; a pool may have %d", n, ipamv1.MaxExclusions)
		return nil
	}
	if r.checkKept(shape); len(r.errs) > 0 {
		return nil
	}
	return shape
}

// wholeNetworkHint says what to write in place of a range that is a network without its ends: such ranges are
// many prefixes each. It is "" if there is none.
func (r *resolver) wholeNetworkHint() string {
	for _, e := range r.entries {
		around := netipx.IPRangeFrom(e.addrs.From().Prev(), e.addrs.To().Next())
		if network, ok := around.Prefix(); ok && !network.IsSingleIP() {
			return fmt.Sprintf(": write %s for %s; its first and last address are not handed out, unless allocation.reservedAddresses is Allocate", network, e.text)
		}
	}
	return ""
}

// Space returns the address space that the pool's addresses are unique in; ""
// where the spec does not say it: the network of floating IPs is not known.
func Space(spec *ipamv1.IPPoolSpec) string {
	if spec.OpenStack != nil {
		return openStackSpace(spec.OpenStack.FloatingNetwork.ID)
	}
	if spec.AddressSpace == "" {
		return ipamv1.DefaultAddressSpace
	}
	return spec.AddressSpace
}

// cooldown returns how long what was released is not handed out again.
func cooldown(spec *ipamv1.IPPoolSpec) time.Duration {
	if spec.Allocation == nil {
		return 0
	}
	return time.Duration(ptr.Deref(spec.Allocation.CooldownSeconds, 0)) * time.Second
}

// Family returns the family of the first address of spec that can be read, or
// "" if there is none. Floating IPs are IPv4.
func Family(spec *ipamv1.IPPoolSpec) ipamv1.IPFamily {
	if spec.OpenStack != nil {
		return ipamv1.IPv4Family
	}
	entries := spec.Addresses
	if spec.CIDR != "" {
		entries = []ipamv1.AddressEntry{ipamv1.AddressEntry(spec.CIDR)}
	}
	for _, entry := range entries {
		if r, err := ipspace.ParseEntry(string(entry)); err == nil {
			return FamilyOf(r.From())
		}
	}
	return ""
}

// FamilyOf returns the family of an address.
func FamilyOf(a netip.Addr) ipamv1.IPFamily {
	if a.Is4() {
		return ipamv1.IPv4Family
	}
	return ipamv1.IPv6Family
}

// resolver gathers what a spec means, and what is wrong with it.
type resolver struct {
	spec *ipamv1.IPPoolSpec
	pool ipamv1.PoolReference
	path *field.Path

	// family of the pool: what Family says.
	family ipamv1.IPFamily
	// entries are the parts of the pool that could be read.
	entries  []entry
	excluded netipx.IPSetBuilder
	// parts are the entries, by the network that they are in.
	parts []part
	// claimBits is the prefix length of what a claim gets that does not say; 0 for a single address.
	claimBits int
	strategy  pooltree.Strategy
	// shortestBits and longestBits bound the prefix length that may be asked for; 0 for no bound.
	shortestBits, longestBits int
	// kept are the readable ones of spec.preAllocations.
	kept []preAllocation
	errs field.ErrorList
}

// entry is one readable part of the pool.
type entry struct {
	path  *field.Path
	text  string
	addrs netipx.IPRange
}

func (r *resolver) fail(err *field.Error) { r.errs = append(r.errs, err) }

func (r *resolver) invalid(path *field.Path, value any, format string, args ...any) {
	r.fail(field.Invalid(path, excerpt.Any(value), excerpt.Message(fmt.Sprintf(format, args...))))
}

// config is called for specs without mistakes: everything could be read, and
// the exclusions are valid ranges of one family.
func (r *resolver) config() pooltree.Config {
	c := pooltree.Config{ClaimBits: r.claimBits, ShortestBits: r.shortestBits, LongestBits: r.longestBits, Strategy: r.strategy}
	for _, p := range r.parts {
		c.Areas = append(c.Areas, p.areas()...)
		c.Gateways = append(c.Gateways, p.gateway) // also of a part that has no addresses left
	}
	if set, err := r.excluded.IPSet(); err == nil {
		c.Excluded = set
	}
	if r.allocatesReserved() {
		c.Reserved = pooltree.AllocateReserved
	}
	for _, k := range r.kept {
		c.Kept = append(c.Kept, k.Kept)
	}
	return c
}

// checkSource wants exactly one source.
func (r *resolver) checkSource() {
	hasCIDR, hasAddresses := r.spec.CIDR != "", len(r.spec.Addresses) > 0
	switch {
	case hasCIDR && hasAddresses:
		r.fail(field.Forbidden(r.path.Child("addresses"), "a pool has either cidr or addresses"))
	case !hasCIDR && !hasAddresses && r.spec.ParentRef != nil:
		r.fail(field.Required(r.path.Child("cidr"), "no block has been carved from the parent yet"))
	case !hasCIDR && !hasAddresses:
		r.fail(field.Required(r.path.Child("cidr"), "one of cidr, parentRef and addresses is required"))
	}
}

// readBlocks reads what the pool consists of. The first readable entry
// decides the family.
func (r *resolver) readBlocks() {
	r.family = Family(r.spec)
	if r.spec.CIDR != "" {
		r.readCIDR()
	}
	if path := r.path.Child("addresses"); r.checkLength(path, r.spec.Addresses) {
		for i, text := range r.spec.Addresses {
			r.readEntry(path.Index(i), string(text))
		}
	}
	r.checkDisjoint()
	if f := r.spec.IPFamily; f != "" && r.family != "" && f != r.family {
		r.invalid(r.path.Child("ipFamily"), f, "the pool's addresses are %s", r.family)
	}
}

func (r *resolver) readCIDR() {
	path := r.path.Child("cidr")
	if _, err := ipspace.ParsePrefix(r.spec.CIDR); err != nil {
		r.invalid(path, r.spec.CIDR, "%v", err)
		return
	}
	r.readEntry(path, r.spec.CIDR)
}

func (r *resolver) readEntry(path *field.Path, text string) {
	addrs, ok := r.parse(path, text)
	if !ok {
		return
	}
	if name, special := specialIn(addrs); special {
		r.invalid(path, text, "contains %s, which cannot be handed out", name)
		return
	}
	r.entries = append(r.entries, entry{path, text, addrs})
}

// parse reads an entry and checks its family.
func (r *resolver) parse(path *field.Path, text string) (netipx.IPRange, bool) {
	addrs, err := ipspace.ParseEntry(text)
	if err != nil {
		r.invalid(path, text, "%v", err)
		return netipx.IPRange{}, false
	}
	return addrs, r.checkFamily(path, text, addrs.From())
}

func (r *resolver) checkFamily(path *field.Path, text string, a netip.Addr) bool {
	if r.family == "" || FamilyOf(a) == r.family {
		return true
	}
	r.invalid(path, text, "is %s in a pool of %s", FamilyOf(a), r.family)
	return false
}

// checkDisjoint reports every entry that overlaps an earlier one. In order of
// first addresses, whatever overlaps something before it also overlaps the one
// that reaches furthest.
func (r *resolver) checkDisjoint() {
	order := make([]int, len(r.entries))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(i, j int) int { return r.entries[i].addrs.From().Compare(r.entries[j].addrs.From()) })
	furthest := 0
	for k := 1; k < len(order); k++ {
		a, b := order[furthest], order[k]
		if r.entries[a].addrs.Overlaps(r.entries[b].addrs) {
			r.overlap(r.entries[min(a, b)], r.entries[max(a, b)])
		}
		if r.entries[a].addrs.To().Less(r.entries[b].addrs.To()) {
			furthest = k
		}
	}
}

func (r *resolver) overlap(earlier, later entry) {
	r.invalid(later.path, later.text, "overlaps %s, %q", earlier.path, earlier.text)
}

// checkLength keeps a list that is too long from being read.
func (r *resolver) checkLength(path *field.Path, entries []ipamv1.AddressEntry) bool {
	if len(entries) <= ipamv1.MaxAddressEntries {
		return true
	}
	r.fail(field.TooMany(path, len(entries), ipamv1.MaxAddressEntries))
	return false
}

func (r *resolver) readExcluded() {
	path := r.path.Child("excludedAddresses")
	if !r.checkLength(path, r.spec.ExcludedAddresses) {
		return
	}
	for i, text := range r.spec.ExcludedAddresses {
		if addrs, ok := r.parse(path.Index(i), string(text)); ok {
			r.excluded.AddRange(addrs)
		}
	}
}
