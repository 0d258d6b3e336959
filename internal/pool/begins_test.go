// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pool_test

import (
	"slices"
	"strings"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/allocations"
)

// asking is a pool that came past the webhooks, without a block of its parent.
func asking(length int32, edits ...edit) *ipamv1.IPPool {
	return carvedPool(append([]edit{func(p *ipamv1.IPPool) { p.Spec.CIDR, p.Spec.PrefixLength = "", ptr.To(length) }}, edits...)...)
}

// delegated makes a pool one for member edge-a.
func delegated(p *ipamv1.IPPool) { p.Spec.DelegateTo = "edge-a" }

// TestAPoolComesWithoutABlock: it gets one of its parent, which is recorded before the pool names it.
func TestAPoolComesWithoutABlock(t *testing.T) {
	t.Parallel()
	parent := objects{parentPool(), block(called("parent-block"), allocations.FromPool("parent"), allocations.Carved("parent"))}
	carved := []string{"create IPAllocation", "patch IPPool"}
	for sentence, test := range map[string]struct {
		stored, cached objects
		want           []string
		// told is the reason that the pool's Ready condition has.
		told string
	}{
		"its parent has room":          {stored: append(objects{asking(28)}, parent...), want: carved},
		"its parent has no room":       {stored: append(objects{asking(25), allocations.Named("a", "10.0.0.4/32", allocations.FromPool("parent")), allocations.Named("b", "10.0.0.132/32", allocations.FromPool("parent"))}, parent...)},
		"its parent is not there":      {stored: objects{asking(28)}, told: ipamv1.PoolReadyParentNotReadyReason},
		"for a member":                 {stored: append(objects{asking(28, delegated)}, parent...), want: carved},
		"for a member, and it is gone": {stored: parent, cached: append(objects{asking(28, delegated)}, parent...)},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			site := func() *site {
				w := newSite(t, test.stored, orElse(test.cached, test.stored))
				w.registry.Federation = true
				return w
			}
			w := site()
			err := w.reconcile(t, allocations.At("child"))
			requests := w.Requests()
			if diff := gocmp.Diff(test.want, written(requests), cmpopts.EquateEmpty()); diff != "" || err != nil {
				t.Errorf("writes (-want +got):\n%s%v", diff, err)
			}
			p := &ipamv1.IPPool{}
			if err := w.Raw.Get(t.Context(), allocations.At("child"), p); client.IgnoreNotFound(err) != nil {
				t.Fatal(err)
			}
			if ready := meta.FindStatusCondition(p.Status.Conditions, ipamv1.ReadyCondition); test.told != "" && (ready == nil || ready.Reason != test.told) {
				t.Errorf("told %v, want %s", ready, test.told)
			}
			interrupt(t, allocations.At("child"), requests, site)
		})
	}
}

// TestAHubWithItsMembersName serves nothing of the block that the member has, and says what is wrong.
func TestAHubWithItsMembersName(t *testing.T) {
	t.Parallel()
	own := carvedPool(delegated)
	for name, test := range map[string]struct {
		cluster, reason string
		words           []string
	}{
		"its own":       {reason: ipamv1.PoolReadyDelegatedReason},
		"another's":     {cluster: "edge-b", reason: ipamv1.PoolReadyDelegatedReason},
		"that member's": {cluster: "edge-a", reason: ipamv1.PoolReadyDelegatedElsewhereReason, words: []string{`delegated the block to cluster "edge-a"`, `--cluster-name is "edge-a" here`}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			record := childOf(allocations.DelegatedTo("edge-a"), allocations.Confirmed)
			w := newSite(t, objects{own, parentPool(), block(called("parent-block"), allocations.FromPool("parent"), allocations.Carved("parent"), allocations.Confirmed), record}, nil)
			w.registry.Cluster, w.registry.Federation = test.cluster, true
			err := w.reconcile(t, allocations.At(own.Name))
			if writes := written(w.Requests()); err != nil || slices.Contains(writes, "create IPAllocation") {
				t.Errorf("written: %v, %v", writes, err)
			}
			p := &ipamv1.IPPool{}
			if err := w.Raw.Get(t.Context(), allocations.At(own.Name), p); err != nil {
				t.Fatal(err)
			}
			ready := meta.FindStatusCondition(p.Status.Conditions, ipamv1.ReadyCondition)
			if ready == nil || ready.Reason != test.reason || slices.ContainsFunc(test.words, func(words string) bool { return !strings.Contains(ready.Message, words) }) {
				t.Errorf("Ready is %v", ready)
			}
			says := w.registry.Says(own)
			if capacity, _ := w.Ledger.Of(own.PoolReference()).Capacity(); capacity.Serving && says.IsServedHere() {
				t.Error("it is served here")
			}
		})
	}
}

// TestWhereAPoolIsAtHome is written into it once, where it has a home.
func TestWhereAPoolIsAtHome(t *testing.T) {
	t.Parallel()
	global := func(edits ...func(*ipamv1.GlobalIPPool)) *ipamv1.GlobalIPPool {
		p := &ipamv1.GlobalIPPool{
			ObjectMeta: metav1.ObjectMeta{Name: "p", UID: "pool p", ResourceVersion: "11", Generation: 1, Finalizers: []string{ipamv1.PoolFinalizer}},
		}
		p.Spec.CIDR = "10.0.0.0/24"
		for _, e := range edits {
			e(p)
		}
		return p
	}
	for sentence, test := range map[string]struct {
		kind    pools.Kind
		stored  client.Object
		home    string
		settles bool
	}{
		"it names none":                    {kind: pools.GlobalIPPools, stored: global(), home: "here", settles: true},
		"it names none, nor is here known": {kind: pools.GlobalIPPools, stored: global()},
		"it names one": {kind: pools.GlobalIPPools, home: "here", stored: global(func(p *ipamv1.GlobalIPPool) {
			metav1.SetMetaDataAnnotation(&p.ObjectMeta, ipamv1.HomeAnnotation, "elsewhere")
		})},
		"it was delegated here": {kind: pools.GlobalIPPools, home: "here", stored: global(func(p *ipamv1.GlobalIPPool) { p.Spec.DelegateTo = "edge-b" })},
		"a pool that has none":  {kind: pools.IPPools, stored: poolP(), home: "here"},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			site := func() *site {
				w := newSiteOf(t, test.kind, objects{test.stored}, objects{test.stored})
				w.registry.Home, w.registry.Cluster, w.registry.Federation = test.home, "edge-b", true
				return w
			}
			w := site()
			err := w.reconcile(t, client.ObjectKeyFromObject(test.stored))
			requests := w.Requests()
			if slices.Contains(requests, "patch "+test.kind.Kind) != test.settles || err != nil {
				t.Errorf("asked %v, %v", requests, err)
			}
			interrupt(t, client.ObjectKeyFromObject(test.stored), requests, site)
		})
	}
}
