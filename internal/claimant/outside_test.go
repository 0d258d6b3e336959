// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claimant

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/external"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/allocations"
)

// cloud is an Outside, whose calls are among the world's requests.
type cloud struct {
	world *world
	backs bool
	err   error
	proof external.Proof
	// covered: the pool that was closed was proved to end.
	covered bool
}

func (c *cloud) Backs(context.Context, ipamv1.PoolReference) (bool, error) {
	return c.backs, c.world.note("ask pool")
}

func (c *cloud) GiveBack(_ context.Context, _ ipamv1.PoolReference, proof external.Proof) error {
	c.proof = proof
	if err := c.world.note("give back"); err != nil {
		return err
	}
	return c.err
}

func (c *cloud) Close(_ context.Context, pool ipamv1.PoolReference, end external.PoolEnd, _ external.Known) (external.Remains, error) {
	c.world.requests = append(c.world.requests, "close "+pool.Name)
	c.covered = end.Covers(pool)
	return external.Remains{}, c.err
}

func backed(a *ipamv1.IPAllocation) { a.Spec.External.ID = "f1" }

func arrived(a *ipamv1.IPAllocation) {
	a.Annotations = map[string]string{ipamv1.ArrivedAnnotation: "2026-01-01"}
}

// givesBack are the reasons of Release for which something is given back: they prove that nobody was told of the address, or that nobody
// needs it any more. The claim is gone, or it was not told.
var givesBack = []row{claimGone, answeredOtherwise, neverCommitted}

// TestWhatReleaseDoesOutside: one row for each reason, with what is given back in the cloud, and what must not be.
func TestWhatReleaseDoesOutside(t *testing.T) {
	t.Parallel()
	reasons := maps.Clone(reasonsOf)
	reasons[rootShrunk] = reasonsOf[poolShrunk]
	for name, reason := range reasons {
		gives := slices.Contains(givesBack, name)
		does := "nothing"
		if gives {
			does = "what the record's UID has at the record's address, before the record goes"
		}
		t.Run(fmt.Sprintf("Release (%s): %s", name, does), func(t *testing.T) {
			t.Parallel()
			edits := []allocations.Edit{inCluster, backed}
			switch name {
			case rootShrunk:
				edits = append(edits, rootBlock)
			case handBackEnded:
				edits = append(edits, rootBlock, back)
			default:
			}
			record := allocations.Named("a", "10.0.0.4/32", edits...)
			w := newWorld(t, record)
			w.free(t)
			w.NewPool = newPool
			outside := &cloud{world: w, backs: true}
			w.Outside = outside
			h := w.shown(t, record)
			if _, err := w.Release(t.Context(), h, reason(w, h)); err != nil && !errors.Is(err, ledger.ErrBusy) { // this ledger knows no records
				t.Fatal(err)
			}
			isCovered := outside.proof.Covers(h.Claim.UID, h.CIDR.Addr())
			at, before := slices.Index(w.requests, "give back"), slices.Index(w.requests, goes[0])
			if at >= 0 != gives || isCovered != gives || slices.Contains(w.requests, "ask pool") || gives && before >= 0 && before < at {
				t.Errorf("covered: %t; requests: %v", isCovered, w.requests)
			}
			provesNothingElse(t, outside.proof, h)
		})
	}
}

// provesNothingElse: a proof is about the one address of the one UID.
func provesNothingElse(t *testing.T, proof external.Proof, h ledger.Holding) {
	t.Helper()
	if proof.Covers(h.Claim.UID, netip.MustParseAddr("10.0.0.5")) || proof.Covers("claim b", h.CIDR.Addr()) {
		t.Errorf("it is about more: %v", proof)
	}
}

