// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/resource"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest/komega"
	"sigs.k8s.io/yaml"

	m3v1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/metal3/v1alpha1"
	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// patience is how long a spec waits for what a controller does.
const patience = time.Minute

// pool creates the pool p with this spec; namePrefix is net unless the spec says another.
func pool(ctx context.Context, ns, spec string) {
	GinkgoHelper()
	poolNamed(ctx, ns, "p", spec)
}

func poolNamed(ctx context.Context, ns, name, spec string) {
	GinkgoHelper()
	p := &m3v1.IPPool{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}, Spec: m3v1.IPPoolSpec{NamePrefix: "net"}}
	Expect(yaml.UnmarshalStrict([]byte(spec), &p.Spec)).To(Succeed())
	Expect(k.Create(ctx, p)).To(Succeed())
}

// claimOf is a claim of pool p that is not stored yet.
func claimOf(ns, name string) *m3v1.IPClaim {
	return &m3v1.IPClaim{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}, Spec: m3v1.IPClaimSpec{Pool: m3v1.ObjectReference{Name: "p"}}}
}

func asking(c *m3v1.IPClaim, address string) *m3v1.IPClaim {
	c.Annotations = map[string]string{m3v1.AddressAnnotation: address}
	return c
}

// answered waits until the claim is answered, and returns the IPAddress as CAPM3 finds it: by the status.
func answered(ctx context.Context, c *m3v1.IPClaim) *m3v1.IPAddress {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(k.Get(ctx, client.ObjectKeyFromObject(c), c)).To(Succeed())
		g.Expect(c.Status.ErrorMessage).To(BeNil())
		g.Expect(c.Status.Address).NotTo(BeNil())
	}, patience, 20*time.Millisecond).Should(Succeed())
	address := &m3v1.IPAddress{}
	Expect(k.Get(ctx, types.NamespacedName{Namespace: c.Namespace, Name: c.Status.Address.Name}, address)).To(Succeed())
	return address
}

// answer creates a claim, and returns its IPAddress.
func answer(ctx context.Context, c *m3v1.IPClaim) *m3v1.IPAddress {
	GinkgoHelper()
	Expect(k.Create(ctx, c)).To(Succeed())
	return answered(ctx, c)
}

// refused waits until the claim has this errorMessage.
func refused(ctx context.Context, c *m3v1.IPClaim, message string) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(k.Get(ctx, client.ObjectKeyFromObject(c), c)).To(Succeed())
		g.Expect(c.Status.ErrorMessage).NotTo(BeNil())
		g.Expect(*c.Status.ErrorMessage).To(Equal(message))
		g.Expect(c.Status.Address).To(BeNil())
	}, patience, 20*time.Millisecond).Should(Succeed())
}

// gone waits until an object is gone.
func gone(ctx context.Context, obj client.Object) {
	GinkgoHelper()
	Eventually(func() bool { return apierrors.IsNotFound(k.Get(ctx, client.ObjectKeyFromObject(obj), obj)) }, patience, 20*time.Millisecond).Should(BeTrue())
}

// addresses are the IPAddresses of a namespace.
func addresses(ctx context.Context, ns string) []m3v1.IPAddress {
	GinkgoHelper()
	list := &m3v1.IPAddressList{}
	Expect(k.List(ctx, list, client.InNamespace(ns))).To(Succeed())
	return list.Items
}

// made is an IPAddress of pool p that is not stored yet.
func made(ns, name, claim, address string) *m3v1.IPAddress {
	return &m3v1.IPAddress{
		ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name},
		Spec: m3v1.IPAddressSpec{
			Claim: m3v1.ObjectReference{Name: claim}, Pool: m3v1.ObjectReference{Name: "p"}, Address: m3v1.Address(address), Prefix: 24,
		},
	}
}

// records are what the ledger holds for claims in a namespace, of pools' blocks nothing.
func records(ctx context.Context, ns string) []string {
	GinkgoHelper()
	list := &ipamv1.IPAllocationList{}
	Expect(k.List(ctx, list, client.InNamespace(ns))).To(Succeed())
	var held []string
	for i := range list.Items {
		if list.Items[i].Spec.ClaimRef.Kind != m3v1.IPPoolKind {
			held = append(held, list.Items[i].Spec.CIDR)
		}
	}
	slices.Sort(held)
	return held
}

// said is an address with what comes with it.
func said(a *m3v1.IPAddress) string {
	text := fmt.Sprintf("%s/%d", a.Spec.Address, a.Spec.Prefix)
	if a.Spec.Gateway != nil {
		text += " via " + string(*a.Spec.Gateway)
	}
	for _, server := range a.Spec.DNSServers {
		text += " dns " + string(server)
	}
	return text
}

const exhausted = "Exhausted IP Pools"

