// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"github.com/prometheus/client_golang/prometheus"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/metrics"
)

func counter(name, help string) prometheus.Counter {
	return metrics.Counter("ledger", name, help).WithLabelValues()
}

var (
	reservations   = counter("reservations_total", "Records that won their judgement at creation.")
	lostJudgements = counter("lost_judgements_total", "Records that overlapped an older one and were dropped.")
	takeovers      = counter("takeovers_total", "Records of another manager, or of an earlier start, that were taken over.")
	drops          = counter("drops_total", "Records dropped: lost, void or released.")
	proofs         = counter("currency_proofs_total", "Proofs that the index is current, made before saying that a pool is exhausted.")
	relists        = counter("relists_total", "Lists of all records after the first.")
)
