// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterapi

import (
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/door"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
)

func TestAnAnswerHasTheLabelsOfItsClaimWhereThePoolPassesThemOn(t *testing.T) {
	t.Parallel()
	form := Form{Others: map[string]Ways{"passes.example": {PassesLabels: true}}}
	labels := map[string]string{"a": "b"}
	for group, want := range map[string]map[string]string{"passes.example": labels, "example": nil} {
		stored := &ipamv1beta2.IPAddressClaim{
			ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c", Labels: labels},
			Spec:       ipamv1beta2.IPAddressClaimSpec{PoolRef: ipamv1beta2.IPPoolReference{APIGroup: group, Kind: "IPPool", Name: "p"}},
		}
		c := &door.Claim{Object: stored, Asks: form.Asks(stored), Stored: stored}
		answer := form.Compose(c, &door.Offer{}, netip.MustParsePrefix("10.0.0.7/32"), pooltree.Network{Bits: 24})
		if diff := cmp.Diff(want, answer.GetLabels(), cmpopts.EquateEmpty()); diff != "" {
			t.Errorf("%s: %s", group, diff)
		}
	}
}
