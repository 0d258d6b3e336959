// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3

import (
	"context"
	"slices"
	"strconv"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/yaml"

	m3v1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/metal3/v1alpha1"
	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// foreignFinalizer is somebody else's.
const foreignFinalizer = "example.com/hold"

// newPool returns a pool with this spec, in YAML without namePrefix.
func newPool(namespace, name, spec string) *m3v1.IPPool {
	GinkgoHelper()
	p := &m3v1.IPPool{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name}, Spec: m3v1.IPPoolSpec{NamePrefix: "p"}}
	Expect(yaml.UnmarshalStrict([]byte(spec), &p.Spec)).To(Succeed())
	return p
}

func get(ctx context.Context, obj client.Object) {
	GinkgoHelper()
	Expect(k.Get(ctx, client.ObjectKeyFromObject(obj), obj)).To(Succeed())
}

// blocksOf returns the blocks that are recorded for a pool, and checks whose they are.
func blocksOf(ctx context.Context, s *suite.Spec, p *m3v1.IPPool) []string {
	GinkgoHelper()
	records := s.Records(ctx, p)
	blocks := make([]string, 0, len(records))
	for _, record := range records {
		Expect(record.Namespace).To(Equal(p.Namespace))
		Expect(record.Spec.PoolRef).To(Equal(ipamv1.PoolReference{APIGroup: "ipam.metal3.io", Kind: "IPPool", Namespace: p.Namespace, Name: p.Name}))
		Expect(metav1.IsControlledBy(&record, p)).To(BeTrue())
		blocks = append(blocks, record.Spec.CIDR)
	}
	slices.Sort(blocks)
	return blocks
}

// counts are what a status says of capacity: capacity/available, "-" for what is absent, and a + where it is capped.
func counts(p *m3v1.IPPool) string {
	text := func(n *int64) string {
		if n == nil {
			return "-"
		}
		return strconv.FormatInt(*n, 10)
	}
	capped := ""
	if p.Status.CapacityCapped {
		capped = "+"
	}
	return text(p.Status.Capacity) + capped + "/" + text(p.Status.AvailableIPCount)
}

