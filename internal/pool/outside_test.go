// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"context"
	"errors"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/external"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
)

// finder is an external.Provider that notes where it is asked to find a pool.
type finder struct {
	external.Provider

	err   error
	asked []external.Pool
}

func (f *finder) Identify(_ context.Context, pool external.Pool) (external.Identity, error) {
	f.asked = append(f.asked, pool)
	return external.Identity{Project: "07aa", Network: "0b7c"}, f.err
}

// TestWhenAPoolIsKnown in its cloud: it is asked once, that is written, and only then the pool is
// registered. A look that is recent is not repeated, whatever it came to.
func TestWhenAPoolIsKnown(t *testing.T) {
	t.Parallel()
	pool := &ipamv1.IPPool{ObjectMeta: metav1.ObjectMeta{Namespace: "team", Name: "p", UID: "pool-p", Generation: 1}, Spec: ipamv1.IPPoolSpec{OpenStack: &ipamv1.OpenStackSource{
		IdentityRef: ipamv1.OpenStackIdentityReference{Name: "s", CloudName: "c"}, FloatingNetwork: ipamv1.FloatingNetwork{Name: "public"},
	}}}
	now := clocktesting.NewFakePassiveClock(time.Unix(1000, 0))
	registry, outside := site(t, pool), &finder{}
	registry.External = outside
	r := NewReconciler(Options{Client: registry.Client, Live: registry.Live, Registry: registry, Ledger: registry.Ledger, Clock: now, Kind: pools.IPPools})
	serve := func() error {
		stored := &ipamv1.IPPool{}
		if err := registry.Client.Get(t.Context(), client.ObjectKeyFromObject(pool), stored); err != nil {
			t.Fatal(err)
		}
		before := stored.DeepCopy()
		return r.serve(t.Context(), &scope{pool: stored, before: before, says: registry.Says(stored)})
	}
	serves := func(when string, want error, calls int) {
		t.Helper()
		if err := serve(); !errors.Is(err, want) {
			t.Fatalf("%s: %v", when, err)
		}
		if len(outside.asked) != calls {
			t.Fatalf("%s: asked %d times, want %d", when, len(outside.asked), calls)
		}
	}
	outside.err = &external.FaultError{Reason: ipamv1.PoolReadyCloudUnavailableReason}
	serves("while the cloud is away", outside.err, 1)
	serves("a moment later", outside.err, 1)
	outside.err = nil
	now.SetTime(now.Now().Add(lookInterval))
	serves("when it answers", ledger.ErrBusy, 2)
	stored := &ipamv1.IPPool{}
	if err := registry.Client.Get(t.Context(), client.ObjectKeyFromObject(pool), stored); err != nil || stored.Annotations[ipamv1.OpenStackAnnotation] != "pool-p 07aa 0b7c" {
		t.Fatalf("annotations %v, %v", stored.Annotations, err)
	}
	if found, err := registry.Find(t.Context(), pool.PoolReference()); err != nil || found.IsUnknown() || found.Says.Space != "openstack/0b7c" {
		t.Fatalf("registered as %+v, %v", found, err)
	}
	serves("soon after", nil, 2)
	now.SetTime(now.Now().Add(lookInterval))
	serves("later", nil, 3)
	if last := outside.asked[2]; last.Key != "pool-p" || last.Project != "07aa" || last.Network != "0b7c" {
		t.Errorf("asked of %+v", last)
	}
	pool.UID = "another"
	if !registry.Register(pool).IsUnknown() {
		t.Error("another pool of the name is registered that is not known in its cloud")
	}
}
