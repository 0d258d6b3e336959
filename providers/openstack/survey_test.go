// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"slices"
	"strings"
	"testing"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/external"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/providers/openstack/neutron"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/openstack/fake"
)

// TestJudgeLeft: only what names this pool and a claim, with no record of the address, may be left over.
func TestJudgeLeft(t *testing.T) {
	t.Parallel()
	own, _ := describe(poolKey, ours)
	borrowed, _ := describeLent(poolKey, ours)
	address := netip.MustParseAddr("198.18.0.10")
	record := func(uid string) []external.Record {
		return []external.Record{{Claim: ipamv1.ClaimReference{UID: uid}, Address: address}}
	}
	for name, test := range map[string]struct {
		description string
		records     []external.Record
		isHeld      bool
		want        left
	}{
		"a person's":                       {"office", nil, false, elsewhere},
		"nobody's":                         {"", nil, false, elsewhere},
		"another pool's":                   {"weir/1/another-key/" + claimUID + "/infra/c", nil, false, elsewhere},
		"free":                             {describeFree(poolKey), nil, false, stock},
		"free, and recorded":               {describeFree(poolKey), record(claimUID), true, stock},
		"a claim's":                        {own, record(claimUID), true, recorded},
		"lent to a claim":                  {borrowed, record(claimUID), true, recorded},
		"a claim's of two records":         {own, append(record("other"), record(claimUID)...), true, recorded},
		"recorded for another claim":       {own, record("other"), true, heldForOther},
		"recorded for a claim that moved":  {own, nil, true, heldForOther},
		"a claim's without a record":       {own, nil, false, unrecorded},
		"lent to a claim without a record": {borrowed, nil, false, unrecorded},
	} {
		seen := neutron.FloatingIP{Description: test.description, Address: address}
		if got := judgeLeft(seen, poolKey, test.records, test.isHeld); got != test.want {
			t.Errorf("%s: %s, want %s", name, got, test.want)
		}
	}
}

// here is what is known of the bench's pool.
type here struct {
	*bench

	records map[netip.Addr]ipamv1.ClaimReference
	// moved are addresses that are kept for claims which have moved to another cluster.
	moved []netip.Addr
	lives map[string]external.Life
	// before is called before a live read.
	before func()
	err    error
	asked  []string
}

func (h *here) known() external.Known {
	return external.Known{
		Records: func() []external.Record {
			all := make([]external.Record, 0, len(h.records))
			for address, claim := range h.records {
				all = append(all, external.Record{Claim: claim, Address: address})
			}
			return all
		},
		IsHeld: func(address netip.Addr) bool {
			return h.records[address].UID != "" || slices.Contains(h.moved, address)
		},
		Life: func(_ context.Context, claim ipamv1.ClaimReference, isCut bool) (external.Life, error) {
			h.asked = append(h.asked, fmt.Sprint(claim.Namespace, "/", claim.Name, " ", isCut))
			if h.before != nil {
				h.before()
			}
			if life := h.lives[claim.UID]; life != "" && !strings.Contains(claim.Name, " ") { // no claim has such a name
				return life, h.err
			}
			return external.NotHere, h.err
		},
	}
}

func newHere(t *testing.T) *here {
	t.Helper()
	return &here{bench: newBench(t), records: map[netip.Addr]ipamv1.ClaimReference{}, lives: map[string]external.Life{}}
}

// compare surveys the pool with these calls, and without any change.
func (h *here) compare(calls ...string) external.Survey {
	h.t.Helper()
	before := h.FloatingIPs()
	found, err := h.Survey(h.ctx(), h.pool, h.known())
	if err != nil {
		h.t.Fatal(err)
	}
	ended := h.Calls()
	got := make([]string, 0, len(ended))
	for _, call := range ended {
		got = append(got, call.Name)
	}
	if h.Reset(); fmt.Sprint(got) != fmt.Sprint(calls) {
		h.t.Errorf("calls %v, want %v", got, calls)
	}
	if h.before == nil {
		h.expectUntouched(before)
	}
	return found
}

