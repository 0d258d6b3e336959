// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package poolspec_test

import (
	"testing"

	"k8s.io/utils/ptr"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/poolspec"
)

func TestPlaceOfAPool(t *testing.T) {
	t.Parallel()
	const mark = "work.karmada.io/namespace"
	for name, test := range map[string]struct {
		delegateTo, cluster string
		annotations         map[string]string
		want                poolspec.Place
	}{
		"not delegated, at a hub":              {want: poolspec.Local},
		"not delegated, at a member":           {cluster: "edge-a", want: poolspec.Local},
		"not delegated, copied":                {cluster: "edge-a", annotations: map[string]string{mark: "karmada-es-edge-a"}, want: poolspec.Local},
		"at the hub":                           {delegateTo: "edge-a", want: poolspec.Elsewhere},
		"at a hub with a name":                 {delegateTo: "edge-a", cluster: "hub", want: poolspec.Elsewhere},
		"copied by hand":                       {delegateTo: "edge-a", cluster: "edge-a", want: poolspec.Delegated},
		"copied by Karmada":                    {delegateTo: "edge-a", cluster: "edge-a", annotations: map[string]string{mark: "karmada-es-edge-a"}, want: poolspec.Delegated},
		"to a member that Karmada calls other": {delegateTo: "edge-a", cluster: "edge-a", annotations: map[string]string{mark: "karmada-es-edge-b"}, want: poolspec.Stray},
		"to another member":                    {delegateTo: "edge-a", cluster: "edge-b", annotations: map[string]string{mark: "karmada-es-edge-b"}, want: poolspec.Stray},
		"to a member without a name":           {delegateTo: "edge-a", annotations: map[string]string{mark: "karmada-es-edge-a"}, want: poolspec.Stray},
		"with an empty mark":                   {delegateTo: "edge-a", cluster: "edge-a", annotations: map[string]string{mark: ""}, want: poolspec.Stray},
		"by hand to another member":            {delegateTo: "edge-a", cluster: "edge-b", want: poolspec.Elsewhere},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			parent := ipamv1.PoolReference{Kind: "IPPool", Namespace: "n", Name: "root"}
			carved := poolspec.Pool{DelegateTo: test.delegateTo, Parent: parent, PrefixLength: ptr.To(int32(24)), ClusterName: "prod", Inherits: true}
			got := carved.At(test.cluster, test.annotations)
			if got.Place != test.want {
				t.Errorf("place %d, want %d", got.Place, test.want)
			}
			isFree := got.Place == poolspec.Delegated || got.Place == poolspec.Stray
			if got.IsCarved() == isFree || (got.PrefixLength == nil) != isFree || (got.ClusterName == "") != isFree || got.Inherits == isFree {
				t.Errorf("it says %+v", got)
			}
		})
	}
}
