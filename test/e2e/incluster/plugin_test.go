// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package incluster

import (
	"bytes"
	"context"
	"encoding/json"
	"flag"
	"path/filepath"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	icv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/incluster/v1alpha2"
	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/plugin"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

const (
	green = "green"
	// vera may view Weir's kinds and claims in the namespace, and not the in-cluster provider's pools.
	vera = "vera"
	// ivan may view these as well.
	ivan = "ivan"
	// later is how long after the objects' creation the plugin runs, by its clock.
	later = 4 * 24 * time.Hour
)

var update = flag.Bool("update", false, "write what the plugin prints to testdata")

// weir runs kubectl weir as a user; "" is the administrator.
func weir(ctx context.Context, user string, args ...string) (code int, printed string) {
	GinkgoHelper()
	args = append(args, "--kubeconfig="+site.KubeconfigPath(), "--cache-dir="+filepath.Join(GinkgoT().TempDir(), "cache"))
	if user != "" {
		args = append(args, "--as="+user)
	}
	var out, errOut bytes.Buffer
	code = plugin.Run(ctx, plugin.Config{
		Stdin: &bytes.Buffer{}, Stdout: &out, Stderr: &errOut, Now: func() time.Time { return time.Now().Add(later) }, Version: "test",
	}, args...)
	return code, out.String() + errOut.String()
}

// pluginSpecs are about a namespace with two pools and claims in each state, on a site that Weir has taken over.
func pluginSpecs() {
	var made []client.Object
	BeforeAll(func(ctx SpecContext) {
		made = makeGreen(ctx, site.Client())
	}, NodeTimeout(3*time.Minute))

	AfterAll(func(ctx SpecContext) {
		for i := len(made) - 1; i >= 0; i-- {
			Expect(site.Client().Delete(ctx, made[i])).To(Succeed())
			suite.Gone(ctx, site.Client(), made[i])
		}
	}, NodeTimeout(3*time.Minute))

	DescribeTable("shows them", func(ctx SpecContext, user, name string, code int, args ...string) {
		got, printed := weir(ctx, user, args...)
		Expect(got).To(Equal(code), "%s", printed)
		suite.Shows(name, printed, *update)
	},
		Entry("in the tree, with claims", "", "tree.txt", plugin.ExitOK, "tree", "--claims", "inclusterippool/nodes", "globalinclusterippool/public"),
		Entry("in the tree, as JSON", "", "tree.json", plugin.ExitOK, "tree", "green/nodes", "-o", "json"),
		Entry("in the tree to who may see all of the namespace", ivan, "tree-viewer.txt", plugin.ExitOK, "tree", "-n", green),
		Entry("not to who may not list them, which it says", vera, "tree-forbidden.txt", plugin.ExitOK, "tree", "-n", green),
		Entry("who has an address", "", "who.txt", plugin.ExitOK, "who", "192.0.2.2"),
		Entry("that nobody has an address", "", "who-free.txt", plugin.ExitBadNews, "who", "192.0.2.9"),
		Entry("why a claim has its address", "", "why-claim.txt", plugin.ExitOK, "why", "-n", green, "claim/md-0"),
		Entry("why a claim waits for a pool that is exhausted", "", "why-exhausted.txt", plugin.ExitBadNews, "why", "-n", green, "claim/late"),
		Entry("why a claim waits for a pool that is not there", "", "why-gone.txt", plugin.ExitBadNews, "why", "-n", green, "claim/lost"),
		Entry("why a claim waits, to who may not see its pool", vera, "why-forbidden.txt", plugin.ExitBadNews, "why", "-n", green, "claim/lost"),
		Entry("how a pool is", "", "why-pool.txt", plugin.ExitOK, "why", "-n", green, "pool/nodes"),
		Entry("what would come of manifests", "", "why-file.txt", plugin.ExitBadNews, "why", "-n", green, "-f", "testdata/manifests.yaml"),
		Entry("what the namespace can use", ivan, "pools.txt", plugin.ExitOK, "pools", "-n", green),
		Entry("how the namespace is", ivan, "status.txt", plugin.ExitBadNews, "status", "-n", green),
		Entry("that there is room for a rollout", "", "plan.txt", plugin.ExitOK, "plan", "-n", green, "-f", "testdata/plan.yaml"),
		Entry("how much a scale lacks", "", "plan-missing.txt", plugin.ExitBadNews,
			"plan", "-n", green, "-f", "testdata/plan.yaml", "--replicas=workers=20"),
	)

	It("looks at each of their claims, and finds nothing wrong", func(ctx SpecContext) {
		code, printed := weir(ctx, "", "fsck", "-o", "json")
		Expect(code).To(Equal(plugin.ExitOK), printed)
		report := plugin.Fsck{}
		Expect(json.Unmarshal([]byte(printed), &report)).To(Succeed())
		claims := &ipamv1beta2.IPAddressClaimList{}
		Expect(site.Client().List(ctx, claims)).To(Succeed())
		isTheirs := func(c ipamv1beta2.IPAddressClaim) bool { return c.Spec.PoolRef.Kind == foe }
		all := slices.DeleteFunc(claims.Items, isTheirs)
		Expect(report.ClaimCount).To(Equal(len(all)))
		Expect(report.RecordCount).To(BeNumerically(">=", report.AnswerCount))
	})
}

// makeGreen makes the namespace's pools and claims, one after the other, and returns them.
func makeGreen(ctx context.Context, k client.Client) []client.Object {
	GinkgoHelper()
	createOn(ctx, k, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: green}})
	for user, roles := range map[string][]string{
		vera: {"weir-system-viewer-role"}, ivan: {"weir-system-viewer-role", "weir-system-incluster-viewer-role"},
	} {
		for _, role := range roles {
			createOn(ctx, k, &rbacv1.RoleBinding{
				ObjectMeta: metav1.ObjectMeta{Namespace: green, Name: user + "-" + role},
				RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role},
				Subjects:   []rbacv1.Subject{{APIGroup: rbacv1.GroupName, Kind: "User", Name: user}},
			})
		}
	}
	nodes := createOn(ctx, k, &icv1.InClusterIPPool{
		ObjectMeta: metav1.ObjectMeta{Namespace: green, Name: "nodes"},
		Spec:       icv1.InClusterIPPoolSpec{Addresses: []string{"192.0.2.0/28"}, Prefix: 28, Gateway: "192.0.2.1"},
	})
	public := createOn(ctx, k, &icv1.GlobalInClusterIPPool{
		ObjectMeta: metav1.ObjectMeta{Name: "public"}, Spec: icv1.InClusterIPPoolSpec{Addresses: []string{"198.51.100.9"}, Prefix: 24},
	})
	claims := []struct {
		claim  *ipamv1beta2.IPAddressClaim
		reason string
	}{
		{claimOf(green, "md-0", icv1.InClusterIPPoolKind, "nodes"), ipamv1.ClaimReadyAllocatedReason},
		{claimOf(green, "vip", icv1.GlobalInClusterIPPoolKind, "public"), ipamv1.ClaimReadyAllocatedReason},
		{claimOf(green, "late", icv1.GlobalInClusterIPPoolKind, "public"), ipamv1.ClaimReadyPoolExhaustedReason},
		{claimOf(green, "lost", icv1.InClusterIPPoolKind, "nope"), ipamv1.ClaimReadyPoolNotReadyReason},
	}
	made := append(make([]client.Object, 0, 2+len(claims)), nodes, public)
	for _, c := range claims {
		made = append(made, createOn(ctx, k, c.claim))
		Eventually(func(g Gomega) {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(c.claim), c.claim)).To(Succeed())
			g.Expect(c.claim.Status.Conditions).To(ContainElement(HaveField("Reason", c.reason)))
		}, patience, interval).Should(Succeed())
	}
	Eventually(func(g Gomega) {
		g.Expect(k.Get(ctx, client.ObjectKeyFromObject(nodes), nodes)).To(Succeed())
		g.Expect(nodes.Status.Addresses).To(HaveValue(HaveField("Used", BeEquivalentTo(1))))
		g.Expect(nodes.Status.Conditions).To(ContainElement(HaveField("Reason", ipamv1.PoolMovableDependentsNotMovedReason)))
		g.Expect(k.Get(ctx, client.ObjectKeyFromObject(public), public)).To(Succeed())
		g.Expect(public.Status.Addresses).To(HaveValue(HaveField("Free", BeZero())))
		g.Expect(meta.IsStatusConditionTrue(public.Status.Conditions, ipamv1.ExhaustedCondition)).To(BeTrue())
	}, patience, interval).Should(Succeed())
	return made
}

// expectOthers expects that kubectl weir shows pools and claims of these kinds as another provider's.
func expectOthers(ctx context.Context, claim client.Object) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		code, printed := weir(ctx, "", "tree", "-o", "name")
		g.Expect(code).To(Equal(plugin.ExitOK), printed)
		g.Expect(printed).NotTo(ContainSubstring("incluster"))
	}, patience, "200ms").Should(Succeed()) // the API server publishes schemas later than it serves them
	code, printed := weir(ctx, "", "why", "-n", claim.GetNamespace(), "claim/"+claim.GetName())
	Expect(code).To(Equal(plugin.ExitBadNews), printed)
	Expect(printed).To(ContainSubstring("OtherProvider"))
}
