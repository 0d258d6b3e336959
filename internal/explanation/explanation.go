// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package explanation is what a controller says of a decision that it would take now: the questions that it asks, in their order, and
// what it found. It holds data, and reads nothing.
package explanation

import metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

// Explanation is what a controller would do about a claim, and each question on the way.
type Explanation struct {
	// Steps are the questions, all of them, in their order.
	Steps []Step `json:"steps"`
	// Decision is what would be done about the claim, in the controller's words; "" where the walk ends before.
	Decision string `json:"decision,omitempty"`
	// Ready is the condition that the claim would be told. It is nil where a question has no answer, and where the claim would be told
	// nothing new.
	Ready *metav1.Condition `json:"ready,omitempty"`
}

// Step is a question with its answer.
type Step struct {
	ID      StepID  `json:"id"`
	Verdict Verdict `json:"verdict"`
	// Text is what was found, for people; "" for nothing to tell.
	Text string `json:"text,omitempty"`
}

// StepID names a question.
type StepID string

// The questions, in the order in which they are asked.
const (
	// Served: the claim names a pool that Weir serves, and is this manager's.
	Served StepID = "Served"
	// Unhalted: its Cluster is there, and neither is paused.
	Unhalted StepID = "Unhalted"
	// Living: it is not being deleted.
	Living StepID = "Living"
	// Named: what answers there are under its name.
	Named StepID = "Named"
	// Offered: the pool is there, visible to it, and hands something out.
	Offered StepID = "Offered"
	// Decided: what is done about it.
	Decided StepID = "Decided"
	// Asked: what it asks for can be read.
	Asked StepID = "Asked"
	// Free: it can have that.
	Free StepID = "Free"
)

// Verdict is what came of a question.
type Verdict string

// What may come of a question.
const (
	// Passed: the next question is asked.
	Passed Verdict = "Passed"
	// Stops: that is why the claim has nothing, or nothing new.
	Stops Verdict = "Stops"
	// Unknown: the reader may not see what would tell.
	Unknown Verdict = "Unknown"
	// NotReached: an earlier question has stopped the walk.
	NotReached Verdict = "NotReached"
)

// StoppedBy returns the step that stops the walk; false if none does.
func (e *Explanation) StoppedBy() (Step, bool) { return e.First(Stops) }

// First returns the first step of a verdict; false if there is none.
func (e *Explanation) First(v Verdict) (Step, bool) {
	for _, s := range e.Steps {
		if s.Verdict == v {
			return s, true
		}
	}
	return Step{}, false
}
