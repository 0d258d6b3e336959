// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package monitoring

import (
	"os"
	"os/exec"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
)

var _ = Describe("The released rules", func() {
	It("are rules of Prometheus, and each alert fires when it should and is quiet when it nearly should", func(ctx SpecContext) {
		dir := GinkgoT().TempDir()
		cases, err := os.ReadFile(filepath.Join("testdata", "alerts.yaml"))
		Expect(err).NotTo(HaveOccurred())
		for name, text := range map[string][]byte{"rules.yaml": ruleFile(), "alerts.yaml": cases} {
			Expect(os.WriteFile(filepath.Join(dir, name), text, 0o600)).To(Succeed())
		}
		for _, args := range [][]string{{"check", "rules", "rules.yaml"}, {"test", "rules", "alerts.yaml"}} {
			promtool := exec.CommandContext(ctx, installed("promtool"), args...)
			promtool.Dir = dir
			out, err := promtool.CombinedOutput()
			Expect(err).NotTo(HaveOccurred(), "%s", out)
		}
		for _, alert := range alerts() {
			for _, which := range []string{" fires", " is quiet"} {
				Expect(string(cases)).To(ContainSubstring("name: "+alert+which+"\n"), "testdata/alerts.yaml")
			}
		}
	}, NodeTimeout(5*time.Minute))
})
