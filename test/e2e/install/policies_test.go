// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/rand"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
)

const (
	home = "home"
	// admin is a tenant's administrator: everything but the verbs that the policies ask for.
	admin = "tenant-admin"
)

var plain = []string{"get", "list", "create", "update", "patch", "delete", "deletecollection"}

// onPolicies gives specs a control plane with the release and without a manager: only the API server judges.
var onPolicies = shared(framework.SiteOptions{
	Options:    framework.Options{ControllerManager: true},
	Install:    []framework.Step{framework.InstallRelease, framework.InstallCAPICRDs},
	Namespaces: []string{home},
}, func(ctx context.Context) {
	grant(ctx, admin, "", rbacv1.PolicyRule{Resources: []string{"*"}, Verbs: plain})
	grantNamespaces(ctx, admin)
	awaitPolicies(ctx)
})

// awaitPolicies waits until the API server has compiled them all.
func awaitPolicies(ctx context.Context) {
	GinkgoHelper()
	u := as(ctx, admin)
	labelled := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "probe", Labels: map[string]string{ipamv1.ProjectLabel: "x"}}}
	annotated := claim("probe")
	annotated.Annotations = map[string]string{ipamv1.HomeAnnotation: ""}
	for _, object := range []client.Object{labelled, annotated, record(home, "probe"), pool(home, "probe", root), pool(home, "probe", closing)} {
		Eventually(func() error { return u.Create(ctx, object, client.DryRunAll) }, "1m", "100ms").
			Should(Satisfy(apierrors.IsForbidden), "%T", object)
	}
}

func grantNamespaces(ctx context.Context, user string) {
	GinkgoHelper()
	grant(ctx, user, "", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"namespaces"}, Verbs: plain})
}

func root(s *ipamv1.IPPoolSpec) { s.CIDR = "10.0.0.0/24" }

func carved(s *ipamv1.IPPoolSpec) {
	bits := int32(26)
	s.ParentRef, s.PrefixLength = &ipamv1.ParentReference{Kind: ipamv1.GlobalIPPoolKind, Name: "platform"}, &bits
}

func delegated(s *ipamv1.IPPoolSpec) {
	carved(s)
	s.DelegateTo = "member1"
}

func pool(namespace, name string, how func(*ipamv1.IPPoolSpec)) *ipamv1.IPPool {
	p := builder.IPPool(namespace, name).Build()
	how(&p.Spec)
	return p
}

func global(name string) *ipamv1.GlobalIPPool {
	return builder.GlobalIPPool(name).WithCIDR("10.0.0.0/24").Build()
}

func claim(name string) *ipamv1.IPClaim {
	return &ipamv1.IPClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: name},
		Spec:       ipamv1.IPClaimSpec{PoolRef: &ipamv1.ClaimPoolReference{Kind: ipamv1.IPPoolKind, Name: "p"}},
	}
}

func record(namespace, name string) *ipamv1.IPAllocation {
	return &ipamv1.IPAllocation{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, Finalizers: []string{ipamv1.AllocationFinalizer}},
		Spec: ipamv1.IPAllocationSpec{
			PoolRef:      ipamv1.PoolReference{Kind: ipamv1.IPPoolKind, Namespace: namespace, Name: "p"},
			AddressSpace: "default", CIDR: "10.0.0.7/32", Purpose: ipamv1.ClaimPurpose,
			ClaimRef: ipamv1.ClaimReference{
				APIGroup: "ipam.cluster.x-k8s.io", Kind: "IPAddressClaim", Namespace: namespace, Name: "c", UID: "d1",
			},
		},
	}
}

func project(namespace, name string) *corev1.Namespace {
	return &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: namespace, Labels: map[string]string{ipamv1.ProjectLabel: name}}}
}

