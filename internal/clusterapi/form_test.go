// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterapi

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/door"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
)

// TestOfAClaimThatNamesAVersionBesideTheGroup the conventions are those of the group: whoever
// serves its pools later can let it go.
func TestOfAClaimThatNamesAVersionBesideTheGroup(t *testing.T) {
	t.Parallel()
	form := Form{Others: map[schema.GroupKind]Ways{{Group: "example", Kind: "Pool"}: {Conventions: door.Conventions{ClaimFinalizer: "example/its"}}}}
	for group, want := range map[string]string{"example": "example/its", "example/v1": "example/its", "other/v1": ipamv1.ClaimFinalizer} {
		name := door.PoolName{GroupKind: schema.GroupKind{Group: group, Kind: "Pool"}, Name: "p"}
		if got := form.Conventions(name).ClaimFinalizer; got != want {
			t.Errorf("%s: %s", group, got)
		}
	}
}

func TestAnAnswerHasTheLabelsOfItsClaimWhereThePoolPassesThemOn(t *testing.T) {
	t.Parallel()
	form := Form{Others: map[schema.GroupKind]Ways{{Group: "example", Kind: "Passing"}: {PassesLabels: true}}}
	labels := map[string]string{"a": "b"}
	for kind, want := range map[string]map[string]string{"Passing": labels, "IPPool": nil} {
		stored := &ipamv1beta2.IPAddressClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c", Labels: labels},
			Spec:       ipamv1beta2.IPAddressClaimSpec{PoolRef: ipamv1beta2.IPPoolReference{APIGroup: "example", Kind: kind, Name: "p"}},
		}
		c := &door.Claim{Object: stored, Asks: form.Asks(stored), Stored: stored}
		answer := form.Compose(c, &door.Offer{}, netip.MustParsePrefix("10.0.0.7/32"), pooltree.Network{Bits: 24})
		if diff := cmp.Diff(want, answer.GetLabels(), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: %s", kind, diff)
		}
	}
}