// TestWhatReleaseMustNotGiveBack: of the reasons for which something is given back, one row for each exception.
func TestWhatReleaseMustNotGiveBack(t *testing.T) {
	t.Parallel()
	kept := &KeptError{Reason: ipamv1.WaitingForPortReason, After: time.Minute}
	paused := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "other"}, Spec: clusterv1.ClusterSpec{Paused: ptr.To(true)}}
	unpaused := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "other"}}
	after := func(requests ...string) []string { return append(looks[:len(looks):len(looks)], requests...) }
	type edits = []allocations.Edit
	for sentence, test := range map[string]struct {
		record edits
		others []client.Object
		// of is the only reason that the row is about; "" for all.
		of    row
		backs bool
		err   error
		want  []string
		// kept is when it is tried again; 0 if the record goes.
		kept time.Duration
	}{
		"backed by its record: that":                                {record: edits{backed}, want: after(append([]string{"give back"}, goes...)...)},
		"backed by its pool: that":                                  {backs: true, want: after(append([]string{"ask pool", "give back"}, goes...)...)},
		"not backed: nothing":                                       {want: after(append([]string{"ask pool"}, goes...)...)},
		"the record is restored: nothing":                           {record: edits{backed, arrived}, want: after(goes...)},
		"a block: nothing":                                          {record: edits{backed, prefixed}, want: after(goes...)},
		"Kept: the record is not gone":                              {record: edits{backed}, err: kept, want: after("give back"), kept: time.Minute},
		"busy: the record is not gone":                              {record: edits{backed}, err: ledger.ErrBusy, want: after("give back"), kept: retryOutside},
		"any Cluster of the namespace is paused: nothing":           {of: claimGone, record: edits{backed}, others: []client.Object{paused}, want: after(), kept: retryPaused},
		"any Cluster of the namespace is paused: that all the same": {of: answeredOtherwise, record: edits{backed}, others: []client.Object{paused}, want: after(append([]string{"give back"}, goes...)...)},
		"nobody can ever give it back: the record goes":             {record: edits{backed}, err: &AbandonedError{}, want: after(append([]string{"give back", "get IPAllocation"}, goes...)...)},
		"a hold: nothing":                                           {record: edits{backed, held}, want: looks[:1]},
		"a Cluster of the namespace is there, and not paused: that": {of: claimGone, record: edits{backed}, others: []client.Object{unpaused}, want: after(append([]string{"give back"}, goes...)...)},
	} {
		for _, name := range givesBack {
			if test.of != "" && test.of != name {
				continue
			}
			t.Run(fmt.Sprintf("Release (%s), %s", name, sentence), func(t *testing.T) {
				t.Parallel()
				record := allocations.Named("a", "10.0.0.4/32", append(edits{inCluster}, test.record...)...)
				w := newWorld(t, append(test.others, record)...)
				w.free(t)
				w.Outside = &cloud{world: w, backs: test.backs, err: test.err}
				h := w.shown(t, record)
				gone, err := w.Release(t.Context(), h, reasonsOf[name](w, h))
				if diff := cmp.Diff(test.want, w.requests); diff != "" {
					t.Errorf("requests (-want +got):\n%s", diff)
				}
				var told *KeptError
				switch isKept := errors.As(err, &told); {
				case test.kept != 0 && (!isKept || told.After != test.kept || gone):
					t.Errorf("gone is %t, %v", gone, err)
				case test.kept == 0 && err != nil:
					t.Error(err)
				}
			})
		}
	}
}

