// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
)

// site is a registry, and the API server that it reads.
func site(t *testing.T, objects ...client.Object) *pools.Registry {
	t.Helper()
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{ipamv1.AddToScheme, clusterv1.AddToScheme} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	c := fake.NewClientBuilder().WithScheme(s).WithObjects(objects...).Build()
	return &pools.Registry{
		Client: c, Live: c, Namespace: "weir-system",
		Ledger: ledger.New(ledger.Options{Client: c, Instance: "test", Clock: clock.RealClock{}}),
	}
}

// delegatedPool is a pool that was carved from IPPool root and delegated to edge-a.
func delegatedPool(annotations map[string]string) *ipamv1.IPPool {
	p := &ipamv1.IPPool{ObjectMeta: metav1.ObjectMeta{Namespace: "fleet", Name: "edge", UID: "edge", Generation: 1, Annotations: annotations}}
	p.Spec = ipamv1.IPPoolSpec{
		ParentRef: &ipamv1.ParentReference{Kind: ipamv1.IPPoolKind, Name: "root"}, CIDR: "10.0.1.0/24", DelegateTo: "edge-a", ClusterName: "hubs",
	}
	return p
}
