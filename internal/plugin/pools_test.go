// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	"testing"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/survey"
)

// TestPoolsEndsWithACode: whether any pool has something left, as far as the user sees.
func TestPoolsEndsWithACode(t *testing.T) {
	t.Parallel()
	full := &survey.Pool{State: survey.ExhaustedState, Capacity: ipamv1.Capacity{Available: "0"}}
	roomy := &survey.Pool{State: ipamv1.PoolReadyAvailableReason, Capacity: ipamv1.Capacity{Available: "3"}}
	cloud := &survey.Pool{State: ipamv1.PoolReadyAvailableReason, External: true}
	paused := &survey.Pool{State: ipamv1.PoolReadyPausedReason, Capacity: ipamv1.Capacity{Available: "3"}}
	gap := []survey.Gap{{Verb: "list", Resource: "globalippools"}}
	tests := map[string]struct {
		pools []*survey.Pool
		gaps  []survey.Gap
		code  int
	}{
		"there is room":                        {[]*survey.Pool{full, roomy}, nil, ExitOK},
		"there is room, and more is not shown": {[]*survey.Pool{roomy}, gap, ExitOK},
		"a cloud says whether there is room":   {[]*survey.Pool{cloud}, nil, ExitOK},
		"nothing is left":                      {[]*survey.Pool{full, paused}, nil, ExitBadNews},
		"there are no pools":                   {nil, nil, ExitBadNews},
		"nothing is left of what may be seen":  {[]*survey.Pool{full}, gap, ExitForbidden},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			var usable []*survey.UsablePool
			for _, p := range tc.pools {
				usable = append(usable, &survey.UsablePool{Pool: p})
			}
			o := &options{stdout: &bytes.Buffer{}, stderr: &bytes.Buffer{}, format: formatTable}
			if code, _ := codeOf(o.printPools(pools(usable, tc.gaps, "n"))); code != tc.code {
				t.Errorf("got %d, want %d", code, tc.code)
			}
		})
	}
}
