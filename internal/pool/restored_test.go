// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pool_test

import (
	"cmp"
	"testing"

	gocmp "github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/allocations"
)

// arrived: it was created with its block.
func arrived(p *ipamv1.IPPool) {
	metav1.SetMetaDataAnnotation(&p.ObjectMeta, ipamv1.ArrivedAnnotation, "true")
}

func withoutFinalizer(p *ipamv1.IPPool) { p.Finalizers = nil }

func withoutCIDR(p *ipamv1.IPPool) { p.Spec.CIDR = "" }

func inCluster(p *ipamv1.IPPool) { p.Spec.ClusterName = "c" }

// TestARestoredPoolThatIsHalted has its blocks recorded: what was handed out of them may be in use. Its conditions report no more than why it is
// halted.
func TestARestoredPoolThatIsHalted(t *testing.T) {
	t.Parallel()
	recorded := []string{"create IPAllocation", "patch IPAllocation"}
	const isPaused, missing = ipamv1.PoolReadyPausedReason, ipamv1.PoolReadyClusterNotFoundReason
	parent := objects{parentPool(), block(called("parent-block"), allocations.FromPool("parent"), allocations.Carved("parent"))}
	below := func(edits ...edit) objects {
		return append(objects{carvedPool(append([]edit{arrived}, edits...)...)}, parent...)
	}
	for sentence, test := range map[string]struct {
		pool   string
		stored objects
		want   []string
		told   string
		// wakes: it is looked at again, though nothing changes.
		wakes bool
	}{
		"it is paused":                       {stored: below(paused), want: recorded, told: isPaused},
		"its Cluster is missing":             {stored: below(inCluster), want: recorded, told: missing, wakes: true},
		"the record that it had comes along": {stored: append(below(paused), childOf(of("former"), cameWith)), want: recorded, told: isPaused},
		"a claim has part of its block":      {stored: append(below(paused), allocations.Named("a", "10.0.0.20/32", allocations.FromPool("parent"))), want: recorded[:1], told: isPaused, wakes: true},
		"it has its block":                   {stored: append(below(paused), childOf()), told: isPaused},
		"it is for a member":                 {stored: below(paused, delegated), want: recorded, told: isPaused},
		"it is leaving":                      {stored: below(paused, moving), told: isPaused},
		"it is leaving, and is held":         {stored: append(below(paused), childOf(held)), told: isPaused, wakes: true},
		"it is being deleted":                {stored: below(paused, deleted), told: isPaused},
		"it was not restored":                {stored: append(objects{carvedPool(paused)}, parent...), told: isPaused},
		"its parent is not there yet":        {stored: below(paused)[:1], told: isPaused, wakes: true},
		"its parent's block is elsewhere":    {stored: objects{carvedPool(arrived, paused), parentPool(), childOf(allocations.Elsewhere)}, told: isPaused, wakes: true},
		"it is a root":                       {pool: "p", stored: objects{poolP(paused)}, want: recorded, told: isPaused},
		"it is a root that has its block":    {pool: "p", stored: objects{poolP(paused), block()}, told: isPaused},
		"it is a root, and a block is taken": {pool: "p", stored: objects{poolP(paused), allocations.Root("q", "10.0.0.0/25")}, told: isPaused, wakes: true},
		"it is a root that was never served": {pool: "p", stored: objects{poolP(paused, withoutFinalizer)}, told: isPaused},
		"it is a root that is leaving":       {pool: "p", stored: objects{poolP(paused, moving)}, told: isPaused},
		"it is a root that cannot be served": {pool: "p", stored: objects{poolP(paused, withoutCIDR)}, told: isPaused},
		"it is a copy that is handed back":   {pool: "p", stored: objects{poolP(paused, copied), block(allocations.HandedBack("template"))}, told: isPaused},
		"it is a copy that is not for here":  {pool: "p", stored: objects{poolP(paused, stray)}, told: isPaused},
		"it is a pool of floating IPs":       {pool: "p", stored: objects{poolP(floating, paused)}, told: isPaused},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			name := cmp.Or(test.pool, "child")
			site := func() *site {
				w := newSite(t, test.stored, test.stored)
				w.registry.Cluster, w.registry.Federation = "edge-b", true
				return w
			}
			w := site()
			err := w.reconcile(t, allocations.At(name))
			requests := w.Requests()
			if diff := gocmp.Diff(test.want, written(requests), cmpopts.EquateEmpty()); diff != "" || err != nil {
				t.Errorf("writes (-want +got):\n%s%v", diff, err)
			}
			if wakes := w.wake != 0; wakes != test.wakes {
				t.Errorf("looked at again after %s", w.wake)
			}
			p := &ipamv1.IPPool{}
			if err := w.Raw.Get(t.Context(), allocations.At(name), p); err != nil {
				t.Fatal(err)
			}
			if ready := meta.FindStatusCondition(p.Status.Conditions, ipamv1.ReadyCondition); ready == nil || ready.Reason != test.told {
				t.Errorf("told %v, want %s", ready, test.told)
			}
			interrupt(t, allocations.At(name), requests, site)
		})
	}
}

// stray is a copy, here at edge-b, that Karmada made for another member.
func stray(p *ipamv1.IPPool) {
	p.Spec.DelegateTo = "edge-b"
	metav1.SetMetaDataAnnotation(&p.ObjectMeta, "work.karmada.io/namespace", "karmada-es-edge-a")
}