var _ = DescribeTable("Claims one after the other get what Metal3 would give", func(ctx SpecContext, spec string, want ...string) {
	ns := suite.Namespace(ctx, k, nil)
	pool(ctx, ns, spec)
	for i, text := range want {
		c := claimOf(ns, fmt.Sprint("c-", i))
		Expect(k.Create(ctx, c)).To(Succeed())
		if text == exhausted {
			refused(ctx, c, exhausted)
			continue
		}
		Expect(said(answered(ctx, c))).To(Equal(text), "claim %d", i)
	}
},
	Entry("a subnet begins one after the address as written", `{prefix: 26, pools: [{subnet: 192.168.1.1/26}]}`, "192.168.1.2/26", "192.168.1.3/26"),
	Entry("a subnet as its network begins with the first host", `{prefix: 24, pools: [{subnet: 10.0.0.0/24}]}`, "10.0.0.1/24"),
	Entry("a subnet includes its broadcast address", `{prefix: 30, pools: [{subnet: 10.0.0.0/30}]}`, "10.0.0.1/30", "10.0.0.2/30", "10.0.0.3/30", exhausted),
	Entry("a subnet from its middle goes to its end", `{prefix: 29, pools: [{subnet: 10.0.0.5/29}]}`, "10.0.0.6/29", "10.0.0.7/29", exhausted),
	Entry("a subnet of IPv6", `{prefix: 126, pools: [{subnet: "2001:db8::/126"}]}`, "2001:db8::1/126", "2001:db8::2/126", "2001:db8::3/126", exhausted),
	Entry("a subnet of IPv6 as written", `{prefix: 64, pools: [{subnet: "2001:db8::ffff/64"}]}`, "2001:db8::1:0/64"),
	Entry("start and end, both included", `{prefix: 24, pools: [{start: 10.0.0.10, end: 10.0.0.11}]}`, "10.0.0.10/24", "10.0.0.11/24", exhausted),
	Entry("start and end of IPv6", `{prefix: 64, pools: [{start: "2001:db8::fe", end: "2001:db8::ff"}]}`, "2001:db8::fe/64", "2001:db8::ff/64", exhausted),
	Entry("one address", `{prefix: 24, pools: [{start: 10.0.0.10, end: 10.0.0.10}]}`, "10.0.0.10/24", exhausted),
	Entry("start alone is open", `{prefix: 24, pools: [{start: 10.0.0.254}]}`, "10.0.0.254/24", "10.0.0.255/24", "10.0.1.0/24"),
	Entry("start alone ends with its family", `{prefix: 24, pools: [{start: 255.255.255.254}]}`, "255.255.255.254/24", "255.255.255.255/24", exhausted),
	Entry("start in a subnet is bounded by it", `{prefix: 29, pools: [{start: 10.0.0.6, subnet: 10.0.0.0/29}]}`, "10.0.0.6/29", "10.0.0.7/29", exhausted),
	Entry("start, end and subnet: the first bound counts", `{prefix: 29, pools: [{start: 10.0.0.2, end: 10.0.0.3, subnet: 10.0.0.0/29}]}`, "10.0.0.2/29", "10.0.0.3/29", exhausted),
	Entry("end bounds a subnet, too", `{prefix: 29, pools: [{end: 10.0.0.2, subnet: 10.0.0.0/29}]}`, "10.0.0.1/29", "10.0.0.2/29", exhausted),
	Entry("an end behind the subnet does not count", `{prefix: 30, pools: [{start: 10.0.0.2, end: 10.0.0.9, subnet: 10.0.0.0/30}]}`, "10.0.0.2/30", "10.0.0.3/30", exhausted),
	Entry("entries are consumed in their order", `{prefix: 24, pools: [{start: 10.0.0.20, end: 10.0.0.21}, {start: 10.0.0.10, end: 10.0.0.11}]}`,
		"10.0.0.20/24", "10.0.0.21/24", "10.0.0.10/24", "10.0.0.11/24", exhausted),
	Entry("entries of IPv6 are consumed in their order", `{prefix: 64, pools: [{start: "2001:db8::20", end: "2001:db8::20"}, {start: "2001:db8::10", end: "2001:db8::10"}]}`,
		"2001:db8::20/64", "2001:db8::10/64", exhausted),
	Entry("three entries, the last between the others", `{prefix: 24, pools: [{start: 10.0.0.9, end: 10.0.0.9}, {start: 10.0.0.1, end: 10.0.0.1}, {start: 10.0.0.5, end: 10.0.0.5}]}`,
		"10.0.0.9/24", "10.0.0.1/24", "10.0.0.5/24", exhausted),
	Entry("an entry without room is passed over", `{prefix: 24, gateway: 10.0.0.1, pools: [{start: 10.0.0.1, end: 10.0.0.1}, {start: 10.0.0.5, end: 10.0.0.5}]}`,
		"10.0.0.5/24 via 10.0.0.1", exhausted),
	Entry("of entries that overlap the first says what comes with an address",
		`{pools: [{start: 10.0.0.2, end: 10.0.0.3, prefix: 24, gateway: 10.0.0.1}, {start: 10.0.0.3, end: 10.0.0.4, prefix: 16, gateway: 10.0.255.254}]}`,
		"10.0.0.2/24 via 10.0.0.1", "10.0.0.3/24 via 10.0.0.1", "10.0.0.4/16 via 10.0.255.254", exhausted),
	Entry("an entry inside another gives nothing more", `{prefix: 24, pools: [{start: 10.0.0.1, end: 10.0.0.2}, {start: 10.0.0.2, end: 10.0.0.2}]}`,
		"10.0.0.1/24", "10.0.0.2/24", exhausted),
	Entry("a later entry around an earlier one", `{pools: [{start: 10.0.0.2, end: 10.0.0.2, prefix: 30}, {start: 10.0.0.1, end: 10.0.0.3, prefix: 24}]}`,
		"10.0.0.2/30", "10.0.0.1/24", "10.0.0.3/24", exhausted),
	Entry("the gateway is not handed out", `{prefix: 24, gateway: 10.0.0.1, pools: [{start: 10.0.0.1, end: 10.0.0.2}]}`, "10.0.0.2/24 via 10.0.0.1", exhausted),
	Entry("nor is an entry's own", `{prefix: 24, pools: [{start: 10.0.0.1, end: 10.0.0.2, gateway: 10.0.0.2}]}`, "10.0.0.1/24 via 10.0.0.2", exhausted),
	Entry("nor is one that another entry overrides", `{prefix: 24, gateway: 10.0.0.1, pools: [{start: 10.0.0.1, end: 10.0.0.3, gateway: 10.0.0.3}]}`,
		"10.0.0.2/24 via 10.0.0.3", exhausted),
	Entry("a gateway outside of the pool", `{prefix: 24, gateway: 10.0.0.254, pools: [{start: 10.0.0.1, end: 10.0.0.1}]}`, "10.0.0.1/24 via 10.0.0.254", exhausted),
	Entry("DNS servers of the pool", `{prefix: 24, dnsServers: [8.8.8.8, 8.8.4.4], pools: [{start: 10.0.0.1}]}`, "10.0.0.1/24 dns 8.8.8.8 dns 8.8.4.4"),
	Entry("DNS servers of the entry", `{prefix: 24, dnsServers: [8.8.8.8], pools: [{start: 10.0.0.1, dnsServers: [9.9.9.9]}]}`, "10.0.0.1/24 dns 9.9.9.9"),
	Entry("DNS servers of the other family", `{prefix: 24, dnsServers: ["2001:db8::53"], pools: [{start: 10.0.0.1}]}`, "10.0.0.1/24 dns 2001:db8::53"),
	Entry("the prefix of the entry", `{prefix: 24, pools: [{start: 10.0.0.1, prefix: 28}]}`, "10.0.0.1/28"),
	Entry("no prefix anywhere", `{pools: [{start: 10.0.0.1}]}`, "10.0.0.1/0"),
	Entry("the prefix does not follow from the subnet", `{pools: [{subnet: 10.0.0.0/24}]}`, "10.0.0.1/0"),
	Entry("what is kept for others is passed over", `{prefix: 24, preAllocations: {other: 10.0.0.1}, pools: [{start: 10.0.0.1, end: 10.0.0.2}]}`, "10.0.0.2/24", exhausted),
	Entry("what is kept for the claim it gets", `{prefix: 24, preAllocations: {c-1: 10.0.0.5}, pools: [{start: 10.0.0.1, end: 10.0.0.9}]}`, "10.0.0.1/24", "10.0.0.5/24", "10.0.0.2/24"),
	Entry("what is kept is written in any way", `{prefix: 64, preAllocations: {c-0: "2001:DB8:0:0::A"}, pools: [{start: "2001:db8::1"}]}`, "2001:db8::a/64"),
	Entry("random consumes one entry after the other", `{prefix: 24, allocationStrategy: random, pools: [{start: 10.0.0.20, end: 10.0.0.20}, {start: 10.0.0.10, end: 10.0.0.10}]}`,
		"10.0.0.20/24", "10.0.0.10/24", exhausted),
	Entry("random keeps the gateway back", `{prefix: 24, allocationStrategy: random, gateway: 10.0.0.1, pools: [{start: 10.0.0.1, end: 10.0.0.2}]}`, "10.0.0.2/24 via 10.0.0.1", exhausted),
	Entry("random gives what is kept", `{prefix: 24, allocationStrategy: random, preAllocations: {c-0: 10.0.0.77}, pools: [{start: 10.0.0.1, end: 10.0.0.200}]}`, "10.0.0.77/24"),
	Entry("sequential by its name", `{prefix: 24, allocationStrategy: sequential, pools: [{start: 10.0.0.1}]}`, "10.0.0.1/24", "10.0.0.2/24"),
	Entry("an entry without start and subnet gives nothing", `{prefix: 24, pools: [{end: 10.0.0.9}, {start: 10.0.0.1, end: 10.0.0.1}]}`, "10.0.0.1/24", exhausted),
	Entry("a start outside of its subnet gives nothing", `{prefix: 24, pools: [{start: 10.0.9.1, subnet: 10.0.0.0/24}, {start: 10.0.0.1, end: 10.0.0.1}]}`, "10.0.0.1/24", exhausted),
)

