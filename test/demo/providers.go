// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"path/filepath"
	"time"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
)

// installProviders installs Cluster API's CRDs and Weir's release manifests as
// a platform engineer would: by clusterctl init, from a local repository. The
// components are those with Metal3's API.
func (p *play) installProviders(ctx context.Context) error {
	begin := time.Now()
	release, err := framework.ReleaseDir()
	if err != nil {
		return err
	}
	if err = framework.InstallCertManagerCRDs(ctx, p.config); err != nil {
		return err
	}
	version := filepath.Base(release)
	clusterctl, err := p.site.Clusterctl(version)
	if err != nil {
		return err
	}
	if err := clusterctl.ChooseComponents(framework.Metal3Components); err != nil {
		return err
	}
	if _, err := clusterctl.Init(ctx, version); err != nil {
		return err
	}
	p.did(begin, "clusterctl init --core cluster-api --ipam weir:%s, whose URL names %s", version, framework.Metal3Components)
	return nil
}