// TestWhatAnotherRecordHoldsIsNotGivenBack: another claim of the space has the address by now, or the same claim has it twice.
func TestWhatAnotherRecordHoldsIsNotGivenBack(t *testing.T) {
	t.Parallel()
	record := allocations.Named("a", "10.0.0.4/32", backed)
	other := func(edits ...allocations.Edit) *ipamv1.IPAllocation {
		return allocations.Named("b", "10.0.0.4/32", edits...)
	}
	again := func(a *ipamv1.IPAllocation) { a.Spec.ClaimRef = record.Spec.ClaimRef }
	for sentence, test := range map[string]struct {
		other *ipamv1.IPAllocation
		want  []string
	}{
		"another record of the space holds the address: nothing":      {other: other()},
		"another record of the claim holds the address: nothing":      {other: other(again)},
		"a record of another space holds the address: that":           {other: other(allocations.Elsewhere), want: []string{"give back"}},
		"a record of the space holds another address: that":           {other: allocations.Named("b", "10.0.0.5/32"), want: []string{"give back"}},
		"a record of the space that moved holds the address: nothing": {other: other(held)},
	} {
		for _, name := range givesBack {
			t.Run(fmt.Sprintf("Release (%s), %s", name, sentence), func(t *testing.T) {
				t.Parallel()
				known, err := ledger.Offline([]*ipamv1.IPAllocation{record, test.other}, "9", time.Unix(1000, 0))
				if err != nil {
					t.Fatal(err)
				}
				w := newWorld(t, record)
				h := w.shown(t, record)
				w.Ledger, w.Outside = known, &cloud{world: w}
				if err = w.giveBackOne(t.Context(), h, name); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(test.want, w.requests); diff != "" {
					t.Errorf("requests (-want +got):\n%s", diff)
				}
			})
		}
	}
}

// TestWhatWasRecordedSinceIsNotGivenBack: something may back a record that the cloud did not show when
// everything of the claim was given back.
func TestWhatWasRecordedSinceIsNotGivenBack(t *testing.T) {
	t.Parallel()
	early, late := allocations.Named("a", "10.0.0.4/32", inCluster, backed), allocations.Named("a", "10.0.0.5/32", inCluster, backed)
	inside := allocations.Named("a", "10.0.0.6/32", inCluster)
	late.Name, late.UID, inside.Name, inside.UID = "late", "late", "inside", "inside"
	w := newWorld(t, early, late, inside)
	known, since, unbacked := w.shown(t, early), w.shown(t, late), w.shown(t, inside)
	given := Deleted{w.proved(known)}.givenBack([]ledger.Holding{known})
	all := []ledger.Holding{known, since, unbacked}
	if covered := given.Covered(all); !slices.Equal(covered, []ledger.Holding{known, unbacked}) {
		t.Errorf("covered: %v", covered)
	}
	if err := w.ReleaseEach(t.Context(), all, ClaimDeleted(given)); err == nil || !strings.Contains(err.Error(), "not proved") {
		t.Errorf("releasing all: %v", err)
	}
	if err := w.Live.Get(t.Context(), since.Record, late); err != nil || len(late.Finalizers) == 0 {
		t.Errorf("the record is %v, %v", late.Finalizers, err)
	}
}

func prefixed(a *ipamv1.IPAllocation) {
	a.Spec.CIDR, a.Status.AllocatedCIDR = "10.0.0.4/31", "10.0.0.4/31"
}

