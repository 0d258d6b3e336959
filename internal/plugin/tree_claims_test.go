// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/survey"
)

func TestClaimsThatAreAlikeAreOneLine(t *testing.T) {
	t.Parallel()
	now := time.Date(2026, 11, 26, 12, 0, 0, 0, time.UTC)
	record := func(host int, kind string, state ipamv1.AllocationState, cluster string) survey.Record {
		r := survey.Record{
			Prefix: netip.PrefixFrom(netip.AddrFrom4([4]byte{10, 0, 0, byte(host)}), 32), State: state, Cluster: cluster,
			Claim:   ipamv1.ClaimReference{APIGroup: "a", Kind: kind, Namespace: "team", Name: fmt.Sprint("c", host)},
			Created: now.Add(-time.Duration(host) * 24 * time.Hour),
		}
		if state == ipamv1.CoolingState {
			r.ReleasedAt = now.Add(-time.Duration(host) * time.Minute)
		}
		return r
	}
	records := []survey.Record{
		record(2, "IPClaim", ipamv1.ActiveState, ""),
		record(4, "IPAddressClaim", ipamv1.ActiveState, "x"), record(5, "IPAddressClaim", ipamv1.ActiveState, "y"),
		record(6, "IPAddressClaim", ipamv1.ActiveState, "x"), record(7, "IPAddressClaim", ipamv1.ActiveState, ""),
		record(8, "IPAddressClaim", ipamv1.CoolingState, ""), record(9, "IPAddressClaim", ipamv1.RetainedState, ""),
	}
	o := &options{now: func() time.Time { return now }}
	for _, tc := range []struct {
		name string
		c    claimOptions
		want []string
	}{
		{"grouped", claimOptions{grouped: true}, []string{
			"IPClaim team/c2|10.0.0.2|since 2d||||Held|",
			"4 IPAddressClaims of 2 Clusters|10.0.0.4-.7|since 7d to 4d||||Held|",
			"IPAddressClaim team/c8|10.0.0.8|since 8m||||Cooling|for 2m more",
			"IPAddressClaim team/c9|10.0.0.9|since 9d||||Retained|",
		}},
		{"one by one", claimOptions{}, []string{
			"IPClaim team/c2|10.0.0.2|since 2d||||Held|",
			"IPAddressClaim team/c4|10.0.0.4|since 4d||||Held|",
			"IPAddressClaim team/c5|10.0.0.5|since 5d||||Held|",
			"IPAddressClaim team/c6|10.0.0.6|since 6d||||Held|",
			"IPAddressClaim team/c7|10.0.0.7|since 7d||||Held|",
			"IPAddressClaim team/c8|10.0.0.8|since 8m||||Cooling|for 2m more",
			"IPAddressClaim team/c9|10.0.0.9|since 9d||||Retained|",
		}},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var got []string
			for _, g := range tc.c.group(records) {
				got = append(got, strings.Join(o.groupCells(&g, &survey.Pool{Cooldown: 10 * time.Minute}), "|"))
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Error(diff)
			}
		})
	}
}
