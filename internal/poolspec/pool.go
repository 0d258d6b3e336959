// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package poolspec

import (
	"fmt"
	"strings"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// Pool is what a pool says of itself, whatever its kind; what addresses it has
// its shape says.
type Pool struct {
	Ref ipamv1.PoolReference
	// Project is the value of the pool's project label; "" if it has none.
	Project string
	// Space is the address space; "" for that of its parent.
	Space string
	// Parent is the pool that its blocks are carved from; the zero value for a
	// root.
	Parent ipamv1.PoolReference
	// ParentField is where it names its parent, if it says there all that it
	// wants of it; "" where it has spec.parentRef, spec.cidr and the like.
	ParentField string
	// DelegateTo is the name of the cluster that hands out its addresses; "" for
	// this one. Place is what the pool is here.
	DelegateTo string
	Place      Place
	// External: something outside chooses its addresses, as Neutron chooses
	// floating IPs. It has no blocks.
	External bool
	// Cloud is how an external pool is known in its cloud; the zero value before
	// it is.
	Cloud Cloud
	// Arrived: it was created with blocks that it has had before.
	Arrived bool
	// Inherits: it has its parent's network settings.
	Inherits bool
	// CIDR is the block that it says; "" where it has none yet, or consists of
	// something else. AsksSpace: it names an address space.
	CIDR      string
	AsksSpace bool
	// PrefixLength is the length of the block that it wants; nil if it does not
	// say.
	PrefixLength *int32
	// HasDefaultLength: it says how long what it gives is by default.
	HasDefaultLength bool
	Family           ipamv1.IPFamily
	// NamePrefix is what the names of its answers begin with, where they are
	// named after their addresses.
	NamePrefix string
	// Cooldown is how long what was released is not handed out again.
	Cooldown time.Duration
	// ClusterName is the Cluster that it belongs to; "" for none.
	ClusterName string
	Mode        ipamv1.PoolMode
	// Visibility says who may claim and carve, and NamespaceSelector narrows
	// it; nil if nothing does.
	Visibility        ipamv1.PoolVisibility
	NamespaceSelector *metav1.LabelSelector
}

// IsCarved says whether the pool's block is carved from a parent.
func (p *Pool) IsCarved() bool { return p.Parent.Name != "" }

// Read returns what a pool of one of Weir's kinds says.
func Read(spec *ipamv1.IPPoolSpec, ref ipamv1.PoolReference, labels map[string]string) Pool {
	a := spec.Allocation
	return Pool{
		Ref:               ref,
		Project:           labels[ipamv1.ProjectLabel],
		Space:             Space(spec),
		Parent:            Parent(spec, ref),
		DelegateTo:        spec.DelegateTo,
		External:          spec.OpenStack != nil,
		Inherits:          Inherits(spec),
		CIDR:              spec.CIDR,
		AsksSpace:         spec.AddressSpace != "",
		PrefixLength:      spec.PrefixLength,
		HasDefaultLength:  a != nil && a.DefaultPrefixLength != nil,
		Family:            Family(spec),
		Cooldown:          cooldown(spec),
		ClusterName:       spec.ClusterName,
		Mode:              spec.Mode,
		Visibility:        Visibility(spec, ref),
		NamespaceSelector: spec.NamespaceSelector,
	}
}

// summarized is how many entries of a pool's addresses a summary tells.
const summarized = 3

// Summary tells the first entries of a pool's addresses, and how many follow.
func Summary(spec *ipamv1.IPPoolSpec) string {
	shown := make([]string, 0, summarized)
	for _, entry := range spec.Addresses[:min(len(spec.Addresses), summarized)] {
		shown = append(shown, string(entry))
	}
	text := strings.Join(shown, ", ")
	if more := len(spec.Addresses) - summarized; more > 0 {
		return fmt.Sprintf("%s, %d more", text, more)
	}
	return text
}
