// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"testing"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
)

// answering is a ledger that answers everything with one error.
type answering struct {
	Ledger

	err error
}

func (a answering) Propose(context.Context, ledger.Claim) (netip.Prefix, error) {
	return netip.Prefix{}, a.err
}

func (a answering) Reserve(context.Context, ledger.Claim) (ledger.Allocation, error) {
	return ledger.Allocation{}, a.err
}

func (a answering) Preview(ledger.Claim) (netip.Prefix, error) { return netip.Prefix{}, a.err }

// TestWhatIsTimed: each step counts once, under what came of it; a dry run does not count.
func TestWhatIsTimed(t *testing.T) {
	for name, test := range map[string]struct {
		err                error
		proposed, reserved string
	}{
		"success":   {nil, "ok", "ok"},
		"exhausted": {fmt.Errorf("no: %w", ledger.ErrExhausted), "exhausted", "exhausted"},
		"busy":      {ledger.ErrBusy, "busy", "busy"},
		"taken":     {ledger.ErrTaken, "taken", "busy"}, // the client is to try again
		"refused":   {ledger.ErrRefused, "refused", "refused"},
		"not ready": {ledger.ErrNotReady, "not ready", "not ready"},
		"broken":    {errors.New("broken"), "error", "error"},
	} {
		d, ctx := dispenser{ledger: answering{optionsWith(t, held{}).Ledger, test.err}}, t.Context()
		proposed, reserved := timedCount(t, proposeStep, test.proposed), timedCount(t, reserveStep, test.reserved)
		_, _ = d.pick(ctx, ledger.Claim{}, true)
		_, _ = d.pick(ctx, ledger.Claim{}, false)
		_ = d.reserve(ctx, ledger.Claim{})
		if got := timedCount(t, proposeStep, test.proposed) - proposed; got != 1 {
			t.Errorf("%s: proposing counted %d times as %q", name, got, test.proposed)
		}
		if got := timedCount(t, reserveStep, test.reserved) - reserved; got != 1 {
			t.Errorf("%s: reserving counted %d times as %q", name, got, test.reserved)
		}
	}
}

func timedCount(t *testing.T, step, result string) uint64 {
	t.Helper()
	histogram, isHistogram := reservationDuration.WithLabelValues(step, result).(prometheus.Histogram)
	m := &dto.Metric{}
	if !isHistogram || histogram.Write(m) != nil {
		t.Fatal("no histogram")
	}
	return m.GetHistogram().GetSampleCount()
}
