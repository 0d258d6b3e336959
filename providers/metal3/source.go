// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3

import (
	m3v1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/metal3/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/clusterapi"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/door"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/entitlement"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
)

// ClusterAPI is how Metal3 keeps IPAddressClaims that name one of its pools, and their IPAddresses.
var ClusterAPI = clusterapi.Ways{
	Conventions: door.Conventions{
		ClaimFinalizer: m3v1.ClusterAPIClaimFinalizer, AnswerFinalizer: m3v1.ClusterAPIAddressFinalizer, IsShared: true,
	},
	AddressAnnotation: m3v1.AddressAnnotation, PassesLabels: true,
}

// Source offers Metal3's pools to the claims of their namespace, which name them in this field.
func Source(registry *pools.Registry, field string) *entitlement.Source {
	return &entitlement.Source{Registry: registry, Kinds: []pools.Kind{IPPools}, Field: field}
}
