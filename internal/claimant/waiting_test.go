// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claimant

import (
	"slices"
	"testing"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

func TestPoolsOfTheSameNameInTwoGroupsHaveKeysOfTheirOwn(t *testing.T) {
	t.Parallel()
	own := ipamv1.PoolReference{Kind: "IPPool", Namespace: "team", Name: "p"}
	other := own
	other.APIGroup = "other.dev"
	if PoolKey(own) == PoolKey(other) {
		t.Errorf("both are found at %s", PoolKey(own))
	}
	if said := (ipamv1.PoolReference{APIGroup: "ipam.weir.dev", Kind: "IPPool", Namespace: "team", Name: "p"}); PoolKey(said) != PoolKey(own) {
		t.Errorf("%s is not %s", PoolKey(said), PoolKey(own))
	}
	for _, key := range Keys(own) {
		if slices.Contains(Keys(other), key) {
			t.Errorf("what waits for either pool is found at %s", key)
		}
	}
}
