// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claimant

import (
	"errors"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/kinds"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/allocations"
)

// newPool makes IPPools, and no pools of other kinds.
func newPool(kind schema.GroupKind) client.Object {
	if kind != kinds.IPPool {
		return nil
	}
	return &ipamv1.IPPool{}
}

// proved has a reason's proof be about the record.
func (w *world) proved(h ledger.Holding) ofClaim {
	return ofClaim{w.Observe([]ledger.Holding{h}), h.Claim}
}

// successor is the next claim of the name.
func (w *world) successor(h ledger.Holding) ofClaim {
	p := w.proved(h)
	p.claim.UID = "next"
	return p
}

// redelegated has the record's prefix delegated here again.
func (w *world) redelegated(h ledger.Holding) Redelegated {
	return Redelegated{w.Observe([]ledger.Holding{h}), "another template", h.Space, h.CIDR}
}

var (
	goes  = []string{"take the finalizer off", "delete IPAllocation"}
	looks = []string{"get IPAllocation", "get Cluster"}
)

// reasonsOf are all reasons, proved of a record.
var reasonsOf = map[row]func(*world, ledger.Holding) Reason{
	claimDeleted: func(w *world, h ledger.Holding) Reason {
		return ClaimDeleted(GivenBack{w.proved(h), []ledger.Holding{h}})
	},
	claimRetains: func(w *world, h ledger.Holding) Reason { return ClaimRetains(Deleted{w.proved(h)}) },
	claimGone:    func(w *world, h ledger.Holding) Reason { return ClaimGone(Gone{w.proved(h)}) },
	answerDiscarded: func(w *world, h ledger.Holding) Reason {
		return AnswerDiscarded(GivenBack{w.proved(h), []ledger.Holding{h}})
	},
	answeredOtherwise: func(w *world, h ledger.Holding) Reason { return AnsweredOtherwise(Answered{w.proved(h)}) },
	neverCommitted:    func(w *world, h ledger.Holding) Reason { return NeverCommitted(Answered{w.proved(h)}) },
	repeated:          func(*world, ledger.Holding) Reason { return Repeated() },
	claimMoved:        func(w *world, h ledger.Holding) Reason { return ClaimMoved(MovedAway{w.proved(h)}) },
	recordLeaves:      func(_ *world, h ledger.Holding) Reason { return RecordLeaves(Leaving{about(h)}, "weir") },
	recordEvicted:     func(_ *world, h ledger.Holding) Reason { return RecordEvicted(Evicted{about(h)}, "weir") },
	holdEnded:         func(_ *world, h ledger.Holding) Reason { return HoldEnded(Returned{about(h)}) },
	holdDeleted:       func(_ *world, h ledger.Holding) Reason { return HoldDeleted(Unwanted{about(h)}) },
	blockHandedBack: func(w *world, h ledger.Holding) Reason {
		return BlockHandedBack(HandedBack{w.proved(h), "edge-a", false})
	},
	blockForced: func(w *world, h ledger.Holding) Reason {
		return BlockHandedBack(HandedBack{w.proved(h), "edge-a", true})
	},
	handBackEnded:  func(w *world, h ledger.Holding) Reason { return HandBackEnded(w.redelegated(h)) },
	retentionEnded: func(w *world, h ledger.Holding) Reason { return RetentionEnded(Stored{w.successor(h)}) },
	cooledDown:     func(_ *world, h ledger.Holding) Reason { return CooledDown(Expired{about(h), h}) },
	poolGone:       func(w *world, h ledger.Holding) Reason { return PoolGone(Gone{w.proved(h)}) },
	poolShrunk:     func(w *world, h ledger.Holding) Reason { return PoolShrunk(Shrunk{w.proved(h)}) },
}

func TestEveryRowHasAReason(t *testing.T) {
	t.Parallel()
	for row := range rules {
		if reasonsOf[row] == nil && row != rootShrunk {
			t.Errorf("nothing has the reason %q", row)
		}
	}
	if want := len(reasonsOf) + 1; len(rules) != want {
		t.Errorf("%d rules, want %d", len(rules), want)
	}
}

