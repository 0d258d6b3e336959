// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package fake

import (
	"cmp"
	"fmt"
	"maps"
	"net/http"
	"net/netip"
	"net/url"
	"slices"
	"strconv"
	"strings"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/openstack"
)

const maxDescription = 255

type floatingIP struct {
	ID, NetworkID, ProjectID string
	Address                  netip.Addr
	PortID, RouterID         *string
	// ForwardedTo is the port that a port forwarding leads to; "" for none.
	ForwardedTo         string
	Description, Status string
	Tags                []string
	Revision            int
}

// object is a JSON object.
type object = map[string]any

// refusal is an answer that is no success.
type refusal struct {
	code             int
	problem, message string
	// isKeystone says that it has the form of Keystone's.
	isKeystone bool
}

func (r *refusal) Error() string { return fmt.Sprintf("%d %s: %s", r.code, r.problem, r.message) }

func (r *refusal) body() object {
	if r.isKeystone {
		return object{"error": object{"code": r.code, "title": http.StatusText(r.code), "message": r.message}}
	}
	return object{"NeutronError": object{"type": r.problem, "message": r.message, "detail": ""}}
}

func missing(kind, id string) error {
	return &refusal{code: http.StatusNotFound, problem: kind + "NotFound", message: kind + " " + id + " could not be found"}
}

func refuse(code int, problem, message string) error {
	return &refusal{code: code, problem: problem, message: message}
}

// shown is a floating IP as the cloud answers it.
func (c *Cloud) shown(f *floatingIP) object {
	fields := object{
		"id": f.ID, "floating_ip_address": f.Address, "floating_network_id": f.NetworkID, "project_id": f.ProjectID, "port_id": f.PortID,
		"router_id": f.RouterID, "description": f.Description, "tags": f.Tags, "status": f.Status,
	}
	if c.hasRevisions {
		fields["revision_number"] = f.Revision
	}
	return fields
}

// visible returns a floating IP that the project may see.
func (c *Cloud) visible(project, id string) (*floatingIP, error) {
	f, ok := c.floatingIPs[id]
	if !ok || f.ProjectID != project && project != projectID(openstack.Admin) {
		return nil, missing("FloatingIP", id)
	}
	return f, nil
}

func (c *Cloud) isForbidden(rule string) error {
	if c.policy[rule] == "!" {
		return refuse(http.StatusForbidden, "PolicyNotAuthorized", "rule:"+rule+" is disallowed by policy")
	}
	return nil
}

// seen returns a refusal if the request has a condition that the revision does not meet.
func (c *Cloud) seen(f *floatingIP, ifMatch string) error {
	wanted, ok := strings.CutPrefix(ifMatch, "revision_number=")
	if ok && c.hasRevisions && wanted != strconv.Itoa(f.Revision) {
		return refuse(http.StatusPreconditionFailed, "RevisionNumberConstraintFailed",
			fmt.Sprintf("Constrained to %s, but current revision is %d", wanted, f.Revision))
	}
	return nil
}

type createBody struct {
	NetworkID   string     `json:"floating_network_id"`
	SubnetID    string     `json:"subnet_id"`
	Address     netip.Addr `json:"floating_ip_address"`
	Description string     `json:"description"`
	Tags        []string   `json:"tags"`
}

func (c *Cloud) create(project string, body createBody) (*floatingIP, error) {
	if len(body.Description) > maxDescription || body.Tags != nil {
		return nil, refuse(http.StatusBadRequest, "HTTPBadRequest", "Invalid input for description or tags")
	}
	if err := c.isForbidden("create_floatingip"); err != nil {
		return nil, err
	}
	if body.Address.IsValid() && project != projectID(openstack.Admin) {
		return nil, refuse(http.StatusForbidden, "PolicyNotAuthorized",
			"(rule:create_floatingip and rule:create_floatingip:floating_ip_address) is disallowed by policy")
	}
	i := slices.IndexFunc(c.networks, func(n network) bool { return n.ID == body.NetworkID })
	if i < 0 {
		return nil, missing("Network", body.NetworkID)
	}
	if limit, ok := c.quotas[project]; ok && limit >= 0 && c.count(project) >= limit {
		return nil, refuse(http.StatusConflict, "OverQuota", "Quota exceeded for resources: ['floatingip'].")
	}
	address, err := c.take(c.networks[i], body)
	if err != nil {
		return nil, err
	}
	f := &floatingIP{
		ID: newID(), Address: address, NetworkID: body.NetworkID, ProjectID: project, Description: body.Description, Tags: []string{}, Status: "DOWN",
	}
	c.floatingIPs[f.ID] = f
	c.changed("CreateFloatingIP", FloatingIP{}, f.now())
	return f, nil
}

func (c *Cloud) count(project string) (n int) {
	for _, f := range c.floatingIPs {
		if f.ProjectID == project {
			n++
		}
	}
	return n
}

