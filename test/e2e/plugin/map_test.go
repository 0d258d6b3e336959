// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"os"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/plugin"
)

func mapSpecs() {
	// Before all objects, so that none is older on one run than on another.
	early := func() time.Time { return time.Date(2020, 1, 1, 0, 0, 0, 0, time.UTC) }
	DescribeTable("shows what addresses are in use for", func(ctx SpecContext, user, name string, code int, args ...string) {
		got, stdout, stderr := runAt(ctx, early, user, append([]string{"map"}, args...)...)
		Expect(got).To(Equal(code), "%s", stderr)
		shows(name, stdout+stderr)
	},
		Entry("to an administrator", "", "map-admin.json", plugin.ExitOK, "-o", "json"),
		Entry("to a viewer who names the namespace, without a guess at the rest", vera, "map-viewer.json", plugin.ExitOK, "-n", red, "-o", "json"),
		Entry("to a viewer of another namespace, with what is missing", vera, "map-viewer-of-another.yaml", plugin.ExitForbidden, "-o", "yaml"),
		Entry("not, without a file", "", "map-no-file.txt", plugin.ExitUsage),
	)

	It("writes a page for the user alone", func(ctx SpecContext) {
		path := filepath.Join(GinkgoT().TempDir(), "map.html")
		code, stdout, stderr := runAt(ctx, early, "", "map", "--output="+path)
		Expect(code).To(Equal(plugin.ExitOK), stderr)
		Expect(stdout).To(BeEmpty())
		Expect(stderr).To(MatchRegexp("Wrote 8 pools and [0-9]+ records to " + path))
		page, err := os.ReadFile(path)
		Expect(err).NotTo(HaveOccurred())
		Expect(string(page)).To(HavePrefix("<!DOCTYPE html>"))
		Expect(string(page)).To(ContainSubstring(`"title":"IPPool team-red/nodes"`))
		info, err := os.Stat(path)
		Expect(err).NotTo(HaveOccurred())
		Expect(info.Mode().Perm()).To(Equal(os.FileMode(0o600)))
		_, stdout, _ = runAt(ctx, early, "", "map", "-o", "-")
		Expect(stdout).To(HaveLen(len(page)))
	})
}
