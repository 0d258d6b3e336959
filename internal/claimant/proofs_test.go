// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claimant

import (
	"cmp"
	"errors"
	"net/netip"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/allocations"
)

const own = ipamv1.ClaimFinalizer

// claimA is the claim that the record of that name is for, as it is stored.
func claimA(edits ...func(*ipamv1beta2.IPAddressClaim)) *ipamv1beta2.IPAddressClaim {
	c := &ipamv1beta2.IPAddressClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a", UID: "claim a", Finalizers: []string{own}}}
	for _, edit := range edits {
		edit(c)
	}
	return c
}

func leaves(c *ipamv1beta2.IPAddressClaim) { c.DeletionTimestamp = ptr.To(metav1.Unix(1, 0)) }

func inUse(c *ipamv1beta2.IPAddressClaim) { c.Finalizers = append(c.Finalizers, "others") }

func another(c *ipamv1beta2.IPAddressClaim) { c.UID = "another" }

func annotated(key, value string) func(*ipamv1beta2.IPAddressClaim) {
	return func(c *ipamv1beta2.IPAddressClaim) { metav1.SetMetaDataAnnotation(&c.ObjectMeta, key, value) }
}

// observed is what an observation, begun with the record of claim a, was shown of the claim.
func observed(t *testing.T, objects ...client.Object) (*world, *Observation, ledger.Holding) {
	t.Helper()
	record := allocations.Named("a", "10.0.0.4/32")
	w := newWorld(t, objects...)
	h := w.shown(t, record)
	o := w.Observe([]ledger.Holding{h})
	if err := o.Get(t.Context(), types.NamespacedName{Namespace: "ns", Name: "a"}, &ipamv1beta2.IPAddressClaim{}); client.IgnoreNotFound(err) != nil {
		t.Fatal(err)
	}
	return w, o, h
}

func TestWhatIsProvedOfAClaim(t *testing.T) {
	t.Parallel()
	moving := annotated(clusterctlv1.DeleteForMoveAnnotation, "")
	paused := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c"}, Spec: clusterv1.ClusterSpec{Paused: ptr.To(true)}}
	for sentence, test := range map[string]struct {
		there                        []client.Object
		kept                         Kept
		deleted, moved, gone, stored bool
	}{
		"it lives":            {there: []client.Object{claimA()}, kept: InUse, stored: true},
		"it is being deleted": {there: []client.Object{claimA(leaves)}, deleted: true, stored: true},
		"it is in use":        {there: []client.Object{claimA(leaves, inUse)}, kept: InUse, stored: true},
		"the garbage collector has it": {there: []client.Object{claimA(leaves, func(c *ipamv1beta2.IPAddressClaim) {
			c.Finalizers = append(c.Finalizers, metav1.FinalizerDeleteDependents)
		})}, deleted: true, stored: true},
		"it is paused":                {there: []client.Object{claimA(leaves, annotated(clusterv1.PausedAnnotation, ""))}, kept: Paused, stored: true},
		"its Cluster is paused":       {there: []client.Object{claimA(leaves), paused}, kept: Paused, stored: true},
		"it moves":                    {there: []client.Object{claimA(leaves, moving)}, kept: Moving, stored: true},
		"it moves, and is paused":     {there: []client.Object{claimA(leaves, moving), paused}, kept: Paused, stored: true},
		"it has moved":                {there: []client.Object{claimA(leaves, moving, annotated(ipamv1.MovedAnnotation, "claim a"))}, kept: Moving, moved: true, stored: true},
		"it has moved, and is in use": {there: []client.Object{claimA(leaves, inUse, moving, annotated(ipamv1.MovedAnnotation, "claim a"))}, kept: InUse, stored: true},
		"it has moved, clusterctl does not delete it": {there: []client.Object{claimA(leaves, annotated(ipamv1.MovedAnnotation, "claim a"))}, deleted: true, stored: true},
		"it moves, and lives":                         {there: []client.Object{claimA(moving, annotated(ipamv1.MovedAnnotation, "claim a"))}, kept: InUse, stored: true},
		"an earlier one has moved":                    {there: []client.Object{claimA(leaves, moving, annotated(ipamv1.MovedAnnotation, "earlier"))}, kept: Moving, stored: true},
		"there is none":                               {kept: InUse, gone: true},
		"there is another one":                        {there: []client.Object{claimA(another)}, kept: InUse, gone: true},
		"another one is being deleted":                {there: []client.Object{claimA(another, leaves)}, kept: InUse, gone: true},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			w, o, h := observed(t, test.there...)
			w.requests = nil
			deleted, kept, err := o.Deleted(t.Context(), h.Claim, own, "c")
			if deleted.IsProved() != test.deleted || kept != test.kept || err != nil {
				t.Errorf("deleted: %t, kept %q, %v", deleted.IsProved(), kept, err)
			}
			if kept == InUse && len(w.requests) > 0 {
				t.Errorf("asked more than it had to: %v", w.requests)
			}
			if got := o.MovedAway(h.Claim, own).IsProved(); got != test.moved {
				t.Errorf("moved: %t", got)
			}
			if got := o.Gone(h.Claim).IsProved(); got != test.gone {
				t.Errorf("gone: %t", got)
			}
			if got := o.Stored(h.Claim).IsProved(); got != test.stored {
				t.Errorf("stored: %t", got)
			}
		})
	}
}

