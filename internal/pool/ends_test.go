// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pool_test

import (
	"cmp"
	"errors"
	"slices"
	"strings"
	"testing"
	"time"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/tools/events"
	clocktesting "k8s.io/utils/clock/testing"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pool"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/tenancy"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/allocations"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/memory"
)

var now = time.Unix(1_000_000, 0)

type (
	objects = []client.Object
	edit    func(*ipamv1.IPPool)
)

// site is an API server, and the reconciler of its IPPools.
type site struct {
	*memory.Site
	*pool.Reconciler

	clock    *clocktesting.FakePassiveClock
	registry *pools.Registry
	recorder *events.FakeRecorder
	// wake is when the pool is looked at again, as the last pass has it.
	wake time.Duration
}

// newSite has the reconciler's cache show what is stored; or just what is cached, if that is not nil.
func newSite(t *testing.T, stored, cached objects) *site {
	t.Helper()
	return newSiteOf(t, pools.IPPools, stored, cached)
}

// newSiteOf reconciles pools of that kind.
func newSiteOf(t *testing.T, kind pools.Kind, stored, cached objects) *site {
	t.Helper()
	s := runtime.NewScheme()
	for _, add := range []func(*runtime.Scheme) error{ipamv1.AddToScheme, ipamv1beta2.AddToScheme, clusterv1.AddToScheme} {
		if err := add(s); err != nil {
			t.Fatal(err)
		}
	}
	w := &site{clock: clocktesting.NewFakePassiveClock(now), recorder: events.NewFakeRecorder(100)}
	w.Site = memory.New(t, memory.Options{Scheme: s, Clock: w.clock, Objects: stored})
	var c client.Client = w.Site
	if cached != nil {
		c = w.Behind(cached...)
	}
	w.registry = &pools.Registry{
		Client: c, Live: w.Site, Ledger: w.Ledger, Namespace: "weir-system", Rules: &tenancy.Rules{Client: c, Platform: "platform", Namespace: "weir-system"},
	}
	w.Reconciler = pool.NewReconciler(pool.Options{
		Client: c, Live: w.Site, Registry: w.registry, Ledger: w.Ledger, Recorder: w.recorder, Clock: w.clock, Kind: kind,
	})
	return w
}

// once reconciles the pool of that name once, and returns what is written then, but for the pool's status.
func (w *site) once(t *testing.T, name string) (writes []string, err error) {
	t.Helper()
	err = w.reconcile(t, allocations.At(name))
	return written(w.Requests()), err
}

func (w *site) reconcile(t *testing.T, pool types.NamespacedName) error {
	t.Helper()
	result, err := w.Reconcile(t.Context(), ctrl.Request{NamespacedName: pool})
	w.wake = result.RequeueAfter
	return err
}

// interrupt reconciles the pool at the site with each of these requests failing in turn: that is reported, or, of a status, tried again.
func interrupt(t *testing.T, pool types.NamespacedName, requests []string, site func() *site) {
	t.Helper()
	for failing := 1; failing <= len(requests); failing++ {
		w := site()
		w.FailAt(failing)
		err := w.reconcile(t, pool)
		after := w.Requests()
		if len(after) < failing { // whether the index shows a write already decides about some
			continue
		}
		isLater := strings.HasPrefix(after[failing-1], "patch status") && w.wake != 0
		if !errors.Is(err, memory.ErrFailed) && !isLater {
			t.Errorf("request %d, %s, fails: reported %v", failing, after[failing-1], err)
		}
	}
}

// orElse is what the cache shows: all that is stored, unless that is said.
func orElse(cached, stored objects) objects {
	if cached == nil {
		return stored
	}
	return cached
}

func written(requests []string) []string {
	return slices.DeleteFunc(memory.Writes(requests), func(r string) bool { return strings.HasPrefix(r, "patch status of ") })
}

// poolP is pool p, of 10.0.0.0/24.
func poolP(edits ...edit) *ipamv1.IPPool {
	p := &ipamv1.IPPool{
		ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p", UID: "pool p", ResourceVersion: "11", Generation: 1, Finalizers: []string{ipamv1.PoolFinalizer}},
		Spec:       ipamv1.IPPoolSpec{CIDR: "10.0.0.0/24"},
	}
	for _, e := range edits {
		e(p)
	}
	return p
}

func deleted(p *ipamv1.IPPool) { p.DeletionTimestamp = ptr.To(metav1.NewTime(now)) }

func withOthers(p *ipamv1.IPPool) { p.Finalizers = append(p.Finalizers, "example.com/others") }

