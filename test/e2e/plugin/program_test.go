// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"errors"
	"os"
	"os/exec"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/plugin"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
)

func programSpecs() {
	DescribeTable("ends with a code", func(ctx SpecContext, code int, words string, args ...string) {
		path, err := framework.Binary("kubectl-weir")
		Expect(err).NotTo(HaveOccurred())
		cmd := exec.CommandContext(ctx, path, args...)
		cmd.Env = append(os.Environ(), "KUBECONFIG="+site.KubeconfigPath(), "KUBECACHEDIR="+GinkgoT().TempDir(), "NO_PROXY=*", "no_proxy=*")
		output, err := cmd.CombinedOutput()
		var exit *exec.ExitError
		if err != nil {
			Expect(errors.As(err, &exit)).To(BeTrue(), "%v", err)
		}
		Expect(cmd.ProcessState.ExitCode()).To(Equal(code), "%s", output)
		Expect(string(output)).To(ContainSubstring(words))
	},
		Entry("when all is well", plugin.ExitOK, "team-red/nodes", "tree"),
		Entry("when an address is not in use", plugin.ExitBadNews, "Not in use", "who", "203.0.113.9"),
		Entry("when it is used wrongly", plugin.ExitUsage, "unknown flag", "tree", "--nope"),
		Entry("when a command is unknown", plugin.ExitUsage, "unknown command", "trees"),
		Entry("when the API server is not there", plugin.ExitUsage, "connection refused", "tree", "--server=http://127.0.0.1:1"),
		Entry("when rights are missing", plugin.ExitForbidden, "you may not list", "tree", "--as=nobody"),
		Entry("completing commands", plugin.ExitOK, "who\t", "__complete", ""),
	)
}
