// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package incluster

import (
	"net/netip"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	icv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/incluster/v1alpha2"
	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
)

// TestParent: a pool that names a parent has the parent's space, and keeps what it came with: all that its spec says, as it came.
func TestParent(t *testing.T) {
	t.Parallel()
	all := pools.GrantOf([]netip.Prefix{netip.MustParsePrefix("192.0.2.16/30"), netip.MustParsePrefix("192.0.2.20/32")})
	part := pools.GrantOf([]netip.Prefix{netip.MustParsePrefix("192.0.2.16/30")})
	for sentence, test := range map[string]struct {
		parent, arrived, granted string
		generation               int64
		space                    string // "" for the parent's
		hasArrived, isInvalid    bool
	}{
		"without one":                  {arrived: "true", granted: all, generation: 1, space: "in-cluster/team/p"},
		"with one":                     {parent: "GlobalIPPool/hosts", granted: all, generation: 1},
		"of a kind that there is not":  {parent: "IPPool/hosts", arrived: "true", granted: all, generation: 1, space: "in-cluster/team/p", isInvalid: true},
		"with one, as it came":         {parent: "GlobalIPPool/hosts", arrived: "true", granted: all, generation: 1, hasArrived: true},
		"changed since":                {parent: "GlobalIPPool/hosts", arrived: "true", granted: all, generation: 2},
		"that asked for more":          {parent: "GlobalIPPool/hosts", arrived: "true", granted: part, generation: 1},
		"that was granted nothing yet": {parent: "GlobalIPPool/hosts", arrived: "true", generation: 1},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			p := &icv1.InClusterIPPool{
				ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "p", Generation: test.generation, Annotations: map[string]string{
					ipamv1.ArrivedAnnotation: test.arrived, ipamv1.GrantedAnnotation: test.granted,
				}},
				Spec: icv1.InClusterIPPoolSpec{Addresses: []string{"192.0.2.16-192.0.2.20"}, Prefix: 24},
			}
			if test.parent != "" {
				p.Annotations[icv1.ParentAnnotation] = test.parent
			}
			says := Pools.Says(p)
			if says.Space != test.space || says.Arrived != test.hasArrived || says.IsCarved() != (test.space == "") {
				t.Errorf("got %+v", says)
			}
			if says.IsCarved() && says.ParentField != "metadata.annotations[ipam.weir.dev/parent]" {
				t.Errorf("names its parent in %s", says.ParentField)
			}
			if shape, errs := Pools.Resolve(p, nil); (shape == nil) != test.isInvalid {
				t.Errorf("got %v", errs)
			}
		})
	}
	t.Run("whose spec cannot be served", func(t *testing.T) {
		t.Parallel()
		p := &icv1.GlobalInClusterIPPool{ObjectMeta: metav1.ObjectMeta{Name: "p", Annotations: map[string]string{
			icv1.ParentAnnotation: "GlobalIPPool/hosts", ipamv1.ArrivedAnnotation: "true",
		}}}
		if says := GlobalPools.Says(p); says.Arrived || says.Parent.Name != "hosts" {
			t.Errorf("got %+v", says)
		}
	})
}