// TestWhatAReasonDoes: each reason has its row, with every request that it makes.
func TestWhatAReasonDoes(t *testing.T) {
	t.Parallel()
	claim := &ipamv1beta2.IPAddressClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a", UID: "claim a"}}
	child := &ipamv1.IPPool{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "child", UID: "pool child"}}
	parent := &ipamv1.IPPool{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p"}}
	paused := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c"}, Spec: clusterv1.ClusterSpec{Paused: ptr.To(true)}}
	running := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c"}}
	type edits = []allocations.Edit
	for _, test := range []struct {
		reason   row
		sentence string
		record   edits
		others   []client.Object
		cools    bool
		missing  bool
		want     []string
		stays    bool
		err      error
	}{
		{reason: claimDeleted, want: goes},
		{reason: claimDeleted, sentence: "with a cooldown", cools: true, want: []string{"cool"}},
		{reason: claimDeleted, sentence: "a block of a root", record: edits{rootBlock}, cools: true, want: goes},
		{reason: claimDeleted, sentence: "a carved block", record: edits{block}, cools: true, want: []string{"cool"}},
		{reason: claimRetains, want: []string{"retain"}},
		{reason: claimGone, want: append(looks[:2:2], goes...)},
		{reason: claimGone, sentence: "with a cooldown", cools: true, want: append(looks[:2:2], "cool")},
		{reason: claimGone, sentence: "the record has gone", missing: true, want: looks[:1]},
		{reason: claimGone, sentence: "the record moves", record: edits{allocations.Moving}, want: looks[:1], stays: true},
		{reason: claimGone, sentence: "the record is a hold", record: edits{held}, want: looks[:1], stays: true},
		{reason: claimGone, sentence: "its Cluster is paused", others: []client.Object{paused}, want: looks, stays: true},
		{reason: claimGone, sentence: "its Cluster is there, and not paused", others: []client.Object{running}, want: append(looks[:2:2], goes...)},
		{reason: claimGone, sentence: "others have a finalizer on it", record: edits{withOthers}, cools: true, want: append(looks[:2:2], "cool"), stays: true},
		{reason: claimGone, sentence: "it is left to others", record: edits{leftToOthers}, want: looks, stays: true},
		{reason: claimGone, sentence: "a deletion was cut short", record: edits{withoutFinalizers}, want: append(looks[:2:2], goes...), stays: true},
		{reason: claimGone, sentence: "a deletion was cut short, others have a finalizer", record: edits{withoutFinalizers, withOthers}, want: append(looks[:2:2], "get IPAllocation", "leave others' finalizer on", "delete IPAllocation"), stays: true},
		{reason: claimGone, sentence: "somebody has marked it", record: edits{allocations.Terminating}, want: append(looks[:2:2], "get IPAllocation", "update IPAllocation", "delete IPAllocation")},
		{reason: claimGone, sentence: "it is a hold that was deleted", record: edits{held, allocations.Terminating}, want: append(looks[:2:2], "get IPAllocation", "update IPAllocation", "delete IPAllocation")},
		{reason: claimGone, sentence: "it is a hold that was released", record: edits{held, allocations.Released}, want: append(looks[:2:2], goes...)},
		{reason: claimGone, sentence: "it is paused, and no Cluster is", record: edits{pausedRecord}, want: append(looks[:2:2], goes...)},
		{reason: answerDiscarded, want: goes},
		{reason: answerDiscarded, sentence: "with a cooldown", cools: true, want: []string{"cool"}},
		{reason: answeredOtherwise, cools: true, want: append(looks[:2:2], "cool")},
		{reason: answeredOtherwise, sentence: "its Cluster is paused", others: []client.Object{paused}, want: looks, stays: true},
		{reason: neverCommitted, cools: true, want: append(looks[:2:2], goes...)},
		{reason: neverCommitted, sentence: "it is left to others", record: edits{leftToOthers}, want: looks, stays: true},
		{reason: repeated, err: ledger.ErrBusy},
		{reason: claimMoved, want: []string{"mark as moved", "delete IPAllocation"}},
		{reason: recordLeaves, err: ledger.ErrBusy},
		{reason: recordEvicted, record: edits{allocations.Released}, want: looks, err: ledger.ErrBusy},
		{reason: recordEvicted, sentence: "its Cluster is paused", record: edits{allocations.Released}, others: []client.Object{paused}, want: looks, stays: true},
		{reason: recordEvicted, sentence: "it moves", record: edits{allocations.Released, allocations.Moving}, want: looks[:1], stays: true},
		{reason: holdEnded, record: edits{held}, cools: true, want: goes},
		{reason: holdDeleted, record: edits{held}, want: append([]string{"get IPAddressClaim"}, goes...)},
		{reason: holdDeleted, sentence: "its claim lives here", record: edits{held}, others: []client.Object{claim}, want: []string{"get IPAddressClaim"}, stays: true},
		{reason: holdDeleted, sentence: "a member's block", record: edits{block, withMember}, want: append([]string{"get IPPool"}, goes...)},
		{reason: holdDeleted, sentence: "a member's block, whose pool lives", record: edits{block, withMember}, others: []client.Object{child}, want: []string{"get IPPool"}, stays: true},
		{reason: blockHandedBack, record: edits{block, withMember}, want: goes},
		{reason: blockHandedBack, sentence: "with a cooldown", record: edits{block, withMember}, cools: true, want: []string{"cool"}},
		{reason: blockHandedBack, sentence: "one without a member", record: edits{block}, want: goes},
		{reason: blockForced, record: edits{block, withMember}, want: goes},
		{reason: blockForced, sentence: "with a cooldown", record: edits{block, withMember}, cools: true, want: []string{"cool"}},
		{reason: holdDeleted, sentence: "a hand-back", record: edits{rootBlock, back}, cools: true, want: append([]string{"get IPPool"}, goes...)},
		{reason: handBackEnded, record: edits{rootBlock, back}, cools: true, want: []string{"end"}},
		{reason: holdDeleted, sentence: "a hand-back that has ended", record: edits{rootBlock, back, allocations.Ended}, want: append([]string{"get IPPool"}, goes...)},
		{reason: cooledDown, sentence: "a member's block", record: edits{block, withMember, allocations.Released}, cools: true, want: append(looks[:2:2], append([]string{"get IPPool"}, goes...)...)},
		{reason: retentionEnded, want: append(looks[:1:1], goes...)},
		{reason: retentionEnded, sentence: "the record moves", record: edits{allocations.Moving}, want: looks[:1], stays: true},
		{reason: cooledDown, record: edits{allocations.Released}, cools: true, want: append(looks[:2:2], append([]string{"get IPAddressClaim"}, goes...)...)},
		{reason: cooledDown, sentence: "its claim lives", record: edits{allocations.Released}, others: []client.Object{claim}, want: append(looks[:2:2], "get IPAddressClaim"), stays: true},
		{reason: cooledDown, sentence: "its Cluster is paused", record: edits{allocations.Released}, others: []client.Object{paused}, want: looks, stays: true},
		{reason: cooledDown, sentence: "another claim of the name lives", record: edits{allocations.Released, claimRef(func(c *ipamv1.ClaimReference) { c.UID = "earlier" })}, others: []client.Object{claim}, want: append(looks[:2:2], append([]string{"get IPAddressClaim"}, goes...)...)},
		{reason: cooledDown, sentence: "its claim is gone, and has no UID", record: edits{allocations.Released, claimRef(func(c *ipamv1.ClaimReference) { c.UID = "" })}, want: append(looks[:2:2], append([]string{"get IPAddressClaim"}, goes...)...)},
		{reason: cooledDown, sentence: "of a kind that is no more", record: edits{allocations.Released, claimRef(func(c *ipamv1.ClaimReference) { c.Kind = "Proxy" })}, want: append(looks[:2:2], goes...)},
		{reason: poolGone, sentence: "a pool of another kind's, which moves", record: edits{block, allocations.Moving, func(a *ipamv1.IPAllocation) { a.Spec.PoolRef.Kind = "OtherPool" }}, want: append(looks[:1:1], "cool")},
		{reason: poolGone, record: edits{block}, cools: true, want: append(looks[:1:1], "cool")},
		{reason: poolGone, sentence: "its Cluster is paused", record: edits{block}, others: []client.Object{paused}, want: append(looks[:1:1], goes...)},
		{reason: poolGone, sentence: "it is a hold", record: edits{block, held}, want: looks[:1], stays: true},
		{reason: poolGone, sentence: "it moves out of a pool that stays", record: edits{block, allocations.Moving}, others: []client.Object{parent}, want: append(looks[:1:1], "get IPPool"), stays: true},
		{reason: poolGone, sentence: "it moves with its pool", record: edits{block, allocations.Moving}, want: append(append(looks[:1:1], "get IPPool"), goes...)},
		{reason: poolGone, sentence: "a root's, which moves", record: edits{rootBlock, allocations.Moving}, want: append(looks[:1:1], goes...)},
		{reason: poolShrunk, record: edits{block}, cools: true, want: append(looks[:2:2], goes...)},
		{reason: poolShrunk, sentence: "it moves", record: edits{block, allocations.Moving}, want: looks[:1], stays: true},
		{reason: poolShrunk, sentence: "a root's", record: edits{rootBlock}, cools: true, want: goes},
	} {
		t.Run(string(test.reason)+", "+test.sentence, func(t *testing.T) {
			t.Parallel()
			record := allocations.Named("a", "10.0.0.4/32", append(edits{inCluster}, test.record...)...)
			objects := test.others
			if !test.missing {
				objects = append(objects[:len(objects):len(objects)], record)
			}
			w := newWorld(t, objects...)
			if !test.cools {
				w.free(t)
			}
			w.NewPool = newPool
			h := w.shown(t, record)
			gone, err := w.Release(t.Context(), h, reasonsOf[test.reason](w, h))
			if diff := cmp.Diff(test.want, w.requests); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
			if test.err != nil {
				if !errors.Is(err, test.err) {
					t.Errorf("error %v, want %v", err, test.err)
				}
			} else if gone == test.stays || err != nil {
				t.Errorf("gone is %t, %v", gone, err)
			}
		})
	}
}

