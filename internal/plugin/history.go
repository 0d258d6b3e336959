// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"context"
	"fmt"
	"io"
	"net/netip"
	"os"
	"slices"
	"time"

	"github.com/spf13/cobra"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/audit"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/kinds"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/survey"
)

// standardInput is the name of the file that is no file.
const standardInput = "-"

// History is what the command history prints as JSON and YAML.
type History struct {
	Header `json:",inline"`
	// Gaps are what the user may not see.
	Gaps   []survey.Gap `json:"gaps"`
	Prefix string       `json:"prefix"`
	// LogsBegin is the time of the first line of all logs. Some may begin later, as Logs says.
	LogsBegin time.Time    `json:"logsBegin,omitzero"`
	Logs      []HistoryLog `json:"logs,omitempty"`
	// LogCount is how many logs were read, TornCount how many lines of the audit trail in them cannot be read.
	LogCount  int `json:"logCount"`
	TornCount int `json:"tornCount,omitempty"`
	// Failures are what was not read for other reasons than missing rights.
	Failures []string       `json:"failures,omitempty"`
	Events   []HistoryEvent `json:"events"`
	// Now are the records that hold the prefix.
	Now []WhoHolder `json:"now"`

	asked netip.Prefix
	found *survey.Whereabouts
}

// HistoryLog is where the logs of a pod, or a file, begin.
type HistoryLog struct {
	// Name of the pod or file.
	Name   string    `json:"name"`
	Begins time.Time `json:"begins"`
}

// HistoryEvent is a line of the audit trail.
type HistoryEvent struct {
	Time time.Time `json:"time,omitzero"`
	// Event and Reason are as in the trail.
	Event        string        `json:"event"`
	Reason       string        `json:"reason,omitempty"`
	Prefix       string        `json:"prefix"`
	AddressSpace string        `json:"addressSpace,omitempty"`
	Pool         survey.Object `json:"pool,omitzero"`
	// For is what the prefix was for.
	For        survey.Object `json:"for,omitzero"`
	UID        string        `json:"uid,omitempty"`
	Allocation string        `json:"allocation,omitempty"`
	Message    string        `json:"message,omitempty"`
	// Manager is the pod that wrote the line.
	Manager string `json:"manager,omitempty"`

	entry audit.Entry
}

// chronicle is a run of history.
type chronicle struct {
	*options
	stdin   io.Reader
	files   []string
	history *History
}

func historyCommand(o *options, stdin io.Reader) *cobra.Command {
	return &cobra.Command{
		Use:   "history ADDRESS|CIDR [FILE...]",
		Short: "Show what an address or prefix was in use for, by the managers' audit trail",
		Long: "Show what an address or prefix was in use for, by the audit trail in the logs of the managers' pods, or in files, in the text or\n" +
			"JSON form; - is standard input. At the end is what holds it now.\n" +
			"Exit code 1 means that neither the logs nor the records have anything on it.\n\n" + exitCodes,
		Example: "  kubectl weir history 10.0.0.17\n  kubectl weir history 10.0.0.17 weir-1.log weir-2.log\n" +
			"  zcat old.log.gz | kubectl weir history 10.0.0.17 - -o json",
		Args: cobra.MinimumNArgs(1),
		RunE: func(cmd *cobra.Command, args []string) error {
			asked, err := parsePrefix(args[0])
			if err != nil {
				return err
			}
			c := &chronicle{options: o, stdin: stdin, files: args[1:], history: &History{
				Header: header("History"), Prefix: asked.String(), Now: []WhoHolder{}, asked: asked,
			}}
			return c.run(cmd.Context())
		},
	}
}

func (c *chronicle) run(ctx context.Context) error {
	namespace, _, err := c.contextNamespace()
	if err != nil {
		return err
	}
	s, err := c.survey(survey.Scope{Fallback: namespace})
	if err != nil {
		return err
	}
	if err = c.readLogs(ctx, s); err != nil {
		return err
	}
	c.history.Events = c.history.sorted()
	if err = c.readNow(ctx, s); err != nil {
		return err
	}
	c.history.Gaps = s.Gaps().List()
	return c.print()
}

// readLogs reads the files, or the logs of the managers.
func (c *chronicle) readLogs(ctx context.Context, s *survey.Survey) error {
	for _, name := range c.files {
		if err := c.readFile(name); err != nil {
			return err
		}
	}
	if len(c.files) > 0 {
		return nil
	}
	logs, err := s.ManagerLogs(ctx, func(pod string, log io.Reader) error { return c.readLog(pod, pod, log) })
	if err != nil {
		return err
	}
	c.history.Failures = logs.Failed
	return nil
}

func (c *chronicle) readFile(name string) error {
	if name == standardInput {
		return c.readLog(name, "", c.stdin)
	}
	file, err := os.Open(name) //nolint:gosec // the user names it
	if err != nil {
		return err
	}
	defer file.Close()
	return c.readLog(name, "", file)
}

