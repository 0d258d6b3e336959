// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package capm3 has what is known of Cluster API provider Metal3's templates. It is data, for who must not import
// controllers.
package capm3

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	m3v1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/metal3/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/demand"
)

const group = "infrastructure.cluster.x-k8s.io"

// Form is how a Metal3DataTemplate names pools. A host has one claim of each, however often it is named.
var Form = demand.Form{
	Machine: schema.GroupKind{Group: group, Kind: "Metal3MachineTemplate"},
	Link:    []string{"spec", "template", "spec", "dataTemplate", "name"},
	Data:    schema.GroupKind{Group: group, Kind: "Metal3DataTemplate"},
	Names: []string{
		// metaData
		"ipAddressesFromIPPool", "prefixesFromIPPool", "gatewaysFromIPPool", "dnsServersFromIPPool",
		// networkData.networks.*[]
		"ipAddressFromIPPool", "fromPoolRef",
		// networkData.networks.*[].routes[].gateway
		"fromIPPool",
		// networkData.services and routes[].services
		"dnsFromIPPool",
	},
	Pool:    schema.GroupKind{Group: m3v1.GroupVersion.Group, Kind: m3v1.IPPoolKind},
	First:   map[string]string{"ipAddressFromIPPool": "fromPoolRef"},
	Unknown: []string{"fromPoolAnnotation"},
}
