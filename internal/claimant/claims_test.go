// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claimant

import (
	"context"
	"errors"
	"net/netip"
	"slices"
	"testing"
	"time"

	"go4.org/netipx"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/util/workqueue"
	clocktesting "k8s.io/utils/clock/testing"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/kinds"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/allocations"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/memory"
)

// waiting is a claim that waits for this pool; for one that it selects, if the pool has no name.
func waiting(namespace, name string, pool ipamv1.PoolReference) *ipamv1.IPClaim {
	claim := &ipamv1.IPClaim{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name, UID: types.UID("claim " + name)}}
	if pool.Name != "" {
		claim.Spec.PoolRef = &ipamv1.ClaimPoolReference{Kind: pool.Kind, Name: pool.Name}
	}
	return claim
}

// poolOf is the pool that a claim waits for.
func poolOf(claim *ipamv1.IPClaim) ipamv1.PoolReference {
	ref := claim.Spec.PoolRef
	switch {
	case ref == nil:
		return ipamv1.PoolReference{}
	case ref.Kind == ipamv1.GlobalIPPoolKind:
		return kinds.Pool(kinds.GlobalIPPool, "", ref.Name)
	}
	return kinds.Pool(kinds.Weir(ref.Kind), claim.Namespace, ref.Name)
}

// claimsOf are the IPClaims of an API server that has these, and pool ns/p with a single address.
func claimsOf(t *testing.T, stored ...client.Object) (Claims, *memory.Site) {
	t.Helper()
	s := runtime.NewScheme()
	if err := ipamv1.AddToScheme(s); err != nil {
		t.Fatal(err)
	}
	byIts := func(value func(*ipamv1.IPClaim) []string) client.IndexerFunc {
		return func(obj client.Object) []string {
			claim, _ := obj.(*ipamv1.IPClaim)
			return value(claim)
		}
	}
	w := memory.New(t, memory.Options{
		Scheme: s, Clock: clocktesting.NewFakePassiveClock(time.Unix(1_000_000, 0)),
		Objects: append(stored, allocations.Root("p", "10.0.0.4/32", allocations.Confirmed)),
		Indexes: []memory.Index{
			{Of: &ipamv1.IPClaim{}, Field: WaitingIndex, Value: byIts(func(claim *ipamv1.IPClaim) []string { return Keys(poolOf(claim)) })},
			{Of: &ipamv1.IPClaim{}, Field: ClusterIndex, Value: byIts(func(claim *ipamv1.IPClaim) []string { return []string{ClusterName(claim)} })},
		},
	})
	area := pooltree.Area{Range: netipx.RangeOfPrefix(netip.MustParsePrefix("10.0.0.4/32")), Network: pooltree.Network{Bits: 32}}
	w.Ledger.SetPool(ledger.Pool{
		Ref: allocations.PoolRef("p"), UID: "pool p", Space: "default", Namespace: "ns", Shape: pooltree.New(pooltree.Config{Areas: []pooltree.Area{area}}),
	})
	w.Until(w.Ledger.Of(allocations.PoolRef("p")).Serves)
	return Claims{Client: w, Ledger: w.Ledger, GroupKind: kinds.IPClaim, List: &ipamv1.IPClaimList{}}, w
}

// namesOf are the names of the claims that are to be looked at.
func namesOf(requests []reconcile.Request) []string {
	names := make([]string, 0, len(requests))
	for _, r := range requests {
		names = append(names, r.String())
	}
	return names
}

