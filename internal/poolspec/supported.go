// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package poolspec

import (
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
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
		{"expansion", r.spec.Expansion != nil},
	})
}

// checkDelegation: a delegated pool is a block of a parent, and the name of the
// cluster is a label's value.
func (r *resolver) checkDelegation() {
	path, cluster := r.path.Child("delegateTo"), r.spec.DelegateTo
	switch problems := validation.IsValidLabelValue(cluster); {
	case cluster == "":
	case r.spec.ParentRef == nil:
		r.fail(field.Forbidden(path, "a delegated pool is carved from another: a root that is to be used in another cluster is made there"))
	case len(problems) > 0:
		r.invalid(path, cluster, "cannot be the value of a label: %s", problems[0])
	}
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
