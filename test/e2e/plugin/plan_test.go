// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
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
	Describe("of a pool that another namespace carves", Ordered, carvedSpecs)
}

// carvedSpecs plan, and ask why, where records of a pool are in another namespace than the pool.
func carvedSpecs() {
	const halves, ones = "--filename=testdata/plan-carved-parent.yaml", "--filename=testdata/plan-carved-child.yaml"
	made := func(ctx SpecContext, obj client.Object, isWanted func() bool) {
		GinkgoHelper()
		Expect(k.Create(ctx, obj)).To(Succeed())
		DeferCleanup(func(ctx SpecContext) { suite.Gone(ctx, k, deleted(ctx, obj)) })
		await(ctx, obj, isWanted)
	}
	planned := func(ctx SpecContext, user, name string, code int, args ...string) {
		GinkgoHelper()
		got, stdout, stderr := run(ctx, user, append([]string{"plan"}, args...)...)
		Expect(got).To(Equal(code), "%s%s", stdout, stderr)
		shows(name, stdout+stderr)
	}
	BeforeAll(func(ctx SpecContext) {
		parent := builder.IPPool(red, "halves").WithCIDR("10.0.0.0/24").WithSpace("halves").WithLengths(25, 32, 32).
			WithVisibility(ipamv1.SharedVisibility).Build()
		made(ctx, parent, func() bool { return isReady(parent) })
	})

	It("shows a viewer of the pool's namespace that it has room", func(ctx SpecContext) {
		planned(ctx, vera, "plan-carved-before.txt", plugin.ExitOK, "-n", red, halves)
	})

	Describe("once it has", Ordered, func() {
		BeforeAll(func(ctx SpecContext) {
			child := builder.IPPool(blue, "half").WithParent(ipamv1.IPPoolKind, red, "halves").WithBits(25).Build()
			made(ctx, child, func() bool { return isReady(child) })
			parent := &ipamv1.IPPool{ObjectMeta: metav1.ObjectMeta{Namespace: red, Name: "halves"}}
			await(ctx, parent, func() bool { return ptr.Deref(parent.Status.Children, 0) == 1 })
		})

		DescribeTable("shows what is needed", planned,
			Entry("of the pool", "", "plan-carved-parent.txt", plugin.ExitBadNews, "-n", red, halves),
			Entry("of the pool, to a viewer who may not read what is carved elsewhere", vera, "plan-carved-viewer.txt", plugin.ExitForbidden, "-n", red, halves),
			Entry("of what is carved from it", "", "plan-carved-child.txt", plugin.ExitOK, "-n", blue, ones),
		)

		It("decides about claims as the manager does", func(ctx SpecContext) {
			rest := builder.IPClaim(red, "rest").From(ipamv1.IPPoolKind, "halves").WithBits(25).Build()
			made(ctx, rest, func() bool { return isReady(rest) })
			waits := builder.IPAddressClaim(red, "waits", ipamv1.IPPoolKind, "halves").Build()
			made(ctx, waits, func() bool { return len(waits.Status.Conditions) > 0 })
			served := builder.IPAddressClaim(blue, "served", ipamv1.IPPoolKind, "half").Build()
			made(ctx, served, func() bool { return isReady(served) })
			for claim, want := range map[client.Object]int{waits: plugin.ExitBadNews, served: plugin.ExitOK} {
				code, stdout, stderr := run(ctx, "", "why", "-n", claim.GetNamespace(), "claim/"+claim.GetName())
				Expect(code).To(Equal(want), "%s%s", stdout, stderr)
				Expect(stdout).To(ContainSubstring("decided anew, with the same result"))
			}
		})
	})
}