var _ = DescribeTable("A claim that asks for an address", func(ctx SpecContext, spec, address, want string) {
	ns := suite.Namespace(ctx, k, nil)
	pool(ctx, ns, spec)
	c := asking(claimOf(ns, "c"), address)
	Expect(k.Create(ctx, c)).To(Succeed())
	if want == address {
		Expect(string(answered(ctx, c).Spec.Address)).To(Equal(want))
		return
	}
	refused(ctx, c, want)
	Expect(k.Create(ctx, claimOf(ns, "next"))).To(Succeed(), "one bad claim holds up nobody")
	answered(ctx, claimOf(ns, "next"))
},
	Entry("gets it", `{prefix: 24, pools: [{start: 10.0.0.1, end: 10.0.0.9}]}`, "10.0.0.7", "10.0.0.7"),
	Entry("gets it of a later entry", `{prefix: 24, pools: [{start: 10.0.0.1, end: 10.0.0.9}, {start: 10.0.1.1, end: 10.0.1.9}]}`, "10.0.1.7", "10.0.1.7"),
	Entry("gets it of IPv6", `{prefix: 64, pools: [{start: "2001:db8::1"}]}`, "2001:db8::7", "2001:db8::7"),
	Entry("gets it under the random strategy", `{prefix: 24, allocationStrategy: random, pools: [{start: 10.0.0.1, end: 10.0.0.9}]}`, "10.0.0.7", "10.0.0.7"),
	Entry("gets what is kept for it", `{prefix: 24, preAllocations: {c: 10.0.0.7}, pools: [{start: 10.0.0.1, end: 10.0.0.9}]}`, "10.0.0.7", "10.0.0.7"),
	Entry("does not get one outside of the pool", `{prefix: 24, pools: [{start: 10.0.0.1, end: 10.0.0.9}]}`, "10.0.0.10", exhausted),
	Entry("does not get one of the other family", `{prefix: 24, pools: [{start: 10.0.0.1, end: 10.0.0.9}]}`, "2001:db8::1", exhausted),
	Entry("does not get the gateway", `{prefix: 24, gateway: 10.0.0.1, pools: [{start: 10.0.0.1, end: 10.0.0.9}]}`, "10.0.0.1", "Requested IP not available"),
	Entry("does not get what is kept for another", `{prefix: 24, preAllocations: {other: 10.0.0.7}, pools: [{start: 10.0.0.1, end: 10.0.0.9}]}`, "10.0.0.7", "Requested IP not available"),
	Entry("does not get another than what is kept for it", `{prefix: 24, preAllocations: {c: 10.0.0.5}, pools: [{start: 10.0.0.1, end: 10.0.0.9}]}`, "10.0.0.7",
		"PreAllocation and requested ip address are conflicting"),
	Entry("is told that it is none, where it is empty", `{prefix: 24, pools: [{start: 10.0.0.1, end: 10.0.0.9}]}`, "", `Invalid ipAddress annotation "": not a valid IP address`),
)

