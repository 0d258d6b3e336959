// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claimant

import (
	"errors"
	"fmt"
	"testing"
	"time"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
)

// TestResultComesBackWhenTheErrorSaysSo: times are spread, up to twice as long.
func TestResultComesBackWhenTheErrorSaysSo(t *testing.T) {
	t.Parallel()
	r := Retries{Busy: time.Second, Taken: 10 * time.Second, Refused: 100 * time.Second}
	for name, test := range map[string]struct {
		err  error
		want time.Duration
	}{
		"nothing is wrong":           {nil, 0},
		"busy":                       {fmt.Errorf("once more: %w", ledger.ErrBusy), time.Second},
		"taken":                      {ledger.ErrTaken, 10 * time.Second},
		"refused":                    {&Refusal{}, 100 * time.Second},
		"refused for a time":         {fmt.Errorf("no: %w", &Refusal{After: time.Minute}), time.Minute},
		"kept":                       {fmt.Errorf("not yet: %w", &KeptError{After: time.Minute}), time.Minute},
		"kept, and another is busy":  {errors.Join(&KeptError{After: time.Minute}, ledger.ErrBusy), time.Second},
		"exhausted":                  {ledger.ErrExhausted, 100 * time.Second},
		"refused and exhausted, too": {errors.Join(ledger.ErrExhausted, &Refusal{After: time.Minute}), time.Minute},
	} {
		result, err := r.Result(test.err)
		if err != nil || result.RequeueAfter < test.want || result.RequeueAfter > 2*test.want {
			t.Errorf("%s: after %s, %v", name, result.RequeueAfter, err)
		}
	}
}
