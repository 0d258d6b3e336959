// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package doors lists the front doors that Weir has. The manager opens them, and who explains its decisions asks through them.
package doors

import (
	"maps"

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
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/providers/weir"
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

// Extension is what a feature gate adds: the pools of another API, which claims of Cluster API may name, and their door.
type Extension struct {
	door Door
	// ways are how IPAddressClaims that name such pools are kept, and source offers the pools to them.
	ways   map[schema.GroupKind]clusterapi.Ways
	source func(*pools.Registry) *entitlement.Source
}

// Metal3 is what the feature gate Metal3 adds.
func Metal3() Extension {
	return Extension{
		door:   metal3Door(),
		ways:   map[schema.GroupKind]clusterapi.Ways{metal3.PoolKind: metal3.ClusterAPI},
		source: func(registry *pools.Registry) *entitlement.Source { return metal3.Source(registry, "spec.poolRef") },
	}
}

// InCluster is what the feature gate InCluster adds. Its door has pools only: their claims are Cluster API's.
func InCluster() Extension {
	return Extension{
		door: Door{
			Name: "In-cluster", After: clusterAPIDoor,
			Kinds: []schema.GroupVersionKind{
				incluster.PoolKind.WithVersion(incluster.Pools.Version), incluster.GlobalPoolKind.WithVersion(incluster.GlobalPools.Version),
			},
			Pools: map[string]pools.Kind{"inclusterippool": incluster.Pools, "globalinclusterippool": incluster.GlobalPools},
		},
		ways: map[schema.GroupKind]clusterapi.Ways{
			incluster.PoolKind: incluster.ClusterAPI, incluster.GlobalPoolKind: incluster.ClusterAPI,
		},
		source: incluster.Source,
	}
}

// With returns the front doors where these extensions are open: Cluster API's, then theirs.
func With(open ...Extension) []Door {
	form := clusterapi.Form{}
	all := make([]Door, 1, 1+len(open))
	for _, extension := range open {
		if form.Others == nil {
			form.Others = map[schema.GroupKind]clusterapi.Ways{}
		}
		maps.Copy(form.Others, extension.ways)
		all = append(all, extension.door)
	}
	all[0] = clusterAPI(form, func(registry *pools.Registry) door.Source { return sources(registry, open) })
	return all
}

// Serves tells the pools that these extensions and Weir serve from those of other providers.
func Serves(open ...Extension) clusterapi.Serves {
	all := sources(nil, open) // which kinds are served no registry decides
	return func(pool schema.GroupKind) bool { return all.Serves(door.PoolName{GroupKind: pool}) }
}

// sources are what IPAddressClaims may ask of Weir's pools, and of the extensions'.
func sources(registry *pools.Registry, open []Extension) entitlement.Sources {
	all := append(make(entitlement.Sources, 0, 1+len(open)), weir.Source(registry))
	for _, extension := range open {
		all = append(all, extension.source(registry))
	}
	return all
}

// clusterAPI is the front door of IPAddressClaims. With it controllers begin to follow Clusters.
func clusterAPI(form clusterapi.Form, source func(*pools.Registry) door.Source) Door {
	return Door{
		Name:   clusterAPIDoor,
		Kinds:  []schema.GroupVersionKind{clusterv1.GroupVersion.WithKind(kinds.Cluster.Kind), form.Kinds().Claim, form.Kinds().Answer},
		Forms:  map[string]door.Form{"ipaddressclaim": form},
		Source: source,
		Follows: func(c client.Reader, source door.Source) pools.Door {
			return &clusterapi.Door{Client: c, Source: source, Form: form}
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