var _ = Describe("Root pools", func() {
	BeforeEach(onPolicies)

	It("take the verb createroot, on their kind and in their namespace", func(ctx SpecContext) {
		u := as(ctx, admin)
		Expect(u.Create(ctx, pool(home, "carved", carved))).To(Succeed())
		forbidden(u.Create(ctx, pool(home, "root", root)), "createroot on ippools.ipam.weir.dev")
		forbidden(u.Create(ctx, pool(home, "delegated", delegated)), "createroot on ippools.ipam.weir.dev")
		forbidden(u.Create(ctx, global("root")), "createroot on globalippools.ipam.weir.dev")

		grant(ctx, "rooter", "", rbacv1.PolicyRule{Resources: []string{"*"}, Verbs: plain})
		grant(ctx, "rooter", home, rbacv1.PolicyRule{Resources: []string{"ippools"}, Verbs: []string{"createroot"}})
		r := as(ctx, "rooter")
		Eventually(func() error { return r.Create(ctx, pool(home, "root", root)) }, "1m").Should(Succeed())
		lone := pool(home, "delegated", delegated)
		Expect(r.Create(ctx, lone)).To(Succeed())
		expanded := lone.DeepCopy()
		expanded.Spec.Expansion = &ipamv1.Expansion{ThresholdPercent: 10, PrefixLength: 28, MaxPools: 2}
		forbidden(u.Patch(ctx, expanded.DeepCopy(), client.MergeFrom(lone)), "createroot on ippools.ipam.weir.dev may set or change it")
		Expect(r.Patch(ctx, expanded.DeepCopy(), client.MergeFrom(lone))).To(Succeed())
		forbidden(r.Create(ctx, pool("default", "root", root)), "createroot")

		ranged := pool(home, "ranged", func(spec *ipamv1.IPPoolSpec) {
			spec.Addresses, spec.AddressSpace = []ipamv1.AddressEntry{"192.0.2.1"}, "ranged"
		})
		Expect(r.Create(ctx, ranged)).To(Succeed())
		grown := ranged.DeepCopy()
		grown.Spec.Addresses = append(grown.Spec.Addresses, "198.51.100.0/24")
		change := client.MergeFrom(ranged)
		forbidden(u.Patch(ctx, grown.DeepCopy(), change), "createroot on ippools.ipam.weir.dev")
		Expect(r.Patch(ctx, grown, change)).To(Succeed())
		labelled := grown.DeepCopy()
		labelled.Labels = map[string]string{"rack": "7"}
		Expect(u.Patch(ctx, labelled, client.MergeFrom(grown))).To(Succeed(), "anything else of a root")
		forbidden(r.Create(ctx, global("root")), "createroot")
	}, NodeTimeout(10*time.Minute))
})

var _ = Describe("Guarded annotations", func() {
	BeforeEach(onPolicies)

	DescribeTable("take the verb manage to be set, changed and removed, whatever the value",
		func(ctx SpecContext, object client.Object) {
			u := as(ctx, admin)
			Expect(k.Create(ctx, object)).To(Succeed())
			for _, key := range []string{
				"clusterctl.cluster.x-k8s.io/delete-for-move", ipamv1.ForceReleaseAnnotation, ipamv1.HomeAnnotation,
				ipamv1.LeaveBehindAnnotation, ipamv1.ArrivedAnnotation, ipamv1.OpenStackAnnotation,
			} {
				for _, value := range []string{"", "(unset)", "x"} {
					annotate(object, key, value)
					forbidden(u.Update(ctx, object), "manage")
					Expect(k.Update(ctx, object)).To(Succeed())
					annotate(object, key, value+"changed")
					forbidden(u.Update(ctx, object), "manage")
					object.SetAnnotations(nil)
					forbidden(u.Update(ctx, object), "manage")
					annotate(object, key, value)
					object.SetLabels(map[string]string{"harmless": rand.String(5)})
					Expect(u.Update(ctx, object)).To(Succeed())
					object.SetAnnotations(nil)
					Expect(k.Update(ctx, object)).To(Succeed())
				}
			}
		},
		Entry("on an IPPool", pool(home, "annotated", root)),
		Entry("on a GlobalIPPool", global("annotated")),
		Entry("on an IPClaim", claim("annotated")),
	)
	It("may come with a new object only by manage, which can be granted in a namespace", func(ctx SpecContext) {
		created := pool(home, "created", carved)
		for _, key := range []string{ipamv1.OpenStackAnnotation, ipamv1.HomeAnnotation} {
			annotate(created, key, "x")
			forbidden(as(ctx, admin).Create(ctx, created), "manage")
		}
		grant(ctx, "mover", "", rbacv1.PolicyRule{Resources: []string{"*"}, Verbs: plain})
		grant(ctx, "mover", home, rbacv1.PolicyRule{Resources: []string{"ipallocations"}, Verbs: []string{"manage"}})
		u := as(ctx, "mover")
		Eventually(func() error { return u.Create(ctx, created) }, "1m").Should(Succeed())
		elsewhere := pool("default", "created", carved)
		annotate(elsewhere, ipamv1.HomeAnnotation, "x")
		forbidden(u.Create(ctx, elsewhere), "manage")
	}, NodeTimeout(10*time.Minute))
})

