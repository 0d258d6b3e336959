// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package entitlement

import (
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claimant"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/tenancy"
)

// TestNothingIsCarvedFromFloatingIPs, however a pool asks for it: there is no block to carve from.
func TestNothingIsCarvedFromFloatingIPs(t *testing.T) {
	t.Parallel()
	s := runtime.NewScheme()
	if err := ipamv1.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	parent := &ipamv1.IPPool{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "parent"}}
	parent.Spec.OpenStack = &ipamv1.OpenStackSource{FloatingNetwork: ipamv1.FloatingNetwork{ID: "0b7c"}}
	c := fake.NewClientBuilder().WithScheme(s).WithObjects(parent).Build()
	r := Children{Registry: &pools.Registry{
		Client: c, Rules: &tenancy.Rules{Client: c},
		Ledger: ledger.New(ledger.Options{Client: c, Instance: "test", Clock: clock.RealClock{}}),
	}}
	for sentence, test := range map[string]struct {
		arrived bool
		spec    ipamv1.IPPoolSpec
	}{
		"any block":            {spec: ipamv1.IPPoolSpec{PrefixLength: ptr.To(int32(28))}},
		"an address":           {spec: ipamv1.IPPoolSpec{PrefixLength: ptr.To(int32(32))}},
		"this very block":      {spec: ipamv1.IPPoolSpec{CIDR: "203.0.113.0/28"}},
		"what it had before":   {spec: ipamv1.IPPoolSpec{CIDR: "203.0.113.0/28"}, arrived: true},
		"what it does not say": {},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			child := &ipamv1.IPPool{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "child"}, Spec: test.spec}
			child.Spec.ParentRef = &ipamv1.ParentReference{Kind: ipamv1.IPPoolKind, Name: "parent"}
			if test.arrived {
				child.Annotations = map[string]string{ipamv1.ArrivedAnnotation: "true"}
			}
			_, _, err := r.Carving(t.Context(), child)
			var refusal *claimant.Refusal
			const want = `IPPool "parent" hands out floating IPs: it has no block to carve from`
			if !errors.As(err, &refusal) || refusal.Field != "spec.parentRef.name" || refusal.Cause != claimant.Invalid || refusal.Message != want {
				t.Errorf("%+v", err)
			}
		})
	}
}
