// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package poolspec

import (
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/util/validation/field"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/excerpt"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
)

var strategies = map[ipamv1.AllocationStrategy]pooltree.Strategy{
	ipamv1.FirstFitStrategy:          pooltree.FirstFit,
	ipamv1.BestFitStrategy:           pooltree.BestFit,
	ipamv1.RandomStrategy:            pooltree.Random,
	ipamv1.LeastRecentlyUsedStrategy: pooltree.LeastRecentlyUsed,
}

// readStrategy reads how a free address is chosen; absent means first fit.
func (r *resolver) readStrategy() {
	if r.spec.Allocation == nil || r.spec.Allocation.Strategy == "" {
		return
	}
	given, ok := r.spec.Allocation.Strategy, false
	if r.strategy, ok = strategies[given]; !ok {
		r.fail(field.NotSupported(r.path.Child("allocation", "strategy"), excerpt.Of(given), slices.Sorted(maps.Keys(strategies))))
	}
}
