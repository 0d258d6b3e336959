// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claim_test

import (
	"context"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go4.org/netipx"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claim"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/clusterapi"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/door"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/tenancy"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/allocations"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/memory"
)

// ofPoolQ has a claim name pool q, or makes an answer one out of it.
func ofPoolQ(o client.Object) {
	switch o := o.(type) {
	case *ipamv1beta2.IPAddressClaim:
		o.Spec.PoolRef.Name = "q"
	case *ipamv1beta2.IPAddress:
		o.Spec.PoolRef.Name = "q"
	}
}

// block makes the answer one that carries a block.
func block(first string, bits int32) edit {
	return func(o client.Object) {
		if a, ok := o.(*ipamv1beta2.IPAddress); ok {
			a.Spec.Address, a.Spec.Prefix = first, ptr.To(bits)
		}
	}
}

// unread has pool p be one that cannot be read.
func unread(w *site) { w.source.err = memory.ErrFailed }

// inTheCloud has pool p be one of floating IPs.
func inTheCloud(w *site) { backedBy(w, &cloud{}) }

// nameless cannot find out any other name of a claim.
func nameless(context.Context, client.Object, *door.Offer) (string, error) {
	return "", memory.ErrFailed
}

// TestWhatNoClaimIsToldOfYet is recorded where Weir would hand the address out to another claim otherwise, and nowhere else.
func TestWhatNoClaimIsToldOfYet(t *testing.T) {
	t.Parallel()
	c := claimA(paused)
	for sentence, test := range map[string]situation{
		"a user made it":                              {stored: objects{handMade()}, want: recordMade},
		"a user made it, of a reserved address":       {stored: objects{handMade(withAddress(reserved))}},
		"a user made it, its other name is not known": {stored: objects{handMade()}, prepare: knownAs(nameless), fails: true},
		"Weir's, of a reserved address":               {stored: objects{c, answerA(ownedBy(""), withAddress(reserved))}, want: recordMade},
		"it lacks Weir's finalizer":                   {stored: objects{c, answerA(withoutFinalizers)}, want: recordMade},
		"it came, and another claim has it":           {stored: objects{claimA(paused, arrived), answerA(), allocations.Named("b", "10.0.0.4/32")}, want: recordMade},
		"another claim has it":                        {stored: objects{c, answerA(), allocations.Named("b", "10.0.0.4/32")}},
		"the claim's record is of another address":    {stored: objects{c, answerA(), recordOf("claim a", "other", "10.0.0.5/32")}, want: recordMade},
		"a dead claim's record holds just that":       {stored: objects{c, answerA(), recordOf("dead", "dead", "10.0.0.4/32")}},
		"a dead claim's record holds a part of it":    {stored: objects{claimA(paused, arrived), answerA(block("10.0.0.16", 28)), recordOf("dead", "dead", "10.0.0.16/32")}, want: recordMade},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			test.run(t, clusterapi.Form{})
		})
	}
}

// TestWhatIsRecordedRests although its pool cannot be read: a claim's answer that is recorded needs no pool, and must not hold others back.
func TestWhatIsRecordedRests(t *testing.T) {
	t.Parallel()
	c, former := claimA(paused), answerA(ownedBy("former"))
	for sentence, test := range map[string]situation{
		"for its claim":                         {stored: objects{c, answerA(), recordA()}, prepare: unread},
		"for its claim, whose UID it lacks yet": {stored: objects{c, former, recordA()}, prepare: unread},
		"for the claim that it answers":         {stored: objects{c, former, recordA(formerUID)}, prepare: unread},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			test.run(t, clusterapi.Form{})
		})
	}
}

// TestAFloatingIPThatAPausedClaimHas is recorded if it came with the claim, or the claim was told of it. Any other a user may have made, with an
// address that the cloud has given to another claim: the cloud is asked first.
func TestAFloatingIPThatAPausedClaimHas(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]situation{
		"a user may have made it": {stored: objects{claimA(paused), answerA()}, prepare: inTheCloud},
		"it arrived":              {stored: objects{claimA(paused), answerA(arrived)}, prepare: inTheCloud, want: recordMade},
		"its claim arrived":       {stored: objects{claimA(paused, arrived), answerA()}, prepare: inTheCloud, want: recordMade},
		"its claim was told":      {stored: objects{claimA(paused, ready("a")), answerA()}, prepare: inTheCloud, want: recordMade},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			test.run(t, clusterapi.Form{})
		})
	}
}