var _ = Describe("An IPPool of Metal3", func() {
	var s *suite.Spec

	BeforeEach(func(ctx SpecContext) { s = suite.New(ctx, site) })

	DescribeTable("is ready with the addresses that Metal3 would hand out", func(ctx SpecContext, spec, want string) {
		p := newPool(s.Namespace, "p", spec)
		s.Create(ctx, p)
		s.Ready(ctx, p)
		Expect(counts(p)).To(Equal(want))
		Expect(p.Finalizers).To(ConsistOf("ippool.ipam.metal3.io"))
		Expect(p.Status.LastUpdated).NotTo(BeNil())
		Expect(p.Status.Allocations).To(BeEmpty())
		Expect(p.OwnerReferences).To(BeEmpty())
		Expect(p.Labels).To(BeEmpty())
		Expect(meta.IsStatusConditionFalse(p.Status.Conditions, ipamv1.PausedCondition)).To(BeTrue())
	},
		Entry("of a subnet", "{pools: [{subnet: 192.0.2.0/28}]}", "15/15"),
		Entry("of a subnet as it is written", "{pools: [{subnet: 192.168.1.1/26}]}", "62/62"),
		Entry("of a subnet written by its last address but one", "{pools: [{subnet: 192.0.2.14/28}]}", "1/1"),
		Entry("of a subnet that an end bounds", "{pools: [{subnet: 192.0.2.0/28, end: 192.0.2.4}]}", "4/4"),
		Entry("of a range", "{pools: [{start: 192.0.2.1, end: 192.0.2.3}]}", "3/3"),
		Entry("of one address", "{pools: [{start: 192.0.2.1, end: 192.0.2.1}]}", "1/1"),
		Entry("of a start in a subnet", "{pools: [{start: 192.0.2.8, subnet: 192.0.2.0/28}]}", "8/8"),
		Entry("of the network address, by its name", "{pools: [{start: 192.0.2.0, subnet: 192.0.2.0/28}]}", "16/16"),
		Entry("of a range in a subnet", "{pools: [{start: 192.0.2.8, end: 192.0.2.9, subnet: 192.0.2.0/28}]}", "2/2"),
		Entry("of a range that ends behind its subnet", "{pools: [{start: 192.0.2.8, end: 192.0.2.99, subnet: 192.0.2.0/28}]}", "8/8"),
		Entry("of all addresses from a start on", "{pools: [{start: 192.0.2.9}]}", "-/-"),
		Entry("of those of IPv6", "{pools: [{start: '2001:db8::'}]}", "-/-"),
		Entry("of an open entry behind others", "{pools: [{subnet: 192.0.2.0/28}, {start: 192.0.3.0}]}", "-/-"),
		Entry("of an IPv6 subnet", "{pools: [{subnet: '2001:db8::/120'}]}", "255/255"),
		Entry("of more than can be counted", "{pools: [{subnet: '2001:db8::/64'}]}", "9223372036854775807+/-"),
		Entry("of entries that are not canonical", "{pools: [{start: '2001:0DB8::0001', end: '2001:DB8:0:0::F'}]}", "15/15"),
		Entry("of an IPv6 subnet whose length has a leading zero", "{pools: [{start: 'fd00::1', end: 'fd00::2', subnet: 'fd00::/08'}]}", "2/2"),
		Entry("of several entries", "{pools: [{start: 192.0.2.1, end: 192.0.2.3}, {start: 192.0.2.9, end: 192.0.2.9}]}", "4/4"),
		Entry("of entries not in order", "{pools: [{start: 192.0.2.9, end: 192.0.2.9}, {start: 192.0.2.1, end: 192.0.2.3}]}", "4/4"),
		Entry("of entries side by side", "{pools: [{start: 192.0.2.4, end: 192.0.2.7}, {start: 192.0.2.0, end: 192.0.2.3}]}", "8/8"),
		Entry("of entries that overlap, each once", "{pools: [{start: 192.0.2.1, end: 192.0.2.5}, {start: 192.0.2.3, end: 192.0.2.8}]}", "8/8"),
		Entry("of an entry inside another", "{pools: [{start: 192.0.2.0, end: 192.0.2.15}, {start: 192.0.2.3, end: 192.0.2.8}]}", "16/16"),
		Entry("of an entry around others", "{pools: [{start: 192.0.2.3, end: 192.0.2.4}, {start: 192.0.2.8, end: 192.0.2.9}, {start: 192.0.2.0, end: 192.0.2.15}]}", "16/16"),
		Entry("of an entry twice", "{pools: [{subnet: 192.0.2.0/28}, {subnet: 192.0.2.0/28}]}", "15/15"),
		Entry("but for the gateway", "{gateway: 192.0.2.1, pools: [{subnet: 192.0.2.0/28}]}", "14/14"),
		Entry("but for the gateways of entries", "{pools: [{start: 192.0.2.0, end: 192.0.2.7, gateway: 192.0.2.8}, {start: 192.0.2.8, end: 192.0.2.15, gateway: 192.0.2.0}]}", "14/14"),
		Entry("but for a gateway that no entry has left to it", "{gateway: 192.0.2.1, pools: [{subnet: 192.0.2.0/28, gateway: 192.0.2.2}]}", "13/13"),
		Entry("with a gateway outside", "{gateway: 192.0.2.254, pools: [{subnet: 192.0.2.0/28}]}", "15/15"),
		Entry("with a gateway of the other family", "{gateway: '2001:db8::1', pools: [{subnet: 192.0.2.0/28}]}", "15/15"),
		Entry("with what is kept for claims", "{preAllocations: {a: 192.0.2.3, b: 192.0.2.4}, pools: [{subnet: 192.0.2.0/28}]}", "15/13"),
		Entry("with what is kept twice, and outside", "{preAllocations: {a: 192.0.2.3, b: 192.0.2.3, c: 192.0.2.77}, pools: [{subnet: 192.0.2.0/28}]}", "15/14"),
		Entry("with a gateway that is to be kept", "{gateway: 192.0.2.3, preAllocations: {a: 192.0.2.3}, pools: [{subnet: 192.0.2.0/28}]}", "14/14"),
		Entry("without the length of a network", "{pools: [{start: 0.0.0.0, end: 0.0.0.1}, {start: 255.255.255.255}]}", "-/-"),
		Entry("with a length that does not exist", "{prefix: 128, pools: [{subnet: 192.0.2.0/28, prefix: -3}]}", "15/15"),
		Entry("with networks of entries", "{prefix: 24, pools: [{start: 192.0.2.0, end: 192.0.2.3}, {start: 192.0.2.4, end: 192.0.2.7, prefix: 30}]}", "8/8"),
		Entry("at random", "{allocationStrategy: random, pools: [{subnet: 192.0.2.0/28}]}", "15/15"),
		Entry("at random without an end", "{allocationStrategy: random, pools: [{start: 192.0.2.0}]}", "-/-"),
		Entry("of one entry among others without any", "{pools: [{}, {end: 192.0.2.3}, {subnet: 192.0.2.1/32}, {start: 192.0.2.9, end: 192.0.2.9}]}", "1/1"),
	)

	DescribeTable("that has no addresses is ready and exhausted", func(ctx SpecContext, spec string) {
		p := newPool(s.Namespace, "p", spec)
		s.Create(ctx, p)
		s.Exhausted(ctx, p)
		Expect(counts(p)).To(Equal("0/0"))
		Expect(blocksOf(ctx, s, p)).To(BeEmpty())
		s.Delete(ctx, p)
	},
		Entry("without entries", "{}"),
		Entry("with an entry without bounds", "{pools: [{}]}"),
		Entry("with an end only", "{pools: [{end: 192.0.2.9}]}"),
		Entry("with a subnet of one address", "{pools: [{subnet: 192.0.2.9/32}]}"),
		Entry("with a start outside of its subnet", "{pools: [{start: 192.0.3.1, subnet: 192.0.2.0/24}]}"),
	)

	It("that has no addresses tells its claims so, until it has", func(ctx SpecContext) {
		pool(ctx, s.Namespace, "{pools: []}")
		claim, asked, other := claimOf(s.Namespace, "c"), asking(claimOf(s.Namespace, "asked"), "192.0.2.9"), addressClaim(s.Namespace, "other")
		s.Create(ctx, claim, asked, other)
		refused(ctx, claim, m3v1.ExhaustedMessage)
		refused(ctx, asked, m3v1.ExhaustedMessage)
		s.NotReady(ctx, other, ipamv1.ClaimReadyPoolExhaustedReason)
		p := &m3v1.IPPool{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "p"}}
		suite.Change(ctx, k, p, func() { p.Spec.Pools = []m3v1.Pool{{Subnet: ptr.To[m3v1.Subnet]("192.0.2.0/28")}} })
		answered(ctx, claim)
		answered(ctx, asked)
		s.Ready(ctx, other)
	})

	It("says what is served but probably not meant", func(ctx SpecContext) {
		p := newPool(s.Namespace, "p", "{prefix: 24, pools: [{start: 192.0.2.1, end: 192.0.2.9}, {start: 192.0.2.9, end: 192.0.2.12}]}")
		s.Create(ctx, p)
		s.Ready(ctx, p)
		Expect(conditions.GetMessage(p, ipamv1.ReadyCondition)).To(ContainSubstring("spec.pools[1]: overlaps pools[0]"))
	})

	It("whose only address is the gateway is exhausted", func(ctx SpecContext) {
		p := newPool(s.Namespace, "p", "{gateway: 192.0.2.1, pools: [{start: 192.0.2.1, end: 192.0.2.1}]}")
		s.Create(ctx, p)
		s.Exhausted(ctx, p)
		Expect(counts(p)).To(Equal("0/0"))
	})

	DescribeTable("says at which field a spec cannot be served", func(ctx SpecContext, spec string, words ...any) {
		p := newPool(s.Namespace, "p", spec)
		p.Finalizers = []string{m3v1.IPPoolFinalizer} // it has been stored before the policies were
		s.Create(ctx, p)
		texts := make([]string, 0, len(words))
		for _, word := range words {
			texts = append(texts, word.(string)) //nolint:forcetypeassert // all are
		}
		s.NotReady(ctx, p, ipamv1.PoolReadyInvalidSpecReason, texts...)
		Expect(counts(p)).To(Equal("-/-"))
		Expect(blocksOf(ctx, s, p)).To(BeEmpty())
		suite.Change(ctx, k, p, func() { p.Spec.Prefix = 24 })
		s.Delete(ctx, p)
	},
		Entry("entries of two families", "{pools: [{subnet: 192.0.2.0/24}, {subnet: '2001:db8::/64'}]}", "spec.pools[1]", "is IPv6, and the entries before are IPv4"),
		Entry("an entry of two families", "{pools: [{start: 192.0.2.1, end: '2001:db8::1'}]}", "spec.pools[0]", "mixes IPv4 and IPv6"),
		Entry("a start of another family than its subnet", "{pools: [{start: '2001:db8::1', subnet: 192.0.2.0/24}]}", "spec.pools[0]", "mixes IPv4 and IPv6"),
		Entry("an end before the start", "{pools: [{start: 192.0.2.9, end: 192.0.2.1}]}", "spec.pools[0].end", "is before start, 192.0.2.9"),
		Entry("all addresses of a family", "{pools: [{start: 0.0.0.0}]}", "spec.pools[0]", "contains every address of its family"),
		Entry("several mistakes", "{pools: [{start: 192.0.2.9, end: 192.0.2.1}, {start: 192.0.2.1, end: '::1'}]}", "spec.pools[0].end", "spec.pools[1]"),
	)

	It("is served once its spec can be, and not while it cannot", func(ctx SpecContext) {
		p := newPool(s.Namespace, "p", "{pools: [{start: 192.0.2.9, end: 192.0.2.1}]}")
		s.Create(ctx, p)
		s.NotReady(ctx, p, ipamv1.PoolReadyInvalidSpecReason, "spec.pools[0].end")
		suite.Change(ctx, k, p, func() { p.Spec.Pools[0].End = ptr.To[m3v1.Address]("192.0.2.10") })
		s.Ready(ctx, p)
		Expect(counts(p)).To(Equal("2/2"))
		suite.Change(ctx, k, p, func() { p.Spec.Pools[0].End = ptr.To[m3v1.Address]("192.0.2.1") })
		s.NotReady(ctx, p, ipamv1.PoolReadyInvalidSpecReason, "spec.pools[0].end")
		Expect(counts(p)).To(Equal("-/-"))
	})

	It("grows and shrinks with its spec", func(ctx SpecContext) {
		p := newPool(s.Namespace, "p", "{pools: [{start: 192.0.2.4, end: 192.0.2.7}]}")
		s.Create(ctx, p)
		s.Ready(ctx, p)
		Expect(blocksOf(ctx, s, p)).To(Equal([]string{"192.0.2.4/30"}))
		suite.Change(ctx, k, p, func() {
			p.Spec.Pools = append(p.Spec.Pools, m3v1.Pool{Start: ptr.To[m3v1.Address]("192.0.2.0"), End: ptr.To[m3v1.Address]("192.0.2.3")})
		})
		Eventually(func(g Gomega) {
			get(ctx, p)
			g.Expect(counts(p)).To(Equal("8/8"))
			g.Expect(blocksOf(ctx, s, p)).To(Equal([]string{"192.0.2.0/29"}))
		}, "1m", "100ms").Should(Succeed())
		suite.Change(ctx, k, p, func() { p.Spec.Pools = nil })
		Eventually(func(g Gomega) {
			get(ctx, p)
			g.Expect(counts(p)).To(Equal("0/0"))
			g.Expect(blocksOf(ctx, s, p)).To(BeEmpty())
		}, "1m", "100ms").Should(Succeed())
	})

	It("that is not used is deleted at once, with what is recorded of it", func(ctx SpecContext) {
		p := newPool(s.Namespace, "p", "{pools: [{subnet: 192.0.2.0/28}]}")
		s.Create(ctx, p)
		s.Ready(ctx, p)
		Expect(blocksOf(ctx, s, p)).NotTo(BeEmpty())
		s.Delete(ctx, p)
		Expect(blocksOf(ctx, s, p)).To(BeEmpty())
	})

	It("that Metal3's controller has marked is deleted, too", func(ctx SpecContext) {
		p := newPool(s.Namespace, "p", "{pools: [{subnet: 192.0.2.0/28}]}")
		p.Finalizers = []string{m3v1.IPPoolFinalizer}
		s.Create(ctx, p)
		s.Delete(ctx, p)
	})

	It("waits for the finalizers of others", func(ctx SpecContext) {
		p := newPool(s.Namespace, "p", "{pools: [{subnet: 192.0.2.0/28}]}")
		p.Finalizers = []string{foreignFinalizer}
		s.Create(ctx, p)
		s.Ready(ctx, p)
		Expect(k.Delete(ctx, p)).To(Succeed())
		s.NotReady(ctx, p, ipamv1.PoolReadyDeletingReason, foreignFinalizer)
		Expect(p.Finalizers).To(ContainElement(m3v1.IPPoolFinalizer))
		suite.Change(ctx, k, p, func() {
			p.Finalizers = slices.DeleteFunc(p.Finalizers, func(f string) bool { return f == foreignFinalizer })
		})
		s.Gone(ctx, p)
	})

	It("that is paused is left alone", func(ctx SpecContext) {
		p := newPool(s.Namespace, "p", "{pools: [{subnet: 192.0.2.0/28}]}")
		p.Annotations = map[string]string{clusterv1.PausedAnnotation: ""}
		s.Create(ctx, p)
		s.NotReady(ctx, p, ipamv1.PoolReadyPausedReason)
		Expect(p.Finalizers).To(BeEmpty())
		Expect(p.Status.LastUpdated).NotTo(BeNil())
		suite.Change(ctx, k, p, func() { p.Annotations = nil })
		s.Ready(ctx, p)
	})

	It("has its status written only where something else has changed than the time", func(ctx SpecContext) {
		p := newPool(s.Namespace, "p", "{pools: [{subnet: 192.0.2.0/28}]}")
		s.Create(ctx, p)
		s.Ready(ctx, p)
		var stored string
		By("waiting until nothing of its first status is outstanding")
		Eventually(func() bool {
			before := stored
			get(ctx, p)
			stored = p.ResourceVersion
			return stored == before
		}, "1m", "4s").Should(BeTrue())
		was := p.Status.LastUpdated
		suite.Change(ctx, k, p, func() { p.Annotations = map[string]string{"example.com/note": "looked at again"} })
		stored = p.ResourceVersion
		Consistently(func() string {
			get(ctx, p)
			return p.ResourceVersion
		}, "500ms", "100ms").Should(Equal(stored))
		suite.Change(ctx, k, p, func() { p.Spec.Gateway = ptr.To[m3v1.Address]("192.0.2.1") })
		Eventually(func() string {
			get(ctx, p)
			return counts(p)
		}, "1m", "100ms").Should(Equal("14/14"))
		Expect(p.Status.LastUpdated.After(was.Time)).To(BeTrue())
		Expect(p.Status.LastUpdated.Time).To(BeTemporally("~", time.Now(), time.Minute))
	})

	Context("of a Cluster", func() {
		const spec = "{clusterName: c, pools: [{subnet: 192.0.2.0/28}]}"

		It("waits for that, and then has its labels and its owner", func(ctx SpecContext) {
			p := newPool(s.Namespace, "p", spec)
			p.Labels = map[string]string{"a": "b"}
			s.Create(ctx, p)
			s.NotReady(ctx, p, ipamv1.PoolReadyClusterNotFoundReason, "spec.clusterName")
			Expect(p.Finalizers).To(BeEmpty())
			Expect(p.OwnerReferences).To(BeEmpty())
			cluster := builder.Cluster(s.Namespace, "c").Build()
			s.Create(ctx, cluster)
			s.Ready(ctx, p)
			Expect(p.Labels).To(Equal(map[string]string{
				"a": "b", "cluster.x-k8s.io/cluster-name": "c", "cluster.x-k8s.io/provider": "ipam-metal3",
			}))
			Expect(p.OwnerReferences).To(Equal([]metav1.OwnerReference{{
				APIVersion: clusterv1.GroupVersion.String(), Kind: "Cluster", Name: "c", UID: cluster.UID,
			}}))
		})

		It("pauses with it", func(ctx SpecContext) {
			s.Create(ctx, builder.Cluster(s.Namespace, "c").WithPaused(true).Build())
			p := newPool(s.Namespace, "p", spec)
			s.Create(ctx, p)
			s.NotReady(ctx, p, ipamv1.PoolReadyPausedReason)
			Expect(p.Finalizers).To(BeEmpty())
			cluster := builder.Cluster(s.Namespace, "c").Build()
			suite.Change(ctx, k, cluster, func() { cluster.Spec.Paused = nil })
			s.Ready(ctx, p)
		})

		It("stops clusterctl while a claim would stay, and says which", func(ctx SpecContext) {
			cluster := builder.Cluster(s.Namespace, "c").Build()
			s.Create(ctx, cluster)
			p := newPool(s.Namespace, "p", spec)
			s.Create(ctx, p)
			s.Ready(ctx, p)
			claim := claimOf(s.Namespace, "vip")
			s.Create(ctx, claim)
			movable := func() (string, string, bool) {
				get(ctx, p)
				_, blocked := p.Annotations[clusterctlv1.BlockMoveAnnotation]
				return string(conditions.Get(p, ipamv1.MovableCondition).Status), conditions.GetMessage(p, ipamv1.MovableCondition), blocked
			}
			Eventually(func(g Gomega) {
				status, message, blocked := movable()
				g.Expect(status).To(Equal("False"))
				g.Expect(message).To(ContainSubstring("IPClaim " + s.Namespace + "/vip (it has no owner that moves)"))
				g.Expect(blocked).To(BeTrue())
			}, "1m", "100ms").Should(Succeed())
			owners := []metav1.OwnerReference{{APIVersion: clusterv1.GroupVersion.String(), Kind: "Cluster", Name: "c", UID: cluster.UID}}
			suite.Change(ctx, k, claim, func() { claim.OwnerReferences = owners })
			Eventually(func(g Gomega) {
				status, _, blocked := movable()
				g.Expect(status).To(Equal("True"))
				g.Expect(blocked).To(BeFalse())
			}, "1m", "100ms").Should(Succeed())
		})

		It("goes with it", func(ctx SpecContext) {
			cluster := builder.Cluster(s.Namespace, "c").Build()
			s.Create(ctx, cluster)
			p := newPool(s.Namespace, "p", spec)
			s.Create(ctx, p)
			s.Ready(ctx, p)
			Expect(k.Delete(ctx, cluster)).To(Succeed())
			s.Gone(ctx, p)
		})
	})

	Context("in an address space", func() {
		const spec = "{pools: [{subnet: 192.0.2.0/28}]}"

		in := func(space string, p *m3v1.IPPool) *m3v1.IPPool {
			p.Annotations = map[string]string{m3v1.AddressSpaceAnnotation: space}
			return p
		}

		It("of its own may overlap any other", func(ctx SpecContext) {
			elsewhere := s.Another(ctx, nil)
			p, q, namesake := newPool(s.Namespace, "p", spec), newPool(s.Namespace, "q", spec), newPool(elsewhere, "p", spec)
			weirs := s.Root("p", "192.0.2.0/24").Build()
			s.Create(ctx, p, q, namesake, weirs)
			s.Ready(ctx, p, q, namesake, weirs)
			Expect(s.Records(ctx, p)).NotTo(BeEmpty())
			for _, record := range s.Records(ctx, p) {
				Expect(record.Spec.AddressSpace).To(Equal("metal3/" + s.Namespace + "/p"))
			}
			By("deleting it, and Weir's pool of the name")
			s.Delete(ctx, p)
			s.Ready(ctx, q, namesake, weirs)
			s.Create(ctx, newPool(s.Namespace, "p", spec))
			s.Delete(ctx, weirs)
			p = newPool(s.Namespace, "p", spec)
			s.Ready(ctx, p, q, namesake)
			Expect(counts(p)).To(Equal("15/15"))
		})

		It("that it names shares it with other pools of any kind", func(ctx SpecContext) {
			first := in(s.Namespace, newPool(s.Namespace, "p", spec))
			s.Create(ctx, first)
			s.Ready(ctx, first)
			second := in(s.Namespace, newPool(s.Namespace, "q", spec))
			weirs := s.Root("w", "192.0.2.8/29").Build()
			beside := s.Root("beside", "192.0.3.0/24").Build()
			s.Create(ctx, second, weirs, beside)
			s.NotReady(ctx, second, ipamv1.PoolReadyOverlapReason, "192.0.2.1 is in use")
			s.NotReady(ctx, weirs, ipamv1.PoolReadyOverlapReason)
			s.Ready(ctx, beside)
			s.Delete(ctx, weirs)
			s.Delete(ctx, first)
			s.Ready(ctx, second)
		})

		It("that it may not name says so", func(ctx SpecContext) {
			p := in("metal3/"+s.Namespace+"/q", newPool(s.Namespace, "p", spec))
			s.Create(ctx, p)
			s.NotReady(ctx, p, ipamv1.PoolReadyInvalidSpecReason, "metadata.annotations[ipam.weir.dev/address-space]")
		})
	})
})
