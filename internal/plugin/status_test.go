// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	"strings"
	"testing"
	"time"

	"k8s.io/utils/ptr"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/survey"
)

// TestStatusSaysWhatNeedsAttention plants what each line of the status may say.
func TestStatusSaysWhatNeedsAttention(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 1, 2, 12, 0, 0, 0, time.UTC)
	pool := func(name, state string, percent int32) *survey.Pool {
		return &survey.Pool{
			Ref: ipamv1.PoolReference{Kind: ipamv1.IPPoolKind, Namespace: "n", Name: name}, State: state, Percent: ptr.To(percent),
			Capacity: ipamv1.Capacity{Total: "100", Available: "5"},
		}
	}
	claim := func(name, reason string) *survey.ListedClaim {
		return &survey.ListedClaim{
			Object: survey.Object{APIGroup: ipamv1.GroupVersion.Group, Kind: ipamv1.IPClaimKind, Namespace: "n", Name: name},
			Pool:   ipamv1.PoolReference{Kind: ipamv1.IPPoolKind, Namespace: "n", Name: "p"}, Reason: reason, Created: now.Add(-time.Hour),
		}
	}
	tests := map[string]struct {
		managers []StatusManagers
		missing  bool
		pools    []*survey.Pool
		claims   []*survey.ListedClaim
		gaps     []survey.Gap
		code     int
		text     string
	}{
		"nothing":          {code: ExitOK, text: "pools      0: 0 exhausted, 0 nearly full, 0 not ready, 0 delegated"},
		"managers at work": {managers: []StatusManagers{{WantedCount: 2, ReadyCount: 2}}, code: ExitOK, text: "2 of 2 ready"},
		"a manager that is not ready": {
			managers: []StatusManagers{{WantedCount: 2, ReadyCount: 1, Leader: "a"}}, code: ExitBadNews, text: "1 of 2 ready, a leads",
		},
		"no managers where webhooks call them": {missing: true, code: ExitBadNews, text: "none are seen in namespace weir-system; --weir-namespace names another"},
		"managers that are scaled to none":     {managers: []StatusManagers{{}}, code: ExitBadNews, text: "0 of 0 ready, no leader is seen"},
		"an exhausted pool":                    {pools: []*survey.Pool{pool("p", survey.ExhaustedState, 100)}, code: ExitBadNews, text: "1 exhausted (IPPool n/p: 5 of 100 free)"},
		"a pool that is nearly full": {
			pools: []*survey.Pool{pool("p", ipamv1.PoolReadyAvailableReason, 95)}, code: ExitOK, text: "1 nearly full (IPPool n/p: 5 of 100 free)",
		},
		"a pool that is not ready": {pools: []*survey.Pool{pool("p", ipamv1.PoolReadyOverlapReason, 0)}, code: ExitBadNews, text: "1 not ready (IPPool n/p: Overlap)"},
		"a delegated pool":         {pools: []*survey.Pool{pool("p", ipamv1.PoolReadyDelegatedReason, 0)}, code: ExitOK, text: "0 not ready"},
		"claims that wait": {
			claims: []*survey.ListedClaim{claim("a", "PoolExhausted"), claim("b", "PoolNotReady"), claim("c", "PoolExhausted")}, code: ExitBadNews,
			text: "0 answered, 3 waiting: 2 PoolExhausted (IPPool n/p), 1 PoolNotReady (IPPool n/p); the oldest for 60m: IPClaim n/a",
		},
		"a claim that is paused": {claims: []*survey.ListedClaim{claim("a", "Paused")}, code: ExitOK, text: "1 waiting: 1 Paused (IPPool n/p)"},
		"a conflict":             {claims: []*survey.ListedClaim{claim("a", "AddressConflict")}, code: ExitBadNews, text: "conflicts  1  IPClaim n/a"},
		"missing rights":         {gaps: []survey.Gap{{Text: "you may not"}}, code: ExitForbidden, text: "0 waiting"},
		"bad news before missing rights": {
			claims: []*survey.ListedClaim{claim("a", "PoolExhausted")}, gaps: []survey.Gap{{Text: "you may not"}}, code: ExitBadNews, text: "1 waiting",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s, waiting := &Status{Gaps: tc.gaps, WeirNamespace: "weir-system", IsWeirMissing: tc.missing, Managers: tc.managers}, map[StatusWaiting]int{}
			s.countPools(tc.pools)
			for _, c := range tc.claims {
				s.countClaim(c, waiting)
			}
			s.Claims.Waiting = sortWaiting(waiting)
			var out bytes.Buffer
			o := &options{stdout: &out, stderr: &bytes.Buffer{}, format: formatTable, now: func() time.Time { return now }}
			if code, _ := codeOf(o.printStatus(s)); code != tc.code {
				t.Errorf("got code %d, want %d", code, tc.code)
			}
			if !strings.Contains(out.String(), tc.text) {
				t.Errorf("got\n%swant %q", out.String(), tc.text)
			}
		})
	}
}
