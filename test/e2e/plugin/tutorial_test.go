// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	"context"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
)

// beyond are the steps that make a cluster and stop it: the suite has one.
var beyond = []string{"make demo", `export PATH="$PWD/bin:$PATH"`}

func tutorialSpecs() {
	It("is run, and prints what the page shows", func(ctx SpecContext) {
		root, err := framework.RepoRoot()
		Expect(err).NotTo(HaveOccurred())
		page, err := os.ReadFile(filepath.Join(root, "docs", "tutorial.md"))
		Expect(err).NotTo(HaveOccurred())
		shell, compared := newShell(), 0
		var printed string
		for _, block := range fences(string(page)) {
			switch {
			case block.language == "sh" && mentions(block.text, beyond):
			case block.language == "sh":
				printed = shell.run(ctx, block.text)
			default:
				for line := range strings.Lines(steady(block.text)) {
					Expect(steady(printed)).To(ContainSubstring(line), "the commands before it do not print this")
				}
				compared++
			}
		}
		Expect(compared).To(BeNumerically(">", 3))
		drawn, err := os.ReadFile(filepath.Join(shell.folder, "map.html"))
		Expect(err).NotTo(HaveOccurred())
		Expect(string(drawn)).To(ContainSubstring("tutorial"))
	})
}

// fence is a fenced block of a page.
type fence struct{ language, text string }

var fenced = regexp.MustCompile("(?ms)^```([a-z]*)\n(.*?)^```$")

func fences(page string) []fence {
	found := fenced.FindAllStringSubmatch(page, -1)
	blocks := make([]fence, 0, len(found))
	for _, match := range found {
		blocks = append(blocks, fence{language: match[1], text: match[2]})
	}
	return blocks
}

func mentions(text string, words []string) bool {
	for _, word := range words {
		if strings.Contains(text, word) {
			return true
		}
	}
	return false
}

// steady replaces what differs from run to run: times, ages, the names of records.
func steady(text string) string {
	text = regexp.MustCompile(`[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]{5}( \([0-9smhd]+\))?`).ReplaceAllString(text, "TIME")
	text = regexp.MustCompile(`\b(m[0-9])-[0-9a-f]{10}\b`).ReplaceAllString(text, "$1-HASH")
	return text
}

// shell runs commands as a reader of the page does, in a folder of its own.
type shell struct {
	folder string
	env    []string
}

func newShell() shell {
	GinkgoHelper()
	kubectl, err := framework.Binary("kubectl")
	Expect(err).NotTo(HaveOccurred())
	plugin, err := framework.Binary("kubectl-weir")
	Expect(err).NotTo(HaveOccurred())
	folder := GinkgoT().TempDir()
	return shell{folder: folder, env: append(os.Environ(),
		"KUBECONFIG="+site.KubeconfigPath(), "KUBECACHEDIR="+filepath.Join(folder, "cache"), "NO_PROXY=*", "no_proxy=*",
		"PATH="+filepath.Dir(kubectl)+":"+filepath.Dir(plugin)+":"+os.Getenv("PATH"))}
}

// run returns what the commands print, and fails the spec if one of them fails.
func (s shell) run(ctx context.Context, commands string) string {
	GinkgoHelper()
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", commands)
	cmd.Dir, cmd.Env = s.folder, s.env
	var stdout, stderr bytes.Buffer
	cmd.Stdout, cmd.Stderr = &stdout, &stderr
	Expect(cmd.Run()).To(Succeed(), "%s%s\nof these commands:\n%s", &stdout, &stderr, commands)
	return stdout.String()
}
