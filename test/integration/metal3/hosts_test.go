// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

var _ = Describe("What one of Weir's pools keeps for a host", func() {
	const rest = " mask 255.255.255.0 via 192.0.2.1"
	var ns string

	BeforeEach(func(ctx SpecContext) { ns = suite.Namespace(ctx, k, nil) })

	keeping := func(kept map[string]string) func(*ipamv1.IPPoolSpec) {
		return func(spec *ipamv1.IPPoolSpec) {
			spec.PreAllocations = nil
			for host, address := range kept {
				spec.PreAllocations = append(spec.PreAllocations, ipamv1.PreAllocation{ClaimName: host + "-w", Address: address})
			}
		}
	}
	cooling := func(change func(*ipamv1.IPPoolSpec)) func(*ipamv1.IPPoolSpec) {
		return func(spec *ipamv1.IPPoolSpec) {
			change(spec)
			spec.Allocation = &ipamv1.AllocationPolicy{CooldownSeconds: ptr.To(int32(3600))}
		}
	}
	// reshape changes the pool, and waits until the manager goes by that.
	reshape := func(ctx context.Context, change func(*ipamv1.IPPoolSpec)) {
		GinkgoHelper()
		p := builder.IPPool(ns, "w").Build()
		suite.Change(ctx, k, p, func() { change(&p.Spec) })
		Eventually(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(p), p)).To(Succeed())
			g.Expect(p.Status.ObservedGeneration).To(Equal(p.Generation))
		}, patience).Should(Succeed())
	}
	// recorded are the records, by prefix: whom they are for besides their claim, and whether they cool down.
	recorded := func(ctx context.Context) map[string]string {
		GinkgoHelper()
		list := &ipamv1.IPAllocationList{}
		Expect(k.List(ctx, list, client.InNamespace(ns))).To(Succeed())
		found := map[string]string{}
		for i := range list.Items {
			if spec := list.Items[i].Spec; spec.Purpose == ipamv1.ClaimPurpose {
				found[spec.CIDR] = string(spec.State) + " " + spec.ClaimAlias
			}
		}
		return found
	}
	claimOfHost := func(ctx context.Context, d *capm3) *ipamv1beta2.IPAddressClaim {
		GinkgoHelper()
		c := &ipamv1beta2.IPAddressClaim{}
		Expect(k.Get(ctx, d.key(d.name()), c)).To(Succeed())
		return c
	}
	restored := map[string]string{ipamv1.ArrivedAnnotation: "true"}
	byHand := func(ctx context.Context, name, address string, finalizers ...string) {
		GinkgoHelper()
		marks := map[string]string{}
		if len(finalizers) > 0 {
			marks = restored // without the mark, which a webhook gives, it is a leftover until its claim is there
		}
		Expect(k.Create(ctx, &ipamv1beta2.IPAddress{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name, Finalizers: finalizers, Annotations: marks},
			Spec:       ipamv1beta2.IPAddressSpec{ClaimRef: ipamv1beta2.IPAddressClaimReference{Name: name}, PoolRef: weirs, Address: address, Prefix: ptr.To(int32(24)), Gateway: "192.0.2.1"},
		})).To(Succeed())
	}
	// waits waits until the claim says what it waits for, and that nothing is recorded for it.
	waits := func(ctx context.Context, d *capm3, words string) {
		GinkgoHelper()
		Eventually(func(g Gomega) {
			_, err := d.reconcile(ctx)
			g.Expect(err).To(MatchError(errLater))
			c := claimOfHost(ctx, d)
			g.Expect(conditions.GetReason(c, ipamv1.ReadyCondition)).To(Equal(ipamv1.ClaimReadyWaitingForHostReason))
			g.Expect(conditions.GetMessage(c, ipamv1.ReadyCondition)).To(Equal("the pool keeps addresses for hosts, and the claim's host is not known: " + words))
		}, patience).Should(Succeed())
	}

	It("is that host's, whatever Metal3Data its claims are named after, and nobody else's", func(ctx SpecContext) {
		weirPool(ctx, ns, keeping(map[string]string{"host-0": "192.0.2.10", "host-1": "192.0.2.15", "data-4": "192.0.2.12"}))
		for _, data := range []string{"data-0", "data-3", "data-0"} {
			first, second, third := provision(ctx, ns, data, "host-0").from(weirs), provision(ctx, ns, "host-0-"+data, "host-1").from(weirs), provision(ctx, ns, "other-"+data, "host-9").from(weirs)
			fourth := provision(ctx, ns, "data-4", "host-4").from(weirs)
			Expect(third.configured(ctx)).To(Equal("192.0.2.11" + rest))
			Expect(second.configured(ctx)).To(Equal("192.0.2.15" + rest))
			Expect(first.configured(ctx)).To(Equal("192.0.2.10" + rest))
			Expect(fourth.configured(ctx)).To(Equal("192.0.2.12"+rest), "the claim's own name")
			Expect(recorded(ctx)).To(Equal(map[string]string{
				"192.0.2.10/32": "Active host-0-w", "192.0.2.15/32": "Active host-1-w", "192.0.2.11/32": "Active host-9-w", "192.0.2.12/32": "Active ",
			}))
			for _, d := range []*capm3{first, second, third, fourth} {
				d.deprovision(ctx)
			}
			Eventually(func() map[string]string { return recorded(ctx) }, patience).Should(BeEmpty())
		}
	}, SpecTimeout(5*time.Minute))

	It("is so for the hosts of that namespace in a GlobalIPPool", func(ctx SpecContext) {
		p := builder.GlobalIPPool(ns).WithSpace(ns).WithAddresses("192.0.2.10-192.0.2.19").WithNetwork(24, "192.0.2.1").Build()
		p.Spec.PreAllocations = []ipamv1.PreAllocation{
			{ClaimName: "host-0-" + ns, Namespace: ns, Address: "192.0.2.12"}, {ClaimName: "host-0-" + ns, Namespace: "elsewhere", Address: "192.0.2.13"},
			{ClaimName: "host-1-" + ns, Namespace: "elsewhere", Address: "192.0.2.10"},
		}
		Expect(k.Create(ctx, p)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { Expect(k.Delete(ctx, p)).To(Succeed()) })
		from := ipamv1beta2.IPPoolReference{APIGroup: ipamv1.GroupVersion.Group, Kind: ipamv1.GlobalIPPoolKind, Name: ns}
		first, second := provision(ctx, ns, "data-0", "host-0").from(from), provision(ctx, ns, "data-1", "host-1").from(from)
		Expect(second.configured(ctx)).To(Equal("192.0.2.11" + rest))
		Expect(first.configured(ctx)).To(Equal("192.0.2.12" + rest))
		first.deprovision(ctx)
		second.deprovision(ctx)
	})

	It("need not cool down between that host's lives, also where it is kept since the last one ended", func(ctx SpecContext) {
		weirPool(ctx, ns, cooling(keeping(map[string]string{"host-0": "192.0.2.15"})))
		for _, data := range []string{"data-0", "data-1"} {
			d := provision(ctx, ns, data, "host-0").from(weirs)
			Expect(d.configured(ctx)).To(Equal("192.0.2.15" + rest))
			d.deprovision(ctx)
		}
		for _, want := range []string{"192.0.2.10", "192.0.2.11"} {
			d := provision(ctx, ns, "data-2", "host-9").from(weirs)
			Expect(d.configured(ctx)).To(Equal(want + rest))
			d.deprovision(ctx)
			Eventually(func() map[string]string { return recorded(ctx) }, patience).Should(HaveKeyWithValue(want+"/32", "Cooling host-9-w"))
		}

		By("keeping what the host has had")
		reshape(ctx, cooling(keeping(map[string]string{"host-9": "192.0.2.11"})))
		other := provision(ctx, ns, "data-2", "host-8").from(weirs)
		Expect(other.configured(ctx)).To(Equal("192.0.2.12"+rest), "of the Metal3Data's name")
		Expect(provision(ctx, ns, "data-3", "host-9").from(weirs).configured(ctx)).To(Equal("192.0.2.11" + rest))
	}, SpecTimeout(5*time.Minute))

	It("is waited for until the host is known, with nothing recorded meanwhile; without it the claim is one like others", func(ctx SpecContext) {
		kept := keeping(map[string]string{"host-0": "192.0.2.15"})
		weirPool(ctx, ns, kept)
		d := provision(ctx, ns, "data-0", "host-0").from(weirs)
		spec := d.data.Object["spec"]
		setSpec := func(spec any) {
			GinkgoHelper()
			suite.Change(ctx, k, d.data, func() { d.data.Object["spec"] = spec })
		}
		name, _, err := unstructured.NestedString(d.data.Object, "spec", "claim", "name")
		Expect(err).NotTo(HaveOccurred())
		machine, dataClaim := infra("Metal3Machine", ns, name), infra("Metal3DataClaim", ns, name)
		Expect(k.Get(ctx, client.ObjectKeyFromObject(dataClaim), dataClaim)).To(Succeed())

		setSpec(map[string]any{})
		waits(ctx, d, "Metal3Data "+ns+"/data-0: spec.claim.name: is not set yet")
		owners := dataClaim.GetOwnerReferences()
		suite.Change(ctx, k, dataClaim, func() {
			foreign := owners[0]
			foreign.APIVersion = "example.com/v1"
			foreign.Controller = nil
			dataClaim.SetOwnerReferences([]metav1.OwnerReference{foreign})
		})
		setSpec(spec)
		waits(ctx, d, "Metal3DataClaim "+ns+"/"+name+": metadata.ownerReferences: 0 of them are of kind Metal3Machine, and it must be one")
		suite.Change(ctx, k, machine, func() { machine.SetAnnotations(nil) })
		suite.Change(ctx, k, dataClaim, func() { dataClaim.SetOwnerReferences(owners) })
		waits(ctx, d, "Metal3Machine "+ns+"/"+name+": metadata.annotations["+hostAnnotation+"]: is not set yet")
		Expect(recorded(ctx)).To(BeEmpty())
		suite.Change(ctx, k, machine, func() { machine.SetAnnotations(map[string]string{hostAnnotation: ns + "/host-0"}) })
		Expect(d.configured(ctx)).To(Equal("192.0.2.15" + rest))

		By("removing what is kept")
		late := provision(ctx, ns, "data-1", "host-1").from(weirs)
		suite.Change(ctx, k, late.data, func() { late.data.Object["spec"] = map[string]any{} })
		waits(ctx, late, "Metal3Data "+ns+"/data-1: spec.claim.name: is not set yet")
		reshape(ctx, keeping(nil))
		Expect(late.configured(ctx)).To(Equal("192.0.2.10" + rest))
		Expect(recorded(ctx)).To(Equal(map[string]string{"192.0.2.15/32": "Active host-0-w", "192.0.2.10/32": "Active "}))
	}, SpecTimeout(5*time.Minute))

	It("is not looked for where the claim is not CAPM3's, or the pool keeps nothing for hosts", func(ctx SpecContext) {
		// The garbage collector reads the owners, and so none of these.
		reads := func() float64 {
			GinkgoHelper()
			counts, err := framework.APIRequests(ctx, site.Config())
			Expect(err).NotTo(HaveOccurred())
			sum := 0.0
			for key, count := range counts {
				if key.Verb == "GET" && key.Resource == "metal3dataclaims" {
					sum += count
				}
			}
			return sum
		}
		weirPool(ctx, ns, keeping(nil))
		before := reads()
		Expect(provision(ctx, ns, "data-0", "host-0").from(weirs).configured(ctx)).To(Equal("192.0.2.10" + rest))
		Expect(reads()).To(Equal(before))

		reshape(ctx, keeping(map[string]string{"host-0": "192.0.2.15"}))
		owner := infra("Metal3Data", ns, "nobody")
		Expect(k.Create(ctx, owner)).To(Succeed())
		c := addressClaim(ns, "nobody-w")
		c.Spec.PoolRef = weirs
		c.OwnerReferences = ownedBy(owner)
		c.OwnerReferences[0].Controller = nil
		Expect(k.Create(ctx, c)).To(Succeed())
		Expect(told(ctx, c).Spec.Address).To(Equal("192.0.2.11"))
		Expect(reads()).To(Equal(before))

		Expect(provision(ctx, ns, "data-1", "host-0").from(weirs).configured(ctx)).To(Equal("192.0.2.15" + rest))
		Expect(reads()).To(BeNumerically(">", before))
	})

	It("stays the claim's that comes with its record, too, although the rest of what leads to its host has not come", func(ctx SpecContext) {
		weirPool(ctx, ns, cooling(keeping(map[string]string{"host-0": "192.0.2.15"})))
		d := provision(ctx, ns, "data-0", "host-0").from(weirs)
		suite.Change(ctx, k, d.data, func() { d.data.Object["spec"] = map[string]any{} })
		Expect(k.Create(ctx, &ipamv1.IPAllocation{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "former", Finalizers: []string{ipamv1.AllocationFinalizer}, Annotations: restored},
			Spec: ipamv1.IPAllocationSpec{
				PoolRef: ipamv1.PoolReference{Kind: ipamv1.IPPoolKind, Namespace: ns, Name: "w"}, AddressSpace: ns, CIDR: "192.0.2.15/32",
				ClaimRef:   ipamv1.ClaimReference{APIGroup: "ipam.cluster.x-k8s.io", Kind: "IPAddressClaim", Namespace: ns, Name: d.name(), UID: "former"},
				ClaimAlias: "host-0-w", Purpose: ipamv1.ClaimPurpose, Manager: ipamv1.AllocationManager{Instance: "former", CreatedRevision: "1"},
			},
			Status: ipamv1.IPAllocationStatus{AllocatedCIDR: "192.0.2.15/32"},
		})).To(Succeed())
		byHand(ctx, d.name(), "192.0.2.15", ipamv1.AddressFinalizer)
		Expect(d.configured(ctx)).To(Equal("192.0.2.15" + rest))
		Eventually(func(g Gomega) {
			record := &ipamv1.IPAllocation{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "former"}}
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(record), record)).NotTo(Succeed())
			g.Expect(recorded(ctx)).To(Equal(map[string]string{"192.0.2.15/32": "Active host-0-w"}))
		}, patience).Should(Succeed())
		Expect(conditions.Has(claimOfHost(ctx, d), ipamv1.WithinPoolCondition)).To(BeFalse())
		d.deprovision(ctx)
		Expect(provision(ctx, ns, "data-1", "host-0").from(weirs).configured(ctx)).To(Equal("192.0.2.15" + rest))
	}, SpecTimeout(5*time.Minute))

	It("is not what decides about a claim that comes with its IPAddress; one that only asks waits for its host", func(ctx SpecContext) {
		weirPool(ctx, ns, cooling(keeping(map[string]string{"host-0": "192.0.2.15", "host-1": "192.0.2.16"})))
		back, asks := provision(ctx, ns, "data-0", "host-0").from(weirs), provision(ctx, ns, "data-1", "host-1").from(weirs)
		spec := asks.data.Object["spec"]
		for _, d := range []*capm3{back, asks} {
			suite.Change(ctx, k, d.data, func() { d.data.Object["spec"] = map[string]any{} })
		}
		byHand(ctx, back.name(), "192.0.2.15", ipamv1.AddressFinalizer)
		byHand(ctx, asks.name(), "192.0.2.17")
		Expect(back.configured(ctx)).To(Equal("192.0.2.15" + rest))
		waits(ctx, asks, "Metal3Data "+ns+"/data-1: spec.claim.name: is not set yet")
		Expect(recorded(ctx)).To(HaveKeyWithValue("192.0.2.15/32", "Active "))

		suite.Change(ctx, k, asks.data, func() { asks.data.Object["spec"] = spec })
		Eventually(func(g Gomega) {
			g.Expect(conditions.GetMessage(claimOfHost(ctx, asks), ipamv1.ReadyCondition)).To(ContainSubstring("the pool keeps 192.0.2.16/32 for the claim, which gets nothing else"))
		}, patience).Should(Succeed())

		By("releasing what nobody knew the host of: it cools down, and waits for that host all the same")
		back.deprovision(ctx)
		Eventually(func() map[string]string { return recorded(ctx) }, patience).Should(HaveKeyWithValue("192.0.2.15/32", "Cooling "))
		next, other := provision(ctx, ns, "data-5", "host-0").from(weirs), provision(ctx, ns, "data-0", "host-7").from(weirs)
		Expect(other.configured(ctx)).To(Equal("192.0.2.10" + rest))
		Eventually(func(g Gomega) {
			_, err := next.reconcile(ctx)
			g.Expect(err).To(MatchError(errLater))
			g.Expect(conditions.GetMessage(claimOfHost(ctx, next), ipamv1.ReadyCondition)).To(HavePrefix("the pool keeps 192.0.2.15/32 for the claim: 192.0.2.15 is in use"))
		}, patience).Should(Succeed())
		Expect(recorded(ctx)).To(HaveKeyWithValue("192.0.2.15/32", "Cooling "))
		for _, d := range []*capm3{next, asks} { // who waits is looked at again
			d.deprovision(ctx)
			gone(ctx, &ipamv1beta2.IPAddressClaim{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: d.name()}})
		}
	}, SpecTimeout(5*time.Minute))
})
