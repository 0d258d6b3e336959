// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/kinds"
)

const (
	moveLabel      = "clusterctl.cluster.x-k8s.io/move"
	hierarchyLabel = "clusterctl.cluster.x-k8s.io/move-hierarchy"
)

var (
	cluster      = metav1.OwnerReference{APIVersion: "cluster.x-k8s.io/v1beta2", Kind: "Cluster", Name: "c"}
	metal3Data   = metav1.OwnerReference{APIVersion: "infrastructure.cluster.x-k8s.io/v1beta2", Kind: "Metal3Data", Name: "d"}
	configMap    = metav1.OwnerReference{APIVersion: "v1", Kind: "ConfigMap", Name: "cm"}
	impostor     = metav1.OwnerReference{APIVersion: "evilcluster.x-k8s.io/v1", Kind: "Cluster", Name: "e"}
	ownPool      = metav1.OwnerReference{APIVersion: "ipam.weir.dev/v1alpha1", Kind: "IPPool", Name: "p"}
	globalPool   = metav1.OwnerReference{APIVersion: "ipam.weir.dev/v1alpha1", Kind: "GlobalIPPool", Name: "g"}
	otherGlobal  = metav1.OwnerReference{APIVersion: "infrastructure.cluster.x-k8s.io/v1", Kind: "GlobalIPPool", Name: "g"}
	ownRecord    = metav1.OwnerReference{APIVersion: "ipam.weir.dev/v1alpha1", Kind: "IPAllocation", Name: "a"}
	someoneElses = metav1.OwnerReference{APIVersion: "example.com/v1", Kind: "Thing", Name: "t"}
)

// meta is the metadata of an object "o" in namespace "team".
func meta(labels map[string]string, owners ...metav1.OwnerReference) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: "team", Name: "o", Labels: labels, OwnerReferences: owners}
}

func addressClaim(kind string, labels map[string]string, owners ...metav1.OwnerReference) client.Object {
	claim := &ipamv1beta2.IPAddressClaim{ObjectMeta: meta(labels, owners...)}
	claim.Spec.PoolRef = ipamv1beta2.IPPoolReference{APIGroup: "ipam.weir.dev", Kind: kind, Name: "p"}
	return claim
}

// left is what is left of an object of any kind. A claim of another provider's pool names none.
func left(obj client.Object) Remain {
	claim, ok := obj.(*ipamv1beta2.IPAddressClaim)
	if !ok {
		return Left(obj)
	}
	ref := claim.Spec.PoolRef
	if ref.APIGroup != "ipam.weir.dev" {
		return LeftClaim("IPAddressClaim", claim, ipamv1.PoolReference{})
	}
	return LeftClaim("IPAddressClaim", claim, poolNamed(kinds.Weir(ref.Kind), claim.Namespace, ref.Name))
}

func ipClaim(kind string, owners ...metav1.OwnerReference) client.Object {
	return &ipamv1.IPClaim{ObjectMeta: meta(nil, owners...), Spec: ipamv1.IPClaimSpec{PoolRef: &ipamv1.ClaimPoolReference{Kind: kind, Name: "p"}}}
}

func child(parent ipamv1.ParentReference, owners ...metav1.OwnerReference) client.Object {
	return &ipamv1.IPPool{ObjectMeta: meta(nil, owners...), Spec: ipamv1.IPPoolSpec{CIDR: "10.0.0.0/24", ParentRef: &parent}}
}

