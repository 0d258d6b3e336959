// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"cmp"
	"maps"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	toolscache "k8s.io/client-go/tools/cache"

	icv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/incluster/v1alpha2"
	m3v1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/metal3/v1alpha1"
	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/clusterapi"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/federation"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/finalizer"
)

// maxLabels is how many bytes of an object's labels the cache keeps. Pools are chosen by theirs, and Metal3's claims pass theirs on.
const maxLabels = 16 << 10

// readDomains are those of the annotations that Weir reads on pools and claims. Metal3's annotation ipAddress has no domain.
var readDomains = []string{
	"ipAddress", "ipam.weir.dev", "cluster.x-k8s.io", "clusterctl.cluster.x-k8s.io", "resourcetemplate.karmada.io", "work.karmada.io",
}

// finalizers are those that the cache keeps, however many an object has.
var finalizers = []string{
	ipamv1.PoolFinalizer, ipamv1.ClaimFinalizer, m3v1.IPPoolFinalizer, m3v1.IPClaimFinalizer, m3v1.ClusterAPIClaimFinalizer,
	icv1.PoolFinalizer,
}

// cached is what is done to every object before the cache keeps it: of what tenants may write as much of as etcd stores, only what Weir reads
// stays in memory.
func (o *Options) cached() toolscache.TransformFunc {
	next := federation.Transform(clusterapi.Transform(o.serves()))
	return func(obj any) (any, error) {
		slim(obj)
		return next(obj)
	}
}

// slim drops what nobody reads of the metadata of pools and claims. What is left of a map is at least one key of it: written back, an empty
// one would take all keys off.
func slim(obj any) {
	switch o := obj.(type) {
	case *ipamv1.IPPool:
		slimMeta(&o.ObjectMeta)
	case *ipamv1.GlobalIPPool:
		slimMeta(&o.ObjectMeta)
	case *ipamv1.IPClaim:
		slimMeta(&o.ObjectMeta)
	case *m3v1.IPPool:
		slimMeta(&o.ObjectMeta)
	case *icv1.InClusterIPPool:
		slimMeta(&o.ObjectMeta)
	case *icv1.GlobalInClusterIPPool:
		slimMeta(&o.ObjectMeta)
	case *m3v1.IPClaim:
		slimMeta(&o.ObjectMeta)
	}
}

func slimMeta(meta *metav1.ObjectMeta) {
	meta.Finalizers = finalizer.Known(meta.Finalizers, finalizers)
	slimLabels(meta.Labels)
	slimAnnotations(meta.Annotations)
}

// slimLabels keeps the labels of the domains that Weir reads, then others in the order of their keys.
func slimLabels(labels map[string]string) {
	size := 0
	for key, value := range labels {
		size += len(key) + len(value)
	}
	if size <= maxLabels {
		return
	}
	size = 0
	for _, key := range slices.SortedFunc(maps.Keys(labels), func(a, b string) int {
		return cmp.Or(cmp.Compare(rank(a), rank(b)), strings.Compare(a, b))
	}) {
		if size += len(key) + len(labels[key]); size > maxLabels {
			delete(labels, key)
		}
	}
}

// rank has what Weir reads come first.
func rank(key string) int {
	if isRead(key) {
		return 0
	}
	return 1
}

func isRead(key string) bool {
	domain, _, _ := strings.Cut(key, "/")
	return slices.Contains(readDomains, domain)
}

// slimAnnotations keeps the annotations of the domains that Weir reads, and of the others one key without its value.
func slimAnnotations(annotations map[string]string) {
	other, hasOthers := "", false
	for key := range annotations {
		if isRead(key) {
			continue
		}
		if !hasOthers || len(key) < len(other) || len(key) == len(other) && key < other {
			other, hasOthers = key, true
		}
		delete(annotations, key)
	}
	if hasOthers {
		annotations[other] = ""
	}
}
