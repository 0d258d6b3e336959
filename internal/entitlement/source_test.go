// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package entitlement

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/door"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
)

// TestWhoseClaimsASourceServes: a group may be shared with other providers, whose claims are left alone.
func TestWhoseClaimsASourceServes(t *testing.T) {
	t.Parallel()
	kind := func(group, name string) schema.GroupKind { return schema.GroupKind{Group: group, Kind: name} }
	open := &Source{Kinds: []pools.Kind{{GroupKind: kind("ours.example", "Pool")}}}
	closed := &Source{Kinds: []pools.Kind{{GroupKind: kind("shared.example", "Pool")}, {GroupKind: kind("shared.example", "GlobalPool")}}, Closed: true}
	for sentence, test := range map[string]struct {
		source *Source
		kind   schema.GroupKind
		want   bool
	}{
		"a kind of its own":                        {open, kind("ours.example", "Pool"), true},
		"a kind that its group lacks, to refuse":   {open, kind("ours.example", "Poll"), true},
		"its group with a version, to refuse":      {open, kind("ours.example/v1", "Pool"), true},
		"the kind's name in another group":         {open, kind("shared.example", "Pool"), false},
		"a kind of a shared group":                 {closed, kind("shared.example", "Pool"), true},
		"the other kind of a shared group":         {closed, kind("shared.example", "GlobalPool"), true},
		"another provider's kind of that group":    {closed, kind("shared.example", "NutanixIPPool"), false},
		"a shared group with a version, to refuse": {closed, kind("shared.example/v1", "Pool"), true},
		"another provider's kind with a version":   {closed, kind("shared.example/v1", "NutanixIPPool"), false},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			name := door.PoolName{GroupKind: test.kind, Name: "p"}
			if got := test.source.Serves(name); got != test.want {
				t.Errorf("alone: %t", got)
			}
		})
	}
}
