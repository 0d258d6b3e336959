// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ipclaim_test

import (
	"errors"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/entitlement"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ipclaim"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ipspace"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/allocations"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/memory"
)

var now = time.Unix(1_000_000, 0)

// site is an API server with pool p, and a reconciler.
type site struct {
	*memory.Site
	*ipclaim.Reconciler

	clock    *clocktesting.FakePassiveClock
	recorder *events.FakeRecorder
}

// newSite has the reconciler's cache show what is stored; or just what is cached, if that is not nil.
func newSite(t *testing.T, stored, cached objects) *site {
	t.Helper()
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{ipamv1.AddToScheme, clusterv1.AddToScheme} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	block, err := ipspace.ParseEntry("10.0.0.0/24")
	if err != nil {
		t.Fatal(err)
	}
	w := &site{clock: clocktesting.NewFakePassiveClock(now), recorder: events.NewFakeRecorder(100)}
	w.Site = memory.New(t, memory.Options{
		Scheme: s, Clock: w.clock, Objects: append(stored[:len(stored):len(stored)], allocations.Root("p", "10.0.0.0/24", allocations.Confirmed)),
	})
	w.Site.Ledger.SetPool(ledger.Pool{
		Ref: allocations.PoolRef("p"), UID: "pool p", Space: "default", Namespace: "ns",
		Shape: pooltree.New(pooltree.Config{Areas: []pooltree.Area{{Range: block, Network: pooltree.Network{Bits: 24}}}}),
	})
	var c client.Client = w.Site
	if cached != nil {
		c = w.Behind(cached...)
	}
	registry := &pools.Registry{Client: c, Live: w.Site, Ledger: w.Site.Ledger, Namespace: "weir-system"}
	w.Reconciler = &ipclaim.Reconciler{
		Client: c, Live: w.Site, Ledger: w.Site.Ledger, Recorder: w.recorder,
		Entitled: &entitlement.IPClaims{Client: c, Registry: registry},
	}
	return w
}

// once reconciles claim a once, and returns what is written then, but for the claim's status.
func (w *site) once(t *testing.T) (writes []string, err error) {
	t.Helper()
	_, err = w.Reconcile(t.Context(), ctrl.Request{NamespacedName: allocations.At("a")})
	return written(w.Requests()), err
}

func written(requests []string) []string {
	return slices.DeleteFunc(memory.Writes(requests), func(r string) bool { return strings.HasPrefix(r, "patch status of ") })
}

type (
	objects = []client.Object
	edit    func(*ipamv1.IPClaim)
)

// claimA is claim a, which has 10.0.0.4 out of pool p.
func claimA(edits ...edit) *ipamv1.IPClaim {
	c := &ipamv1.IPClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a", UID: "claim a", ResourceVersion: "11", Finalizers: []string{ipamv1.ClaimFinalizer}},
		Spec:       ipamv1.IPClaimSpec{PoolRef: &ipamv1.ClaimPoolReference{Kind: ipamv1.IPPoolKind, Name: "p"}, CIDR: "10.0.0.4/32"},
	}
	for _, e := range edits {
		e(c)
	}
	return c
}

// record is a record for claim a.
func record(name, cidr string, edits ...allocations.Edit) *ipamv1.IPAllocation {
	ownKind := func(a *ipamv1.IPAllocation) {
		a.Spec.ClaimRef.APIGroup, a.Spec.ClaimRef.Kind = ipamv1.GroupVersion.Group, ipamv1.IPClaimKind
		a.Spec.ClaimRef.Name, a.Spec.ClaimRef.UID = "a", "claim a"
	}
	return allocations.Named(name, cidr, append([]allocations.Edit{ownKind}, edits...)...)
}

// recordA is its record.
func recordA(edits ...allocations.Edit) *ipamv1.IPAllocation {
	return record("a", "10.0.0.4/32", edits...)
}

func deleted(c *ipamv1.IPClaim) { c.DeletionTimestamp = ptr.To(metav1.NewTime(now)) }

func withOthers(c *ipamv1.IPClaim) { c.Finalizers = append(c.Finalizers, "example.com/others") }

func withOthersOnly(c *ipamv1.IPClaim) { c.Finalizers = []string{"example.com/others"} }

