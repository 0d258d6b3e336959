// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	icv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/incluster/v1alpha2"
	m3v1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/metal3/v1alpha1"
	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// fat is the metadata of an object that a tenant has written a megabyte on.
func fat(own string) metav1.ObjectMeta {
	meta := metav1.ObjectMeta{
		Namespace: "team", Name: "a", UID: "u", ResourceVersion: "7",
		Labels:      map[string]string{"cluster.x-k8s.io/cluster-name": "c", "ipam.weir.dev/project": "p"},
		Annotations: map[string]string{"ipam.weir.dev/arrived": "true", "cluster.x-k8s.io/paused": "", "notes": "n"},
	}
	for i := range 4000 {
		meta.Labels[fmt.Sprintf("a.example.com/%04d-%s", i, strings.Repeat("l", 50))] = strings.Repeat("v", 60)
		meta.Annotations[fmt.Sprintf("a.example.com/%04d", i)] = strings.Repeat("v", 50)
		meta.Finalizers = append(meta.Finalizers, fmt.Sprintf("example.com/%04d-%s", i, strings.Repeat("f", 50)))
	}
	meta.Finalizers = append(meta.Finalizers, own, metav1.FinalizerDeleteDependents)
	return meta
}

func TestTheCacheKeepsLittleOfMegabytesOfMetadata(t *testing.T) {
	t.Parallel()
	for _, stored := range []client.Object{
		&ipamv1.IPPool{ObjectMeta: fat(ipamv1.PoolFinalizer)}, &ipamv1.GlobalIPPool{ObjectMeta: fat(ipamv1.PoolFinalizer)},
		&ipamv1.IPClaim{ObjectMeta: fat(ipamv1.ClaimFinalizer)},
		&icv1.InClusterIPPool{ObjectMeta: fat(icv1.PoolFinalizer)}, &icv1.GlobalInClusterIPPool{ObjectMeta: fat(icv1.PoolFinalizer)},
		&m3v1.IPPool{ObjectMeta: fat(m3v1.IPPoolFinalizer)}, &m3v1.IPClaim{ObjectMeta: fat(m3v1.IPClaimFinalizer)},
	} {
		own := stored.GetFinalizers()[4000]
		o := &Options{}
		kept, err := o.cached()(stored)
		if err != nil {
			t.Fatal(err)
		}
		obj, _ := kept.(client.Object)
		text, err := json.Marshal(obj)
		if err != nil || len(text) > 32<<10 {
			t.Errorf("%T: %d bytes, %v", obj, len(text), err)
		}
		if !slices.Contains(obj.GetFinalizers(), own) || !slices.Contains(obj.GetFinalizers(), metav1.FinalizerDeleteDependents) || len(obj.GetFinalizers()) < 10 {
			t.Errorf("%T: finalizers %.200s", obj, obj.GetFinalizers())
		}
		if want := map[string]string{"ipam.weir.dev/arrived": "true", "cluster.x-k8s.io/paused": "", "notes": ""}; !maps.Equal(obj.GetAnnotations(), want) {
			t.Errorf("%T: %d annotations", obj, len(obj.GetAnnotations()))
		}
		if labels := obj.GetLabels(); labels["cluster.x-k8s.io/cluster-name"] != "c" || labels["ipam.weir.dev/project"] != "p" || len(labels) < 50 {
			t.Errorf("%T: %d labels", obj, len(labels))
		}
	}
}

// TestTheCacheKeepsTheLabelsOfAnOrdinaryPool: claims choose pools by any of them.
func TestTheCacheKeepsTheLabelsOfAnOrdinaryPool(t *testing.T) {
	t.Parallel()
	p := &ipamv1.IPPool{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{}, Finalizers: []string{"b", "a"}}}
	for i := range 64 {
		p.Labels[fmt.Sprint("example.com/", i)] = "x"
	}
	want := p.DeepCopy()
	slim(p)
	if !maps.Equal(p.Labels, want.Labels) || !slices.Equal(p.Finalizers, want.Finalizers) || p.Annotations != nil {
		t.Errorf("%d labels, finalizers %s, annotations %v", len(p.Labels), p.Finalizers, p.Annotations)
	}
}
