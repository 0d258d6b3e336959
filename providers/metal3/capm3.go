// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3

import "github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claimant"

// Hints are what is known of CAPM3's finalizer.
var Hints = claimant.Hints{
	"metal3data.infrastructure.cluster.x-k8s.io": "CAPM3 takes its finalizer off before it deletes a claim, but never off claims of fromPoolAnnotation: " +
		"take it off those by hand when their host is deprovisioned",
}
