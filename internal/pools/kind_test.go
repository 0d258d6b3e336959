// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pools

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ipspace"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/poolspec"
)

// foreignPool has the name of Weir's kind, and is of another group.
type foreignPool struct{ ipamv1.IPPool }

// TestAPoolIsOfTheKindOfItsType: nothing but the type of an object in the cache says what it is.
func TestAPoolIsOfTheKindOfItsType(t *testing.T) {
	t.Parallel()
	foreign := IPPools
	foreign.GroupKind = schema.GroupKind{Group: "example.com", Kind: "IPPool"}
	foreign.Is = Is[*foreignPool]
	foreign.Says = func(p Object) poolspec.Pool { return poolspec.Pool{Ref: foreign.Reference(p)} }
	r := &Registry{}
	key := metav1.ObjectMeta{Namespace: "a", Name: "p"}
	other := &foreignPool{ipamv1.IPPool{ObjectMeta: key}}
	if _, known := r.kindOfPool(other); known {
		t.Error("a kind is known before it was added")
	}
	r.AddKind(foreign)
	for sentence, test := range map[string]struct {
		pool Object
		want ipamv1.PoolReference
	}{
		"Weir's":              {&ipamv1.IPPool{ObjectMeta: key}, ipamv1.PoolReference{Kind: "IPPool", Namespace: "a", Name: "p"}},
		"cluster-scoped":      {&ipamv1.GlobalIPPool{ObjectMeta: metav1.ObjectMeta{Name: "p"}}, ipamv1.PoolReference{Kind: "GlobalIPPool", Name: "p"}},
		"of another group":    {other, ipamv1.PoolReference{APIGroup: "example.com", Kind: "IPPool", Namespace: "a", Name: "p"}},
		"as the registry has": {&Known{Object: other}, ipamv1.PoolReference{APIGroup: "example.com", Kind: "IPPool", Namespace: "a", Name: "p"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			kind, known := r.kindOfPool(test.pool)
			if got := kind.Reference(test.pool); !known || got != test.want {
				t.Errorf("known (%t) as %v, want %v", known, got, test.want)
			}
			owner := r.OwnerReference(test.pool)
			if got := schema.FromAPIVersionAndKind(owner.APIVersion, owner.Kind).GroupKind(); got != test.want.GroupKind() {
				t.Errorf("owns as %v, want %v", got, test.want.GroupKind())
			}
		})
	}
}

// TestWhatIsShown is what the status of Weir's kinds says of a report; what was there before counts where nothing is known now.
func TestWhatIsShown(t *testing.T) {
	t.Parallel()
	counted := ledger.Capacity{
		Total: ipspace.CountOf(16), Available: ipspace.CountOf(12), Allocated: ipspace.CountOf(3), Excluded: ipspace.CountOf(1),
		Claims: 3, Serving: true, LargestFree: 29,
	}
	before := ipamv1.IPPoolStatus{Claims: ptr.To[int32](9), Utilization: "9%", AllocatedCIDR: "10.0.0.0/28", Capacity: ipamv1.Capacity{Total: "9"}}
	full := ipamv1.IPPoolStatus{
		Claims: ptr.To[int32](3), Children: ptr.To[int32](0), Utilization: "25%", UtilizationPercent: ptr.To[int32](25), AllocatedCIDR: "10.0.0.0/28",
		LargestFreePrefixLength: ptr.To[int32](29),
		Capacity:                ipamv1.Capacity{Total: "16", Allocated: "3", Available: "12", Excluded: "1", Cooling: "0", Delegated: "0"},
	}
	foreign := *full.DeepCopy()
	foreign.Capacity.Available, foreign.Utilization, foreign.UtilizationPercent, foreign.LargestFreePrefixLength = "0", "", nil, nil
	idle := *full.DeepCopy()
	idle.Capacity.Available, idle.LargestFreePrefixLength = "0", nil
	for sentence, test := range map[string]struct {
		report Report
		want   ipamv1.IPPoolStatus
	}{
		"counted":                 {Report{Counted: true, Capacity: counted}, full},
		"hands out nothing":       {Report{Counted: true, Capacity: counted, Idle: true}, idle},
		"at home elsewhere":       {Report{Counted: true, Capacity: counted, Foreign: true}, foreign},
		"not known yet":           {Report{}, before},
		"of a spec with mistakes": {Report{Invalid: true}, ipamv1.IPPoolStatus{AllocatedCIDR: "10.0.0.0/28"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			p := &ipamv1.IPPool{ObjectMeta: metav1.ObjectMeta{Generation: 7}, Status: *before.DeepCopy()}
			p.Spec.Addresses = []ipamv1.AddressEntry{"10.0.0.0/28"}
			test.report.Says.CIDR = "10.0.0.0/28"
			IPPools.Show(p, &test.report)
			test.want.ObservedGeneration, test.want.AddressSummary = 7, "10.0.0.0/28"
			if diff := cmp.Diff(test.want, p.Status); diff != "" {
				t.Error(diff)
			}
		})
	}
}
