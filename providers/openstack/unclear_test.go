// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"net/http"
	"strings"
	"testing"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/external"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/openstack/fake"
)

// TestWhatStaysUnclearIsTold: once or twice in a row a change that may have been executed, or that found something else than was seen, is tried
// again at once. Then claims and releases are told, and tried again after a while; until it ends.
func TestWhatStaysUnclearIsTold(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		call, words string
		fault       fake.Fault
	}{
		{create, "does not answer", fake.Fault{Effect: fake.Refuse, Code: http.StatusInternalServerError}},
		{create, "does not answer", fake.Fault{Effect: fake.CutBefore}},
		{create, "refuses the change", fake.Fault{Effect: fake.Refuse, Code: http.StatusPreconditionFailed}},
		{remove, "does not answer", fake.Fault{Effect: fake.Refuse, Code: http.StatusGatewayTimeout}},
		{remove, "does not answer", fake.Fault{Effect: fake.CutBefore}},
		{remove, "refuses the change", fake.Fault{Effect: fake.Refuse, Code: http.StatusPreconditionFailed}},
	} {
		b := newBench(t)
		run, reason := func() error { return b.giveBack(b.ctx(), external.ClaimReleased(ours)) }, "WaitingForCloud"
		if test.call == create {
			run, reason = func() error { _, err := b.acquire(b.ctx(), ours); return err }, "PoolNotReady"
		} else {
			b.mustAcquire(ours)
		}
		for range 2 { // it begins anew
			test.fault.Call, test.fault.Times = test.call, -1
			b.Inject(test.fault)
			for i, want := range []string{"busy", "busy", reason, reason} {
				if err := run(); reasonOf(err) != want || want == reason && (!strings.Contains(err.Error(), test.words) || retryTimeOf(err) != retry) {
					t.Errorf("%s, %+v: the %d. time: %v", test.call, test.fault, i+1, err)
				}
			}
			b.ClearFaults()
			if err := run(); err != nil {
				t.Errorf("%s, %+v: in the end: %v", test.call, test.fault, err)
			}
			if test.call == remove {
				b.mustAcquire(ours)
			} else if err := b.giveBack(b.ctx(), external.ClaimReleased(ours)); err != nil {
				t.Error(err)
			}
		}
		if len(b.unclear.times) != 0 {
			t.Errorf("kept: %v", b.unclear.times)
		}
	}
}