func isNext(c *ipamv1.IPClaim) { c.UID = "next" }

func annotated(key string) edit {
	return func(c *ipamv1.IPClaim) { metav1.SetMetaDataAnnotation(&c.ObjectMeta, key, "x") }
}

var (
	paused  = annotated(clusterv1.PausedAnnotation)
	moving  = annotated(clusterctlv1.DeleteForMoveAnnotation)
	arrived = annotated(ipamv1.ArrivedAnnotation)
)

func inCluster(c *ipamv1.IPClaim) { c.Labels = map[string]string{clusterv1.ClusterNameLabel: "c"} }

func retains(c *ipamv1.IPClaim) { c.Spec.ReclaimPolicy = ipamv1.ClaimReclaimRetain }

func with(cidr string) edit { return func(c *ipamv1.IPClaim) { c.Spec.CIDR = cidr } }

func withoutPool(c *ipamv1.IPClaim) { c.Spec.PoolRef = nil }

func ready(c *ipamv1.IPClaim) {
	c.Status.AllocatedCIDR = c.Spec.CIDR
	c.Status.Conditions = []metav1.Condition{{Type: ipamv1.ReadyCondition, Status: metav1.ConditionTrue, LastTransitionTime: metav1.NewTime(now)}}
}

func clusterC(isPaused bool) *clusterv1.Cluster {
	return &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c", ResourceVersion: "10"}, Spec: clusterv1.ClusterSpec{Paused: ptr.To(isPaused)}}
}

func of(uid string) allocations.Edit {
	return func(a *ipamv1.IPAllocation) { a.Spec.ClaimRef.UID = uid }
}

func cameWith(a *ipamv1.IPAllocation) {
	a.Annotations = map[string]string{ipamv1.ArrivedAnnotation: "x"}
}

func retained(a *ipamv1.IPAllocation) {
	a.Spec.State, a.Spec.ReleasedAt = ipamv1.RetainedState, metav1.NewTime(now.Add(-time.Hour))
}

// owned: the claim was stored when the record was made.
func owned(a *ipamv1.IPAllocation) {
	a.OwnerReferences = []metav1.OwnerReference{{APIVersion: ipamv1.GroupVersion.String(), Kind: ipamv1.IPClaimKind, Name: "a", UID: types.UID(a.Spec.ClaimRef.UID)}}
}

func held(a *ipamv1.IPAllocation) { a.Spec.State = ipamv1.MovedState }

var (
	goes      = []string{"patch IPAllocation", "delete IPAllocation"}
	claimGoes = []string{"update IPClaim"}
	proof     = []string{"patch IPAllocation"}
)