// TestWhatWasNotKnownBeforeIsNotGone: a claim that was created after the read is not there in it.
func TestWhatWasNotKnownBeforeIsNotGone(t *testing.T) {
	t.Parallel()
	_, o, h := observed(t)
	later := h.Claim
	later.UID = "later"
	if o.Gone(later).IsProved() {
		t.Error("gone")
	}
	answer := &ipamv1beta2.IPAddress{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{{UID: "later"}}}}
	o = o.exit.Observe(nil, answer)
	if o.Gone(later).IsProved() {
		t.Error("gone before its name was read")
	}
	if err := o.Get(t.Context(), types.NamespacedName{Namespace: "ns", Name: "a"}, &ipamv1beta2.IPAddressClaim{}); err == nil || !o.Gone(later).IsProved() {
		t.Errorf("what an answer names is not gone, %v", err)
	}
}

// TestWhatCameLaterIsNotCovered: a proof about what was known under a name is about that alone.
func TestWhatCameLaterIsNotCovered(t *testing.T) {
	t.Parallel()
	_, o, h := observed(t, claimA())
	earlier, changed, added := h, h, h
	earlier.Claim.UID = "earlier"
	changed.Version.Version += "1"
	added.Version.UID = "added"
	stored, answered := o.Stored(h.Claim), o.Answered(h.Claim, claimA())
	if !stored.covers(earlier) || stored.covers(h) || !answered.covers(h) || !answered.covers(earlier) {
		t.Error("what was known is not covered")
	}
	for _, late := range []ledger.Holding{changed, added} {
		late.Claim.UID = "earlier"
		if stored.covers(late) || answered.covers(late) || answered.Returned(late).IsProved() {
			t.Errorf("%v is covered", late.Version)
		}
	}
}

func TestAnAnswerIsTheClaimsAndWasRead(t *testing.T) {
	t.Parallel()
	answer := &ipamv1beta2.IPAddress{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a", UID: "answer", OwnerReferences: []metav1.OwnerReference{
		{APIVersion: ipamv1beta2.GroupVersion.String(), Kind: "IPAddressClaim", Name: "a", UID: "claim a"},
	}}}
	_, o, h := observed(t, claimA(), answer)
	if o.Answered(h.Claim, answer).IsProved() {
		t.Error("the answer was not read")
	}
	if err := o.List(t.Context(), &ipamv1beta2.IPAddressList{}, client.InNamespace("ns")); err != nil {
		t.Fatal(err)
	}
	forged := answer.DeepCopy()
	forged.UID = "forged"
	if !o.Answered(h.Claim, answer).IsProved() || o.Answered(h.Claim, forged).IsProved() {
		t.Error("it is not just the answer that was read")
	}
	earlier := h.Claim
	earlier.UID = "earlier"
	if o.Answered(earlier, answer).IsProved() {
		t.Error("it answers a claim that is not stored")
	}
}

// TestAnObservationKeepsWhatItWasShown: nothing is proved by what the caller makes of an object.
func TestAnObservationKeepsWhatItWasShown(t *testing.T) {
	t.Parallel()
	w := newWorld(t, claimA(leaves, annotated(clusterv1.PausedAnnotation, "")))
	h := w.shown(t, allocations.Named("a", "10.0.0.4/32"))
	o, live := w.Observe([]ledger.Holding{h}), &ipamv1beta2.IPAddressClaim{}
	if err := o.Get(t.Context(), types.NamespacedName{Namespace: "ns", Name: "a"}, live); err != nil {
		t.Fatal(err)
	}
	delete(live.Annotations, clusterv1.PausedAnnotation)
	if _, kept, _ := o.Deleted(t.Context(), h.Claim, own, ""); kept != Paused {
		t.Errorf("kept: %q", kept)
	}
}

