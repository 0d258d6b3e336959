// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	m3v1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/metal3/v1alpha1"
)

// TestLeftOfAnswers: of those made by hand alone, which no claim takes along.
func TestLeftOfAnswers(t *testing.T) {
	t.Parallel()
	claim := metav1.OwnerReference{APIVersion: m3v1.GroupVersion.String(), Kind: m3v1.IPClaimKind, Name: "c"}
	for name, c := range map[string]struct {
		meta metav1.ObjectMeta
		want string
	}{
		"made by hand":           {metav1.ObjectMeta{}, "it has no owner that moves"},
		"made by hand, labelled": {metav1.ObjectMeta{Labels: map[string]string{"clusterctl.cluster.x-k8s.io/move": ""}}, ""},
		"of a claim":             {metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{claim}}, ""},
		"Weir's":                 {metav1.ObjectMeta{Finalizers: []string{m3v1.IPAddressFinalizer}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.meta.Namespace, c.meta.Name = "team", "a"
			got := (&Door{}).Left(&m3v1.IPAddress{ObjectMeta: c.meta, Spec: m3v1.IPAddressSpec{Pool: m3v1.ObjectReference{Name: "p"}}})
			if got.Why != c.want || c.want != "" && (got.Pool.Name != "p" || got.Pool.GroupKind() != PoolKind || got.Object.String() != "IPAddress.ipam.metal3.io team/a") {
				t.Errorf("got %+v, want %q", got, c.want)
			}
		})
	}
}