func isNext(p *ipamv1.IPPool) { p.UID = "next" }

func annotated(key string) edit {
	return func(p *ipamv1.IPPool) { metav1.SetMetaDataAnnotation(&p.ObjectMeta, key, "") }
}

var (
	moving = annotated(clusterctlv1.DeleteForMoveAnnotation)
	paused = annotated(clusterv1.PausedAnnotation)
)

// block is its block.
func block(edits ...allocations.Edit) *ipamv1.IPAllocation {
	return allocations.Root("p", "10.0.0.0/24", append([]allocations.Edit{allocations.Confirmed}, edits...)...)
}

// strayBlock is one that a pool before p had. No proof is by it: it has not served.
func strayBlock() *ipamv1.IPAllocation {
	return allocations.Root("p", "10.0.0.0/24", called("stray"), of("before"))
}

// recordA is the record of a claim out of it.
func recordA(edits ...allocations.Edit) *ipamv1.IPAllocation {
	return allocations.Named("a", "10.0.0.4/32", edits...)
}

// childBlock is the block of a pool that is carved from p.
func childBlock(edits ...allocations.Edit) *ipamv1.IPAllocation {
	return allocations.Named("child-block", "10.0.0.16/28", append([]allocations.Edit{allocations.Carved("child"), allocations.Confirmed}, edits...)...)
}

func of(uid string) allocations.Edit {
	return func(a *ipamv1.IPAllocation) { a.Spec.ClaimRef.UID = uid }
}

func called(name string) allocations.Edit {
	return func(a *ipamv1.IPAllocation) { a.Name, a.UID = name, types.UID("uid of "+name) }
}

func cools(a *ipamv1.IPAllocation) {
	a.Spec.State, a.Spec.ReleasedAt = ipamv1.CoolingState, metav1.NewTime(now.Add(-time.Minute))
}

func cameWith(a *ipamv1.IPAllocation) {
	a.Annotations = map[string]string{ipamv1.ArrivedAnnotation: "x"}
}

func held(a *ipamv1.IPAllocation) { a.Spec.State = ipamv1.MovedState }

func movedAlone(a *ipamv1.IPAllocation) {
	allocations.Moving(a)
	a.Annotations[ipamv1.MovedAnnotation] = "claim a"
}

// claimOfA is the claim that recordA is for.
func claimOfA() *ipamv1beta2.IPAddressClaim {
	return &ipamv1beta2.IPAddressClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a", UID: "claim a"}}
}

var (
	goes     = []string{"patch IPAllocation", "delete IPAllocation"}
	proof    = []string{"patch IPAllocation"}
	poolGoes = []string{"update IPPool"}
)

