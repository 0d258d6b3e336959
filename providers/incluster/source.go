// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package incluster

import (
	icv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/incluster/v1alpha2"
	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/clusterapi"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/door"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/entitlement"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
)

// ClusterAPI is how the in-cluster provider keeps IPAddressClaims that name one of its pools, and their IPAddresses.
var ClusterAPI = clusterapi.Ways{
	Conventions: door.Conventions{
		ClaimFinalizer: icv1.ClaimFinalizer, AnswerFinalizer: icv1.AddressFinalizer, IsShared: true, Controls: true,
	},
	AddressAnnotation: ipamv1.AddressAnnotation,
}

// Source offers the pools of both kinds. Other kinds of their group are other providers'.
func Source(registry *pools.Registry) *entitlement.Source {
	return &entitlement.Source{Registry: registry, Kinds: []pools.Kind{Pools, GlobalPools}, Closed: true, Field: "spec.poolRef"}
}
