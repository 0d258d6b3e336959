// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"context"
	"os"
	"path/filepath"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2" //nolint:staticcheck // for specs only
	. "github.com/onsi/gomega"    //nolint:staticcheck // for specs only
	appsv1 "k8s.io/api/apps/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
)

// Administrator changes the IPAM provider of a site by a guide's commands.
type Administrator struct {
	Site *framework.Site
	// Clusterctl knows the provider that is there, and Weir.
	Clusterctl *framework.Clusterctl

	guide  framework.Guide
	folder string
}

// NewAdministrator returns one who follows this guide of docs/guides. Clusterctl finds Weir as a set of components, and what stands in for the
// other provider.
func NewAdministrator(site *framework.Site, guide, components string, other framework.StandIn) *Administrator {
	GinkgoHelper()
	a := &Administrator{Site: site, folder: GinkgoT().TempDir()}
	var err error
	a.Clusterctl, err = site.Clusterctl("v0.1.0")
	Expect(err).NotTo(HaveOccurred())
	Expect(a.Clusterctl.ChooseComponents(components)).To(Succeed())
	Expect(a.Clusterctl.AddStandIn(other)).To(Succeed())
	a.guide, err = framework.ReadGuide(guide)
	Expect(err).NotTo(HaveOccurred())
	return a
}

// Commands returns the blocks of commands of a part of the guide.
func (a *Administrator) Commands(heading string) []string {
	GinkgoHelper()
	blocks, err := a.guide.Commands(heading)
	Expect(err).NotTo(HaveOccurred())
	return blocks
}

// Shell runs commands in the folder where the guide is followed, and returns what they print.
func (a *Administrator) Shell(ctx context.Context, commands string) (string, error) {
	return a.Clusterctl.Shell(ctx, a.folder, commands)
}

// Follow runs the commands of a part of the guide, and returns what the last block prints.
func (a *Administrator) Follow(ctx context.Context, heading string) string {
	GinkgoHelper()
	var out string
	for _, block := range a.Commands(heading) {
		Expect(framework.AwaitCertManagerTestGone(ctx, a.Site.Config())).To(Succeed())
		var err error
		out, err = a.Shell(ctx, block)
		Expect(err).NotTo(HaveOccurred())
	}
	return out
}

// Lines returns those of a file that a command has written.
func (a *Administrator) Lines(file string) []string {
	GinkgoHelper()
	text, err := os.ReadFile(filepath.Join(a.folder, file))
	Expect(err).NotTo(HaveOccurred())
	return strings.Split(strings.TrimSpace(string(text)), "\n")
}

// StartInstalled runs a manager with the rights and the gates of what clusterctl has installed, and has the API server ask its webhooks.
func (a *Administrator) StartInstalled(ctx context.Context) *framework.Manager {
	GinkgoHelper()
	deployment := &appsv1.Deployment{}
	key := client.ObjectKey{Namespace: framework.ManagerNamespace, Name: "weir-controller-manager"}
	Expect(a.Site.Client().Get(ctx, key, deployment)).To(Succeed())
	args := slices.DeleteFunc(slices.Clone(deployment.Spec.Template.Spec.Containers[0].Args), func(arg string) bool {
		return !strings.HasPrefix(arg, "--feature-gates=")
	})
	m := StartManager(ctx, a.Site, args...)
	Expect(a.Site.PointWebhooks(ctx, m.WebhookAddress())).To(Succeed())
	return m
}