// TestTheBlocksOfAPoolThatIsGone go when nothing is handed out of them, as is proved, and a live read after that shows no pool.
func TestTheBlocksOfAPoolThatIsGone(t *testing.T) {
	t.Parallel()
	none := objects{}
	parent := poolP(func(p *ipamv1.IPPool) { p.Name = "parent" })
	for sentence, test := range map[string]struct {
		pool           string
		stored, cached objects
		// meanwhile is stored before a request of this kind.
		before    string
		meanwhile client.Object
		// again: the block goes once the ledger shows that the rest has gone.
		again bool
		// wakes: it is looked at again, though nothing changes.
		wakes bool
		want  []string
	}{
		"nothing is handed out":                {stored: objects{block()}, want: slices.Concat(proof, goes)},
		"it has none":                          {stored: objects{}},
		"a claim has an address":               {stored: objects{block(), recordA()}},
		"it is there":                          {stored: objects{poolP(), block()}, cached: none},
		"another one of the name is there":     {stored: objects{poolP(isNext), block()}, cached: none},
		"it is made again meanwhile":           {stored: objects{block()}, before: "patch IPAllocation", meanwhile: poolP(isNext), want: proof},
		"a claim gets an address meanwhile":    {stored: objects{block()}, before: "patch IPAllocation", meanwhile: recordA(), want: proof},
		"something cooled down":                {stored: objects{block(), recordA(cools)}, again: true, want: slices.Concat(goes, proof, goes)},
		"something cooled down, for a claim":   {stored: objects{block(), recordA(cools), claimOfA()}, wakes: true},
		"something cools that arrived":         {stored: objects{block(), recordA(cools, cameWith)}, wakes: true},
		"its block arrived":                    {stored: objects{block(cameWith)}},
		"only cooling is left":                 {stored: objects{recordA(cools)}, want: goes},
		"it is there, and something cooled":    {stored: objects{poolP(), recordA(cools)}, cached: none},
		"its block is a hold":                  {pool: "child", stored: objects{childBlock(held)}},
		"its block is with a member":           {pool: "child", stored: objects{childBlock(allocations.DelegatedTo("edge-a")), parent}},
		"its block is with a member, and more": {pool: "child", stored: objects{childBlock(allocations.DelegatedTo("edge-a")), parent, recordA(cools, cameWith, allocations.FromPool("child"))}, wakes: true},
		"it was carved, so it cools down":      {pool: "child", stored: objects{childBlock()}, want: slices.Concat(proof, goes[:1])},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			site := func() *site {
				w, isMade := newSite(t, test.stored, orElse(test.cached, test.stored)), false
				w.Before = func(request string) {
					if request == test.before && !isMade {
						isMade = true
						meanwhile, _ := test.meanwhile.DeepCopyObject().(client.Object)
						if err := w.Raw.Create(t.Context(), unversioned(meanwhile)); err != nil {
							t.Error(err)
						}
					}
				}
				return w
			}
			name := cmp.Or(test.pool, "p")
			w := site()
			err := w.reconcile(t, allocations.At(name))
			requests, wakes := w.Requests(), w.wake != 0
			writes := written(requests)
			if test.wakes && !wakes {
				t.Error("it is not looked at again")
			}
			if test.again && err == nil {
				w.Until(func() bool {
					var more []string
					more, err = w.once(t, name)
					writes = append(writes, more...)
					return err != nil || !isStored(t, w, block())
				})
			}
			if diff := gocmp.Diff(test.want, writes, cmpopts.EquateEmpty()); diff != "" || err != nil {
				t.Errorf("writes (-want +got):\n%s%v", diff, err)
			}
			interrupt(t, allocations.At(name), requests, site)
		})
	}
}

func unversioned(o client.Object) client.Object {
	o.SetResourceVersion("")
	return o
}

// TestAPoolIsDeleted once nothing is handed out of it, as is proved, and nothing else keeps it, as a live read shows.
func TestAPoolIsDeleted(t *testing.T) {
	t.Parallel()
	all := slices.Concat(proof, goes, poolGoes)
	stray := strayBlock()
	handedBack := block(allocations.HandedBack("template"))
	member := objects{parentPool(), block(called("parent-block"), func(a *ipamv1.IPAllocation) { a.Spec.ClaimRef.Name = "parent" }), childOf(allocations.DelegatedTo("edge-a"))}
	for sentence, test := range map[string]struct {
		pool           string
		stored, cached objects
		want           []string
		// told is what an event says.
		told string
	}{
		"nothing keeps it":                 {stored: objects{poolP(deleted), block()}, want: all},
		"it has no block":                  {stored: objects{poolP(deleted)}, want: poolGoes},
		"a claim has an address":           {stored: objects{poolP(deleted), block(), recordA()}},
		"others hold on to it":             {stored: objects{poolP(deleted, withOthers), block()}},
		"others hold on to it since":       {stored: objects{poolP(deleted, withOthers), block()}, cached: objects{poolP(deleted)}, want: proof},
		"it moves":                         {stored: objects{poolP(deleted, moving), block()}},
		"it moves since":                   {stored: objects{poolP(deleted, moving), block()}, cached: objects{poolP(deleted)}, want: proof},
		"it is paused since":               {stored: objects{poolP(deleted, paused), block()}, cached: objects{poolP(deleted)}, want: proof},
		"it is another one":                {stored: objects{poolP(isNext), block()}, cached: objects{poolP(deleted)}, want: proof},
		"another one is deleted, too":      {stored: objects{poolP(deleted, isNext), block()}, cached: objects{poolP(deleted)}, want: proof},
		"it is gone":                       {stored: objects{block()}, cached: objects{poolP(deleted)}, want: proof},
		"it was stored again":              {stored: objects{poolP(), block()}, cached: objects{poolP(deleted)}, want: proof},
		"one before it had a block":        {stored: objects{poolP(deleted), block(), stray}, want: slices.Concat(goes, all)},
		"one before it, and it is in use":  {stored: objects{poolP(deleted, withOthers), block(), stray}, want: goes},
		"one before it, and it is gone":    {stored: objects{block(), stray}, cached: objects{poolP(deleted, withOthers)}},
		"one before it, and it moves":      {stored: objects{poolP(deleted, moving), block(), stray}},
		"its block is with a member":       {pool: "child", stored: append(objects{carvedPool(deleted)}, member...), want: proof},
		"it was forced back from a member": {pool: "child", stored: append(objects{carvedPool(deleted, forced)}, member...), want: all, told: ipamv1.BlockForceReleasedReason},
		"its copy does not say it is back": {stored: objects{poolP(deleted, copied), block(), handedBack}, want: proof},
		"the cloud of it cannot be asked":  {stored: objects{poolP(deleted, floating)}},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			site := func() *site {
				w := newSite(t, test.stored, orElse(test.cached, test.stored))
				w.registry.Cluster, w.registry.Federation = "edge-b", true
				return w
			}
			w, name := site(), cmp.Or(test.pool, "p")
			err := w.reconcile(t, allocations.At(name))
			requests := w.Requests()
			if diff := gocmp.Diff(test.want, written(requests), cmpopts.EquateEmpty()); diff != "" || err != nil {
				t.Errorf("writes (-want +got):\n%s%v", diff, err)
			}
			if test.told != "" && (len(w.recorder.Events) == 0 || !strings.Contains(<-w.recorder.Events, test.told)) {
				t.Errorf("no event says %s", test.told)
			}
			interrupt(t, allocations.At(name), requests, site)
		})
	}
}

