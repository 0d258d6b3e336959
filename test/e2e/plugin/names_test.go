// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/plugin"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// namesSpecs make a pool of their own, and delete it.
func namesSpecs() {
	It("shows an owner's name that a terminal would act on, and reads no path by it", func(ctx SpecContext) {
		pool := builder.IPPool(blue, "named").WithCIDR("192.0.2.0/29").Build()
		claim := builder.IPAddressClaim(blue, "named", ipamv1.IPPoolKind, "named").Build()
		claim.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "../../../../../version\x1b]52;c;eA==\a", UID: "u"}}
		Expect(k.Create(ctx, pool)).To(Succeed())
		await(ctx, pool, func() bool { return isReady(pool) })
		Expect(k.Create(ctx, claim)).To(Succeed())
		await(ctx, claim, func() bool { return isReady(claim) })
		DeferCleanup(func(ctx SpecContext) {
			suite.Gone(ctx, k, deleted(ctx, claim))
			suite.Gone(ctx, k, deleted(ctx, pool))
		})
		code, stdout, stderr := run(ctx, "", "who", "192.0.2.1", "--color=always")
		Expect(code).To(Equal(plugin.ExitOK), "%s", stderr)
		Expect(stdout).To(ContainSubstring(`  owners  ConfigMap ../../../../../version\x1b]52;c;eA==\a` + "\n"))
		Expect(stdout + stderr).NotTo(ContainSubstring("\x1b"))
	})
}
