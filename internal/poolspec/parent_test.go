// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package poolspec_test

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/utils/ptr"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/poolspec"
)

func TestParent(t *testing.T) {
	t.Parallel()
	namespaced := ipamv1.PoolReference{Kind: ipamv1.IPPoolKind, Namespace: "team", Name: "pool"}
	global := ipamv1.PoolReference{Kind: ipamv1.GlobalIPPoolKind, Name: "pool"}
	for sentence, test := range map[string]struct {
		pool   ipamv1.PoolReference
		parent *ipamv1.ParentReference
		cidr   string
		bits   *int32
		want   ipamv1.PoolReference
		errs   []string
	}{
		"a root has none": {pool: namespaced},
		"an IPPool's is in its own namespace": {pool: namespaced, parent: &ipamv1.ParentReference{Kind: ipamv1.IPPoolKind, Name: "parent"},
			want: ipamv1.PoolReference{Kind: ipamv1.IPPoolKind, Namespace: "team", Name: "parent"}},
		"unless it says another": {pool: namespaced, parent: &ipamv1.ParentReference{Kind: ipamv1.IPPoolKind, Namespace: "other", Name: "pool"},
			want: ipamv1.PoolReference{Kind: ipamv1.IPPoolKind, Namespace: "other", Name: "pool"}},
		"a GlobalIPPool has no namespace": {pool: namespaced, parent: &ipamv1.ParentReference{Kind: ipamv1.GlobalIPPoolKind, Name: "pool"}, want: global},
		"nor may one be given": {pool: namespaced, parent: &ipamv1.ParentReference{Kind: ipamv1.GlobalIPPoolKind, Namespace: "team", Name: "parent"},
			want: ipamv1.PoolReference{Kind: ipamv1.GlobalIPPoolKind, Namespace: "team", Name: "parent"}, errs: []string{"spec.parentRef.namespace"}},
		"a GlobalIPPool comes from another": {pool: global, parent: &ipamv1.ParentReference{Kind: ipamv1.GlobalIPPoolKind, Name: "parent"},
			want: ipamv1.PoolReference{Kind: ipamv1.GlobalIPPoolKind, Name: "parent"}},
		"and not from an IPPool": {pool: global, parent: &ipamv1.ParentReference{Kind: ipamv1.IPPoolKind, Namespace: "team", Name: "parent"},
			want: ipamv1.PoolReference{Kind: ipamv1.IPPoolKind, Namespace: "team", Name: "parent"}, errs: []string{"spec.parentRef.kind"}},
		"nobody is his own": {pool: namespaced, parent: &ipamv1.ParentReference{Kind: ipamv1.IPPoolKind, Name: "pool"}, want: namespaced,
			errs: []string{"spec.parentRef.name"}},
		"also by his namespace": {pool: namespaced, parent: &ipamv1.ParentReference{Kind: ipamv1.IPPoolKind, Namespace: "team", Name: "pool"}, want: namespaced,
			errs: []string{"spec.parentRef.name"}},
		"block and length agree": {pool: global, parent: &ipamv1.ParentReference{Kind: ipamv1.GlobalIPPoolKind, Name: "parent"}, cidr: "10.0.0.0/24",
			bits: ptr.To[int32](24), want: ipamv1.PoolReference{Kind: ipamv1.GlobalIPPoolKind, Name: "parent"}},
		"or not": {pool: global, parent: &ipamv1.ParentReference{Kind: ipamv1.GlobalIPPoolKind, Name: "parent"}, cidr: "10.0.0.0/24",
			bits: ptr.To[int32](25), want: ipamv1.PoolReference{Kind: ipamv1.GlobalIPPoolKind, Name: "parent"}, errs: []string{"spec.prefixLength"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			spec := &ipamv1.IPPoolSpec{ParentRef: test.parent, CIDR: test.cidr, PrefixLength: test.bits}
			if got := poolspec.Parent(spec, test.pool); got != test.want {
				t.Errorf("parent %v, want %v", got, test.want)
			}
			errs := poolspec.CheckParent(spec, test.pool)
			fields := make([]string, 0, len(errs))
			for _, err := range errs {
				fields = append(fields, err.Field)
			}
			if diff := cmp.Diff(test.errs, fields, cmpopts.EquateEmpty()); diff != "" {
				t.Error(diff)
			}
		})
	}
}
