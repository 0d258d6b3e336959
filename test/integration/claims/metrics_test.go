// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claims

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	dto "github.com/prometheus/client_model/go"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

var _ = Describe("The metrics of a pool", func() {
	var ns string

	BeforeEach(func(ctx SpecContext) { ns = newNamespace(ctx) })

	It("count its claims of every form in each state, up and down, and go with it", func(ctx SpecContext) {
		create(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{CIDR: "10.1.0.0/30", AddressSpace: ns}))
		first, second := create(ctx, newClaim(ns, "first", "IPPool", "p")), newIPClaim(ns, "second", "IPPool", "p")
		answered(ctx, first)
		second.Spec.CIDR = "10.1.0.2/32"
		bound(ctx, create(ctx, second))
		claimsAre(ns, "p", map[string]float64{"answered": 2})
		Eventually(func() map[string]float64 { return seriesOf("weir_pool_records", ns, "p") }, "1m", "100ms").Should(Equal(map[string]float64{
			"active": 2, "confirmed": 0, "cooling": 0, "retained": 0, "moved": 0, "pending": 0,
		}))
		Expect(seriesOf("weir_pool_ready", ns, "p")).To(Equal(map[string]float64{"": 1}))
		Expect(observed("IPAddressClaim.ipam.cluster.x-k8s.io", "no")).To(BeNumerically(">", 0))
		Expect(observed("IPClaim", "no")).To(BeNumerically(">", 0))

		full := create(ctx, newClaim(ns, "full", "IPPool", "p"))
		ready(ctx, full, metav1.ConditionFalse, "PoolExhausted")
		asks := newClaim(ns, "asks", "IPPool", "p")
		asks.Annotations = map[string]string{ipamv1.AddressAnnotation: "10.9.0.1"}
		ready(ctx, create(ctx, asks), metav1.ConditionFalse, "AllocationFailed")
		pauses := newClaim(ns, "pauses", "IPPool", "p")
		pauses.Annotations = map[string]string{clusterv1.PausedAnnotation: ""}
		create(ctx, pauses)
		collides := arrivedWith(ctx, ns, "collides", "10.1.0.1")
		ready(ctx, collides, metav1.ConditionFalse, "AddressConflict")
		claimsAre(ns, "p", map[string]float64{"answered": 2, "exhausted": 1, "refused": 1, "paused": 1, "conflict": 1})
		Eventually(func() float64 { return seriesOf("weir_claim_exhausted_total", ns, "p")[""] }, "1m", "100ms").Should(BeNumerically(">=", 1))

		change(ctx, second, func() { second.Finalizers = append(second.Finalizers, "example.com/holds") })
		Expect(k.Delete(ctx, second)).To(Succeed())
		claimsAre(ns, "p", map[string]float64{"answered": 1, "deleting": 1, "exhausted": 1, "refused": 1, "paused": 1, "conflict": 1})
		waited := observed("IPAddressClaim.ipam.cluster.x-k8s.io", "yes")
		change(ctx, second, func() { second.Finalizers = []string{ipamv1.ClaimFinalizer} })
		answered(ctx, full)
		Eventually(func() float64 { return observed("IPAddressClaim.ipam.cluster.x-k8s.io", "yes") }, "1m", "100ms").
			Should(BeNumerically(">", waited))
		claimsAre(ns, "p", map[string]float64{"answered": 2, "refused": 1, "paused": 1, "conflict": 1})

		for _, claim := range []client.Object{first, full, asks, pauses, collides} {
			Expect(k.Delete(ctx, claim)).To(Succeed())
		}
		claimsAre(ns, "p", nil)
		pool := newPool(ns, "p", ipamv1.IPPoolSpec{})
		Expect(k.Delete(ctx, pool)).To(Succeed())
		gone(ctx, pool)
		for _, metric := range []string{"weir_pool_capacity_addresses", "weir_pool_records", "weir_pool_ready", "weir_claim_exhausted_total"} {
			Eventually(func() map[string]float64 { return seriesOf(metric, ns, "p") }, "1m", "100ms").Should(BeEmpty(), metric)
		}
	})

	It("count claims of a pool that does not exist, and say that one that is paused is not ready", func(ctx SpecContext) {
		claim := create(ctx, newClaim(ns, "early", "IPPool", "late"))
		ready(ctx, claim, metav1.ConditionFalse, "PoolNotReady")
		claimsAre(ns, "late", map[string]float64{"waiting": 1})
		Expect(seriesOf("weir_pool_ready", ns, "late")).To(BeEmpty())
		pool := newPool(ns, "late", ipamv1.IPPoolSpec{CIDR: "10.1.0.0/30", AddressSpace: ns})
		pool.Annotations = map[string]string{clusterv1.PausedAnnotation: ""}
		create(ctx, pool)
		Eventually(func() map[string]float64 { return seriesOf("weir_pool_ready", ns, "late") }, "1m", "100ms").
			Should(Equal(map[string]float64{"": 0}))
		claimsAre(ns, "late", map[string]float64{"paused": 1})
		change(ctx, pool, func() { pool.Annotations = nil })
		answered(ctx, claim)
		claimsAre(ns, "late", map[string]float64{"answered": 1})
		Eventually(func() map[string]float64 { return seriesOf("weir_pool_ready", ns, "late") }, "1m", "100ms").
			Should(Equal(map[string]float64{"": 1}))
	})

	It("come with the version and the certificate of the webhooks", func() {
		Expect(familyOf("weir_certificate_expiry_timestamp_seconds")).To(ContainElement(
			HaveField("GetGauge().GetValue()", BeNumerically(">", float64(metav1.Now().Unix())))))
	})
})

