// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"testing"
	"time"
)

func TestNextSecondNeverCutsACooldownShort(t *testing.T) {
	t.Parallel()
	for in, want := range map[time.Duration]time.Duration{0: 0, 1: time.Second, time.Second - 1: time.Second, time.Second: time.Second} {
		if got := nextSecond(time.Unix(0, 0).Add(in)); got != time.Unix(0, 0).Add(want) {
			t.Errorf("nextSecond(%s) = %s, want %s", in, got.Sub(time.Unix(0, 0)), want)
		}
	}
}
