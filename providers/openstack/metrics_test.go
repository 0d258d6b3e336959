// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"fmt"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	dto "github.com/prometheus/client_model/go"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/openstack/fake"
)

// TestCallsAreCountedByCallAndCode, also those without an answer.
func TestCallsAreCountedByCallAndCode(t *testing.T) {
	t.Parallel()
	const teapot = 418 // no other test's
	b := newBench(t)
	b.mustAcquire(claim("warm", "warm"))
	before := callsCounted(t, create, "201")
	b.Inject(fake.Fault{Call: list, Effect: fake.Refuse, Code: teapot})
	if _, err := b.acquire(b.ctx(), ours); err == nil {
		t.Error("it does not fail")
	}
	lost := callsCounted(t, list, "none")
	b.Inject(fake.Fault{Call: list, Effect: fake.CutBefore, Times: -1})
	if _, err := b.acquire(b.ctx(), ours); err == nil {
		t.Error("it does not fail")
	}
	b.ClearFaults()
	b.clock.Step(time.Minute)
	b.mustAcquire(ours)
	if n := callsCounted(t, list, fmt.Sprint(teapot)); n != 1 {
		t.Errorf("%d lists are counted that were answered with %d", n, teapot)
	}
	if callsCounted(t, list, "none") <= lost || callsCounted(t, create, "201") <= before {
		t.Error("a list without an answer, or a creation, is not counted")
	}
}

func callsCounted(t *testing.T, call, code string) int {
	t.Helper()
	series, _ := callDuration.WithLabelValues(call, code).(prometheus.Metric)
	written := &dto.Metric{}
	if err := series.Write(written); err != nil {
		t.Fatal(err)
	}
	return int(written.GetHistogram().GetSampleCount())
}
