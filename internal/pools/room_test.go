// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pools

import (
	"errors"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/external"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
)

// TestClaimsUnderWayCountTowardsTheLimit of their pool, until they are done. None is told that the
// pool is exhausted because others may take what is left.
func TestClaimsUnderWayCountTowardsTheLimit(t *testing.T) {
	t.Parallel()
	r := world(t)
	r.External = &cloud{}
	backing := func(name string, most *int32) *external.Backing {
		p := &ipamv1.IPPool{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: name, UID: "pool", Generation: 1, Annotations: known}, Spec: ipamv1.IPPoolSpec{
			OpenStack: &ipamv1.OpenStackSource{
				IdentityRef: ipamv1.OpenStackIdentityReference{Name: "s", CloudName: "c"}, FloatingNetwork: ipamv1.FloatingNetwork{ID: "0b7c"}, MaxIPs: most,
			},
		}}
		return r.Outside(r.Register(p))
	}
	limited, free := backing("limited", ptr.To[int32](2)), backing("free", nil)
	begin := func(of *external.Backing, uid string, want int, wantErr error) (done func()) {
		t.Helper()
		room, done, err := of.Begin(ipamv1.ClaimReference{Kind: "IPAddressClaim", Namespace: "team", Name: uid, UID: uid})
		if room != want || !errors.Is(err, wantErr) {
			t.Errorf("%s: room %d, %v", uid, room, err)
		}
		return done
	}
	for _, uid := range []string{"a", "b", "c"} {
		begin(free, uid, external.Unlimited, nil)()
	}
	endA := begin(limited, "a", 2, nil)
	endB := begin(limited, "b", 2, nil)
	begin(limited, "c", 0, ledger.ErrBusy)
	begin(limited, "d", 0, ledger.ErrBusy)() // it is not under way
	endA()
	begin(limited, "d", 2, nil)()
	endB()
	begin(limited, "c", 2, nil)()
	if len(r.underway.of) > 0 {
		t.Errorf("under way: %v", r.underway.of)
	}
}

// TestNoClaimBeginsInAPoolThatEnds, and the pool waits for those that have begun. A later pool of the name is another one.
func TestNoClaimBeginsInAPoolThatEnds(t *testing.T) {
	t.Parallel()
	var u underway
	pool := ipamv1.PoolReference{Kind: "IPPool", Namespace: "team", Name: "p"}
	a, b := ipamv1.ClaimReference{UID: "a"}, ipamv1.ClaimReference{UID: "b"}
	if _, err := u.begin(pool, "first", a); err != nil {
		t.Fatal(err)
	}
	if u.seal(pool, "first") {
		t.Error("it ends while a claim is under way")
	}
	if _, err := u.begin(pool, "first", b); !errors.Is(err, ledger.ErrBusy) {
		t.Errorf("a claim begins: %v", err)
	}
	u.end(pool, a)
	if !u.seal(pool, "first") {
		t.Error("it does not end")
	}
	if _, err := u.begin(pool, "second", b); err != nil {
		t.Errorf("in the next pool of the name: %v", err)
	}
	if u.forget(pool); len(u.closed) > 0 {
		t.Errorf("closed: %v", u.closed)
	}
}
