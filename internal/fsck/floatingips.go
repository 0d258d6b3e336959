// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package fsck

import (
	"net/netip"
	"slices"
	"strings"
)

const (
	// cloudAnnotation has the key by which a pool is known in its cloud, and the ids of project and
	// network.
	cloudAnnotation = WeirGroup + "/openstack"
	// floatingIPPrefix begins the description of a floating IP that Weir has made. The key of the pool
	// and the owner follow.
	floatingIPPrefix = "weir/1/"
)

// FloatingIP is a floating IP of a cloud.
type FloatingIP struct {
	ID      string
	Address netip.Addr
	// Description is Neutron's. It says for which pool Weir has made the floating IP.
	Description string
}

// keepsFloatingIPs reports whether a pool keeps those of claims that have gone.
func keepsFloatingIPs(pool *Item) bool {
	source, _ := pool.Spec.OpenStack.(map[string]any)
	return source["reclaimPolicy"] == "Retain"
}

// checkFloatingIPs finds floating IPs of pools that no record of the pool holds. Those of pools of
// other clusters are left out.
func (s *Snapshot) checkFloatingIPs(r *Report) {
	pools := map[string]*Item{}
	for _, pool := range s.Pools {
		if key, _, _ := strings.Cut(pool.Metadata.Annotations[cloudAnnotation], " "); key != "" {
			pools[key] = pool
		}
	}
	for _, f := range s.floatingIPs {
		rest, isWeirs := strings.CutPrefix(f.Description, floatingIPPrefix)
		key, _, _ := strings.Cut(rest, "/")
		pool := pools[key]
		if !isWeirs || pool == nil || rest == key+"/-" && keepsFloatingIPs(pool) {
			continue
		}
		isOf := func(record *Item) bool {
			return record.Pool() == pool.Key() && record.Spec.CIDR == netip.PrefixFrom(f.Address, f.Address.BitLen()).String()
		}
		if !slices.ContainsFunc(s.records, isOf) {
			r.find(FloatingIPLeftOver, []Object{{Kind: "FloatingIP", Name: f.ID}, pool.object()},
				"floating IP %s (%s) of %s has no IPAllocation", f.Address, f.ID, pool)
		}
	}
}
