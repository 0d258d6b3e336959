// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claims

import (
	"context"
	"fmt"
	"runtime"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/size"
)

// theirs is the key of what somebody else has written on an object, and his finalizer.
const theirs = "example.com/theirs"

// arrivedFor marks an object as arrived, and has somebody else write on it.
func arrivedFor[T client.Object](obj T, finalizer string) T {
	obj.SetAnnotations(map[string]string{ipamv1.ArrivedAnnotation: "true", theirs: "noted"})
	obj.SetLabels(map[string]string{clusterv1.ClusterNameLabel: "c", theirs: "labelled"})
	obj.SetFinalizers([]string{theirs, finalizer})
	return obj
}

var _ = Describe("The manager's cache", func() {
	var ns string

	BeforeEach(func(ctx SpecContext) {
		ns = newNamespace(ctx)
		create(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{CIDR: "10.1.0.0/24", AddressSpace: ns}))
	})

	It("lacks what others have written on claims and addresses, and that survives what Weir writes", func(ctx SpecContext) {
		cluster := create(ctx, newCluster(ns, true))
		afresh := create(ctx, arrivedFor(newClaim(ns, "afresh", "IPPool", "p"), ipamv1.ClaimFinalizer))
		whole := create(ctx, arrivedFor(newClaim(ns, "whole", "IPPool", "p"), ipamv1.ClaimFinalizer))
		address := &ipamv1beta2.IPAddress{}
		address.Namespace, address.Name = ns, "whole"
		address.Spec = ipamv1beta2.IPAddressSpec{
			ClaimRef: ipamv1beta2.IPAddressClaimReference{Name: "whole"}, PoolRef: whole.Spec.PoolRef, Address: "10.1.0.7", Prefix: ptr.To(int32(24)),
		}
		create(ctx, arrivedFor(address, ipamv1.AddressFinalizer))
		Eventually(func(g Gomega) { g.Expect(records(ctx, ns)).To(HaveLen(1)) }, "1m", "100ms").Should(Succeed()) // it has looked at the pause
		change(ctx, cluster, func() { cluster.Spec.Paused = ptr.To(false) })

		Expect(answered(ctx, whole).Spec.Address).To(Equal("10.1.0.7"))
		answered(ctx, afresh)
		Expect(k.Get(ctx, client.ObjectKeyFromObject(address), address)).To(Succeed())
		for _, obj := range []client.Object{afresh, address} {
			Expect(obj.GetAnnotations()).To(Equal(map[string]string{theirs: "noted"}), obj.GetName())
		}
		for _, obj := range []client.Object{afresh, whole, address} {
			Expect(obj.GetAnnotations()).To(HaveKeyWithValue(theirs, "noted"), obj.GetName())
			Expect(obj.GetLabels()).To(HaveKeyWithValue(theirs, "labelled"), obj.GetName())
			Expect(obj.GetFinalizers()).To(ContainElement(theirs), obj.GetName())
		}
	})

	It("does not grow with what is written on the claims of other providers", func(ctx SpecContext) {
		const length = 250_000
		number := size.Of(40, 200, 200)
		before := heap()
		for i := range number {
			foreign := newClaim(ns, fmt.Sprint("fat-", i), "IPPool", "p")
			foreign.Spec.PoolRef.APIGroup = "ipam.example.com"
			foreign.Annotations = map[string]string{theirs: strings.Repeat("x", length)}
			create(ctx, foreign)
		}
		last := create(ctx, newClaim(ns, "last", "IPPool", "p"))
		answered(ctx, last) // so the cache shows all of them
		Eventually(func() uint64 { return max(heap(), before) - before }, "1m", "500ms").Should(BeNumerically("<", number*length/4))
		deleteAll(ctx, ns)
	})
})

// heap is how much this process keeps, the manager in it included.
func heap() uint64 {
	runtime.GC()
	var stats runtime.MemStats
	runtime.ReadMemStats(&stats)
	return stats.HeapAlloc
}

// deleteAll removes the claims of a namespace, which others need not list then.
func deleteAll(ctx context.Context, ns string) {
	GinkgoHelper()
	Expect(k.DeleteAllOf(ctx, &ipamv1beta2.IPAddressClaim{}, client.InNamespace(ns))).To(Succeed())
}
