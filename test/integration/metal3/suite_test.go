// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package metal3 tests the kinds of ipam.metal3.io on a real API server.
//
//   - crds_test.go: what their CRDs accept, refuse, keep and set. No manager runs.
package metal3

import (
	"fmt"
	"path/filepath"
	"testing"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/klog/v2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	m3v1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/metal3/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

var (
	site *framework.Site
	// k writes as kubectl does: unknown fields are an error.
	k client.Client
	// samples is the folder of samples with every field.
	samples string
)

func TestMetal3(t *testing.T) {
	RegisterFailHandler(Fail)
	RunSpecs(t, "Metal3")
}

var _ = BeforeSuite(func(ctx SpecContext) {
	ctrl.SetLogger(klog.Background())
	site = suite.StartSite(ctx, framework.SiteOptions{Install: []framework.Step{framework.InstallMetal3CRDs}, Scheme: scheme})
	k = client.WithFieldOwner(client.WithFieldValidation(site.Client(), metav1.FieldValidationStrict), "spec")
	root, err := framework.RepoRoot()
	Expect(err).NotTo(HaveOccurred())
	samples = filepath.Join(root, "api", "metal3", "v1alpha1", "testdata")
}, NodeTimeout(2*time.Minute))

func scheme() (*runtime.Scheme, error) {
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{clientgoscheme.AddToScheme, m3v1.AddToScheme} {
		if err := add(s); err != nil {
			return nil, fmt.Errorf("building the scheme: %w", err)
		}
	}
	return s, nil
}
