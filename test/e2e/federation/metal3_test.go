// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package federation

import (
	"context"
	"net/netip"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	m3v1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/metal3/v1alpha1"
	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// metal3Answers makes a pool of Metal3's of these addresses, which is carved from a GlobalIPPool, and a claim of Metal3's and one of
// Cluster API's for it, and waits until both are answered.
func metal3Answers(ctx context.Context, at *suite.Spec, parent ownPool, start, end string) {
	GinkgoHelper()
	Expect(kindOf(parent)).To(Equal(ipamv1.GlobalIPPoolKind))
	hosts := &m3v1.IPPool{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: at.Namespace, Name: "hosts", Annotations: map[string]string{m3v1.ParentAnnotation: "GlobalIPPool/" + parent.GetName()},
		},
		Spec: m3v1.IPPoolSpec{
			NamePrefix: "hosts", Prefix: 24,
			Pools: []m3v1.Pool{{Start: ptr.To(m3v1.Address(start)), End: ptr.To(m3v1.Address(end))}},
		},
	}
	claim := &m3v1.IPClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: at.Namespace, Name: "host"},
		Spec:       m3v1.IPClaimSpec{Pool: m3v1.ObjectReference{Name: hosts.Name}},
	}
	capi := builder.IPAddressClaim(at.Namespace, "capi-host", "IPPool", hosts.Name).WithPoolGroup(m3v1.GroupVersion.Group).Build()
	at.Create(ctx, hosts, claim, capi)
	at.Ready(ctx, hosts, capi)
	answer := &m3v1.IPAddress{}
	Eventually(func(g Gomega) {
		g.Expect(at.Client.Get(ctx, client.ObjectKeyFromObject(claim), claim)).To(Succeed())
		g.Expect(claim.Status.Address).NotTo(BeNil())
		g.Expect(at.Client.Get(ctx, client.ObjectKey{Namespace: at.Namespace, Name: claim.Status.Address.Name}, answer)).To(Succeed())
	}, patience, "100ms").Should(Succeed())
	address := netip.MustParseAddr(string(answer.Spec.Address))
	Expect(address.Compare(netip.MustParseAddr(start))).To(BeNumerically(">=", 0))
	Expect(address.Compare(netip.MustParseAddr(end))).To(BeNumerically("<=", 0))
}
