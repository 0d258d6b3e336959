// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claims

import (
	"cmp"
	"context"
	"fmt"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamv1beta1 "sigs.k8s.io/cluster-api/api/ipam/v1beta1" //nolint:staticcheck // its conditions are what providers look at
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/finalizer"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

func newPool(ns, name string, spec ipamv1.IPPoolSpec) *ipamv1.IPPool {
	return &ipamv1.IPPool{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}, Spec: spec}
}

func newClaim(ns, name, kind, pool string) *ipamv1beta2.IPAddressClaim {
	return &ipamv1beta2.IPAddressClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name},
		Spec: ipamv1beta2.IPAddressClaimSpec{PoolRef: ipamv1beta2.IPPoolReference{
			APIGroup: ipamv1.GroupVersion.Group, Kind: kind, Name: pool,
		}},
	}
}

func newIPClaim(ns, name, kind, pool string) *ipamv1.IPClaim {
	claim := &ipamv1.IPClaim{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}}
	claim.Spec.PoolRef = &ipamv1.ClaimPoolReference{Kind: kind, Name: pool}
	return claim
}

// bound waits until an IPClaim has its prefix.
func bound(ctx context.Context, claim *ipamv1.IPClaim) {
	GinkgoHelper()
	Eventually(func() bool {
		return k.Get(ctx, client.ObjectKeyFromObject(claim), claim) == nil && conditions.IsTrue(claim, ipamv1.ReadyCondition)
	}, "1m", "100ms").Should(BeTrue())
}

// create creates an object and returns it.
func create[T client.Object](ctx context.Context, obj T) T {
	GinkgoHelper()
	Expect(k.Create(ctx, obj)).To(Succeed())
	return obj
}

// change changes an object as it is now: the manager writes to it as well.
func change(ctx context.Context, obj client.Object, how func()) {
	GinkgoHelper()
	suite.Change(ctx, k, obj, how)
}

// ready waits until the claim's Ready condition has this status and reason, and returns its message.
func ready(ctx context.Context, claim *ipamv1beta2.IPAddressClaim, status metav1.ConditionStatus, reason string) string {
	GinkgoHelper()
	var message string
	Eventually(func(g Gomega) {
		g.Expect(k.Get(ctx, client.ObjectKeyFromObject(claim), claim)).To(Succeed())
		c := conditions.Get(claim, "Ready")
		g.Expect(c).NotTo(BeNil())
		g.Expect(string(c.Status)+"/"+c.Reason).To(Equal(string(status)+"/"+reason), c.Message)
		message = c.Message
	}, "1m", "100ms").Should(Succeed())
	agrees(ctx, claim)
	return message
}

// saysPaused waits until the object says that it is paused, and returns why.
func saysPaused[T interface {
	client.Object
	conditions.Getter
}](ctx context.Context, obj T) string {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(k.Get(ctx, client.ObjectKeyFromObject(obj), obj)).To(Succeed())
		g.Expect(conditions.IsTrue(obj, clusterv1.PausedCondition)).To(BeTrue())
	}, "1m", "100ms").Should(Succeed())
	Expect(conditions.GetReason(obj, clusterv1.PausedCondition)).To(Equal(clusterv1.PausedReason))
	return conditions.GetMessage(obj, clusterv1.PausedCondition)
}

// answered waits until the claim has an address, and returns it.
func answered(ctx context.Context, claim *ipamv1beta2.IPAddressClaim) *ipamv1beta2.IPAddress {
	GinkgoHelper()
	ready(ctx, claim, metav1.ConditionTrue, "Allocated")
	Expect(claim.Status.AddressRef.Name).To(Equal(claim.Name))
	address := &ipamv1beta2.IPAddress{}
	Expect(k.Get(ctx, client.ObjectKeyFromObject(claim), address)).To(Succeed())
	return address
}

// records returns the records of a namespace, without the blocks of its pools and what is the other door's.
func records(ctx context.Context, ns string) []ipamv1.IPAllocation {
	GinkgoHelper()
	list := &ipamv1.IPAllocationList{}
	Expect(k.List(ctx, list, client.InNamespace(ns))).To(Succeed())
	var found []ipamv1.IPAllocation
	for _, a := range list.Items {
		if !a.Spec.IsRootBlock() && !isOther(&a) {
			found = append(found, a)
		}
	}
	return found
}

func gone(ctx context.Context, obj client.Object) {
	GinkgoHelper()
	suite.Gone(ctx, k, obj)
}

