// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/plugin"
)

func treeSpecs() {
	DescribeTable("shows the pools that a user may see", func(ctx SpecContext, user, name string, code int, args ...string) {
		got, stdout, stderr := run(ctx, user, append([]string{"tree"}, args...)...)
		Expect(got).To(Equal(code), "%s", stderr)
		shows(name, stdout+stderr)
	},
		Entry("to an administrator", "", "tree-admin.txt", plugin.ExitOK),
		Entry("to an administrator, wide and in ASCII", "", "tree-wide.txt", plugin.ExitOK, "-o", "wide", "--ascii"),
		Entry("as JSON", "", "tree.json", plugin.ExitOK, "-o", "json"),
		Entry("as YAML, of one pool", "", "tree.yaml", plugin.ExitOK, "-o", "yaml", "team-red/nodes"),
		Entry("by name", "", "tree-names.txt", plugin.ExitOK, "-o", "name"),
		Entry("of one namespace, in colour", "", "tree-colour.txt", plugin.ExitOK, "-n", blue, "--color=always"),
		Entry("of all namespaces, whatever namespace is given", "", "tree-admin.txt", plugin.ExitOK, "-n", blue, "-A"),
		Entry("to a viewer of one namespace, with what is missing", vera, "tree-viewer-of-another.txt", plugin.ExitForbidden),
		Entry("to a viewer who names the namespace", vera, "tree-viewer.txt", plugin.ExitOK, "-n", red),
		Entry("with claims", "", "tree-claims.txt", plugin.ExitOK, "--claims"),
		Entry("with claims, as JSON", "", "tree-claims.json", plugin.ExitOK, "--claims", "nodes", "-o", "json"),
		Entry("to a viewer, with claims of one pool", vera, "tree-claims-viewer.txt", plugin.ExitOK, "-n", red, "--claims", "ippool/nodes"),
		Entry("to nobody", nobody, "tree-nobody.txt", plugin.ExitForbidden),
		Entry("not, if there is no such pool", "", "tree-no-pool.txt", plugin.ExitUsage, "nodez"),
		Entry("not, if the viewer may not see it", vera, "tree-hidden-pool.txt", plugin.ExitForbidden, "-n", red, "fleet"),
		Entry("not, in a format that there is not", "", "tree-no-format.txt", plugin.ExitUsage, "-o", "xml"),
	)
}