func TestWhatIsProvedOfAPoolThatShrinks(t *testing.T) {
	t.Parallel()
	record := allocations.Named("block", "10.0.0.0/28", block)
	known := &ipamv1.IPPool{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "child", UID: "pool child", Generation: 2}}
	paused := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c"}, Spec: clusterv1.ClusterSpec{Paused: ptr.To(true)}}
	running := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c"}}
	for sentence, test := range map[string]struct {
		edit   func(*ipamv1.IPPool)
		there  []client.Object
		proved bool
		busy   bool
	}{
		"it is as it was":           {edit: func(*ipamv1.IPPool) {}, proved: true},
		"it is another one":         {edit: func(p *ipamv1.IPPool) { p.UID = "another" }},
		"it was changed":            {edit: func(p *ipamv1.IPPool) { p.Generation = 3 }},
		"it moves":                  {edit: func(p *ipamv1.IPPool) { p.Annotations = map[string]string{clusterctlv1.DeleteForMoveAnnotation: ""} }},
		"it is paused":              {edit: func(p *ipamv1.IPPool) { p.Annotations = map[string]string{clusterv1.PausedAnnotation: ""} }},
		"it notes the block still":  {edit: func(p *ipamv1.IPPool) { p.Annotations = map[string]string{ipamv1.GrantedAnnotation: "x"} }, busy: true},
		"its Cluster is paused":     {edit: func(p *ipamv1.IPPool) { p.Labels = map[string]string{clusterv1.ClusterNameLabel: "c"} }, there: []client.Object{paused}},
		"its Cluster is not there":  {edit: func(p *ipamv1.IPPool) { p.Labels = map[string]string{clusterv1.ClusterNameLabel: "c"} }, proved: true},
		"its Cluster is not paused": {edit: func(p *ipamv1.IPPool) { p.Labels = map[string]string{clusterv1.ClusterNameLabel: "c"} }, there: []client.Object{running}, proved: true},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			stored := known.DeepCopy()
			test.edit(stored)
			w := newWorld(t, append(test.there, stored)...)
			h := w.shown(t, record)
			o := w.Observe([]ledger.Holding{h})
			if err := o.Get(t.Context(), client.ObjectKeyFromObject(known), &ipamv1.IPPool{}); err != nil {
				t.Fatal(err)
			}
			shrunk, err := o.Shrunk(t.Context(), h.Claim, known)
			if shrunk.IsProved() != test.proved || shrunk.covers(h) != test.proved || errors.Is(err, ledger.ErrBusy) != test.busy {
				t.Errorf("proved: %t, %v", shrunk.IsProved(), err)
			}
			h.Version.UID = "a later block"
			if shrunk.covers(h) {
				t.Error("a block that came later is covered")
			}
		})
	}
}

