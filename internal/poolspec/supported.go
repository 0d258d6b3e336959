// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package poolspec

import (
	"maps"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/excerpt"
)

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

// checkExpansion: further pools are carved for the member of a delegated pool. Each is another subnet.
func (r *resolver) checkExpansion() {
	e, path := r.spec.Expansion, r.path.Child("expansion")
	if e == nil {
		return
	}
	network := r.spec.Network
	switch {
	case r.spec.DelegateTo == "":
		r.fail(field.Forbidden(path, "only a pool with delegateTo is expanded: a root grows by its addresses"))
	case network != nil && network.Gateway != "":
		r.fail(field.Forbidden(path, "a further pool is another subnet, so it cannot have the gateway of spec.network"))
	case len(r.spec.Subnets) > 0:
		r.fail(field.Forbidden(path, "a further pool has none of the addresses of spec.subnets"))
	}
	if len(r.entries) > 0 {
		r.readLength(path.Child("prefixLength"), &e.PrefixLength, 0, int32(r.entries[0].addrs.From().BitLen())) //nolint:gosec // at most 128
	}
	r.checkExpansionLabels(path.Child("labels"), e.Labels)
}

// ownedLabels are the domains whose labels say who manages an object: Weir, and what copies pools. A
// further pool that had them would be taken for another one, or be deleted as one that is not in Git.
var ownedLabels = []string{"ipam.weir.dev", "karmada.io", "argoproj.io", "fluxcd.io", "app.kubernetes.io"}

// checkExpansionLabels wants labels that can be set, and are for users.
func (r *resolver) checkExpansionLabels(path *field.Path, labels map[string]string) {
	for _, key := range slices.Sorted(maps.Keys(labels)) {
		domain, _, hasDomain := strings.Cut(key, "/")
		problems := append(validation.IsQualifiedName(key), validation.IsValidLabelValue(labels[key])...)
		isOwned := func(owned string) bool { return hasDomain && (domain == owned || strings.HasSuffix(domain, "."+owned)) }
		switch i := slices.IndexFunc(ownedLabels, isOwned); {
		case len(problems) > 0:
			r.invalid(path.Key(excerpt.Of(key)), labels[key], "is no label: %s", problems[0])
		case i >= 0:
			r.fail(field.Forbidden(path.Key(key), "labels of "+ownedLabels[i]+" are set by what manages a pool"))
		}
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
