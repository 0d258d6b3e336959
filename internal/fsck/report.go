// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package fsck

import (
	"errors"
	"fmt"
	"slices"
	"strings"
)

// Fault is what is wrong. Its values are stable.
type Fault string

// Faults, in the order in which they are reported.
const (
	// Overlap: the prefixes of two claims, or of a claim and a pool that it is not from, overlap
	// within an address space. A claim or pool that is being deleted counts until its record is
	// released.
	Overlap Fault = "Overlap"
	// OutsideParent: the block of a carved pool does not lie in the pool that it is carved from.
	OutsideParent Fault = "OutsideParent"
	// RootsOverlap: two root pools of an address space are Ready and overlap.
	RootsOverlap Fault = "RootsOverlap"
	// SeveralAnswers: a claim has more than one answer.
	SeveralAnswers Fault = "SeveralAnswers"
	// NoRecord: no record holds the prefix of an answer for the UID of its claim. Claims that are
	// being deleted are left out.
	NoRecord Fault = "NoRecord"
	// NoClaim: a record holds a prefix, and no claim or pool of the UID exists. Records that cool down
	// or are retained are left out, as are those of what moved to another cluster or was handed back
	// to a hub.
	NoClaim Fault = "NoClaim"
	// OtherAnswer: a record holds a prefix for a claim that was answered otherwise.
	OtherAnswer Fault = "OtherAnswer"
	// Silent: a claim has neither an answer nor a reason in its Ready condition. Claims that are being
	// deleted are left out.
	Silent Fault = "Silent"
	// FloatingIPLeftOver: Weir has made a floating IP for a pool of this cluster, and no record of the
	// pool holds its address.
	FloatingIPLeftOver Fault = "FloatingIPLeftOver"
)

// Faults are all faults, in the order in which they are reported.
var Faults = []Fault{
	Overlap, OutsideParent, RootsOverlap, SeveralAnswers, NoRecord, NoClaim, OtherAnswer, Silent, FloatingIPLeftOver,
}

// Finding is something that is wrong.
type Finding struct {
	Fault Fault `json:"fault"`
	// Objects have to do with it.
	Objects []Object `json:"objects"`
	// Text is the finding for people. It may change.
	Text string `json:"text"`
}

// Object names an object of the API, or a floating IP.
type Object struct {
	APIGroup  string `json:"apiGroup,omitempty"`
	Kind      string `json:"kind"`
	Namespace string `json:"namespace,omitempty"`
	Name      string `json:"name"`
}

// Report is what Check found.
type Report struct {
	// Claims, Answers and Records are how many were looked at. Claims are those
	// for Weir's pools, answered or not; answers those of live claims.
	Claims, Answers, Records int
	// FloatingIPs are how many were looked at, of whatever cluster.
	FloatingIPs int
	Findings    []Finding
}

// Of returns the texts of the findings of a fault.
func (r *Report) Of(fault Fault) []string {
	var texts []string
	for i := range r.Findings {
		if r.Findings[i].Fault == fault {
			texts = append(texts, r.Findings[i].Text)
		}
	}
	return texts
}

// Without returns the report without the findings of a fault.
func (r *Report) Without(fault Fault) *Report {
	without := *r
	without.Findings = slices.DeleteFunc(slices.Clone(r.Findings), func(f Finding) bool { return f.Fault == fault })
	return &without
}

// Persisting returns a later report with those findings only that this one has as well. What comes
// or goes between two lists of one report is not in both.
func (r *Report) Persisting(later *Report) *Report {
	both := *later
	both.Findings = slices.DeleteFunc(slices.Clone(later.Findings), func(f Finding) bool {
		return !slices.ContainsFunc(r.Findings, func(before Finding) bool { return before.Fault == f.Fault && before.Text == f.Text })
	})
	return &both
}

// Safe returns an error unless everything holds that must hold at any moment:
// no overlaps, one answer for a claim, no answer without a record.
func (r *Report) Safe() error {
	return errors.Join(
		problem("overlapping answers", r.Of(Overlap)),
		problem("claims with several answers", r.Of(SeveralAnswers)),
		problem("answers without a record", r.Of(NoRecord)),
	)
}

// AtRest returns an error unless everything holds that must hold once no claim
// comes or goes: it is safe, pools lie as they should, nothing leaks, every claim is answered or told why
// not. Claims of a paused cluster are rightly silent: leave them out first.
func (r *Report) AtRest() error {
	return errors.Join(r.Safe(),
		problem("carved pools outside of their parents", r.Of(OutsideParent)),
		problem("overlapping root pools", r.Of(RootsOverlap)),
		problem("leaked records", slices.Concat(r.Of(NoClaim), r.Of(OtherAnswer))),
		problem("claims without answer or reason", r.Of(Silent)),
		problem("floating IPs left over", r.Of(FloatingIPLeftOver)),
	)
}

func (r *Report) String() string {
	counts := make([]string, 0, len(Faults))
	for _, fault := range Faults {
		counts = append(counts, fmt.Sprintf("%d %s", len(r.Of(fault)), fault))
	}
	return fmt.Sprintf("%d claims, %d answers, %d records: %s", r.Claims, r.Answers, r.Records, strings.Join(counts, ", "))
}

// find adds a finding about objects.
func (r *Report) find(fault Fault, objects []Object, format string, args ...any) {
	r.Findings = append(r.Findings, Finding{Fault: fault, Objects: objects, Text: fmt.Sprintf(format, args...)})
}

// sort brings the findings into an order that does not change from run to run.
func (r *Report) sort() {
	slices.SortStableFunc(r.Findings, func(a, b Finding) int {
		if a.Fault != b.Fault {
			return slices.Index(Faults, a.Fault) - slices.Index(Faults, b.Fault)
		}
		return strings.Compare(a.Text, b.Text)
	})
}

func problem(what string, findings []string) error {
	if len(findings) == 0 {
		return nil
	}
	const shown = 20
	text := strings.Join(findings[:min(shown, len(findings))], "\n  ")
	return fmt.Errorf("%d %s:\n  %s", len(findings), what, text)
}
