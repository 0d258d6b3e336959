// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3_test

import (
	"net/netip"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	m3v1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/metal3/v1alpha1"
	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/providers/metal3"
)

func carvedPool(annotations map[string]string, entries ...m3v1.Pool) *m3v1.IPPool {
	return &m3v1.IPPool{
		ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "prov", Annotations: annotations},
		Spec:       m3v1.IPPoolSpec{NamePrefix: "prov", Pools: entries},
	}
}

func TestParent(t *testing.T) {
	t.Parallel()
	closed := m3v1.Pool{Start: ptr.To[m3v1.Address]("192.0.2.1"), End: ptr.To[m3v1.Address]("192.0.2.9")}
	open := m3v1.Pool{Start: ptr.To[m3v1.Address]("192.0.2.1")}
	for sentence, test := range map[string]struct {
		annotations map[string]string
		entry       m3v1.Pool
		// parent and space are what the pool says, errs what its mistakes begin with.
		parent, space string
		errs          []string
	}{
		"none": {entry: open, space: "metal3/team/prov"},
		"one, whose address space is the pool's": {
			annotations: map[string]string{m3v1.ParentAnnotation: "GlobalIPPool/hosts.dc-1"}, entry: closed, parent: "hosts.dc-1",
		},
		"not of another kind": {
			annotations: map[string]string{m3v1.ParentAnnotation: "IPPool/hosts"}, entry: closed, space: "metal3/team/prov",
			errs: []string{"metadata.annotations[ipam.weir.dev/parent]: Invalid value"},
		},
		"nor without a name": {
			annotations: map[string]string{m3v1.ParentAnnotation: "GlobalIPPool/"}, entry: closed, space: "metal3/team/prov",
			errs: []string{"metadata.annotations[ipam.weir.dev/parent]: Invalid value"},
		},
		"nor of a name that there cannot be": {
			annotations: map[string]string{m3v1.ParentAnnotation: "GlobalIPPool/a/b"}, entry: closed, space: "metal3/team/prov",
			errs: []string{"metadata.annotations[ipam.weir.dev/parent]: Invalid value"},
		},
		"not with an address space": {
			annotations: map[string]string{m3v1.ParentAnnotation: "GlobalIPPool/hosts", m3v1.AddressSpaceAnnotation: "site"}, entry: closed, parent: "hosts",
			errs: []string{"metadata.annotations[ipam.weir.dev/address-space]: Forbidden"},
		},
		"nor with a range that has no end": {
			annotations: map[string]string{m3v1.ParentAnnotation: "GlobalIPPool/hosts"}, entry: open, parent: "hosts", errs: []string{"spec.pools[0].end: Required"},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			p := carvedPool(test.annotations, test.entry)
			says := metal3.IPPools.Says(p)
			if says.Parent.Name != test.parent || says.Space != test.space || says.IsCarved() != (test.parent != "") {
				t.Errorf("parent %q in space %q", says.Parent.Name, says.Space)
			}
			shape, errs := metal3.IPPools.Resolve(p, nil)
			if (shape == nil) != (len(test.errs) > 0) || len(errs) != len(test.errs) {
				t.Fatalf("got %v, want %v", errs, test.errs)
			}
			for i, err := range errs {
				if !strings.HasPrefix(err.Error(), test.errs[i]) {
					t.Errorf("got %v, want %s", err, test.errs[i])
				}
			}
		})
	}
}

// TestArrivedWithItsAddresses: what a pool only asked for, or says since it was changed, it did not come with.
func TestArrivedWithItsAddresses(t *testing.T) {
	t.Parallel()
	entry := m3v1.Pool{Start: ptr.To[m3v1.Address]("192.0.2.16"), End: ptr.To[m3v1.Address]("192.0.2.20")}
	all := pools.GrantOf([]netip.Prefix{netip.MustParsePrefix("192.0.2.16/30"), netip.MustParsePrefix("192.0.2.20/32")})
	part := pools.GrantOf([]netip.Prefix{netip.MustParsePrefix("192.0.2.16/30")})
	for sentence, test := range map[string]struct {
		parent, arrived, granted string
		generation               int64
		want                     bool
	}{
		"a new one has not":                       {parent: "GlobalIPPool/hosts", granted: all, generation: 1},
		"a root has none of a parent":             {arrived: "true", granted: all, generation: 1},
		"one as it came has":                      {parent: "GlobalIPPool/hosts", arrived: "true", granted: all, generation: 1, want: true},
		"one that was changed has not":            {parent: "GlobalIPPool/hosts", arrived: "true", granted: all, generation: 2},
		"one that asked for more has not":         {parent: "GlobalIPPool/hosts", arrived: "true", granted: part, generation: 1},
		"one that was not granted anything never": {parent: "GlobalIPPool/hosts", arrived: "true", generation: 1},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			p := carvedPool(map[string]string{ipamv1.ArrivedAnnotation: test.arrived, ipamv1.GrantedAnnotation: test.granted}, entry)
			if test.parent != "" {
				p.Annotations[m3v1.ParentAnnotation] = test.parent
			}
			p.Generation = test.generation
			if got := metal3.IPPools.Says(p).Arrived; got != test.want {
				t.Errorf("got %v", got)
			}
		})
	}
}

func TestDoubts(t *testing.T) {
	t.Parallel()
	entry := m3v1.Pool{Subnet: ptr.To[m3v1.Subnet]("192.0.2.0/28"), Prefix: 24}
	if doubts := metal3.IPPools.Doubts(carvedPool(nil, entry)); len(doubts) > 0 {
		t.Errorf("doubts %v", doubts)
	}
	if doubts := metal3.IPPools.Doubts(carvedPool(nil, entry, entry)); len(doubts) == 0 {
		t.Error("no doubts of entries that overlap")
	}
}
