// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package incluster

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/controller-runtime/pkg/client"

	icv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/incluster/v1alpha2"
	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// upstreamUser has the rights of the in-cluster provider's manager.
const upstreamUser = "in-cluster-manager"

var _ = Describe("What moves, is restored, or is another controller's", Ordered, func() {
	var (
		ns       string
		upstream client.Client
	)

	BeforeAll(func(ctx SpecContext) {
		create(ctx, &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: upstreamUser}, Rules: []rbacv1.PolicyRule{{
			APIGroups: []string{icv1.GroupVersion.Group}, Resources: []string{rbacv1.ResourceAll}, Verbs: []string{rbacv1.VerbAll},
		}}})
		create(ctx, &rbacv1.ClusterRoleBinding{
			ObjectMeta: metav1.ObjectMeta{Name: upstreamUser},
			RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: upstreamUser},
			Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: rbacv1.UserKind, Name: upstreamUser}},
		})
		config, err := site.RESTConfigAs(ctx, upstreamUser)
		Expect(err).NotTo(HaveOccurred())
		upstream, err = site.ClientFor(config)
		Expect(err).NotTo(HaveOccurred())
	})
	BeforeEach(func(ctx SpecContext) { ns = suite.Namespace(ctx, k, suite.Guarded) })

	spec := icv1.InClusterIPPoolSpec{Addresses: []string{"10.0.0.0/28"}, Prefix: 28, Gateway: "10.0.0.1"}
	// created makes a pool; the webhook may not be served yet.
	created := func(ctx SpecContext, pool client.Object) {
		GinkgoHelper()
		Eventually(func() error { return k.Create(ctx, pool) }, patience, interval).Should(Succeed())
	}
	newPool := func(name string) *icv1.InClusterIPPool {
		return &icv1.InClusterIPPool{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: name}, Spec: spec}
	}
	global := func() *icv1.GlobalInClusterIPPool {
		return &icv1.GlobalInClusterIPPool{ObjectMeta: metav1.ObjectMeta{Name: ns}, Spec: spec}
	}
	// answer is what the in-cluster provider makes for a claim.
	answer := func(kind, claim, pool string) *ipamv1beta2.IPAddress {
		return &ipamv1beta2.IPAddress{
			ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: claim, Finalizers: []string{icv1.AddressFinalizer}},
			Spec: ipamv1beta2.IPAddressSpec{
				ClaimRef: ipamv1beta2.IPAddressClaimReference{Name: claim},
				PoolRef:  ipamv1beta2.IPPoolReference{APIGroup: icv1.GroupVersion.Group, Kind: kind, Name: pool},
				Address:  "10.0.0.2", Prefix: ptr.To(int32(28)), Gateway: "10.0.0.1",
			},
		}
	}
	patch := func(ctx SpecContext, as client.Client, obj client.Object, text string) error {
		return as.Patch(ctx, obj, client.RawPatch(types.MergePatchType, []byte(text)))
	}

	It("refuses the IPAddress of an in-cluster provider that still runs, and the pool says so; those of other providers it lets be", func(ctx SpecContext) {
		created(ctx, newPool("p"))
		Expect(upstream.Create(ctx, answer(icv1.InClusterIPPoolKind, "c", "p"))).To(MatchError(ContainSubstring("stop the other IPAM controller")))
		Eventually(func(g Gomega) {
			events := &corev1.EventList{}
			g.Expect(k.List(ctx, events, client.InNamespace(ns))).To(Succeed())
			g.Expect(events.Items).To(ContainElement(And(HaveField("Reason", "OtherController"), HaveField("InvolvedObject.Name", "p"))))
		}, patience, interval).Should(Succeed())
		Expect(upstream.Create(ctx, answer("NutanixIPPool", "n", "p"))).To(Succeed())
	})

	It("gives an IPAddress that is restored before its claim to that claim, and to no other", func(ctx SpecContext) {
		created(ctx, newPool("p"))
		restored := create(ctx, answer(icv1.InClusterIPPoolKind, "c", "p"))
		suite.Change(ctx, k, restored, func() { restored.Annotations = nil })
		Expect(restored.Annotations).To(HaveKey(ipamv1.ArrivedAnnotation))
		Expect(told(ctx, create(ctx, claimOf(ns, "other", icv1.InClusterIPPoolKind, "p"))).Spec.Address).To(Equal("10.0.0.3"))
		claim := claimOf(ns, "c", icv1.InClusterIPPoolKind, "p")
		claim.Finalizers = []string{icv1.ClaimFinalizer}
		Expect(told(ctx, create(ctx, claim)).Spec.Address).To(Equal("10.0.0.2"))
	})

	It("holds the address of a claim that moves away from a global pool", func(ctx SpecContext) {
		created(ctx, global())
		claim := create(ctx, claimOf(ns, "c", icv1.GlobalInClusterIPPoolKind, ns))
		Expect(told(ctx, claim).Spec.Address).To(Equal("10.0.0.2"))
		suite.Change(ctx, k, claim, func() {
			claim.Annotations = map[string]string{clusterctlv1.DeleteForMoveAnnotation: "", clusterv1.PausedAnnotation: ""}
		})
		Expect(k.Delete(ctx, claim)).To(Succeed())
		Expect(patch(ctx, k, claim, `{"metadata": {"finalizers": null, "annotations": {"cluster.x-k8s.io/paused": null}}}`)).To(Succeed())
		Expect(claim.Finalizers).To(ConsistOf(icv1.ClaimFinalizer))
		gone(ctx, claim)
		Expect(told(ctx, create(ctx, claimOf(ns, "next", icv1.GlobalInClusterIPPoolKind, ns))).Spec.Address).To(Equal("10.0.0.3"))
	})

	It("keeps the home of a global pool that is replaced, and lets nobody else change it", func(ctx SpecContext) {
		pool := global()
		created(ctx, pool)
		var home string
		Eventually(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(pool), pool)).To(Succeed())
			home = pool.Annotations[ipamv1.HomeAnnotation]
			g.Expect(home).NotTo(BeEmpty())
		}, patience, interval).Should(Succeed())
		suite.Change(ctx, upstream, pool, func() { pool.Annotations = nil })
		Expect(pool.Annotations).To(HaveKeyWithValue(ipamv1.HomeAnnotation, home))
		Expect(patch(ctx, upstream, pool, `{"metadata": {"annotations": {"ipam.weir.dev/home": "elsewhere"}}}`)).To(Satisfy(apierrors.IsForbidden))
	})

	It("lets nobody who may not restore say what moves, and change what a claim asks for", func(ctx SpecContext) {
		created(ctx, newPool("p"))
		claim := create(ctx, claimOf(ns, "c", icv1.InClusterIPPoolKind, "p"))
		told(ctx, claim)
		moving := `{"metadata": {"annotations": {"clusterctl.cluster.x-k8s.io/delete-for-move": ""}}}`
		Expect(patch(ctx, upstream, newPool("p"), moving)).To(MatchError(ContainSubstring("the verb manage")))
		Expect(patch(ctx, upstream, claimOf(ns, "c", "", ""), moving)).To(MatchError(ContainSubstring("the verb manage")))
		Expect(patch(ctx, k, claimOf(ns, "c", "", ""), `{"spec": {"poolRef": {"name": "q"}}}`)).To(MatchError(ContainSubstring("spec: is immutable")))
		theirs := create(ctx, claimOf(ns, "theirs", "NutanixIPPool", "p"))
		Expect(patch(ctx, upstream, theirs, moving)).To(Succeed())
	})
})
