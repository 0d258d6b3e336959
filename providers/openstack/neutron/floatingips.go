// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package neutron

import (
	"context"
	"fmt"
	"net/http"
	"net/netip"
	"net/url"
	"regexp"
	"slices"

	"github.com/gophercloud/gophercloud/v2"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/layer3/floatingips"
	"github.com/gophercloud/gophercloud/v2/openstack/networking/v2/extensions/quotas"
)

// MaxDescription is how many characters Neutron keeps of a description.
const MaxDescription = 255

// FloatingIP is a floating IP as it was seen at one moment.
type FloatingIP struct {
	ID      string
	Address netip.Addr
	// NetworkID is the external network that the address is from.
	NetworkID string
	// PortID is the port that the floating IP is bound to; empty if it is not bound.
	PortID string
	// RouterID is the router of that port, or of the ports that its port forwardings lead to: those set no PortID. Empty if nothing uses it.
	RouterID    string
	ProjectID   string
	Description string
	Tags        []string
	// Revision grows with every change, of tags and port too. A new one's may be 0, and so is every one's where the cloud has none.
	Revision int
	// Status is ACTIVE, DOWN or ERROR. One that is not bound is DOWN.
	Status string
}

// IsInUse reports whether a port has the floating IP, or port forwardings use it.
func (f FloatingIP) IsInUse() bool { return f.PortID != "" || f.RouterID != "" }

// Use says what uses the floating IP, after "it is"; "" if nothing does.
func (f FloatingIP) Use() string {
	switch {
	case f.PortID != "":
		return "bound to port " + f.PortID
	case f.RouterID != "":
		return "used by port forwardings of router " + f.RouterID
	}
	return ""
}

// read takes over what Neutron has said.
func read(f floatingips.FloatingIP) (FloatingIP, error) {
	address, err := netip.ParseAddr(f.FloatingIP)
	if err != nil || f.ID == "" {
		return FloatingIP{}, fmt.Errorf("floating IP %q has no address", f.ID)
	}
	return FloatingIP{
		ID: f.ID, Address: address, NetworkID: f.FloatingNetworkID, PortID: f.PortID, RouterID: f.RouterID, ProjectID: f.ProjectID,
		Description: f.Description, Tags: f.Tags, Revision: f.RevisionNumber, Status: f.Status,
	}, nil
}

// List returns the project's floating IPs of a network, in the order of their ids, with one request for each page.
//
// Whatever exists from beginning to end is in it, once. What comes or goes meanwhile may or may not be. If the last one of a page is
// deleted before the next is read, Neutron begins anew: that is Unavailable, and the list is to be read again.
func (c *Client) List(ctx context.Context, networkID string) ([]FloatingIP, error) {
	return c.list(ctx, networkID, url.Values{}, func(FloatingIP) bool { return true })
}

// FindByAddress returns the project's floating IP of that address. None is NotFound.
func (c *Client) FindByAddress(ctx context.Context, networkID string, address netip.Addr) (FloatingIP, error) {
	found, err := c.list(ctx, networkID, url.Values{"floating_ip_address": {address.String()}},
		func(f FloatingIP) bool { return f.Address == address })
	if err == nil && len(found) == 0 {
		err = &Error{Call: callList, Kind: NotFound, Message: fmt.Sprintf("the project has no floating IP %s", address)}
	}
	if err != nil {
		return FloatingIP{}, err
	}
	return found[0], nil
}

// FindByAddresses returns those of the project's floating IPs of a network that have one of these
// addresses, in the order of their ids. No address is Invalid. The URL has some 40 characters for each.
func (c *Client) FindByAddresses(ctx context.Context, networkID string, addresses ...netip.Addr) ([]FloatingIP, error) {
	if len(addresses) == 0 {
		return nil, &Error{Call: callList, Kind: Invalid, Message: "floating_ip_address: required"}
	}
	wanted := make([]string, 0, len(addresses))
	for _, address := range addresses {
		wanted = append(wanted, address.String())
	}
	return c.list(ctx, networkID, url.Values{"floating_ip_address": wanted},
		func(f FloatingIP) bool { return slices.Contains(addresses, f.Address) })
}