// TestForWhomAnAnswerIsHeld: for its claim, so that the record goes with that; else for the answer itself. That record has no owner: the garbage
// collector would delete it for the claim that is not stored, and the address would be free.
func TestForWhomAnAnswerIsHeld(t *testing.T) {
	t.Parallel()
	type held struct {
		UID     string
		IsOwned bool
	}
	for sentence, test := range map[string]struct {
		stored objects
		want   held
	}{
		"a user made it, there is no claim":          {objects{handMade()}, held{"answer a", false}},
		"a user made it out of another pool":         {objects{claimA(paused, ofPoolQ), handMade()}, held{"answer a", false}},
		"it is the claim's":                          {objects{claimA(paused), answerA()}, held{"claim a", true}},
		"it is Weir's, out of another pool":          {objects{claimA(paused, ofPoolQ), answerA(ownedBy("former"))}, held{"answer a", false}},
		"it is the claim's, which names another one": {objects{claimA(paused, ofPoolQ), answerA()}, held{"claim a", true}},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			w := newSite(t, test.stored, nil)
			if _, err := w.once(t); err != nil {
				t.Fatal(err)
			}
			list := &ipamv1.IPAllocationList{}
			if err := w.Raw.List(t.Context(), list, client.MatchingFields{"spec.claimRef.name": "a"}); err != nil {
				t.Fatal(err)
			}
			got := make([]held, 0, len(list.Items))
			for i := range list.Items {
				got = append(got, held{list.Items[i].Spec.ClaimRef.UID, len(list.Items[i].OwnerReferences) > 0})
			}
			if diff := cmp.Diff([]held{test.want}, got); diff != "" {
				t.Errorf("records (-want +got):\n%s", diff)
			}
		})
	}
}

// TestTheFirstAddressOfAPool goes to claim a, unless IPAddress b holds it, whose claim is not here: two hosts would use the address. What names
// a claim that is gone, and is not Weir's, holds nothing, for it goes as what that claim has left. What the pool does not have must not hold the pool back.
func TestTheFirstAddressOfAPool(t *testing.T) {
	t.Parallel()
	b := func(edits ...edit) objects {
		first := answerA(called("b"), withUID("answer b"), atVersion("31"), withAddress("10.0.0.1"))
		return objects{claimA(), edited(first, edits...)}
	}
	for sentence, test := range map[string]struct {
		stored objects
		want   string
	}{
		"there is none":            {objects{claimA()}, "10.0.0.1"},
		"it is Weir's":             {b(), "10.0.0.2"},
		"it names no claim":        {b(ownedBy(""), withoutFinalizers), "10.0.0.2"},
		"it names one, not Weir's": {b(withoutFinalizers), "10.0.0.1"},
		"it is not in the pool":    {b(withAddress("10.1.0.1")), "10.0.0.1"},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			if got := newSite(t, test.stored, nil).given(t, "a"); got != test.want {
				t.Errorf("gets %s, want %s", got, test.want)
			}
		})
	}
}

// TestWhatArrivesBeforeItsPool is looked at again: it has to be recorded once the pool is there, before that hands its address out.
func TestWhatArrivesBeforeItsPool(t *testing.T) {
	t.Parallel()
	for sentence, stored := range map[string]objects{
		"the answer of a claim that is paused": {claimA(paused), answerA()},
		"an answer that arrived":               {answerA(arrived)},
		"an answer that a user made":           {handMade()},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			w := newSite(t, stored, nil)
			w.Ledger.DropPool(allocations.PoolRef("p"))
			result, err := w.Reconcile(t.Context(), ctrl.Request{NamespacedName: allocations.At("a")})
			if result.RequeueAfter == 0 || err != nil {
				t.Errorf("looked at again after %s, %v", result.RequeueAfter, err)
			}
		})
	}
}