// TestWhichClaimsAreLookedAt: a claim that is not looked at waits for ever for a pool that has room, or that it may see by now.
func TestWhichClaimsAreLookedAt(t *testing.T) {
	t.Parallel()
	own, another := allocations.PoolRef("p"), allocations.PoolRef("another")
	global := kinds.Pool(kinds.GlobalIPPool, "", "g")
	member := waiting("ns", "of-cluster", another)
	member.Labels = map[string]string{clusterv1.ClusterNameLabel: "c"}
	stored := []client.Object{
		waiting("ns", "of-p", own), waiting("ns", "of-global", global), waiting("ns", "selects", ipamv1.PoolReference{}), member,
		waiting("other", "of-p", own), waiting("other", "selects", ipamv1.PoolReference{}),
	}
	pool := &ipamv1.IPPool{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p"}}
	cluster := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c"}}
	byPool := func(p client.Object) func(Claims, context.Context) []reconcile.Request {
		return func(c Claims, ctx context.Context) []reconcile.Request { return c.waitingForPool(ctx, p) }
	}
	byNamespace := func(c Claims, ctx context.Context) []reconcile.Request {
		return c.waitingInNamespace(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "ns"}})
	}
	byCluster := func(pools []ipamv1.PoolReference, err error) func(Claims, context.Context) []reconcile.Request {
		return func(c Claims, ctx context.Context) []reconcile.Request {
			c.PoolsOf = func(context.Context, client.Object) ([]ipamv1.PoolReference, error) { return pools, err }
			return c.OfCluster(ctx, cluster)
		}
	}
	for sentence, test := range map[string]struct {
		ask  func(Claims, context.Context) []reconcile.Request
		only string
		want []string
	}{
		"when a pool changes":                         {ask: byPool(pool), want: []string{"ns/of-p", "ns/selects"}},
		"when a cluster-scoped pool changes":          {ask: byPool(&ipamv1.GlobalIPPool{ObjectMeta: metav1.ObjectMeta{Name: "g"}}), want: []string{"ns/of-global", "ns/selects", "other/selects"}},
		"when a pool of another manager changes":      {ask: byPool(pool), only: "other"},
		"when a pool changes of a kind that is none":  {ask: byPool(&corev1.Pod{ObjectMeta: pool.ObjectMeta})},
		"when a namespace is labelled":                {ask: byNamespace, want: []string{"ns/of-global", "ns/selects"}},
		"when another manager's namespace is":         {ask: byNamespace, only: "other"},
		"when a Cluster pauses":                       {ask: byCluster(nil, nil), want: []string{"ns/of-cluster"}},
		"when a Cluster pauses with pools":            {ask: byCluster([]ipamv1.PoolReference{own}, nil), want: []string{"ns/of-cluster", "ns/of-p", "ns/selects"}},
		"when a Cluster pauses with unknown pools":    {ask: byCluster(nil, errFailed), want: []string{"ns/of-cluster"}},
		"when a Cluster pauses that has another pool": {ask: byCluster([]ipamv1.PoolReference{another}, nil), want: []string{"ns/of-cluster", "ns/of-cluster", "ns/selects"}},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			c, _ := claimsOf(t, stored...)
			c.Namespace = test.only
			if got := namesOf(test.ask(c, t.Context())); !slices.Equal(slices.Sorted(slices.Values(got)), test.want) {
				t.Errorf("%v, want %v", got, test.want)
			}
		})
	}
}

// TestWhichClaimsLiveIsKnownOrAnError: repair would take those that it is not told of for gone.
func TestWhichClaimsLiveIsKnownOrAnError(t *testing.T) {
	t.Parallel()
	c, w := claimsOf(t, waiting("ns", "a", ipamv1.PoolReference{}))
	living, err := c.Living(t.Context())
	if key := (types.NamespacedName{Namespace: "ns", Name: "a"}); living[key] != "claim a" || len(living) != 1 || err != nil {
		t.Errorf("%v, %v", living, err)
	}
	w.FailAt(1)
	if living, err = c.Living(t.Context()); !errors.Is(err, memory.ErrFailed) {
		t.Errorf("%v, %v", living, err)
	}
}

// deaf is a controller that follows nothing.
type deaf struct{ controller.Controller }

func (deaf) Watch(source.TypedSource[reconcile.Request]) error { return errFailed }

// TestWhatCannotBeFollowedIsAnError: claims would wait for ever for pools that are not watched, or for a ledger that does not know all records.
func TestWhatCannotBeFollowedIsAnError(t *testing.T) {
	t.Parallel()
	c := Claims{Ledger: newWorld(t).Ledger} // has not begun
	if err := c.WatchPool(deaf{}, nil, &ipamv1.IPPool{}); !errors.Is(err, errFailed) {
		t.Errorf("pools: %v", err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if err := c.followLedger(ctx, nil); err == nil {
		t.Error("the ledger is followed")
	}
}

// listsOf are the waitlists of claims. The function returns which of them were woken since it was called last.
func listsOf(t *testing.T, c Claims) (l *waitlists, woken func() []string) {
	t.Helper()
	queue := workqueue.NewTypedRateLimitingQueue(workqueue.DefaultTypedControllerRateLimiter[reconcile.Request]())
	t.Cleanup(queue.ShutDown)
	return &waitlists{Claims: c, queue: queue, of: map[ipamv1.PoolReference]*waitlist{}}, func() []string {
		var requests []reconcile.Request
		for queue.Len() > 0 {
			r, _ := queue.Get()
			queue.Done(r)
			requests = append(requests, r)
		}
		return namesOf(requests)
	}
}

func forRoom(client.Object) Waits { return ForRoom }

// TestAPoolThatIsFreedWakesClaims: as many as it has room for if they wait for room, else all; and none that wait for others.
func TestAPoolThatIsFreedWakesClaims(t *testing.T) {
	t.Parallel()
	own := allocations.PoolRef("p")
	for sentence, test := range map[string]struct {
		waits func(client.Object) Waits
		only  string
		want  []string
	}{
		"for room":                    {waits: forRoom, want: []string{"ns/a"}},
		"for anything":                {want: []string{"ns/a", "ns/b"}},
		"for others":                  {waits: func(client.Object) Waits { return ForOthers }, want: []string{}},
		"for another manager's pools": {only: "other", want: []string{}},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			c, _ := claimsOf(t, waiting("ns", "a", own), waiting("ns", "b", own), waiting("ns", "c", allocations.PoolRef("another")))
			c.Waits, c.Namespace = test.waits, test.only
			l, woken := listsOf(t, c)
			l.free(t.Context(), own)
			if got := woken(); !slices.Equal(slices.Sorted(slices.Values(got)), test.want) {
				t.Errorf("woken: %v, want %v", got, test.want)
			}
		})
	}
}