// TestWhatADeletedClaimGivesBack: all that it has, before its finalizer, once nothing keeps it; what is stored decides, not what the cache
// shows.
func TestWhatADeletedClaimGivesBack(t *testing.T) {
	t.Parallel()
	all := slices.Concat(goes, claimGoes)
	gone := objects{claimA(deleted)}
	for sentence, test := range map[string]struct {
		stored, cached objects
		want           []string
	}{
		"nothing keeps it":                   {stored: objects{claimA(deleted), recordA()}, want: all},
		"others hold on to it":               {stored: objects{claimA(deleted, withOthers), recordA()}},
		"others hold on to it since":         {stored: objects{claimA(deleted, withOthers), recordA()}, cached: gone},
		"Weir's finalizer is off":            {stored: objects{claimA(deleted, withOthersOnly), recordA()}, cached: gone},
		"it is another one":                  {stored: objects{claimA(isNext), recordA()}, cached: gone},
		"another one is deleted, too":        {stored: objects{claimA(deleted, isNext), recordA()}, cached: gone},
		"it is gone":                         {stored: objects{recordA()}, cached: gone},
		"it is paused since":                 {stored: objects{claimA(deleted, paused), recordA()}, cached: gone},
		"its Cluster is paused since":        {stored: objects{claimA(deleted, inCluster), recordA(), clusterC(true)}, cached: objects{claimA(deleted, inCluster), clusterC(false)}},
		"its Cluster is there":               {stored: objects{claimA(deleted, inCluster), recordA(), clusterC(false)}, want: all},
		"it moves":                           {stored: objects{claimA(deleted, moving), recordA()}},
		"it moves since":                     {stored: objects{claimA(deleted, moving), recordA()}, cached: gone},
		"its record is not seen yet":         {stored: objects{claimA(deleted)}, want: slices.Concat(proof, claimGoes)},
		"it has got nothing":                 {stored: objects{claimA(deleted, with(""))}, want: claimGoes},
		"it names no pool":                   {stored: objects{claimA(deleted, withoutPool)}, want: claimGoes},
		"it retains":                         {stored: objects{claimA(deleted, retains), recordA()}, want: slices.Concat(proof, claimGoes)},
		"it retains, and has another prefix": {stored: objects{claimA(deleted, retains, with("10.0.0.5/32")), recordA()}, want: all},
		"it retains what others have":        {stored: objects{claimA(deleted, retains), record("b", "10.0.0.4/32", of("other"), named("b"), cameWith), recordA()}, want: all},
		"a hold of its own":                  {stored: objects{claimA(deleted), recordA(held)}, want: claimGoes},
		"of an earlier one, retained":        {stored: objects{claimA(deleted), recordA(), record("r", "10.0.0.4/32", of("earlier"), retained)}, want: slices.Concat(goes, goes, claimGoes)},
		"of an earlier one, another prefix":  {stored: objects{claimA(deleted), recordA(), record("r", "10.0.0.5/32", of("earlier"), retained)}, want: all},
		"of an earlier one, which it had":    {stored: objects{claimA(deleted), recordA(), record("r", "10.0.0.5/32", of("earlier"))}, want: all},
		"it came back, and was recorded":     {stored: objects{claimA(deleted, arrived), recordA(), record("h", "10.0.0.4/32", of("earlier"), held)}, want: slices.Concat(goes, goes, claimGoes)},
		"it did not come back":               {stored: objects{claimA(deleted), recordA(), record("h", "10.0.0.4/32", of("earlier"), held)}, want: all},
		"it came with a record":              {stored: objects{claimA(deleted, arrived), recordA(), record("f", "10.0.0.5/32", of("former"), cameWith)}, want: slices.Concat(goes, goes, claimGoes)},
		"its own record came with it":        {stored: objects{claimA(deleted, arrived), recordA(cameWith)}, want: all},
		"an earlier one's did not come":      {stored: objects{claimA(deleted, arrived), recordA(), record("f", "10.0.0.5/32", of("former"))}, want: all},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			w := newSite(t, test.stored, test.cached)
			writes, err := w.once(t)
			if diff := cmp.Diff(test.want, writes, cmpopts.EquateEmpty()); diff != "" || err != nil {
				t.Errorf("writes (-want +got):\n%s%v", diff, err)
			}
		})
	}
}

// TestADeletedClaimThatMovesIsToldSo by an event.
func TestADeletedClaimThatMovesIsToldSo(t *testing.T) {
	t.Parallel()
	w := newSite(t, objects{claimA(deleted, moving), recordA()}, objects{claimA(deleted)})
	if _, err := w.once(t); err != nil {
		t.Fatal(err)
	}
	if len(w.recorder.Events) != 1 || !strings.Contains(<-w.recorder.Events, "PrefixKept") {
		t.Error("no event says that the prefix is kept")
	}
}

// named makes the record one for a claim of another name.
func named(name string) allocations.Edit {
	return func(a *ipamv1.IPAllocation) { a.Spec.ClaimRef.Name = name }
}

// TestAReleaseIsInterrupted at each request in turn: the claim keeps its finalizer while it has a record, and the next attempt finishes.
func TestAReleaseIsInterrupted(t *testing.T) {
	t.Parallel()
	for sentence, stored := range map[string]objects{
		"it has much": {
			claimA(deleted, arrived, inCluster), recordA(), clusterC(false), record("r", "10.0.0.4/32", of("earlier"), retained),
			record("f", "10.0.0.5/32", of("former"), cameWith),
		},
		"it has nothing":             {claimA(deleted, inCluster, with("")), clusterC(false)},
		"its record is not seen yet": {claimA(deleted)},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			isInterrupted(t, stored)
		})
	}
}

