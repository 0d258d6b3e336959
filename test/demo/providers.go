// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"path/filepath"
	"time"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
)

// installProviders installs Cluster API's CRDs and Weir's release manifests as
// a platform engineer would: by clusterctl init, from a local repository.
func (p *play) installProviders(ctx context.Context) error {
	begin := time.Now()
	release, err := builtRelease()
	if err != nil {
		return err
	}
	if err = framework.InstallCertManagerCRDs(ctx, p.config); err != nil {
		return err
	}
	clusterctl, err := framework.NewClusterctl(filepath.Join(p.cp.Dir(), "clusterctl"), p.cp.KubeconfigPath())
	if err != nil {
		return err
	}
	version := filepath.Base(release)
	if err := clusterctl.AddWeir(release, version); err != nil {
		return err
	}
	if _, err := clusterctl.Init(ctx, version); err != nil {
		return err
	}
	p.did(begin, "clusterctl init --core cluster-api --ipam weir:%s", version)
	return nil
}

// builtRelease returns the folder that `make release-manifests` wrote last.
func builtRelease() (string, error) {
	root, err := framework.RepoRoot()
	if err != nil {
		return "", err
	}
	folders, err := filepath.Glob(filepath.Join(root, "out", "ipam-weir", "v*"))
	if err != nil || len(folders) == 0 {
		return "", errors.Join(err, errors.New("no release in out/ipam-weir: run make release-manifests"))
	}
	return folders[len(folders)-1], nil
}
