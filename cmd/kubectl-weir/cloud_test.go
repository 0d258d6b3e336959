// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/providers/openstack/neutron"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/openstack"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/openstack/fake"
)

// TestFloatingIPsOfAllNetworksAreListed with their descriptions, which say what Weir has made.
func TestFloatingIPsOfAllNetworksAreListed(t *testing.T) {
	t.Parallel()
	cloud := fake.Start()
	t.Cleanup(func() { _ = cloud.Stop() })
	credentials, err := neutron.ParseClouds(cloud.CloudsYAML(), nil, "member", "")
	if err != nil {
		t.Fatal(err)
	}
	policy, err := neutron.ParseEndpointPolicy(cloud.Endpoints())
	if err != nil {
		t.Fatal(err)
	}
	options := neutron.Options{Policy: policy}
	client, err := neutron.Connect(t.Context(), credentials, options)
	if err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{openstack.Public, openstack.Tiny} {
		network, findErr := client.FindNetwork(t.Context(), neutron.NetworkFilter{Name: name})
		if findErr != nil {
			t.Fatal(findErr)
		}
		if _, err = client.Create(t.Context(), neutron.CreateOptions{NetworkID: network.ID, Description: "weir/1/" + name + "/-"}); err != nil {
			t.Fatal(err)
		}
	}
	listed, err := listFloatingIPs(t.Context(), credentials, options)
	if err != nil {
		t.Fatal(err)
	}
	descriptions := map[string]bool{}
	for _, f := range listed {
		descriptions[f.Description] = f.ID != "" && f.Address.IsValid()
	}
	if len(listed) != 2 || !descriptions["weir/1/"+openstack.Public+"/-"] || !descriptions["weir/1/"+openstack.Tiny+"/-"] {
		t.Errorf("listed %v", listed)
	}
}

// TestCloudsAreTheUsersOwn: the file that OpenStack's clients read, and a message where there is none.
func TestCloudsAreTheUsersOwn(t *testing.T) {
	file := filepath.Join(t.TempDir(), "mine.yaml")
	t.Setenv("OS_CLIENT_CONFIG_FILE", file)
	t.Setenv("OS_CACERT", "")
	if _, err := floatingIPs(t.Context(), "prod", nil); err == nil || !strings.Contains(err.Error(), "there is no clouds.yaml") {
		t.Errorf("without a file: %v", err)
	}
	if err := os.WriteFile(file, []byte("clouds: {}\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, err := floatingIPs(t.Context(), "prod", nil); err == nil || !strings.Contains(err.Error(), "clouds.prod: is missing") {
		t.Errorf("without the cloud: %v", err)
	}
	if _, err := floatingIPs(t.Context(), "prod", []string{"keystone"}); err == nil || !strings.HasPrefix(err.Error(), "--openstack-endpoint-allow: ") {
		t.Errorf("without a scheme: %v", err)
	}
}

// TestEndpointsAreAllowedAsTheManagers: a cloud that is not called by https is called if the user says so.
func TestEndpointsAreAllowedAsTheManagers(t *testing.T) {
	cloud := fake.Start()
	t.Cleanup(func() { _ = cloud.Stop() })
	file := filepath.Join(t.TempDir(), "clouds.yaml")
	if err := os.WriteFile(file, cloud.CloudsYAML(), 0o600); err != nil {
		t.Fatal(err)
	}
	t.Setenv("OS_CLIENT_CONFIG_FILE", file)
	t.Setenv("OS_CACERT", "")
	if _, err := floatingIPs(t.Context(), openstack.Member, nil); err == nil || !strings.Contains(err.Error(), "see --openstack-endpoint-allow") {
		t.Errorf("not allowed: %v", err)
	}
	if _, err := floatingIPs(t.Context(), openstack.Member, cloud.Endpoints()); err != nil {
		t.Errorf("allowed: %v", err)
	}
}
