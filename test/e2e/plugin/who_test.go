// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/plugin"
)

func whoSpecs() {
	DescribeTable("shows what is in use for what", func(ctx SpecContext, user, name string, code int, args ...string) {
		got, stdout, stderr := run(ctx, user, append([]string{"who"}, args...)...)
		Expect(got).To(Equal(code), "%s", stderr)
		shows(name, stdout+stderr)
	},
		Entry("an address of a machine, with owners and neighbours", "", "who-machine.txt", plugin.ExitOK, "10.0.0.3"),
		Entry("an address in several address spaces", "", "who-spaces.txt", plugin.ExitOK, "10.0.0.2"),
		Entry("an address in somebody's block", "", "who-in-block.txt", plugin.ExitOK, "10.0.0.77"),
		Entry("a claim's block", "", "who-block.txt", plugin.ExitOK, "10.0.0.64/26"),
		Entry("a pool's block", "", "who-pool.txt", plugin.ExitOK, "10.0.0.0/29"),
		Entry("a prefix with records in it", "", "who-within.txt", plugin.ExitOK, "10.0.0.0/30"),
		Entry("an address that cools down", "", "who-cooling.txt", plugin.ExitOK, "10.0.0.4"),
		Entry("an address that is retained, IPv6", "", "who-retained.txt", plugin.ExitOK, "2001:db8::1"),
		Entry("an address that is free", "", "who-free.txt", plugin.ExitBadNews, "198.51.100.65"),
		Entry("an address of no pool", "", "who-no-pool.txt", plugin.ExitBadNews, "203.0.113.9"),
		Entry("as JSON", "", "who.json", plugin.ExitOK, "10.0.0.3", "-o", "json"),
		Entry("by name", "", "who-name.txt", plugin.ExitOK, "10.0.0.3", "-o", "name"),
		Entry("to a viewer of the namespace", vera, "who-viewer.txt", plugin.ExitOK, "10.0.0.3", "-n", red),
		Entry("not to a viewer of another namespace", vera, "who-viewer-of-another.txt", plugin.ExitForbidden, "198.51.100.65", "-n", red),
		Entry("not to nobody", nobody, "who-nobody.txt", plugin.ExitForbidden, "10.0.0.3"),
		Entry("not of what is no address", "", "who-no-address.txt", plugin.ExitUsage, "10.0.0.300"),
	)
}