// FindByDescription returns all of the project's floating IPs of a network with exactly one of these
// descriptions, in the order of their ids; there may be none. An empty description, or none, is
// Invalid.
func (c *Client) FindByDescription(ctx context.Context, networkID string, descriptions ...string) ([]FloatingIP, error) {
	if len(descriptions) == 0 || slices.Contains(descriptions, "") {
		return nil, &Error{Call: callList, Kind: Invalid, Message: "description: required"}
	}
	return c.list(ctx, networkID, url.Values{"description": descriptions},
		func(f FloatingIP) bool { return slices.Contains(descriptions, f.Description) })
}

var floatingIPList = collection[floatingips.FloatingIP]{
	call: callList, name: "floatingips", id: func(f floatingips.FloatingIP) string { return f.ID },
}

// list returns the project's floating IPs of a network that are wanted. Old clouds ignore filters that they do not know.
func (c *Client) list(ctx context.Context, networkID string, query url.Values, isWanted func(FloatingIP) bool) ([]FloatingIP, error) {
	query.Set("project_id", c.project)
	query.Set("floating_network_id", networkID)
	listed, err := floatingIPList.list(ctx, c, query)
	if err != nil {
		return nil, err
	}
	all := make([]FloatingIP, 0, len(listed))
	for _, raw := range listed {
		f, err := read(raw)
		if err != nil {
			return nil, &Error{Call: callList, Kind: Unavailable, Message: shorten(err.Error())}
		}
		if f.ProjectID == c.project && f.NetworkID == networkID && isWanted(f) {
			all = append(all, f)
		}
	}
	return all, nil
}

// Get returns a floating IP of the project. Another project's is NotFound.
func (c *Client) Get(ctx context.Context, id string) (FloatingIP, error) {
	if err := checkID(callGet, id); err != nil {
		return FloatingIP{}, err
	}
	var f FloatingIP
	err := c.call(ctx, callGet, func(ctx context.Context) error {
		raw, err := floatingips.Get(ctx, c.service, id).Extract()
		if err != nil {
			return err
		}
		f, err = read(*raw)
		return err
	})
	if err == nil && f.ProjectID != c.project {
		err = &Error{Call: callGet, Code: http.StatusNotFound, Kind: NotFound, Message: "floating IP " + id + " is another project's"}
	}
	if err != nil {
		return FloatingIP{}, err
	}
	return f, nil
}

// idForm is what ids may look like: they are put into paths, and callers have them from objects that others may write.
var idForm = regexp.MustCompile(`^[0-9A-Za-z-]{1,64}$`)

func checkID(call, id string) error {
	if !idForm.MatchString(id) {
		return &Error{Call: call, Kind: Invalid, Message: "id: must have 1 to 64 letters, digits and hyphens"}
	}
	return nil
}

// CreateOptions of a floating IP.
type CreateOptions struct {
	NetworkID string
	// SubnetID may be empty: any of the network's IPv4 subnets.
	SubnetID string
	// Description has at most 255 characters.
	Description string
	// Address asks for that very address, which clouds commonly allow to administrators only; the zero value leaves the choice to Neutron.
	Address netip.Addr
}

// Create creates a floating IP with one request. Uncertain says that it may exist, or will in a moment: look for its description.
// Quota, NoAddress, Forbidden (for Address) and Conflict (Address is taken) say that it does not.
func (c *Client) Create(ctx context.Context, options CreateOptions) (FloatingIP, error) {
	if len([]rune(options.Description)) > MaxDescription {
		return FloatingIP{}, &Error{Call: callCreate, Kind: Invalid, Message: "description: at most 255 characters"}
	}
	if err := checkID(callCreate, options.NetworkID); err != nil {
		return FloatingIP{}, err
	}
	body := floatingips.CreateOpts{FloatingNetworkID: options.NetworkID, SubnetID: options.SubnetID, Description: options.Description}
	if options.Address.IsValid() {
		body.FloatingIP = options.Address.String()
	}
	var created FloatingIP
	err := c.change(ctx, callCreate, func(ctx context.Context) error {
		raw, err := floatingips.Create(ctx, c.service, body).Extract()
		if err != nil {
			return err
		}
		created, err = read(*raw)
		return err
	})
	return created, err
}

