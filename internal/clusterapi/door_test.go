// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package clusterapi

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/door"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/kinds"
)

// weirs serves the pools of Weir's group.
type weirs struct{ door.Source }

func (weirs) Serves(pool door.PoolName) bool { return pool.Group == ipamv1.GroupVersion.Group }

func (weirs) Reference(pool door.PoolName, namespace string) ipamv1.PoolReference {
	return kinds.Pool(pool.GroupKind, namespace, pool.Name)
}

// TestLeftOfAnswers: of those made by hand alone, which no claim takes along.
func TestLeftOfAnswers(t *testing.T) {
	t.Parallel()
	claim := metav1.OwnerReference{APIVersion: ipamv1beta2.GroupVersion.String(), Kind: "IPAddressClaim", Name: "c"}
	const finalizer = "ipam.example.com/address"
	d := &Door{Source: weirs{}, Form: Form{Others: map[schema.GroupKind]Ways{
		{Group: ipamv1.GroupVersion.Group, Kind: "Other"}: {Conventions: door.Conventions{AnswerFinalizer: finalizer}},
	}}}
	if _, ok := d.NewAnswer().(*ipamv1beta2.IPAddress); !ok {
		t.Errorf("answers are %T", d.NewAnswer())
	}
	for name, c := range map[string]struct {
		group, kind string
		meta        metav1.ObjectMeta
		stays       bool
	}{
		"made by hand":            {ipamv1.GroupVersion.Group, "IPPool", metav1.ObjectMeta{}, true},
		"with another finalizer":  {ipamv1.GroupVersion.Group, "IPPool", metav1.ObjectMeta{Finalizers: []string{finalizer}}, true},
		"of a claim":              {ipamv1.GroupVersion.Group, "IPPool", metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{claim}}, false},
		"Weir's":                  {ipamv1.GroupVersion.Group, "IPPool", metav1.ObjectMeta{Finalizers: []string{ipamv1.AddressFinalizer}}, false},
		"Weir's, of another kind": {ipamv1.GroupVersion.Group, "Other", metav1.ObjectMeta{Finalizers: []string{finalizer}}, false},
		"another provider's":      {"example.com", "IPPool", metav1.ObjectMeta{}, false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c.meta.Namespace, c.meta.Name = "team", "a"
			answer := &ipamv1beta2.IPAddress{ObjectMeta: c.meta}
			answer.Spec.PoolRef = ipamv1beta2.IPPoolReference{APIGroup: c.group, Kind: c.kind, Name: "p"}
			got := d.Left(answer)
			if stays := got.Why != ""; stays != c.stays || stays && (got.Pool.Name != "p" || got.Object.String() != "IPAddress team/a") {
				t.Errorf("got %+v", got)
			}
		})
	}
}