// TestWhatCannotBeReadStays: a claim that this manager may not read may be there, and so may a pool of a kind that it cannot make.
func TestWhatCannotBeReadStays(t *testing.T) {
	t.Parallel()
	cooled := allocations.Named("a", "10.0.0.4/32", inCluster, allocations.Released)
	w := newWorld(t, cooled)
	w.free(t)
	w.forbidden = "IPAddressClaim"
	h := w.shown(t, cooled)
	if gone, err := w.Release(t.Context(), h, reasonsOf[cooledDown](w, h)); gone || err != nil || slices.Contains(w.requests, goes[0]) {
		t.Errorf("gone is %t, %v", gone, err)
	}
	moves := allocations.Named("a", "10.0.0.4/32", block, allocations.Moving)
	w = newWorld(t, moves)
	h = w.shown(t, moves)
	if gone, err := w.Release(t.Context(), h, reasonsOf[poolGone](w, h)); gone || err != nil || slices.Contains(w.requests, goes[0]) {
		t.Errorf("of a kind that cannot be made: gone is %t, %v", gone, err)
	}
}

// unmapped is a client that cannot learn which kinds the API server has.
type unmapped struct{ client.Client }

func (unmapped) RESTMapper() meta.RESTMapper { return noKinds{} }

type noKinds struct{ meta.RESTMapper }