// Each row is what clusterctl 1.14 does; test/e2e/move shows so for many of them.
func TestLeft(t *testing.T) {
	t.Parallel()
	label := func(key string) map[string]string { return map[string]string{key: ""} }
	const unowned, byConfigMap = "it has no owner that moves", "its owner ConfigMap cm is not moved"
	for name, c := range map[string]struct {
		obj  client.Object
		want string
	}{
		"a claim without owners stays":                                 {addressClaim("IPPool", nil), unowned},
		"a claim of a Cluster moves":                                   {addressClaim("IPPool", nil, cluster), ""},
		"a claim of an infrastructure object moves":                    {addressClaim("IPPool", nil, metal3Data), ""},
		"a claim of something else stays":                              {addressClaim("IPPool", nil, configMap), byConfigMap},
		"a claim of a Cluster and something else stays":                {addressClaim("IPPool", nil, cluster, configMap), byConfigMap},
		"a claim of somebody's own kind stays":                         {addressClaim("IPPool", nil, someoneElses), "its owner Thing t is not moved"},
		"a group that only ends like Cluster API's is not its":         {addressClaim("IPPool", nil, impostor), "its owner Cluster e is not moved"},
		"a claim of an IPPool moves":                                   {addressClaim("IPPool", nil, ownPool), ""},
		"a claim of a GlobalIPPool alone stays":                        {addressClaim("IPPool", nil, globalPool), unowned},
		"a claim of a GlobalIPPool and a Cluster moves":                {addressClaim("IPPool", nil, globalPool, cluster), ""},
		"a claim of a kind that only is named like GlobalIPPool moves": {addressClaim("IPPool", nil, otherGlobal), ""},
		"a claim of a record stays":                                    {addressClaim("IPPool", nil, ownRecord), "its owner IPAllocation a is not moved"},
		"a claim that is labelled moves, its pool takes the rest":      {addressClaim("IPPool", label(moveLabel)), ""},
		"a claim that is labelled with all of it moves":                {addressClaim("IPPool", label(hierarchyLabel)), ""},
		"a label does not help against an owner":                       {addressClaim("IPPool", label(hierarchyLabel), configMap), byConfigMap},
		"a global pool's claim without owners stays":                   {addressClaim("GlobalIPPool", nil), unowned},
		"a global pool's claim of a Cluster moves":                     {addressClaim("GlobalIPPool", nil, cluster), ""},
		"a global pool's claim that is labelled loses its address":     {addressClaim("GlobalIPPool", label(moveLabel)), "it moves without its address: it needs the label " + hierarchyLabel},
		"a global pool's claim that is labelled with all moves":        {addressClaim("GlobalIPPool", label(hierarchyLabel)), ""},
		"a global pool's claim with label and owner moves":             {addressClaim("GlobalIPPool", label(moveLabel), cluster), ""},
		"an IPClaim without owners moves":                              {ipClaim("IPPool"), ""},
		"an IPClaim of a Cluster moves":                                {ipClaim("GlobalIPPool", cluster), ""},
		"an IPClaim of something else stays":                           {ipClaim("IPPool", configMap), byConfigMap},
		"an IPClaim that has no pool yet is of none":                   {&ipamv1.IPClaim{ObjectMeta: meta(nil, configMap)}, ""},
		"a root pool is of none":                                       {&ipamv1.IPPool{ObjectMeta: meta(nil, configMap)}, ""},
		"a child in the parent's namespace moves":                      {child(ipamv1.ParentReference{Kind: "IPPool", Name: "p"}), ""},
		"a child in the parent's namespace, named, moves":              {child(ipamv1.ParentReference{Kind: "IPPool", Namespace: "team", Name: "p"}), ""},
		"a child in another namespace stays":                           {child(ipamv1.ParentReference{Kind: "IPPool", Namespace: "a", Name: "p"}), "it is of another namespace"},
		"a child of a global pool moves":                               {child(ipamv1.ParentReference{Kind: "GlobalIPPool", Name: "p"}), ""},
		"a child of something else stays":                              {child(ipamv1.ParentReference{Kind: "GlobalIPPool", Name: "p"}, configMap), byConfigMap},
		"a child without a block has nothing of its parent":            {&ipamv1.IPPool{ObjectMeta: meta(nil), Spec: ipamv1.IPPoolSpec{ParentRef: &ipamv1.ParentReference{Kind: "IPPool", Namespace: "a", Name: "p"}}}, ""},
		"a claim of another provider's pool is none of our concern":    {&ipamv1beta2.IPAddressClaim{ObjectMeta: meta(nil), Spec: ipamv1beta2.IPAddressClaimSpec{PoolRef: ipamv1beta2.IPPoolReference{APIGroup: "ipam.metal3.io", Kind: "IPPool", Name: "p"}}}, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := left(c.obj)
			if got.Why != c.want {
				t.Errorf("stays because %q, want %q", got.Why, c.want)
			}
			if isSomething := got != (Remain{}); isSomething != (c.want != "") {
				t.Errorf("got %+v", got)
			}
		})
	}
}