// byName offers the pool that is asked for: p, or q, which has other addresses.
type byName struct{ *source }

func (s byName) Offer(ctx context.Context, namespace string, pool door.PoolName) (*door.Offer, error) {
	offer, err := s.source.Offer(ctx, namespace, pool)
	if err != nil {
		return nil, err
	}
	named := *offer
	named.Pool, named.Owner.Name, named.Owner.UID = allocations.PoolRef(pool.Name), pool.Name, types.UID("pool "+pool.Name)
	return &named, nil
}

// newSiteOfTwo has pool q beside pool p, in an address space of its own.
func newSiteOfTwo(t *testing.T, block string, stored objects) *site {
	t.Helper()
	return newSiteOfTwoOf(t, clusterapi.Form{}, block, stored)
}

// newSiteOfTwoOf has claims of that form.
func newSiteOfTwoOf(t *testing.T, form door.Form, block string, stored objects) *site {
	t.Helper()
	w := newSiteOf(t, form, append(stored, allocations.Root("q", block, allocations.Confirmed, allocations.Elsewhere)), nil)
	w.Ledger.SetPool(ledger.Pool{
		Ref: allocations.PoolRef("q"), UID: "pool q", Space: "other", Namespace: "ns",
		Shape: pooltree.New(pooltree.Config{Areas: []pooltree.Area{{
			Range: netipx.RangeOfPrefix(netip.MustParsePrefix(block)), Network: pooltree.Network{Bits: 24},
		}}}),
	})
	w.Reconciler = claim.New(claim.Options{
		Client: w.Client, Live: w.Site, Ledger: w.Ledger, Form: w.Form, Source: byName{w.source}, Recorder: w.recorder, Clock: w.clock,
		Arrivals: w.arrivals, Outside: w.outside, Rules: &tenancy.Rules{Client: w.Client, Platform: "platform", Namespace: "weir-system"},
	})
	return w
}

// given reconciles a claim, and returns the address that it has then.
func (w *site) given(t *testing.T, name string) string {
	t.Helper()
	if _, err := w.Reconcile(t.Context(), ctrl.Request{NamespacedName: allocations.At(name)}); err != nil {
		t.Fatal(err)
	}
	got := &ipamv1beta2.IPAddress{}
	if err := client.IgnoreNotFound(w.Raw.Get(t.Context(), allocations.At(name), got)); err != nil {
		t.Fatal(err)
	}
	return got.Spec.Address
}

// TestAnIPAddressOutOfAnotherPoolThanItsClaims holds its address in its own pool, whether it is there when that pool begins to hand out, or
// comes later: a host may use what was restored, though a claim of that name has been made for another pool since. That claim does not get it,
// not even where its pool has the same address in another network.
func TestAnIPAddressOutOfAnotherPoolThanItsClaims(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct {
		owner types.UID
		block string
	}{
		"it was an earlier claim's":         {"former", "10.2.0.0/24"},
		"it names no claim":                 {"", "10.2.0.0/24"},
		"the other pool has such addresses": {"former", "10.0.0.0/24"},
	} {
		restored := func(address string) *ipamv1beta2.IPAddress {
			return answerA(ownedBy(test.owner), arrived, atVersion(""), withAddress(address))
		}
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			w := newSiteOfTwo(t, test.block, objects{claimA(ofPoolQ), restored("10.0.0.1"), another("b")})
			if got := w.given(t, "b"); got != "10.0.0.2" {
				t.Errorf("there first: claim b gets %s", got)
			}
			w = newSiteOfTwo(t, test.block, objects{claimA(ofPoolQ), another("b"), another("c")})
			first := w.given(t, "b")
			if err := w.Raw.Create(t.Context(), restored("10.0.0.2")); err != nil {
				t.Fatal(err)
			}
			w.given(t, "a")
			if reason, _ := w.status(t); reason != ipamv1.ClaimReadyAllocationFailedReason {
				t.Errorf("the claim is told %s", reason)
			}
			if got := w.given(t, "c"); first != "10.0.0.1" || got != "10.0.0.3" {
				t.Errorf("there later: claim b gets %s, claim c %s", first, got)
			}
		})
	}
}

