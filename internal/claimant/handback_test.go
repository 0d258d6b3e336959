// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claimant

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/allocations"
)

// returned is a report of edge-a that it has handed back the block of this template.
func returned(uid string, generation *int64) *ipamv1.MemberStatus {
	return &ipamv1.MemberStatus{Cluster: "edge-a", Released: &ipamv1.ReleasedTemplate{TemplateUID: uid, TemplateGeneration: generation}}
}

// TestWhetherAMemberHasHandedABlockBack, by the report in the pool's status and by force-release; and
// what the pool waits for.
func TestWhetherAMemberHasHandedABlockBack(t *testing.T) {
	t.Parallel()
	const unreported = `cluster "edge-a" has not reported the pool`
	byAnother := returned("pool child", nil)
	byAnother.Cluster = "edge-b"
	refused := returned("pool child", ptr.To[int64](3))
	refused.Applied, refused.Message = ipamv1.MemberRefused, "it overlaps"
	for sentence, test := range map[string]struct {
		report *ipamv1.MemberStatus
		forced string
		ok     bool
		lacks  string
	}{
		"never reported":                     {lacks: unreported},
		"forced":                             {forced: "edge-a", ok: true, lacks: unreported},
		"forced for another member":          {forced: "edge-b", lacks: unreported},
		"reported":                           {report: returned("pool child", ptr.To[int64](3)), ok: true},
		"reported, and forced":               {report: returned("pool child", ptr.To[int64](3)), forced: "edge-a", ok: true},
		"reported, forced for another":       {report: returned("pool child", ptr.To[int64](3)), forced: "edge-b", ok: true},
		"of a later generation":              {report: returned("pool child", ptr.To[int64](4)), ok: true},
		"without a generation":               {report: returned("pool child", nil), ok: true},
		"refused since":                      {report: refused, ok: true},
		"of an older generation":             {report: returned("pool child", ptr.To[int64](2)), lacks: `cluster "edge-a" has handed back generation 2 of the pool, and generation 3 is wanted`},
		"of an older generation, and forced": {report: returned("pool child", ptr.To[int64](2)), forced: "edge-a", ok: true, lacks: `cluster "edge-a" has handed back generation 2 of the pool, and generation 3 is wanted`},
		"of another template":                {report: returned("earlier", ptr.To[int64](3)), lacks: `cluster "edge-a" has handed back the block of another pool of the name, UID earlier`},
		"of another template, no generation": {report: returned("earlier", nil), lacks: `cluster "edge-a" has handed back the block of another pool of the name, UID earlier`},
		"of no template":                     {report: returned("", nil), lacks: `cluster "edge-a" has handed back the block of another pool of the name, UID `},
		"of another member":                  {report: byAnother, lacks: `the report is of cluster "edge-b", not of "edge-a"`},
		"of nobody":                          {report: &ipamv1.MemberStatus{Released: returned("pool child", nil).Released}, lacks: `the report is of cluster "", not of "edge-a"`},
		"refused":                            {report: &ipamv1.MemberStatus{Cluster: "edge-a", Applied: ipamv1.MemberRefused, Message: "it overlaps"}, lacks: `cluster "edge-a" refuses the pool: it overlaps`},
		"in use": {
			report: &ipamv1.MemberStatus{Cluster: "edge-a", Capacity: ipamv1.Capacity{Total: "256", Allocated: "12", Delegated: "64", Cooling: "1", Excluded: "2"}},
			lacks:  `cluster "edge-a" has not handed it back: of its addresses 12 allocated, 64 delegated, 1 cooling`,
		},
		"not in use": {
			report: &ipamv1.MemberStatus{Cluster: "edge-a", Capacity: ipamv1.Capacity{Total: "256", Allocated: "0", Available: "254"}},
			lacks:  `cluster "edge-a" has not handed it back: none of its addresses is in use`,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			for _, live := range []interface {
				client.Object
				PoolStatus() *ipamv1.IPPoolStatus
			}{&ipamv1.IPPool{}, &ipamv1.GlobalIPPool{}} {
				live.SetUID("pool child")
				live.SetGeneration(3)
				live.SetAnnotations(map[string]string{ipamv1.ForceReleaseAnnotation: test.forced})
				live.PoolStatus().Member = test.report
				if ok, waitsFor := handedBack(live, "edge-a"); ok != test.ok || waitsFor != test.lacks {
					t.Errorf("%T: handed back: %t; waits for: %s", live, ok, waitsFor)
				}
			}
		})
	}
}