var _ = Describe("A claim", func() {
	const nine = `{prefix: 24, pools: [{start: 10.0.0.1, end: 10.0.0.9}]}`
	var ns string

	BeforeEach(func(ctx SpecContext) { ns = suite.Namespace(ctx, k, nil) })

	It("is answered as Metal3 answers: name, references, owners, labels, finalizers", func(ctx SpecContext) {
		pool(ctx, ns, nine)
		c := claimOf(ns, "c")
		c.Labels = map[string]string{"infrastructure.cluster.x-k8s.io/data-name": "data-0"}
		a := answer(ctx, c)
		Expect(a.Name).To(Equal("net-10-0-0-1"))
		Expect(a.Spec.Claim).To(And(HaveField("Name", "c"), HaveField("Namespace", ns)))
		Expect(a.Spec.Pool).To(And(HaveField("Name", "p"), HaveField("Namespace", ns)))
		Expect(a.Labels).To(HaveKeyWithValue("infrastructure.cluster.x-k8s.io/data-name", "data-0"))
		Expect(a.Finalizers).To(ConsistOf(m3v1.IPAddressFinalizer))
		Expect(c.Finalizers).To(ConsistOf(m3v1.IPClaimFinalizer))
		Expect(*c.Status.Address).To(And(HaveField("Name", a.Name), HaveField("Namespace", ns)))
		Expect(a.OwnerReferences).To(ConsistOf(
			And(HaveField("Kind", "IPClaim"), HaveField("UID", c.UID)), And(HaveField("Kind", "IPPool"), HaveField("Name", "p"))))
		Expect(metav1.GetControllerOf(a)).To(BeNil())
	})

	It("gets what was freed, once it was told that there is nothing", func(ctx SpecContext) {
		pool(ctx, ns, `{prefix: 24, pools: [{start: 10.0.0.1, end: 10.0.0.1}]}`)
		first, second := claimOf(ns, "first"), claimOf(ns, "second")
		answer(ctx, first)
		Expect(k.Create(ctx, second)).To(Succeed())
		refused(ctx, second, exhausted)
		Expect(k.Delete(ctx, first)).To(Succeed())
		Expect(string(answered(ctx, second).Spec.Address)).To(Equal("10.0.0.1"))
	})

	It("is told which IPAddress of another pool has the name that its own would have", func(ctx SpecContext) {
		poolNamed(ctx, ns, "q", `{prefix: 24, pools: [{start: 10.0.0.1, end: 10.0.0.1}]}`)
		first := claimOf(ns, "first")
		first.Spec.Pool.Name = "q"
		Expect(answer(ctx, first).Name).To(Equal("net-10-0-0-1"))
		pool(ctx, ns, `{prefix: 24, pools: [{start: 10.0.0.1, end: 10.0.0.1}]}`)
		second := claimOf(ns, "second")
		Expect(k.Create(ctx, second)).To(Succeed())
		refused(ctx, second, exhausted)
		Expect(second.Status.Conditions).To(ContainElement(HaveField("Message",
			"IPPool p has no address available: the name net-10-0-0-1 is taken by that IPAddress of IPPool q")))
	})

	It("waits for its pool without a message", func(ctx SpecContext) {
		c := claimOf(ns, "c")
		Expect(k.Create(ctx, c)).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(c), c)).To(Succeed())
			g.Expect(c.Status.Conditions).To(ContainElement(HaveField("Reason", ipamv1.ClaimReadyPoolNotReadyReason)))
		}, patience).Should(Succeed())
		Expect(c.Status.ErrorMessage).To(BeNil())
		pool(ctx, ns, nine)
		answered(ctx, c)
	})

	It("is refused where it names a pool of another namespace", func(ctx SpecContext) {
		pool(ctx, ns, nine)
		c := claimOf(suite.Namespace(ctx, k, nil), "c")
		c.Spec.Pool.Namespace = ns
		Expect(k.Create(ctx, c)).To(Succeed())
		refused(ctx, c, fmt.Sprintf("spec.pool.namespace: is %q, and a claim gets addresses of pools in its own namespace only, %q", ns, c.Namespace))
	})

	It("reports why the API server does not store its IPAddress", func(ctx SpecContext) {
		p := &m3v1.IPPool{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "p"}, Spec: m3v1.IPPoolSpec{NamePrefix: "M3I_x"}}
		Expect(yaml.UnmarshalStrict([]byte(nine), &p.Spec)).To(Succeed())
		Expect(k.Create(ctx, p)).To(Succeed())
		c := claimOf(ns, "c")
		Expect(k.Create(ctx, c)).To(Succeed())
		Eventually(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(c), c)).To(Succeed())
			g.Expect(ptr.Deref(c.Status.ErrorMessage, "")).To(And(HavePrefix(m3v1.CreateFailedMessage+": "), ContainSubstring("M3I_x-10-0-0-1")))
		}, patience).Should(Succeed())
		Expect(c.Status.Conditions).To(ContainElement(HaveField("Reason", ipamv1.ClaimReadyRefusedByAPIServerReason)))
		Eventually(func() []eventsv1.Event {
			list := &eventsv1.EventList{}
			Expect(k.List(ctx, list, client.InNamespace(ns))).To(Succeed())
			return list.Items
		}, patience).Should(ContainElement(And(HaveField("Reason", ipamv1.ClaimReadyRefusedByAPIServerReason), HaveField("Regarding.UID", c.UID))))
		Expect(logged.Lines(`"Refused" logger="audit"`, string(c.UID))).To(ContainElement(
			And(ContainSubstring(`reason="RefusedByAPIServer"`), ContainSubstring("M3I_x-10-0-0-1"))))
	})

	It("comes by kubectl with its pool, and reports the quota that its IPAddress exceeds until there is room", func(ctx SpecContext) {
		quota := &corev1.ResourceQuota{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "q"},
			Spec:       corev1.ResourceQuotaSpec{Hard: corev1.ResourceList{"count/ipaddresses.ipam.metal3.io": resource.MustParse("0")}},
		}
		Expect(k.Create(ctx, quota)).To(Succeed())
		Eventually(komega.Object(quota), patience).Should(HaveField("Status.Hard", Not(BeEmpty())))
		_, err := site.Kubectl(ctx, `
apiVersion: ipam.metal3.io/v1alpha1
kind: IPPool
metadata: {name: p}
spec: {namePrefix: net, prefix: 24, pools: [{start: 10.0.0.1, end: 10.0.0.9}]}
---
apiVersion: ipam.metal3.io/v1alpha1
kind: IPClaim
metadata: {name: c}
spec: {pool: {name: p}}
`, "apply", "--namespace="+ns, "-f-")
		Expect(err).NotTo(HaveOccurred())
		c := claimOf(ns, "c")
		Eventually(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(c), c)).To(Succeed())
			g.Expect(ptr.Deref(c.Status.ErrorMessage, "")).To(And(HavePrefix(m3v1.CreateFailedMessage+": "), ContainSubstring("exceeded quota: q")))
			g.Expect(c.Status.Conditions).To(ContainElement(HaveField("Reason", ipamv1.ClaimReadyRefusedByAPIServerReason)))
		}, patience).Should(Succeed())
		Expect(k.Delete(ctx, quota)).To(Succeed())
		Expect(string(answered(ctx, c).Spec.Address)).To(Equal("10.0.0.1"))
	})

	It("frees its address when it goes, and leaves nothing", func(ctx SpecContext) {
		pool(ctx, ns, nine)
		c := claimOf(ns, "c")
		a := answer(ctx, c)
		Expect(k.Delete(ctx, c)).To(Succeed())
		gone(ctx, c)
		gone(ctx, a)
		Eventually(func() []string { return records(ctx, ns) }, patience).Should(BeEmpty())
		Expect(string(answer(ctx, claimOf(ns, "next")).Spec.Address)).To(Equal("10.0.0.1"))
	})

	It("leaves nothing where it is created and deleted at once", func(ctx SpecContext) {
		pool(ctx, ns, nine)
		for i := range 20 {
			c := claimOf(ns, fmt.Sprint("c-", i))
			Expect(k.Create(ctx, c)).To(Succeed())
			Expect(k.Delete(ctx, c)).To(Succeed())
		}
		Eventually(func(g Gomega) {
			claims := &m3v1.IPClaimList{}
			g.Expect(k.List(ctx, claims, client.InNamespace(ns))).To(Succeed())
			g.Expect(claims.Items).To(BeEmpty())
			g.Expect(addresses(ctx, ns)).To(BeEmpty())
			g.Expect(records(ctx, ns)).To(BeEmpty())
		}, patience).Should(Succeed())
	})

	It("keeps its address while somebody else's finalizer is on it", func(ctx SpecContext) {
		pool(ctx, ns, nine)
		c := claimOf(ns, "c")
		c.Finalizers = []string{"metal3data.infrastructure.cluster.x-k8s.io"}
		a := answer(ctx, c)
		Expect(k.Delete(ctx, c)).To(Succeed())
		Consistently(func() error { return k.Get(ctx, client.ObjectKeyFromObject(a), a) }, "1s").Should(Succeed())
		Expect(a.DeletionTimestamp.IsZero()).To(BeTrue())
		Expect(k.Get(ctx, client.ObjectKeyFromObject(c), c)).To(Succeed())
		c.Finalizers = []string{m3v1.IPClaimFinalizer}
		Expect(k.Update(ctx, c)).To(Succeed())
		gone(ctx, a)
		gone(ctx, c)
	})

	It("gets the next address where another pool's IPAddress has the name", func(ctx SpecContext) {
		pool(ctx, ns, nine)
		poolNamed(ctx, ns, "q", nine)
		answer(ctx, claimOf(ns, "of-p"))
		other := claimOf(ns, "of-q")
		other.Spec.Pool.Name = "q"
		Expect(string(answer(ctx, other).Spec.Address)).To(Equal("10.0.0.2"))
	})

	It("is told of one address, and keeps it, whatever becomes of its pool", func(ctx SpecContext) {
		pool(ctx, ns, nine)
		c := claimOf(ns, "c")
		before := answer(ctx, c)
		p := &m3v1.IPPool{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "p"}}
		Expect(k.Delete(ctx, p)).To(Succeed())
		Consistently(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(c), c)).To(Succeed())
			g.Expect(c.Status.Address.Name).To(Equal(before.Name))
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(p), p)).To(Succeed(), "a pool in use stays")
		}, "1s").Should(Succeed())
		Expect(k.Delete(ctx, c)).To(Succeed())
		gone(ctx, c)
		gone(ctx, p)
	})

	It("gets what is kept for it, outside of the pool, not at all", func(ctx SpecContext) {
		pool(ctx, ns, `{prefix: 24, preAllocations: {c: 10.9.9.9}, pools: [{start: 10.0.0.1, end: 10.0.0.9}]}`)
		c := claimOf(ns, "c")
		Expect(k.Create(ctx, c)).To(Succeed())
		refused(ctx, c, "Pre-allocated IP out of bounds")
	})
})