// forced is an operator's word that member edge-a does not use the block.
func forced(p *ipamv1.IPPool) {
	metav1.SetMetaDataAnnotation(&p.ObjectMeta, ipamv1.ForceReleaseAnnotation, "edge-a")
}

// copied is a copy, here at edge-b, of a pool of the hub.
func copied(p *ipamv1.IPPool) {
	p.Spec.DelegateTo, p.Spec.Mode = "edge-b", ipamv1.ClosingMode
	metav1.SetMetaDataAnnotation(&p.ObjectMeta, ipamv1.TemplateAnnotation, "template")
}

// floating makes it a pool of floating IPs, known in its cloud.
func floating(p *ipamv1.IPPool) {
	p.UID = "uid"
	p.Spec = ipamv1.IPPoolSpec{OpenStack: &ipamv1.OpenStackSource{
		IdentityRef: ipamv1.OpenStackIdentityReference{Name: "s", CloudName: "c"}, FloatingNetwork: ipamv1.FloatingNetwork{Name: "public"},
	}}
	metav1.SetMetaDataAnnotation(&p.ObjectMeta, ipamv1.OpenStackAnnotation, "uid 07aa 0b7c")
}

func parentPool() *ipamv1.IPPool {
	return poolP(func(p *ipamv1.IPPool) { p.Name, p.UID = "parent", "pool parent" })
}

// carvedPool is a pool that was carved from parent.
func carvedPool(edits ...edit) *ipamv1.IPPool {
	return poolP(append([]edit{func(p *ipamv1.IPPool) {
		p.Name, p.UID, p.ResourceVersion = "child", "pool child", "12"
		p.Spec = ipamv1.IPPoolSpec{CIDR: "10.0.0.16/28", ParentRef: &ipamv1.ParentReference{Kind: ipamv1.IPPoolKind, Name: "parent"}}
	}}, edits...)...)
}

func childOf(edits ...allocations.Edit) *ipamv1.IPAllocation {
	return childBlock(append([]allocations.Edit{allocations.FromPool("parent")}, edits...)...)
}