// TestASurveyTellsWhatDiffers and changes nothing: each row of what may be found.
func TestASurveyTellsWhatDiffers(t *testing.T) {
	t.Parallel()
	h := newHere(t)
	recordedClaim, pending, dying, unknown := claim("recorded", "r"), claim("pending", "p"), claim("dying", "d"), claim("unknown", "u")
	for _, c := range []ipamv1.ClaimReference{recordedClaim, pending, dying, unknown} {
		has := h.mustAcquire(c)
		if c == recordedClaim {
			h.records[has.Addr] = c
		}
	}
	h.lives = map[string]external.Life{"r": external.Living, "p": external.Living, "d": external.Ending, "m": external.Living, "t": external.Living, "g": external.Ending}
	h.lend("office", describeFree(poolKey), "weir/1/another-key/x/infra/x")
	theirs := h.lend("weir/1/another-key/t/infra/t")[0]
	h.Reset()
	found := h.compare(list, list)
	if len(found.Unknown) != 1 || found.Unknown[0].Claim.UID != "u" || found.Unknown[0].Claim.Name != "unknown" || len(found.Missing)+len(found.Taken) != 0 {
		t.Errorf("found %+v", found)
	}
	missing, taken := claim("missing", "m"), claim("taken", "t")
	h.records[netip.MustParseAddr("198.18.9.9")] = missing
	h.records[netip.MustParseAddr("198.18.9.8")] = claim("going", "g")
	h.records[theirs.Address] = taken
	found = h.compare(list, list)
	if len(found.Missing) != 1 || found.Missing[0].Claim != missing || len(found.Taken) != 1 || found.Taken[0].Claim != taken || len(found.Unknown) != 1 {
		t.Errorf("found %+v", found)
	}
}

// TestASurveyOfWhatAgrees is one list, and reads no claim.
func TestASurveyOfWhatAgrees(t *testing.T) {
	t.Parallel()
	h := newHere(t)
	h.records[h.mustAcquire(ours).Addr] = ours
	h.Reset()
	if found := h.compare(list); !found.IsEmpty() || len(h.asked) != 0 {
		t.Errorf("found %+v, asked of %v", found, h.asked)
	}
}

// TestASurveyCountsTheStock that a pool has kept, or lists, by whether a port has it, whatever else differs.
func TestASurveyCountsTheStock(t *testing.T) {
	t.Parallel()
	h := newHere(t)
	h.mustAcquire(claim("warm", "warm"))
	h.empty()
	h.lives["pending"] = external.Living
	for _, test := range []struct {
		description       string
		isListed, isBound bool
		want              external.Stock
	}{
		{description: describeFree(poolKey), want: external.Stock{Free: 1}},
		{description: describeFree(poolKey), isBound: true, want: external.Stock{Bound: 1}},
		{description: describeFree(poolKey), isListed: true, want: external.Stock{Free: 1}},
		{isListed: true, want: external.Stock{Free: 1}},
		{isListed: true, isBound: true, want: external.Stock{Bound: 1}},
		{},
		{description: "office", isListed: true},
		{description: "office", isListed: true, isBound: true},
		{description: describeFree("another-key"), isListed: true, isBound: true},
		{description: "weir/1/" + poolKey + "/pending/infra/c", isListed: true, isBound: true},
	} {
		f, port := h.lend(test.description)[0], ""
		if test.isBound {
			port, _ = h.Bind(h.ctx(), f.ID)
		}
		if !test.isListed {
			h.pool.Source.PreAllocatedFloatingIPs = nil
		}
		expect := func(when string, calls ...string) {
			t.Helper()
			if found := h.compare(calls...); found.Stock != test.want {
				t.Errorf("%+v, %s: %+v", test, when, found.Stock)
			}
		}
		expect("where all agrees", list)
		h.lendTo(claim("pending", "pending"))
		h.Reset()
		expect("with a claim that waits", list)
		h.lendTo(claim("unknown", "unknown"))
		h.Reset()
		expect("where something differs", list, list)
		_ = h.Unbind(h.ctx(), port)
		h.empty()
		h.pool.Source.PreAllocatedFloatingIPs = nil
	}
}

// TestARecordOfStateMovedAtThatAddressDoesNothing, whichever UID the floating IP names: that of a claim that is not here, of one that lives
// here and has another one, or none. No claim is looked for.
func TestARecordOfStateMovedAtThatAddressDoesNothing(t *testing.T) {
	t.Parallel()
	h := newHere(t)
	h.records[h.mustAcquire(ours).Addr] = ours
	h.lives[claimUID] = external.Living
	own, _ := describe(poolKey, ours)
	for _, f := range h.stock("weir/1/"+poolKey+"/moved/infra/moved", own, describeFree(poolKey)) {
		h.moved = append(h.moved, f.Address)
	}
	h.moved = append(h.moved, netip.MustParseAddr("198.18.9.9"))
	h.Reset()
	if found := h.compare(list); !found.IsEmpty() || len(h.asked) != 0 {
		t.Errorf("found %+v, asked of %v", found, h.asked)
	}
	h.moved = nil
	if found := h.compare(list, list); len(found.Unknown) != 1 || len(found.Surplus) != 1 {
		t.Errorf("without the record: found %+v", found)
	}
}

// TestWhatEndsDuringASurveyIsNotTold: a release, an allocation, and one that fails.
func TestWhatEndsDuringASurveyIsNotTold(t *testing.T) {
	t.Parallel()
	for name, during := range map[string]func(h *here, has external.Address){
		"released": func(h *here, _ external.Address) {
			if err := h.giveBack(h.ctx(), external.ClaimReleased(ours)); err != nil {
				h.t.Error(err)
			}
		},
		"recorded": func(h *here, has external.Address) { h.records[has.Addr] = ours },
	} {
		h := newHere(t)
		has := h.mustAcquire(ours)
		h.before = func() { during(h, has) }
		found, err := h.Survey(h.ctx(), h.pool, h.known())
		if err != nil || !found.IsEmpty() {
			t.Errorf("%s: found %+v, %v", name, found, err)
		}
		h.Reset()
	}
}

