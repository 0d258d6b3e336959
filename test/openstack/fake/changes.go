// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package fake

import (
	"cmp"
	"slices"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/openstack"
)

// FloatingIP is a floating IP as it was at one moment, of any project.
type FloatingIP = openstack.FloatingIP

// Change is what has become of a floating IP.
type Change struct {
	// Call is the name of the call, as Call.Name; "Bind" or "Unbind" for what a test has done.
	Call string
	// Before is the zero value for one that was created, and After for one that was deleted.
	Before, After FloatingIP
	// Fault is what happened to the request; "" for nothing. IsGone: its client had gone when it was executed.
	Fault  Effect
	IsGone bool
}

func (f *floatingIP) now() FloatingIP {
	seen := FloatingIP{
		ID: f.ID, NetworkID: f.NetworkID, Description: f.Description, Address: f.Address, Tags: slices.Clone(f.Tags), Revision: f.Revision,
	}
	if f.PortID != nil {
		seen.PortID = *f.PortID
	}
	if f.RouterID != nil {
		seen.RouterID = *f.RouterID
	}
	return seen
}

// changed notes a change. The lock is held.
func (c *Cloud) changed(call string, before, after FloatingIP) {
	c.changes = append(c.changes, Change{Call: call, Before: before, After: after, Fault: c.now.fault, IsGone: c.now.isGone})
}

// Changes returns all changes of floating IPs, in their order.
func (c *Cloud) Changes() []Change {
	c.mu.Lock()
	defer c.mu.Unlock()
	return slices.Clone(c.changes)
}

// FloatingIPs returns what there is, in the order of ids.
func (c *Cloud) FloatingIPs() []FloatingIP {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]FloatingIP, 0, len(c.floatingIPs))
	for _, f := range c.floatingIPs {
		all = append(all, f.now())
	}
	slices.SortFunc(all, func(a, b FloatingIP) int { return cmp.Compare(a.ID, b.ID) })
	return all
}