// TestWhatLeavesAPoolThatStays is held, or goes, by what a live read of the record shows.
func TestWhatLeavesAPoolThatStays(t *testing.T) {
	t.Parallel()
	heldNow := []string{"create IPAllocation", "update IPAllocation"}
	for sentence, test := range map[string]struct {
		record *ipamv1.IPAllocation
		others objects
		// policy is the pool's.
		policy ipamv1.AllocationPolicy
		// goes: it is gone before it is read.
		goes bool
		want []string
	}{
		"it moves alone":                       {record: recordA(movedAlone, allocations.Terminating), want: heldNow},
		"it moves alone, and is not marked":    {record: recordA(movedAlone)},
		"a hold that was deleted":              {record: recordA(held, allocations.Terminating), want: []string{"update IPAllocation", "delete IPAllocation"}},
		"a hold that was deleted, and a claim": {record: recordA(held, allocations.Terminating), others: objects{claimOfA()}},
		"it cools in a namespace that ends":    {record: recordA(cools, allocations.Terminating, elsewhere), policy: ipamv1.AllocationPolicy{CooldownSeconds: ptr.To[int32](3600)}, want: heldNow},
		"it cools in Weir's own namespace":     {record: recordA(cools, allocations.Terminating, func(a *ipamv1.IPAllocation) { a.Namespace = "weir-system" }), policy: ipamv1.AllocationPolicy{CooldownSeconds: ptr.To[int32](3600)}},
		"a hold of what is back":               {record: recordA(held), others: objects{recordA(called("back"), retained)}, want: goes},
		"a hold of what was back before":       {record: recordA(held, of("next"), createdAt(now)), others: objects{recordA(called("back"), retained)}},
		"a hold that goes meanwhile":           {record: recordA(held, allocations.Terminating), goes: true},
		"it is in use":                         {record: recordA()},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			p := poolP(deleted, withOthers)
			p.Spec.Allocation = &test.policy
			site := func() *site {
				stored := slices.Concat(test.others, objects{p, block(), test.record})
				w := newSite(t, stored, stored)
				w.Before = func(request string) {
					if test.goes && request == "get IPAllocation" {
						takeAway(t, w, test.record)
					}
				}
				return w
			}
			w := site()
			err := w.reconcile(t, allocations.At("p"))
			requests := w.Requests()
			if diff := gocmp.Diff(test.want, written(requests), cmpopts.EquateEmpty()); diff != "" || err != nil {
				t.Errorf("writes (-want +got):\n%s%v", diff, err)
			}
			if test.goes && w.wake != 0 {
				t.Errorf("looked at again after %s", w.wake)
			}
			interrupt(t, allocations.At("p"), requests, site)
		})
	}
}

func elsewhere(a *ipamv1.IPAllocation) { a.Namespace = "other" }

// retained: the claim has released it, and it is kept for the next one.
func retained(a *ipamv1.IPAllocation) {
	a.Spec.State, a.Spec.ReleasedAt = ipamv1.RetainedState, metav1.NewTime(now)
}

func createdAt(at time.Time) allocations.Edit {
	return func(a *ipamv1.IPAllocation) { a.CreationTimestamp = metav1.NewTime(at) }
}

// takeAway ends a record whatever keeps it.
func takeAway(t *testing.T, w *site, a *ipamv1.IPAllocation) {
	t.Helper()
	stored := &ipamv1.IPAllocation{}
	err := w.Raw.Get(t.Context(), client.ObjectKeyFromObject(a), stored)
	if err == nil {
		stored.Finalizers = nil
		err = w.Raw.Update(t.Context(), stored)
	}
	if client.IgnoreNotFound(err) != nil {
		t.Error(err)
	}
}

// TestAPoolsEndIsInterrupted at each request in turn: the pool keeps its finalizer while it has a block, and the next attempt finishes.
func TestAPoolsEndIsInterrupted(t *testing.T) {
	t.Parallel()
	for sentence, stored := range map[string]objects{
		"deleted": {poolP(deleted), block(), strayBlock()}, "gone": {block(), recordA(cools)},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			w := newSite(t, stored, nil)
			w.Until(func() bool {
				if _, err := w.once(t, "p"); err != nil {
					t.Fatal(err)
				}
				return !isStored(t, w, block())
			})
			w = newSite(t, stored, nil)
			_, _ = w.Reconcile(t.Context(), ctrl.Request{NamespacedName: allocations.At("p")})
			all := len(w.Requests())
			for failing := 1; failing <= all; failing++ {
				w := newSite(t, stored, nil)
				w.FailAt(failing)
				_, err := w.Reconcile(t.Context(), ctrl.Request{NamespacedName: allocations.At("p")})
				requests := w.Requests()
				if len(requests) < failing { // whether the index shows a write already decides about some
					continue
				}
				after := requests[failing-1:]
				if err == nil {
					t.Errorf("request %d, %s: its failure is not reported", failing, after[0])
				}
				if isStored(t, w, block()) && sentence == "deleted" && !isStored(t, w, poolP()) {
					t.Errorf("request %d, %s: the pool has gone before its block", failing, after[0])
				}
				w.FailAt(0)
				w.Until(func() bool {
					if _, err = w.once(t, "p"); errors.Is(err, ledger.ErrBusy) { // till the ledger shows what was written
						err = nil
					}
					return err != nil || !isStored(t, w, block())
				})
				if err != nil {
					t.Errorf("request %d, %s: the next attempt does not finish, %v", failing, after[0], err)
				}
			}
		})
	}
}

func isStored(t *testing.T, w *site, obj client.Object) bool {
	t.Helper()
	err := w.Raw.Get(t.Context(), client.ObjectKeyFromObject(obj), obj)
	if client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	return err == nil
}
