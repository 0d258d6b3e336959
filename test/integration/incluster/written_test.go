// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package incluster

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	icv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/incluster/v1alpha2"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

var _ = DescribeTable("A pool is not stored, as the in-cluster provider would not,", func(ctx SpecContext, spec icv1.InClusterIPPoolSpec, words string) {
	ns := suite.Namespace(ctx, k, suite.Guarded)
	pool := func(name string) *icv1.InClusterIPPool {
		return &icv1.InClusterIPPool{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}, Spec: spec}
	}
	Eventually(func() error { return k.Create(ctx, pool("p"), client.DryRunAll) }, patience, interval).Should(MatchError(ContainSubstring(words)))
	global := &icv1.GlobalInClusterIPPool{ObjectMeta: metav1.ObjectMeta{Name: ns}, Spec: spec}
	Expect(k.Create(ctx, global, client.DryRunAll)).To(MatchError(ContainSubstring(words)))

	By("but one that is moved or restored is")
	moved := pool("moved")
	moved.Finalizers = []string{icv1.PoolFinalizer}
	Expect(k.Create(ctx, moved)).To(Succeed())
},
	Entry("without an address", icv1.InClusterIPPoolSpec{Addresses: []string{}, Prefix: 24}, "spec.addresses: Required value"),
	Entry("with text that is no address", icv1.InClusterIPPoolSpec{Addresses: []string{"10.0.0.1", "10.0.0.300"}, Prefix: 24}, "spec.addresses[1]: Invalid value"),
	Entry("with an end before its start", icv1.InClusterIPPoolSpec{Addresses: []string{"10.0.0.9-10.0.0.1"}, Prefix: 24}, "spec.addresses[0]: Invalid value"),
	Entry("of two families", icv1.InClusterIPPoolSpec{Addresses: []string{"10.0.0.1", "fd00::1"}, Prefix: 24}, "spec.addresses[1]: Invalid value"),
	Entry("of two networks", icv1.InClusterIPPoolSpec{Addresses: []string{"10.0.0.1", "10.0.1.1"}, Prefix: 24}, "is not in 10.0.0.0/24"),
	Entry("with a gateway of another family", icv1.InClusterIPPoolSpec{Addresses: []string{"10.0.0.1"}, Prefix: 24, Gateway: "fd00::1"}, "spec.gateway: Invalid value"),
	Entry("with a prefix that IPv4 has not", icv1.InClusterIPPoolSpec{Addresses: []string{"10.0.0.1"}, Prefix: 64}, "spec.prefix: Invalid value"),
)

var _ = Describe("A pool that an address is in use of", func() {
	var ns string

	BeforeEach(func(ctx SpecContext) { ns = suite.Namespace(ctx, k, suite.Guarded) })

	// inUse returns a pool of which 10.0.0.2 is in use.
	inUse := func(ctx context.Context) *icv1.InClusterIPPool {
		GinkgoHelper()
		pool := func() *icv1.InClusterIPPool {
			return &icv1.InClusterIPPool{
				ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "p"},
				Spec:       icv1.InClusterIPPoolSpec{Addresses: []string{"10.0.0.0/28"}, Prefix: 28, Gateway: "10.0.0.1"},
			}
		}
		var p *icv1.InClusterIPPool
		Eventually(func() error { p = pool(); return k.Create(ctx, p) }, patience, interval).Should(Succeed())
		Expect(told(ctx, create(ctx, claimOf(ns, "c", icv1.InClusterIPPoolKind, "p"))).Spec.Address).To(Equal("10.0.0.2"))
		return p
	}
	patch := func(ctx context.Context, p client.Object, text string) error {
		return k.Patch(ctx, p, client.RawPatch(types.MergePatchType, []byte(text)))
	}

	DescribeTable("is not changed so that the in-cluster provider would not hand that out:", func(ctx SpecContext, spec string) {
		p := inUse(ctx)
		Expect(patch(ctx, p, spec)).To(MatchError(And(ContainSubstring("1 prefix is in use"), ContainSubstring("10.0.0.2"))))
	},
		Entry("outside", `{"spec": {"addresses": ["10.0.0.4-10.0.0.9"]}}`),
		Entry("excluded", `{"spec": {"excludedAddresses": ["10.0.0.2-10.0.0.3"]}}`),
		Entry("the gateway", `{"spec": {"gateway": "10.0.0.2"}}`),
		Entry("the first address of its network", `{"spec": {"addresses": ["10.0.0.2-10.0.0.3"], "prefix": 31, "gateway": null}}`),
	)

	It("may change otherwise", func(ctx SpecContext) {
		p := inUse(ctx)
		Expect(patch(ctx, p, `{"spec": {"addresses": ["10.0.0.2-10.0.0.9"], "excludedAddresses": ["10.0.0.5"]}, "metadata": {"labels": {"a": "b"}}}`)).To(Succeed())
	})

	It("is not deleted but with the annotation that the in-cluster provider heeds, and stays until its last claim has gone", func(ctx SpecContext) {
		p := inUse(ctx)
		Expect(k.Delete(ctx, p)).To(MatchError(And(ContainSubstring("is forbidden: 1 prefix is allocated from it"), ContainSubstring("10.0.0.2"))))
		Expect(patch(ctx, p, `{"metadata": {"annotations": {"ipam.cluster.x-k8s.io/skip-validate-delete-webhook": ""}}}`)).To(Succeed())
		Expect(k.Delete(ctx, p)).To(Succeed())
		Expect(k.Get(ctx, client.ObjectKeyFromObject(p), p)).To(Succeed())
		Expect(k.Delete(ctx, claimOf(ns, "c", icv1.InClusterIPPoolKind, "p"))).To(Succeed())
		gone(ctx, p)
	})

	It("goes with its namespace", func(ctx SpecContext) {
		p := inUse(ctx)
		Expect(k.Delete(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}})).To(Succeed())
		gone(ctx, p)
	})
})
