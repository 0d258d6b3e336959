// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package finalizer

import (
	"fmt"
	"slices"
	"testing"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// others are finalizers that somebody else has put on a claim.
func others(n int) []string {
	names := make([]string, 0, n)
	for i := range n {
		names = append(names, fmt.Sprint("example.com/", i))
	}
	return names
}

// stored returns a client that has a claim with these finalizers, and the claim as the cache has it.
func stored(t *testing.T, finalizers []string) (client.Client, *ipamv1.IPClaim) {
	t.Helper()
	scheme := runtime.NewScheme()
	if err := ipamv1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	claim := &ipamv1.IPClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a", UID: "1", Finalizers: finalizers}}
	c := fake.NewClientBuilder().WithScheme(scheme).WithObjects(claim).Build()
	cached := get(t, c)
	cached.Finalizers = Known(cached.Finalizers, []string{ipamv1.ClaimFinalizer})
	return c, cached
}

func get(t *testing.T, c client.Client) *ipamv1.IPClaim {
	t.Helper()
	claim := &ipamv1.IPClaim{}
	if err := c.Get(t.Context(), client.ObjectKey{Namespace: "ns", Name: "a"}, claim); err != nil {
		t.Fatal(err)
	}
	return claim
}

func TestFinalizersThatTheCacheHasNotStay(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 5, kept - 1, kept, kept + 1, 500} {
		c, cached := stored(t, others(n))
		if added, err := Ensure(t.Context(), c, cached, ipamv1.ClaimFinalizer); !added || err != nil {
			t.Errorf("%d others: added %t, %v", n, added, err)
		}
		if got, want := get(t, c).Finalizers, append(others(n), ipamv1.ClaimFinalizer); !slices.Equal(got, want) {
			t.Errorf("%d others: %d finalizers after one more", n, len(got))
		}
		c, cached = stored(t, append(others(n), ipamv1.ClaimFinalizer))
		if err := Remove(t.Context(), c, cached, ipamv1.ClaimFinalizer); err != nil {
			t.Errorf("%d others: %v", n, err)
		}
		if got := get(t, c).Finalizers; !slices.Equal(got, others(n)) {
			t.Errorf("%d others: %d finalizers after one less", n, len(got))
		}
	}
}

func TestAFinalizerIsNotAddedToWhatHasChanged(t *testing.T) {
	t.Parallel()
	for _, n := range []int{0, 500} {
		c, cached := stored(t, others(n))
		changed := get(t, c)
		changed.Labels = map[string]string{"a": "b"}
		if err := c.Update(t.Context(), changed); err != nil {
			t.Fatal(err)
		}
		if _, err := Ensure(t.Context(), c, cached, ipamv1.ClaimFinalizer); !apierrors.IsConflict(err) {
			t.Errorf("%d others: %v", n, err)
		}
	}
}
