// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"bytes"
	"net/netip"
	"strings"
	"testing"
	"time"

	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/klog/v2"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// dayAfter is the clock of those who read.
var dayAfter = time.Date(2026, 11, 22, 12, 0, 0, 0, time.UTC)

const (
	textLine = `I1121 09:14:02.000000       1 audit.go:70] "Released" logger="audit" address="10.0.0.8" prefix="10.0.0.8/32"` +
		` addressSpace="default" pool="IPPool/ns/p" poolGroup="ipam.weir.dev" claim="IPAddressClaim/ns/a"` +
		` claimGroup="ipam.cluster.x-k8s.io" claimUID="1" allocation="ns/a-1" reason="Cooling"`
	jsonLine = `{"ts":1795252442000.25,"caller":"audit/audit.go:70","msg":"Released","logger":"audit","v":0,"address":"10.0.0.8",` +
		`"prefix":"10.0.0.8/32","addressSpace":"default","pool":"IPPool/ns/p","poolGroup":"ipam.weir.dev","claim":"IPAddressClaim/ns/a",` +
		`"claimGroup":"ipam.cluster.x-k8s.io","claimUID":"1","allocation":"ns/a-1","reason":"Cooling"}`
)

func read(t *testing.T, text string) (events []Event, extent Extent) {
	t.Helper()
	extent, err := Read(strings.NewReader(text), dayAfter, func(e Event) { events = append(events, e) })
	if err != nil {
		t.Fatal(err)
	}
	return events, extent
}

// TestLinesAreReadAsTheyAreWritten, in both forms.
func TestLinesAreReadAsTheyAreWritten(t *testing.T) {
	g, before := NewWithT(t), log
	var text bytes.Buffer
	state := klog.CaptureState()
	defer state.Restore()
	klog.LogToStderr(false)
	klog.SetOutput(&text)
	log = klog.Background().WithName("audit")
	defer func() { log = before }()
	global, refused := entry(Requested), entry("PoolExhausted")
	global.Pool.APIGroup = ""
	refused.Prefix, refused.AddressSpace, refused.Allocation = netip.Prefix{}, "", types.NamespacedName{}
	Allocated(global)
	Refused(refused, `"full" = "no"`)
	Refused(refused, "two\nlines")
	klog.Flush()

	events, extent := read(t, text.String())
	g.Expect(extent.Torn).To(BeZero(), text.String())
	g.Expect(events).To(HaveLen(3), text.String())
	g.Expect(events[0].What).To(Equal("Allocated"))
	g.Expect(events[0].Entry).To(Equal(global))
	g.Expect(events[1].Entry).To(Equal(refused))
	g.Expect(events[1].Message).To(Equal(`"full" = "no"`))
	g.Expect(events[2].Entry).To(Equal(refused))
}

func TestForms(t *testing.T) {
	t.Parallel()
	at := time.Date(2026, 11, 21, 9, 14, 2, 0, time.UTC)
	for name, tc := range map[string]struct {
		line, manager string
		at            time.Time
	}{
		"text":                      {textLine, "", at},
		"JSON":                      {jsonLine, "", at.Add(250 * time.Microsecond)},
		"of a pod":                  {"[pod/weir-1/manager] " + textLine, "weir-1", at},
		"of a pod, with its time":   {"[pod/weir-1/manager] 2025-11-21T09:14:02Z " + textLine, "weir-1", at.AddDate(-1, 0, 0)},
		"of a container runtime":    {"2025-11-21T09:14:02Z stdout F " + textLine, "", at.AddDate(-1, 0, 0)},
		"JSON, with a pod's time":   {"2026-11-21T09:14:02Z " + jsonLine, "", at},
		"of the end of last year":   {strings.Replace(textLine, "I1121", "I1231", 1), "", time.Date(2025, 12, 31, 9, 14, 2, 0, time.UTC)},
		"of Windows":                {textLine + "\r", "", at},
		"with keys that are newer":  {textLine + ` color="blue"`, "", at},
		"of a clock that is faster": {strings.Replace(textLine, "I1121", "I1122", 1), "", at.AddDate(0, 0, 1)},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			events, extent := read(t, tc.line+"\n")
			g.Expect(events).To(HaveLen(1))
			g.Expect(extent.Begins).To(Equal(tc.at))
			want := entry(Cooling)
			want.Pool = ipamv1.PoolReference{Kind: "IPPool", Namespace: "ns", Name: "p"}
			g.Expect(events[0]).To(Equal(Event{Time: tc.at, What: "Released", Entry: want, Manager: tc.manager}))
		})
	}
}

// TestForeignAndTornLines: foreign ones are skipped, torn ones counted, and what a caller sent makes no line.
func TestForeignAndTornLines(t *testing.T) {
	t.Parallel()
	for name, tc := range map[string]struct {
		text         string
		events, torn int
	}{
		"nothing":                      {"", 0, 0},
		"no line of a log":             {"hello\n\n{\n", 0, 0},
		"another logger":               {strings.Replace(textLine, `"audit"`, `"ledger"`, 1), 0, 0},
		"another logger in JSON":       {strings.Replace(jsonLine, `"audit"`, `"ledger"`, 1), 0, 0},
		"without an end":               {textLine, 1, 0},
		"torn text":                    {textLine[:len(textLine)-5], 0, 1},
		"torn after a value":           {textLine[:len(textLine)-len(` reason="Cooling"`)], 1, 0},
		"torn JSON":                    {jsonLine[:150] + "\n" + jsonLine, 1, 1},
		"no prefix":                    {strings.Replace(textLine, "10.0.0.8/32", "10.0.0.8/x", 1), 0, 1},
		"a value that is none":         {strings.Replace(textLine, `"default"`, `"\q"`, 1), 0, 1},
		"too long":                     {strings.Repeat("x", 3*maxLine) + textLine + "\n" + textLine, 1, 0},
		"a second line of a message":   {"\t" + textLine + "\n[pod/weir-1/manager] \t" + textLine, 0, 0},
		"a line in a message":          {`I1121 09:14:02.000000       1 a.go:7] "x" err="` + strings.ReplaceAll(textLine, `"`, `\"`) + `"`, 0, 0},
		"a line in a line of the text": {`I1121 09:14:02.000000       1 a.go:7] "x" err=<` + "\n\t" + textLine + "\n >", 0, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			g := NewWithT(t)
			events, extent := read(t, tc.text)
			g.Expect(events).To(HaveLen(tc.events))
			g.Expect(extent.Torn).To(Equal(tc.torn))
		})
	}
}
