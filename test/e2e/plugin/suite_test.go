// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package plugin shows what kubectl weir prints of a real site: to the administrator, to a viewer
// of one namespace and to a user without rights. What is printed is in testdata; "go test
// ./test/e2e/plugin -update" writes it anew.
//
//   - tree_test.go: the command tree.
//   - map_test.go: the command map, by its object; test/e2e/map looks at the page.
//   - who_test.go: the command who.
//   - why_test.go: the command why.
//   - fsck_test.go: the command fsck, on the site as it is and with one fault.
//   - pools_test.go: the command pools.
//   - status_test.go: the command status.
//   - plan_test.go: the command plan, by manifests.
//   - history_test.go: the command history, of files and of managers' pods.
//   - free_test.go: the command free, the only one that writes.
//   - tutorial_test.go: the commands of docs/tutorial.md.
//   - names_test.go: names that a terminal, or a client, would act on.
//   - program_test.go: the binary: exit codes, completion, an API server that is not there.
//   - many_test.go: what is asked of the API server where there are many records, also by an older CRD.
//   - world_test.go: the pools and claims of the site.
package plugin

import (
	"bytes"
	"context"
	"flag"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/demand"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/plugin"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/setup"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/providers/metal3/capm3"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// patience is how long what must happen may take: only what never happens fails.
const patience = "3m"

// later is how long after the objects' creation the plugin runs, by its clock.
const later = 4 * 24 * time.Hour

var update = flag.Bool("update", false, "write what the plugin prints to testdata")

var (
	site *framework.Site
	k    client.WithWatch
)

func TestPlugin(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Plugin")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	site = suite.StartSite(ctx, framework.SiteOptions{
		Install:    []framework.Step{framework.InstallRelease, framework.InstallCAPICRDs},
		Namespaces: []string{red, blue},
		Scheme:     scheme,
	})
	k = site.Client()
	manager := suite.StartManager(ctx, site)
	Expect(site.PointWebhooks(ctx, manager.WebhookAddress())).To(Succeed())
	build(ctx)
}, NodeTimeout(3*time.Minute))

// What is printed depends on what there is: the records of manySpecs come last.
var _ = Describe("kubectl weir", Ordered, ContinueOnFailure, func() {
	Describe("tree", treeSpecs)
	Describe("map", mapSpecs)
	Describe("who", whoSpecs)
	Describe("why", whySpecs)
	Describe("pools", poolsSpecs)
	Describe("status", statusSpecs)
	Describe("plan", planSpecs)
	Describe("history", historySpecs)
	Describe("as a program", programSpecs)
	Describe("fsck", fsckSpecs)
	Describe("free", freeSpecs)
	Describe("in the tutorial", tutorialSpecs)
	Describe("with names of tenants", namesSpecs)
	Describe("with many records", Ordered, manySpecs)
})

var _ = AfterEach(func() { suite.Evidence(site) })

// scheme has Weir's kinds and CRDs.
func scheme() (*runtime.Scheme, error) {
	s, err := setup.Scheme()
	if err != nil {
		return nil, err
	}
	return s, apiextensionsv1.AddToScheme(s)
}

// run runs the plugin as a user; "" is the administrator.
func run(ctx context.Context, user string, args ...string) (code int, stdout, stderr string) {
	GinkgoHelper()
	return runAt(ctx, func() time.Time { return time.Now().Add(later) }, user, args...)
}

// runAt runs the plugin with a clock.
func runAt(ctx context.Context, now func() time.Time, user string, args ...string) (code int, stdout, stderr string) {
	GinkgoHelper()
	args = append(args, "--kubeconfig="+site.KubeconfigPath(), "--cache-dir="+filepath.Join(GinkgoT().TempDir(), "cache"))
	if user != "" {
		args = append(args, "--as="+user)
	}
	var out, errOut bytes.Buffer
	code = plugin.Run(ctx, plugin.Config{
		Stdin: &bytes.Buffer{}, Stdout: &out, Stderr: &errOut,
		Now: now, Version: "test", Forms: []demand.Form{capm3.Form},
	}, args...)
	return code, out.String(), errOut.String()
}

// shows compares an answer with that in testdata.
func shows(name, answer string) {
	GinkgoHelper()
	suite.Shows(name, answer, *update)
}
