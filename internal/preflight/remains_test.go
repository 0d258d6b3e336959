// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package preflight

import (
	"fmt"
	"math/rand/v2"
	"testing"

	"github.com/google/go-cmp/cmp"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

var pool = ipamv1.PoolReference{Kind: "IPPool", Namespace: "b", Name: "p"}

func remainOf(p ipamv1.PoolReference, namespace, name string) Remain {
	return Remain{Pool: p, Object: Object{Kind: "IPClaim", Namespace: namespace, Name: name}, Why: "of " + name}
}

// objectsOf returns what is shown of a pool.
func objectsOf(r *Remains, p ipamv1.PoolReference, n int) (total int, objects []string) {
	total, some := r.Of(p, n)
	for _, remain := range some {
		objects = append(objects, remain.Object.String())
	}
	return total, objects
}

func TestRemainsShowTheFirstOfTheNamespaceThenAllOthers(t *testing.T) {
	t.Parallel()
	r := &Remains{}
	for _, i := range rand.Perm(30) {
		r.Replace(Remain{}, remainOf(pool, "b", fmt.Sprintf("own-%02d", i)))
	}
	r.Replace(Remain{}, remainOf(pool, "c", "x"))
	r.Replace(Remain{}, remainOf(pool, "a", "x"))
	total, objects := objectsOf(r, pool, 3)
	want := []string{"IPClaim b/own-00", "IPClaim b/own-01", "IPClaim b/own-02", "IPClaim a/x", "IPClaim c/x"}
	if diff := cmp.Diff(want, objects); diff != "" || total != 32 {
		t.Errorf("%d in total, (-want +got)\n%s", total, diff)
	}
}

func TestRemainsOfAGlobalPoolAreOnlyCounted(t *testing.T) {
	t.Parallel()
	r, global := &Remains{}, ipamv1.PoolReference{Kind: "GlobalIPPool", Name: "p"}
	r.Replace(Remain{}, remainOf(global, "a", "x"))
	r.Replace(Remain{}, remainOf(global, "b", "x"))
	if total, objects := objectsOf(r, global, 3); total != 2 || objects != nil {
		t.Errorf("%d in total: %v", total, objects)
	}
}

func TestReplaceNamesThePoolsThatChange(t *testing.T) {
	t.Parallel()
	r, other := &Remains{}, ipamv1.PoolReference{Kind: "IPPool", Namespace: "b", Name: "other"}
	one, two, three := remainOf(pool, "b", "x"), remainOf(other, "b", "x"), remainOf(other, "b", "y")
	why := one
	why.Why = "otherwise"
	for i, c := range []struct {
		was, is Remain
		want    []Change
	}{
		{Remain{}, one, []Change{{pool, true}}},
		{one, one, nil},
		{one, why, []Change{{pool, false}}},
		{why, two, []Change{{pool, false}, {other, true}}},
		{Remain{}, three, []Change{{other, false}}},
		{two, Remain{}, []Change{{other, false}}},
		{three, Remain{}, []Change{{other, false}}},
		{Remain{}, Remain{}, nil},
	} {
		if diff := cmp.Diff(c.want, r.Replace(c.was, c.is)); diff != "" {
			t.Errorf("step %d: (-want +got)\n%s", i, diff)
		}
	}
	if len(r.pools) != 0 {
		t.Errorf("left over: %v", r.pools)
	}
}
