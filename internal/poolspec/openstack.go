// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package poolspec

import (
	"cmp"
	"regexp"

	"k8s.io/apimachinery/pkg/util/validation/field"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
)

// openStackSpaces begins the names of address spaces of floating IPs. The id of
// the network follows: all pools of a network are of one space.
const openStackSpaces = "openstack/"

// noBlocks is why a pool of floating IPs is refused a field for good.
const noBlocks = "a pool with openStack has no blocks: Neutron chooses its addresses"

// openStackSpace returns the address space of a pool of floating IPs; "" where
// its network is not known.
func openStackSpace(source *ipamv1.OpenStackSource) string {
	if source.FloatingNetwork.ID == "" {
		return ""
	}
	return openStackSpaces + source.FloatingNetwork.ID
}

// resolveOpenStack returns the shape of a pool of floating IPs, or nil where
// there are mistakes.
func (r *resolver) resolveOpenStack() *pooltree.Pool {
	r.checkBlockless()
	r.checkClusterName()
	r.checkVisibility()
	r.checkNetworkID()
	r.checkOpenStackSupported()
	if len(r.errs) > 0 {
		return nil
	}
	return pooltree.New(pooltree.Config{External: true})
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

// checkNetworkID wants to know the network: pools of one network share their
// address space.
func (r *resolver) checkNetworkID() {
	path, id := r.path.Child("openStack", "floatingNetwork", "id"), r.spec.OpenStack.FloatingNetwork.ID
	switch {
	case id == "":
		r.fail(field.Required(path, "the external network"))
	case !networkID.MatchString(id):
		r.invalid(path, id, "is not the id of a network: write it as Neutron does, in lower-case letters, digits and hyphens")
	}
}

// checkOpenStackSupported refuses what spec.openStack may say and whose
// behaviour does not exist yet.
func (r *resolver) checkOpenStackSupported() {
	s, path := r.spec.OpenStack, r.path.Child("openStack")
	r.forbid(path.Child("identityRef"), NotSupported, []use{
		{"region", s.IdentityRef.Region != ""},
	})
	r.forbid(path.Child("floatingNetwork"), NotSupported, []use{
		{"name", s.FloatingNetwork.Name != ""},
		{"tags", len(s.FloatingNetwork.Tags) > 0},
	})
	r.forbid(path, NotSupported, []use{
		{"subnet", s.Subnet != nil},
		{"preAllocatedFloatingIPs", len(s.PreAllocatedFloatingIPs) > 0},
		{"maxIPs", s.MaxIPs != nil},
		{"reclaimPolicy", cmp.Or(s.ReclaimPolicy, ipamv1.DeleteFloatingIPs) != ipamv1.DeleteFloatingIPs},
		{"tags", len(s.Tags) > 0},
	})
}