// Describe gives a floating IP another description, if it is still as it was seen, and returns it as it is now. The port is not
// touched. Changed says that it is not as it was seen; Uncertain, that it may have either description.
//
// Where the cloud honours If-Match, a change is refused that begins after another one has ended. Of two that run at the same moment both may
// be made: Neutron checks the condition once, and tries a transaction that has met another one again without it. Elsewhere the floating IP is
// read just before, and a change between the two steps is lost.
func (c *Client) Describe(ctx context.Context, seen FloatingIP, description string) (FloatingIP, error) {
	if len([]rune(description)) > MaxDescription {
		return FloatingIP{}, &Error{Call: callDescribe, Kind: Invalid, Message: "description: at most 255 characters"}
	}
	if err := c.verify(ctx, callDescribe, seen); err != nil {
		return FloatingIP{}, err
	}
	body := floatingips.UpdateOpts{Description: &description}
	if c.isConditional {
		body.RevisionNumber = &seen.Revision
	}
	var described FloatingIP
	err := c.change(ctx, callDescribe, func(ctx context.Context) error {
		raw, err := floatingips.Update(ctx, c.service, seen.ID, body).Extract()
		if err != nil {
			return err
		}
		described, err = read(*raw)
		return err
	})
	return described, err
}

// Delete deletes a floating IP that was seen unused, if it is still as it was seen. One that was seen in use is Conflict, without a
// request: Neutron would delete one that a port has. Changed says that it is not as it was seen; NotFound, that it is gone;
// Uncertain, that it may be gone. The condition is as Describe's.
func (c *Client) Delete(ctx context.Context, seen FloatingIP) error {
	if seen.IsInUse() {
		return &Error{Call: callDelete, Kind: Conflict, Message: fmt.Sprintf("floating IP %s is %s", seen.Address, seen.Use())}
	}
	if err := c.verify(ctx, callDelete, seen); err != nil {
		return err
	}
	options := gophercloud.RequestOpts{OkCodes: []int{http.StatusNoContent}}
	if c.isConditional {
		options.MoreHeaders = map[string]string{"If-Match": fmt.Sprintf("revision_number=%d", seen.Revision)}
	}
	return c.change(ctx, callDelete, func(ctx context.Context) error {
		_, err := c.service.Delete(ctx, c.service.ServiceURL("floatingips", seen.ID), &options) //nolint:bodyclose // gophercloud has read and closed it
		return err
	})
}

// verify returns a Changed error if the floating IP is not as it was seen. Where the change itself is conditional, nothing is read.
func (c *Client) verify(ctx context.Context, call string, seen FloatingIP) error {
	if err := checkID(call, seen.ID); err != nil || c.isConditional {
		return err
	}
	now, err := c.Get(ctx, seen.ID)
	if err != nil {
		return err
	}
	if now.Revision != seen.Revision || now.Description != seen.Description || now.Use() != seen.Use() || now.Address != seen.Address {
		return &Error{Call: call, Kind: Changed, Message: fmt.Sprintf("floating IP %s is not as it was seen", seen.Address)}
	}
	return nil
}

// Tag replaces all tags of a floating IP, without a condition. It changes the revision: read the floating IP again before a
// conditional change.
func (c *Client) Tag(ctx context.Context, id string, tags []string) error {
	if err := checkID(callTag, id); err != nil {
		return err
	}
	body := map[string][]string{"tags": append([]string{}, tags...)}
	return c.change(ctx, callTag, func(ctx context.Context) error {
		//nolint:bodyclose // gophercloud has read and closed it.
		_, err := c.service.Put(ctx, c.service.ServiceURL("floatingips", id, "tags"), body, nil, &gophercloud.RequestOpts{OkCodes: []int{http.StatusOK}})
		return err
	})
}

// QuotaOf is how many floating IPs a project may have and has.
type QuotaOf struct {
	// Limit is -1 where there is none.
	Limit, Used int
}

// Quota returns the project's quota of floating IPs, of all networks. Concurrent creations may exceed it.
func (c *Client) Quota(ctx context.Context) (QuotaOf, error) {
	var q QuotaOf
	err := c.call(ctx, callQuota, func(ctx context.Context) error {
		all, err := quotas.GetDetail(ctx, c.service, c.project).Extract()
		if err == nil {
			q = QuotaOf{Limit: all.FloatingIP.Limit, Used: all.FloatingIP.Used}
		}
		return err
	})
	return q, err
}