var _ = Describe("What another manager chose for a claim, and could not tell it", func() {
	It("goes: first the IPAddress, then the record", func(ctx SpecContext) {
		ns := suite.Namespace(ctx, k, nil)
		pool(ctx, ns, `{prefix: 24, pools: [{start: 10.0.0.1, end: 10.0.0.9}]}`)
		c := claimOf(ns, "c")
		own := answer(ctx, c)
		record := &ipamv1.IPAllocation{}
		list := &ipamv1.IPAllocationList{}
		Expect(k.List(ctx, list, client.InNamespace(ns))).To(Succeed())
		for i := range list.Items {
			if list.Items[i].Spec.ClaimRef.UID == string(c.UID) {
				record = list.Items[i].DeepCopy()
			}
		}
		record.ObjectMeta = metav1.ObjectMeta{Namespace: ns, Name: "second", Finalizers: record.Finalizers, OwnerReferences: record.OwnerReferences}
		record.Spec.CIDR, record.Spec.Manager = "10.0.0.7/32", ipamv1.AllocationManager{Instance: "a manager that died"}
		Expect(k.Create(ctx, record)).To(Succeed())
		stray := own.DeepCopy()
		stray.ObjectMeta = metav1.ObjectMeta{Namespace: ns, Name: "net-10-0-0-7", Finalizers: own.Finalizers, OwnerReferences: own.OwnerReferences}
		stray.Spec.Address = "10.0.0.7"
		Expect(k.Create(ctx, stray)).To(Succeed())
		gone(ctx, stray)
		Eventually(func() []string { return records(ctx, ns) }, patience).Should(ConsistOf("10.0.0.1/32"))
		Expect(answered(ctx, c).Name).To(Equal(own.Name))
	})
})

