// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"net/netip"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/external"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/providers/openstack/neutron"
)

// outcomeOf is what has become of a floating IP that was given back for its claim; the zero value is
// one that does not exist any more.
func outcomeOf(now neutron.FloatingIP, key string, claim ipamv1.ClaimReference) external.Outcome {
	id, isWeirs := parse(now.Description)
	switch {
	case now.ID == "":
		return external.Deleted
	case now.Description == "":
		return external.Returned
	case isWeirs && id.key == key && id.owner != claim.UID: // another claim may have taken it since
		return external.Freed
	}
	return external.Unreleased
}

// Outcomes implements external.Provider: one list for each hundred.
func (p *Provider) Outcomes(ctx context.Context, pool external.Pool, of []external.Leftover) (map[string]external.Outcome, error) {
	addresses := make([]netip.Addr, 0, len(of))
	for _, one := range of {
		addresses = append(addresses, one.Address)
	}
	outcomes := map[string]external.Outcome{}
	err := p.call(ctx, pool, func(cloud *neutron.Client) error {
		there := map[string]neutron.FloatingIP{}
		err := findListed(ctx, cloud, pool, addresses, func(found []neutron.FloatingIP) bool {
			for _, f := range found {
				there[f.ID] = f
			}
			return true
		})
		if err == nil && len(there) == 0 {
			err = proveNetwork(ctx, cloud, pool)
		}
		if err != nil {
			return err
		}
		for _, one := range of {
			outcomes[one.ID] = outcomeOf(there[one.ID], pool.Key, one.Claim)
		}
		return nil
	})
	if err != nil {
		return nil, asFault(ctx, pool, err)
	}
	return outcomes, nil
}
