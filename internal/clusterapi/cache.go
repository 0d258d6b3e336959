// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterapi

import (
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	toolscache "k8s.io/client-go/tools/cache"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/cache"
)

// readDomains are those of the labels and annotations that Weir reads on Cluster API's claims and addresses. Metal3's annotation ipAddress has
// no domain.
var readDomains = []string{"ipAddress", "ipam.weir.dev", "cluster.x-k8s.io", "clusterctl.cluster.x-k8s.io"}

// Transform keeps in the cache what Weir reads: of IPAddressClaims and IPAddresses no labels and annotations of others, and of those of
// pools that Weir does not serve only what says that they are there, whose, and which address they name. It is for all kinds: naming one in the cache's options would
// need its CRD when the manager starts.
//
// So what comes out of the cache is less than what is stored. Its lists, spec and status are whole; maps are not, and must be written
// key by key.
func Transform(serves Serves) toolscache.TransformFunc {
	return func(obj any) (any, error) { return transform(obj, serves) }
}

// Serves reports whether pools of a kind are Weir's to serve. Pools of other providers may be of the same API group.
type Serves func(pool schema.GroupKind) bool

func transform(obj any, serves Serves) (any, error) {
	switch o := obj.(type) {
	case *ipamv1beta2.IPAddressClaim:
		if !serves(poolName(o.Spec.PoolRef).GroupKind) {
			*o = ipamv1beta2.IPAddressClaim{ObjectMeta: stub(o), Spec: ipamv1beta2.IPAddressClaimSpec{PoolRef: o.Spec.PoolRef}}
		}
		trim(&o.ObjectMeta)
	case *ipamv1beta2.IPAddress:
		if !serves(poolName(o.Spec.PoolRef).GroupKind) {
			*o = ipamv1beta2.IPAddress{ObjectMeta: stub(o), Spec: ipamv1beta2.IPAddressSpec{
				PoolRef: o.Spec.PoolRef, Address: o.Spec.Address, Prefix: o.Spec.Prefix,
			}}
		}
		trim(&o.ObjectMeta)
	}
	return cache.TransformStripManagedFields()(obj)
}

// stub is what is kept of the metadata of another provider's object.
func stub(obj metav1.Object) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: obj.GetNamespace(), Name: obj.GetName(), UID: obj.GetUID(), ResourceVersion: obj.GetResourceVersion(),
		DeletionTimestamp: obj.GetDeletionTimestamp(),
	}
}

// trim drops the labels and annotations that Weir does not read.
func trim(meta *metav1.ObjectMeta) {
	isUnread := func(key, _ string) bool {
		domain, _, _ := strings.Cut(key, "/")
		return !slices.Contains(readDomains, domain)
	}
	maps.DeleteFunc(meta.Labels, isUnread)
	maps.DeleteFunc(meta.Annotations, isUnread)
}
