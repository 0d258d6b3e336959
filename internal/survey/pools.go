// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package survey

import (
	"cmp"
	"context"
	"errors"
	"io"
	"net/netip"
	"slices"
	"strconv"
	"strings"
	"time"

	"go4.org/netipx"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	icv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/incluster/v1alpha2"
	m3v1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/metal3/v1alpha1"
	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/poolspec"
)

// ErrNoWeir is returned where the API server does not serve Weir's kinds.
var ErrNoWeir = errors.New("this cluster has no Weir; its API server does not serve ipam.weir.dev; install Weir, or choose another --context")

// States of pools that are no reasons of conditions.
const (
	// ExhaustedState: the pool is ready and has nothing left.
	ExhaustedState = "Exhausted"
	// DeletingState: the pool is being deleted.
	DeletingState = "Deleting"
	// UnreportedState: no manager has written a status.
	UnreportedState = "Unreported"
)

var (
	ippools       = resource{ipamv1.GroupVersion.WithResource("ippools"), true}
	globalippools = resource{ipamv1.GroupVersion.WithResource("globalippools"), false}
	metal3ippools = resource{m3v1.GroupVersion.WithResource("ippools"), true}
)

// Pool is what is known of a pool.
type Pool struct {
	Ref ipamv1.PoolReference
	// Parent is the pool that this one is carved from; the zero value for a root.
	Parent ipamv1.PoolReference
	// Space is the address space; "" where it is that of a pool that the user may not see, or of a
	// cloud.
	Space string
	// Addresses are those of the pool; nil where a cloud chooses them, or none are known yet.
	Addresses *netipx.IPSet
	// Block is the addresses for people.
	Block string
	// Lengths are the bounds of what may be asked for.
	Lengths Lengths
	// Capacity is in addresses; its texts are "" where they are not known.
	Capacity ipamv1.Capacity
	// LargestFree is the length of the largest free block.
	LargestFree *int32
	// Percent and Claims are nil where they are not known.
	Percent, Claims *int32
	// State is a reason of the condition Ready, or one of the states above; Message belongs to it.
	State, Message string
	// Cluster is the one that the pool belongs to.
	Cluster string
	// Member is the cluster that the pool is delegated to.
	Member string
	// External: a cloud chooses the addresses.
	External bool
	// Cooldown is how long a released address is kept back.
	Cooldown time.Duration
	// Withheld is what is handed out to nobody, or to one claim only.
	Withheld Withheld

	// spec is that of a pool of Weir's own kinds.
	spec *ipamv1.IPPoolSpec
}

// Lengths are the bounds of a pool on the prefix length, in bits; 0 for none.
type Lengths struct{ Shortest, Longest int }

// Pools returns the pools that the user may see, in a fixed order, and false if no list of them
// was allowed.
func (s *Survey) Pools(ctx context.Context) (pools []*Pool, isAllowed bool, err error) {
	add := func(p *Pool) { pools = append(pools, p) }
	if isAllowed, err = s.readPools(ctx, poolLists(add)); err != nil {
		return nil, false, err
	}
	isInCluster, err := s.ServesInCluster(ctx)
	if err != nil {
		return nil, false, err
	}
	if isInCluster {
		areMore, failure := s.readPools(ctx, inClusterLists(add))
		if failure != nil {
			return nil, false, failure
		}
		isAllowed = isAllowed || areMore
	}
	inheritSpaces(pools)
	withhold(pools)
	slices.SortFunc(pools, comparePools)
	return pools, isAllowed, nil
}

// poolList is a resource of pools, and what reads a list of it.
type poolList struct {
	resource resource
	read     func(io.Reader) error
}

// poolLists are the lists of pools of Weir's own kinds and of Metal3's.
func poolLists(add func(*Pool)) []poolList {
	return []poolList{
		{globalippools, func(body io.Reader) error {
			return readItems(body, func(p *ipamv1.GlobalIPPool) { add(weirPool(p, p.PoolReference(), p.PoolSpec(), p.PoolStatus())) })
		}},
		{ippools, func(body io.Reader) error {
			return readItems(body, func(p *ipamv1.IPPool) { add(weirPool(p, p.PoolReference(), p.PoolSpec(), p.PoolStatus())) })
		}},
		{metal3ippools, func(body io.Reader) error {
			return readItems(body, func(p *m3v1.IPPool) { add(metal3Pool(p)) })
		}},
	}
}

// inClusterLists are the lists of pools of the in-cluster provider's kinds.
func inClusterLists(add func(*Pool)) []poolList {
	return []poolList{
		{inclusterippools, func(body io.Reader) error {
			return readItems(body, func(p *icv1.InClusterIPPool) { add(inClusterPool(p, InClusterPool, &p.Spec, &p.Status)) })
		}},
		{globalinclusterippools, func(body io.Reader) error {
			return readItems(body, func(p *icv1.GlobalInClusterIPPool) { add(inClusterPool(p, GlobalInClusterPool, &p.Spec, &p.Status)) })
		}},
	}
}

// readPools reads lists, and returns false if none was allowed.
func (s *Survey) readPools(ctx context.Context, lists []poolList) (isAllowed bool, err error) {
	for _, l := range lists {
		result, err := s.list(ctx, l.resource, query{}, l.read)
		if err != nil {
			return false, err
		}
		if result == unserved && l.resource.Group == ipamv1.GroupVersion.Group {
			return false, ErrNoWeir
		}
		isAllowed = isAllowed || result == listed || result == partly
	}
	return isAllowed, nil
}