// TestNoMemberHandsBackABlockOfNone: where no member is named, the annotation that is not there names it.
func TestNoMemberHandsBackABlockOfNone(t *testing.T) {
	t.Parallel()
	p := &ipamv1.IPPool{ObjectMeta: metav1.ObjectMeta{
		Namespace: "ns", Name: "child", UID: "pool child", DeletionTimestamp: ptr.To(metav1.Unix(1, 0)), Finalizers: []string{ipamv1.PoolFinalizer},
	}}
	w := newWorld(t, p)
	h := w.shown(t, allocations.Named("a", "10.0.0.0/28", block))
	o := w.Observe([]ledger.Holding{h})
	if err := o.Get(t.Context(), client.ObjectKeyFromObject(p), &ipamv1.IPPool{}); err != nil {
		t.Fatal(err)
	}
	proof, _, err := o.Deleted(t.Context(), h.Claim, ipamv1.PoolFinalizer, "")
	if back, waitsFor := proof.HandedBack(""); !proof.IsProved() || back.IsProved() || waitsFor != "" || err != nil {
		t.Errorf("deleted: %t, handed back: %t, waits for %q, %v", proof.IsProved(), back.IsProved(), waitsFor, err)
	}
}

// TestWhatIsNoPoolIsNotReported, whatever has come to be under a name.
func TestWhatIsNoPoolIsNotReported(t *testing.T) {
	t.Parallel()
	if ok, waitsFor := handedBack(&ipamv1.IPClaim{}, "edge-a"); ok || waitsFor != `cluster "edge-a" has not reported the pool` {
		t.Errorf("handed back: %t; waits for: %s", ok, waitsFor)
	}
}

// TestWhatIsProvedOfABlockThatIsHandedBack: only what the report of its member or an operator says of a
// pool that is being deleted, as it was shown.
func TestWhatIsProvedOfABlockThatIsHandedBack(t *testing.T) {
	t.Parallel()
	record := allocations.Named("a", "10.0.0.0/28", block, withMember)
	type edits []func(*ipamv1.IPPool)
	forced := func(member string) func(*ipamv1.IPPool) {
		return func(p *ipamv1.IPPool) { p.Annotations = map[string]string{ipamv1.ForceReleaseAnnotation: member} }
	}
	reported := func(p *ipamv1.IPPool) { p.Status.Member = returned("pool child", nil) }
	deleted := func(p *ipamv1.IPPool) {
		p.DeletionTimestamp, p.Finalizers = ptr.To(metav1.Unix(1, 0)), []string{ipamv1.PoolFinalizer}
	}
	isAnother := func(p *ipamv1.IPPool) { p.UID = "another" }
	isUsed := func(p *ipamv1.IPPool) { p.Finalizers = append(p.Finalizers, "others") }
	moves := func(p *ipamv1.IPPool) { p.Annotations = map[string]string{clusterctlv1.DeleteForMoveAnnotation: ""} }
	for sentence, test := range map[string]struct {
		edits    edits
		proved   bool
		byReport bool
	}{
		"it is deleted, and forced":           {edits: edits{deleted, forced("edge-a")}, proved: true},
		"it is deleted, and handed back":      {edits: edits{deleted, reported}, proved: true, byReport: true},
		"it is deleted, forced, handed back":  {edits: edits{deleted, forced("edge-a"), reported}, proved: true, byReport: true},
		"it is deleted":                       {edits: edits{deleted}},
		"it is forced, and lives":             {edits: edits{forced("edge-a")}},
		"it is handed back, and lives":        {edits: edits{reported}},
		"another member is named":             {edits: edits{deleted, forced("edge-b")}},
		"no member is named":                  {edits: edits{deleted, forced("")}},
		"it is another pool of the name":      {edits: edits{deleted, forced("edge-a"), reported, isAnother}},
		"it is deleted, forced, and in use":   {edits: edits{deleted, forced("edge-a"), isUsed}},
		"it is handed back, and in use":       {edits: edits{deleted, reported, isUsed}},
		"it is deleted, forced, and it moves": {edits: edits{deleted, reported, moves}},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			p := &ipamv1.IPPool{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "child", UID: "pool child"}}
			for _, edit := range test.edits {
				edit(p)
			}
			w := newWorld(t, p)
			h := w.shown(t, record)
			o := w.Observe([]ledger.Holding{h})
			live := &ipamv1.IPPool{}
			if err := o.Get(t.Context(), client.ObjectKeyFromObject(p), live); err != nil {
				t.Fatal(err)
			}
			forced("edge-a")(live) // by the caller, after the read
			reported(live)
			proof, _, err := o.Deleted(t.Context(), h.Claim, ipamv1.PoolFinalizer, "")
			back, waitsFor := proof.HandedBack("edge-a")
			if back.IsProved() != test.proved || back.covers(h) != test.proved || back.IsForced() != (test.proved && !test.byReport) || err != nil {
				t.Errorf("proved: %t, by force: %t, %v", back.IsProved(), back.IsForced(), err)
			}
			if proof.IsProved() && test.proved != (waitsFor == "") {
				t.Errorf("waits for: %s", waitsFor)
			}
		})
	}
}
