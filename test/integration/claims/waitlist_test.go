// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claims

import (
	"fmt"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/size"
)

var _ = Describe("Claims that wait for room", func() {
	It("are woken as many as there is room for, and all of them served in the end", func(ctx SpecContext) {
		const rounds, mostForEach = 10, 20
		waiting := size.Of(40, 300, 300)
		ns := newNamespace(ctx)
		create(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{CIDR: "10.1.0.0/28", AddressSpace: ns}))
		holders := make([]*ipamv1beta2.IPAddressClaim, 0, 14)
		for i := range 14 {
			holders = append(holders, create(ctx, newClaim(ns, fmt.Sprint("holder-", i), "IPPool", "p")))
			answered(ctx, holders[i])
		}
		asks := newClaim(ns, "asks", "IPPool", "p")
		asks.Annotations = map[string]string{ipamv1.AddressAnnotation: "10.1.0.14"}
		ready(ctx, create(ctx, asks), metav1.ConditionFalse, "AllocationFailed")
		for i := range waiting {
			create(ctx, newClaim(ns, fmt.Sprintf("waits-%03d", i), "IPPool", "p"))
		}
		count := func(reason string) (n int) {
			list := &ipamv1beta2.IPAddressClaimList{}
			Expect(k.List(ctx, list, client.InNamespace(ns))).To(Succeed())
			for _, claim := range list.Items {
				for _, c := range claim.Status.Conditions {
					if c.Reason == reason {
						n++
					}
				}
			}
			return n
		}
		Eventually(func() int { return count("PoolExhausted") }, "3m", "500ms").Should(Equal(waiting))
		quiet := float64(-1) // for two polls at least
		Eventually(func() bool { was := quiet; quiet = reconciles("ipaddressclaim"); return was == quiet }, "2m", "3s").Should(BeTrue())

		for i := range rounds {
			Expect(k.Delete(ctx, holders[i])).To(Succeed())
			Eventually(func() int { return count("Allocated") }, "1m", "100ms").Should(Equal(14))
			Eventually(func() int { return count("PoolExhausted") }, "1m", "100ms").Should(Equal(waiting - i - 1))
		}
		Expect(reconciles("ipaddressclaim")-quiet).To(BeNumerically("<", rounds*mostForEach), "reconciliations for %d freed addresses", rounds)

		Expect(k.Delete(ctx, holders[13])).To(Succeed()) // the asked address, and whoever is faster has it
		gone(ctx, holders[13])
		Eventually(func() int { // each gives its address to the next
			list := &ipamv1beta2.IPAddressClaimList{}
			Expect(k.List(ctx, list, client.InNamespace(ns))).To(Succeed())
			for i := range list.Items {
				if list.Items[i].Status.AddressRef.Name != "" && list.Items[i].DeletionTimestamp.IsZero() {
					Expect(client.IgnoreNotFound(k.Delete(ctx, &list.Items[i]))).To(Succeed())
				}
			}
			return len(list.Items)
		}, "5m", "100ms").Should(BeZero())
	})
})

// reconciles is how often a controller of the manager has looked at something.
func reconciles(controller string) (n float64) {
	GinkgoHelper()
	families, err := metrics.Registry.Gather()
	Expect(err).NotTo(HaveOccurred())
	for _, family := range families {
		if family.GetName() != "controller_runtime_reconcile_total" {
			continue
		}
		for _, metric := range family.GetMetric() {
			for _, label := range metric.GetLabel() {
				if label.GetName() == "controller" && label.GetValue() == controller {
					n += metric.GetCounter().GetValue()
				}
			}
		}
	}
	return n
}