// TestGivingBackAllOfAClaim needs a proof of that claim, and asks nobody where nothing is outside.
func TestGivingBackAllOfAClaim(t *testing.T) {
	t.Parallel()
	pool, claim := allocations.PoolRef("p"), ipamv1.ClaimReference{Kind: "IPAddressClaim", Namespace: "ns", Name: "a", UID: "claim a"}
	kept := &KeptError{Reason: ipamv1.WaitingForPortReason}
	w := newWorld(t)
	proof := Deleted{ofClaim{w.Observe(nil), claim}}
	other := Deleted{ofClaim{w.Observe(nil), ipamv1.ClaimReference{UID: "claim b"}}}
	gone := w.Observe([]ledger.Holding{{Claim: claim}})
	paused := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "c", Annotations: map[string]string{clusterv1.PausedAnnotation: ""}}}
	for sentence, test := range map[string]struct {
		others  []client.Object
		outside *cloud
		proof   ended
		want    []string
		left    string
		err     error
		refused bool
		moving  bool
	}{
		"nothing backs any pool: nothing":                             {proof: proof},
		"of a pool that nothing backs: nothing":                       {outside: &cloud{}, proof: proof, want: []string{"ask pool"}},
		"of a claim that is deleted: all of its UID, and of no other": {outside: &cloud{backs: true}, proof: proof, want: []string{"ask pool", "give back"}},
		"in use: Kept, and nothing is proved given back":              {outside: &cloud{backs: true, err: kept}, proof: proof, want: []string{"ask pool", "give back"}, err: kept},
		"nobody can": {outside: &cloud{backs: true, err: &AbandonedError{"the pool is gone"}}, proof: proof, want: []string{"ask pool", "give back"}, left: "whatever it has outside of the cluster stays there: the pool is gone"},
		"of a dead UID, whose answer is discarded: all of its UID, and of no other": {outside: &cloud{backs: true}, proof: Gone{ofClaim{gone, claim}}, want: []string{"ask pool", "give back"}},
		"of a claim that is deleted while a Cluster is paused: all of its UID":      {outside: &cloud{backs: true}, proof: proof, others: []client.Object{paused}, want: []string{"ask pool", "give back"}},
		"of a dead UID that may have moved, in a pool that nothing backs: nothing":  {outside: &cloud{}, proof: Gone{ofClaim{gone, claim}}, others: []client.Object{paused}, want: []string{"ask pool"}},
		"of a dead UID that may have moved: nothing":                                {outside: &cloud{backs: true}, proof: Gone{ofClaim{gone, claim}}, others: []client.Object{paused}, want: []string{"ask pool"}, moving: true},
		"without a proof":              {outside: &cloud{backs: true}, proof: Deleted{}, refused: true},
		"with a proof about another":   {outside: &cloud{backs: true}, proof: other, refused: true},
		"the claim is not proved gone": {outside: &cloud{backs: true}, proof: Gone{}, refused: true},
	} {
		t.Run("GiveBack, "+sentence, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, test.others...)
			if test.outside != nil {
				test.outside.world, w.Outside = w, test.outside
			}
			given, left, err := w.GiveBack(t.Context(), pool, claim, test.proof)
			if diff := cmp.Diff(test.want, w.requests); diff != "" {
				t.Errorf("requests (-want +got):\n%s", diff)
			}
			isWanted := errors.Is(err, test.err)
			if test.refused || test.moving {
				isWanted = err != nil
			}
			if !isWanted || given.IsProved() != (err == nil) {
				t.Errorf("given back is %t, %v", given.IsProved(), err)
			}
			if isNothing := left == ""; isNothing != (test.left == "") || !strings.Contains(left, test.left) {
				t.Errorf("left: %q", left)
			}
			anyAddress := netip.MustParseAddr("192.0.2.1")
			if test.outside != nil && (test.outside.proof.Covers(claim.UID, anyAddress) != slices.Contains(w.requests, "give back") || test.outside.proof.Covers("claim b", anyAddress)) {
				t.Error("the proof is not about all that the claim has, or about another")
			}
		})
	}
}

// TestAPoolIsClosedForItsProof, and not for that of another one.
func TestAPoolIsClosedForItsProof(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	outside := &cloud{world: w}
	w.Outside = outside
	pool := ipamv1.ClaimReference{APIGroup: ipamv1.GroupVersion.Group, Kind: ipamv1.IPPoolKind, Namespace: "ns", Name: "p", UID: "pool-p"}
	again := pool
	again.UID = "another"
	proof := Deleted{ofClaim{w.Observe(nil), pool}}
	for name, test := range map[string]struct {
		why  Deleted
		pool ipamv1.ClaimReference
		want bool
	}{
		"proved":                 {proof, pool, true},
		"another of its name":    {proof, again, false},
		"nothing is proved":      {Deleted{}, pool, false},
		"nothing is known of it": {Deleted{}, ipamv1.ClaimReference{}, false},
	} {
		w.requests, outside.covered = nil, false
		_, err := w.ClosePool(t.Context(), test.pool, test.why, external.Known{})
		if isAsked := len(w.requests) > 0; (err == nil) != test.want || isAsked != test.want || outside.covered != test.want {
			t.Errorf("%s: asked %v, %v", name, w.requests, err)
		}
	}
}

