// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"fmt"
	"strings"
	"text/tabwriter"
)

// What is to be reached, on any machine.
const (
	maxCall    = 2.5
	maxDenied  = 1.5
	minShare   = 0.8
	maxWrites  = 3.0
	maxGrowth  = 1.3
	shareWith  = 10
	oneClient  = 1
	percentage = 100
)

func p50(rounds []*callRound) float64 {
	return medianOf(rounds, func(r *callRound) float64 { return r.P50 })
}

func (m *callMode) writes() float64 {
	return medianOf(m.Weir, func(r *callRound) float64 { return sum(r.Writes) })
}

// share is the rate at which claims are finished, of what the API server could do with nothing else to do than these writes.
func (m *callMode) share() float64 {
	return m.shareOf(medianOf(m.Weir, func(r *callRound) float64 { return r.Finished }))
}

func (m *callMode) shareOf(finished float64) float64 {
	bare := medianOf(m.Bare, func(r *callRound) float64 { return r.Created })
	return finished * (1 + m.writes()) / bare
}

func (c *calls) mode(clients int) *callMode {
	for _, m := range c.Modes {
		if m.Clients == clients {
			return m
		}
	}
	return &callMode{}
}

// writeCalls writes what was measured of IPClaims.
func (r *report) writeCalls(text *strings.Builder) {
	c := r.Calls
	if c == nil {
		return
	}
	text.WriteString("\nIPClaims, answered in the call that creates them; bare: the same object stored without Weir\n")
	w := tabwriter.NewWriter(text, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "clients\tbare p50 ms\tp95 ms\tbare/s\tWeir p50 ms\tp95 ms\tp99 ms\tcreated/s\tfinished/s\twrites/claim\tp50 of bare\tshare\t")
	for _, m := range c.Modes {
		p95 := func(r *callRound) float64 { return r.P95 }
		fmt.Fprintf(w, "%d\t%.1f\t%.1f\t%.0f\t%.1f\t%.1f\t%.1f\t%.0f\t%.0f\t%.2f\t%.2f\t%.0f %%\t\n", m.Clients,
			p50(m.Bare), medianOf(m.Bare, p95), medianOf(m.Bare, func(r *callRound) float64 { return r.Created }),
			p50(m.Weir), medianOf(m.Weir, p95), medianOf(m.Weir, func(r *callRound) float64 { return r.P99 }),
			medianOf(m.Weir, func(r *callRound) float64 { return r.Created }), medianOf(m.Weir, func(r *callRound) float64 { return r.Finished }),
			m.writes(), p50(m.Weir)/p50(m.Bare), percentage*m.share())
	}
	_ = w.Flush() // A strings.Builder does not fail.
	c.writeOthers(text)
	c.writeTargets(text)
	for _, m := range c.Modes {
		fmt.Fprintf(text, "\nWith %d at once, Weir's API requests for a claim:\n", m.Clients)
		writeFigures(text, mediansOf(m.Weir, func(r *callRound) map[string]float64 { return r.Writes }), "%9.3f  %s\n")
		writeFigures(text, mediansOf(m.Weir, func(r *callRound) map[string]float64 { return r.Reads }), "%9.3f  %s\n")
		text.WriteString("  CPU ms for a claim, bare:")
		writeFigures(text, mediansOf(m.Bare, func(r *callRound) map[string]float64 { return r.CPU }), "  %.2f %s")
		text.WriteString("\n  CPU ms for a claim, the same writes by somebody who knows:")
		writeFigures(text, mediansOf(m.Known, func(r *callRound) map[string]float64 { return r.CPU }), "  %.2f %s")
		text.WriteString("\n  CPU ms for a claim, Weir:")
		writeFigures(text, mediansOf(m.Weir, func(r *callRound) map[string]float64 { return r.CPU }), "  %.2f %s")
		text.WriteString("\n")
	}
}

func (c *calls) writeOthers(text *strings.Builder) {
	one := c.mode(oneClient)
	fmt.Fprintf(text, "One client that pauses for %s: p50 %.1f ms bare, %.1f ms with Weir (%.2f of it), %.1f ms refused by an exhausted pool\n",
		deniedPause, p50(c.Paused), p50(c.Calm), p50(c.Calm)/p50(c.Paused), p50(c.Denied))
	fmt.Fprintf(text, "One client: p50 %.1f ms in a root pool, %.1f ms at depth %d; there with %d records %.1f ms (bare then %.1f ms)\n",
		p50(one.Weir), p50(c.Deep), len(depths), extraRecords, p50(c.Laden), p50(c.LadenBare))
	for _, m := range c.Modes {
		finished := medianOf(m.Known, func(r *callRound) float64 { return r.Finished })
		fmt.Fprintf(text, "Somebody who knows the answers makes the same four writes without being asked, %d at once: p50 %.1f ms (%.2f of bare), finished/s %.0f (share %.0f %%)\n",
			m.Clients, p50(m.Known), p50(m.Known)/p50(m.Bare), finished, percentage*m.shareOf(finished))
	}
	fmt.Fprintf(text, "A list of %d claims: p50 %.0f ms\n", c.ListCount, percentile(c.List, 50))
}

// writeTargets says what is reached. Nothing fails for it: a machine that others use at the same time is slow at random.
func (c *calls) writeTargets(text *strings.Builder) {
	asked, printed, again, writes := 0, 0, 0.0, 0.0
	for _, m := range c.Modes {
		for _, r := range m.Weir {
			asked, printed, again = asked+r.Asked, printed+r.Printed, again+r.Again
		}
		writes = max(writes, m.writes())
	}
	one := c.mode(oneClient)
	bare := p50(one.Bare)
	target := func(met bool, format string, args ...any) {
		verdict := "missed"
		if met {
			verdict = "met"
		}
		fmt.Fprintf(text, "  %-7s %s\n", verdict, fmt.Sprintf(format, args...))
	}
	text.WriteString("Targets:\n")
	target(asked == printed, "creates whose response has the prefix: %d of %d (%.0f requests were repeated after 429; %d records left to repair)",
		printed, asked, again, c.LeftOver)
	target(p50(one.Weir)/bare <= maxCall, "p50 with one client, of a bare create: %.2f, at most %.1f", p50(one.Weir)/bare, maxCall)
	target(p50(c.Denied)/p50(c.Paused) <= maxDenied, "p50 of a refusal, of a bare create at the same pace: %.2f, at most %.1f (without a pause: %.2f)",
		p50(c.Denied)/p50(c.Paused), maxDenied, p50(c.Denied)/bare)
	target(writes <= maxWrites+0.05, "writes for a claim: %.2f, at most %.0f and the pool's status", writes, maxWrites)
	ten := c.mode(shareWith)
	target(ten.share() >= minShare, "finished a second with %d clients, of bare/(1 + writes): %.2f, at least %.1f", shareWith, ten.share(), minShare)
	growth := p50(c.Laden) / p50(c.LadenBare) / (p50(one.Weir) / bare)
	target(growth <= maxGrowth, "p50 at depth %d with %d records, of a root pool's without, each of bare creates: %.2f, at most %.1f",
		len(depths), extraRecords, growth, maxGrowth)
}
