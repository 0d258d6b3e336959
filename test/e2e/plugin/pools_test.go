// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/plugin"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

func poolsSpecs() {
	shown := func(ctx SpecContext, user, name string, code int, args ...string) {
		GinkgoHelper()
		got, stdout, stderr := run(ctx, user, append([]string{"pools"}, args...)...)
		Expect(got).To(Equal(code), "%s%s", stdout, stderr)
		shows(name, stdout+stderr)
	}
	DescribeTable("shows the pools that claims may name", shown,
		Entry("in a namespace", "", "pools-red.txt", plugin.ExitOK, "-n", red),
		Entry("in all namespaces, wide and in colour", "", "pools-wide.txt", plugin.ExitOK, "-A", "-o", "wide", "--color=always"),
		Entry("as JSON", "", "pools.json", plugin.ExitOK, "-n", red, "-o", "json"),
		Entry("by name", "", "pools-names.txt", plugin.ExitOK, "-n", blue, "-o", "name"),
		Entry("to a viewer of the namespace, with what is missing", vera, "pools-viewer.txt", plugin.ExitOK, "-n", red),
		Entry("to a tenant who may read GlobalIPPools", tess, "pools-tenant.txt", plugin.ExitOK, "-n", red),
		Entry("not to a viewer of another namespace", vera, "pools-viewer-of-another.txt", plugin.ExitForbidden, "-n", blue),
		Entry("not to nobody", nobody, "pools-nobody.txt", plugin.ExitForbidden, "-n", red),
	)
	Describe("with claims that wait", Ordered, func() {
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
		})

		DescribeTable("shows pools that they name", shown,
			Entry("to an administrator", "", "pools-waiting.txt", plugin.ExitOK, "-n", red),
			Entry("to a viewer, who may not see them", vera, "pools-waiting-viewer.txt", plugin.ExitOK, "-n", red),
		)
	})
}