// comparePools orders by first address, then by name. IPv4 comes before IPv6, and pools without
// known addresses come last.
func comparePools(a, b *Pool) int {
	first := func(p *Pool) (none int, begin netip.Addr) {
		if p.Addresses == nil || len(p.Addresses.Ranges()) == 0 {
			return 1, netip.Addr{}
		}
		return 0, p.Addresses.Ranges()[0].From()
	}
	noneA, beginA := first(a)
	noneB, beginB := first(b)
	return cmp.Or(cmp.Compare(noneA, noneB), beginA.Compare(beginB), cmp.Compare(Name(a.Ref), Name(b.Ref)))
}

// inheritSpaces gives carved pools the address space of their root.
func inheritSpaces(pools []*Pool) {
	byRef := map[ipamv1.PoolReference]*Pool{}
	for _, p := range pools {
		byRef[p.Ref] = p
	}
	for _, p := range pools {
		above, steps := p, 0
		for above != nil && above.Space == "" && steps < len(pools) {
			above, steps = byRef[above.Parent], steps+1
		}
		if above != nil {
			p.Space = above.Space
		}
	}
}

// Name returns how people write a reference: IPPool team-red/nodes, with the group where it is not
// Weir's.
func Name(ref ipamv1.PoolReference) string {
	return objectName(ref.APIGroup, ref.Kind, ref.Namespace, ref.Name)
}

// ClaimName returns how people write what a record is for.
func ClaimName(ref ipamv1.ClaimReference) string {
	return objectName(ref.Pool().APIGroup, ref.Kind, ref.Namespace, ref.Name)
}

// objectName leaves out the groups that people leave out: Weir's, and Cluster API's own.
func objectName(group, kind, namespace, name string) string {
	if group == m3v1.GroupVersion.Group {
		kind += "." + group
	}
	return kind + " " + strings.TrimPrefix(namespace+"/"+name, "/")
}

func weirPool(object metav1.Object, ref ipamv1.PoolReference, spec *ipamv1.IPPoolSpec, status *ipamv1.IPPoolStatus) *Pool {
	// A copy is a root, and what it names of the hub means nothing here.
	here := poolspec.Pool{
		Parent: poolspec.Parent(spec, ref), DelegateTo: spec.DelegateTo, ClusterName: spec.ClusterName,
	}.At("", object.GetAnnotations())
	p := &Pool{
		Ref: ref, Parent: here.Parent, Space: poolspec.Space(spec),
		Capacity: status.Capacity, LargestFree: status.LargestFreePrefixLength, Percent: status.UtilizationPercent, Claims: status.Claims,
		Cluster: here.ClusterName, Member: spec.DelegateTo, External: spec.OpenStack != nil, spec: spec,
	}
	if isCarved := p.Parent != (ipamv1.PoolReference{}); isCarved && spec.CIDR == "" {
		p.Space = spec.AddressSpace // until the block is carved, it is the parent's
	}
	entries := make([]string, 0, len(spec.Addresses))
	for _, entry := range spec.Addresses {
		entries = append(entries, string(entry))
	}
	if block := cmp.Or(spec.CIDR, status.AllocatedCIDR); block != "" {
		entries = append(entries, block)
	}
	p.Addresses, p.Block = setOf(entries), summary(entries)
	if a := spec.Allocation; a != nil {
		p.Lengths = Lengths{int(ptr.Deref(a.MinPrefixLength, 0)), int(ptr.Deref(a.MaxPrefixLength, 0))}
		p.Cooldown = time.Duration(ptr.Deref(a.CooldownSeconds, 0)) * time.Second
	}
	p.State, p.Message = stateOf(object, status.Conditions)
	return p
}

// stateOf returns the reason of Ready with its message, unless something else says more.
func stateOf(object metav1.Object, conditions []metav1.Condition) (state, message string) {
	ready := meta.FindStatusCondition(conditions, ipamv1.ReadyCondition)
	switch {
	case object.GetDeletionTimestamp() != nil && ready != nil:
		return DeletingState, ready.Message
	case object.GetDeletionTimestamp() != nil:
		return DeletingState, ""
	case ready == nil:
		return UnreportedState, "no manager has looked at it"
	case ready.Status == metav1.ConditionTrue && meta.IsStatusConditionTrue(conditions, ipamv1.ExhaustedCondition):
		return ExhaustedState, meta.FindStatusCondition(conditions, ipamv1.ExhaustedCondition).Message
	}
	return ready.Reason, ready.Message
}

func metal3Pool(pool *m3v1.IPPool) *Pool {
	p := &Pool{
		Ref:     ipamv1.PoolReference{APIGroup: m3v1.GroupVersion.Group, Kind: m3v1.IPPoolKind, Namespace: pool.Namespace, Name: pool.Name},
		Cluster: ptr.Deref(pool.Spec.ClusterName, ""), Withheld: metal3Withheld(pool),
	}
	by, isCarved := poolspec.Annotations{Parent: m3v1.ParentAnnotation}, false
	if p.Parent, isCarved = by.ParentOf(pool.Annotations); !isCarved {
		p.Space = cmp.Or(pool.Annotations[m3v1.AddressSpaceAnnotation], "metal3/"+pool.Namespace+"/"+pool.Name)
	}
	var entries []string
	for _, entry := range pool.Spec.Pools {
		if r := metal3Range(entry); r.IsValid() {
			entries = append(entries, r.String())
		}
	}
	p.Addresses, p.Block = setOf(entries), summary(entries)
	if total, available := pool.Status.Capacity, pool.Status.AvailableIPCount; total != nil && available != nil && *total > 0 {
		used := max(*total-*available, 0)
		p.Capacity = ipamv1.Capacity{
			Total: strconv.FormatInt(*total, 10), Available: strconv.FormatInt(*available, 10), Allocated: strconv.FormatInt(used, 10),
		}
		p.Percent = ptr.To(int32(float64(used) / float64(*total) * 100))
	}
	p.State, p.Message = stateOf(pool, pool.Status.Conditions)
	return p
}
