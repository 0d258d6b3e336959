// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	"net/netip"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/survey"
)

// trail is an audit trail: of a pool's block, two claims of an address in it, and another address.
func trail() string {
	line := func(at, event, prefix, claim, reason string) string {
		return at + ` I0101 00:00:00.000000 1 audit.go:70] "` + event + `" logger="audit" prefix="` + prefix + `" addressSpace="default"` +
			` pool="IPPool/team/nodes" poolGroup="ipam.weir.dev" claim="` + claim + `" claimGroup="ipam.weir.dev" claimUID="1"` +
			` allocation="team/` + filepath.Base(claim) + `-1" reason="` + reason + `"`
	}
	return strings.Join([]string{
		line("2026-11-21T09:00:00Z", "Released", "10.0.0.3/32", "IPClaim/team/a", "Gone"),
		line("2026-11-20T08:00:00Z", "Allocated", "10.0.0.0/24", "IPPool/team/nodes", "Requested"),
		line("2026-11-20T09:00:00Z", "Allocated", "10.0.0.3/32", "IPClaim/team/a", "Requested"),
		line("2026-11-20T09:30:00Z", "Allocated", "10.0.0.4/32", "IPClaim/team/b", "Requested"),
		line("2026-11-22T09:00:00Z", "Allocated", "10.0.0.0/29", "IPClaim/team/block", "Requested"),
		`2026-11-22T09:00:01Z I0101 00:00:00.000000 1 audit.go:70] "Released" logger="audit" prefix="10.`,
	}, "\n")
}

func TestEventsOfAnAddress(t *testing.T) {
	t.Parallel()
	for asked, want := range map[string][]string{
		"10.0.0.3/32":    {"a-1 Allocated", "a-1 Released", "block-1 Allocated"},
		"10.0.0.0/24":    {"nodes-1 Allocated", "a-1 Allocated", "b-1 Allocated", "a-1 Released", "block-1 Allocated"},
		"10.0.0.64/26":   nil,
		"2001:db8::/128": nil,
	} {
		t.Run(asked, func(t *testing.T) {
			t.Parallel()
			c := &chronicle{
				options: &options{now: func() time.Time { return time.Date(2026, 11, 26, 0, 0, 0, 0, time.UTC) }},
				stdin:   strings.NewReader(trail()), files: []string{standardInput},
				history: &History{asked: netip.MustParsePrefix(asked)},
			}
			if err := c.readLogs(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			var got []string
			for _, e := range c.history.sorted() {
				got = append(got, e.entry.Allocation.Name+" "+e.Event)
			}
			if diff := cmp.Diff(want, got); diff != "" {
				t.Errorf("(-want +got):\n%s", diff)
			}
			if c.history.TornCount != 1 || c.history.LogCount != 1 || instant(c.history.LogsBegin) != "2026-11-20 08:00:00" {
				t.Errorf("torn %d, logs %d, begin %v", c.history.TornCount, c.history.LogCount, c.history.LogsBegin)
			}
		})
	}
}

func TestHistoryIsPrinted(t *testing.T) {
	t.Parallel()
	for _, tc := range []struct {
		name, file, stdout, stderr string
		code                       int
		gaps                       []survey.Gap
		format                     string
	}{
		{
			name: "events", file: trail(), code: ExitOK,
			stdout: "TIME                 EVENT      REASON     PREFIX       CLAIM               RECORD        MANAGER\n" +
				"2026-11-20 09:00:00  Allocated  Requested  10.0.0.3/32  IPClaim team/a      team/a-1      -\n" +
				"2026-11-21 09:00:00  Released   Gone       10.0.0.3/32  IPClaim team/a      team/a-1      -\n" +
				"2026-11-22 09:00:00  Allocated  Requested  10.0.0.0/29  IPClaim team/block  team/block-1  -\n" +
				"The logs begin at 2026-11-20 08:00:00. They do not have what was before.\n" +
				"Now: no record holds 10.0.0.3.\n",
			stderr: "not read: 1 torn lines of the audit trail\n",
		},
		{
			name: "nothing", code: ExitBadNews,
			stdout: "The logs are empty.\nNow: no record holds 10.0.0.3.\n",
		},
		{
			name: "nothing that is seen", code: ExitForbidden, gaps: []survey.Gap{{Text: "you may not get pods/log"}},
			stdout: "The logs are empty.\nNow: no record holds 10.0.0.3.\n", stderr: "not shown: you may not get pods/log\n",
		},
		{name: "names", file: trail(), format: formatName, stdout: "ipallocation.ipam.weir.dev/a-1\nipallocation.ipam.weir.dev/block-1\n"},
	} {
		t.Run(tc.name, func(t *testing.T) {
			t.Parallel()
			var stdout, stderr bytes.Buffer
			asked := netip.MustParsePrefix("10.0.0.3/32")
			c := &chronicle{
				options: &options{now: time.Now, stdout: &stdout, stderr: &stderr, format: tc.format},
				stdin:   strings.NewReader(tc.file), files: []string{standardInput},
				history: &History{asked: asked, Gaps: tc.gaps, found: &survey.Whereabouts{Asked: asked}},
			}
			if err := c.readLogs(t.Context(), nil); err != nil {
				t.Fatal(err)
			}
			c.history.Events = c.history.sorted()
			code, _ := codeOf(c.print())
			if diff := cmp.Diff(tc.stdout, stdout.String()); diff != "" || code != tc.code || stderr.String() != tc.stderr {
				t.Errorf("code %d, stderr %q, stdout (-want +got):\n%s", code, stderr.String(), diff)
			}
		})
	}
}

// TestFilesThatAreNotThere end the command.
func TestFilesThatAreNotThere(t *testing.T) {
	t.Parallel()
	c := &chronicle{options: &options{now: time.Now}, files: []string{filepath.Join(t.TempDir(), "none")}, history: &History{}}
	if err := c.readLogs(t.Context(), nil); err == nil || slices.Contains([]string{"", "none"}, err.Error()) {
		t.Errorf("got %v", err)
	}
}

// TestWhereLogsBegin: a log that is written little reaches further back than the others, which then lack what it has the time of.
func TestWhereLogsBegin(t *testing.T) {
	t.Parallel()
	at := func(text string) string { return text + " I0101 00:00:00.000000 1 main.go:1] \"line\"\n" }
	h := &History{}
	c := &chronicle{options: &options{now: time.Now}, history: h}
	for _, log := range []struct{ pod, text string }{
		{"leader", at("2026-11-20T09:00:00Z")},
		{"leader", at("2026-11-21T09:00:00Z")}, // after a restart
		{"new", ""},
		{"standby", at("2026-10-22T09:00:00Z")},
	} {
		if err := c.readLog(log.pod, log.pod, strings.NewReader(log.text)); err != nil {
			t.Fatal(err)
		}
	}
	if want := "The logs begin between 2026-10-22 09:00:00 (standby) and 2026-11-20 09:00:00 (leader). They may lack what was before the latter."; beginText(h.Logs) != want {
		t.Errorf("got %q", beginText(h.Logs))
	}
	if len(h.Logs) != 2 || instant(h.LogsBegin) != "2026-10-22 09:00:00" {
		t.Errorf("logs %v begin at %s", h.Logs, instant(h.LogsBegin))
	}
}