// TestAnIPAddressOutOfAnotherPoolWithTheAddressOfItsClaim holds its address in its own pool: what its claim has in another network is the same
// number, and not the same address.
func TestAnIPAddressOutOfAnotherPoolWithTheAddressOfItsClaim(t *testing.T) {
	t.Parallel()
	b := claimA(called("b"), withUID("claim b"), atVersion(""))
	w := newSiteOfTwo(t, "10.0.0.0/24", objects{claimA(ofPoolQ), b})
	if got := w.given(t, "a"); got != "10.0.0.1" {
		t.Fatalf("claim a gets %s of pool q", got)
	}
	w.vanish(t, answerA())
	if err := w.Raw.Create(t.Context(), answerA(ownedBy("former"), arrived, atVersion(""), withAddress("10.0.0.1"))); err != nil {
		t.Fatal(err)
	}
	w.given(t, "a")
	if got := w.given(t, "b"); got != "10.0.0.2" {
		t.Errorf("claim b gets %s of pool p", got)
	}
}

// TestWhatIsHeldForAnIPAddressOutOfAnotherPool goes once a user has deleted that: the claim gets an address of its own pool, and the other one
// is not lost.
func TestWhatIsHeldForAnIPAddressOutOfAnotherPool(t *testing.T) {
	t.Parallel()
	restored := answerA(ownedBy("former"), arrived)
	w := newSiteOfTwo(t, "10.2.0.0/24", objects{claimA(ofPoolQ), restored})
	w.given(t, "a")
	w.vanish(t, restored)
	w.Requests()
	got := w.given(t, "a")
	if diff := cmp.Diff(together(recordMade, answerMade, recordGoes), written(w.Requests())); got != "10.2.0.1" || diff != "" {
		t.Errorf("gets %s, writes (-want +got):\n%s", got, diff)
	}
}

// TestADeletedIPAddressOutOfAnotherPool is not rejected: it has Weir's finalizer, which has to come off. The claim gets the same address of its
// own pool, which has it too.
func TestADeletedIPAddressOutOfAnotherPool(t *testing.T) {
	t.Parallel()
	w := newSiteOfTwo(t, "10.0.0.0/24", objects{claimA(ofPoolQ), answerA(ownedBy("former"), arrived, deleted)})
	w.given(t, "a")
	got := &ipamv1beta2.IPAddress{}
	if err := w.Raw.Get(t.Context(), allocations.At("a"), got); err != nil || got.Spec.PoolRef.Name != "q" || got.Spec.Address != "10.0.0.4" {
		t.Errorf("gets %s of pool %s, %v", got.Spec.Address, got.Spec.PoolRef.Name, err)
	}
}

// TestAnIPAddressOutOfAnotherPoolThanItsDeletedClaims holds its address in its own pool until the grace is over: the claim that is deleted has
// nothing of that pool.
func TestAnIPAddressOutOfAnotherPoolThanItsDeletedClaims(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct {
		claim *ipamv1beta2.IPAddressClaim
		owner types.UID
	}{
		"it is deleted":                      {claimA(ofPoolQ, deleted), "former"},
		"it is deleted, and had no claim":    {claimA(ofPoolQ, deleted), ""},
		"clusterctl has moved it":            {claimA(ofPoolQ, deleted, moving, leftBy("claim a")), "former"},
		"clusterctl has moved it, unclaimed": {claimA(ofPoolQ, deleted, moving, leftBy("claim a")), ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			restored := answerA(ownedBy(test.owner), arrived, withAddress("10.0.0.1"))
			w := newSiteOfTwo(t, "10.0.0.0/24", objects{test.claim, restored, another("b")})
			for range 3 {
				_, _ = w.once(t)
			}
			if got := w.given(t, "b"); got != "10.0.0.2" || !w.has(t, restored) || w.has(t, claimA()) {
				t.Errorf("claim b gets %s", got)
			}
		})
	}
}
