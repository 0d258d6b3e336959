// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"context"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claimant"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
)

const (
	// unsettled is for how long IPAddresses with the settings of before may still be made after a change.
	unsettled = time.Minute
	// recount is after what time the IPAddresses of a pool are counted again although nothing seems to have changed.
	recount = 10 * time.Minute
)

// outdated is what the last counts have found. The zero value is empty.
type outdated struct {
	mu     sync.Mutex
	counts map[ipamv1.PoolReference]outdatedCount
}

type outdatedCount struct {
	shape  *pooltree.Pool
	number int
	// since is when the shape was seen first, and at when its addresses were counted.
	since, at time.Time
}

// due says whether the addresses of a pool have to be counted: the pool, or what it inherits, is new or has just changed, or some
// addresses were outdated, or it is long ago. Otherwise new ones have what the pool says. The cache is asked for all of them.
func (o *outdated) due(ref ipamv1.PoolReference, shape *pooltree.Pool, now time.Time) bool {
	o.mu.Lock()
	defer o.mu.Unlock()
	c, ok := o.counts[ref]
	return !ok || c.shape != shape || c.number > 0 || now.Sub(c.since) < unsettled || now.Sub(c.at) > recount
}

func (o *outdated) counted(ref ipamv1.PoolReference, shape *pooltree.Pool, number int, now time.Time) {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.counts == nil {
		o.counts = map[ipamv1.PoolReference]outdatedCount{}
	}
	c := outdatedCount{shape: shape, number: number, since: now, at: now}
	if before, ok := o.counts[ref]; ok && before.shape == shape {
		c.since = before.since
	}
	o.counts[ref] = c
}

func (o *outdated) forget(ref ipamv1.PoolReference) {
	o.mu.Lock()
	defer o.mu.Unlock()
	delete(o.counts, ref)
}

// setNetworkCurrent says how many IPAddresses carry other network settings than the pool has now. It is left as it is where that is
// not known: Cluster API is not installed, nor everything seen yet, this manager sees one namespace, and the pool is for all, or the
// pool serves nothing.
func (r *Reconciler) setNetworkCurrent(ctx context.Context, s *scope) error {
	ref, shape, now := s.pool.PoolReference(), s.registered.Shape, r.Clock.Now()
	if !r.remains.IsComplete() || shape == nil || ref.Namespace == "" && r.Namespace != "" || !r.outdated.due(ref, shape, now) {
		return nil
	}
	list := &ipamv1beta2.IPAddressList{}
	if err := r.Client.List(ctx, list, client.InNamespace(ref.Namespace), client.UnsafeDisableDeepCopy,
		client.MatchingFields{claimant.PoolIndex: claimant.PoolKey(ref)}); err != nil {
		return fmt.Errorf("listing IPAddresses: %w", err)
	}
	number := 0
	for i := range list.Items {
		if !isCurrent(&list.Items[i], shape) {
			number++
		}
	}
	r.outdated.counted(ref, shape, number, now)
	if number == 0 {
		conditions.Delete(s.pool, ipamv1.NetworkCurrentCondition)
		return nil
	}
	conditions.Set(s.pool, metav1.Condition{
		Type: ipamv1.NetworkCurrentCondition, Status: metav1.ConditionFalse, Reason: ipamv1.AddressesOutdatedReason,
		Message:            fmt.Sprintf("%d IPAddresses keep another prefix length, gateway or DNS servers than the pool has now; replace their machines", number),
		ObservedGeneration: s.pool.GetGeneration(),
	})
	return nil
}

// isCurrent says whether an IPAddress carries what its pool says now. One that the pool does not contain has nothing to compare with;
// blocks have a prefix length of their own.
func isCurrent(answer *ipamv1beta2.IPAddress, shape *pooltree.Pool) bool {
	address, err := netip.ParseAddr(answer.Spec.Address)
	if err != nil || !shape.Contains(netip.PrefixFrom(address, address.BitLen())) {
		return true
	}
	want, gateway := shape.NetworkOf(address), ""
	if want.Gateway.IsValid() {
		gateway = want.Gateway.String()
	}
	servers := make([]string, 0, len(want.DNSServers))
	for _, server := range want.DNSServers {
		servers = append(servers, server.String())
	}
	isBlock := shape.ClaimBits() != shape.HostBits()
	return answer.Spec.Gateway == gateway && answer.Annotations[ipamv1.DNSServersAnnotation] == strings.Join(servers, ",") &&
		(isBlock || answer.Spec.Prefix == nil || int(*answer.Spec.Prefix) == want.Bits)
}
