// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package incluster

import (
	"cmp"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/controller-runtime/pkg/client"

	icv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/incluster/v1alpha2"
	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/kinds"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/poolspec"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
)

// Kinds of the in-cluster provider's pools.
var (
	PoolKind       = schema.GroupKind{Group: icv1.GroupVersion.Group, Kind: icv1.InClusterIPPoolKind}
	GlobalPoolKind = schema.GroupKind{Group: icv1.GroupVersion.Group, Kind: icv1.GlobalInClusterIPPoolKind}
)

// object is a pool of either kind.
type object interface {
	pools.Object
	PoolSpec() *icv1.InClusterIPPoolSpec
	PoolStatus() *icv1.InClusterIPPoolStatus
}

// Pools are the in-cluster provider's pools of a namespace, and GlobalPools those of the whole cluster.
var (
	Pools = pools.Kind{
		GroupKind: PoolKind, Version: icv1.GroupVersion.Version, Finalizer: icv1.PoolFinalizer,
		New:     func() pools.Object { return &icv1.InClusterIPPool{} },
		NewList: func() client.ObjectList { return &icv1.InClusterIPPoolList{} },
		Is:      pools.Is[*icv1.InClusterIPPool],
		Says:    func(p pools.Object) poolspec.Pool { return says(p, PoolKind, ipamv1.ConsumerVisibility) },
		Resolve: resolve, Status: status, Show: show, Doubts: doubts, AddressField: "addresses", KeepsInUse: true,
		ReportsOverlaps: true, SpaceAnnotation: icv1.AddressSpaceAnnotation,
	}
	GlobalPools = pools.Kind{
		GroupKind: GlobalPoolKind, Version: icv1.GroupVersion.Version, ClusterScoped: true, HasHome: true, Finalizer: icv1.PoolFinalizer,
		New:     func() pools.Object { return &icv1.GlobalInClusterIPPool{} },
		NewList: func() client.ObjectList { return &icv1.GlobalInClusterIPPoolList{} },
		Is:      pools.Is[*icv1.GlobalInClusterIPPool],
		Says:    func(p pools.Object) poolspec.Pool { return says(p, GlobalPoolKind, ipamv1.SharedVisibility) },
		Resolve: resolve, Status: status, Show: show, Doubts: doubts, AddressField: "addresses", KeepsInUse: true,
		ReportsOverlaps: true, SpaceAnnotation: icv1.AddressSpaceAnnotation,
	}
)

func specOf(p pools.Object) *icv1.InClusterIPPoolSpec {
	own, _ := p.(object) // by New
	return own.PoolSpec()
}

func status(p pools.Object) any {
	own, _ := p.(object) // by New
	return *own.PoolStatus()
}

// says returns what a pool says of itself.
func says(p pools.Object, kind schema.GroupKind, visibility ipamv1.PoolVisibility) poolspec.Pool {
	return pools.WithParent(poolspec.Pool{
		Ref: kinds.Pool(kind, p.GetNamespace(), p.GetName()), Space: space(p), Visibility: visibility,
		Cooldown: time.Duration(specOf(p).AddressReuseGracePeriodSeconds) * time.Second,
	}, annotations, p, func() *pooltree.Pool { return shapeOf(p) })
}

// annotations are those by which a pool names its address space and its parent.
var annotations = poolspec.Annotations{Space: icv1.AddressSpaceAnnotation, Parent: icv1.ParentAnnotation}

// shapeOf returns the shape of a pool; nil where its spec cannot be served.
func shapeOf(p pools.Object) *pooltree.Pool {
	shape, errs := Read(specOf(p))
	if len(errs) > 0 {
		return nil
	}
	return pooltree.New(shape.Config)
}

// space returns the address space of a pool that is carved from none: the one that its annotation names, or one of its own, for equal ranges in many
// pools are everyday. That has a slash in it, as no space that users name can have.
func space(p client.Object) string {
	own := "in-cluster/" + p.GetName()
	if p.GetNamespace() != "" {
		own = "in-cluster/" + p.GetNamespace() + "/" + p.GetName()
	}
	return cmp.Or(p.GetAnnotations()[icv1.AddressSpaceAnnotation], own)
}

// resolve returns the shape of a pool, which has nothing from its parent but addresses, or every mistake in its spec and its annotations.
func resolve(p pools.Object, _ *pooltree.Pool) (*pooltree.Pool, field.ErrorList) {
	shape, errs := Read(specOf(p))
	if errs = append(errs, annotations.Check(p.GetAnnotations())...); len(errs) > 0 {
		return nil, errs
	}
	return pooltree.New(shape.Config), nil
}

func doubts(p pools.Object) []string {
	shape, errs := Read(specOf(p))
	if len(errs) > 0 {
		return nil
	}
	return shape.Warnings
}