func TestLeftAnswer(t *testing.T) {
	t.Parallel()
	namespaced, global := kinds.Pool(kinds.IPPool, "team", "p"), kinds.Pool(kinds.GlobalIPPool, "", "g")
	moving := map[string]string{moveLabel: ""}
	for name, c := range map[string]struct {
		pool   ipamv1.PoolReference
		answer metav1.ObjectMeta
		want   string
	}{
		"without a label and owners stays":                     {namespaced, meta(nil), "it has no owner that moves"},
		"labelled moves":                                       {namespaced, meta(moving), ""},
		"labelled with all of it moves":                        {namespaced, meta(map[string]string{hierarchyLabel: ""}), ""},
		"of a Cluster moves":                                   {namespaced, meta(nil, cluster), ""},
		"of its pool moves":                                    {namespaced, meta(nil, ownPool), ""},
		"labelled, of something else stays":                    {namespaced, meta(moving, configMap), "its owner ConfigMap cm is not moved"},
		"of a global pool, without a label stays":              {global, meta(nil), "it has no owner that moves"},
		"of a global pool, labelled goes, its record does not": {global, meta(moving), "it moves without its record"},
		"of no pool is of none":                                {ipamv1.PoolReference{}, meta(nil), ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			want := Remain{Pool: c.pool, Object: Object{"IPAddress", "team", "o"}, Why: c.want}
			if c.want == "" {
				want = Remain{}
			}
			if got := LeftAnswer("IPAddress", &metav1.PartialObjectMetadata{ObjectMeta: c.answer}, c.pool); got != want {
				t.Errorf("got %+v, want %+v", got, want)
			}
		})
	}
}

func TestSecret(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		secret metav1.ObjectMeta
		want   string
	}{
		"without a label stays":             {meta(nil), "it lacks the label " + moveLabel},
		"labelled moves":                    {meta(map[string]string{moveLabel: ""}), ""},
		"labelled with all of it moves":     {meta(map[string]string{hierarchyLabel: "true"}), ""},
		"of a Cluster moves":                {meta(nil, cluster), ""},
		"labelled, of something else stays": {meta(map[string]string{moveLabel: ""}, configMap), "its owner ConfigMap cm is not moved"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := Secret(&metav1.PartialObjectMetadata{ObjectMeta: c.secret}); got != c.want {
				t.Errorf("stays because %q, want %q", got, c.want)
			}
		})
	}
}

func TestLeftNamesPoolAndObject(t *testing.T) {
	t.Parallel()
	for name, c := range map[string]struct {
		obj    client.Object
		pool   ipamv1.PoolReference
		object string
	}{
		"of a namespaced pool": {addressClaim("IPPool", nil), ipamv1.PoolReference{Kind: "IPPool", Namespace: "team", Name: "p"}, "IPAddressClaim team/o"},
		"of a global pool":     {ipClaim("GlobalIPPool", configMap), ipamv1.PoolReference{Kind: "GlobalIPPool", Name: "p"}, "IPClaim team/o"},
		"carved": {
			child(ipamv1.ParentReference{Kind: "IPPool", Namespace: "a", Name: "p"}), ipamv1.PoolReference{Kind: "IPPool", Namespace: "a", Name: "p"}, "IPPool team/o",
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			if got := left(c.obj); got.Pool != c.pool || got.Object.String() != c.object {
				t.Errorf("got %+v", got)
			}
		})
	}
}