// TestAClaimThatWasNotServedIsNotWokenFirst when the pool is freed again: one that is paused would keep the others waiting.
func TestAClaimThatWasNotServedIsNotWokenFirst(t *testing.T) {
	t.Parallel()
	own := allocations.PoolRef("p")
	c, _ := claimsOf(t, waiting("ns", "a", own), waiting("ns", "b", own))
	c.Waits = forRoom
	l, woken := listsOf(t, c)
	l.free(t.Context(), own)
	if got := woken(); !slices.Equal(got, []string{"ns/a"}) {
		t.Fatalf("woken at first: %v", got)
	}
	l.free(t.Context(), own)
	if got := woken(); len(got) > 0 {
		t.Errorf("woken before the next pace: %v", got)
	}
	l.move(t.Context(), own)
	if got := woken(); len(got) == 0 || got[0] != "ns/b" {
		t.Errorf("woken then: %v", got)
	}
}

// TestAPoolThatNoClaimWaitsForIsForgotten: a claim that comes later is woken at once, and not a pace later.
func TestAPoolThatNoClaimWaitsForIsForgotten(t *testing.T) {
	t.Parallel()
	own := allocations.PoolRef("p")
	c, w := claimsOf(t)
	c.Waits = forRoom
	l, woken := listsOf(t, c)
	l.free(t.Context(), own)
	l.move(t.Context(), own)
	if err := w.Raw.Create(t.Context(), waiting("ns", "a", own)); err != nil {
		t.Fatal(err)
	}
	l.free(t.Context(), own)
	if got := woken(); !slices.Equal(got, []string{"ns/a"}) {
		t.Errorf("woken: %v", got)
	}
}

// TestAWaitlistIsPatientAfresh each time: while no claim was to be woken it has not waited for the queue.
func TestAWaitlistIsPatientAfresh(t *testing.T) {
	t.Parallel()
	own := allocations.PoolRef("p")
	c, _ := claimsOf(t, waiting("ns", "a", own))
	c.Waits = forRoom
	l, woken := listsOf(t, c)
	l.free(t.Context(), own)
	woken()
	l.queue.Add(requestFor("ns", "busy"))
	for range patience {
		l.move(t.Context(), own)
	}
	l.free(t.Context(), own)
	l.move(t.Context(), own)
	if got := woken(); !slices.Equal(got, []string{"ns/busy"}) {
		t.Errorf("woken: %v", got)
	}
}

// TestTheLedgerNamesClaimsOfAllKinds: those of this kind are looked at, where this manager serves them.
func TestTheLedgerNamesClaimsOfAllKinds(t *testing.T) {
	t.Parallel()
	l, woken := listsOf(t, Claims{GroupKind: kinds.IPClaim, Namespace: "ns"})
	ctx, stop := context.WithCancel(t.Context())
	concerned, ended := make(chan ipamv1.ClaimReference), make(chan struct{})
	go func() {
		l.follow(ctx, nil, concerned)
		close(ended)
	}()
	concerned <- kinds.Claim(kinds.IPAddressClaim, types.NamespacedName{Namespace: "ns", Name: "of-another-kind"}, "")
	concerned <- kinds.Claim(kinds.IPClaim, types.NamespacedName{Namespace: "other", Name: "of-another-manager"}, "")
	concerned <- kinds.Claim(kinds.IPClaim, types.NamespacedName{Namespace: "ns", Name: "a"}, "")
	stop()
	<-ended
	if got := woken(); !slices.Equal(got, []string{"ns/a"}) {
		t.Errorf("woken: %v", got)
	}
}
