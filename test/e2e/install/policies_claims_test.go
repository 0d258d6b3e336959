// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package install

import (
	"context"
	"path/filepath"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/utils/ptr"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
)

// claimer returns a client that may do everything with Cluster API's claims and addresses, and manage no records.
func claimer(ctx context.Context, user string) client.Client {
	GinkgoHelper()
	grant(ctx, user, "", rbacv1.PolicyRule{
		APIGroups: []string{ipamv1beta2.GroupVersion.Group}, Resources: []string{"ipaddressclaims", "ipaddresses"}, Verbs: plain,
	})
	u := as(ctx, user)
	Eventually(func() error { return u.Create(ctx, addressClaim(user), client.DryRunAll) }, "1m").Should(Succeed())
	return u
}

func addressClaim(name string) *ipamv1beta2.IPAddressClaim {
	return builder.IPAddressClaim(home, name, ipamv1.IPPoolKind, "p").Build()
}

// address is an answer, of one of Weir's pools unless another group is named.
func address(name, group string) *ipamv1beta2.IPAddress {
	a := &ipamv1beta2.IPAddress{}
	a.Namespace, a.Name = home, name
	a.Spec = ipamv1beta2.IPAddressSpec{
		ClaimRef: ipamv1beta2.IPAddressClaimReference{Name: name}, Address: "10.0.0.7", Prefix: ptr.To(int32(24)),
		PoolRef: ipamv1beta2.IPPoolReference{APIGroup: group, Kind: ipamv1.IPPoolKind, Name: "p"},
	}
	return a
}

// leaving returns a claim of a GlobalIPPool on which clusterctl has only the finalizer left to remove.
func leaving(ctx context.Context, name string) *ipamv1beta2.IPAddressClaim {
	GinkgoHelper()
	c := builder.IPAddressClaim(home, name, ipamv1.GlobalIPPoolKind, "stays").Build()
	c.Finalizers = []string{ipamv1.ClaimFinalizer}
	annotate(c, clusterctlv1.DeleteForMoveAnnotation, "")
	Expect(k.Create(ctx, c)).To(Succeed())
	Expect(k.Delete(ctx, c)).To(Succeed())
	Expect(k.Get(ctx, client.ObjectKeyFromObject(c), c)).To(Succeed())
	return c
}

func weir(ctx context.Context) client.Client {
	return client.WithFieldOwner(as(ctx, "system:serviceaccount:weir-system:weir-system-manager"), ipamv1.FieldManager)
}

// letGo takes every finalizer off.
func letGo(ctx context.Context, u client.Client, c *ipamv1beta2.IPAddressClaim) error {
	freed := c.DeepCopy()
	freed.Finalizers = nil
	return u.Patch(ctx, freed, client.MergeFrom(c))
}

var _ = Describe("Claims that move without their pool", func() {
	BeforeEach(onPolicies)

	It("keep Weir's finalizer until Weir takes it off, and not somebody who says that he is", func(ctx SpecContext) {
		c := leaving(ctx, "moves")
		tenant := claimer(ctx, "weirs-namesake")
		Expect(letGo(ctx, k, c)).To(MatchError(ContainSubstring("must stay taken here")))
		Expect(letGo(ctx, client.WithFieldOwner(tenant, ipamv1.FieldManager), c)).To(MatchError(ContainSubstring("must stay taken here")))
		unmarked := c.DeepCopy() // the way out where nobody serves it
		unmarked.Annotations, unmarked.Finalizers = nil, nil
		Expect(k.Update(ctx, unmarked, client.DryRunAll)).To(Succeed())
		Expect(letGo(ctx, weir(ctx), c)).To(Succeed())
	}, NodeTimeout(10*time.Minute))
})

