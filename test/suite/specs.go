// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"fmt"
	"os"
	"strings"

	. "github.com/onsi/ginkgo/v2" //nolint:staticcheck // for specs only
	"github.com/onsi/ginkgo/v2/types"
	. "github.com/onsi/gomega" //nolint:staticcheck // for specs only

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
)

// Every suite that imports this package prints a line for each spec, such as
//
//	spec: 1.234 s passed: IPClaims are answered in the create call
//
// For "go test" a suite is one test; hack/testsummary takes the seconds and titles of specs from
// these lines. One that ends early has printed them up to there.
var _ = ReportAfterEach(func(spec SpecReport) { printSpec(spec, spec.FullText()) })

// What begins and ends a suite is no spec, and may take longer than all of them. It is named without
// Ginkgo's brackets: hack/mutants takes "[BeforeSuite]" for a suite that could not begin.
var _ = ReportAfterSuite("seconds of the suite's set-up", func(report Report) {
	for _, node := range report.SpecReports {
		if node.LeafNodeType.Is(types.NodeTypesForSuiteLevelNodes) {
			printSpec(node, node.LeafNodeType.String())
		}
	}
})

// What processors had to do bounds how long the suites take: see "What a run costs" in docs/testing.md.
var _ = ReportAfterSuite("processor seconds of the suite", func(Report) {
	seconds, err := framework.ProcessorSeconds()
	Expect(err).NotTo(HaveOccurred())
	framework.Account(seconds)
})

func printSpec(spec SpecReport, title string) {
	fmt.Fprintf(os.Stdout, "spec: %.3f s %s: %s\n", spec.RunTime.Seconds(), spec.State, strings.Join(strings.Fields(title), " "))
}
