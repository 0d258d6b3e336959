// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3_test

import (
	"fmt"
	"math"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/yaml"

	m3v1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/metal3/v1alpha1"
	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ipspace"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/poolspec"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/providers/metal3"
)

// poolOf returns a pool with this spec in YAML.
func poolOf(t *testing.T, text string) *m3v1.IPPool {
	t.Helper()
	p := &m3v1.IPPool{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "p"}}
	if err := yaml.UnmarshalStrict([]byte(text), &p.Spec); err != nil {
		t.Fatal(err)
	}
	return p
}

func TestWhatAPoolSays(t *testing.T) {
	t.Parallel()
	p := poolOf(t, "{clusterName: c, pools: [{start: 192.0.2.1}]}")
	p.Annotations = map[string]string{m3v1.AddressSpaceAnnotation: "racks"}
	p.Labels = map[string]string{ipamv1.ProjectLabel: "other"}
	want := poolspec.Pool{
		Ref:   ipamv1.PoolReference{APIGroup: "ipam.metal3.io", Kind: "IPPool", Namespace: "team", Name: "p"},
		Space: "racks", ClusterName: "c", Visibility: ipamv1.ConsumerVisibility,
	}
	if diff := cmp.Diff(want, metal3.IPPools.Says(p)); diff != "" {
		t.Error(diff)
	}
	delete(p.Annotations, m3v1.AddressSpaceAnnotation)
	if got := metal3.IPPools.Says(p).Space; got != "metal3/team/p" {
		t.Errorf("the space is %q", got)
	}
}

// TestTheShapeOfAPool: what the entries say comes to the shape with its order, who is denied, and gateways that stay.
func TestTheShapeOfAPool(t *testing.T) {
	t.Parallel()
	p := poolOf(t, `{gateway: 192.0.2.1, preAllocations: {kept: 192.0.2.9, gone: 192.0.2.77},
		pools: [{start: 192.0.2.8, end: 192.0.2.9}, {start: 192.0.2.0, end: 192.0.2.15, prefix: 24}]}`)
	shape, errs := metal3.IPPools.Resolve(p, nil)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	if diff := cmp.Diff("[[192.0.2.8/31] [192.0.2.0/29 192.0.2.10/31 192.0.2.12/30]]", fmt.Sprint(shape.Tiers())); diff != "" {
		t.Error(diff)
	}
	gateway := netip.MustParsePrefix("192.0.2.1/32")
	if _, refused := shape.Refuses(gateway); !refused {
		t.Error("the gateway is handed out")
	}
	if why, refused := shape.RefusesAdopted(gateway); refused {
		t.Errorf("the gateway does not stay: %s", why)
	}
	for name, want := range map[string]string{
		"gone": `spec.preAllocations[gone]: Invalid value: "192.0.2.77": is in none of spec.pools`, "kept": "", "else": "",
	} {
		claimant := pooltree.Claimant{Group: "ipam.metal3.io", Kind: "IPClaim", Namespace: "team", Name: name}
		if got, _ := shape.Denies(claimant); got != want {
			t.Errorf("%s is denied %q, want %q", name, got, want)
		}
	}
	if bits := shape.NetworkOf(netip.MustParseAddr("192.0.2.8")).Bits; bits != 0 {
		t.Errorf("an entry that does not say has a network of /%d", bits)
	}
}

// TestWhatDoesNotReachItsGatewayIsHandedOut: as Metal3 does; the pool's Ready condition warns of it.
func TestWhatDoesNotReachItsGatewayIsHandedOut(t *testing.T) {
	t.Parallel()
	shape, errs := metal3.IPPools.Resolve(poolOf(t, "{prefix: 24, gateway: 192.0.2.1, pools: [{start: 198.51.100.1, end: 198.51.100.9}]}"), nil)
	if len(errs) > 0 {
		t.Fatal(errs)
	}
	if why, refused := shape.RefusesOffLink(netip.MustParsePrefix("198.51.100.1/32")); refused {
		t.Error(why)
	}
}

