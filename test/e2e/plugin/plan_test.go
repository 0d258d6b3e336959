// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/plugin"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// planSpecs plan by manifests: no infrastructure provider is here.
func planSpecs() {
	const manifests = "--filename=testdata/plan.yaml"
	DescribeTable("shows what is needed", func(ctx SpecContext, user, name string, code int, args ...string) {
		got, stdout, stderr := run(ctx, user, append([]string{"plan"}, args...)...)
		Expect(got).To(Equal(code), "%s%s", stdout, stderr)
		shows(name, stdout+stderr)
	},
		Entry("of pools that have it", "", "plan.txt", plugin.ExitOK, "-n", red, manifests),
		Entry("of a pool that has not, in colour", "", "plan-missing.txt", plugin.ExitBadNews,
			"-n", red, manifests, "--replicas=prod-eu-md-0=9", "-o", "wide", "--color=always"),
		Entry("as JSON", "", "plan.json", plugin.ExitBadNews, "-n", red, manifests, "--replicas=prod-eu-md-0=9", "-o", "json"),
		Entry("by names of pools", "", "plan-names.txt", plugin.ExitOK, "-n", red, manifests, "-o", "name"),
		Entry("of a Cluster as it is", "", "plan-cluster.txt", plugin.ExitOK, "-n", red, "--cluster=prod-eu"),
		Entry("of pools that there are not", "", "plan-gone.txt", plugin.ExitBadNews, "-n", blue, manifests),
		Entry("to a viewer of the namespace, with what is missing", vera, "plan-viewer.txt", plugin.ExitForbidden, "-n", red, manifests),
		Entry("to a viewer, bad news before what is missing", vera, "plan-viewer-missing.txt", plugin.ExitBadNews,
			"-n", red, manifests, "--replicas=prod-eu-md-0=9"),
		Entry("of prefixes of any length", "", "plan-prefixes.txt", plugin.ExitOK, "-n", red, "-f", "testdata/plan-prefixes.yaml"),
		Entry("of prefixes, to a viewer who may not read what is free where", vera, "plan-prefixes-viewer.txt", plugin.ExitForbidden,
			"-n", red, "-f", "testdata/plan-prefixes.yaml"),
		Entry("of prefixes for which enough is free, but in pieces", "", "plan-pieces.txt", plugin.ExitBadNews, "-n", blue, "-f", "testdata/plan-pieces.yaml"),
		Entry("of such prefixes, as JSON", "", "plan-pieces.json", plugin.ExitBadNews, "-n", blue, "-f", "testdata/plan-pieces.yaml", "-o", "json"),
		Entry("of what pools refuse", "", "plan-refused.txt", plugin.ExitBadNews, "-n", red, "-f", "testdata/plan-refused.yaml"),
		Entry("not to nobody", nobody, "plan-nobody.txt", plugin.ExitForbidden, "-n", red, manifests),
		Entry("not of nothing", "", "plan-nothing.txt", plugin.ExitUsage, "-n", red),
		Entry("not of a Cluster that there is not", "", "plan-no-cluster.txt", plugin.ExitUsage, "-n", red, "--cluster=nope"),
		Entry("not of a set that there is not", "", "plan-no-set.txt", plugin.ExitUsage, "-n", red, manifests, "--replicas=nope=3"),
	)

	It("shows that prefixes have room in one order only", func(ctx SpecContext) {
		pool := builder.IPPool(blue, "pieces").WithAddresses("198.51.100.128-198.51.100.131", "198.51.100.140").Build()
		Expect(k.Create(ctx, pool)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { suite.Gone(ctx, k, deleted(ctx, pool)) })
		await(ctx, pool, func() bool { return isReady(pool) })
		code, stdout, stderr := run(ctx, "", "plan", "-n", blue, "-f", "testdata/plan-order.yaml")
		Expect(code).To(Equal(plugin.ExitBadNews), "%s%s", stdout, stderr)
		shows("plan-order.txt", stdout+stderr)
	})
}
