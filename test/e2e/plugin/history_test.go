// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/plugin"
)

// historySpecs read the audit trail from files: no kubelet keeps logs here.
func historySpecs() {
	const text, json = "testdata/manager.log", "testdata/manager.json"
	DescribeTable("shows what an address was in use for", func(ctx SpecContext, user, name string, code int, args ...string) {
		got, stdout, stderr := run(ctx, user, append([]string{"history"}, args...)...)
		Expect(got).To(Equal(code), "%s%s", stdout, stderr)
		shows(name, stdout+stderr)
	},
		Entry("by logs of both forms, and what holds it now", "", "history.txt", plugin.ExitOK, "10.0.0.3", json, text),
		Entry("wide and in colour", "", "history-wide.txt", plugin.ExitOK, "10.0.0.4", text, "-o", "wide", "--color=always"),
		Entry("as JSON", "", "history.json", plugin.ExitOK, "10.0.0.3", text, "-o", "json"),
		Entry("by names of records", "", "history-names.txt", plugin.ExitOK, "10.0.0.3", text, "-o", "name"),
		Entry("a prefix with all of its parts", "", "history-prefix.txt", plugin.ExitOK, "10.0.0.0/29", text),
		Entry("by its record alone, where no manager's pod is found", "", "history-no-logs.txt", plugin.ExitOK, "10.0.0.3"),
		Entry("that nothing is known of", "", "history-nothing.txt", plugin.ExitBadNews, "203.0.113.9", text),
		Entry("where the API server is not there", "", "history-offline.txt", plugin.ExitOK, "10.0.0.3", text, "--server=http://127.0.0.1:1"),
		Entry("to a viewer of the namespace", vera, "history-viewer.txt", plugin.ExitOK, "10.0.0.3", text, "-n", red),
		Entry("to nobody, by a file", nobody, "history-nobody-file.txt", plugin.ExitOK, "10.0.0.3", text),
		Entry("not to nobody", nobody, "history-nobody.txt", plugin.ExitForbidden, "10.0.0.3"),
		Entry("not of a file that there is not", "", "history-no-file.txt", plugin.ExitUsage, "10.0.0.3", "testdata/nope.log"),
	)
}
