// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/plugin"
)

// fsckSpecs leave a record without a claim behind.
func fsckSpecs() {
	checks := func(ctx SpecContext, user, name string, code int, args ...string) {
		GinkgoHelper()
		got, stdout, stderr := run(ctx, user, append([]string{"fsck", "--settle=0s"}, args...)...)
		Expect(got).To(Equal(code), "%s%s", stdout, stderr)
		shows(name, stdout+stderr)
	}
	DescribeTable("finds nothing where nothing is wrong", checks,
		Entry("for an administrator", "", "fsck-clean.txt", plugin.ExitOK),
		Entry("as JSON", "", "fsck-clean.json", plugin.ExitOK, "-o", "json"),
		Entry("for a viewer of all namespaces", wanda, "fsck-clean.txt", plugin.ExitOK),
		Entry("and checks nothing for a viewer of one namespace", vera, "fsck-viewer.txt", plugin.ExitForbidden, "-n", red),
		Entry("and says so in YAML", vera, "fsck-viewer.yaml", plugin.ExitForbidden, "-o", "yaml"),
		Entry("and checks nothing for nobody", nobody, "fsck-nobody.txt", plugin.ExitForbidden),
	)
	Describe("a record without a claim", Ordered, func() {
		BeforeAll(func(ctx SpecContext) {
			Expect(k.Create(ctx, &ipamv1.IPAllocation{
				ObjectMeta: metav1.ObjectMeta{Namespace: blue, Name: "planted"},
				Spec: ipamv1.IPAllocationSpec{
					PoolRef:      ipamv1.PoolReference{Kind: ipamv1.IPPoolKind, Namespace: blue, Name: "lab"},
					AddressSpace: "lab", CIDR: "10.0.0.9/32", Purpose: ipamv1.ClaimPurpose,
					ClaimRef: ipamv1.ClaimReference{
						APIGroup: ipamv1.GroupVersion.Group, Kind: ipamv1.IPClaimKind, Namespace: blue, Name: "gone", UID: "gone",
					},
					Manager: ipamv1.AllocationManager{Instance: "test"},
				},
			}, client.FieldOwner(ipamv1.FieldManager))).To(Succeed())
		})

		DescribeTable("is found", checks,
			Entry("by an administrator", "", "fsck-found.txt", plugin.ExitBadNews),
			Entry("as JSON", "", "fsck-found.json", plugin.ExitBadNews, "-o", "json"),
			Entry("by name", "", "fsck-found-names.txt", plugin.ExitBadNews, "-o", "name"),
		)
	})
}
