// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"context"
	"errors"
	"net/netip"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	clocktesting "k8s.io/utils/clock/testing"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claimant"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/external"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
)

// closer is an external.Provider of which pools end.
type closer struct {
	external.Provider

	remains external.Remains
	err     error
	calls   int
}

func (c *closer) Close(context.Context, external.Pool, external.PoolEnd, external.Known) (external.Remains, error) {
	c.calls++
	return c.remains, c.err
}

// TestAPoolOfFloatingIPsEnds once the cloud has been asked, and nothing is awaited any more.
func TestAPoolOfFloatingIPsEnds(t *testing.T) {
	t.Parallel()
	left := external.Leftover{ID: "id", Address: netip.MustParseAddr("198.18.0.11"), Claim: ipamv1.ClaimReference{Namespace: "team", Name: "gone", UID: "gone"}}
	free := external.Leftover{ID: "other-id", Address: netip.MustParseAddr("198.18.0.12")}
	for name, test := range map[string]struct {
		unknown, blocks bool
		remains         external.Remains
		err             error
		calls           int
		// kept is a part of what it waits for, and left of what it leaves; "" for nothing.
		kept, left string
	}{
		"with nothing outside":    {calls: 1},
		"never known outside":     {unknown: true},
		"of blocks":               {blocks: true},
		"with what is awaited":    {remains: external.Remains{Awaited: []external.Leftover{left}}, calls: 1, kept: "claims that have a floating IP: 198.18.0.11 (id, of team/gone)"},
		"with what is left":       {remains: external.Remains{Left: []external.Leftover{left, free}}, calls: 1, left: "198.18.0.11 (id, of team/gone), 198.18.0.12 (other-id, free)"},
		"while the cloud is away": {err: &claimant.KeptError{Message: "the cloud does not answer"}, calls: 1, kept: "does not answer"},
		"without its Secret":      {err: &claimant.AbandonedError{Message: "the Secret does not exist"}, calls: 1, left: "the Secret does not exist"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			now := metav1.Now()
			pool := &ipamv1.IPPool{
				ObjectMeta: metav1.ObjectMeta{
					Namespace: "team", Name: "p", UID: "pool-p", DeletionTimestamp: &now, Finalizers: []string{ipamv1.PoolFinalizer},
					Annotations: map[string]string{ipamv1.OpenStackAnnotation: "first 07aa 0b7c"},
				},
				Spec: ipamv1.IPPoolSpec{OpenStack: &ipamv1.OpenStackSource{IdentityRef: ipamv1.OpenStackIdentityReference{Name: "s", CloudName: "c"}}},
			}
			if test.unknown {
				pool.Annotations = nil
			}
			if test.blocks {
				pool.Spec = ipamv1.IPPoolSpec{CIDR: "192.0.2.0/24"}
			}
			registry, outside := site(t, pool), &closer{remains: test.remains, err: test.err}
			registry.External = outside
			r := NewReconciler(Options{
				Client: registry.Client, Live: registry.Live, Registry: registry, Ledger: registry.Ledger, Clock: clocktesting.NewFakePassiveClock(time.Unix(1000, 0)), Kind: pools.IPPools,
			})
			seen := r.exit().Observe(nil)
			if live, err := r.live(t.Context(), seen, pool); live == nil || err != nil {
				t.Fatal(err)
			}
			deleted, _, err := seen.Deleted(t.Context(), r.claimOf(pool), r.Kind.Finalizer, "")
			if err != nil || !deleted.IsProved() {
				t.Fatalf("proved: %t, %v", deleted.IsProved(), err)
			}
			s := &scope{pool: pool, before: pool.DeepCopy(), says: registry.Says(pool)}
			left, err := r.closeOutside(t.Context(), s, deleted)
			expectKept(t, err, test.kept, r.deletingMessage(t.Context(), s, err))
			if outside.calls != test.calls || !strings.Contains(left, test.left) || (left == "") != (test.left == "") {
				t.Errorf("%d calls, left: %q", outside.calls, left)
			}
		})
	}
}

// expectKept checks that an error, and what Ready says of it, has these words; or that there is no error if they are "".
func expectKept(t *testing.T, err error, words, shown string) {
	t.Helper()
	var kept *claimant.KeptError
	if isKept := errors.As(err, &kept); isKept != (words != "") || err != nil && !isKept {
		t.Fatalf("kept: %v", err)
	}
	if kept != nil && (!strings.Contains(kept.Message, words) || !strings.Contains(shown, words)) {
		t.Errorf("it waits for: %v; Ready says %q", err, shown)
	}
}

// TestLivesWhileNotAllClaimsAreKnown: before claims are followed nobody knows, and a manager of one namespace knows none of a GlobalIPPool.
func TestLivesWhileNotAllClaimsAreKnown(t *testing.T) {
	t.Parallel()
	registry := site(t)
	r := NewReconciler(Options{Client: registry.Client, Live: registry.Live, Registry: registry, Kind: pools.GlobalIPPools, Namespace: "team"})
	life := r.lifeAtEnd(&scope{says: registry.Says(&ipamv1.GlobalIPPool{ObjectMeta: metav1.ObjectMeta{Name: "p"}})})
	var kept *claimant.KeptError
	if got, err := life(t.Context(), ipamv1.ClaimReference{UID: "u"}, false); !errors.As(err, &kept) {
		t.Errorf("before claims are followed: %q, %v", got, err)
	}
	r.remains.Complete()
	if got, err := life(t.Context(), ipamv1.ClaimReference{UID: "u"}, false); got != external.NotHere || err != nil {
		t.Errorf("of another namespace: %q, %v", got, err)
	}
}
