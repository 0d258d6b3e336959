// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// expectArrivals brings claims and IPAddresses of pool v4 that lack the rest.
func expectArrivals(ctx context.Context) {
	GinkgoHelper()
	By("a claim whose address does not come")
	alone := came("alone").Build()
	persist(ctx, alone)
	expectReason(ctx, alone, ipamv1.ClaimReadyWaitingForRestoreReason)
	Expect(k.Get(ctx, client.ObjectKeyFromObject(alone), &ipamv1beta2.IPAddress{})).NotTo(Succeed())
	Expect(k.Patch(ctx, alone, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"annotations":{"`+ipamv1.ArrivedAnnotation+`":""}}}`)))).To(Succeed())
	expectReason(ctx, alone, ipamv1.ClaimReadyAllocatedReason)

	By("an IPAddress without record, before its claim")
	early := cameWith("early", "192.0.2.201")
	persist(ctx, early)
	expectRecorded(ctx, "192.0.2.201/32")
	suite.Change(ctx, k, early, func() { early.Annotations = nil }) // as clusterctl does that is called again
	Expect(early.Annotations).To(HaveKey(ipamv1.ArrivedAnnotation))
	thief := builder.IPAddressClaim(blue, "thief", ipamv1.IPPoolKind, "v4").WithAnnotation(ipamv1.AddressAnnotation, "192.0.2.201").Build()
	persist(ctx, thief)
	expectReason(ctx, thief, ipamv1.ClaimReadyAllocationFailedReason)
	its := came("early").Build()
	persist(ctx, its)
	expectReason(ctx, its, ipamv1.ClaimReadyAllocatedReason)
	Expect(k.Get(ctx, client.ObjectKeyFromObject(early), early)).To(Succeed())
	Expect(early.Spec.Address).To(Equal("192.0.2.201"))
	Expect(early.Annotations).NotTo(HaveKey(ipamv1.ArrivedAnnotation))

	By("a record before its claim, replaced by its source, as clusterctl does that is called again")
	record := cameRecorded("replaced", "192.0.2.203/32")
	persist(ctx, record)
	suite.Change(ctx, k, record, func() {
		record.Annotations, record.Spec.Manager = nil, ipamv1.AllocationManager{Instance: "source", CreatedRevision: "7"}
	})
	Expect(record.Annotations).To(HaveKey(ipamv1.ArrivedAnnotation))
	Expect(record.Spec.Manager.CreatedRevision).NotTo(Equal("7"))
	replaced := came("replaced").Build()
	persist(ctx, replaced)
	expectReason(ctx, replaced, ipamv1.ClaimReadyAllocatedReason)
	answer := &ipamv1beta2.IPAddress{}
	Expect(k.Get(ctx, client.ObjectKeyFromObject(replaced), answer)).To(Succeed())
	Expect(answer.Spec.Address).To(Equal("192.0.2.203"))

	By("a claim and its IPAddress without record, while the Cluster is paused")
	pause(ctx, true)
	resting := came("resting").WithLabel(clusterv1.ClusterNameLabel, blue).Build()
	persist(ctx, resting)
	persist(ctx, cameWith("resting", "192.0.2.202"))
	expectRecorded(ctx, "192.0.2.202/32")
	expectReason(ctx, resting, "")
	pause(ctx, false)
	expectReason(ctx, resting, ipamv1.ClaimReadyAllocatedReason)
	suite.AtRest(ctx, site.Config())
}

// came is a claim that has been one before.
func came(name string) *builder.ClaimBuilder {
	return builder.IPAddressClaim(blue, name, ipamv1.IPPoolKind, "v4").WithFinalizers(ipamv1.ClaimFinalizer)
}

// cameWith is an IPAddress that has been an answer before.
func cameWith(name, address string) *ipamv1beta2.IPAddress {
	answer := &ipamv1beta2.IPAddress{Spec: ipamv1beta2.IPAddressSpec{
		ClaimRef: ipamv1beta2.IPAddressClaimReference{Name: name}, PoolRef: came(name).Build().Spec.PoolRef,
		Address: address, Prefix: ptr.To[int32](24), Gateway: "192.0.2.1",
	}}
	answer.Namespace, answer.Name, answer.Finalizers = blue, name, []string{ipamv1.AddressFinalizer}
	return answer
}

// cameRecorded is a record that has been one before, of a claim that has another UID by now.
func cameRecorded(name, cidr string) *ipamv1.IPAllocation {
	return &ipamv1.IPAllocation{
		ObjectMeta: metav1.ObjectMeta{Namespace: blue, Name: name + "-former", Finalizers: []string{ipamv1.AllocationFinalizer}},
		Spec: ipamv1.IPAllocationSpec{
			PoolRef:      ipamv1.PoolReference{Kind: ipamv1.IPPoolKind, Namespace: blue, Name: "v4"},
			AddressSpace: ipamv1.DefaultAddressSpace, CIDR: cidr, Purpose: ipamv1.ClaimPurpose,
			ClaimRef: ipamv1.ClaimReference{
				APIGroup: ipamv1beta2.GroupVersion.Group, Kind: "IPAddressClaim", Namespace: blue, Name: name, UID: "former",
			},
		},
	}
}

func expectReason(ctx context.Context, claim *ipamv1beta2.IPAddressClaim, reason string) {
	GinkgoHelper()
	Eventually(func() string {
		Expect(k.Get(ctx, client.ObjectKeyFromObject(claim), claim)).To(Succeed())
		return readiness(claim)
	}, patience, "200ms").Should(Equal(reason))
}

func expectRecorded(ctx context.Context, cidr string) {
	GinkgoHelper()
	Eventually(func() int {
		records := &ipamv1.IPAllocationList{}
		Expect(k.List(ctx, records, client.MatchingFields{"spec.cidr": cidr})).To(Succeed())
		return len(records.Items)
	}, patience, "200ms").Should(Equal(1))
}

func pause(ctx context.Context, isPaused bool) {
	GinkgoHelper()
	Eventually(func() error {
		cluster := &clusterv1.Cluster{}
		Expect(k.Get(ctx, client.ObjectKey{Namespace: blue, Name: blue}, cluster)).To(Succeed())
		cluster.Spec.Paused = ptr.To(isPaused)
		return k.Update(ctx, cluster)
	}, patience, "200ms").Should(Succeed())
}