var _ = Describe("An IPAddressClaim", func() {
	var ns string

	BeforeEach(func(ctx SpecContext) { ns = newNamespace(ctx) })

	It("is answered with the lowest free address of its IPPool, as the contract says", func(ctx SpecContext) {
		pool := create(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{
			CIDR:         "10.1.0.0/24",
			AddressSpace: ns,
			Network:      &ipamv1.Network{Gateway: "10.1.0.1", DNSServers: []ipamv1.DNSServer{"10.1.0.53", "2001:db8::53"}},
		}))
		claim := create(ctx, newClaim(ns, "a", "IPPool", "p"))
		address := answered(ctx, claim)
		Expect(k.Get(ctx, client.ObjectKeyFromObject(pool), pool)).To(Succeed())

		Expect(address.Spec).To(Equal(ipamv1beta2.IPAddressSpec{
			ClaimRef: ipamv1beta2.IPAddressClaimReference{Name: "a"},
			PoolRef:  claim.Spec.PoolRef,
			Address:  "10.1.0.2",
			Prefix:   ptr.To(int32(24)),
			Gateway:  "10.1.0.1",
		}))
		Expect(address.Annotations).To(HaveKeyWithValue(ipamv1.DNSServersAnnotation, "10.1.0.53,2001:db8::53"))
		Expect(address.Finalizers).To(ConsistOf(ipamv1.AddressFinalizer))
		Expect(address.OwnerReferences).To(ConsistOf(
			metav1.OwnerReference{
				APIVersion: "ipam.cluster.x-k8s.io/v1beta2", Kind: "IPAddressClaim", Name: "a", UID: claim.UID,
				Controller: ptr.To(true), BlockOwnerDeletion: ptr.To(true),
			},
			metav1.OwnerReference{
				APIVersion: "ipam.weir.dev/v1alpha1", Kind: "IPPool", Name: "p", UID: pool.UID,
				Controller: ptr.To(false), BlockOwnerDeletion: ptr.To(true),
			}))
		Expect(claim.Finalizers).To(ContainElement(ipamv1.ClaimFinalizer))
		Expect(records(ctx, ns)).To(HaveLen(1))
	})

	It("gives its address back when it is deleted, and the next claim gets it", func(ctx SpecContext) {
		create(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{CIDR: "10.1.0.0/24", AddressSpace: ns}))
		claim := create(ctx, newClaim(ns, "a", "IPPool", "p"))
		first := answered(ctx, claim)
		Expect(k.Delete(ctx, claim)).To(Succeed())
		gone(ctx, claim)
		gone(ctx, first)
		Expect(records(ctx, ns)).To(BeEmpty())
		Expect(answered(ctx, create(ctx, newClaim(ns, "b", "IPPool", "p"))).Spec.Address).To(Equal("10.1.0.1"))
	})

	It("is told that the pool is exhausted, and is answered as soon as there is room", func(ctx SpecContext) {
		create(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{CIDR: "10.1.0.0/30", AddressSpace: ns}))
		first := create(ctx, newClaim(ns, "a", "IPPool", "p"))
		answered(ctx, first)
		answered(ctx, create(ctx, newClaim(ns, "b", "IPPool", "p")))
		waiting := create(ctx, newClaim(ns, "c", "IPPool", "p"))
		Expect(ready(ctx, waiting, metav1.ConditionFalse, "PoolExhausted")).To(Equal("IPPool p has no address available"))
		Expect(k.Delete(ctx, first)).To(Succeed())
		Expect(answered(ctx, waiting).Spec.Address).To(Equal("10.1.0.1"))
	})

	It("says in the deprecated conditions of v1beta1, too, how it stands", func(ctx SpecContext) {
		create(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{CIDR: "10.1.0.0/32", AddressSpace: ns}))
		first, full := newClaim(ns, "first", "IPPool", "p"), newClaim(ns, "full", "IPPool", "p")
		absent, odd := newClaim(ns, "absent", "IPPool", "none"), newClaim(ns, "odd", "IPSwamp", "p")
		answered(ctx, create(ctx, first))
		type told struct {
			claim    *ipamv1beta2.IPAddressClaim
			status   metav1.ConditionStatus
			reason   string
			severity string
		}
		for _, want := range []told{
			{first, metav1.ConditionTrue, "", ""},
			{full, metav1.ConditionFalse, "PoolExhausted", "Warning"},
			{absent, metav1.ConditionFalse, "PoolNotReady", "Info"},
			{odd, metav1.ConditionFalse, "AllocationFailed", "Error"},
		} {
			if want.claim.UID == "" {
				create(ctx, want.claim)
			}
			message := ready(ctx, want.claim, want.status, cmp.Or(want.reason, "Allocated"))
			old := &ipamv1beta1.IPAddressClaim{}
			Expect(ipamv1beta1.Convert_v1beta2_IPAddressClaim_To_v1beta1_IPAddressClaim(want.claim, old, nil)).To(Succeed())
			Expect(old.Status.Conditions).To(ConsistOf(And(
				HaveField("Type", BeEquivalentTo("Ready")), HaveField("Status", BeEquivalentTo(want.status)), HaveField("Reason", want.reason),
				HaveField("Severity", BeEquivalentTo(want.severity)), HaveField("Message", message),
			)), want.claim.Name)
		}
		Expect(k.Delete(ctx, first)).To(Succeed())
		answered(ctx, full)
		Expect(full.GetV1Beta1Conditions()).To(ConsistOf(And(
			HaveField("Status", BeEquivalentTo("True")), HaveField("Reason", ""), HaveField("Severity", BeEquivalentTo("")))))
	})

	It("waits for a pool that does not exist yet", func(ctx SpecContext) {
		claim := create(ctx, newClaim(ns, "a", "IPPool", "late"))
		Expect(ready(ctx, claim, metav1.ConditionFalse, "PoolNotReady")).To(ContainSubstring("spec.poolRef.name"))
		create(ctx, newPool(ns, "late", ipamv1.IPPoolSpec{CIDR: "2001:db8::/64", AddressSpace: ns}))
		Expect(answered(ctx, claim).Spec.Address).To(Equal("2001:db8::1"))
	})

	It("is answered from a GlobalIPPool with ranges, exclusions and a shorter network", func(ctx SpecContext) {
		create(ctx, &ipamv1.GlobalIPPool{
			ObjectMeta: metav1.ObjectMeta{Name: ns},
			Spec: ipamv1.IPPoolSpec{
				Addresses:         []ipamv1.AddressEntry{"10.2.0.10-10.2.0.12", "10.2.1.7"},
				ExcludedAddresses: []ipamv1.AddressEntry{"10.2.0.11"},
				AddressSpace:      ns,
				Network:           &ipamv1.Network{PrefixLength: ptr.To(int32(16)), Gateway: "10.2.0.1"},
			},
		})
		got := make([]string, 0, 3)
		for i := range 3 {
			a := answered(ctx, create(ctx, newClaim(ns, fmt.Sprint("c", i), "GlobalIPPool", ns)))
			got = append(got, fmt.Sprintf("%s/%d", a.Spec.Address, *a.Spec.Prefix))
		}
		Expect(got).To(Equal([]string{"10.2.0.10/16", "10.2.0.12/16", "10.2.1.7/16"}))
	})

	It("gets the gateway, network and name servers of the subnet that its address is in", func(ctx SpecContext) {
		create(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{
			Addresses:    []ipamv1.AddressEntry{"10.2.0.10", "10.2.1.20", "10.2.2.30"},
			AddressSpace: ns,
			Network:      &ipamv1.Network{PrefixLength: ptr.To(int32(16)), Gateway: "10.2.255.1", DNSServers: []ipamv1.DNSServer{"10.2.0.53"}},
			Subnets: []ipamv1.Subnet{
				{CIDR: "10.2.0.0/24", Network: ipamv1.Network{Gateway: "10.2.0.1"}},
				{CIDR: "10.2.1.0/24", Network: ipamv1.Network{Gateway: "10.2.1.1", PrefixLength: ptr.To(int32(25)), DNSServers: []ipamv1.DNSServer{"10.2.1.53"}}},
			},
		}))
		got := make([]string, 0, 3)
		for i := range 3 {
			a := answered(ctx, create(ctx, newClaim(ns, fmt.Sprint("c", i), "IPPool", "p")))
			got = append(got, fmt.Sprintf("%s/%d via %s, %s", a.Spec.Address, *a.Spec.Prefix, a.Spec.Gateway, a.Annotations[ipamv1.DNSServersAnnotation]))
		}
		Expect(got).To(Equal([]string{
			"10.2.0.10/24 via 10.2.0.1, 10.2.0.53",
			"10.2.1.20/25 via 10.2.1.1, 10.2.1.53",
			"10.2.2.30/16 via 10.2.255.1, 10.2.0.53",
		}))
	})

	It("gets a block of the length that the pool gives by default, and its IPAddress says so", func(ctx SpecContext) {
		pool := newPool(ns, "p", ipamv1.IPPoolSpec{
			CIDR: "10.2.0.0/26", AddressSpace: ns,
			Network:    &ipamv1.Network{Gateway: "10.2.0.1"},
			Allocation: &ipamv1.AllocationPolicy{DefaultPrefixLength: ptr.To(int32(28)), MaxPrefixLength: ptr.To(int32(30))},
		})
		create(ctx, pool)
		block := func(name, asked string) string {
			claim := newClaim(ns, name, "IPPool", "p")
			if asked != "" {
				claim.Annotations = map[string]string{ipamv1.AddressAnnotation: asked}
			}
			a := answered(ctx, create(ctx, claim))
			return fmt.Sprintf("%s/%d via %s", a.Spec.Address, *a.Spec.Prefix, a.Spec.Gateway)
		}
		Expect(block("asks", "10.2.0.32")).To(Equal("10.2.0.32/28 via 10.2.0.1"))
		Expect(block("first", "")).To(Equal("10.2.0.16/28 via 10.2.0.1"), "the first block has the gateway in it")
		inside := newClaim(ns, "inside", "IPPool", "p")
		inside.Annotations = map[string]string{ipamv1.AddressAnnotation: "10.2.0.50"}
		Expect(ready(ctx, create(ctx, inside), metav1.ConditionFalse, "AllocationFailed")).To(
			SatisfyAll(ContainSubstring(ipamv1.AddressAnnotation), ContainSubstring("not the first address of a /28")))
		Expect(block("second", "")).To(Equal("10.2.0.48/28 via 10.2.0.1"))
		ready(ctx, create(ctx, newClaim(ns, "late", "IPPool", "p")), metav1.ConditionFalse, "PoolExhausted")
		held := make([]string, 0, 3)
		for _, r := range records(ctx, ns) {
			held = append(held, r.Spec.CIDR)
		}
		Expect(held).To(ConsistOf("10.2.0.16/28", "10.2.0.32/28", "10.2.0.48/28"))
	})

	It("gets the very address that it asks for, or is told why not", func(ctx SpecContext) {
		create(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{
			CIDR: "10.1.0.0/24", AddressSpace: ns, ExcludedAddresses: []ipamv1.AddressEntry{"10.1.0.9"},
			Network: &ipamv1.Network{Gateway: "10.1.0.1"},
		}))
		ask := func(name, address string) *ipamv1beta2.IPAddressClaim {
			claim := newClaim(ns, name, "IPPool", "p")
			claim.Annotations = map[string]string{ipamv1.AddressAnnotation: address}
			return create(ctx, claim)
		}
		Expect(answered(ctx, ask("ok", "10.1.0.77")).Spec.Address).To(Equal("10.1.0.77"))
		for name, address := range map[string]string{
			"taken": "10.1.0.77", "excluded": "10.1.0.9", "gateway": "10.1.0.1", "network": "10.1.0.0",
			"broadcast": "10.1.0.255", "outside": "10.9.0.1", "family": "2001:db8::1", "text": "ten", "form": "10.1.0.077",
			"prefix": "10.1.0.8/32", "long": strings.Repeat("1", 100_000),
		} {
			message := ready(ctx, ask(name, address), metav1.ConditionFalse, "AllocationFailed")
			Expect(message).To(ContainSubstring("metadata.annotations["+ipamv1.AddressAnnotation+"]"), name)
		}
	})

	It("of another kind in Weir's group is refused by name, and of another group is left alone", func(ctx SpecContext) {
		odd := create(ctx, newClaim(ns, "odd", "IPSwamp", "p"))
		Expect(ready(ctx, odd, metav1.ConditionFalse, "AllocationFailed")).To(ContainSubstring("spec.poolRef.kind"))
		foreign := newClaim(ns, "foreign", "IPPool", "p")
		foreign.Spec.PoolRef.APIGroup = "ipam.example.com"
		create(ctx, foreign)
		create(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{CIDR: "10.1.0.0/24", AddressSpace: ns}))
		answered(ctx, create(ctx, newClaim(ns, "own", "IPPool", "p")))
		Expect(k.Get(ctx, client.ObjectKeyFromObject(foreign), foreign)).To(Succeed())
		Expect(foreign.Finalizers).To(BeEmpty())
		Expect(foreign.Status.Conditions).To(BeEmpty())
	})

	It("of a paused or missing Cluster says so and is left alone until the Cluster is there and not paused", func(ctx SpecContext) {
		create(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{CIDR: "10.1.0.0/24", AddressSpace: ns}))
		claim := newClaim(ns, "a", "IPPool", "p")
		claim.Spec.ClusterName = "c"
		labelled := newClaim(ns, "b", "IPPool", "p")
		labelled.Labels = map[string]string{clusterv1.ClusterNameLabel: "c"}
		create(ctx, claim)
		create(ctx, labelled)
		Expect(ready(ctx, claim, metav1.ConditionFalse, "ClusterNotFound")).To(HavePrefix(`spec.clusterName: there is no Cluster "c" in namespace ` + ns))
		Expect(ready(ctx, labelled, metav1.ConditionFalse, "ClusterNotFound")).To(ContainSubstring(clusterv1.ClusterNameLabel))
		Expect(conditions.Has(claim, clusterv1.PausedCondition)).To(BeFalse(), "it is not paused")
		Eventually(func() []string { return eventsAbout(ctx, claim) }, "1m", "100ms").Should(ContainElement("ClusterNotFound"))
		answered(ctx, create(ctx, newClaim(ns, "free", "IPPool", "p")))
		cluster := create(ctx, newCluster(ns, true))
		owned := newClaim(ns, "o", "IPPool", "p")
		owned.OwnerReferences = []metav1.OwnerReference{*metav1.NewControllerRef(cluster, clusterv1.GroupVersion.WithKind(clusterv1.ClusterKind))}
		create(ctx, owned)
		untouched := func(g Gomega) {
			for _, c := range []*ipamv1beta2.IPAddressClaim{claim, labelled, owned} {
				g.Expect(k.Get(ctx, client.ObjectKeyFromObject(c), c)).To(Succeed())
				g.Expect(c.Finalizers).To(BeEmpty())
				g.Expect(conditions.IsTrue(c, ipamv1beta2.IPAddressClaimReadyCondition)).To(BeFalse())
			}
		}
		for _, c := range []*ipamv1beta2.IPAddressClaim{claim, labelled, owned} {
			Expect(saysPaused(ctx, c)).To(Equal(`Cluster "c" has spec.paused`))
		}
		Consistently(untouched, "400ms", "50ms").Should(Succeed())
		change(ctx, cluster, func() { cluster.Spec.Paused = ptr.To(false) })
		Expect(answered(ctx, claim).Labels).To(HaveKeyWithValue(clusterv1.ClusterNameLabel, "c"))
		answered(ctx, labelled)
		answered(ctx, owned)
		for _, c := range []*ipamv1beta2.IPAddressClaim{claim, labelled, owned} {
			Expect(conditions.GetReason(c, clusterv1.PausedCondition)).To(Equal(clusterv1.NotPausedReason))
			Expect(conditions.IsFalse(c, clusterv1.PausedCondition)).To(BeTrue())
		}
	})

	It("that is answered says when it is paused, and when it is not any more, and one that never was says nothing of it", func(ctx SpecContext) {
		create(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{CIDR: "10.1.0.0/24", AddressSpace: ns}))
		cluster := create(ctx, newCluster(ns, false))
		claim, other := newClaim(ns, "a", "IPPool", "p"), newClaim(ns, "b", "IPPool", "p")
		claim.Spec.ClusterName = "c"
		answered(ctx, create(ctx, claim))
		answered(ctx, create(ctx, other))
		Expect(conditions.Has(claim, clusterv1.PausedCondition)).To(BeFalse())
		change(ctx, cluster, func() { cluster.Spec.Paused = ptr.To(true) })
		saysPaused(ctx, claim)
		Expect(conditions.IsTrue(claim, ipamv1beta2.IPAddressClaimReadyCondition)).To(BeTrue())
		Expect(k.Delete(ctx, cluster)).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(claim), claim)).To(Succeed())
			g.Expect(conditions.IsFalse(claim, clusterv1.PausedCondition)).To(BeTrue())
			g.Expect(conditions.IsTrue(claim, ipamv1beta2.IPAddressClaimReadyCondition)).To(BeTrue(), "it has its address, whatever becomes of the Cluster")
		}, "1m", "100ms").Should(Succeed())
		Expect(k.Get(ctx, client.ObjectKeyFromObject(other), other)).To(Succeed())
		Expect(conditions.Has(other, clusterv1.PausedCondition)).To(BeFalse())
	})

	It("that was never paused costs one write of its status", func(ctx SpecContext) {
		pool := create(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{CIDR: "10.1.0.0/24", AddressSpace: ns}))
		poolReady(ctx, pool, metav1.ConditionTrue, "Available")
		create(ctx, newCluster(ns, false))
		seen, err := site.Client().Watch(ctx, &ipamv1beta2.IPAddressClaimList{}, client.InNamespace(ns))
		Expect(err).NotTo(HaveOccurred())
		defer seen.Stop()
		claim := newClaim(ns, "c", "IPPool", "p")
		claim.Spec.ClusterName = "c"
		answered(ctx, create(ctx, claim))
		change(ctx, claim, func() { claim.Labels = map[string]string{"last": ""} })
		var event watch.Event
		written, was, now := 0, ipamv1beta2.IPAddressClaimStatus{}, &ipamv1beta2.IPAddressClaim{}
		for ; now.Labels == nil; was = now.Status {
			Eventually(seen.ResultChan(), "1m").Should(Receive(&event))
			now = event.Object.(*ipamv1beta2.IPAddressClaim)
			if !equality.Semantic.DeepEqual(now.Status, was) {
				written++
			}
		}
		Expect(written).To(Equal(1))
	})

	It("that is paused, deleted and not paused any more does not look paused while somebody else's finalizer keeps it", func(ctx SpecContext) {
		create(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{CIDR: "10.1.0.0/24", AddressSpace: ns}))
		claim := newClaim(ns, "a", "IPPool", "p")
		claim.Finalizers = []string{inUse}
		answered(ctx, create(ctx, claim))
		change(ctx, claim, func() { claim.Annotations = map[string]string{clusterv1.PausedAnnotation: ""} })
		Expect(saysPaused(ctx, claim)).To(Equal("the IPAddressClaim has the annotation " + clusterv1.PausedAnnotation))
		Expect(k.Delete(ctx, claim)).To(Succeed())
		change(ctx, claim, func() { claim.Annotations = nil })
		Eventually(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(claim), claim)).To(Succeed())
			g.Expect(conditions.IsFalse(claim, clusterv1.PausedCondition)).To(BeTrue())
		}, "1m", "100ms").Should(Succeed())
		change(ctx, claim, func() { claim.Finalizers = without(claim.Finalizers, inUse) })
		gone(ctx, claim)
	})

	It("keeps its address while somebody else's finalizer is on it", func(ctx SpecContext) {
		create(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{CIDR: "10.1.0.0/24", AddressSpace: ns}))
		claim := newClaim(ns, "a", "IPPool", "p")
		claim.Finalizers = []string{"example.com/user"}
		create(ctx, claim)
		address := answered(ctx, claim)
		Expect(k.Delete(ctx, claim)).To(Succeed())
		Expect(answered(ctx, create(ctx, newClaim(ns, "b", "IPPool", "p"))).Spec.Address).To(Equal("10.1.0.2"))
		Expect(k.Get(ctx, client.ObjectKeyFromObject(address), address)).To(Succeed())
		Expect(address.DeletionTimestamp).To(BeNil())
		Expect(k.Get(ctx, client.ObjectKeyFromObject(claim), claim)).To(Succeed())
		change(ctx, claim, func() { claim.Finalizers = []string{ipamv1.ClaimFinalizer} })
		gone(ctx, claim)
	})

	It("that is deleted in the foreground goes, with its address", func(ctx SpecContext) {
		create(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{CIDR: "10.1.0.0/24", AddressSpace: ns}))
		claim := create(ctx, newClaim(ns, "a", "IPPool", "p"))
		address := answered(ctx, claim)
		Expect(k.Delete(ctx, claim, client.PropagationPolicy(metav1.DeletePropagationForeground))).To(Succeed())
		gone(ctx, claim)
		gone(ctx, address)
		Eventually(func() int { return len(records(ctx, ns)) }, "1m", "100ms").Should(BeZero())
	})

	It("keeps its address when somebody deletes the IPAddress or the record", func(ctx SpecContext) {
		create(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{CIDR: "10.1.0.0/24", AddressSpace: ns}))
		claim := create(ctx, newClaim(ns, "a", "IPPool", "p"))
		address := answered(ctx, claim)
		record := records(ctx, ns)[0]
		Expect(k.Delete(ctx, address)).To(Succeed())
		Expect(k.Delete(ctx, &record)).To(Succeed())
		Expect(answered(ctx, create(ctx, newClaim(ns, "b", "IPPool", "p"))).Spec.Address).To(Equal("10.1.0.2"))
		Expect(k.Get(ctx, client.ObjectKeyFromObject(address), address)).To(Succeed())
		Expect(k.Get(ctx, client.ObjectKeyFromObject(&record), &record)).To(Succeed())
		Expect(k.Delete(ctx, claim)).To(Succeed())
		gone(ctx, claim)
		gone(ctx, address)
		gone(ctx, &record)
	})

	It("goes with its namespace, and so does everything under it", func(ctx SpecContext) {
		create(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{CIDR: "10.1.0.0/24", AddressSpace: ns}))
		for i := range 5 {
			answered(ctx, create(ctx, newClaim(ns, fmt.Sprint("c", i), "IPPool", "p")))
		}
		namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}}
		Expect(k.Delete(ctx, namespace)).To(Succeed())
		Eventually(func() bool {
			return apierrors.IsNotFound(k.Get(ctx, client.ObjectKeyFromObject(namespace), namespace))
		}, "3m", "200ms").Should(BeTrue())
	}, SpecTimeout(5*time.Minute))

	It("is left alone while its Cluster or itself carries the paused annotation", func(ctx SpecContext) {
		poolReady(ctx, create(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{CIDR: "10.1.0.0/24", AddressSpace: ns})), metav1.ConditionTrue, "Available")
		paused := map[string]string{clusterv1.PausedAnnotation: ""}
		cluster := newCluster(ns, false)
		cluster.Annotations = paused
		create(ctx, cluster)
		ofCluster, itself := newClaim(ns, "of-cluster", "IPPool", "p"), newClaim(ns, "itself", "IPPool", "p")
		ofCluster.Spec.ClusterName, itself.Annotations = "c", paused
		create(ctx, ofCluster)
		create(ctx, itself)
		answered(ctx, create(ctx, newClaim(ns, "free", "IPPool", "p")))
		for _, claim := range []*ipamv1beta2.IPAddressClaim{ofCluster, itself} {
			Expect(saysPaused(ctx, claim)).To(ContainSubstring(clusterv1.PausedAnnotation))
			Expect(claim.Finalizers).To(BeEmpty())
			Expect(conditions.Has(claim, ipamv1beta2.IPAddressClaimReadyCondition)).To(BeFalse())
		}
		for _, obj := range []client.Object{cluster, itself} {
			change(ctx, obj, func() { obj.SetAnnotations(nil) })
		}
		answered(ctx, ofCluster)
		answered(ctx, itself)
	})

	DescribeTable("that is deleted while its Cluster is paused keeps its address until", func(
		ctx SpecContext, end func(context.Context, *clusterv1.Cluster),
	) {
		create(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{CIDR: "10.1.0.0/24", AddressSpace: ns}))
		cluster := create(ctx, newCluster(ns, false))
		claim := newClaim(ns, "a", "IPPool", "p")
		claim.Spec.ClusterName = "c"
		address := answered(ctx, create(ctx, claim))
		change(ctx, cluster, func() { cluster.Spec.Paused = ptr.To(true) })
		Eventually(func() error { return k.Delete(ctx, claim) }, "1m").Should(Succeed())
		Expect(answered(ctx, create(ctx, newClaim(ns, "b", "IPPool", "p"))).Spec.Address).To(Equal("10.1.0.2"))
		Expect(k.Get(ctx, client.ObjectKeyFromObject(claim), claim)).To(Succeed())
		Expect(claim.Finalizers).To(ContainElement(ipamv1.ClaimFinalizer))
		Expect(k.Get(ctx, client.ObjectKeyFromObject(cluster), cluster)).To(Succeed())
		end(ctx, cluster)
		gone(ctx, claim)
		gone(ctx, address)
	},
		Entry("that is not paused any more", func(ctx context.Context, cluster *clusterv1.Cluster) {
			change(ctx, cluster, func() { cluster.Spec.Paused = ptr.To(false) })
		}),
		Entry("that is gone", func(ctx context.Context, cluster *clusterv1.Cluster) { Expect(k.Delete(ctx, cluster)).To(Succeed()) }),
	)

	It("goes although its Cluster is missing", func(ctx SpecContext) {
		create(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{CIDR: "10.1.0.0/24", AddressSpace: ns}))
		cluster := create(ctx, newCluster(ns, false))
		claim := newClaim(ns, "a", "IPPool", "p")
		claim.Spec.ClusterName = "c"
		answered(ctx, create(ctx, claim))
		Expect(k.Delete(ctx, cluster)).To(Succeed())
		gone(ctx, cluster)
		Expect(k.Delete(ctx, claim)).To(Succeed())
		gone(ctx, claim)
	})

	It("that clusterctl move deletes keeps its address", func(ctx SpecContext) {
		create(ctx, newPool(ns, "p", ipamv1.IPPoolSpec{CIDR: "10.1.0.0/24", AddressSpace: ns}))
		claim := create(ctx, newClaim(ns, "a", "IPPool", "p"))
		address := answered(ctx, claim)
		change(ctx, claim, func() { claim.Annotations = map[string]string{"clusterctl.cluster.x-k8s.io/delete-for-move": ""} })
		Expect(k.Delete(ctx, claim)).To(Succeed())
		Eventually(func() []string { return eventsAbout(ctx, claim) }, "1m", "100ms").Should(ContainElement("AddressKept"))
		Expect(answered(ctx, create(ctx, newClaim(ns, "b", "IPPool", "p"))).Spec.Address).To(Equal("10.1.0.2"))
		Expect(k.Get(ctx, client.ObjectKeyFromObject(address), address)).To(Succeed())
		Expect(address.DeletionTimestamp).To(BeNil())
		claim.Finalizers = nil
		body := []byte(`{"metadata":{"finalizers":null}}`)
		Expect(k.Patch(ctx, claim, client.RawPatch(types.MergePatchType, body))).To(Succeed())
	})

	loseRecord := func(ctx context.Context) *ipamv1.IPAllocation {
		record := &records(ctx, ns)[0]
		change(ctx, record, func() { record.Finalizers = nil })
		Expect(client.IgnoreNotFound(k.Delete(ctx, record))).To(Succeed())
		gone(ctx, record)
		return record
	}

	DescribeTable("that clusterctl has moved alone from a GlobalIPPool goes, and its address is held", func(ctx SpecContext, meanwhile func(context.Context, *ipamv1.GlobalIPPool)) {
		pool := create(ctx, &ipamv1.GlobalIPPool{ObjectMeta: metav1.ObjectMeta{Name: ns}, Spec: ipamv1.IPPoolSpec{CIDR: "10.1.0.0/24", AddressSpace: ns}})
		cluster := create(ctx, newCluster(ns, false))
		claim := newClaim(ns, "a", "GlobalIPPool", ns)
		claim.Spec.ClusterName = cluster.Name
		create(ctx, claim)
		address := answered(ctx, claim)
		change(ctx, cluster, func() { cluster.Spec.Paused = ptr.To(true) }) // as clusterctl has it while it moves

		By("being deleted by clusterctl, whose last write leaves it Weir's finalizer, and a mark")
		change(ctx, claim, func() { claim.Annotations = map[string]string{clusterctlv1.DeleteForMoveAnnotation: ""} })
		Expect(k.Delete(ctx, claim)).To(Succeed())
		Consistently(func() error { return k.Get(ctx, client.ObjectKeyFromObject(claim), claim) }, "1s", "100ms").Should(Succeed())
		meanwhile(ctx, pool)
		change(ctx, claim, func() { claim.Annotations[ipamv1.MovedAnnotation] = string(claim.UID) })
		gone(ctx, claim)
		gone(ctx, address)
		change(ctx, pool, func() { pool.Spec.Allocation = nil })
		Eventually(func() []ipamv1.IPAllocation { return records(ctx, ns) }, "1m", "100ms").Should(BeEmpty())
		Expect(records(ctx, framework.ManagerNamespace)).To(ContainElement(HaveField("Spec", And(
			HaveField("State", ipamv1.MovedState), HaveField("PoolRef.Name", ns),
			HaveField("CIDR", address.Spec.Address+"/32"), HaveField("ClaimRef.Name", claim.Name),
		))))
		Expect(answered(ctx, create(ctx, newClaim(ns, "b", "GlobalIPPool", ns))).Spec.Address).To(Equal("10.1.0.2"))
	},
		Entry("with its record where it was", func(context.Context, *ipamv1.GlobalIPPool) {}),
		Entry("with its record lost", func(ctx context.Context, _ *ipamv1.GlobalIPPool) { loseRecord(ctx) }),
		Entry("with its record under its former UID, and a pool that cannot be served meanwhile", func(ctx context.Context, pool *ipamv1.GlobalIPPool) {
			former := loseRecord(ctx)
			change(ctx, pool, func() { pool.Spec.Allocation = &ipamv1.AllocationPolicy{MaxPrefixLength: ptr.To[int32](64)} })
			former.ObjectMeta = metav1.ObjectMeta{Namespace: ns, Name: "a-former", Finalizers: []string{ipamv1.AllocationFinalizer}}
			former.Spec.ClaimRef.UID = "former"
			create(ctx, former)
		}),
	)

	It("keeps what somebody else puts on it while Weir adds its own finalizer", func(ctx SpecContext) {
		claim := create(ctx, newClaim(ns, "a", "OtherPool", "p"))
		stale := claim.DeepCopy()
		change(ctx, claim, func() { claim.Finalizers = append(claim.Finalizers, "example.com/uses-the-address") })
		_, err := finalizer.Ensure(ctx, k, stale, "example.com/of-weir")
		Expect(apierrors.IsConflict(err)).To(BeTrue(), "got %v", err)
		Expect(k.Get(ctx, client.ObjectKeyFromObject(claim), claim)).To(Succeed())
		Expect(claim.Finalizers).To(ContainElement("example.com/uses-the-address"))
		Expect(finalizer.Ensure(ctx, k, claim, "example.com/of-weir")).To(BeTrue())
		Expect(finalizer.Ensure(ctx, k, claim, "example.com/of-weir")).To(BeFalse())
		Expect(finalizer.Remove(ctx, k, claim, "example.com/of-weir")).To(Succeed())
		Expect(k.Get(ctx, client.ObjectKeyFromObject(claim), claim)).To(Succeed())
		Expect(claim.Finalizers).To(ContainElement("example.com/uses-the-address"))
		Expect(claim.Finalizers).NotTo(ContainElement("example.com/of-weir"))
		change(ctx, claim, func() { claim.Finalizers = nil })
	})
})

// newCluster returns the namespace's Cluster, c.
func newCluster(ns string, paused bool) *clusterv1.Cluster {
	return builder.Cluster(ns, "c").WithPaused(paused).Build()
}
