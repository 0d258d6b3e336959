// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterapi

import (
	"testing"

	"k8s.io/utils/ptr"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
)

func TestWhatIPAddressesOfOtherProvidersName(t *testing.T) {
	t.Parallel()
	inCluster := ipamv1beta2.IPPoolReference{APIGroup: "ipam.cluster.x-k8s.io", Kind: "InClusterIPPool", Name: "p"}
	prefixes := inCluster
	prefixes.Kind = "GlobalInClusterPrefixPool"
	weirs, metal3s := ipamv1beta2.IPPoolReference{APIGroup: "ipam.weir.dev", Kind: "IPPool"}, ipamv1beta2.IPPoolReference{APIGroup: "ipam.metal3.io", Kind: "IPPool"}
	served := inCluster
	served.Kind = "ServedPool"
	versioned := served
	versioned.APIGroup += "/v1alpha2"
	serves := servesKinds(poolName(weirs).GroupKind, poolName(metal3s).GroupKind, poolName(served).GroupKind, poolName(versioned).GroupKind)
	for sentence, test := range map[string]struct {
		spec ipamv1beta2.IPAddressSpec
		want string
	}{
		"an address, whatever its network is": {ipamv1beta2.IPAddressSpec{PoolRef: inCluster, Address: "10.0.0.7", Prefix: ptr.To(int32(24))}, "10.0.0.7/32"},
		"one of IPv6, however it is written":  {ipamv1beta2.IPAddressSpec{PoolRef: inCluster, Address: "2001:DB8:0::7"}, "2001:db8::7/128"},
		"one of IPv4 in IPv6":                 {ipamv1beta2.IPAddressSpec{PoolRef: inCluster, Address: "::ffff:10.0.0.7"}, "10.0.0.7/32"},
		"a prefix, of a pool of those":        {ipamv1beta2.IPAddressSpec{PoolRef: prefixes, Address: "10.0.0.7", Prefix: ptr.To(int32(28))}, "10.0.0.0/28"},
		"no length, of a pool of prefixes":    {ipamv1beta2.IPAddressSpec{PoolRef: prefixes, Address: "10.0.0.7"}, "10.0.0.7/32"},
		"no length of the family":             {ipamv1beta2.IPAddressSpec{PoolRef: prefixes, Address: "10.0.0.7", Prefix: ptr.To(int32(64))}, ""},
		"nothing that is an address":          {ipamv1beta2.IPAddressSpec{PoolRef: inCluster, Address: "10.0.0"}, ""},
		"one of Weir's":                       {ipamv1beta2.IPAddressSpec{PoolRef: weirs, Address: "10.0.0.7"}, ""},
		"one of Metal3's, which Weir serves":  {ipamv1beta2.IPAddressSpec{PoolRef: metal3s, Address: "10.0.0.7"}, ""},
		"one of a served kind of their group": {ipamv1beta2.IPAddressSpec{PoolRef: served, Address: "10.0.0.7"}, ""},
		"one that names that kind's version":  {ipamv1beta2.IPAddressSpec{PoolRef: versioned, Address: "10.0.0.7"}, "10.0.0.7/32"},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			o := &ipamv1beta2.IPAddress{Spec: test.spec}
			o.Namespace, o.Name = "team", "a"
			if _, err := Transform(serves)(o); err != nil {
				t.Fatal(err)
			}
			got, ok := Foreign(o, serves)
			if ok != (test.want != "") || ok && (got.Prefix.String() != test.want || got.Namespace != "team" || got.Name != "a" || got.Pool != test.spec.PoolRef.Kind+" p") {
				t.Errorf("got %v, %t", got, ok)
			}
		})
	}
	if _, ok := Foreign(&ipamv1beta2.IPAddressClaim{}, serves); ok {
		t.Error("a claim names an address")
	}
}