var _ = Describe("An IPAddress that somebody else made", func() {
	var ns string

	BeforeEach(func(ctx SpecContext) {
		ns = suite.Namespace(ctx, k, nil)
		pool(ctx, ns, `{prefix: 24, gateway: 10.0.0.3, pools: [{start: 10.0.0.1, end: 10.0.0.9}]}`)
	})

	It("holds its address until it is deleted", func(ctx SpecContext) {
		a := made(ns, "by-hand", "nobody", "10.0.0.1")
		Expect(k.Create(ctx, a)).To(Succeed())
		Eventually(func() []string { return records(ctx, ns) }, patience).Should(ConsistOf("10.0.0.1/32"))
		Expect(string(answer(ctx, claimOf(ns, "c")).Spec.Address)).To(Equal("10.0.0.2"))
		Expect(k.Delete(ctx, a)).To(Succeed())
		gone(ctx, a)
		Eventually(func() []string { return records(ctx, ns) }, patience).Should(ConsistOf("10.0.0.2/32"))
	})

	It("is not its claim's where somebody has pointed the claim's status at it", func(ctx SpecContext) {
		c := claimOf(ns, "c")
		own := answer(ctx, c)
		Expect(k.Create(ctx, made(ns, "by-hand", "c", "10.0.0.7"))).To(Succeed())
		Eventually(func() []string { return records(ctx, ns) }, patience).Should(ConsistOf("10.0.0.1/32", "10.0.0.7/32"))
		for _, name := range []string{"by-hand", "nowhere"} {
			patch := []byte(`{"status":{"address":{"name":"` + name + `"}}}`)
			Expect(k.Status().Patch(ctx, c, client.RawPatch(types.MergePatchType, patch))).To(Succeed())
			Eventually(func(g Gomega) {
				g.Expect(k.Get(ctx, client.ObjectKeyFromObject(c), c)).To(Succeed())
				g.Expect(c.Status.Address).To(HaveField("Name", own.Name))
			}, patience).Should(Succeed())
			Expect(addresses(ctx, ns)).To(ContainElement(HaveField("UID", own.UID)))
			Expect(records(ctx, ns)).To(ConsistOf("10.0.0.1/32", "10.0.0.7/32"))
		}
	})

	It("holds it also where its pool gains the address later", func(ctx SpecContext) {
		answer(ctx, claimOf(ns, "first"))
		Expect(k.Create(ctx, made(ns, "by-hand", "nobody", "10.0.0.10"))).To(Succeed())
		p := &m3v1.IPPool{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "p"}}
		suite.Change(ctx, k, p, func() { p.Spec.Pools[0].End = ptr.To[m3v1.Address]("10.0.0.11") })
		Expect(string(answer(ctx, asking(claimOf(ns, "grown"), "10.0.0.11")).Spec.Address)).To(Equal("10.0.0.11"))
		c := asking(claimOf(ns, "late"), "10.0.0.10")
		Expect(k.Create(ctx, c)).To(Succeed())
		Eventually(func() *string {
			Expect(k.Get(ctx, client.ObjectKeyFromObject(c), c)).To(Succeed())
			return c.Status.ErrorMessage
		}, patience).Should(HaveValue(Equal(m3v1.NotAvailableMessage)))
		Expect(c.Status.Address).To(BeNil())
	})

	It("is its claim's, under its own name, when that comes", func(ctx SpecContext) {
		Expect(k.Create(ctx, made(ns, "by-hand", "c", "10.0.0.7"))).To(Succeed())
		Eventually(func() []string { return records(ctx, ns) }, patience).Should(ConsistOf("10.0.0.7/32"))
		a := answer(ctx, claimOf(ns, "c"))
		Expect(a.Name).To(Equal("by-hand"))
		Eventually(func() []string { return records(ctx, ns) }, patience).Should(ConsistOf("10.0.0.7/32"))
		c := claimOf(ns, "c")
		Expect(k.Delete(ctx, c)).To(Succeed())
		gone(ctx, c)
		gone(ctx, a)
		Eventually(func() []string { return records(ctx, ns) }, patience).Should(BeEmpty())
	})

	It("keeps its address where a claim of its name comes for another pool, which gets one of its own", func(ctx SpecContext) {
		poolNamed(ctx, ns, "q", `{prefix: 24, pools: [{start: 10.2.0.1, end: 10.2.0.9}]}`)
		ofQ := made(ns, "by-hand", "c", "10.2.0.7")
		ofQ.Spec.Pool.Name = "q"
		Expect(k.Create(ctx, ofQ)).To(Succeed())
		Eventually(func() []string { return records(ctx, ns) }, patience).Should(ConsistOf("10.2.0.7/32"))
		c := claimOf(ns, "c")
		Expect(string(answer(ctx, c).Spec.Address)).To(Equal("10.0.0.1"))
		other := asking(claimOf(ns, "other"), "10.2.0.7")
		other.Spec.Pool.Name = "q"
		Expect(k.Create(ctx, other)).To(Succeed())
		refused(ctx, other, m3v1.NotAvailableMessage)
		Expect(addresses(ctx, ns)).To(ContainElement(HaveField("UID", ofQ.UID)))
		Expect(records(ctx, ns)).To(ConsistOf("10.0.0.1/32", "10.2.0.7/32"))
		Expect(k.Delete(ctx, c)).To(Succeed())
		gone(ctx, c)
		Eventually(func() []string { return records(ctx, ns) }, patience).Should(ConsistOf("10.2.0.7/32"))
		Expect(k.Delete(ctx, ofQ)).To(Succeed())
		Expect(string(answered(ctx, other).Spec.Address)).To(Equal("10.2.0.7"))
	})

	It("is its claim's beside one of the same claim's name and another pool", func(ctx SpecContext) {
		poolNamed(ctx, ns, "q", `{prefix: 24, pools: [{start: 10.2.0.1, end: 10.2.0.9}]}`)
		ofQ := made(ns, "of-q", "c", "10.2.0.7")
		ofQ.Spec.Pool.Name = "q"
		Expect(k.Create(ctx, ofQ)).To(Succeed())
		Expect(k.Create(ctx, made(ns, "of-p", "c", "10.0.0.7"))).To(Succeed())
		Eventually(func() []string { return records(ctx, ns) }, patience).Should(ConsistOf("10.0.0.7/32", "10.2.0.7/32"))
		Expect(answer(ctx, claimOf(ns, "c")).Name).To(Equal("of-p"))
		Expect(records(ctx, ns)).To(ContainElement("10.2.0.7/32"))
	})

	It("keeps the gateway, which nobody else gets", func(ctx SpecContext) {
		Expect(k.Create(ctx, made(ns, "by-hand", "c", "10.0.0.3"))).To(Succeed())
		Expect(string(answer(ctx, claimOf(ns, "c")).Spec.Address)).To(Equal("10.0.0.3"))
	})

	It("is left alone beside the claim's own answer", func(ctx SpecContext) {
		a := answer(ctx, claimOf(ns, "c"))
		Expect(k.Create(ctx, made(ns, "by-hand", "c", "10.0.0.7"))).To(Succeed())
		Consistently(func(g Gomega) {
			c := claimOf(ns, "c")
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(c), c)).To(Succeed())
			g.Expect(c.Status.Address.Name).To(Equal(a.Name))
			g.Expect(addresses(ctx, ns)).To(HaveLen(2))
		}, "2s").Should(Succeed())
	})
})

// dashed is an IPv4 address as the names of IPAddresses have it.
func dashed(address string) string { return strings.ReplaceAll(address, ".", "-") }