var _ = Describe("The webhooks that look at what somebody else writes", func() {
	BeforeEach(onPolicies)

	It("are asked about who only says that he is Weir, and not about Weir", func(ctx SpecContext) {
		c := leaving(ctx, "asked-about")
		tenant := client.WithFieldOwner(claimer(ctx, "weirs-double"), ipamv1.FieldManager)
		grant(ctx, "weirs-double", home, rbacv1.PolicyRule{Resources: []string{"ipallocations"}, Verbs: []string{"manage", "create"}})
		installUnreachable(ctx, "arrival.ipallocation.ipam.weir.dev", "moved.ipaddressclaim.ipam.weir.dev")
		asked := MatchError(ContainSubstring("failed calling webhook"))
		Eventually(func() error { return k.Create(ctx, record(home, "asked-about"), client.DryRunAll) }, "1m").Should(asked)

		Expect(tenant.Create(ctx, record(home, "asked-about"))).To(asked)
		r := record(home, "asked-about")
		Expect(weir(ctx).Create(ctx, r)).To(Succeed())
		other := claimer(ctx, "weirs-other-double") // who may manage nothing
		Expect(letGo(ctx, client.WithFieldOwner(other, ipamv1.FieldManager), c)).To(asked)
		Expect(letGo(ctx, k, c)).To(asked)
		Expect(letGo(ctx, weir(ctx), c)).To(Succeed())
		release(ctx, r)
	}, NodeTimeout(10*time.Minute))

	It("are asked about a claim that loses the mark of its arrival, but not when Weir takes it off or a user empties it", func(ctx SpecContext) {
		c := builder.IPAddressClaim(home, "marked-once", ipamv1.GlobalIPPoolKind, "p").Build()
		Expect(k.Create(ctx, c)).To(Succeed())
		annotate(c, ipamv1.ArrivedAnnotation, "true")
		Expect(k.Update(ctx, c)).To(Succeed())
		installUnreachable(ctx, "arrival.ipallocation.ipam.weir.dev", "arrival.ipaddressclaim.ipam.weir.dev")
		asked := MatchError(ContainSubstring("failed calling webhook"))
		Eventually(func() error { return k.Create(ctx, record(home, "marked-once"), client.DryRunAll) }, "1m").Should(asked)

		empty, without := c.DeepCopy(), c.DeepCopy()
		annotate(empty, ipamv1.ArrivedAnnotation, "")
		without.SetAnnotations(nil)
		Expect(k.Patch(ctx, empty, client.MergeFrom(c), client.DryRunAll)).To(Succeed())
		Expect(k.Patch(ctx, without.DeepCopy(), client.MergeFrom(c))).To(asked)
		Expect(weir(ctx).Patch(ctx, without, client.MergeFrom(c))).To(Succeed())
	}, NodeTimeout(10*time.Minute))
})

// installUnreachable has the API server ask these webhooks of the release where nobody answers.
func installUnreachable(ctx context.Context, names ...string) {
	GinkgoHelper()
	dir, err := framework.ReleaseDir()
	Expect(err).NotTo(HaveOccurred())
	objects, err := framework.ReadManifests(filepath.Join(dir, "ipam-components.yaml"))
	Expect(err).NotTo(HaveOccurred())
	for _, o := range objects {
		if o.GetKind() != "MutatingWebhookConfiguration" {
			continue
		}
		webhooks, _, err := unstructured.NestedSlice(o.Object, "webhooks")
		Expect(err).NotTo(HaveOccurred())
		webhooks = slices.DeleteFunc(webhooks, func(w any) bool {
			name, _, _ := unstructured.NestedString(w.(map[string]any), "name")
			return !slices.Contains(names, name)
		})
		Expect(webhooks).To(HaveLen(len(names)))
		Expect(unstructured.SetNestedSlice(o.Object, webhooks, "webhooks")).To(Succeed())
		Expect(framework.RedirectWebhooks(o, nil, "https://127.0.0.1:1")).To(Succeed())
		Expect(framework.Apply(ctx, site.Config(), o)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) {
			Expect(k.Delete(ctx, o)).To(Succeed())
			Eventually(func() error { return k.Create(ctx, record(home, "probe"), client.DryRunAll) }, "1m").Should(Succeed())
		})
	}
}

var _ = Describe("That an object of Cluster API moves", func() {
	BeforeEach(onPolicies)

	DescribeTable("is said, and unsaid, by manage only",
		func(ctx SpecContext, user string, object, created, foreign client.Object) {
			u := claimer(ctx, user)
			annotate(created, clusterctlv1.DeleteForMoveAnnotation, "")
			forbidden(u.Create(ctx, created), "manage")
			Expect(k.Create(ctx, object)).To(Succeed())
			annotate(object, clusterctlv1.DeleteForMoveAnnotation, "")
			forbidden(u.Update(ctx, object), "manage")
			Expect(k.Update(ctx, object)).To(Succeed())
			object.SetLabels(map[string]string{"harmless": "x"})
			Expect(u.Update(ctx, object)).To(Succeed())
			object.SetAnnotations(nil)
			forbidden(u.Update(ctx, object), "manage")
			Expect(k.Update(ctx, object)).To(Succeed())
			annotate(foreign, clusterctlv1.DeleteForMoveAnnotation, "")
			Expect(u.Create(ctx, foreign)).To(Succeed(), "what is of another provider")
		},
		Entry("of an IPAddressClaim", "claim-mover", addressClaim("said-to-move"), addressClaim("created-to-move"), foreignClaim("foreign-mover")),
		Entry("of an IPAddress", "address-mover", address("said-to-move", "ipam.weir.dev"), address("created-to-move", "ipam.weir.dev"),
			address("foreign-mover", "ipam.example.com")),
	)
})

func foreignClaim(name string) *ipamv1beta2.IPAddressClaim {
	c := addressClaim(name)
	c.Spec.PoolRef.APIGroup = "ipam.example.com"
	return c
}