func TestWhatIsProvedOfARecord(t *testing.T) {
	t.Parallel()
	movesAlone := func(a *ipamv1.IPAllocation) { a.Annotations[ipamv1.MovedAnnotation] = "claim a" }
	elsewhere := func(a *ipamv1.IPAllocation) { a.Spec.PoolRef.Namespace = "" }
	cools := func(a *ipamv1.IPAllocation) { allocations.Released(a); a.Spec.State = ipamv1.CoolingState }
	retained := func(a *ipamv1.IPAllocation) { allocations.Released(a); a.Spec.State = ipamv1.RetainedState }
	type edits = []allocations.Edit
	for sentence, test := range map[string]struct {
		edits                      edits
		leaving, unwanted, evicted bool
	}{
		"it stays":                           {},
		"it is only marked":                  {edits: edits{allocations.Terminating}},
		"it moves with its pool":             {edits: edits{allocations.Moving, allocations.Terminating}},
		"it moves alone":                     {edits: edits{allocations.Moving, movesAlone, allocations.Terminating}, leaving: true},
		"it moves, and is not marked":        {edits: edits{allocations.Moving, movesAlone}},
		"it moves, out of Weir's hands":      {edits: edits{allocations.Moving, movesAlone, leftToOthers}},
		"a hold":                             {edits: edits{held}},
		"a hold that was deleted":            {edits: edits{held, allocations.Terminating}, unwanted: true},
		"a hold that cools":                  {edits: edits{held, allocations.Released, allocations.Terminating}},
		"it cools":                           {edits: edits{cools, elsewhere}},
		"it cools where its pool is":         {edits: edits{cools, allocations.Terminating}},
		"it cools elsewhere, and is deleted": {edits: edits{cools, elsewhere, allocations.Terminating}, evicted: true},
		"it is retained elsewhere":           {edits: edits{retained, elsewhere, allocations.Terminating}},
		"it is in use elsewhere":             {edits: edits{elsewhere, allocations.Terminating}},
		"a member's block":                   {edits: edits{block, withMember}},
		"a member's block that was deleted":  {edits: edits{block, withMember, allocations.Terminating}, unwanted: true},
		"a member's block that was released": {edits: edits{block, withMember, allocations.Released, allocations.Terminating}},
		"a member's block that moves":        {edits: edits{block, withMember, allocations.Moving, movesAlone, allocations.Terminating}, leaving: true},
		"a block that was deleted":           {edits: edits{block, allocations.Terminating}},
		"it moves out of a pool elsewhere":   {edits: edits{allocations.Moving, elsewhere, allocations.Terminating}, leaving: true},
		"it was released elsewhere":          {edits: edits{allocations.Released, elsewhere, allocations.Terminating}},
		"a hand-back":                        {edits: edits{rootBlock, back}},
		"a hand-back that was deleted":       {edits: edits{rootBlock, back, allocations.Terminating}, unwanted: true},
		"a hold that moves alone":            {edits: edits{held, allocations.Moving, movesAlone, allocations.Terminating}, unwanted: true},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			record := allocations.Named("a", "10.0.0.4/32", test.edits...)
			w := newWorld(t, record)
			h := w.shown(t, record)
			o := w.Observe(nil)
			if o.Leaving(h).IsProved() || o.Unwanted(h).IsProved() || o.Evicted(h).IsProved() {
				t.Error("the record was not read")
			}
			if err := o.Get(t.Context(), h.Record, &ipamv1.IPAllocation{}); err != nil {
				t.Fatal(err)
			}
			if leaving := o.Leaving(h); leaving.IsProved() != test.leaving || leaving.covers(h) != test.leaving {
				t.Errorf("leaving: %t", leaving.IsProved())
			}
			if evicted := o.Evicted(h); evicted.IsProved() != test.evicted || evicted.covers(h) != test.evicted {
				t.Errorf("evicted: %t", evicted.IsProved())
			}
			if unwanted := o.Unwanted(h); unwanted.IsProved() != test.unwanted || unwanted.covers(h) != test.unwanted {
				t.Errorf("unwanted: %t", unwanted.IsProved())
			}
		})
	}
}

// TestARecordIsEvictedAsTheLedgerKnowsIt: the record that goes on cooling in its place is made by that. If the ledger does not know yet
// that the record cools, the new one would hold the prefix for a claim that has given it up, or keep it for the next one.
func TestARecordIsEvictedAsTheLedgerKnowsIt(t *testing.T) {
	t.Parallel()
	record := allocations.Named("a", "10.0.0.4/32", allocations.Released, allocations.Terminating, func(a *ipamv1.IPAllocation) {
		a.Spec.State, a.Spec.PoolRef.Namespace = ipamv1.CoolingState, ""
	})
	for sentence, test := range map[string]struct {
		edit   func(*ledger.Holding)
		proved bool
	}{
		"it cools":           {edit: func(*ledger.Holding) {}, proved: true},
		"it is not released": {edit: func(h *ledger.Holding) { h.ReleasedAt = time.Time{} }},
		"it is retained":     {edit: func(h *ledger.Holding) { h.Retained = true }},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, record)
			h, o := w.shown(t, record), w.Observe(nil)
			if err := o.Get(t.Context(), h.Record, &ipamv1.IPAllocation{}); err != nil {
				t.Fatal(err)
			}
			test.edit(&h)
			if got := o.Evicted(h).IsProved(); got != test.proved {
				t.Errorf("evicted: %t", got)
			}
		})
	}
}

// TestAHoldEndsByTheLedgerOrALiveRead: here, the ledger shows no block, and the hold was not read.
func TestAHoldEndsByTheLedgerOrALiveRead(t *testing.T) {
	t.Parallel()
	record := allocations.Named("a", "10.0.0.4/32", held)
	w := newWorld(t, record)
	hold := w.shown(t, record)
	if w.Returned(hold.Claim, hold.Space, hold).IsProved() {
		t.Error("the ledger shows no record of what is back")
	}
	o, back := w.Observe(nil), ledger.Return{Back: hold, Hold: hold}
	if o.Returned(back).IsProved() {
		t.Error("the hold was not read")
	}
	if err := o.Get(t.Context(), hold.Record, &ipamv1.IPAllocation{}); err != nil || !o.Returned(back).covers(hold) {
		t.Errorf("what is back does not end its hold, %v", err)
	}
	back.Back.Claim.UID = "of an earlier time"
	if o.Returned(back).IsProved() {
		t.Error("a copy of an earlier time ends the hold")
	}
}

