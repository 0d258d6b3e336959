// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/cluster-api/util"
	"sigs.k8s.io/controller-runtime/pkg/client"

	m3v1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/metal3/v1alpha1"
	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/kinds"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/poolspec"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/preflight"
)

// provider is the value of Cluster API's provider label on the pools of Clusters.
const provider = "ipam-metal3"

// PoolKind is the kind of Metal3's pools.
var PoolKind = schema.GroupKind{Group: m3v1.GroupVersion.Group, Kind: "IPPool"}

// IPPools are Metal3's pools.
var IPPools = pools.Kind{
	GroupKind: PoolKind, Version: m3v1.GroupVersion.Version, Finalizer: m3v1.IPPoolFinalizer,
	New:     func() pools.Object { return &m3v1.IPPool{} },
	NewList: func() client.ObjectList { return &m3v1.IPPoolList{} },
	Is:      pools.Is[*m3v1.IPPool],
	Says:    says, Resolve: resolve, Join: join, Moves: preflight.Moves,
	Status:  func(p pools.Object) any { return asPool(p).Status },
	Show:    show,
	Doubts:  func(p pools.Object) []string { return doubts(asPool(p)) },
	Refused: func(p pools.Object) field.ErrorList { return refused(asPool(p)) }, AddressField: "pools",
	Stamp: func(p pools.Object, now time.Time) { asPool(p).Status.LastUpdated = ptr.To(metav1.NewTime(now)) },
}

func asPool(p pools.Object) *m3v1.IPPool {
	own, _ := p.(*m3v1.IPPool) // by New
	return own
}

// says returns what a pool says of itself. Nothing that Metal3 releases cools down, and a pool is for the claims of its namespace.
func says(p pools.Object) poolspec.Pool {
	own := asPool(p)
	return pools.WithParent(poolspec.Pool{
		Ref: kinds.Pool(PoolKind, own.Namespace, own.Name), Space: Space(own), NamePrefix: own.Spec.NamePrefix,
		ClusterName: ptr.Deref(own.Spec.ClusterName, ""), Visibility: ipamv1.ConsumerVisibility,
	}, annotations, p, func() *pooltree.Pool { return shapeOf(own) })
}

// annotations are those by which a pool names its address space and its parent.
var annotations = poolspec.Annotations{Space: m3v1.AddressSpaceAnnotation, Parent: m3v1.ParentAnnotation}

// shapeOf returns the shape of a pool; nil where its spec cannot be served.
func shapeOf(p *m3v1.IPPool) *pooltree.Pool {
	shape, errs := Read(&p.Spec, p.Namespace)
	if len(errs) > 0 {
		return nil
	}
	return pooltree.New(shape.Config)
}

// resolve returns the shape of a pool, which has nothing from its parent but addresses, or every mistake in its spec and its annotations.
func resolve(p pools.Object, _ *pooltree.Pool) (*pooltree.Pool, field.ErrorList) {
	own := asPool(p)
	shape, errs := Read(&own.Spec, own.Namespace)
	if errs = slices.Concat(errs, annotations.Check(own.Annotations), checkEnds(own)); len(errs) > 0 {
		return nil, errs
	}
	return pooltree.New(shape.Config), nil
}

// checkEnds refuses ranges of a pool with a parent whose end nobody has said.
func checkEnds(p *m3v1.IPPool) (errs field.ErrorList) {
	if _, isCarved := p.Annotations[m3v1.ParentAnnotation]; !isCarved {
		return nil
	}
	for i := range p.Spec.Pools {
		if isOpen(p.Spec.Pools[i]) {
			errs = append(errs, field.Required(field.NewPath("spec", "pools").Index(i).Child("end"),
				"a pool with a parent takes no more than it says: set end or subnet"))
		}
	}
	return errs
}

// doubts are what of a pool is served but probably not meant.
func doubts(p *m3v1.IPPool) []string {
	shape, errs := Read(&p.Spec, p.Namespace)
	if len(errs) > 0 {
		return nil
	}
	return shape.Warnings
}

// refused is what Metal3 does not admit.
func refused(p *m3v1.IPPool) field.ErrorList {
	shape, errs := Read(&p.Spec, p.Namespace)
	if len(errs) > 0 {
		return nil
	}
	return shape.Refused
}

// join labels a pool, and has its Cluster own it without control, as Metal3 does. A reference to that very Cluster stays as it is, one
// to an earlier Cluster of the name does not.
func join(p pools.Object, cluster *clusterv1.Cluster) {
	p.GetLabels()[clusterv1.ProviderNameLabel] = provider
	if slices.ContainsFunc(p.GetOwnerReferences(), func(o metav1.OwnerReference) bool { return o.UID == cluster.UID }) {
		return
	}
	p.SetOwnerReferences(util.EnsureOwnerRef(p.GetOwnerReferences(), metav1.OwnerReference{
		APIVersion: clusterv1.GroupVersion.String(), Kind: kinds.Cluster.Kind, Name: cluster.Name, UID: cluster.UID,
	}))
}
