// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"context"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2" //nolint:staticcheck // for specs only
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/dynamic"
	"sigs.k8s.io/yaml"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
)

// Evidence keeps what a failed spec leaves, and is for AfterEach, before managers are killed: the last complaints of the sites' processes go to
// the spec's output, their logs and the objects of the API server to out/failed/<suite>/<spec>.
func Evidence(sites ...*framework.Site) {
	if !CurrentSpecReport().Failed() {
		return
	}
	for i, site := range sites {
		if site == nil {
			continue
		}
		site.ShowLogs(GinkgoWriter)
		if dir, err := keep(site, fmt.Sprint(i)); err != nil {
			GinkgoWriter.Println("keeping what the spec has left:", err)
		} else {
			GinkgoWriter.Println("--- logs and objects are in", dir)
		}
	}
}

var noName = regexp.MustCompile(`[^a-zA-Z0-9]+`)

// keep writes the logs and objects of a site into a folder of the spec, and returns that.
func keep(site *framework.Site, number string) (string, error) {
	root, err := framework.RepoRoot()
	if err != nil {
		return "", err
	}
	wd, err := os.Getwd()
	if err != nil {
		return "", err
	}
	title := noName.ReplaceAllString(CurrentSpecReport().FullText(), "-")
	dir := filepath.Join(root, "out", "failed", filepath.Base(wd), title[:min(len(title), 80)], number)
	if err := os.MkdirAll(dir, 0o750); err != nil {
		return "", err
	}
	if err := keepLogs(site, dir); err != nil {
		return "", err
	}
	ctx, cancel := context.WithTimeout(context.Background(), 30*time.Second)
	defer cancel()
	return dir, keepObjects(ctx, site, dir)
}

func keepLogs(site *framework.Site, dir string) error {
	logs, err := filepath.Glob(filepath.Join(site.Dir(), "*.log"))
	if err != nil {
		return err
	}
	for _, path := range logs {
		text, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		if err := os.WriteFile(filepath.Join(dir, filepath.Base(path)), text, 0o600); err != nil {
			return err
		}
	}
	return nil
}

// keepObjects writes all objects of the kinds that Weir reads or writes, a file for each kind.
func keepObjects(ctx context.Context, site *framework.Site, dir string) error {
	kinds, err := discovery.NewDiscoveryClientForConfig(site.Config())
	if err != nil {
		return err
	}
	objects, err := dynamic.NewForConfig(site.Config())
	if err != nil {
		return err
	}
	lists, err := kinds.ServerPreferredResources()
	if err != nil {
		return err
	}
	for _, list := range lists {
		version, err := schema.ParseGroupVersion(list.GroupVersion)
		if err != nil {
			return err
		}
		for _, resource := range list.APIResources {
			if !isKept(version.Group, resource.Name) {
				continue
			}
			items, err := objects.Resource(version.WithResource(resource.Name)).List(ctx, metav1.ListOptions{})
			if err != nil {
				return fmt.Errorf("listing %s of %s: %w", resource.Name, version, err)
			}
			if err := keepList(items, filepath.Join(dir, resource.Name+"."+version.Group+".yaml")); err != nil {
				return err
			}
		}
	}
	return nil
}

// isKept holds for the kinds of IP address management, of whatever group, Clusters, namespaces, leases and events.
func isKept(group, resource string) bool {
	switch {
	case group == corev1.GroupName:
		return resource == "namespaces" || resource == "events"
	case strings.HasPrefix(resource, "ip"), strings.HasPrefix(resource, "globalip"):
		return true
	default:
		return resource == "clusters" || resource == "leases"
	}
}

func keepList(list *unstructured.UnstructuredList, path string) error {
	if len(list.Items) == 0 {
		return nil
	}
	text, err := yaml.Marshal(list)
	if err != nil {
		return err
	}
	return os.WriteFile(path, text, 0o600)
}