func TestWhatHasExpired(t *testing.T) {
	t.Parallel()
	now := time.Unix(1000, 0)
	for sentence, test := range map[string]struct {
		edit     func(*ledger.Holding)
		cooldown time.Duration
		free     bool
		left     time.Duration
		expired  bool
	}{
		"it was not released":             {edit: func(h *ledger.Holding) { h.ReleasedAt = time.Time{} }, cooldown: -1},
		"it cools":                        {cooldown: 15 * time.Second, left: 5 * time.Second},
		"it has cooled down":              {cooldown: 10 * time.Second, expired: true},
		"a clock was ahead":               {edit: func(h *ledger.Holding) { h.ReleasedAt = now.Add(time.Hour) }, cooldown: time.Minute, left: time.Minute},
		"its pool has no cooldown":        {cooldown: time.Minute, free: true, expired: true},
		"there is no pool":                {cooldown: -1, expired: true},
		"it is retained":                  {edit: func(h *ledger.Holding) { h.Retained = true }, cooldown: -1},
		"it is retained, and was deleted": {edit: func(h *ledger.Holding) { h.Retained, h.Terminating = true, true }, cooldown: time.Minute, expired: true},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			record := allocations.Named("a", "10.0.0.4/32", allocations.Released)
			w := newWorld(t, record)
			if test.free {
				w.free(t)
			}
			h := w.shown(t, record)
			h.ReleasedAt = now.Add(-10 * time.Second)
			if test.edit != nil {
				test.edit(&h)
			}
			expired, left := w.Expired(h, test.cooldown, now)
			if expired.IsProved() != test.expired || expired.covers(h) != test.expired || left != test.left {
				t.Errorf("expired: %t, left: %s", expired.IsProved(), left)
			}
		})
	}
}

// TestWhatIsProvedOfABlockThatIsDelegatedAgain: only by this very copy, as it was shown, whose template
// is known and another one, which serves, is not being deleted, and has part of the block.
func TestWhatIsProvedOfABlockThatIsDelegatedAgain(t *testing.T) {
	t.Parallel()
	annotated := func(key, value string) func(*ipamv1.IPPool) {
		return func(p *ipamv1.IPPool) { p.Annotations = map[string]string{key: value} }
	}
	again := annotated(ipamv1.TemplateAnnotation, "next")
	for sentence, test := range map[string]struct {
		edit   func(*ipamv1.IPPool)
		record []allocations.Edit
		proved bool
	}{
		"another template":               {proved: true},
		"Karmada's":                      {edit: annotated("resourcetemplate.karmada.io/uid", "next"), proved: true},
		"the whole of a larger block":    {edit: func(p *ipamv1.IPPool) { p.Spec.CIDR = "10.0.0.0/24" }, proved: true},
		"the same template":              {edit: annotated(ipamv1.TemplateAnnotation, "template")},
		"an unknown template":            {edit: func(p *ipamv1.IPPool) { p.Annotations = nil }},
		"it is another copy of the name": {edit: func(p *ipamv1.IPPool) { p.UID = "another" }},
		"it serves, as it says":          {edit: func(p *ipamv1.IPPool) { p.Spec.Mode = ipamv1.ServingMode }, proved: true},
		"it closes":                      {edit: func(p *ipamv1.IPPool) { p.Spec.Mode = ipamv1.ClosingMode }},
		"it drains":                      {edit: func(p *ipamv1.IPPool) { p.Spec.Mode = ipamv1.DrainingMode }},
		"it is being deleted":            {edit: func(p *ipamv1.IPPool) { p.DeletionTimestamp = ptr.To(metav1.Unix(1, 0)) }},
		"it is for another member":       {edit: func(p *ipamv1.IPPool) { p.Spec.DelegateTo = "edge-b" }},
		"it is not delegated":            {edit: func(p *ipamv1.IPPool) { p.Spec.DelegateTo = "" }},
		"it has another block":           {edit: func(p *ipamv1.IPPool) { p.Spec.CIDR = "10.0.1.0/28" }},
		"it has another address space":   {edit: func(p *ipamv1.IPPool) { p.Spec.AddressSpace = "other" }},
		"the record is no hand-back":     {record: []allocations.Edit{rootBlock}},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			p := &ipamv1.IPPool{
				ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "child", UID: "pool child", Finalizers: []string{ipamv1.PoolFinalizer}},
				Spec:       ipamv1.IPPoolSpec{CIDR: "10.0.0.0/29", DelegateTo: "edge-a"},
			}
			again(p)
			if test.edit != nil {
				test.edit(p)
			}
			w := newWorld(t, p)
			h := w.shown(t, allocations.Named("a", "10.0.0.0/28", append([]allocations.Edit{rootBlock, back}, test.record...)...))
			o, copied := w.Observe([]ledger.Holding{h}), ledger.ClaimOf(allocations.PoolRef("child"), "pool child")
			if o.Redelegated(copied, "edge-a").IsProved() {
				t.Error("the copy was not read")
			}
			live := &ipamv1.IPPool{}
			if err := o.Get(t.Context(), client.ObjectKeyFromObject(p), live); err != nil {
				t.Fatal(err)
			}
			again(live) // by the caller, after the read
			if got := o.Redelegated(copied, "edge-a").Ends(h); got != test.proved {
				t.Errorf("proved: %t", got)
			}
			for _, cluster := range []string{"", "edge-b"} {
				if o.Redelegated(copied, cluster).Ends(h) && sentence != "it is for another member" {
					t.Errorf("proved in cluster %q", cluster)
				}
			}
			changed := h
			changed.Version.Version = "999"
			if o.Redelegated(copied, "edge-a").Ends(changed) {
				t.Error("proved of a record that came later")
			}
		})
	}
}

