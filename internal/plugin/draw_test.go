// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

func TestDraw(t *testing.T) {
	t.Parallel()
	nodes := []*Node{
		{Cells: []string{"a", "1"}, Below: []*Node{
			{Cells: []string{"b", "2"}, Below: []*Node{{Cells: []string{"c", "3"}}}},
			{Cells: []string{"d", "4"}, Below: []*Node{{Cells: []string{"e", "5"}}}},
		}},
		{Cells: []string{"f", "6"}},
	}
	for _, tc := range []struct {
		name   string
		glyphs Glyphs
		want   string
	}{
		{"with box characters", Unicode, "a 1\n├─ b 2\n│  └─ c 3\n└─ d 4\n   └─ e 5\nf 6"},
		{"in ASCII", ASCII, "a 1\n|- b 2\n|  `- c 3\n`- d 4\n   `- e 5\nf 6"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			lines := make([]string, 0, 6)
			for _, row := range Draw(nodes, tc.glyphs) {
				lines = append(lines, strings.Join(row, " "))
			}
			if diff := cmp.Diff(tc.want, strings.Join(lines, "\n")); diff != "" {
				t.Error(diff)
			}
		})
	}
	if nodes[0].Below[0].Cells[0] != "b" {
		t.Error("drawing has changed the nodes")
	}
}

func TestBar(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name     string
		capacity ipamv1.Capacity
		want     string
	}{
		{"nothing is known", ipamv1.Capacity{}, ""},
		{"all is free", ipamv1.Capacity{Total: "256", Available: "256"}, "............"},
		{"all is held", ipamv1.Capacity{Total: "256", Allocated: "256"}, "############"},
		{"a half", ipamv1.Capacity{Total: "4", Allocated: "2", Available: "2"}, "######......"},
		{"little of each is seen", ipamv1.Capacity{Total: "1000", Allocated: "1", Delegated: "1", Cooling: "1", Available: "997"}, "#=~........."},
		{"the last free one is seen", ipamv1.Capacity{Total: "1000", Allocated: "999", Available: "1"}, "###########."},
		{"excluded counts as kept back", ipamv1.Capacity{Total: "2", Excluded: "1", Cooling: "1"}, "~~~~~~~~~~~~"},
		{"IPv6", ipamv1.Capacity{
			Total: "340282366920938463463374607431768211455", Allocated: "170141183460469231731687303715884105728",
			Available: "170141183460469231731687303715884105727",
		}, "######......"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			if got := bar(tc.capacity, ASCII); got != tc.want {
				t.Errorf("got %q, want %q", got, tc.want)
			}
		})
	}
}
