// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package weirkinds

import (
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

var _ = Describe("A claim", func() {
	It("has its prefix in the create response, is bound soon after, and frees the prefix when it goes", func(ctx SpecContext) {
		s := suite.New(ctx, site)
		s.Create(ctx, s.Root("pool", "10.0.0.0/24").WithNetwork(24, "10.0.0.254", "10.0.0.53").Build())
		c := s.Claim("web", "pool").Build()
		s.Create(ctx, c)
		Expect(c.Spec.CIDR).To(Equal("10.0.0.1/32"))
		Expect(c.Finalizers).To(ContainElement(ipamv1.ClaimFinalizer))

		s.Ready(ctx, c)
		record := s.Record(ctx, c)
		Expect(c.Status.AllocatedCIDR).To(Equal("10.0.0.1/32"))
		Expect(c.Status.AllocationRef.Name).To(Equal(record.Name))
		Expect(c.Status.Network.Gateway).To(Equal("10.0.0.254"))
		Expect(*c.Status.Network.PrefixLength).To(BeEquivalentTo(24))
		Expect(c.Status.Network.DNSServers).To(ConsistOf(ipamv1.DNSServer("10.0.0.53")))
		Expect(record.Namespace).To(Equal(c.Namespace))
		Expect(record.Spec.CIDR).To(Equal("10.0.0.1/32"))
		Expect(record.Spec.Purpose).To(Equal(ipamv1.ClaimPurpose))
		Expect(record.Finalizers).To(ContainElement(ipamv1.AllocationFinalizer))
		Expect(record.OwnerReferences).To(ContainElement(And(HaveField("UID", c.UID), HaveField("Controller", HaveValue(BeTrue())))))
		Expect(record.OwnerReferences).To(ContainElement(HaveField("Kind", ipamv1.IPPoolKind)))
		Expect(events(ctx, c)).To(BeEmpty(), "a success is no event")

		s.Delete(ctx, c)
		Expect(s.Records(ctx, c)).To(BeEmpty())
		again := s.Claim("db", "pool").Build()
		s.Create(ctx, again)
		Expect(again.Spec.CIDR).To(Equal("10.0.0.1/32"))
	}, SpecTimeout(5*time.Minute))

	It("may change its reclaimPolicy, and nothing else", func(ctx SpecContext) {
		s := suite.New(ctx, site)
		s.Create(ctx, s.Root("pool", "10.0.0.0/24").Build(), s.Root("other", "10.0.1.0/24").Build())
		c := s.Claim("web", "pool").WithBits(32).Build()
		s.Create(ctx, c)
		s.Ready(ctx, c)
		suite.Change(ctx, k, c, func() { c.Spec.ReclaimPolicy = ipamv1.ClaimReclaimRetain })
		s.Ready(ctx, c)
		for field, change := range map[string]func(*ipamv1.IPClaimSpec){
			"spec.cidr":         func(spec *ipamv1.IPClaimSpec) { spec.CIDR = "10.0.0.9/32" },
			"spec.poolRef":      func(spec *ipamv1.IPClaimSpec) { spec.PoolRef.Name = "other" },
			"spec.poolSelector": func(spec *ipamv1.IPClaimSpec) { spec.PoolSelector = &ipamv1.PoolSelector{Kind: ipamv1.IPPoolKind} },
			"spec.prefixLength": func(spec *ipamv1.IPClaimSpec) { *spec.PrefixLength = 31 },
			"spec.ipFamily":     func(spec *ipamv1.IPClaimSpec) { spec.IPFamily = ipamv1.IPv4Family },
		} {
			changed := c.DeepCopy()
			change(&changed.Spec)
			Expect(k.Update(ctx, changed)).To(suite.Refused(422, field), field)
		}
		s.Ready(ctx, c)
		Expect(c.Spec.CIDR).To(Equal("10.0.0.1/32"))
	}, SpecTimeout(5*time.Minute))

	It("keeps what was written into it through replace, apply and server-side apply of a manifest without it", func(ctx SpecContext) {
		s := suite.New(ctx, site)
		s.Create(ctx, s.Root("pool", "10.0.0.0/24").WithLabel("tier", "gold").Build())
		manifest := func(label string) string {
			return "{apiVersion: ipam.weir.dev/v1alpha1, kind: IPClaim, metadata: {name: web, labels: {says: " + label + "}}, " +
				"spec: {poolSelector: {kind: IPPool, matchLabels: {tier: gold}}}}"
		}
		namespace := "--namespace=" + s.Namespace
		out, err := site.Kubectl(ctx, manifest("created"), "create", namespace, "-f-", "-o", "jsonpath={.spec.cidr} {.spec.poolRef.name}")
		Expect(err).NotTo(HaveOccurred())
		Expect(out).To(Equal("10.0.0.1/32 pool"))
		c := s.Claim("web", "").Build()
		s.Ready(ctx, c)
		uid := c.UID
		for _, args := range [][]string{
			{"replace"}, {"apply"}, {"apply"}, {"apply", "--server-side", "--force-conflicts"}, {"apply", "--server-side"}, {"replace"},
		} {
			_, err = site.Kubectl(ctx, manifest(args[0]), append(args, namespace, "-f-")...)
			Expect(err).NotTo(HaveOccurred())
			s.Ready(ctx, c)
			Expect(c.Labels).To(HaveKeyWithValue("says", args[0]))
			Expect(c.Spec.CIDR).To(Equal("10.0.0.1/32"), "%v", args)
			Expect(c.Spec.PoolRef.Name).To(Equal("pool"), "%v", args)
			Expect(c.Finalizers).To(ContainElement(ipamv1.ClaimFinalizer), "%v", args)
		}
		Expect(c.UID).To(Equal(uid))
		Expect(s.Records(ctx, c)).To(HaveLen(1))

		out, err = site.Kubectl(ctx, "", "get", namespace, "wipc", "web")
		Expect(err).NotTo(HaveOccurred())
		Expect(out).To(MatchRegexp(`web +10\.0\.0\.1/32 +pool +True`))
	}, SpecTimeout(5*time.Minute))

	It("is deleted in the foreground like in the background", func(ctx SpecContext) {
		s := suite.New(ctx, site)
		s.Create(ctx, s.Root("pool", "10.0.0.0/24").Build())
		c := s.Claim("web", "pool").Build()
		s.Create(ctx, c)
		s.Ready(ctx, c)
		Expect(k.Delete(ctx, c, client.PropagationPolicy(metav1.DeletePropagationForeground))).To(Succeed())
		s.Gone(ctx, c)
		Expect(s.Records(ctx, c)).To(BeEmpty())
	}, SpecTimeout(5*time.Minute))

	It("goes in the foreground with its Machine, and with the Machine's Cluster", func(ctx SpecContext) {
		s := suite.New(ctx, site)
		s.Create(ctx, s.Root("pool", "10.0.0.0/24").Build())
		cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: "c"}, Spec: clusterv1.ClusterSpec{Paused: ptr.To(false)}}
		s.Create(ctx, cluster)
		owner := func(obj client.Object, kind string) []metav1.OwnerReference {
			return []metav1.OwnerReference{*metav1.NewControllerRef(obj, clusterv1.GroupVersion.WithKind(kind))}
		}
		// withClaims creates a Machine, and claims of both kinds that it waits for when it is deleted.
		withClaims := func(name string) []client.Object {
			GinkgoHelper()
			machine := &clusterv1.Machine{
				ObjectMeta: metav1.ObjectMeta{Namespace: s.Namespace, Name: name, OwnerReferences: owner(cluster, clusterv1.ClusterKind)},
				Spec: clusterv1.MachineSpec{
					ClusterName: "c", Bootstrap: clusterv1.Bootstrap{DataSecretName: ptr.To("none")},
					InfrastructureRef: clusterv1.ContractVersionedObjectReference{APIGroup: "infrastructure.example.com", Kind: "Host", Name: name},
				},
			}
			s.Create(ctx, machine)
			own, capi := s.Claim(name, "pool").Build(), builder.IPAddressClaim(s.Namespace, name, ipamv1.IPPoolKind, "pool").WithCluster("c").Build()
			own.Labels = map[string]string{clusterv1.ClusterNameLabel: "c"}
			for _, claim := range []client.Object{own, capi} {
				claim.SetOwnerReferences(owner(machine, "Machine"))
				s.Create(ctx, claim)
			}
			s.Ready(ctx, own, capi)
			return []client.Object{machine, own, capi}
		}
		first, second := withClaims("first"), withClaims("second")
		foreground := client.PropagationPolicy(metav1.DeletePropagationForeground)
		Expect(k.Delete(ctx, first[0], foreground)).To(Succeed())
		s.Gone(ctx, first...)
		Expect(s.HandedOut(ctx)).To(HaveLen(2), "what the other Machine has")
		Expect(k.Delete(ctx, cluster, foreground)).To(Succeed())
		s.Gone(ctx, append(second, cluster)...)
		Expect(s.HandedOut(ctx)).To(BeEmpty())
	}, SpecTimeout(5*time.Minute))

	It("with another finalizer keeps its prefix until that is gone", func(ctx SpecContext) {
		s := suite.New(ctx, site)
		s.Create(ctx, s.Root("pool", "10.0.0.0/24").Build())
		c := s.Claim("web", "pool").Build()
		c.Finalizers = []string{"example.com/uses-it"}
		s.Create(ctx, c)
		s.Ready(ctx, c)
		Expect(k.Delete(ctx, c)).To(Succeed())
		other := s.Claim("db", "pool").Build()
		s.Create(ctx, other)
		Expect(other.Spec.CIDR).To(Equal("10.0.0.2/32"))
		s.Record(ctx, c)
		Expect(k.Get(ctx, client.ObjectKeyFromObject(c), c)).To(Succeed())
		c.Finalizers = []string{ipamv1.ClaimFinalizer}
		Expect(k.Update(ctx, c)).To(Succeed())
		s.Gone(ctx, c)
		Expect(s.Records(ctx, c)).To(BeEmpty())
	}, SpecTimeout(5*time.Minute))
})