func TestAddressSpacesOfPools(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct {
		space   string
		refused bool
	}{
		"one that Weir's pools may have":   {space: "racks.example"},
		"the default one":                  {space: "default"},
		"none":                             {space: ""},
		"the one of another pool":          {space: "metal3/team/q", refused: true},
		"its own":                          {space: "metal3/team/p", refused: true},
		"what is no name":                  {space: "Racks", refused: true},
		"more characters than a space has": {space: strings.Repeat("a", 254), refused: true},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			p := poolOf(t, "{pools: [{subnet: 192.0.2.0/24}]}")
			p.Annotations = map[string]string{m3v1.AddressSpaceAnnotation: test.space}
			shape, errs := metal3.IPPools.Resolve(p, nil)
			if test.refused != (len(errs) > 0) || test.refused != (shape == nil) {
				t.Fatalf("got %v", errs)
			}
			if test.refused && errs[0].Field != "metadata.annotations[ipam.weir.dev/address-space]" {
				t.Errorf("the mistake is at %s", errs[0].Field)
			}
		})
	}
}

// TestAPoolOfACluster: labels of others stay, and so do owners but for an earlier Cluster of the name.
func TestAPoolOfACluster(t *testing.T) {
	t.Parallel()
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "c", UID: "2"}}
	owner := func(apiVersion, kind, name string, uid types.UID) metav1.OwnerReference {
		return metav1.OwnerReference{APIVersion: apiVersion, Kind: kind, Name: name, UID: uid}
	}
	is := owner(clusterv1.GroupVersion.String(), "Cluster", "c", "2")
	other := owner("v1", "ConfigMap", "c", "9")
	for sentence, test := range map[string]struct{ before, want []metav1.OwnerReference }{
		"of none before":            {nil, []metav1.OwnerReference{is}},
		"with another owner":        {[]metav1.OwnerReference{other}, []metav1.OwnerReference{other, is}},
		"of that Cluster":           {[]metav1.OwnerReference{is, other}, []metav1.OwnerReference{is, other}},
		"by an old version":         {[]metav1.OwnerReference{owner("cluster.x-k8s.io/v1beta1", "Cluster", "c", "2")}, []metav1.OwnerReference{owner("cluster.x-k8s.io/v1beta1", "Cluster", "c", "2")}},
		"of an earlier Cluster":     {[]metav1.OwnerReference{owner("cluster.x-k8s.io/v1beta1", "Cluster", "c", "1")}, []metav1.OwnerReference{is}},
		"of another Cluster beside": {[]metav1.OwnerReference{owner(is.APIVersion, "Cluster", "d", "3")}, []metav1.OwnerReference{owner(is.APIVersion, "Cluster", "d", "3"), is}},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			p := poolOf(t, "{clusterName: c}")
			p.Labels, p.OwnerReferences = map[string]string{"a": "b"}, test.before
			metal3.IPPools.Join(p, cluster)
			if diff := cmp.Diff(test.want, p.OwnerReferences); diff != "" {
				t.Error(diff)
			}
			if diff := cmp.Diff(map[string]string{"a": "b", "cluster.x-k8s.io/provider": "ipam-metal3"}, p.Labels); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// holding is what a claim of this name holds.
func holding(name, address string, edit ...func(*ledger.Holding)) ledger.Holding {
	a := netip.MustParseAddr(address)
	h := ledger.Holding{CIDR: netip.PrefixFrom(a, a.BitLen()), Purpose: ledger.ForClaim, Claim: ipamv1.ClaimReference{Name: name}}
	for _, e := range edit {
		e(&h)
	}
	return h
}

func TestWhatIsShownOfAPool(t *testing.T) {
	t.Parallel()
	count := func(total, excluded, available uint64, claims int32) ledger.Capacity {
		return ledger.Capacity{
			Total: ipspace.CountOf(total), Excluded: ipspace.CountOf(excluded), Available: ipspace.CountOf(available), Claims: claims,
		}
	}
	released := func(h *ledger.Holding) { h.ReleasedAt = time.Unix(1, 0) }
	adopted := func(h *ledger.Holding) { h.Purpose = ledger.ForAdopted }
	moved := func(h *ledger.Holding) { h.Purpose = ledger.ForMoved }
	const bounded, open, inSubnet = "{pools: [{subnet: 192.0.2.0/28}]}", "{pools: [{subnet: 192.0.2.0/28}, {start: 192.0.3.0}]}", "{pools: [{start: 192.0.2.1, subnet: 192.0.2.0/28}]}"
	before := m3v1.IPPoolStatus{
		Capacity: ptr.To[int64](9), AvailableIPCount: ptr.To[int64](8), CapacityCapped: true, Allocations: map[string]m3v1.Address{"a": "192.0.2.1"},
	}
	for sentence, test := range map[string]struct {
		spec   string
		report pools.Report
		held   []ledger.Holding
		want   m3v1.IPPoolStatus
	}{
		"nothing handed out": {
			spec: bounded, report: pools.Report{Counted: true, Capacity: count(15, 1, 14, 0)},
			want: m3v1.IPPoolStatus{Capacity: ptr.To[int64](14), AvailableIPCount: ptr.To[int64](14)},
		},
		"addresses of claims": {
			spec: inSubnet, report: pools.Report{Counted: true, Capacity: count(15, 0, 11, 4)},
			held: []ledger.Holding{holding("a", "192.0.2.2"), holding("b", "192.0.2.3", adopted)},
			want: m3v1.IPPoolStatus{
				Capacity: ptr.To[int64](15), AvailableIPCount: ptr.To[int64](11),
				Allocations: map[string]m3v1.Address{"a": "192.0.2.2", "b": "192.0.2.3"},
			},
		},
		"what no claim has": {
			spec: bounded, report: pools.Report{Counted: true, Capacity: count(15, 0, 13, 2)},
			held: []ledger.Holding{holding("a", "192.0.2.2", released), holding("b", "192.0.2.3", moved)},
			want: m3v1.IPPoolStatus{Capacity: ptr.To[int64](15), AvailableIPCount: ptr.To[int64](13), Allocations: map[string]m3v1.Address{}},
		},
		"two claims of a name": {
			spec: bounded, report: pools.Report{Counted: true, Capacity: count(15, 0, 13, 2)},
			held: []ledger.Holding{holding("a", "192.0.2.2"), holding("a", "192.0.2.3")},
			want: m3v1.IPPoolStatus{
				Capacity: ptr.To[int64](15), AvailableIPCount: ptr.To[int64](13), Allocations: map[string]m3v1.Address{"a": "192.0.2.2"},
			},
		},
		"an entry that is open": {
			spec: open, report: pools.Report{Counted: true, Capacity: count(1<<32, 0, 1<<32, 0)}, want: m3v1.IPPoolStatus{},
		},
		"more than can be told": {
			spec: bounded, report: pools.Report{Counted: true, Capacity: count(math.MaxUint64, 0, 1, 0)},
			want: m3v1.IPPoolStatus{Capacity: ptr.To[int64](math.MaxInt64), CapacityCapped: true},
		},
		"just what can be told": {
			spec: bounded, report: pools.Report{Counted: true, Capacity: count(math.MaxInt64, 0, 1, 0)},
			want: m3v1.IPPoolStatus{Capacity: ptr.To[int64](math.MaxInt64), AvailableIPCount: ptr.To[int64](1)},
		},
		"not known yet": {spec: bounded, report: pools.Report{}, want: before},
		"a spec that cannot be served": {
			spec: bounded, report: pools.Report{Invalid: true}, want: m3v1.IPPoolStatus{Allocations: before.Allocations},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			p := poolOf(t, test.spec)
			p.Status = *before.DeepCopy()
			test.report.Holdings = func() []ledger.Holding { return test.held }
			metal3.IPPools.Show(p, &test.report)
			if diff := cmp.Diff(test.want, metal3.IPPools.Status(p)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// TestIndexesAreBounded: the addresses of up to a thousand claims are told, and not even asked for where there are more.
func TestIndexesAreBounded(t *testing.T) {
	t.Parallel()
	held := make([]ledger.Holding, 0, 1000)
	address := netip.MustParseAddr("198.18.0.0")
	for i := range cap(held) {
		held = append(held, holding(fmt.Sprint("c", i), address.String()))
		address = address.Next()
	}
	p := poolOf(t, "{pools: [{subnet: 198.18.0.0/16}]}")
	report := &pools.Report{Counted: true, Capacity: ledger.Capacity{Claims: 1000}, Holdings: func() []ledger.Holding { return held }}
	metal3.IPPools.Show(p, report)
	if got := len(p.Status.Allocations); got != 1000 {
		t.Errorf("%d addresses are told", got)
	}
	report.Capacity.Claims++
	report.Holdings = func() []ledger.Holding {
		t.Error("asked for what is not told")
		return nil
	}
	if metal3.IPPools.Show(p, report); p.Status.Allocations != nil {
		t.Errorf("%d addresses are told", len(p.Status.Allocations))
	}
}

func TestLastUpdated(t *testing.T) {
	t.Parallel()
	p, now := poolOf(t, "{}"), time.Unix(1e9, 0)
	metal3.IPPools.Stamp(p, now)
	if got := p.Status.LastUpdated; got == nil || !got.Time.Equal(now) {
		t.Errorf("last updated %v", got)
	}
}