// TestWhatIsProvedOfARecordThatAnotherStandsFor: that the other is stored, stands, and says the same.
func TestWhatIsProvedOfARecordThatAnotherStandsFor(t *testing.T) {
	t.Parallel()
	type edits = []allocations.Edit
	for sentence, test := range map[string]struct {
		edits   edits
		missing bool
		proved  bool
	}{
		"it stands":                  {proved: true},
		"it is gone":                 {missing: true},
		"it is not confirmed":        {edits: edits{func(a *ipamv1.IPAllocation) { a.Spec.State = ipamv1.ActiveState }}},
		"it was released":            {edits: edits{allocations.Released}},
		"it is being deleted":        {edits: edits{allocations.Terminating}},
		"it is nobody's":             {edits: edits{func(a *ipamv1.IPAllocation) { a.Finalizers = nil }}},
		"it is another record":       {edits: edits{allocations.WithUID("another")}},
		"of another member":          {edits: edits{allocations.DelegatedTo("edge-b")}},
		"of no member":               {edits: edits{allocations.DelegatedTo("")}},
		"of another block":           {edits: edits{func(a *ipamv1.IPAllocation) { a.Spec.CIDR = "10.0.0.16/28" }}},
		"out of another pool":        {edits: edits{allocations.FromPool("q")}},
		"in another space":           {edits: edits{allocations.Elsewhere}},
		"for a pool of another name": {edits: edits{allocations.Carved("other")}},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			later := []allocations.Edit{block, withMember, allocations.Confirmed, func(a *ipamv1.IPAllocation) { a.Spec.ClaimRef.UID = "later" }}
			known := allocations.Named("b", "10.0.0.0/28", later...)
			stored := allocations.Named("b", "10.0.0.0/28", append(later, test.edits...)...)
			var there []client.Object
			if !test.missing {
				there = append(there, stored)
			}
			w := newWorld(t, there...)
			h, other := w.shown(t, allocations.Named("a", "10.0.0.0/28", block, withMember)), w.shown(t, known)
			other.Version.UID = known.UID
			o := w.Observe(nil)
			if o.Superseded(h, other).IsProved() {
				t.Error("the other was not read")
			}
			if err := client.IgnoreNotFound(o.Get(t.Context(), other.Record, &ipamv1.IPAllocation{})); err != nil {
				t.Fatal(err)
			}
			proof := o.Superseded(h, other)
			if proof.covers(h) != test.proved {
				t.Errorf("proved: %t", proof.IsProved())
			}
			if proof.covers(other) {
				t.Error("the other goes, too")
			}
		})
	}
}

// TestARecordDoesNotStandForItself: a member's block would go with the only record that keeps it.
func TestARecordDoesNotStandForItself(t *testing.T) {
	t.Parallel()
	record := allocations.Named("a", "10.0.0.0/28", block, withMember, allocations.Confirmed)
	w := newWorld(t, record)
	h, o := w.shown(t, record), w.Observe(nil)
	if err := o.Get(t.Context(), h.Record, &ipamv1.IPAllocation{}); err != nil || o.Superseded(h, h).IsProved() {
		t.Errorf("it stands for itself, %v", err)
	}
}