// TestWhatCannotBeAskedStays: while the API server does not answer, nothing counts as given back.
func TestWhatCannotBeAskedStays(t *testing.T) {
	t.Parallel()
	pool, claim := allocations.PoolRef("p"), ipamv1.ClaimReference{Kind: "IPAddressClaim", Namespace: "ns", Name: "a", UID: "claim a"}
	w := newWorld(t)
	w.Outside = &cloud{world: w, backs: true}
	h := w.shown(t, allocations.Named("a", "10.0.0.4/32"))
	for failing := 1; failing <= 2; failing++ {
		w.requests, w.failAt = nil, failing
		given, left, err := w.GiveBack(t.Context(), pool, claim, Deleted{ofClaim{w.Observe(nil), claim}})
		if !errors.Is(err, errFailed) || given.IsProved() || left != "" || len(w.requests) != failing {
			t.Errorf("request %d: given back %t, left %q, %v", failing, given.IsProved(), left, err)
		}
	}
	w.requests, w.failAt = nil, 1
	if given, _, err := w.GiveBack(t.Context(), pool, claim, Gone{ofClaim{w.Observe([]ledger.Holding{{Claim: claim}}), claim}}); !errors.Is(err, errFailed) || given.IsProved() || len(w.requests) != 1 {
		t.Errorf("whether anything is outside is not known: given back %t, %v", given.IsProved(), err)
	}
	w.requests = nil
	if err := w.giveBackOne(t.Context(), h, neverCommitted); !errors.Is(err, errFailed) || len(w.requests) != 1 {
		t.Errorf("whether anything is outside is not known: asked %v, %v", w.requests, err)
	}
	w.requests, w.failAt, w.failList = nil, 0, true
	given, _, err := w.GiveBack(t.Context(), pool, claim, Gone{ofClaim{w.Observe([]ledger.Holding{{Claim: claim}}), claim}})
	if !errors.Is(err, errFailed) || given.IsProved() || slices.Contains(w.requests, "give back") {
		t.Errorf("whether it has moved is not known: given back %t, %v", given.IsProved(), err)
	}
}

// TestNothingMovesWithoutClusterAPI: what a dead UID has is given back where there are no Clusters that could be paused.
func TestNothingMovesWithoutClusterAPI(t *testing.T) {
	t.Parallel()
	claim := ipamv1.ClaimReference{Kind: "IPAddressClaim", Namespace: "ns", Name: "a", UID: "claim a"}
	w := newWorld(t)
	w.Outside = &cloud{world: w, backs: true}
	w.Live = w.answeringWith(noSuchKind)
	given, _, err := w.GiveBack(t.Context(), allocations.PoolRef("p"), claim, Gone{ofClaim{w.Observe([]ledger.Holding{{Claim: claim}}), claim}})
	if err != nil || !given.IsProved() || !slices.Contains(w.requests, "give back") {
		t.Errorf("given back %t, %v; requests: %v", given.IsProved(), err, w.requests)
	}
}

// TestWhatStaysOutsideIsNamed, by its ID where that is recorded: an operator has to delete it.
func TestWhatStaysOutsideIsNamed(t *testing.T) {
	t.Parallel()
	unbacked := allocations.Named("a", "10.0.0.4/32")
	known := allocations.Named("b", "10.0.0.5/32", backed, claimRef(func(c *ipamv1.ClaimReference) { *c = unbacked.Spec.ClaimRef }))
	w, e := knowing(t, unbacked, known)
	outside := &cloud{world: &world{}, err: &AbandonedError{"the pool is gone"}}
	e.Outside = outside
	claim := unbacked.Spec.ClaimRef
	_, left, err := e.GiveBack(t.Context(), unbacked.Spec.PoolRef, claim, Deleted{ofClaim{e.Observe(w.Ledger.RecordsOf(claim)), claim}})
	if want := "10.0.0.4, 10.0.0.5 (f1) stays there: the pool is gone"; left != want || err != nil {
		t.Errorf("left: %q, want %q; %v", left, want, err)
	}
	if recorded := fmt.Sprint(outside.proof.Recorded()); recorded != "[10.0.0.4 10.0.0.5]" {
		t.Errorf("looked for at %s", recorded)
	}
}
