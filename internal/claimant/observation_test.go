// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claimant

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// TestWhatHasNoKindProvesNothing: it would be noted under no kind, beside everything else of the name that has none.
func TestWhatHasNoKindProvesNothing(t *testing.T) {
	t.Parallel()
	pool := &ipamv1.IPPool{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: "pool p"}}
	w := newWorld(t, pool)
	w.Client = fake.NewClientBuilder().WithScheme(runtime.NewScheme()).Build()
	o := w.Observe(nil)
	if err := o.Get(t.Context(), client.ObjectKeyFromObject(pool), &ipamv1.IPPool{}); err == nil {
		t.Error("it is read")
	}
	if err := o.List(t.Context(), &ipamv1.IPPoolList{}); err == nil {
		t.Error("it is listed")
	}
	if found, looked := o.at(ipamv1.ClaimReference{Namespace: "ns", Name: "p"}); found != nil || looked {
		t.Errorf("shown: %v", found)
	}
}
