// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package monitoring shows that what is released for Prometheus and Grafana works, with Debian's Prometheus and promtool and two managers
// of the release as processes.
//
//   - rules_test.go: promtool checks the rules, and has each alert fire and be quiet.
//   - scrape_test.go: Prometheus scrapes both managers over TLS with a token, and each query returns data.
package monitoring

import (
	"encoding/json"
	"os/exec"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/yaml"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

var (
	site *framework.Site
	// targets are where the managers serve their metrics.
	targets []string
)

func TestMonitoring(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Monitoring")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	site = suite.StartSite(ctx, framework.SiteOptions{
		Options: framework.Options{},
		Install: []framework.Step{framework.InstallRelease, framework.InstallCAPICRDs},
	})
	managers := make([]*framework.Manager, 0, 2)
	for range 2 {
		port, err := framework.FreePort()
		Expect(err).NotTo(HaveOccurred())
		targets = append(targets, addressOf(port))
		managers = append(managers, suite.StartManager(ctx, site, "--leader-elect=true", "--diagnostics-address="+addressOf(port)))
	}
	Expect(site.PointWebhooks(ctx, managers[0].WebhookAddress())).To(Succeed())
}, NodeTimeout(3*time.Minute))

var _ = AfterEach(func() { suite.Evidence(site) })

// installed returns the path of a program of Debian's package prometheus.
func installed(program string) string {
	GinkgoHelper()
	path, err := exec.LookPath(program)
	Expect(err).NotTo(HaveOccurred(), "run 'make prometheus-packages'")
	return path
}

// released returns an object of weir-monitoring.yaml.
func released(kind string) *unstructured.Unstructured {
	GinkgoHelper()
	dir, err := framework.ReleaseDir()
	Expect(err).NotTo(HaveOccurred())
	objects, err := framework.ReadManifests(filepath.Join(dir, "weir-monitoring.yaml"))
	Expect(err).NotTo(HaveOccurred())
	for _, object := range objects {
		if object.GetKind() == kind {
			return object
		}
	}
	Fail("weir-monitoring.yaml has no " + kind)
	return nil
}

// ruleFile returns the released rules as a file of Prometheus.
func ruleFile() []byte {
	GinkgoHelper()
	text, err := yaml.Marshal(released("PrometheusRule").Object["spec"])
	Expect(err).NotTo(HaveOccurred())
	return text
}

// panelQueries returns the queries of the released dashboard.
func panelQueries() []string {
	GinkgoHelper()
	text, _, err := unstructured.NestedString(released("ConfigMap").Object, "data", "weir.json")
	Expect(err).NotTo(HaveOccurred())
	var dashboard struct {
		Panels []struct{ Targets []struct{ Expr string } }
	}
	Expect(json.Unmarshal([]byte(text), &dashboard)).To(Succeed())
	var queries []string
	for _, panel := range dashboard.Panels {
		for _, target := range panel.Targets {
			queries = append(queries, target.Expr)
		}
	}
	return queries
}
