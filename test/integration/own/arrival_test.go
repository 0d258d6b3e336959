// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package own

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/clock"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ipclaim"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
)

// startLedger runs a ledger of the spec's own, which knows all records when this returns.
func startLedger(ctx context.Context) *ledger.Ledger {
	GinkgoHelper()
	lists, err := ledger.ListClient(site.Config())
	Expect(err).NotTo(HaveOccurred())
	book := ledger.New(ledger.Options{Client: site.Client(), REST: lists, Instance: "spec", Clock: clock.RealClock{}})
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
		serving(ctx, newPool(ns, "root", ipamv1.IPPoolSpec{CIDR: "10.0.0.0/24", AddressSpace: ns}))
		claim := newClaim(ns, "c", "root")
		claim.Finalizers, claim.Spec.CIDR = []string{ipamv1.ClaimFinalizer}, "10.0.0.9/32"
		claim.Labels = map[string]string{clusterv1.ClusterNameLabel: "not-here-yet"} // nothing is done for it until its Cluster is
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

		patch(ctx, claim, `{"metadata":{"labels":null}}`)
		gone(ctx, record) // the claim has a record of its own now, and this one has gone
		Expect(records(ctx, ns)).To(Equal([]string{"c 10.0.0.9/32"}))
	})
})
