// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package doors lists the front doors that Weir has. The manager opens them, and who explains its decisions asks through them.
package doors

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/clusterapi"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/door"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/entitlement"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/kinds"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/providers/incluster"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/providers/metal3"
)

// Door is a front door: kinds of pools and claims of others, which may be installed later than Weir.
type Door struct {
	Name string
	// After is the door that must be open before, because its claims may name the pools of this one: what they have is recorded before
	// anything of those is handed out. "" for none.
	After string
	// AddToScheme adds the door's types; nil if the scheme has them.
	AddToScheme func(*runtime.Scheme) error
	// Kinds must be served before the door opens.
	Kinds []schema.GroupVersionKind
	// Pools are its kinds of pools, Forms its forms of claims, by the name of their controller.
	Pools map[string]pools.Kind
	Forms map[string]door.Form
	// Source says what its claims may ask of which pool; nil where it has none.
	Source func(*pools.Registry) door.Source
	// Follows is what the controllers of pools are told of its claims where they follow Clusters; nil for nothing. Those of pools that were there
	// before it are not.
	Follows func(client.Reader, door.Source) pools.Door
}

// clusterAPIDoor is the name of the front door of IPAddressClaims.
const clusterAPIDoor = "Cluster API"

// Usual are the doors without any feature gate.
func Usual() []Door {
	return []Door{clusterAPI(clusterapi.Form{}, func(registry *pools.Registry) door.Source { return incluster.Source(registry) })}
}

// WithMetal3 are the doors with the feature gate Metal3.
func WithMetal3() []Door {
	form := clusterapi.Form{Others: map[string]clusterapi.Ways{metal3.PoolKind.Group: metal3.ClusterAPI}}
	return []Door{
		clusterAPI(form, func(registry *pools.Registry) door.Source {
			return entitlement.Sources{incluster.Source(registry), metal3.Source(registry, "spec.poolRef")}
		}),
		metal3Door(),
	}
}

// clusterAPI is the front door of IPAddressClaims. With it controllers begin to follow Clusters.
func clusterAPI(form clusterapi.Form, source func(*pools.Registry) door.Source) Door {
	return Door{
		Name:   clusterAPIDoor,
		Kinds:  []schema.GroupVersionKind{clusterv1.GroupVersion.WithKind(kinds.Cluster.Kind), form.Kinds().Claim, form.Kinds().Answer},
		Forms:  map[string]door.Form{"ipaddressclaim": form},
		Source: source,
		Follows: func(c client.Reader, source door.Source) pools.Door {
			return &clusterapi.Door{Client: c, Source: source}
		},
	}
}

// metal3Door is the front door of ipam.metal3.io.
func metal3Door() Door {
	form := metal3.Form{}
	return Door{
		Name: "Metal3", After: clusterAPIDoor,
		Kinds: []schema.GroupVersionKind{
			clusterv1.GroupVersion.WithKind(kinds.Cluster.Kind), metal3.PoolKind.WithVersion(metal3.IPPools.Version), form.Kinds().Claim, form.Kinds().Answer,
		},
		Pools:  map[string]pools.Kind{"metal3-ippool": metal3.IPPools},
		Forms:  map[string]door.Form{"metal3-ipclaim": form},
		Source: func(registry *pools.Registry) door.Source { return metal3.Source(registry, "spec.pool") },
		Follows: func(c client.Reader, _ door.Source) pools.Door {
			return &metal3.Door{Client: c}
		},
	}
}
