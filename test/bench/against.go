// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// olderRound has the older checkout's own bench measure one round, if there is one. It runs on that checkout's manifests: managers of
// different versions may not read each other's records. The control plane of this bench has nothing to do meanwhile.
func (e *environment) olderRound(ctx context.Context, r *report) (err error) {
	if e.against == "" {
		return nil
	}
	binaries, err := filepath.Abs(filepath.Join(e.against, "bin"))
	if err != nil {
		return fmt.Errorf("finding the older Weir: %w", err)
	}
	dir, err := os.MkdirTemp("", "weir-bench-older-")
	if err != nil {
		return fmt.Errorf("making a folder for the older Weir's report: %w", err)
	}
	defer func() { err = errors.Join(err, os.RemoveAll(dir)) }()
	path := filepath.Join(dir, "report.json")
	bench := exec.CommandContext(ctx, "go", "run", "./test/bench", "-parts", answersPart, "-rounds", "1", "-json", path,
		"-n", strconv.Itoa(e.claims), "-creators", strconv.Itoa(e.creators), "-pool-size", strconv.Itoa(e.poolSize),
		"-allocated", strconv.Itoa(e.allocated), "-fsync="+strconv.FormatBool(e.fsync))
	bench.Dir, bench.Env = e.against, append(os.Environ(), "KUBEBUILDER_ASSETS="+binaries) // its manager, too
	out, err := bench.CombinedOutput()
	if err != nil {
		return fmt.Errorf("measuring %s: %w\n%s", e.against, err, out)
	}
	content, err := os.ReadFile(path)
	if err != nil {
		return fmt.Errorf("reading the older Weir's report: %w", err)
	}
	var older report
	if err = json.Unmarshal(content, &older); err != nil {
		return fmt.Errorf("reading the older Weir's report: %w", err)
	}
	r.addOlder(older.Modes)
	return nil
}

// addOlder adds an older Weir's rounds of claims of Cluster API's to those before. Versions that measured nothing else name no kind.
func (r *report) addOlder(modes []*mode) {
	for _, m := range modes {
		if m.Kind != "" && m.Kind != addressClaims.name() {
			continue
		}
		i := slices.IndexFunc(r.Older, func(known *mode) bool { return known.Creators == m.Creators })
		if i < 0 {
			r.Older = append(r.Older, m)
			continue
		}
		r.Older[i].Floor = append(r.Older[i].Floor, m.Floor...)
		r.Older[i].Weir = append(r.Older[i].Weir, m.Weir...)
	}
}

// writeAgainst writes the figures of the older Weir and of this one, and their ratios.
func (r *report) writeAgainst(text *strings.Builder) {
	if len(r.Older) == 0 {
		return
	}
	text.WriteString("\nClaims of Cluster API's in turn with the older Weir: its figure, this one's, and the ratio of this one to it\n")
	w := tabwriter.NewWriter(text, 0, 0, 2, ' ', tabwriter.AlignRight)
	fmt.Fprintln(w, "creators\tAPI floor/s\tWeir/s\tp50 ms\tp95 ms\twrites/claim\treads/claim\t")
	for _, older := range r.Older {
		older.summarize()
		i := slices.IndexFunc(r.Modes, func(m *mode) bool { return m.Kind == addressClaims.name() && m.Creators == older.Creators })
		if i < 0 {
			continue
		}
		fmt.Fprintf(w, "%d\t", older.Creators)
		for _, figure := range []func(*median) float64{
			func(s *median) float64 { return s.Floor.Rate },
			func(s *median) float64 { return s.Weir.Rate },
			func(s *median) float64 { return s.Weir.P50 },
			func(s *median) float64 { return s.Weir.P95 },
			func(s *median) float64 { return s.AllWrites },
			func(s *median) float64 { return s.AllReads },
		} {
			before, now := figure(older.Median), figure(r.Modes[i].Median)
			fmt.Fprintf(w, "%.4g %.4g %s\t", before, now, ratio(now, before))
		}
		fmt.Fprintln(w)
	}
	_ = w.Flush() // A strings.Builder does not fail.
}

// ratio writes a ratio, or nothing where there is none.
func ratio(now, before float64) string {
	if before == 0 {
		return "-"
	}
	return fmt.Sprintf("%.2f", now/before)
}
