// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ipclaim

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claimant"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ipclaim"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
)

// startLedger runs a ledger of the spec's own, which knows all records when this returns.
func startLedger(ctx context.Context) *ledger.Ledger {
	GinkgoHelper()
	return startLedgerWith(ctx, site.Client())
}

// startLedgerWith runs one that writes and watches with this client.
func startLedgerWith(ctx context.Context, c client.WithWatch) *ledger.Ledger {
	GinkgoHelper()
	lists, err := ledger.ListClient(site.Config())
	Expect(err).NotTo(HaveOccurred())
	book := ledger.New(ledger.Options{Client: c, REST: lists, Instance: "spec", Clock: clock.RealClock{}})
	run, stop := context.WithCancel(context.WithoutCancel(ctx))
	DeferCleanup(stop)
	go func() {
		defer GinkgoRecover()
		Expect(book.Start(run)).To(Succeed())
	}()
	Expect(book.WaitForSync(ctx)).To(Succeed())
	return book
}

var _ = Describe("A claim that arrives with a record of its former UID", func() {
	It("loses that record to repair only when it does not need it", func(ctx SpecContext) {
		ns := newNamespace(ctx)
		claim := newClaim(ns, "c", "root") // nothing can be recorded for it before its pool is there
		claim.Finalizers, claim.Spec.CIDR = []string{ipamv1.ClaimFinalizer}, "10.0.0.9/32"
		create(ctx, claim)
		Expect(claim.Annotations).To(HaveKey(ipamv1.ArrivedAnnotation))
		record := create(ctx, &ipamv1.IPAllocation{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: ns, Name: "came-along", Finalizers: []string{ipamv1.AllocationFinalizer},
				OwnerReferences: []metav1.OwnerReference{{APIVersion: ipamv1.GroupVersion.String(), Kind: "IPClaim", Name: "c", UID: claim.UID}},
			},
			Spec: ipamv1.IPAllocationSpec{
				PoolRef:      ipamv1.PoolReference{Kind: ipamv1.IPPoolKind, Namespace: ns, Name: "root"},
				AddressSpace: ns, CIDR: claim.Spec.CIDR, Purpose: ipamv1.ClaimPurpose,
				ClaimRef: ipamv1.ClaimReference{
					APIGroup: ipamv1.GroupVersion.Group, Kind: ipamv1.IPClaimKind, Namespace: ns, Name: "c", UID: "of-the-other-cluster",
				},
			},
		})
		repair := &ipclaim.Reconciler{Client: k, Live: k, Ledger: startLedger(ctx)}
		key := client.ObjectKeyFromObject(claim)

		Expect(repair.Settle(ctx, key)).To(Succeed())
		Expect(k.Get(ctx, client.ObjectKeyFromObject(record), record)).To(Succeed())
		Expect(record.DeletionTimestamp).To(BeNil())
		Expect(record.Spec.ReleasedAt.IsZero()).To(BeTrue())

		serving(ctx, newPool(ns, "root", ipamv1.IPPoolSpec{CIDR: "10.0.0.0/24", AddressSpace: ns}))
		gone(ctx, record) // the claim has a record of its own now, and this one has gone
		Expect(records(ctx, ns)).To(Equal([]string{"c 10.0.0.9/32"}))
	})
})

