// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"fmt"
	"slices"
	"time"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/survey"
)

// historyEventColumn is the column of the event in the table of events.
const historyEventColumn = 1

func (c *chronicle) printStory() {
	h := c.history
	printGaps(c.stderr, h.Gaps)
	for _, failure := range h.Failures {
		fmt.Fprintf(c.stderr, "not read: %s\n", failure)
	}
	if h.TornCount > 0 {
		fmt.Fprintf(c.stderr, "not read: %d torn lines of the audit trail\n", h.TornCount)
	}
	c.printEvents()
	switch {
	case h.LogCount == 0:
		fmt.Fprintln(c.stdout, "No log of a manager was read.")
	case h.LogsBegin.IsZero():
		fmt.Fprintln(c.stdout, "The logs are empty.")
	default:
		fmt.Fprintln(c.stdout, beginText(h.Logs))
	}
	c.printNow()
}

// beginText says from when on logs have everything. One that is written little reaches far back, and says nothing of the time
// before the others begin.
func beginText(logs []HistoryLog) string {
	byTime := func(a, b HistoryLog) int { return a.Begins.Compare(b.Begins) }
	first, last := slices.MinFunc(logs, byTime), slices.MaxFunc(logs, byTime)
	from, to := instant(first.Begins), instant(last.Begins)
	if from == to {
		return fmt.Sprintf("The logs begin at %s. They do not have what was before.", from)
	}
	return fmt.Sprintf("The logs begin between %s (%s) and %s (%s). They may lack what was before the latter.", from, first.Name, to, last.Name)
}

func (c *chronicle) printEvents() {
	if len(c.history.Events) == 0 {
		return
	}
	head := []string{"TIME", "EVENT", "REASON", "PREFIX", "CLAIM", "RECORD", "MANAGER"}
	if c.format == formatWide {
		head = append(head, "SPACE", "POOL", "UID", "MESSAGE")
	}
	rows := make([][]string, 0, len(c.history.Events))
	for i := range c.history.Events {
		rows = append(rows, c.eventRow(&c.history.Events[i]))
	}
	printTable(c.stdout, head, rows, func(column int, text, padded string) string {
		if c.painted && column == historyEventColumn {
			return colored(eventColor(text), padded)
		}
		return padded
	})
}

func (c *chronicle) eventRow(e *HistoryEvent) []string {
	when, claim, pool := "-", "-", "-"
	if !e.Time.IsZero() {
		when = instant(e.Time)
	}
	if e.For != (survey.Object{}) {
		claim = survey.ClaimName(e.entry.Claim)
	}
	if e.Pool != (survey.Object{}) {
		pool = survey.Name(e.entry.Pool)
	}
	row := []string{when, e.Event, cmp.Or(e.Reason, "-"), e.Prefix, claim, cmp.Or(e.Allocation, "-"), cmp.Or(e.Manager, "-")}
	if c.format == formatWide {
		row = append(row, cmp.Or(e.AddressSpace, "-"), pool, cmp.Or(e.UID, "-"), e.Message)
	}
	return row
}

func eventColor(event string) string {
	switch event {
	case "Allocated", "Adopted":
		return green
	case "Refused", "Abandoned", "ForceReleased":
		return red
	}
	return yellow
}

// instant writes a time to the second.
func instant(t time.Time) string { return t.UTC().Format("2006-01-02 15:04:05") }

// printNow prints a line for each record that holds what is asked for.
func (c *chronicle) printNow() {
	h := c.history
	if h.found == nil {
		return // a failure
	}
	for i := range h.found.Holders {
		holder := &h.found.Holders[i]
		fmt.Fprintf(c.stdout, "Now: %s in address space %s %s: %s, record IPAllocation %s/%s\n", subject(h.asked), holder.Space,
			c.verdict(h.asked, holder), survey.ClaimName(holder.Claim), holder.Namespace, holder.Name)
	}
	switch {
	case len(h.found.Holders) > 0:
	case h.found.MayHide:
		fmt.Fprintf(c.stdout, "Now: you may not see all records that may hold %s.\n", subject(h.asked))
	case len(h.found.Within) > 0:
		fmt.Fprintf(c.stdout, "Now: %d records are in %s.\n", len(h.found.Within), subject(h.asked))
	default:
		fmt.Fprintf(c.stdout, "Now: no record holds %s.\n", subject(h.asked))
	}
}
