// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package incluster

import (
	"context"
	"net/netip"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	icv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/incluster/v1alpha2"
	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// parentField is how messages name the annotation.
const parentField = "metadata.annotations[ipam.weir.dev/parent]"

var _ = Describe("A pool with a parent", func() {
	var s *suite.Spec
	var ns string

	BeforeEach(func(ctx SpecContext) {
		s = suite.New(ctx, site)
		ns = s.Another(ctx, map[string]string{ipamv1.ProjectLabel: s.Namespace, "guarded": "true"})
	})

	// root begins a parent of the project of ns, and under a pool of ns that is carved from it.
	root := func() *builder.PoolBuilder[*ipamv1.GlobalIPPool] {
		return s.GlobalRoot("root", "10.0.0.0/16").WithLabel(ipamv1.ProjectLabel, s.Namespace)
	}
	metadata := func(namespace, name string) metav1.ObjectMeta {
		return metav1.ObjectMeta{
			Namespace: namespace, Name: name, Annotations: map[string]string{icv1.ParentAnnotation: "GlobalIPPool/" + s.Global("root")},
		}
	}
	under := func(name string, addresses ...string) *icv1.InClusterIPPool {
		return &icv1.InClusterIPPool{ObjectMeta: metadata(ns, name), Spec: icv1.InClusterIPPoolSpec{Addresses: addresses, Prefix: 8, Gateway: "10.0.0.1"}}
	}
	// has waits until a pool is ready and has exactly these blocks, of its parent.
	has := func(ctx context.Context, p suite.Conditioned, parent *ipamv1.GlobalIPPool, blocks ...string) {
		GinkgoHelper()
		Eventually(func(g Gomega) {
			records := s.Records(ctx, p)
			recorded := make([]string, 0, len(records))
			for _, record := range records {
				g.Expect(record.Spec).To(And(HaveField("Purpose", ipamv1.PoolBlockPurpose), HaveField("AddressSpace", parent.Spec.AddressSpace),
					HaveField("PoolRef", ipamv1.PoolReference{Kind: ipamv1.GlobalIPPoolKind, Name: parent.Name})))
				g.Expect(metav1.IsControlledBy(&record, p)).To(BeTrue())
				recorded = append(recorded, record.Spec.CIDR)
			}
			g.Expect(recorded).To(ConsistOf(blocks))
		}, patience, interval).Should(Succeed())
		s.Ready(ctx, p)
	}
	address := func(ctx SpecContext, name, kind, pool string) string {
		GinkgoHelper()
		return told(ctx, create(ctx, claimOf(ns, name, kind, pool))).Spec.Address
	}

	It("has each of its ranges from there before it hands out anything, and gives all back when it is deleted", func(ctx SpecContext) {
		parent := create(ctx, root().Build())
		p := create(ctx, under("p", "10.0.0.16-10.0.0.20", "10.0.1.4/31"))
		has(ctx, p, parent, "10.0.0.16/30", "10.0.0.20/32", "10.0.1.4/31")
		Eventually(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(p), p)).To(Succeed())
			g.Expect(p.Status.Addresses).To(HaveValue(Equal(icv1.InClusterIPPoolStatusIPAddresses{Total: 7, Free: 7})))
		}, patience, interval).Should(Succeed())
		first := create(ctx, claimOf(ns, "first", icv1.InClusterIPPoolKind, "p"))
		Expect(told(ctx, first).Spec).To(And(HaveField("Address", "10.0.0.16"), HaveField("Gateway", "10.0.0.1"), HaveField("Prefix", HaveValue(BeEquivalentTo(8)))))
		Expect(s.Record(ctx, first).Spec.AddressSpace).To(Equal(parent.Spec.AddressSpace))
		By("having nobody else take anything of it")
		taken := create(ctx, builder.IPClaim(ns, "taken").From(ipamv1.GlobalIPPoolKind, parent.Name).WithCIDR("10.0.0.18/32").Build())
		s.NotReady(ctx, taken, ipamv1.ClaimReadyAddressConflictReason)
		beside := create(ctx, builder.IPPool(ns, "beside").WithParent(ipamv1.GlobalIPPoolKind, "", parent.Name).WithBits(29).Build())
		s.Ready(ctx, beside)
		Expect(k.Get(ctx, client.ObjectKeyFromObject(beside), beside)).To(Succeed())
		Expect(beside.Spec.CIDR).To(Equal("10.0.0.0/29"))
		By("being deleted")
		Expect(k.Delete(ctx, first)).To(Succeed())
		gone(ctx, first)
		Expect(k.Delete(ctx, p)).To(Succeed())
		gone(ctx, p)
		Expect(s.Records(ctx, p)).To(BeEmpty())
		s.Ready(ctx, taken)
	})

	It("of the whole cluster has its ranges there, too, of a parent that is for all", func(ctx SpecContext) {
		parent := create(ctx, root().WithLengths(16, 32, 24).WithVisibility(ipamv1.PlatformVisibility).Build())
		p := &icv1.GlobalInClusterIPPool{ObjectMeta: metadata("", ns), Spec: icv1.InClusterIPPoolSpec{Addresses: []string{"10.0.0.16/30"}, Prefix: 24}}
		Eventually(func() error { return k.Create(ctx, p) }, patience, interval).Should(Succeed()) // the webhook may not be served yet
		s.NotReady(ctx, p, ipamv1.PoolReadyParentNotReadyReason, parentField, "there is no GlobalIPPool", "or it is not visible here")
		suite.Change(ctx, k, parent, func() { parent.Spec.Visibility = ipamv1.SharedVisibility })
		has(ctx, p, parent, "10.0.0.16/30")
		Expect(address(ctx, "first", icv1.GlobalInClusterIPPoolKind, ns)).To(Equal("10.0.0.16"))
	})

	It("waits for a parent that is not there, and says so", func(ctx SpecContext) {
		p := create(ctx, under("p", "10.0.0.16/30"))
		s.NotReady(ctx, p, ipamv1.PoolReadyParentNotReadyReason, parentField, "there is no GlobalIPPool", "or it is not visible")
		waiting := create(ctx, claimOf(ns, "waiting", icv1.InClusterIPPoolKind, "p"))
		s.NotReady(ctx, waiting, ipamv1.ClaimReadyPoolNotReadyReason)
		create(ctx, root().Build())
		Expect(told(ctx, waiting).Spec.Address).To(Equal("10.0.0.16"))
	})

	DescribeTable("says what the parent does not give it, and serves nothing", func(ctx SpecContext,
		change func(*builder.PoolBuilder[*ipamv1.GlobalIPPool]), addresses []string, words string,
	) {
		b := root()
		change(b)
		create(ctx, b.Build())
		p := create(ctx, under("p", addresses...))
		s.NotReady(ctx, p, ipamv1.PoolReadyParentNotReadyReason, parentField, words)
		s.NotReady(ctx, create(ctx, claimOf(ns, "waiting", icv1.InClusterIPPoolKind, "p")), ipamv1.ClaimReadyPoolNotReadyReason)
		Expect(s.Records(ctx, p)).NotTo(ContainElement(HaveField("Spec.CIDR", "10.1.0.0/30")))
	},
		Entry("not visible", func(b *builder.PoolBuilder[*ipamv1.GlobalIPPool]) { b.WithVisibility(ipamv1.PlatformVisibility) },
			[]string{"10.0.1.0/28"}, "or it is not visible"),
		Entry("outside", func(*builder.PoolBuilder[*ipamv1.GlobalIPPool]) {}, []string{"10.0.1.0/28", "10.1.0.0/30"}, "10.1.0.0/30 is not in the pool"),
		Entry("excluded there", func(b *builder.PoolBuilder[*ipamv1.GlobalIPPool]) { b.WithExcluded("10.0.1.6") },
			[]string{"10.0.1.0/29"}, "10.0.1.0/29 is excluded"),
		Entry("longer than its bounds allow", func(b *builder.PoolBuilder[*ipamv1.GlobalIPPool]) { b.WithLengths(20, 28, 24) },
			[]string{"10.0.1.0-10.0.1.16"}, "10.0.1.16/32 is not allowed"),
		Entry("another project's without bounds", func(b *builder.PoolBuilder[*ipamv1.GlobalIPPool]) { b.WithLabel(ipamv1.ProjectLabel, "somebody") },
			[]string{"10.0.1.0/29"}, "belongs to another project"),
	)

	It("has what another one asks for as long as it does, and grows and shrinks", func(ctx SpecContext) {
		parent := create(ctx, root().Build())
		p := create(ctx, under("p", "10.0.0.16/30"))
		has(ctx, p, parent, "10.0.0.16/30")
		other := create(ctx, under("other", "10.0.0.18/31"))
		s.NotReady(ctx, other, ipamv1.PoolReadyOverlapReason, parentField+": 10.0.0.18/31 is in use", "InClusterIPPool "+ns+"/p")
		suite.Change(ctx, k, p, func() { p.Spec.Addresses = []string{"10.0.0.16/31", "10.0.2.0"} })
		has(ctx, p, parent, "10.0.0.16/31", "10.0.2.0/32")
		has(ctx, other, parent, "10.0.0.18/31")
	})

	It("hands out no more of what its parent excludes later, which a claim that has it keeps", func(ctx SpecContext) {
		parent := create(ctx, root().Build())
		p := create(ctx, under("p", "10.0.0.16/30"))
		has(ctx, p, parent, "10.0.0.16/30")
		first := create(ctx, claimOf(ns, "first", icv1.InClusterIPPoolKind, "p"))
		Expect(told(ctx, first).Spec.Address).To(Equal("10.0.0.16"))
		suite.Change(ctx, k, parent, func() { parent.Spec.ExcludedAddresses = []ipamv1.AddressEntry{"10.0.0.16-10.0.0.18"} })
		s.Ready(ctx, parent)
		Expect(address(ctx, "second", icv1.InClusterIPPoolKind, "p")).To(Equal("10.0.0.19"))
		third := create(ctx, claimOf(ns, "third", icv1.InClusterIPPoolKind, "p"))
		s.NotReady(ctx, third, ipamv1.ClaimReadyPoolExhaustedReason)
		asking := claimOf(ns, "asking", icv1.InClusterIPPoolKind, "p")
		asking.Annotations = map[string]string{ipamv1.AddressAnnotation: "10.0.0.18"}
		s.NotReady(ctx, create(ctx, asking), ipamv1.ClaimReadyAllocationFailedReason, "10.0.0.18", "is kept back")
		has(ctx, p, parent, "10.0.0.16/30")
		Expect(told(ctx, first).Spec.Address).To(Equal("10.0.0.16"))
		s.Ready(ctx, first)
		By("the parent excluding nothing any more")
		suite.Change(ctx, k, parent, func() { parent.Spec.ExcludedAddresses = nil })
		Expect(told(ctx, third).Spec.Address).To(Equal("10.0.0.17"))
		Expect(told(ctx, asking).Spec.Address).To(Equal("10.0.0.18"))
	})

	It("serves nothing once its parent was made again in another address space", func(ctx SpecContext) {
		parent := create(ctx, root().Build())
		p := create(ctx, under("p", "10.0.0.16/30"))
		has(ctx, p, parent, "10.0.0.16/30")
		Expect(k.Delete(ctx, parent)).To(Succeed())
		Expect(client.IgnoreNotFound(k.Patch(ctx, parent, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))))).To(Succeed())
		gone(ctx, parent)
		create(ctx, root().WithSpace("another-"+s.Namespace).Build())
		suite.Change(ctx, k, p, func() { p.Spec.Addresses = []string{"10.0.0.16/30", "10.0.0.40"} })
		s.NotReady(ctx, p, ipamv1.PoolReadyParentNotReadyReason, parentField, "has blocks in another address space than another-"+s.Namespace)
		Expect(s.Records(ctx, p)).To(HaveEach(HaveField("Spec.AddressSpace", parent.Spec.AddressSpace)))
	})

	DescribeTable("is refused for what its annotations say", func(ctx SpecContext, annotations map[string]string, words string) {
		p := under("p", "10.0.0.16/30")
		p.Annotations = annotations
		Eventually(func() error { return k.Create(ctx, p, client.DryRunAll) }, patience, interval).Should(MatchError(ContainSubstring(words)))
	},
		Entry("another kind", map[string]string{icv1.ParentAnnotation: "IPPool/g"}, parentField+": must be GlobalIPPool/<name>"),
		Entry("nothing", map[string]string{icv1.ParentAnnotation: ""}, parentField+": must be GlobalIPPool/<name>"),
		Entry("a namespace", map[string]string{icv1.ParentAnnotation: "GlobalIPPool/a/b"}, parentField+": must be GlobalIPPool/<name>"),
		Entry("a space beside the parent", map[string]string{icv1.ParentAnnotation: "GlobalIPPool/g", icv1.AddressSpaceAnnotation: "x"},
			"metadata.annotations[ipam.weir.dev/address-space]: not together with ipam.weir.dev/parent"),
	)

	It("may be named a parent by everybody, and what it was granted is for who may manage records to say", func(ctx SpecContext) {
		create(ctx, &rbacv1.Role{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "pools"}, Rules: []rbacv1.PolicyRule{
			{APIGroups: []string{icv1.GroupVersion.Group}, Resources: []string{"inclusterippools"}, Verbs: []string{"*"}},
		}})
		create(ctx, &rbacv1.RoleBinding{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "pools"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: "pools"},
			Subjects: []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: ns}},
		})
		tenant, err := site.As(ns)
		Expect(err).NotTo(HaveOccurred())
		p := under("p", "10.0.0.16/30")
		Eventually(func() error { return tenant.Create(ctx, p.DeepCopy(), client.DryRunAll) }, patience, interval).Should(Succeed())
		p.Annotations[ipamv1.GrantedAnnotation] = "x"
		Expect(tenant.Create(ctx, p, client.DryRunAll)).To(MatchError(ContainSubstring("may set or change ipam.weir.dev/granted")))
	})

	It("keeps its parent, and has none later", func(ctx SpecContext) {
		patch := func(obj client.Object, value string) error {
			return k.Patch(ctx, obj, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+icv1.ParentAnnotation+`":`+value+`}}}`)))
		}
		p, plain := create(ctx, under("p", "10.0.0.16/30")), under("plain", "10.0.0.16/30")
		plain.Annotations = nil
		create(ctx, plain)
		for _, value := range []string{`"GlobalIPPool/other"`, "null"} {
			Expect(patch(p, value)).To(MatchError(ContainSubstring(parentField + ": is set when the pool is created, and never changed")))
		}
		Expect(patch(plain, `"GlobalIPPool/other"`)).To(MatchError(ContainSubstring("never changed")))
	})

	It("is not given the space of its Namespace", func(ctx SpecContext) {
		annotation := []byte(`{"metadata":{"annotations":{"` + icv1.AddressSpaceAnnotation + `":"` + ns + `"}}}`)
		namespace := &metav1.PartialObjectMetadata{TypeMeta: metav1.TypeMeta{APIVersion: "v1", Kind: "Namespace"}, ObjectMeta: metav1.ObjectMeta{Name: ns}}
		Expect(k.Patch(ctx, namespace, client.RawPatch(types.MergePatchType, annotation))).To(Succeed())
		plain := under("plain", "10.0.0.16/30")
		Eventually(func(g Gomega) { // the webhook is served
			p := plain.DeepCopy()
			p.Annotations = nil
			g.Expect(k.Create(ctx, p, client.DryRunAll)).To(Succeed())
			g.Expect(p.Annotations).To(HaveKeyWithValue(icv1.AddressSpaceAnnotation, ns))
		}, patience, interval).Should(Succeed())
		parent := create(ctx, root().Build())
		has(ctx, create(ctx, plain), parent, "10.0.0.16/30")
		Expect(plain.Annotations).NotTo(HaveKey(icv1.AddressSpaceAnnotation))
	})

	It("that was moved here has what it was granted, and of what it only asked for nothing", func(ctx SpecContext) {
		parent := create(ctx, root().WithMode(ipamv1.DrainingMode).Build()) // it gives nothing to new ones
		s.NotReady(ctx, parent, ipamv1.PoolReadyDrainingReason)
		came, asked := under("p", "10.0.0.16/30"), under("asked", "10.0.0.16/30", "10.0.0.40")
		for _, p := range []*icv1.InClusterIPPool{asked, came} {
			p.Finalizers = []string{icv1.PoolFinalizer}
			p.Annotations[ipamv1.GrantedAnnotation] = pools.GrantOf([]netip.Prefix{netip.MustParsePrefix("10.0.0.16/30")})
			create(ctx, p)
			Expect(p.Annotations).To(HaveKeyWithValue(ipamv1.ArrivedAnnotation, "true"))
		}
		s.NotReady(ctx, asked, ipamv1.PoolReadyParentNotReadyReason, parentField, "is draining")
		Expect(s.Records(ctx, asked)).To(BeEmpty())
		has(ctx, came, parent, "10.0.0.16/30")
		Expect(address(ctx, "first", icv1.InClusterIPPoolKind, "p")).To(Equal("10.0.0.16"))
		By("keeping the mark when it is replaced")
		suite.Change(ctx, k, came, func() { delete(came.Annotations, ipamv1.ArrivedAnnotation) })
		Expect(came.Annotations).To(HaveKeyWithValue(ipamv1.ArrivedAnnotation, "true"))
	})

	It("says what it was granted, which goes with it", func(ctx SpecContext) {
		parent := create(ctx, root().Build())
		p := create(ctx, under("p", "10.0.0.16/30"))
		has(ctx, p, parent, "10.0.0.16/30")
		Eventually(func() string {
			Expect(k.Get(ctx, client.ObjectKeyFromObject(p), p)).To(Succeed())
			return p.Annotations[ipamv1.GrantedAnnotation]
		}, patience, interval).Should(Equal(pools.GrantOf([]netip.Prefix{netip.MustParsePrefix("10.0.0.16/30")})))
	})
})