// TestWhatIsProvedOfASecondAddress: a claim that is told another one, keeps that, and stays here, will not be told this one.
func TestWhatIsProvedOfASecondAddress(t *testing.T) {
	t.Parallel()
	moving := annotated(clusterctlv1.DeleteForMoveAnnotation, "")
	paused := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c"}, Spec: clusterv1.ClusterSpec{Paused: ptr.To(true)}}
	answer := func(edits ...func(*ipamv1beta2.IPAddress)) *ipamv1beta2.IPAddress {
		a := &ipamv1beta2.IPAddress{ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: "a", UID: "answer a", OwnerReferences: []metav1.OwnerReference{{UID: "claim a"}}, Finalizers: []string{own},
		}}
		for _, edit := range edits {
			edit(a)
		}
		return a
	}
	told, second := netip.MustParseAddr("10.0.0.4"), netip.MustParseAddr("10.0.0.5")
	for sentence, test := range map[string]struct {
		claim   *ipamv1beta2.IPAddressClaim
		answer  *ipamv1beta2.IPAddress
		there   []client.Object
		record  func(h *ledger.Holding)
		carries netip.Addr
		address netip.Addr
		proved  bool
	}{
		"it is answered with another one": {proved: true},
		"it is told this one":             {carries: second},
		"this one is told, and recorded":  {address: told},
		"another claim":                   {claim: claimA(another)},
		"it is being deleted":             {claim: claimA(leaves)},
		"it moves":                        {claim: claimA(moving)},
		"it came from elsewhere":          {claim: claimA(annotated(ipamv1.ArrivedAnnotation, "true"))},
		"it is paused":                    {claim: claimA(annotated(clusterv1.PausedAnnotation, ""))},
		"its Cluster is paused":           {there: []client.Object{paused}},
		"its answer is another claim's":   {answer: answer(func(a *ipamv1beta2.IPAddress) { a.OwnerReferences[0].UID = "another" })},
		"its answer is being deleted":     {answer: answer(func(a *ipamv1beta2.IPAddress) { a.DeletionTimestamp = ptr.To(metav1.Unix(1, 0)) })},
		"its answer came from elsewhere": {answer: answer(func(a *ipamv1beta2.IPAddress) {
			metav1.SetMetaDataAnnotation(&a.ObjectMeta, ipamv1.ArrivedAnnotation, "true")
		})},
		"its answer moves": {answer: answer(func(a *ipamv1beta2.IPAddress) {
			metav1.SetMetaDataAnnotation(&a.ObjectMeta, clusterctlv1.DeleteForMoveAnnotation, "")
		})},
		"it has a block":                  {record: func(h *ledger.Holding) { h.CIDR = netip.MustParsePrefix("10.0.0.4/31") }},
		"it has another record":           {record: func(h *ledger.Holding) { h.CIDR = netip.MustParsePrefix("10.0.0.6/32") }},
		"its record was restored":         {record: func(h *ledger.Holding) { h.Restored = true }},
		"its record is marked to go":      {record: func(h *ledger.Holding) { h.Terminating = true }},
		"its record is released":          {record: func(h *ledger.Holding) { h.ReleasedAt = time.Unix(1, 0) }},
		"nothing outside backs that":      {record: func(h *ledger.Holding) { h.Backed = false }},
		"its record was not known before": {record: func(h *ledger.Holding) { h.Version.Version += "1" }},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			claim, its := cmp.Or(test.claim, claimA()), cmp.Or(test.answer, answer())
			w := newWorld(t, append(test.there, claim, its)...)
			h := w.shown(t, allocations.Named("a", "10.0.0.4/32", backed))
			o := w.Observe([]ledger.Holding{h})
			if test.record != nil {
				test.record(&h)
			}
			key, seen := types.NamespacedName{Namespace: "ns", Name: "a"}, &ipamv1beta2.IPAddress{}
			if err := errors.Join(o.Get(t.Context(), key, &ipamv1beta2.IPAddressClaim{}), o.Get(t.Context(), key, seen)); err != nil {
				t.Fatal(err)
			}
			answer, address := Answer{Stored: seen, Address: cmp.Or(test.carries, told), Cluster: "c"}, cmp.Or(test.address, second)
			outside := &cloud{world: w}
			w.Outside = outside
			proof, err := o.Surplus(t.Context(), h, answer, address)
			if err != nil || proof.IsProved() != test.proved {
				t.Fatalf("proved: %t, %v", proof.IsProved(), err)
			}
			isAsked, err := w.GiveBackSurplus(t.Context(), proof)
			if isCovered := outside.proof.Covers("claim a", second); isCovered != test.proved || isAsked != isCovered || (err == nil) != test.proved || outside.proof.Covers("claim a", told) {
				t.Errorf("covered: %t, %v", isCovered, err)
			}
		})
	}
}

