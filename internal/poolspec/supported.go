// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package poolspec

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// NotSupported is what a field is refused with whose behaviour does not exist
// yet.
const NotSupported = "not supported yet"

// checkSupported refuses fields whose behaviour does not exist yet, unless
// they say what happens anyway.
func (r *resolver) checkSupported() {
	r.forbid(r.path, NotSupported, []use{
		{"delegateTo", r.spec.DelegateTo != ""},
		{"expansion", r.spec.Expansion != nil},
	})
}

// use reports whether a spec uses a field.
type use struct {
	field string
	used  bool
}

// forbid refuses the fields under path that the spec uses.
func (r *resolver) forbid(path *field.Path, reason string, uses []use) {
	for _, u := range uses {
		if u.used {
			r.fail(field.Forbidden(path.Child(u.field), reason))
		}
	}
}

func (r *resolver) allocatesReserved() bool {
	a := r.spec.Allocation
	return a != nil && a.ReservedAddresses == ipamv1.ReservedAddressesAllocate
}

// reservedSpaces begin the names of address spaces that Weir makes itself.
var reservedSpaces = []string{"metal3/", openStackSpaces}

func (r *resolver) checkSpace() {
	for _, prefix := range reservedSpaces {
		if strings.HasPrefix(r.spec.AddressSpace, prefix) {
			r.invalid(r.path.Child("addressSpace"), r.spec.AddressSpace, "names beginning with %q are reserved", prefix)
		}
	}
}

// checkClusterName: a Cluster is namespaced, so a cluster-scoped pool cannot
// name one.
func (r *resolver) checkClusterName() {
	if r.pool.Namespace == "" && r.spec.ClusterName != "" {
		r.fail(field.Forbidden(r.path.Child("clusterName"), "a GlobalIPPool has no namespace to look up a Cluster in"))
	}
}
