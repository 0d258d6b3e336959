// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package incluster

import (
	"bytes"
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	icv1alpha1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/incluster/v1alpha1"
	icv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/incluster/v1alpha2"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// older returns a pool of each kind, as a manifest of v1alpha1 has it.
func older(ns string, spec icv1alpha1.InClusterIPPoolSpec) (*icv1alpha1.InClusterIPPool, *icv1alpha1.GlobalInClusterIPPool) {
	return &icv1alpha1.InClusterIPPool{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "p"}, Spec: spec},
		&icv1alpha1.GlobalInClusterIPPool{ObjectMeta: metav1.ObjectMeta{Name: ns}, Spec: *spec.DeepCopy()}
}

var _ = DescribeTable("A pool that is written as v1alpha1 is the same in v1alpha2:", func(ctx SpecContext, spec icv1alpha1.InClusterIPPoolSpec, same icv1.InClusterIPPoolSpec) {
	ns := suite.Namespace(ctx, k, suite.Guarded)
	p, global := older(ns, spec)
	for _, pool := range []client.Object{p, global} {
		Eventually(func() error { return k.Create(ctx, pool) }, patience, interval).Should(Succeed())
	}
	told(ctx, create(ctx, claimOf(ns, "c", icv1.InClusterIPPoolKind, p.Name)))
	told(ctx, create(ctx, claimOf(ns, "d", icv1.GlobalInClusterIPPoolKind, global.Name)))
	newer, newerGlobal := &icv1.InClusterIPPool{}, &icv1.GlobalInClusterIPPool{}
	Expect(k.Get(ctx, client.ObjectKeyFromObject(p), newer)).To(Succeed())
	Expect(k.Get(ctx, client.ObjectKeyFromObject(global), newerGlobal)).To(Succeed())
	Expect(newer.Spec).To(Equal(same))
	Expect(newerGlobal.Spec).To(Equal(same))

	By("reading v1alpha1, and writing it back with another label")
	Eventually(func(g Gomega) {
		g.Expect(k.Get(ctx, client.ObjectKeyFromObject(p), newer)).To(Succeed())
		g.Expect(newer.Status.Addresses).To(HaveValue(HaveField("Used", BeEquivalentTo(1))))
		g.Expect(k.Get(ctx, client.ObjectKeyFromObject(p), p)).To(Succeed())
		g.Expect(p.Status).To(Equal(newer.Status))
	}, patience, interval).Should(Succeed())
	Expect(p.Spec).To(Equal(spec))
	suite.Change(ctx, k, p, func() { p.Labels = map[string]string{"a": "b"} })
	Expect(k.Get(ctx, client.ObjectKeyFromObject(p), newer)).To(Succeed())
	Expect(newer.Labels).To(HaveKeyWithValue("a", "b"))
	Expect(newer.Spec).To(Equal(same))
},
	Entry("addresses and prefix", icv1alpha1.InClusterIPPoolSpec{Addresses: []string{"10.0.0.8-10.0.0.20", "10.0.0.32/28"}, Prefix: ptr.To(24)},
		icv1.InClusterIPPoolSpec{Addresses: []string{"10.0.0.8-10.0.0.20", "10.0.0.32/28"}, Prefix: 24}),
	Entry("a gateway", icv1alpha1.InClusterIPPoolSpec{Addresses: []string{"10.0.0.0/24"}, Prefix: ptr.To(24), Gateway: "10.0.0.1"},
		icv1.InClusterIPPoolSpec{Addresses: []string{"10.0.0.0/24"}, Prefix: 24, Gateway: "10.0.0.1"}),
	Entry("a prefix that says nothing", icv1alpha1.InClusterIPPoolSpec{Addresses: []string{"10.0.0.8"}, Prefix: ptr.To(0)},
		icv1.InClusterIPPoolSpec{Addresses: []string{"10.0.0.8"}}),
	Entry("what only v1alpha2 of the in-cluster provider has",
		icv1alpha1.InClusterIPPoolSpec{
			Addresses: []string{"10.0.0.0/28"}, Prefix: ptr.To(28), AllocateReservedIPAddresses: true, ExcludedAddresses: []string{"10.0.0.4"},
			AddressReuseGracePeriodSeconds: 60,
		},
		icv1.InClusterIPPoolSpec{
			Addresses: []string{"10.0.0.0/28"}, Prefix: 28, AllocateReservedIPAddresses: true, ExcludedAddresses: []string{"10.0.0.4"},
			AddressReuseGracePeriodSeconds: 60,
		}),
)