// readLog keeps the events of a log that are of what is asked for. The log is of a manager, or lines may name theirs.
func (c *chronicle) readLog(name, manager string, log io.Reader) error {
	h := c.history
	extent, err := audit.Read(log, c.now(), func(e audit.Event) {
		if !concerns(&e.Entry, h.asked) {
			return
		}
		if e.Manager == "" {
			e.Manager = manager
		}
		h.Events = append(h.Events, historyEvent(&e))
	})
	if err != nil {
		return err
	}
	h.LogCount++
	h.TornCount += extent.Torn
	h.begin(HistoryLog{name, extent.Begins})
	return nil
}

// begin notes where a log begins, unless it is empty. A pod has two logs, which follow one another.
func (h *History) begin(log HistoryLog) {
	if log.Begins.IsZero() {
		return
	}
	if h.LogsBegin.IsZero() || log.Begins.Before(h.LogsBegin) {
		h.LogsBegin = log.Begins
	}
	i := slices.IndexFunc(h.Logs, func(other HistoryLog) bool { return other.Name == log.Name })
	switch {
	case i < 0:
		h.Logs = append(h.Logs, log)
	case log.Begins.Before(h.Logs[i].Begins):
		h.Logs[i] = log
	}
}

// concerns reports whether an entry is of a prefix, or of a part or a claim's block around it. The blocks of the
// pools around it are not.
func concerns(e *audit.Entry, asked netip.Prefix) bool {
	if !e.Prefix.IsValid() || !e.Prefix.Overlaps(asked) {
		return false
	}
	kind := e.Claim.GroupKind()
	isBlock := kind == kinds.IPPool || kind == kinds.GlobalIPPool || kind == e.Pool.GroupKind()
	return !isBlock || e.Prefix.Bits() >= asked.Bits()
}

func historyEvent(e *audit.Event) HistoryEvent {
	h := HistoryEvent{
		Time: e.Time, Event: e.What, Reason: e.Entry.Reason, Prefix: e.Entry.Prefix.String(), AddressSpace: e.Entry.AddressSpace,
		UID: e.Entry.Claim.UID, Message: e.Message, Manager: e.Manager, entry: e.Entry,
	}
	if pool := e.Entry.Pool; pool != (ipamv1.PoolReference{}) {
		h.Pool = survey.Object{APIGroup: pool.GroupKind().Group, Kind: pool.Kind, Namespace: pool.Namespace, Name: pool.Name}
	}
	if claim := e.Entry.Claim; claim != (ipamv1.ClaimReference{}) {
		h.For = survey.Object{APIGroup: claim.APIGroup, Kind: claim.Kind, Namespace: claim.Namespace, Name: claim.Name}
	}
	if e.Entry.Allocation.Name != "" {
		h.Allocation = e.Entry.Allocation.String()
	}
	return h
}

// readNow reads what holds the prefix. The files tell their story also where the API server cannot be reached.
func (c *chronicle) readNow(ctx context.Context, s *survey.Survey) error {
	found, err := s.Who(ctx, c.history.asked, survey.FewNeighbours)
	if err != nil {
		return c.withoutNow(err)
	}
	c.history.found = found
	for i := range found.Holders {
		c.history.Now = append(c.history.Now, whoHolder(&found.Holders[i]))
	}
	return nil
}

// withoutNow notes an error where there are files, and returns it else.
func (c *chronicle) withoutNow(err error) error {
	if len(c.files) == 0 {
		return err
	}
	c.history.Failures = append(c.history.Failures, "what holds it now: "+err.Error())
	return nil
}

func (c *chronicle) print() error {
	h := c.history
	switch {
	case isObject(c.format):
		if err := printObject(c.stdout, c.format, h); err != nil {
			return err
		}
	case c.format == formatName:
		for _, name := range h.names() {
			fmt.Fprintf(c.stdout, "ipallocation.%s/%s\n", ipamv1.GroupVersion.Group, name)
		}
	default:
		c.printStory()
	}
	switch {
	case len(h.Events)+len(h.Now) > 0, h.found != nil && len(h.found.Within) > 0:
		return nil
	case len(h.Gaps) > 0:
		return forbidden("what you may see has nothing on %s; ask for the rights to get pods/log where Weir runs and to list IPAllocations, "+
			"or name a file", subject(h.asked))
	}
	return badNews
}

// sorted are the events by time. Managers write at the same time, each to a log of its own.
func (h *History) sorted() []HistoryEvent {
	events := append([]HistoryEvent{}, h.Events...)
	slices.SortStableFunc(events, func(a, b HistoryEvent) int { return a.Time.Compare(b.Time) })
	return events
}

// names are the records of the events and of now, each once.
func (h *History) names() []string {
	var names []string
	add := func(name string) {
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	for i := range h.Events {
		add(h.Events[i].entry.Allocation.Name)
	}
	for i := range h.Now {
		add(h.Now[i].Name)
	}
	return names
}
