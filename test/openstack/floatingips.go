// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"cmp"
	"context"
	"net/http"
	"net/netip"
	"slices"
	"time"
)

// FloatingIP is a floating IP as it was at one moment, of any project.
type FloatingIP struct {
	ID, NetworkID, PortID, RouterID, Description string
	Address                                      netip.Addr
	Tags                                         []string
	Revision                                     int
	// CreatedAt is the second of its creation. A fake has none.
	CreatedAt time.Time
}

// FloatingIPs returns what there is, in the order of ids. It is read without the client that is
// tested.
func (c *Cloud) FloatingIPs(ctx context.Context) ([]FloatingIP, error) {
	var answer struct {
		FloatingIPs []struct {
			ID          string
			NetworkID   string `json:"floating_network_id"`
			PortID      string `json:"port_id"`
			RouterID    string `json:"router_id"`
			Description string
			Address     netip.Addr `json:"floating_ip_address"`
			Tags        []string
			Revision    int       `json:"revision_number"`
			CreatedAt   time.Time `json:"created_at"`
		} `json:"floatingips"`
	}
	if err := c.admin.do(ctx, http.MethodGet, c.network("floatingips"), nil, &answer); err != nil {
		return nil, err
	}
	all := make([]FloatingIP, 0, len(answer.FloatingIPs))
	for _, f := range answer.FloatingIPs {
		all = append(all, FloatingIP{
			ID: f.ID, NetworkID: f.NetworkID, PortID: f.PortID, RouterID: f.RouterID, Description: f.Description, Address: f.Address, Tags: f.Tags,
			Revision: f.Revision, CreatedAt: f.CreatedAt,
		})
	}
	slices.SortFunc(all, func(a, b FloatingIP) int { return cmp.Compare(a.ID, b.ID) })
	return all, nil
}