var _ = Describe("The mark of what has arrived", func() {
	BeforeEach(onPolicies)

	It("is set on a claim by manage only, and emptied by whoever may change it", func(ctx SpecContext) {
		claims := rbacv1.PolicyRule{APIGroups: []string{ipamv1beta2.GroupVersion.Group}, Resources: []string{"ipaddressclaims"}, Verbs: plain}
		grant(ctx, "claimer", "", claims)
		u := as(ctx, "claimer")
		c := builder.IPAddressClaim(home, "marked", ipamv1.IPPoolKind, "p").Build()
		Eventually(func() error { return u.Create(ctx, c) }, "1m").Should(Succeed())
		annotate(c, ipamv1.ArrivedAnnotation, "") // which says nothing
		Expect(u.Update(ctx, c)).To(Succeed())
		annotate(c, ipamv1.MovedAnnotation, string(c.UID))
		forbidden(u.Update(ctx, c), "manage")
		said := builder.IPAddressClaim(home, "said", ipamv1.GlobalIPPoolKind, "p").Build()
		annotate(said, ipamv1.MovedAnnotation, "something else")
		Expect(u.Create(ctx, said)).To(Succeed())
		annotate(said, ipamv1.MovedAnnotation, string(said.UID))
		forbidden(u.Update(ctx, said), "manage")
		annotate(c, ipamv1.ArrivedAnnotation, "true")
		forbidden(u.Update(ctx, c), "manage")
		Expect(k.Update(ctx, c)).To(Succeed())
		annotate(c, ipamv1.ArrivedAnnotation, "")
		Expect(u.Update(ctx, c)).To(Succeed())
	}, NodeTimeout(10*time.Minute))

	It("is set on an IPAddress by manage only: what has arrived keeps its address", func(ctx SpecContext) {
		addresses := rbacv1.PolicyRule{APIGroups: []string{ipamv1beta2.GroupVersion.Group}, Resources: []string{"ipaddresses"}, Verbs: plain}
		grant(ctx, "addresser", "", addresses)
		u := as(ctx, "addresser")
		prefix := int32(24)
		a := &ipamv1beta2.IPAddress{ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: "marked"}, Spec: ipamv1beta2.IPAddressSpec{
			ClaimRef: ipamv1beta2.IPAddressClaimReference{Name: "marked"}, Address: "10.0.0.7", Prefix: &prefix,
			PoolRef: ipamv1beta2.IPPoolReference{APIGroup: ipamv1.GroupVersion.Group, Kind: ipamv1.IPPoolKind, Name: "p"},
		}}
		Eventually(func() error { return u.Create(ctx, a) }, "1m").Should(Succeed())
		annotate(a, ipamv1.ArrivedAnnotation, "true")
		forbidden(u.Update(ctx, a), "manage")
		Expect(k.Update(ctx, a)).To(Succeed())
		annotate(a, ipamv1.ArrivedAnnotation, "")
		Expect(u.Update(ctx, a)).To(Succeed())
	}, NodeTimeout(10*time.Minute))
})

func annotate(object client.Object, key, value string) {
	object.SetAnnotations(map[string]string{key: value})
}