func (noKinds) RESTMapping(schema.GroupKind, ...string) (*meta.RESTMapping, error) {
	return nil, errFailed
}

// TestWhatHasAKindThatCannotBeLookedUpStays: only if the API server says that it does not have the kind, the claim has gone with it.
func TestWhatHasAKindThatCannotBeLookedUpStays(t *testing.T) {
	t.Parallel()
	for _, row := range []row{cooledDown, holdDeleted} {
		record := allocations.Named("a", "10.0.0.4/32", allocations.Released)
		w := newWorld(t, record)
		w.free(t)
		w.Client = unmapped{w.Client}
		h := w.shown(t, record)
		if gone, err := w.Release(t.Context(), h, reasonsOf[row](w, h)); gone || !errors.Is(err, errFailed) || slices.Contains(w.requests, goes[0]) {
			t.Errorf("%s: gone is %t, %v", row, gone, err)
		}
	}
}

// TestAProofIsAboutOneClaim: nothing else of the name goes by it, nor anything of its UID that has another name.
func TestAProofIsAboutOneClaim(t *testing.T) {
	t.Parallel()
	record := allocations.Named("a", "10.0.0.4/32")
	w := newWorld(t, record)
	h := w.shown(t, record)
	ofRecords := []row{repeated, recordLeaves, recordEvicted, holdEnded, holdDeleted, cooledDown, handBackEnded}
	for row, reason := range reasonsOf {
		if slices.Contains(ofRecords, row) {
			continue
		}
		why := reason(w, h)
		for what, edit := range map[string]func(*ipamv1.ClaimReference){
			"group": func(c *ipamv1.ClaimReference) { c.APIGroup = "other" }, "kind": func(c *ipamv1.ClaimReference) { c.Kind = "Other" },
			"namespace": func(c *ipamv1.ClaimReference) { c.Namespace = "other" }, "name": func(c *ipamv1.ClaimReference) { c.Name = "other" },
		} {
			other := h
			if edit(&other.Claim); why.proof.covers(other) {
				t.Errorf("%s: of another %s", row, what)
			}
		}
	}
	for name, zero := range map[string]proof{
		"Deleted": Deleted{}, "Gone": Gone{}, "MovedAway": MovedAway{}, "Stored": Stored{}, "Answered": Answered{}, "GivenBack": GivenBack{}, "Shrunk": Shrunk{},
		"Leaving": Leaving{}, "Expired": Expired{}, "HandedBack": HandedBack{}, "Redelegated": Redelegated{},
	} {
		if zero.covers(ledger.Holding{}) {
			t.Errorf("the zero value of %s is about the zero value of a record", name)
		}
	}
}

