// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"
	"os"
	"path/filepath"
)

func (c *Cloud) network(path string, ids ...any) string {
	return c.neutronURL + "/v2.0/" + fmt.Sprintf(path, ids...)
}

type subnet struct{ name, cidr, gateway, first, last string }

// makeNetworks makes the external networks.
func (c *Cloud) makeNetworks(ctx context.Context) error {
	for name, subnets := range map[string][]subnet{
		Public: {
			{"public-a", "203.0.113.0/24", "203.0.113.1", "203.0.113.10", "203.0.113.250"},
			{"public-b", "198.51.100.0/24", "198.51.100.1", "198.51.100.10", "198.51.100.250"},
		},
		Tiny: {{"tiny-a", "192.0.2.0/29", "192.0.2.1", "192.0.2.2", "192.0.2.4"}},
	} {
		network, err := c.admin.create(ctx, c.network("networks"), "network", object{
			"name": name, "router:external": true, "provider:network_type": "flat", "provider:physical_network": name,
		})
		if err != nil {
			return err
		}
		for _, s := range subnets {
			_, err := c.admin.create(ctx, c.network("subnets"), "subnet", object{
				"network_id": network, "name": s.name, "ip_version": 4, "cidr": s.cidr, "gateway_ip": s.gateway, "enable_dhcp": false,
				"allocation_pools": []object{{"start": s.first, "end": s.last}},
			})
			if err != nil {
				return err
			}
		}
	}
	return nil
}

// SetQuota sets how many floating IPs the member's project may have; -1 is no limit.
func (c *Cloud) SetQuota(ctx context.Context, limit int) error {
	return c.admin.do(ctx, http.MethodPut, c.network("quotas/%s", c.member.project), object{"quota": object{"floatingip": limit}}, nil)
}

// SetPolicy overrides rules of Neutron's policy until it is called again, for instance {"delete_floatingip": "!"}.
func (c *Cloud) SetPolicy(rules map[string]string) error {
	content, err := json.Marshal(rules) // JSON is YAML, too.
	if err != nil {
		return err
	}
	return os.WriteFile(filepath.Join(c.dir, policyDir, "rules.yaml"), content, 0o600)
}

// Bind binds a floating IP of the member and of network Public to a new port behind a router, and returns the port.
func (c *Cloud) Bind(ctx context.Context, floatingIP string) (port string, err error) {
	if err = c.makePrivate(ctx); err != nil {
		return "", err
	}
	port, err = c.member.create(ctx, c.network("ports"), "port", object{"network_id": c.private})
	if err != nil {
		return "", err
	}
	return port, c.member.do(ctx, http.MethodPut, c.network("floatingips/%s", floatingIP),
		object{"floatingip": object{"port_id": port}}, nil)
}

// Disassociate takes a floating IP from its port, which stays.
func (c *Cloud) Disassociate(ctx context.Context, floatingIP string) error {
	return c.member.do(ctx, http.MethodPut, c.network("floatingips/%s", floatingIP), object{"floatingip": object{"port_id": nil}}, nil)
}

// Forward makes a port forwarding of a floating IP of the member and of network Public, to a new port behind a router, and returns the port.
func (c *Cloud) Forward(ctx context.Context, floatingIP string) (port string, err error) {
	if err = c.makePrivate(ctx); err != nil {
		return "", err
	}
	var made struct {
		Port struct {
			ID       string
			FixedIPs []struct {
				Address string `json:"ip_address"`
			} `json:"fixed_ips"`
		}
	}
	err = c.member.do(ctx, http.MethodPost, c.network("ports"), object{"port": object{"network_id": c.private}}, &made)
	if err != nil || len(made.Port.FixedIPs) == 0 {
		return "", fmt.Errorf("making a port with an address: %w", err)
	}
	return made.Port.ID, c.member.do(ctx, http.MethodPost, c.network("floatingips/%s/port_forwardings", floatingIP), object{"port_forwarding": object{
		"internal_port_id": made.Port.ID, "internal_ip_address": made.Port.FixedIPs[0].Address, "protocol": "tcp", "internal_port": 80, "external_port": 80,
	}}, nil)
}

// Unbind deletes the port that a floating IP is bound to, or forwarded to.
func (c *Cloud) Unbind(ctx context.Context, port string) error {
	return c.member.do(ctx, http.MethodDelete, c.network("ports/%s", port), nil, nil)
}

// makePrivate makes the member's own network, with a router to Public.
func (c *Cloud) makePrivate(ctx context.Context) error {
	if c.private != "" {
		return nil
	}
	var public struct{ Networks []struct{ ID string } }
	if err := c.member.do(ctx, http.MethodGet, c.network("networks?name="+Public), nil, &public); err != nil {
		return err
	}
	network, err := c.member.create(ctx, c.network("networks"), "network", object{"name": "private"})
	if err != nil {
		return err
	}
	subnet, err := c.member.create(ctx, c.network("subnets"), "subnet",
		object{"network_id": network, "ip_version": 4, "cidr": "10.0.0.0/24"})
	if err != nil {
		return err
	}
	router, err := c.member.create(ctx, c.network("routers"), "router",
		object{"external_gateway_info": object{"network_id": public.Networks[0].ID}})
	if err != nil {
		return err
	}
	c.private = network
	return c.member.do(ctx, http.MethodPut, c.network("routers/%s/add_router_interface", router), object{"subnet_id": subnet}, nil)
}
