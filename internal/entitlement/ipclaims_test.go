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

// TestIPClaimsGetNoFloatingIPs, whatever they ask for and wherever they come from.
func TestIPClaimsGetNoFloatingIPs(t *testing.T) {
	t.Parallel()
	s := runtime.NewScheme()
	if err := ipamv1.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	p := &ipamv1.IPPool{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "p", Labels: map[string]string{"a": "b"}}}
	p.Spec.OpenStack = &ipamv1.OpenStackSource{FloatingNetwork: ipamv1.FloatingNetwork{ID: "0b7c"}}
	c := fake.NewClientBuilder().WithScheme(s).WithObjects(p).Build()
	rules := &tenancy.Rules{Client: c}
	book := ledger.New(ledger.Options{Client: c, Instance: "test", Clock: clock.RealClock{}})
	entitled := &IPClaims{Client: c, Registry: &pools.Registry{Client: c, Ledger: book, Rules: rules}}
	named := &ipamv1.ClaimPoolReference{Kind: ipamv1.IPPoolKind, Name: "p"}
	selector := &ipamv1.PoolSelector{Kind: ipamv1.IPPoolKind, LabelSelector: metav1.LabelSelector{MatchLabels: p.Labels}}
	other := &ipamv1.PoolSelector{Kind: ipamv1.IPPoolKind, LabelSelector: metav1.LabelSelector{MatchLabels: map[string]string{"a": "c"}}}
	const refusal = `IPPool "p" hands out floating IPs, to IPAddressClaims only`
	for sentence, test := range map[string]struct {
		spec        ipamv1.IPClaimSpec
		adopts      bool
		field, want string
	}{
		"any address":       {ipamv1.IPClaimSpec{PoolRef: named}, false, "spec.poolRef.name", refusal},
		"any of a length":   {ipamv1.IPClaimSpec{PoolRef: named, PrefixLength: ptr.To(int32(32))}, false, "spec.poolRef.name", refusal},
		"this very address": {ipamv1.IPClaimSpec{PoolRef: named, CIDR: "203.0.113.7/32"}, false, "spec.poolRef.name", refusal},
		"what it came with": {ipamv1.IPClaimSpec{PoolRef: named, CIDR: "203.0.113.7/32"}, true, "spec.poolRef.name", refusal},
		"one of some pool": {
			ipamv1.IPClaimSpec{PoolSelector: selector}, false, "spec.poolSelector",
			"no IPPool with these labels hands this out; p: spec.poolRef.name: " + refusal,
		},
		"one of no pool": {
			ipamv1.IPClaimSpec{PoolSelector: other}, false, "spec.poolSelector", "no IPPool that this namespace may use has these labels",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			claim := &ipamv1.IPClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "c"}, Spec: test.spec}
			_, err := entitled.Requests(t.Context(), claim)
			if test.adopts {
				_, err = entitled.Adoption(t.Context(), claim)
			}
			var got *claimant.Refusal
			if !errors.As(err, &got) || got.Field != test.field || got.Message != test.want {
				t.Errorf("%+v", err)
			}
		})
	}
}
