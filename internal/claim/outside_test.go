// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claim_test

import (
	"context"
	"net/netip"
	"testing"

	"github.com/google/go-cmp/cmp"
	"github.com/google/go-cmp/cmp/cmpopts"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/external"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
)

// cloud is an external.Provider that notes what it is asked for.
type cloud struct {
	external.Provider

	asked   []external.Request
	adopted []external.Adoption
	// keeps is what adopting errs with.
	keeps error
}

func (c *cloud) Adopt(_ context.Context, _ external.Pool, adoption external.Adoption) (external.Address, error) {
	c.adopted = append(c.adopted, adoption)
	return external.Address{Addr: adoption.Address, ID: "id"}, c.keeps
}

// backedBy has pool p's addresses be those of the cloud.
func backedBy(w *site, c *cloud) {
	w.source.offer.Outside = &external.Backing{
		Provider: c, Begin: func(ipamv1.ClaimReference) (int, func(), error) { return -1, func() {}, nil },
		Holders: func(netip.Addr) []ipamv1.ClaimReference { return nil },
	}
}

func (c *cloud) Acquire(_ context.Context, _ external.Pool, request external.Request) (external.Address, error) {
	c.asked = append(c.asked, request)
	return external.Address{}, ledger.ErrBusy
}

// TestWhatTheCloudIsAskedFor shows whether anything tells that the claim has an address: what has one is asked for although the cloud is full.
func TestWhatTheCloudIsAskedFor(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct {
		stored         objects
		recorded, told bool
	}{
		"nothing":                  {stored: objects{claimA()}},
		"a record":                 {stored: objects{claimA(), recordA()}, recorded: true},
		"a status":                 {stored: objects{claimA(ready("a"))}, told: true},
		"a record of a former one": {stored: objects{claimA(), recordOf("former", "a", "10.0.0.4/32")}},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			w := newSite(t, test.stored, nil)
			c := &cloud{}
			backedBy(w, c)
			_, err := w.once(t)
			if len(c.asked) != 1 || c.asked[0].IsRecorded != test.recorded || c.asked[0].IsTold != test.told {
				t.Errorf("%+v, %v", c.asked, err)
			}
		})
	}
}

// TestWhatTheCloudIsToAdopt is asked before it is recorded, and whether it came with the claim.
func TestWhatTheCloudIsToAdopt(t *testing.T) {
	t.Parallel()
	former, marked := answerA(ownedBy("former")), answerA(ownedBy("former"), arrived)
	named := []string{"patch IPAllocation"}
	for sentence, test := range map[string]struct {
		stored  objects
		arrived bool
		want    []string
	}{
		"its own":                         {stored: objects{claimA(), answerA()}, want: recordMade},
		"its own, which is recorded":      {stored: objects{claimA(), answerA(), recordA()}, want: named},
		"its own, told before it came":    {stored: objects{claimA(arrived, ready("a")), answerA(), recordA()}, arrived: true, want: named},
		"a claim that arrived":            {stored: objects{claimA(arrived), former}, arrived: true, want: together(recordMade, answerOwned)},
		"an answer that arrived":          {stored: objects{claimA(), marked}, arrived: true, want: together(recordMade, answerOwned)},
		"a claim that arrived, a deleted": {stored: objects{claimA(arrived), answerA(ownedBy("former"), deleted)}, arrived: true, want: together(recordMade, answerGoes[1:], answerMade)},
		"an answer that arrived, deleted": {stored: objects{claimA(), answerA(ownedBy("former"), arrived, deleted)}, arrived: true, want: together(recordMade, answerGoes[1:], answerMade)},
		"a record that arrived":           {stored: objects{claimA(arrived), recordA(formerUID)}, arrived: true, want: together(recordMade, answerMade, recordGoes)},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			for _, keeps := range []error{nil, ledger.ErrBusy} {
				w, c := newSite(t, test.stored, nil), &cloud{keeps: keeps}
				backedBy(w, c)
				want := test.want
				if keeps != nil {
					want = nil
				}
				writes, err := w.once(t)
				if diff := cmp.Diff(want, writes, cmpopts.EquateEmpty()); diff != "" || err != nil || len(c.adopted) == 0 || c.adopted[0].HasArrived != test.arrived {
					t.Errorf("cloud errs with %v: asked %+v, writes (-want +got):\n%s%v", keeps, c.adopted, diff, err)
				}
			}
		})
	}
}