// arrivedWith makes a claim after its IPAddress, as a restore does.
func arrivedWith(ctx context.Context, ns, name, address string) *ipamv1beta2.IPAddressClaim {
	GinkgoHelper()
	claim := newClaim(ns, name, "IPPool", "p")
	create(ctx, &ipamv1beta2.IPAddress{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, Finalizers: []string{ipamv1.AddressFinalizer}},
		Spec: ipamv1beta2.IPAddressSpec{
			ClaimRef: ipamv1beta2.IPAddressClaimReference{Name: name}, PoolRef: claim.Spec.PoolRef, Address: address, Prefix: ptr.To(int32(30)),
		},
	})
	return create(ctx, claim)
}

// claimsAre waits until the claims of a pool are counted so, and in no other state; nil: until the pool has no series of them.
func claimsAre(ns, pool string, counts map[string]float64) {
	GinkgoHelper()
	want := map[string]float64{}
	for _, state := range []string{"answered", "exhausted", "waiting", "refused", "paused", "conflict", "deleting"} {
		if counts != nil {
			want[state] = counts[state]
		}
	}
	Eventually(func() map[string]float64 { return seriesOf("weir_pool_claims", ns, pool) }, "1m", "100ms").Should(Equal(want))
}

// familyOf returns all series of a metric.
func familyOf(name string) []*dto.Metric {
	GinkgoHelper()
	families, err := metrics.Registry.Gather()
	Expect(err).NotTo(HaveOccurred())
	for _, family := range families {
		if family.GetName() == name {
			return family.GetMetric()
		}
	}
	return nil
}

// seriesOf returns the values of a metric of an IPPool by state; "" where there is no such label.
func seriesOf(metric, ns, pool string) map[string]float64 {
	GinkgoHelper()
	values := map[string]float64{}
	for _, series := range familyOf(metric) {
		labels := map[string]string{}
		for _, pair := range series.GetLabel() {
			labels[pair.GetName()] = pair.GetValue()
		}
		if labels["kind"] == "IPPool" && labels["namespace"] == ns && labels["name"] == pool {
			values[labels["state"]] = series.GetGauge().GetValue() + series.GetCounter().GetValue()
		}
	}
	return values
}

// observed returns how many first answers were timed of claims of a form, that had been refused before or not.
func observed(form, waited string) float64 {
	GinkgoHelper()
	for _, series := range familyOf("weir_claim_answer_duration_seconds") {
		labels := series.GetLabel()
		if labels[0].GetValue() == form && labels[1].GetValue() == waited {
			return float64(series.GetHistogram().GetSampleCount())
		}
	}
	return 0
}
