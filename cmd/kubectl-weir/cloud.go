// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/fsck"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/providers/openstack/neutron"
)

// floatingIPs lists a project's floating IPs of all external networks, by the name of a cloud in the
// user's clouds.yaml. It calls endpoints that a pattern allows; without patterns, every https endpoint that is not loopback or link-local.
func floatingIPs(ctx context.Context, cloud string, endpoints []string) ([]fsck.FloatingIP, error) {
	policy, err := neutron.ParseEndpointPolicy(endpoints)
	if err != nil {
		return nil, fmt.Errorf("--openstack-endpoint-allow: %w", err)
	}
	clouds, cacert, err := readClouds()
	if err != nil {
		return nil, err
	}
	credentials, err := neutron.ParseClouds(clouds, cacert, cloud, os.Getenv("OS_REGION_NAME"))
	if err != nil {
		return nil, err
	}
	return listFloatingIPs(ctx, credentials, neutron.Options{UserAgent: "kubectl-weir", Policy: policy})
}

func listFloatingIPs(ctx context.Context, credentials neutron.Credentials, options neutron.Options) ([]fsck.FloatingIP, error) {
	client, err := neutron.Connect(ctx, credentials, options)
	if err != nil {
		return nil, err
	}
	defer client.CloseIdleConnections()
	networks, err := client.Networks(ctx, neutron.NetworkFilter{})
	if err != nil {
		return nil, err
	}
	var all []fsck.FloatingIP
	for _, network := range networks {
		listed, err := client.List(ctx, network.ID)
		if err != nil {
			return nil, err
		}
		for i := range listed {
			all = append(all, fsck.FloatingIP{ID: listed[i].ID, Address: listed[i].Address, Description: listed[i].Description})
		}
	}
	return all, nil
}

// readClouds reads the clouds.yaml that OpenStack's own clients would, and the certificates of
// OS_CACERT.
func readClouds() (clouds, cacert []byte, err error) {
	if file := os.Getenv("OS_CACERT"); file != "" {
		if cacert, err = os.ReadFile(file); err != nil { //nolint:gosec // the user names it
			return nil, nil, fmt.Errorf("reading OS_CACERT: %w", err)
		}
	}
	home, err := os.UserHomeDir()
	if err != nil {
		home = "."
	}
	files := []string{"clouds.yaml", filepath.Join(home, ".config", "openstack", "clouds.yaml"), "/etc/openstack/clouds.yaml"}
	if file := os.Getenv("OS_CLIENT_CONFIG_FILE"); file != "" {
		files = []string{file}
	}
	for _, file := range files {
		clouds, err = os.ReadFile(file) //nolint:gosec // the user names it
		if !errors.Is(err, fs.ErrNotExist) {
			return clouds, cacert, err
		}
	}
	return nil, nil, fmt.Errorf("there is no clouds.yaml; looked for %v; set OS_CLIENT_CONFIG_FILE", files)
}