// TestNothingIsProvedOfWhatIsNoAnswerOrAddress, nor while the Cluster cannot be read.
func TestNothingIsProvedOfWhatIsNoAnswerOrAddress(t *testing.T) {
	t.Parallel()
	its := &ipamv1beta2.IPAddress{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a", UID: "answer a", OwnerReferences: []metav1.OwnerReference{{UID: "claim a"}}}}
	w := newWorld(t, claimA(), its)
	h := w.shown(t, allocations.Named("a", "10.0.0.4/32", backed))
	o, key, seen := w.Observe([]ledger.Holding{h}), types.NamespacedName{Namespace: "ns", Name: "a"}, &ipamv1beta2.IPAddress{}
	if err := errors.Join(o.Get(t.Context(), key, &ipamv1beta2.IPAddressClaim{}), o.Get(t.Context(), key, seen)); err != nil {
		t.Fatal(err)
	}
	told, second := netip.MustParseAddr("10.0.0.4"), netip.MustParseAddr("10.0.0.5")
	if p, err := o.Surplus(t.Context(), h, Answer{Address: told}, second); p.IsProved() || err != nil {
		t.Errorf("without an answer: %v", err)
	}
	if p, err := o.Surplus(t.Context(), h, Answer{Stored: seen, Address: told}, netip.Addr{}); p.IsProved() || err != nil {
		t.Errorf("of no address: %v", err)
	}
	w.failAt = len(w.requests) + 1
	if p, err := o.Surplus(t.Context(), h, Answer{Stored: seen, Address: told, Cluster: "c"}, second); p.IsProved() || !errors.Is(err, errFailed) {
		t.Errorf("of a Cluster that cannot be read: proved %t, %v", p.IsProved(), err)
	}
	w.failAt = len(w.requests) + 1
	if p, _, err := o.Deleted(t.Context(), h.Claim, own, "c"); p.IsProved() || err != nil {
		t.Errorf("of a claim that lives: %v", err)
	}
	if answered := o.Answered(h.Claim, seen); answered.Returned(h).IsProved() {
		t.Error("the ledger shows no other record of what is back")
	}
}

// TestNothingIsProvedWhileAClusterCannotBeRead of a claim that is deleted, or a pool that shrinks.
func TestNothingIsProvedWhileAClusterCannotBeRead(t *testing.T) {
	t.Parallel()
	w, o, h := observed(t, claimA(leaves))
	w.failAt = len(w.requests) + 1
	if p, kept, err := o.Deleted(t.Context(), h.Claim, own, "c"); p.IsProved() || kept != "" || !errors.Is(err, errFailed) {
		t.Errorf("proved %t, kept %q, %v", p.IsProved(), kept, err)
	}
	p := &ipamv1.IPPool{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "child", UID: "pool child", Labels: map[string]string{clusterv1.ClusterNameLabel: "c"}}}
	w = newWorld(t, p)
	h = w.shown(t, allocations.Named("block", "10.0.0.0/28", block))
	o = w.Observe([]ledger.Holding{h})
	if err := o.Get(t.Context(), client.ObjectKeyFromObject(p), &ipamv1.IPPool{}); err != nil {
		t.Fatal(err)
	}
	w.failAt = len(w.requests) + 1
	if shrunk, err := o.Shrunk(t.Context(), h.Claim, p); shrunk.IsProved() || !errors.Is(err, errFailed) {
		t.Errorf("proved %t, %v", shrunk.IsProved(), err)
	}
	if shrunk, err := o.Shrunk(t.Context(), ledger.ClaimOf(allocations.PoolRef("other"), "other"), p); shrunk.IsProved() || err != nil {
		t.Errorf("of a pool that was not read: %v", err)
	}
}

// TestAFailedReadIsForgotten: what was shown before it proves nothing any more.
func TestAFailedReadIsForgotten(t *testing.T) {
	t.Parallel()
	w, o, h := observed(t)
	if !o.Gone(h.Claim).IsProved() {
		t.Fatal("not gone")
	}
	w.failAt = len(w.requests) + 1
	if err := o.Get(t.Context(), types.NamespacedName{Namespace: "ns", Name: "a"}, &ipamv1beta2.IPAddressClaim{}); !errors.Is(err, errFailed) || o.Gone(h.Claim).IsProved() {
		t.Errorf("gone after %v", err)
	}
	unnamed := h.Claim
	unnamed.UID = ""
	if o.Stored(unnamed).IsProved() {
		t.Error("a claim without a UID is stored")
	}
}
