// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package incluster

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	icv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/incluster/v1alpha2"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// capvFinalizer is what CAPV takes off a claim once the virtual machine is gone.
const capvFinalizer = "vspherevm.infrastructure.cluster.x-k8s.io/ip-claim-protection"

var _ = Describe("k0rdent", func() {
	It("makes a pool without a prefix, waits for its total, and writes nothing where nothing has changed", func(ctx SpecContext) {
		ns := suite.Namespace(ctx, k, suite.Guarded)
		owner := create(ctx, consumer(ns, "ClusterIPAMClaim", "nodes"))
		bind := func(spec icv1.InClusterIPPoolSpec) (done controllerutil.OperationResult) {
			GinkgoHelper()
			Eventually(func() (err error) {
				p := &icv1.InClusterIPPool{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: owner.GetName()}}
				done, err = controllerutil.CreateOrUpdate(ctx, k, p, func() error {
					p.Spec = spec
					return controllerutil.SetOwnerReference(owner, p, k.Scheme())
				})
				return err
			}, patience, interval).Should(Succeed())
			return done
		}
		counted := func() *icv1.InClusterIPPoolStatusIPAddresses {
			GinkgoHelper()
			p := &icv1.InClusterIPPool{}
			Eventually(func(g Gomega) {
				g.Expect(k.Get(ctx, client.ObjectKey{Namespace: ns, Name: owner.GetName()}, p)).To(Succeed())
				g.Expect(p.Status.Addresses).To(HaveValue(HaveField("Total", BeNumerically(">", 0))))
			}, patience, interval).Should(Succeed())
			return p.Status.Addresses
		}
		spec := icv1.InClusterIPPoolSpec{Addresses: []string{"10.6.0.0/24"}}
		Expect(bind(spec)).To(Equal(controllerutil.OperationResultCreated))
		Expect(counted().Total).To(BeEquivalentTo(256), "without a network no address of it is reserved")
		Expect(bind(spec)).To(Equal(controllerutil.OperationResultNone))
		first := told(ctx, create(ctx, claimOf(ns, "first", icv1.InClusterIPPoolKind, owner.GetName())))
		Expect(first.Spec).To(And(HaveField("Address", "10.6.0.0"), HaveField("Prefix", HaveValue(BeZero())), HaveField("Gateway", "")))

		By("saying the network later, as newer releases do")
		Expect(k.Delete(ctx, claimOf(ns, "first", "", ""))).To(Succeed())
		gone(ctx, first)
		spec.Prefix, spec.Gateway = 24, "10.6.0.1"
		Expect(bind(spec)).To(Equal(controllerutil.OperationResultUpdated))
		Expect(bind(spec)).To(Equal(controllerutil.OperationResultNone))
		next := told(ctx, create(ctx, claimOf(ns, "next", icv1.InClusterIPPoolKind, owner.GetName())))
		Expect(next.Spec).To(And(HaveField("Address", "10.6.0.2"), HaveField("Prefix", HaveValue(BeEquivalentTo(24))), HaveField("Gateway", "10.6.0.1")))
	})
})

var _ = Describe("CAPV", func() {
	It("keeps the address of a claim that is deleted until it takes its finalizer off", func(ctx SpecContext) {
		ns := suite.Namespace(ctx, k, suite.Guarded)
		create(ctx, builder.Cluster(ns, "green").Build())
		Eventually(func() error {
			return k.Create(ctx, &icv1.InClusterIPPool{
				ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "p"}, Spec: icv1.InClusterIPPoolSpec{Addresses: []string{"10.7.0.2-10.7.0.9"}, Prefix: 24},
			})
		}, patience, interval).Should(Succeed())
		vm := create(ctx, consumer(ns, "VSphereVM", "green-0"))
		claim := func(name string) *ipamv1beta2.IPAddressClaim {
			c := claimOf(ns, name, icv1.InClusterIPPoolKind, "p")
			c.Labels, c.Finalizers = map[string]string{clusterv1.ClusterNameLabel: "green"}, []string{capvFinalizer}
			return c
		}
		had := claim("green-0-0-0")
		Expect(controllerutil.SetOwnerReference(vm, had, k.Scheme())).To(Succeed())
		address := told(ctx, create(ctx, had))
		Expect(address.Spec.Address).To(Equal("10.7.0.2"))

		By("deleting the virtual machine's object, and with it the claim, while the virtual machine is there still")
		Expect(k.Delete(ctx, vm)).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(had), had)).To(Succeed())
			g.Expect(had.DeletionTimestamp).NotTo(BeNil())
		}, patience, interval).Should(Succeed())
		Expect(told(ctx, create(ctx, claim("green-1-0-0"))).Spec.Address).To(Equal("10.7.0.3"))
		Expect(k.Get(ctx, client.ObjectKeyFromObject(address), address)).To(Succeed())
		Expect(address.DeletionTimestamp).To(BeNil())

		By("taking CAPV's finalizer off")
		suite.Change(ctx, k, had, func() { controllerutil.RemoveFinalizer(had, capvFinalizer) })
		gone(ctx, had)
		gone(ctx, address)
		Expect(told(ctx, create(ctx, claim("green-2-0-0"))).Spec.Address).To(Equal("10.7.0.2"))
	})
})