var _ = Describe("What is restored without its record, and must not be touched because of its Cluster", func() {
	var ns string

	BeforeEach(func(ctx SpecContext) {
		ns = newNamespace(ctx)
		serving(ctx, newPool(ns, "root", ipamv1.IPPoolSpec{CIDR: "10.0.0.0/24", AddressSpace: ns}))
	})

	// refused tries to get what is restored, until the API server refuses it because that is recorded.
	refused := func(ctx context.Context, obj client.Object) {
		GinkgoHelper()
		Expect(k.Create(ctx, obj)).To(MatchError(ContainSubstring("spec.cidr")))
	}
	halts := func(ctx context.Context, obj conditional, reason string) {
		GinkgoHelper()
		Eventually(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(obj), obj)).To(Succeed())
			g.Expect(conditions.GetReason(obj, ipamv1.ReadyCondition)).To(Equal(reason))
		}, patience, "100ms").Should(Succeed())
	}

	DescribeTable("is recorded: an IPClaim, which no other claim can have the address of", func(ctx SpecContext, isPaused bool) {
		if isPaused {
			create(ctx, builder.Cluster(ns, "web").WithPaused(true).Build())
		}
		claim := newClaim(ns, "c", "root")
		claim.Finalizers, claim.Spec.CIDR = []string{ipamv1.ClaimFinalizer}, "10.0.0.9/32"
		claim.Labels = map[string]string{clusterv1.ClusterNameLabel: "web"}
		create(ctx, claim)
		Eventually(func() []string { return records(ctx, ns) }, patience, "100ms").Should(Equal([]string{"c 10.0.0.9/32"}))
		other := newClaim(ns, "d", "root")
		other.Spec.CIDR = claim.Spec.CIDR
		refused(ctx, other)
		if isPaused {
			becomes(ctx, claim, ipamv1.PausedCondition)
			Expect(conditions.Has(claim, ipamv1.ReadyCondition)).To(BeFalse())
			patch(ctx, builder.Cluster(ns, "web").Build(), `{"spec":{"paused":false}}`)
		} else {
			halts(ctx, claim, ipamv1.ClaimReadyClusterNotFoundReason)
			create(ctx, builder.Cluster(ns, "web").Build())
		}
		becomes(ctx, claim, ipamv1.ReadyCondition)
		Expect(records(ctx, ns)).To(Equal([]string{"c 10.0.0.9/32"}))
	},
		Entry("while its Cluster is missing", false),
		Entry("while its Cluster is paused", true),
	)

	It("is recorded: a carved pool, and an IPAddress out of it", func(ctx SpecContext) {
		address := &ipamv1beta2.IPAddress{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: "host", Finalizers: []string{ipamv1.AddressFinalizer}},
			Spec: ipamv1beta2.IPAddressSpec{
				ClaimRef: ipamv1beta2.IPAddressClaimReference{Name: "host"},
				PoolRef:  ipamv1beta2.IPPoolReference{APIGroup: ipamv1.GroupVersion.Group, Kind: ipamv1.IPPoolKind, Name: "child"},
				Address:  "10.0.0.70", Prefix: ptr.To[int32](26),
			},
		}
		create(ctx, address)
		child := newPool(ns, "child", carved(26))
		child.Finalizers, child.Spec.CIDR, child.Spec.AddressSpace, child.Spec.ClusterName = []string{ipamv1.PoolFinalizer}, "10.0.0.64/26", ns, "web"
		create(ctx, child)
		Eventually(func() []string { return records(ctx, ns) }, patience, "100ms").Should(ConsistOf("child 10.0.0.64/26", "host 10.0.0.70/32"))
		halts(ctx, child, ipamv1.PoolReadyClusterNotFoundReason)
		other, claim := newPool(ns, "other", carved(26)), newClaim(ns, "d", "root")
		other.Spec.CIDR, claim.Spec.CIDR = child.Spec.CIDR, "10.0.0.70/32"
		refused(ctx, other)
		refused(ctx, claim)
		create(ctx, builder.Cluster(ns, "web").Build())
		becomes(ctx, child, ipamv1.ReadyCondition)
	})

	It("is recorded: a root pool, and a claim out of it", func(ctx SpecContext) {
		claim := newClaim(ns, "c", "halted")
		claim.Finalizers, claim.Spec.CIDR = []string{ipamv1.ClaimFinalizer}, "10.1.0.9/32"
		claim.Labels = map[string]string{clusterv1.ClusterNameLabel: "web"}
		create(ctx, claim)
		halted := newPool(ns, "halted", ipamv1.IPPoolSpec{CIDR: "10.1.0.0/24", AddressSpace: ns, ClusterName: "web"})
		halted.Finalizers = []string{ipamv1.PoolFinalizer}
		create(ctx, halted)
		Eventually(func() []string { return records(ctx, ns) }, patience, "100ms").Should(Equal([]string{"c 10.1.0.9/32"}))
		halts(ctx, halted, ipamv1.PoolReadyClusterNotFoundReason)
	})
})

var _ = Describe("What arrives with a prefix that its pool excludes", func() {
	It("keeps it and says so, until the pool does not exclude it any more", func(ctx SpecContext) {
		ns := newNamespace(ctx)
		root := newPool(ns, "root", ipamv1.IPPoolSpec{CIDR: "10.0.0.0/24", AddressSpace: ns, ExcludedAddresses: []ipamv1.AddressEntry{"10.0.0.9", "10.0.0.65"}})
		serving(ctx, root)
		claim, child := newClaim(ns, "c", "root"), newPool(ns, "child", carved(26))
		claim.Finalizers, claim.Spec.CIDR = []string{ipamv1.ClaimFinalizer}, "10.0.0.9/32"
		child.Finalizers, child.Spec.CIDR, child.Spec.AddressSpace = []string{ipamv1.PoolFinalizer}, "10.0.0.64/26", ns
		create(ctx, claim)
		create(ctx, child)
		arrived := []claimant.Claimant{claim, child}
		for _, obj := range arrived {
			within := func() string {
				Expect(k.Get(ctx, client.ObjectKeyFromObject(obj), obj)).To(Succeed())
				if !conditions.IsTrue(obj, ipamv1.ReadyCondition) {
					return "not ready: " + conditions.GetMessage(obj, ipamv1.ReadyCondition)
				}
				return conditions.GetMessage(obj, ipamv1.WithinPoolCondition)
			}
			Eventually(within, "1m", "100ms").Should(Equal("spec.cidr: is excluded or contains an excluded address; it is kept all the same"))
			Consistently(within, "300ms", "50ms").ShouldNot(BeEmpty())
		}

		patch(ctx, root, `{"spec":{"excludedAddresses":null}}`)
		for _, obj := range arrived {
			Eventually(func() bool {
				patch(ctx, obj, fmt.Sprintf(`{"metadata":{"annotations":{"looked":"%d"}}}`, time.Now().UnixNano()))
				Expect(k.Get(ctx, client.ObjectKeyFromObject(obj), obj)).To(Succeed())
				return conditions.Has(obj, ipamv1.WithinPoolCondition)
			}, "1m", "200ms").Should(BeFalse())
		}
	})
})
