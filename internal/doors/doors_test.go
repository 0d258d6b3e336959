// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package doors

import (
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/door"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/kinds"
)

// pool returns a pool of a kind.
func pool(group, kind string) door.PoolName {
	return door.PoolName{GroupKind: schema.GroupKind{Group: group, Kind: kind}, Name: "p"}
}

// TestWhichPoolsAreServed: a claim that names a pool of another provider is none of Weir's.
func TestWhichPoolsAreServed(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct {
		open []Extension
		pool door.PoolName
		want bool
	}{
		"Weir's":                                   {nil, pool("ipam.weir.dev", "IPPool"), true},
		"Metal3's, its gate closed":                {nil, pool("ipam.metal3.io", "IPPool"), false},
		"Metal3's, its gate open":                  {[]Extension{Metal3()}, pool("ipam.metal3.io", "IPPool"), true},
		"Weir's beside Metal3's":                   {[]Extension{Metal3()}, pool("ipam.weir.dev", "GlobalIPPool"), true},
		"another provider's":                       {[]Extension{Metal3()}, pool("ipam.example.com", "IPPool"), false},
		"another provider's in CAPI's group":       {[]Extension{Metal3()}, pool(kinds.IPAddress.Group, "NutanixIPPool"), false},
		"the in-cluster provider's, as well":       {[]Extension{Metal3()}, pool(kinds.IPAddress.Group, "InClusterIPPool"), false},
		"the in-cluster provider's, its gate open": {[]Extension{InCluster()}, pool(kinds.IPAddress.Group, "InClusterIPPool"), true},
		"its global ones":                          {[]Extension{Metal3(), InCluster()}, pool(kinds.IPAddress.Group, "GlobalInClusterIPPool"), true},
		"another provider's beside them":           {[]Extension{InCluster()}, pool(kinds.IPAddress.Group, "NutanixIPPool"), false},
		"pools of prefixes":                        {[]Extension{InCluster()}, pool(kinds.IPAddress.Group, "InClusterPrefixPool"), false},
		"none":                                     {[]Extension{Metal3()}, pool("", ""), false},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			if got := Serves(test.open...)(test.pool.GroupKind); got != test.want {
				t.Errorf("got %t", got)
			}
			if got := With(test.open...)[0].Source(nil).Serves(test.pool); got != test.want {
				t.Errorf("claims are served: %t", got)
			}
		})
	}
}

// TestConventionsFollowTheKindOfPool: two providers' pools may be of one group.
func TestConventionsFollowTheKindOfPool(t *testing.T) {
	t.Parallel()
	form := With(Metal3())[0].Forms["ipaddressclaim"]
	metal3, weirs := form.Conventions(pool("ipam.metal3.io", "IPPool")), form.Conventions(pool("ipam.weir.dev", "IPPool"))
	if !metal3.IsShared || metal3.Controls || weirs.IsShared || !weirs.Controls {
		t.Errorf("Metal3's %+v, Weir's %+v", metal3, weirs)
	}
}