// TestAMembersBlockStays whatever is proved of its pool, or of the record, and nothing is asked for
// that; but for what says that the member uses it no more.
func TestAMembersBlockStays(t *testing.T) {
	t.Parallel()
	ends := []row{blockHandedBack, blockForced, holdDeleted, holdEnded, recordLeaves}
	for state, edits := range map[string][]allocations.Edit{"confirmed": {allocations.Confirmed}, "perhaps never stored": {withoutOwners}} {
		for row, reason := range reasonsOf {
			if row == handBackEnded { // is proved of no block
				continue
			}
			t.Run(string(row)+", "+state, func(t *testing.T) {
				t.Parallel()
				record := allocations.Named("a", "10.0.0.0/28", append(edits[:1:1], block, withMember)...)
				w := newWorld(t, record)
				w.free(t)
				h := w.shown(t, record)
				gone, err := w.Release(t.Context(), h, reason(w, h))
				if stays := !gone && err == nil && len(w.requests) == 0; stays == slices.Contains(ends, row) {
					t.Errorf("gone is %t, %v, after %v", gone, err, w.requests)
				}
			})
		}
	}
	record := allocations.Named("a", "10.0.0.0/28", block, allocations.DelegatedTo("edge-b"))
	w := newWorld(t, record)
	h := w.shown(t, record)
	for _, row := range []row{blockHandedBack, blockForced} {
		if _, err := w.Release(t.Context(), h, reasonsOf[row](w, h)); err == nil {
			t.Errorf("%s: it goes, although it is another member's", row)
		}
	}
}