func isInterrupted(t *testing.T, stored objects) {
	t.Helper()
	w := newSite(t, stored, nil)
	reconcile := func(w *site) error {
		_, err := w.Reconcile(t.Context(), ctrl.Request{NamespacedName: allocations.At("a")})
		return err
	}
	if err := reconcile(w); err != nil {
		t.Fatal(err)
	}
	all := len(w.Requests())
	for failing := 1; failing <= all; failing++ {
		w := newSite(t, stored, nil)
		w.FailAt(failing)
		err := reconcile(w)
		after := w.Requests()[failing-1:]
		if err == nil {
			t.Errorf("request %d, %s: its failure is not reported", failing, after[0])
		}
		if slices.Contains(after[1:], claimGoes[0]) {
			t.Errorf("request %d, %s: after its failure the claim goes", failing, after[0])
			continue
		}
		w.FailAt(0)
		w.Until(func() bool {
			err = reconcile(w)
			return err != nil || slices.Contains(w.Requests(), claimGoes[0])
		})
		if err != nil {
			t.Errorf("request %d, %s: the next attempt does not finish, %v", failing, after[0], err)
		}
	}
}

// TestWhatIsRecordedUnderTheNameOfAClaim goes if it is nobody's, as a live read shows.
func TestWhatIsRecordedUnderTheNameOfAClaim(t *testing.T) {
	t.Parallel()
	late := record("late", "10.0.0.7/32")
	for sentence, test := range map[string]struct {
		stored objects
		// wins: what is stored of the claim wins its record before.
		wins bool
		want []string
	}{
		"the claim is gone":                                {stored: objects{recordA()}, want: goes},
		"the claim is there":                               {stored: objects{claimA(), recordA()}},
		"another claim is there":                           {stored: objects{claimA(isNext, with("10.0.0.9/32")), recordA()}, want: goes},
		"another claim has the prefix, unrecorded":         {stored: objects{claimA(isNext), recordA()}},
		"the claim is gone, and the record arrived":        {stored: objects{recordA(cameWith)}},
		"another claim is there, the record arrived":       {stored: objects{claimA(isNext, with("10.0.0.9/32")), recordA(cameWith)}, want: goes},
		"a second record beside the claim's":               {stored: objects{claimA(ready), recordA(), late}, want: goes},
		"a second record, and none of what it says":        {stored: objects{claimA(ready), late}},
		"a second record, and what it says cannot be read": {stored: objects{claimA(with("10.0.0")), recordA(), late}},
		"a second record, which was adopted":               {stored: objects{claimA(ready), recordA(), record("late", "10.0.0.7/32", adopted)}},
		"a second record of the same":                      {stored: objects{claimA(ready), recordA(), record("late", "10.0.0.4/32")}},
		"another claim has the prefix, and was told":       {stored: objects{claimA(isNext, ready), record("n", "10.0.0.4/32", of("next"), owned), recordA(cameWith)}, want: goes},
		"another claim has the prefix, and has won":        {stored: objects{claimA(isNext), recordA()}, wins: true, want: goes},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			site := func() *site {
				w := newSite(t, test.stored, nil)
				w.clock.SetTime(now.Add(time.Minute))
				if test.wins {
					if _, err := w.Site.Ledger.Bind(t.Context(), ledger.Claim{
						Ref: entitlement.ReferenceOf(claimA(isNext)), Pool: allocations.PoolRef("p"), Bits: 32, Want: netip.MustParsePrefix("10.0.0.4/32"), Purpose: ledger.ForAdopted,
					}); err != nil {
						t.Fatal(err)
					}
					w.Requests()
				}
				return w
			}
			w := site()
			err := w.Settle(t.Context(), allocations.At("a"))
			requests := w.Requests()
			if diff := cmp.Diff(test.want, written(requests), cmpopts.EquateEmpty()); diff != "" || err != nil {
				t.Errorf("writes (-want +got):\n%s%v", diff, err)
			}
			for failing := 1; failing <= len(requests); failing++ {
				w := site()
				w.FailAt(failing)
				if err := w.Settle(t.Context(), allocations.At("a")); !errors.Is(err, memory.ErrFailed) {
					t.Errorf("request %d, %s, fails: reported %v", failing, requests[failing-1], err)
				}
			}
		})
	}
}

func adopted(a *ipamv1.IPAllocation) { a.Spec.Origin = ipamv1.AdoptedOrigin }