// take returns the wanted address, or the lowest free one of network and subnet.
func (c *Cloud) take(n network, body createBody) (netip.Addr, error) {
	subnets := slices.DeleteFunc(slices.Clone(n.subnets), func(s subnet) bool { return body.SubnetID != "" && s.ID != body.SubnetID })
	if len(subnets) == 0 {
		return netip.Addr{}, missing("Subnet", body.SubnetID)
	}
	for _, s := range subnets {
		for a := s.first; a.Compare(s.last) <= 0; a = a.Next() {
			if !c.used[a] && (!body.Address.IsValid() || a == body.Address) {
				c.used[a] = true
				return a, nil
			}
		}
	}
	switch {
	case !body.Address.IsValid():
		return netip.Addr{}, refuse(http.StatusConflict, "IpAddressGenerationFailure", "No more IP addresses available on network "+n.ID+".")
	case c.used[body.Address]:
		return netip.Addr{}, refuse(http.StatusConflict, "IpAddressAlreadyAllocated", "IP address is already allocated")
	}
	return netip.Addr{}, refuse(http.StatusBadRequest, "InvalidIpForNetwork", "IP address is not valid for the network")
}

func (c *Cloud) update(project, id, ifMatch string, body map[string]*string) (*floatingIP, error) {
	f, err := c.visible(project, id)
	if err != nil {
		return nil, err
	}
	if err := cmp.Or(c.isForbidden("update_floatingip"), c.seen(f, ifMatch)); err != nil {
		return nil, err
	}
	if body["port_id"] != nil && f.ForwardedTo != "" {
		return nil, f.forwards()
	}
	before := f.now()
	if description := body["description"]; description != nil {
		f.Description = *description
	}
	if port, ok := body["port_id"]; ok {
		f.PortID, f.RouterID = port, nil
		if port != nil {
			f.RouterID = &c.router
		}
	}
	f.Revision++
	c.changed("DescribeFloatingIP", before, f.now())
	return f, nil
}

// forwards is why a floating IP that port forwardings use is neither bound nor deleted.
func (f *floatingIP) forwards() error {
	return refuse(http.StatusConflict, "FipInUseByPortForwarding", "Floating IP "+f.ID+" in use by Port Forwarding resources.")
}

// remove deletes a floating IP, a bound one too.
func (c *Cloud) remove(project, id, ifMatch string) error {
	f, err := c.visible(project, id)
	if err != nil {
		return err
	}
	if err := cmp.Or(c.isForbidden("delete_floatingip"), c.seen(f, ifMatch)); err != nil {
		return err
	}
	if f.ForwardedTo != "" {
		return f.forwards()
	}
	delete(c.floatingIPs, id)
	delete(c.used, f.Address)
	c.changed("DeleteFloatingIP", f.now(), FloatingIP{})
	return nil
}

func (c *Cloud) tag(project, id string, tags []string) error {
	f, err := c.visible(project, id)
	if err != nil {
		return missing("TagResource", id)
	}
	before := f.now()
	f.Tags = append([]string{}, tags...)
	f.Revision++
	c.changed("TagFloatingIP", before, f.now())
	return nil
}

// page returns one page of a project's floating IPs, and whether there are more. A marker that is gone is ignored, as Neutron does.
func (c *Cloud) page(project string, query url.Values) (page []object, hasNext bool) {
	ids := slices.Sorted(maps.Keys(c.floatingIPs))
	if marker := query.Get("marker"); slices.Contains(ids, marker) {
		ids = ids[slices.Index(ids, marker)+1:]
	}
	limit, err := strconv.Atoi(query.Get("limit"))
	if err != nil {
		limit = len(ids) + 1
	}
	page = []object{}
	for _, id := range ids {
		f, err := c.visible(project, id)
		if err != nil || !f.matches(query) {
			continue
		}
		if page = append(page, c.shown(f)); len(page) == limit {
			return page, true // Neutron says so of a last page that is full, too.
		}
	}
	return page, false
}

// matches reports whether a floating IP has one of the values that are asked for, of each field.
func (f *floatingIP) matches(query url.Values) bool {
	for name, value := range map[string]string{
		"id": f.ID, "floating_network_id": f.NetworkID, "project_id": f.ProjectID, "description": f.Description,
		"floating_ip_address": f.Address.String(),
	} {
		if query.Has(name) && !slices.Contains(query[name], value) {
			return false
		}
	}
	return true
}

// visibleNetworks returns the networks that match.
func (c *Cloud) visibleNetworks(query url.Values) []network {
	found := []network{}
	for _, n := range c.networks {
		isTagged := true
		for _, tag := range strings.FieldsFunc(query.Get("tags"), func(r rune) bool { return r == ',' }) {
			isTagged = isTagged && slices.Contains(n.Tags, tag)
		}
		if isTagged && cmp.Or(query.Get("id"), n.ID) == n.ID && cmp.Or(query.Get("name"), n.Name) == n.Name {
			found = append(found, n)
		}
	}
	slices.SortFunc(found, func(a, b network) int { return strings.Compare(a.ID, b.ID) })
	return found
}

// visibleSubnets returns the subnets that match: an ordinary project sees none of networks that it does not own.
func (c *Cloud) visibleSubnets(project string, query url.Values) []subnet {
	found := []subnet{}
	for _, n := range c.networks {
		for _, s := range n.subnets {
			isWanted := cmp.Or(query.Get("id"), s.ID) == s.ID && cmp.Or(query.Get("name"), s.Name) == s.Name &&
				cmp.Or(query.Get("network_id"), n.ID) == n.ID
			if isWanted && project == projectID(openstack.Admin) {
				found = append(found, s)
			}
		}
	}
	return found
}

// quota returns limit and use, -1 where there is no limit.
func (c *Cloud) quota(project string) object {
	limit, ok := c.quotas[project]
	if !ok {
		limit = -1
	}
	return object{"limit": limit, "used": c.count(project), "reserved": 0}
}
