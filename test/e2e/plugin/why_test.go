// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/plugin"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

func whySpecs() {
	shown := func(ctx SpecContext, user, name string, code int, args ...string) {
		GinkgoHelper()
		got, stdout, stderr := run(ctx, user, append([]string{"why"}, args...)...)
		Expect(got).To(Equal(code), "%s%s", stdout, stderr)
		shows(name, stdout+stderr)
	}
	DescribeTable("shows what has no trouble", shown,
		Entry("a claim", "", "why-claim.txt", plugin.ExitOK, "-n", red, "claim/md-0"),
		Entry("the claim of a Machine", "", "why-machine.txt", plugin.ExitOK, "-n", red, "machine/prod-eu-md-0-x7k2p"),
		Entry("the claims of a Cluster, by owners between", "", "why-cluster.txt", plugin.ExitOK, "-n", red, "cluster/prod-eu"),
		Entry("a pool, without its kind", "", "why-pool.txt", plugin.ExitOK, "-n", red, "vips"),
		Entry("to a viewer of the namespace", vera, "why-viewer.txt", plugin.ExitOK, "-n", red, "ippool/nodes"),
	)
	DescribeTable("says that there is nothing", shown,
		Entry("of a name", "", "why-no-claim.txt", plugin.ExitBadNews, "-n", red, "claim/nope"),
		Entry("that an object owns", "", "why-no-owned.txt", plugin.ExitBadNews, "-n", red, "ipaddress/md-0"),
		Entry("that a viewer may see of a Machine", vera, "why-viewer-of-machine.txt", plugin.ExitForbidden, "-n", red, "machine/prod-eu-md-0-x7k2p"),
		Entry("that a viewer may see of another namespace", vera, "why-viewer-of-another.txt", plugin.ExitForbidden, "-n", blue, "claim/hopes"),
		Entry("that nobody may see", nobody, "why-nobody.txt", plugin.ExitForbidden, "-n", red, "claim/md-0"),
		Entry("of a kind that the API server has not", "", "why-no-kind.txt", plugin.ExitUsage, "-n", red, "nope/md-0"),
	)

	DescribeTable("says what would come of manifests", shown,
		Entry("that would be answered", "", "why-file.txt", plugin.ExitOK, "-n", red, "-f", "testdata/manifests/good.yaml"),
		Entry("as JSON", "", "why-file.json", plugin.ExitOK, "-n", red, "-f", "testdata/manifests/good.yaml", "-o", "json"),
		Entry("of a claim that would wait", "", "why-file-waiting.txt", plugin.ExitBadNews, "-n", red, "-f", "testdata/manifests/waiting.yaml"),
		Entry("that are refused, in colour", "", "why-file-refused.txt", plugin.ExitBadNews,
			"-n", red, "-f", "testdata/manifests/refused.yaml", "--color=always"),
		Entry("of a claim together with its pool", "", "why-file-pool.txt", plugin.ExitBadNews, "-n", red, "-f", "testdata/manifests/pool.yaml"),
		Entry("that change what there is", "", "why-file-changed.txt", plugin.ExitBadNews, "-n", red, "-f", "testdata/manifests/changed.yaml"),
		Entry("by names", "", "why-file-names.txt", plugin.ExitOK, "-n", red, "-f", "testdata/manifests/good.yaml", "-o", "name"),
		Entry("to a viewer, who may create nothing", vera, "why-file-viewer.txt", plugin.ExitForbidden, "-n", red, "-f", "testdata/manifests/good.yaml"),
		Entry("in a namespace that there is not", "", "why-file-no-namespace.txt", plugin.ExitBadNews, "-n", "nope", "-f", "testdata/manifests/good.yaml"),
		Entry("in another namespace than they say", "", "why-file-elsewhere.txt", plugin.ExitUsage, "-n", blue, "-f", "testdata/manifests/changed.yaml"),
		Entry("and wants some", "", "why-file-none.txt", plugin.ExitUsage, "-n", red, "-f", "testdata/manifests/none.yaml"),
		Entry("and not a name as well", "", "why-file-and-name.txt", plugin.ExitUsage, "-n", red, "claim/md-0", "-f", "testdata/manifests/good.yaml"),
	)
	It("stores nothing of manifests", func(ctx SpecContext) {
		for _, obj := range []client.Object{
			builder.IPAddressClaim(red, "new-0", ipamv1.IPPoolKind, "vips").Build(), builder.IPClaim(red, "new-1").Build(), builder.IPPool(red, "new-2").Build(),
		} {
			Expect(k.Get(ctx, client.ObjectKeyFromObject(obj), obj)).To(MatchError(apierrors.IsNotFound, "IsNotFound"))
		}
	})

	Describe("of what waits", Ordered, func() {
		BeforeAll(func(ctx SpecContext) {
			for _, claim := range []*builder.ClaimBuilder{
				builder.IPAddressClaim(red, "lost", ipamv1.IPPoolKind, "nope"),
				builder.IPAddressClaim(red, "hopes", ipamv1.GlobalIPPoolKind, "west"),
			} {
				obj := claim.Build()
				Expect(k.Create(ctx, obj)).To(Succeed())
				await(ctx, obj, func() bool { return len(obj.Status.Conditions) > 0 })
				DeferCleanup(func(ctx SpecContext) { suite.Gone(ctx, k, deleted(ctx, obj)) })
			}
			foreign := builder.IPAddressClaim(red, "theirs", "InClusterIPPool", "theirs").Build()
			foreign.Spec.PoolRef.APIGroup = "ipam.example.com"
			Expect(k.Create(ctx, foreign)).To(Succeed())
			DeferCleanup(func(ctx SpecContext) { suite.Gone(ctx, k, deleted(ctx, foreign)) })
		})

		DescribeTable("shows what it means and what to do", shown,
			Entry("to an administrator", "", "why-waiting.txt", plugin.ExitBadNews, "-n", red, "claim/lost"),
			Entry("to a viewer of the namespace, who can decide it", vera, "why-waiting-own.txt", plugin.ExitBadNews, "-n", red, "claim/lost"),
			Entry("in colour", "", "why-waiting-colour.txt", plugin.ExitBadNews, "-n", red, "ipaddressclaim/hopes", "--color=always"),
			Entry("as JSON", "", "why-waiting.json", plugin.ExitBadNews, "-n", red, "claim/lost", "-o", "json"),
			Entry("by name", "", "why-waiting-name.txt", plugin.ExitBadNews, "-n", red, "claim/lost", "-o", "name"),
			Entry("to a viewer, who may not see the pool", vera, "why-waiting-viewer.txt", plugin.ExitBadNews, "-n", red, "claim/hopes"),
			Entry("of another provider's claim", "", "why-other-provider.txt", plugin.ExitBadNews, "-n", red, "claim/theirs"),
		)
	})
}
