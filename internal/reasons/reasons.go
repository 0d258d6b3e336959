// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package reasons

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Subject is what has conditions.
type Subject string

const (
	// Claims of all kinds.
	Claims Subject = "Claims"
	// Pools of all kinds.
	Pools Subject = "Pools"
)

// Condition is a condition of claims or pools.
type Condition struct {
	Subject Subject
	Type    string
	// Means is what the condition is about.
	Means   string
	Reasons []Reason
}

// Reason is a reason of a condition. Its texts may have backquotes.
type Reason struct {
	Name   string
	Status metav1.ConditionStatus
	// Means is what it means.
	Means string
	// Do is what to do; "" where nothing is.
	Do string
	// See is a page of docs that says more, with an anchor; "" if there is none.
	See string
}

// IsGood reports whether there is nothing to do.
func (r *Reason) IsGood() bool { return r.Do == "" }

// Find returns a reason; nil if it is not known.
func Find(subject Subject, condition, name string) *Reason {
	for _, c := range All {
		if c.Subject != subject || c.Type != condition {
			continue
		}
		for i := range c.Reasons {
			if c.Reasons[i].Name == name {
				return &c.Reasons[i]
			}
		}
	}
	return nil
}

// Unreported stands for the reason of an object without condition Ready.
var Unreported = Reason{
	Name: "Unreported", Status: metav1.ConditionUnknown,
	Means: "No manager has written a status.",
	Do:    "See whether a manager runs and leads (`kubectl weir status`), and whether its flags `--namespace` and `--watch-filter` leave this out.",
	See:   "guides/troubleshooting.md#no-condition-at-all",
}

// OtherProvider stands for the reason of a claim whose pool is not Weir's.
var OtherProvider = Reason{
	Name: "OtherProvider", Status: metav1.ConditionUnknown,
	Means: "The claim names a pool of another provider. Weir does not look at it.",
	Do:    "See whether `spec.poolRef.apiGroup` is meant to be `ipam.weir.dev`, else ask that provider.",
}
