// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"encoding/binary"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"runtime"
	"strconv"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/records"
)

// manyRecords is what the index is measured with.
const manyRecords = 100_000

// usual returns the i-th record as Weir makes them: of a Cluster API claim, for the i-th address
// after first.
func usual(random *rand.Rand, i uint32, first netip.Addr) *ipamv1.IPAllocation {
	address := first.AsSlice()
	low := address[len(address)-4:]
	binary.BigEndian.PutUint32(low, binary.BigEndian.Uint32(low)+i)
	a, _ := netip.AddrFromSlice(address)
	uuid := func() string {
		var b [16]byte
		binary.BigEndian.PutUint64(b[:8], random.Uint64())
		binary.BigEndian.PutUint64(b[8:], random.Uint64())
		return fmt.Sprintf("%x-%x-%x-%x-%x", b[:4], b[4:6], b[6:8], b[8:10], b[10:])
	}
	claim := ipamv1.ClaimReference{
		APIGroup: "ipam.cluster.x-k8s.io", Kind: "IPAddressClaim", Namespace: "bench", Name: fmt.Sprintf("claim-%06d", i), UID: uuid(),
	}
	return &ipamv1.IPAllocation{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "bench", Name: records.FirstName(claim.Name, claim.UID), UID: types.UID(uuid()),
			ResourceVersion: strconv.Itoa(1000 + 3*int(i)), Finalizers: []string{ipamv1.AllocationFinalizer},
			OwnerReferences: make([]metav1.OwnerReference, 2), ManagedFields: make([]metav1.ManagedFieldsEntry, 1),
		},
		Spec: ipamv1.IPAllocationSpec{
			PoolRef: poolRef("p"), AddressSpace: "default", CIDR: netip.PrefixFrom(a, a.BitLen()).String(), ClaimRef: claim,
			Purpose: ipamv1.ClaimPurpose, Manager: ipamv1.AllocationManager{Instance: "weir-controller-manager-7d4b9c-xk2lp-a1b2c3d4"},
		},
	}
}

// BenchmarkIndexMemory shows the index 100,000 records, as the watch does, and reports what each
// costs in memory that stays.
func BenchmarkIndexMemory(b *testing.B) {
	for _, block := range prefixes("10.0.0.0/8 2001:db8::/48") {
		b.Run(block.String(), func(b *testing.B) {
			var before, after runtime.MemStats
			for b.Loop() {
				runtime.GC()
				runtime.ReadMemStats(&before)
				l, random := newFed(), rand.New(rand.NewPCG(1, 0))
				l.serving(block.String())
				for i := range uint32(manyRecords) {
					_ = l.x.Add(usual(random, i, block.Addr().Next()))
				}
				runtime.GC()
				runtime.ReadMemStats(&after)
				if n := len(l.All()); n != manyRecords+1 || l.x.broken != nil {
					b.Fatalf("%d records, broken: %v", n, l.x.broken)
				}
				runtime.KeepAlive(l)
			}
			b.ReportMetric(float64(after.HeapAlloc-before.HeapAlloc)/manyRecords, "B/record")
			b.ReportMetric(float64(b.Elapsed().Nanoseconds())/float64(b.N)/manyRecords, "ns/record")
		})
	}
}
