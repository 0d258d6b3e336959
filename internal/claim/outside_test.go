// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claim_test

import (
	"context"
	"net/netip"
	"testing"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/external"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
)

// cloud is an external.Provider that notes what it is asked for.
type cloud struct {
	external.Provider

	asked []external.Request
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
			w.source.offer.Outside = &external.Backing{
				Provider: c, Begin: func(ipamv1.ClaimReference) (int, func(), error) { return -1, func() {}, nil },
				Holders: func(netip.Addr) []ipamv1.ClaimReference { return nil },
			}
			_, err := w.once(t)
			if len(c.asked) != 1 || c.asked[0].IsRecorded != test.recorded || c.asked[0].IsTold != test.told {
				t.Errorf("%+v, %v", c.asked, err)
			}
		})
	}
}
