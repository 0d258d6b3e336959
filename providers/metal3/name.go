// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3

import (
	"cmp"
	"net/netip"
	"strings"

	m3v1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/metal3/v1alpha1"
)

var dashes = strings.NewReplacer(".", "-", ":", "-")

// AddressName returns the name of the IPAddress with this address in a pool with this namePrefix. Two addresses of a family never have the same
// name under one namePrefix. Nothing is said of whether it can be the name of an object: namePrefix may be anything.
func AddressName(namePrefix string, address netip.Addr) string {
	return strings.TrimRight(namePrefix+"-"+dashes.Replace(address.String()), "-")
}

// Space returns the address space of a pool that is carved from none: the one that its annotation names, else one of its own.
func Space(pool *m3v1.IPPool) string {
	return cmp.Or(pool.Annotations[m3v1.AddressSpaceAnnotation], "metal3/"+pool.Namespace+"/"+pool.Name)
}
