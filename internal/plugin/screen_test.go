// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/yaml"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/survey"
)

// hostile is a name that writes to the clipboard, goes to another line, and turns what comes after it.
const hostile = "a\x1b]52;c;eA==\x07\n\u009b31mb\u202ec"

// harmless is how it is shown.
const harmless = `a\x1b]52;c;eA==\a\n\u009b31mb\u202ec`

func TestWhatATerminalActsOnIsShown(t *testing.T) {
	t.Parallel()
	for text, want := range map[string]string{
		hostile: harmless,
		"└─ GlobalIPPool fleet  █▓▒░  10% \\ \"x\" grün": "└─ GlobalIPPool fleet  █▓▒░  10% \\ \"x\" grün",
		"\t\r\x00\x7f":                   `\t\r\x00\x7f`,
		"\u2066\u2069\u202a\u2028\ufeff": `\u2066\u2069\u202a\u2028\ufeff`,
		"\x9b\ufffd":                     `\x9b` + "\ufffd",
		"\U000e0041":                     `\U000e0041`,
	} {
		var out bytes.Buffer
		if n, err := fmt.Fprintln(screen{&out}, text); err != nil || n != len(text)+1 || out.String() != want+"\n" {
			t.Errorf("%q is shown as %q: %d, %v", text, out.String(), n, err)
		}
	}
}

// printed is what a screen shows, in colour, of what is printed on it.
func printed(format string, show func(*options) error) string {
	var out bytes.Buffer
	o := &options{stdout: screen{&out}, stderr: screen{&out}, format: format, painted: true, now: time.Now}
	code, err := codeOf(show(o))
	return fmt.Sprintf("%s%d %v", out.String(), code, err)
}

// TestNamesDoNotReachTheTerminal, but the plugin's own colours do.
func TestNamesDoNotReachTheTerminal(t *testing.T) {
	t.Parallel()
	pool := ipamv1.PoolReference{Kind: ipamv1.IPPoolKind, Namespace: "n", Name: hostile}
	claim := survey.Object{APIGroup: ipamv1.GroupVersion.Group, Kind: ipamv1.IPClaimKind, Namespace: "n", Name: "c"}
	for name, tc := range map[string]struct {
		print func(*options) error
		// shown is how often the name is in what is printed, colours how many colours are.
		shown, colours int
	}{
		"who": {shown: 3, print: func(o *options) error {
			asked := netip.MustParsePrefix("10.0.0.3/32")
			record := survey.Record{Namespace: "n", Name: "r", Prefix: asked, Pool: pool}
			found := &survey.Whereabouts{Asked: asked, Holders: []survey.Holder{{Record: record, Object: &survey.Claim{
				Presence: survey.Present, State: hostile, Owners: []survey.Object{{Kind: "K", Name: hostile}},
			}}}}
			return o.printWho(who(found, nil))
		}},
		"status": {shown: 1, colours: 1, print: func(o *options) error {
			s, waiting := &Status{}, map[StatusWaiting]int{}
			s.countClaim(&survey.ListedClaim{Object: claim, Pool: pool, Reason: "PoolNotFound", Created: time.Now()}, waiting)
			s.Claims.Waiting = sortWaiting(waiting)
			return o.printStatus(s)
		}},
		"why": {shown: 2, colours: 1, print: func(o *options) error {
			return o.printWhy(&Why{Objects: []WhyObject{{Object: claim, Conditions: []WhyCondition{{Reason: hostile, Message: hostile}}}}})
		}},
		"a table": {shown: 2, colours: 1, print: func(o *options) error {
			printTable(o.stdout, []string{"A", "B"}, [][]string{{hostile, "x"}, {"y", hostile}}, func(_ int, text, padded string) string {
				if text == "x" {
					return colored(red, padded)
				}
				return padded
			})
			return nil
		}},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := printed(formatTable, tc.print)
			colours := strings.Count(got, "\x1b["+red+"m")
			if strings.Count(got, harmless) != tc.shown || colours != tc.colours || strings.Count(got, "\x1b") != 2*colours ||
				strings.ContainsAny(got, "\x07\u009b\u202e") {
				t.Errorf("shown is\n%q", got)
			}
		})
	}
}

// TestObjectsAreWhatTheyWere once they are read, and have nothing that a terminal acts on.
func TestObjectsAreWhatTheyWere(t *testing.T) {
	t.Parallel()
	for format, read := range map[string]func([]byte, any) error{
		formatJSON: json.Unmarshal,
		formatYAML: func(text []byte, into any) error { return yaml.Unmarshal(text, into) },
	} {
		for _, name := range []string{hostile, "a\x1bb", "plain", "b\x7f", "\U000e0041"} {
			var out bytes.Buffer
			if err := printObject(screen{&out}, format, &Free{Freed: WhoRecord{Name: name}}); err != nil {
				t.Fatal(err)
			}
			var got Free
			if err := read(out.Bytes(), &got); err != nil || got.Freed.Name != name {
				t.Errorf("%s: %q became %q, %v", format, name, got.Freed.Name, err)
			}
			if shown := strings.ReplaceAll(out.String(), "\n", ""); name != "\U000e0041" && visible(shown) != shown {
				t.Errorf("%s: %q", format, shown)
			}
		}
	}
}

func TestLinesOfAnErrorStandBelowIt(t *testing.T) {
	t.Parallel()
	var out bytes.Buffer
	lines := "reading \x1b[2J\nmanagers well\n\tstatus\n"
	printError(screen{&out}, errors.New(lines))
	if want := "error: reading \\x1b[2J\n       managers well\n         status\n"; out.String() != want {
		t.Errorf("got %q", out.String())
	}
}
