// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"os"
	"regexp"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	appsv1 "k8s.io/api/apps/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/plugin"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// ages are how old what a site has may be.
var ages = regexp.MustCompile(`\b[0-9]+(ms|[smhd])([0-9]+[smh])?\b`)

// ready makes the managers look ready and led, with a certificate.
func ready(ctx context.Context) {
	GinkgoHelper()
	weirs := client.MatchingLabels{"cluster.x-k8s.io/provider": "ipam-weir"}
	deployments := &appsv1.DeploymentList{}
	Expect(k.List(ctx, deployments, weirs)).To(Succeed())
	Expect(deployments.Items).To(HaveLen(1))
	deployment := &deployments.Items[0]
	deployment.Status = appsv1.DeploymentStatus{Replicas: 2, UpdatedReplicas: 2, ReadyReplicas: 2, AvailableReplicas: 2}
	Expect(k.Status().Update(ctx, deployment)).To(Succeed())
	Expect(k.Create(ctx, &coordinationv1.Lease{
		ObjectMeta: metav1.ObjectMeta{Namespace: deployment.Namespace, Name: "weir-leader.ipam.weir.dev"},
		Spec: coordinationv1.LeaseSpec{
			HolderIdentity: ptr.To("weir-controller-manager-abcde_1f2e"), LeaseDurationSeconds: ptr.To[int32](3600),
			AcquireTime: ptr.To(metav1.NewMicroTime(time.Now().Add(-time.Hour))), RenewTime: ptr.To(metav1.NowMicro()),
		},
	})).To(Succeed())
	certificates := &unstructured.UnstructuredList{}
	certificates.SetGroupVersionKind(schema.GroupVersionKind{Group: "cert-manager.io", Version: "v1", Kind: "CertificateList"})
	Expect(k.List(ctx, certificates, weirs)).To(Succeed())
	Expect(certificates.Items).NotTo(BeEmpty())
	for i := range certificates.Items {
		certificate := &certificates.Items[i]
		certificate.Object["status"] = map[string]any{"notAfter": time.Now().Add(30 * 24 * time.Hour).UTC().Format(time.RFC3339)}
		Expect(k.Update(ctx, certificate)).To(Succeed()) // the tests' CRD has no status of its own
	}
}

// statusSpecs end with managers that are ready, by what their Deployment says.
func statusSpecs() {
	shownAt := func(ctx SpecContext, now func() time.Time, user, name string, code int, args ...string) {
		GinkgoHelper()
		got, stdout, stderr := runAt(ctx, now, user, append([]string{"status"}, args...)...)
		Expect(got).To(Equal(code), "%s%s", stdout, stderr)
		host, err := os.Hostname()
		Expect(err).NotTo(HaveOccurred())
		shows(name, ages.ReplaceAllString(strings.ReplaceAll(stdout+stderr, host, "HOST"), "AGE"))
	}
	shown := func(ctx SpecContext, user, name string, code int, args ...string) {
		GinkgoHelper()
		shownAt(ctx, time.Now, user, name, code, args...)
	}
	It("shows managers that are not ready", func(ctx SpecContext) {
		shown(ctx, "", "status-not-ready.txt", plugin.ExitBadNews)
	})

	Describe("of managers that are ready", Ordered, func() {
		BeforeAll(func(ctx SpecContext) {
			ready(ctx)
		})

		DescribeTable("shows", shown,
			Entry("that all is well", "", "status-well.txt", plugin.ExitOK),
			Entry("that all is well, as JSON", "", "status-well.json", plugin.ExitOK, "-o", "json"),
			Entry("one namespace", "", "status-blue.txt", plugin.ExitOK, "-n", blue),
			Entry("a viewer of all namespaces what is missing", wanda, "status-viewer-of-all.txt", plugin.ExitForbidden),
			Entry("a viewer of one namespace what is missing", vera, "status-viewer.txt", plugin.ExitForbidden, "-n", red),
			Entry("nobody that nothing is seen", nobody, "status-nobody.txt", plugin.ExitForbidden),
		)

		It("shows that nobody leads", func(ctx SpecContext) {
			shownAt(ctx, func() time.Time { return time.Now().Add(later) }, "", "status-stale.txt", plugin.ExitBadNews)
		})

		Describe("with claims that wait", Ordered, func() {
			BeforeAll(func(ctx SpecContext) {
				for _, claim := range []*builder.ClaimBuilder{
					builder.IPAddressClaim(red, "lost", ipamv1.IPPoolKind, "nope"),
					builder.IPAddressClaim(red, "lost-2", ipamv1.IPPoolKind, "nope"),
					builder.IPAddressClaim(blue, "hopes", ipamv1.GlobalIPPoolKind, "west"),
				} {
					obj := claim.Build()
					Expect(k.Create(ctx, obj)).To(Succeed())
					await(ctx, obj, func() bool { return len(obj.Status.Conditions) > 0 })
					DeferCleanup(func(ctx SpecContext) { suite.Gone(ctx, k, deleted(ctx, obj)) })
				}
			})

			DescribeTable("shows them", shown,
				Entry("to an administrator", "", "status-waiting.txt", plugin.ExitBadNews, "-n", red),
				Entry("as YAML", "", "status-waiting.yaml", plugin.ExitBadNews, "-o", "yaml", "-n", red),
				Entry("to a viewer, bad news before what is missing", vera, "status-waiting-viewer.txt", plugin.ExitBadNews, "-n", red),
			)
		})
	})
}
