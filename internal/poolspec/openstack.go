// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package poolspec

import (
	"fmt"
	"net/netip"
	"regexp"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
)

// openStackSpaces begins the names of address spaces of floating IPs. The id of
// the network follows: all pools of a network are of one space.
const openStackSpaces = "openstack/"

// noBlocks is why a pool of floating IPs is refused a field for good.
const noBlocks = "a pool with openStack has no blocks: Neutron chooses its addresses"

// openStackSpace returns the address space of a pool of floating IPs of the
// network with that id; "" for none.
func openStackSpace(networkID string) string {
	if networkID == "" {
		return ""
	}
	return openStackSpaces + networkID
}

// Cloud is how a pool of floating IPs is known in its cloud, once it is.
type Cloud struct {
	// Key names the pool: the UID that it had first.
	Key string
	// Project and Network are the ids of the project that has its floating IPs,
	// and of their external network.
	Project, Network string
}

// IsKnown reports whether the pool is known there.
func (c Cloud) IsKnown() bool { return c.Key != "" }

// Space is the pool's address space; "" before it is known.
func (c Cloud) Space() string { return openStackSpace(c.Network) }

// String is the value of OpenStackAnnotation.
func (c Cloud) String() string { return strings.Join([]string{c.Key, c.Project, c.Network}, " ") }

// ReadCloud reads OpenStackAnnotation. Without it the pool is not known yet. It
// errs if the value is none that Weir writes.
func ReadCloud(annotations map[string]string) (Cloud, error) {
	value, ok := annotations[ipamv1.OpenStackAnnotation]
	if !ok {
		return Cloud{}, nil
	}
	fields := strings.Split(value, " ")
	if len(fields) != 3 || !cloudKey.MatchString(fields[0]) || !networkID.MatchString(fields[1]) || !networkID.MatchString(fields[2]) {
		return Cloud{}, fmt.Errorf("metadata.annotations[%s]: must be a key and the ids of project and network, with a space between each", ipamv1.OpenStackAnnotation)
	}
	return Cloud{fields[0], fields[1], fields[2]}, nil
}

// cloudKey is what a key looks like: a UID.
var cloudKey = regexp.MustCompile(`^[!-.0-~]{1,120}$`)

// resolveOpenStack returns the shape of a pool of floating IPs, or nil where
// there are mistakes.
func (r *resolver) resolveOpenStack() *pooltree.Pool {
	r.checkBlockless()
	r.checkClusterName()
	r.checkVisibility()
	r.checkNetwork()
	r.checkStock()
	if len(r.errs) > 0 {
		return nil
	}
	return pooltree.New(pooltree.Config{External: true, Limit: int(ptr.Deref(r.spec.OpenStack.MaxIPs, 0))})
}

// checkBlockless refuses the fields that a pool of floating IPs can never have:
// they are about blocks, or about which address is chosen.
func (r *resolver) checkBlockless() {
	s := r.spec
	r.forbid(r.path, noBlocks, []use{
		{"cidr", s.CIDR != ""},
		{"parentRef", s.ParentRef != nil},
		{"prefixLength", s.PrefixLength != nil},
		{"addresses", len(s.Addresses) > 0},
		{"excludedAddresses", len(s.ExcludedAddresses) > 0},
		{"network", s.Network != nil},
		{"subnets", len(s.Subnets) > 0},
		{"allocation", s.Allocation != nil},
		{"preAllocations", len(s.PreAllocations) > 0},
		{"expansion", s.Expansion != nil},
		{"delegateTo", s.DelegateTo != ""},
	})
	if s.AddressSpace != "" {
		r.fail(field.Forbidden(r.path.Child("addressSpace"), "a pool with openStack is of the address space of its network"))
	}
	if f := s.IPFamily; f != "" && f != ipamv1.IPv4Family {
		r.invalid(r.path.Child("ipFamily"), f, "floating IPs are %s", ipamv1.IPv4Family)
	}
}

// networkID is how Neutron writes the id of a network. Other spellings of one
// id would be other address spaces.
var networkID = regexp.MustCompile(`^[0-9a-z]([0-9a-z-]{0,62}[0-9a-z])?$`)

// checkNetwork wants to know which network it is.
func (r *resolver) checkNetwork() {
	path, network := r.path.Child("openStack", "floatingNetwork"), r.spec.OpenStack.FloatingNetwork
	switch {
	case network.ID == "" && network.Name == "" && len(network.Tags) == 0:
		r.fail(field.Required(path, "the external network, by id, name or tags"))
	case network.ID != "" && !networkID.MatchString(network.ID):
		r.invalid(path.Child("id"), network.ID, "is not the id of a network: write it as Neutron does, in lower-case letters, digits and hyphens")
	}
}

// checkStock checks the subnet, and the addresses of floating IPs that are there already.
func (r *resolver) checkStock() {
	s, path := r.spec.OpenStack, r.path.Child("openStack")
	switch subnet := s.Subnet; {
	case subnet == nil:
	case subnet.ID == "" && subnet.Name == "":
		r.fail(field.Required(path.Child("subnet"), "a subnet of the external network, by id or name"))
	case subnet.ID != "" && !networkID.MatchString(subnet.ID):
		r.invalid(path.Child("subnet", "id"), subnet.ID, "is not the id of a subnet: write it as Neutron does, in lower-case letters, digits and hyphens")
	}
	for i, text := range s.PreAllocatedFloatingIPs {
		if address, err := netip.ParseAddr(text); err != nil || !address.Is4() {
			r.invalid(path.Child("preAllocatedFloatingIPs").Index(i), text, "is not an IPv4 address")
		}
	}
}
