// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"os"
	"path/filepath"
	"regexp"

	. "github.com/onsi/ginkgo/v2" //nolint:staticcheck // for specs only
	. "github.com/onsi/gomega"    //nolint:staticcheck // for specs only
)

// volatile is what differs from run to run, and what stands for it in testdata.
var volatile = []struct {
	pattern *regexp.Regexp
	stead   string
}{
	{regexp.MustCompile(`[0-9]{4}-[0-9]{2}-[0-9]{2}T[0-9:]{8}(\.[0-9]+)?Z`), "TIME"},
	{regexp.MustCompile(`[0-9]{4}-[0-9]{2}-[0-9]{2} [0-9:]{5}`), "TIME"},
	{regexp.MustCompile(`[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}`), "UID"},
	{regexp.MustCompile(`-[0-9a-f]{10,}\b`), "-HASH"},
	{regexp.MustCompile(`in [0-9]+\.[0-9]s`), "in SECONDS"},
	{regexp.MustCompile(`"revision": "[0-9]+"`), `"revision": "REVISION"`},
}

// Shows expects that text is as in a file of the suite's testdata, but for times, UIDs and the like. An update writes the file anew.
func Shows(name, text string, isUpdate bool) {
	GinkgoHelper()
	for _, v := range volatile {
		text = v.pattern.ReplaceAllString(text, v.stead)
	}
	path := filepath.Join("testdata", name)
	if isUpdate {
		Expect(os.WriteFile(path, []byte(text), 0o644)).To(Succeed())
	}
	want, err := os.ReadFile(path)
	Expect(err).NotTo(HaveOccurred())
	Expect(text).To(Equal(string(want)), "testdata/%s; -update writes it anew", name)
}