// TestASurveyThatFailsTellsNothing, whichever call it was, and no words of the server to claims.
func TestASurveyThatFailsTellsNothing(t *testing.T) {
	t.Parallel()
	h := newHere(t)
	h.mustAcquire(ours)
	h.err = errors.New("the API server is away")
	if found, err := h.Survey(h.ctx(), h.pool, h.known()); !errors.Is(err, h.err) || !found.IsEmpty() {
		t.Errorf("found %+v, %v", found, err)
	}
	h.err = nil
	h.Inject(fake.Fault{Call: list, Effect: fake.Refuse, Code: 503, Times: -1})
	var fault *external.FaultError
	if found, err := h.Survey(h.ctx(), h.pool, h.known()); !errors.As(err, &fault) || !found.IsEmpty() {
		t.Errorf("found %+v, %v", found, err)
	}
	h.ClearFaults()
	h.Reset()
}

// TestANameThatWasCutIsSaidToBe, so that its claim is looked for by its UID.
func TestANameThatWasCutIsSaidToBe(t *testing.T) {
	t.Parallel()
	h := newHere(t)
	long := claim(strings.Repeat("c", 250), "long")
	h.mustAcquire(long)
	h.mustAcquire(claim("short", "short"))
	h.Reset()
	if found := h.compare(list, list); len(found.Unknown) != 2 {
		t.Errorf("found %+v", found)
	}
	all := strings.Join(h.asked, "\n")
	if !strings.Contains(all, "infra/short false") || !strings.Contains(all, "c true") {
		t.Errorf("asked of %s", all)
	}
}

// TestASecondFloatingIPOfAClaimIsTold if the claim lives and has another one, which its record holds.
func TestASecondFloatingIPOfAClaimIsTold(t *testing.T) {
	t.Parallel()
	second := claim("second", "s")
	for name, test := range map[string]struct {
		life external.Life
		// without: the claim's record, or the floating IP of that, is not there.
		withoutRecord, without bool
		// held: a record of another claim holds the address. isSecond: it is told.
		held, isSecond bool
		// isUnknown: one is told to be of a claim that is not here. By an altered description nobody finds the claim.
		isUnknown bool
	}{
		"it lives":                      {life: external.Living, isSecond: true},
		"it is being deleted":           {life: external.Ending},
		"it is not here":                {life: external.NotHere, isUnknown: true},
		"it has no record":              {life: external.Living, withoutRecord: true, isUnknown: true},
		"the other one does not exist":  {life: external.Living, without: true, isUnknown: true},
		"another claim has the address": {life: external.Living, held: true},
	} {
		h := newHere(t)
		h.lives = map[string]external.Life{"s": test.life}
		has := h.mustAcquire(second)
		made := h.lend(h.owned("s")[0].Description, h.owned("s")[0].Description+" for the office")
		if _, err := h.Bind(h.ctx(), made[1].ID); err != nil {
			t.Fatal(err)
		}
		if !test.withoutRecord {
			h.records[has.Addr] = second
		}
		if test.without {
			h.records = map[netip.Addr]ipamv1.ClaimReference{netip.MustParseAddr("198.18.9.9"): second}
		}
		if test.held {
			h.records[made[0].Address], h.records[made[1].Address] = claim("other", "o"), claim("other", "o")
		}
		h.Reset()
		found, err := h.Survey(h.ctx(), h.pool, h.known())
		if err != nil {
			t.Fatal(err)
		}
		var want []external.Surplus
		if test.isSecond {
			want = secondsOf(second, made)
		}
		slices.SortFunc(want, func(a, b external.Surplus) int { return strings.Compare(a.ID, b.ID) })
		for n := range found.Surplus {
			found.Surplus[n].Use = strings.Repeat("bound", min(1, len(found.Surplus[n].Use)))
		}
		if isUnknown := len(found.Unknown) > 0; isUnknown != test.isUnknown || !slices.Equal(found.Surplus, want) {
			t.Errorf("%s: found %+v", name, found)
		}
		h.Reset()
	}
}

// secondsOf are two that a claim has beside its own: one as Weir made it, one that is bound and has another description.
func secondsOf(claim ipamv1.ClaimReference, made []neutron.FloatingIP) []external.Surplus {
	return []external.Surplus{
		{Leftover: external.Leftover{ID: made[0].ID, Address: made[0].Address, Claim: claim}},
		{Leftover: external.Leftover{ID: made[1].ID, Address: made[1].Address, Claim: claim}, Use: "bound", IsAltered: true},
	}
}