var _ = Describe("The spec of a claim or an address of Weir's pools", func() {
	BeforeEach(onPolicies)

	refused := MatchError(ContainSubstring("spec: is immutable"))

	It("does not change, whoever changes it, where Cluster API's webhooks are missing", func(ctx SpecContext) {
		c, a := addressClaim("fixed"), address("fixed", "ipam.weir.dev")
		Expect(k.Create(ctx, c)).To(Succeed())
		Expect(k.Create(ctx, a)).To(Succeed())
		other := c.DeepCopy()
		other.Spec.PoolRef.Name = "other"
		Expect(k.Update(ctx, other)).To(refused)
		other.Spec.PoolRef = ipamv1beta2.IPPoolReference{APIGroup: "ipam.example.com", Kind: "Pool", Name: "p"}
		Expect(k.Update(ctx, other)).To(refused)
		a.Spec.Address = "10.0.0.8"
		Expect(k.Update(ctx, a)).To(refused)
		c.Labels = map[string]string{"harmless": "x"}
		Expect(k.Update(ctx, c)).To(Succeed())
	}, NodeTimeout(10*time.Minute))

	It("does not change through another version of the kind either", func(ctx SpecContext) {
		Expect(framework.InstallV1Beta1Claims(ctx, site.Config())).To(Succeed())
		c := addressClaim("versioned")
		Expect(k.Create(ctx, c)).To(Succeed())
		old := &unstructured.Unstructured{}
		old.SetGroupVersionKind(ipamv1beta2.GroupVersion.WithKind("IPAddressClaim"))
		old.SetAPIVersion("ipam.cluster.x-k8s.io/v1beta1")
		Expect(k.Get(ctx, client.ObjectKeyFromObject(c), old)).To(Succeed())
		old.SetLabels(map[string]string{"harmless": "x"})
		Expect(k.Update(ctx, old)).To(Succeed())
		Expect(unstructured.SetNestedField(old.Object, "other", "spec", "poolRef", "name")).To(Succeed())
		Expect(k.Update(ctx, old)).To(refused)
	}, NodeTimeout(10*time.Minute))

	It("is another provider's own affair where the pool is, until it names one of Weir's", func(ctx SpecContext) {
		c, a := foreignClaim("foreign"), address("foreign", "ipam.example.com")
		Expect(k.Create(ctx, c)).To(Succeed())
		Expect(k.Create(ctx, a)).To(Succeed())
		c.Spec.PoolRef.Name = "other"
		Expect(k.Update(ctx, c)).To(Succeed())
		a.Spec.Address = "10.0.0.8"
		Expect(k.Update(ctx, a)).To(Succeed())
		c.Spec.PoolRef.APIGroup = "ipam.weir.dev"
		Expect(k.Update(ctx, c)).To(refused)
	}, NodeTimeout(10*time.Minute))
})

var _ = Describe("The group of a claim's pool", func() {
	BeforeEach(onPolicies)

	It("is warned of where nobody answers such a claim, and where another provider may nobody is", func(ctx SpecContext) {
		Expect(framework.InstallV1Beta1Claims(ctx, site.Config())).To(Succeed())
		for _, c := range []struct{ group, kind, warning string }{
			{"ipam.cluster.x-k8s.io", "GlobalIPPool", `spec.poolRef.apiGroup: "ipam.cluster.x-k8s.io" has no GlobalIPPool`},
			{"weir.dev", "IPPool", `spec.poolRef.apiGroup: "weir.dev" has no IPPool`},
			{"ipam.weir.dev", "IPPool", ""},
			{"ipam.metal3.io", "IPPool", ""},
			{"ipam.cluster.x-k8s.io", "InClusterIPPool", ""},
			{"ipam.cluster.x-k8s.io/v1alpha2", "InClusterIPPool", `"ipam.cluster.x-k8s.io/v1alpha2" is a group and a version: write "ipam.cluster.x-k8s.io"`},
			{"ipam.weir.dev/v1alpha1", "GlobalIPPool", `"ipam.weir.dev/v1alpha1" is a group and a version: write "ipam.weir.dev"`},
			{"ipam.example.com/v1", "Pool", ""},
		} {
			manifest := "{apiVersion: ipam.cluster.x-k8s.io/v1beta1, kind: IPAddressClaim, metadata: {name: typed, namespace: " + home + "}, " +
				"spec: {poolRef: {apiGroup: " + c.group + ", kind: " + c.kind + ", name: p}}}"
			create := func(args ...string) error {
				_, err := site.Kubectl(ctx, manifest, append([]string{"create", "--dry-run=server", "-f-"}, args...)...)
				return err
			}
			Expect(create()).To(Succeed(), manifest)
			if c.warning == "" {
				Expect(create("--warnings-as-errors")).To(Succeed(), manifest)
				continue
			}
			Eventually(func() error { return create("--warnings-as-errors") }, "1m", "100ms").Should(MatchError(ContainSubstring(c.warning)), manifest)
		}
	}, SpecTimeout(5*time.Minute))
})
