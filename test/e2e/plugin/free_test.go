// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/plugin"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// freeSpecs free what is retained for an IPClaim, at last.
func freeSpecs() {
	freed := func(ctx SpecContext, user, name string, code int, args ...string) {
		GinkgoHelper()
		got, stdout, stderr := run(ctx, user, append([]string{"free"}, args...)...)
		Expect(got).To(Equal(code), "%s%s", stdout, stderr)
		shows(name, stdout+stderr)
	}
	DescribeTable("frees nothing", func(ctx SpecContext, user, name string, code int, args ...string) {
		freed(ctx, user, name, code, args...)
		Expect(retained(ctx)).To(Equal([]string{"2001:db8::1/128"}))
	},
		Entry("if nobody says yes", "", "free-unconfirmed.txt", plugin.ExitBadNews, "-n", blue, "endpoint"),
		Entry("if nothing is retained", "", "free-nothing.txt", plugin.ExitBadNews, "-n", blue, "endpoint-2"),
		Entry("if another prefix is", "", "free-another.txt", plugin.ExitBadNews, "-n", blue, "endpoint", "--cidr=2001:db8::2"),
		Entry("if the IPClaim is there", "", "free-claim.txt", plugin.ExitUsage, "-n", red, "bastion"),
		Entry("for a viewer", wanda, "free-viewer.txt", plugin.ExitForbidden, "-n", blue, "endpoint", "--yes"),
		Entry("for a viewer of another namespace", vera, "free-viewer-of-another.txt", plugin.ExitForbidden, "-n", blue, "endpoint", "--yes"),
		Entry("for nobody", nobody, "free-nobody.txt", plugin.ExitForbidden, "-n", blue, "endpoint", "--yes"),
	)

	Describe("with --yes", Ordered, func() {
		It("frees the prefix", func(ctx SpecContext) {
			freed(ctx, "", "free.txt", plugin.ExitOK, "-n", blue, "endpoint", "--yes")
			suite.Gone(ctx, k, builder.IPClaim(blue, "endpoint").Build())
			Eventually(retained, patience).WithContext(ctx).Should(BeEmpty())
		})

		It("has nothing to free then, and says so in JSON of another", func(ctx SpecContext) {
			freed(ctx, "", "free-nothing-left.txt", plugin.ExitBadNews, "-n", blue, "endpoint", "--yes")
			claim := builder.IPClaim(blue, "web").From(ipamv1.IPPoolKind, "lab").Retained().Build()
			Expect(k.Create(ctx, claim)).To(Succeed())
			await(ctx, claim, func() bool { return isReady(claim) })
			suite.Gone(ctx, k, deleted(ctx, claim))
			Eventually(retained, patience).WithContext(ctx).Should(HaveLen(1))
			freed(ctx, "", "free.json", plugin.ExitOK, "-n", blue, "ipclaim/web", "--yes", "-o", "json")
			Eventually(retained, patience).WithContext(ctx).Should(BeEmpty())
		})
	})
}

// retained are the prefixes that are kept for the next claim of a name.
func retained(ctx context.Context) ([]string, error) {
	list := &ipamv1.IPAllocationList{}
	if err := k.List(ctx, list, client.InNamespace(blue)); err != nil {
		return nil, err
	}
	var prefixes []string
	for i := range list.Items {
		if a := &list.Items[i]; a.Spec.State == ipamv1.RetainedState {
			prefixes = append(prefixes, a.Spec.CIDR)
		}
	}
	return prefixes, nil
}