var _ = Describe("Projects", func() {
	BeforeEach(onPolicies)

	It("are entered and left by who has the verb assign for them", func(ctx SpecContext) {
		grantNamespaces(ctx, "blue-lead")
		grant(ctx, "blue-lead", "", rbacv1.PolicyRule{Resources: []string{"projects"}, ResourceNames: []string{"blue"}, Verbs: []string{"assign"}})
		u := as(ctx, "blue-lead")
		Eventually(func() error { return u.Create(ctx, project("blue-1", "blue")) }, "1m").Should(Succeed())
		forbidden(u.Create(ctx, project("green-1", "green")), "assign")
		forbidden(u.Create(ctx, project("empty", "")), "assign")

		Expect(k.Create(ctx, project("green-1", "green"))).To(Succeed())
		moved := project("green-1", "blue")
		forbidden(u.Update(ctx, moved), "assign")
		moved.Labels = nil
		forbidden(u.Update(ctx, moved), "assign")
		grant(ctx, "blue-lead", "", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"namespaces/status"}, Verbs: []string{"patch"}})
		aside := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"labels":{"`+ipamv1.ProjectLabel+`":"blue"}}}`))
		Eventually(func() error { return u.Status().Patch(ctx, project("green-1", ""), aside) }, "1m").Should(MatchError(ContainSubstring("assign")))
		grant(ctx, "blue-lead", "", rbacv1.PolicyRule{APIGroups: []string{""}, Resources: []string{"namespaces/finalize"}, Verbs: []string{"update"}})
		Eventually(func() error {
			finalized := &corev1.Namespace{}
			Expect(k.Get(ctx, client.ObjectKey{Name: "green-1"}, finalized)).To(Succeed())
			finalized.Labels = map[string]string{ipamv1.ProjectLabel: "blue"}
			return u.SubResource("finalize").Update(ctx, finalized)
		}, "1m").Should(MatchError(ContainSubstring("assign")))
		moved.Labels = map[string]string{ipamv1.ProjectLabel: "green", "harmless": "x"}
		Expect(u.Update(ctx, moved)).To(Succeed())
	}, NodeTimeout(10*time.Minute))

	It("are set on pools by nobody without the verb assign", func(ctx SpecContext) {
		u := as(ctx, admin)
		p := pool(home, "green", carved)
		p.Labels = map[string]string{ipamv1.ProjectLabel: "green"}
		forbidden(u.Create(ctx, p), "assign")
		Expect(k.Create(ctx, global("green"))).To(Succeed())
		g := &ipamv1.GlobalIPPool{}
		Expect(k.Get(ctx, client.ObjectKey{Name: "green"}, g)).To(Succeed())
		g.Labels = map[string]string{ipamv1.ProjectLabel: "green"}
		forbidden(u.Update(ctx, g), "assign")
	})
})

var _ = Describe("Records", func() {
	BeforeEach(onPolicies)

	It("take the verb manage, which Weir's service account has", func(ctx SpecContext) {
		u := as(ctx, admin)
		r := record(home, "theirs")
		forbidden(u.Create(ctx, r), "manage")
		weir := as(ctx, "system:serviceaccount:weir-system:weir-system-manager")
		Expect(weir.Create(ctx, r)).To(Succeed())
		released := r.DeepCopy()
		released.Spec.ReleasedAt = metav1.Now()
		forbidden(u.Update(ctx, released), "manage")
		forbidden(u.Delete(ctx, r), "manage")
		forbidden(u.DeleteAllOf(ctx, &ipamv1.IPAllocation{}, client.InNamespace(home)), "manage")
		Expect(weir.Patch(ctx, released, client.MergeFrom(r))).To(Succeed())
		release(ctx, r)
	})

	It("are made by who has the verb in a namespace for what is in that namespace only", func(ctx SpecContext) {
		u := as(ctx, "restorer")
		grant(ctx, "restorer", home, rbacv1.PolicyRule{Resources: []string{"ipallocations"}, Verbs: []string{"manage", "create", "update"}})
		own, theirs := record(home, "own"), record(home, "theirs-too")
		theirs.Spec.ClaimRef.Namespace = "default"
		Eventually(func() error { return u.Create(ctx, own) }, "1m").Should(Succeed())
		err := u.Create(ctx, theirs)
		forbidden(err, "manage")
		Expect(err).To(MatchError(ContainSubstring("spec.claimRef.namespace")))
		own.Labels = map[string]string{"example.com/seen": ""}
		Expect(u.Update(ctx, own)).To(Succeed())
		release(ctx, own)

		By("having handed a block back, which is for who has the verb, too")
		u = as(ctx, "forger")
		grant(ctx, "forger", home, rbacv1.PolicyRule{Resources: []string{"ipallocations"}, Verbs: []string{"create"}})
		forged := record(home, "forged")
		forged.Spec.Purpose = ipamv1.HandBackPurpose
		Eventually(func() error { return u.Create(ctx, forged) }, "1m").Should(MatchError(ContainSubstring("manage")))
	}, NodeTimeout(10*time.Minute))

	It("lose vanished owners to the garbage collector, and are marked by it when none is left", func(ctx SpecContext) {
		owner := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: "owner"}}
		Expect(k.Create(ctx, owner)).To(Succeed())
		r := record(home, "collected")
		r.OwnerReferences = []metav1.OwnerReference{
			{APIVersion: "v1", Kind: "ConfigMap", Name: owner.Name, UID: owner.UID},
			{APIVersion: "v1", Kind: "ConfigMap", Name: "vanished", UID: "vanished"},
		}
		Expect(k.Create(ctx, r)).To(Succeed())
		eventually(ctx, r, func(g Gomega) { g.Expect(r.OwnerReferences).To(HaveLen(1)) })
		Expect(k.Delete(ctx, owner)).To(Succeed())
		eventually(ctx, r, func(g Gomega) { g.Expect(r.DeletionTimestamp).NotTo(BeNil()) })
		release(ctx, r)
	}, NodeTimeout(10*time.Minute))

	It("do not change at the garbage collector's hands", func(ctx SpecContext) {
		const collector = "system:serviceaccount:kube-system:generic-garbage-collector"
		r := record(home, "unchanged")
		Expect(k.Create(ctx, r)).To(Succeed())
		u := as(ctx, collector)
		changed := r.DeepCopy()
		changed.Spec.ReleasedAt = metav1.Now()
		forbidden(u.Update(ctx, changed), "manage")
		changed = r.DeepCopy()
		changed.Finalizers = nil
		forbidden(u.Update(ctx, changed), "manage")
		release(ctx, r)
	}, NodeTimeout(10*time.Minute))

	It("of blocks that members may use, or have handed back, are marked by neither the garbage collector nor the namespace controller", func(ctx SpecContext) {
		delegated, handedBack := record(home, "delegated"), record(home, "handed-back")
		delegated.Spec.Purpose, delegated.Spec.DelegatedTo = ipamv1.PoolBlockPurpose, "edge-a"
		handedBack.Spec.Purpose = ipamv1.HandBackPurpose
		for _, r := range []*ipamv1.IPAllocation{delegated, handedBack} {
			Expect(k.Create(ctx, r)).To(Succeed())
			for _, name := range []string{"generic-garbage-collector", "namespace-controller"} {
				forbidden(as(ctx, "system:serviceaccount:kube-system:"+name).Delete(ctx, r), "manage")
			}
			Expect(k.Delete(ctx, r)).To(Succeed())
			release(ctx, r)
		}
	}, NodeTimeout(10*time.Minute))

	It("that move without their pool keep their finalizer, whoever takes it off, until they are held", func(ctx SpecContext) {
		moves := record(home, "moves")
		moves.Spec.PoolRef = ipamv1.PoolReference{Kind: ipamv1.GlobalIPPoolKind, Name: "stays"}
		annotate(moves, clusterctlv1.DeleteForMoveAnnotation, "")
		Expect(k.Create(ctx, moves)).To(Succeed())
		withPool := record(home, "moves-with-its-pool")
		annotate(withPool, clusterctlv1.DeleteForMoveAnnotation, "")
		Expect(k.Create(ctx, withPool)).To(Succeed())

		weir := as(ctx, "system:serviceaccount:weir-system:weir-system-manager")
		freed := moves.DeepCopy()
		freed.Finalizers = nil
		for _, u := range []client.Client{k, weir} {
			err := u.Patch(ctx, freed.DeepCopy(), client.MergeFrom(moves))
			Expect(err).To(MatchError(ContainSubstring("must stay taken here")))
		}
		freed.Annotations[ipamv1.HeldAnnotation] = "true"
		Expect(k.Update(ctx, freed)).To(Succeed())
		release(ctx, moves)
		release(ctx, withPool)
	}, NodeTimeout(10*time.Minute))

	It("are marked for deletion with their namespace, which goes once Weir has released them", func(ctx SpecContext) {
		leaving := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "leaving"}}
		Expect(k.Create(ctx, leaving)).To(Succeed())
		r := record("leaving", "held")
		Expect(k.Create(ctx, r)).To(Succeed())
		Expect(k.Delete(ctx, leaving)).To(Succeed())
		eventually(ctx, r, func(g Gomega) { g.Expect(r.DeletionTimestamp).NotTo(BeNil()) })
		release(ctx, r)
		Eventually(func() error { return k.Get(ctx, client.ObjectKeyFromObject(leaving), leaving) }, "3m", "200ms").
			Should(Satisfy(apierrors.IsNotFound))
	}, NodeTimeout(10*time.Minute))
})

// eventually reads the record until what is expected of it holds.
func eventually(ctx context.Context, r *ipamv1.IPAllocation, expect func(Gomega)) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(k.Get(ctx, client.ObjectKeyFromObject(r), r)).To(Succeed())
		expect(g)
	}, "3m", "200ms").Should(Succeed())
}

// release does what Weir would: takes the finalizer off, so that a marked record goes.
func release(ctx context.Context, r *ipamv1.IPAllocation) {
	GinkgoHelper()
	Expect(k.Get(ctx, client.ObjectKeyFromObject(r), r)).To(Succeed())
	r.Finalizers = nil
	Expect(k.Update(ctx, r)).To(Succeed())
	Expect(client.IgnoreNotFound(k.Delete(ctx, r))).To(Succeed())
}