var _ = DescribeTable("A pool of v1alpha1 is refused with what to write, and what is stored stays:", func(ctx SpecContext, spec icv1alpha1.InClusterIPPoolSpec, words ...string) {
	refused := MatchError(ContainSubstring(words[0]))
	for _, more := range words[1:] {
		refused = And(refused, MatchError(ContainSubstring(more)))
	}
	ns := suite.Namespace(ctx, k, suite.Guarded)
	p, global := older(ns, spec)
	Expect(k.Create(ctx, p)).To(refused)
	Expect(k.Create(ctx, global)).To(refused)

	stored := &icv1.InClusterIPPool{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "p"}, Spec: icv1.InClusterIPPoolSpec{Addresses: []string{"10.0.0.8"}, Prefix: 24},
	}
	Eventually(func() error { return k.Create(ctx, stored) }, patience, interval).Should(Succeed())
	told(ctx, create(ctx, claimOf(ns, "c", icv1.InClusterIPPoolKind, "p")))
	Eventually(func() error { // Weir writes the pool's status meanwhile
		if err := k.Get(ctx, client.ObjectKeyFromObject(p), p); err != nil {
			return err
		}
		p.Spec = spec
		return k.Update(ctx, p)
	}, patience, interval).Should(refused)
	Expect(k.Get(ctx, client.ObjectKeyFromObject(stored), stored)).To(Succeed())
	Expect(stored.Spec).To(Equal(icv1.InClusterIPPoolSpec{Addresses: []string{"10.0.0.8"}, Prefix: 24}))
	Expect(stored.Generation).To(BeEquivalentTo(1))
},
	Entry("subnet", icv1alpha1.InClusterIPPoolSpec{Subnet: "10.0.0.0/24", Gateway: "10.0.0.1"},
		"spec.subnet: Forbidden: is not served any more: write addresses: [FIRST-LAST], from its second address to its last but one, and its length as prefix"),
	Entry("subnet beside addresses", icv1alpha1.InClusterIPPoolSpec{Subnet: "10.0.0.0/24", Addresses: []string{"10.0.0.8"}, Prefix: ptr.To(24)}, "spec.subnet: Forbidden"),
	Entry("start and end", icv1alpha1.InClusterIPPoolSpec{Start: "10.0.0.8", End: "10.0.0.20", Prefix: ptr.To(24)},
		"spec.start: Forbidden: is not served any more: write addresses: [10.0.0.8-10.0.0.20]",
		"spec.end: Forbidden: is not served any more: write addresses: [10.0.0.8-10.0.0.20]"),
	Entry("start alone", icv1alpha1.InClusterIPPoolSpec{Start: "10.0.0.8", Prefix: ptr.To(24)}, "spec.start: Forbidden: is not served any more: write addresses: [START-END]"),
	Entry("end alone", icv1alpha1.InClusterIPPoolSpec{End: "10.0.0.20", Prefix: ptr.To(24)}, "spec.end: Forbidden: is not served any more: write addresses: [START-END]"),
	Entry("no addresses", icv1alpha1.InClusterIPPoolSpec{Prefix: ptr.To(24)}, "spec.addresses: Required value: single addresses, CIDRs and ranges FIRST-LAST"),
	Entry("no prefix", icv1alpha1.InClusterIPPoolSpec{Addresses: []string{"10.0.0.8"}},
		"spec.prefix: Required value: the length of the network that the addresses are in"),
)

var _ = Describe("A pool of v1alpha1", func() {
	It("is judged as one of v1alpha2: its mistakes, what is in use, and the space that its Namespace names", func(ctx SpecContext) {
		ns := suite.Namespace(ctx, k, suite.Guarded)
		create(ctx, claimOf(ns, "c", icv1.InClusterIPPoolKind, "p"))
		Expect(k.Patch(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}, client.RawPatch("application/merge-patch+json",
			[]byte(`{"metadata":{"annotations":{"`+icv1.AddressSpaceAnnotation+`":"`+ns+`"}}}`)))).To(Succeed())
		wrong, _ := older(ns, icv1alpha1.InClusterIPPoolSpec{Addresses: []string{"10.0.0.9-10.0.0.8"}, Prefix: ptr.To(24)})
		Eventually(func() error { return k.Create(ctx, wrong, client.DryRunAll) }, patience, interval).
			Should(MatchError(ContainSubstring("spec.addresses[0]: Invalid value")))
		p, _ := older(ns, icv1alpha1.InClusterIPPoolSpec{Addresses: []string{"10.0.0.8-10.0.0.9"}, Prefix: ptr.To(24)})
		Expect(k.Create(ctx, p)).To(Succeed())
		Expect(p.Annotations).To(HaveKeyWithValue(icv1.AddressSpaceAnnotation, ns))
		told(ctx, claimOf(ns, "c", icv1.InClusterIPPoolKind, "p"))
		Eventually(func() error {
			if err := k.Get(ctx, client.ObjectKeyFromObject(p), p); err != nil {
				return err
			}
			p.Spec.Addresses = []string{"10.0.0.9"}
			return k.Update(ctx, p)
		}, patience, interval).Should(MatchError(And(ContainSubstring("1 prefix is in use"), ContainSubstring("10.0.0.8"))))
		Expect(k.Delete(ctx, p)).To(MatchError(ContainSubstring("1 prefix is allocated from it")))
	})

	It("comes with a warning that says what to use", func(ctx SpecContext) {
		ns := suite.Namespace(ctx, k, nil)
		p, global := older(ns, icv1alpha1.InClusterIPPoolSpec{Addresses: []string{"10.0.0.8"}, Prefix: ptr.To(24)})
		for _, pool := range []client.Object{p, global} {
			Expect(warnings(ctx, pool)).To(ContainSubstring("is deprecated: use v1alpha2, with addresses and prefix"))
		}
	})
})

// warnings are what who creates an object is warned of.
func warnings(ctx context.Context, obj client.Object) string {
	GinkgoHelper()
	heard := &bytes.Buffer{}
	config := rest.CopyConfig(site.Config())
	config.WarningHandler = rest.NewWarningWriter(heard, rest.WarningWriterOptions{})
	c, err := client.New(config, client.Options{Scheme: k.Scheme()})
	Expect(err).NotTo(HaveOccurred())
	Eventually(func() error { return c.Create(ctx, obj, client.DryRunAll) }, patience, interval).Should(Succeed())
	return heard.String()
}