// TestAHandBackStays whatever is proved of its pool, or of the record, but for what says that its block
// may be handed out here again.
func TestAHandBackStays(t *testing.T) {
	t.Parallel()
	for row, reason := range reasonsOf {
		t.Run(string(row), func(t *testing.T) {
			t.Parallel()
			record := allocations.Named("a", "10.0.0.0/28", rootBlock, back, allocations.Confirmed)
			w := newWorld(t, record)
			w.free(t)
			h := w.shown(t, record)
			gone, err := w.Release(t.Context(), h, reason(w, h))
			if stays := !gone && err == nil && len(w.requests) == 0; stays == (row == holdDeleted || row == handBackEnded) {
				t.Errorf("gone is %t, %v, after %v", gone, err, w.requests)
			}
		})
	}
}

// TestNothingGoesWithoutAProof: the zero value of a proof, and a proof about something else, are
// refused before anything is asked.
func TestNothingGoesWithoutAProof(t *testing.T) {
	t.Parallel()
	record := allocations.Named("a", "10.0.0.4/32")
	w := newWorld(t, record)
	h := w.shown(t, record)
	unproved := map[string]Reason{
		"none": {}, "deleted": ClaimDeleted(GivenBack{}), "retains": ClaimRetains(Deleted{}), "gone": ClaimGone(Gone{}), "discarded": AnswerDiscarded(GivenBack{}),
		"answered": AnsweredOtherwise(Answered{}), "never committed": NeverCommitted(Answered{}),
		"moved": ClaimMoved(MovedAway{}), "leaves": RecordLeaves(Leaving{}, "weir"), "evicted": RecordEvicted(Evicted{}, "weir"), "hold ended": HoldEnded(Returned{}), "hold deleted": HoldDeleted(Unwanted{}),
		"handed back": BlockHandedBack(HandedBack{}), "redelegated": HandBackEnded(Redelegated{}),
		"retention ended": RetentionEnded(Stored{}), "cooled down": CooledDown(Expired{}), "pool gone": PoolGone(Gone{}), "pool shrunk": PoolShrunk(Shrunk{}),
	}
	other := h
	other.Claim.Name, other.Version.UID, other.Version.Version = "b", "another", "7"
	for row, reason := range reasonsOf {
		if row != repeated {
			unproved["of another record: "+string(row)] = reason(w, other)
		}
	}
	for name, why := range unproved {
		if _, err := w.Release(t.Context(), h, why); err == nil {
			t.Errorf("%s: it goes", name)
		}
	}
	if _, err := w.Release(t.Context(), ledger.Holding{}, ClaimGone(Gone{})); err == nil {
		t.Error("the zero value of a proof is about the zero value of a record")
	}
	if len(w.requests) > 0 {
		t.Errorf("requests: %v", w.requests)
	}
}

// TestAWayOutIsInterrupted at each request in turn: that is reported, and nothing is asked for after it.
func TestAWayOutIsInterrupted(t *testing.T) {
	t.Parallel()
	for row, reason := range reasonsOf {
		if row == repeated || row == recordLeaves || row == recordEvicted { // they ask the ledger first
			continue
		}
		t.Run(string(row), func(t *testing.T) {
			t.Parallel()
			edits := []allocations.Edit{inCluster, backed}
			switch row {
			case handBackEnded:
				edits = []allocations.Edit{rootBlock, back}
			case poolGone:
				edits = []allocations.Edit{block, allocations.Moving}
			default:
			}
			record := allocations.Named("a", "10.0.0.4/32", edits...)
			begin := func() (*world, ledger.Holding) {
				w := newWorld(t, record)
				w.free(t)
				w.NewPool, w.Outside = newPool, &cloud{world: w, err: &AbandonedError{}}
				return w, w.shown(t, record)
			}
			w, h := begin()
			if _, err := w.Release(t.Context(), h, reason(w, h)); err != nil {
				t.Fatal(err)
			}
			all := w.requests
			for failing := 1; failing <= len(all); failing++ {
				w, h := begin()
				w.failAt = failing
				gone, err := w.Release(t.Context(), h, reason(w, h))
				if !errors.Is(err, errFailed) || len(w.requests) != failing {
					t.Errorf("gone is %t, %v, after %v of %v", gone, err, w.requests, all)
				}
			}
		})
	}
}
