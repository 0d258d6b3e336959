// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package plugin

import (
	"cmp"
	"fmt"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/survey"
)

func (o *options) printWhy(w *Why) error {
	switch {
	case isObject(o.format):
		return printObject(o.stdout, o.format, w)
	case o.format == formatName:
		for i := range w.Objects {
			o.printName(&w.Objects[i].Object)
		}
		for i := range w.Attempts {
			o.printName(&w.Attempts[i].Object)
		}
		return nil
	}
	printGaps(o.stderr, w.Gaps)
	for i := range w.Objects {
		o.printWhyObject(&w.Objects[i])
	}
	for i := range w.Attempts {
		o.printAttempt(&w.Attempts[i])
	}
	for _, other := range w.NotTried {
		fmt.Fprintf(o.stdout, "%s: not tried, it is neither a claim nor a pool of Weir's\n", other)
	}
	return nil
}

func (o *options) printName(named *survey.Object) {
	fmt.Fprintf(o.stdout, "%s.%s/%s\n", strings.ToLower(named.Kind), named.APIGroup, named.Name)
}

// line prints a named line about the object above it, unless there is nothing to say.
func (o *options) line(name, text string) {
	if text != "" {
		fmt.Fprintf(o.stdout, "  %-7s %s\n", name, text)
	}
}

func (o *options) printWhyObject(w *WhyObject) {
	ready := &w.Conditions[0]
	color := red
	if ready.IsGood {
		color = green
	}
	head := fmt.Sprintf("%s %s: %s%s", w.Object, standing(w, ready), ready.Reason, o.sinceText(ready))
	o.printColored(color, head)
	o.line("message", ready.Message)
	o.printAdvice(w, ready)
	o.printDecision(w)
	if p := w.Pool; p != nil && !ready.IsGood {
		o.line("pool", fmt.Sprintf("%s   %s", p.Object, poolState(p)))
	}
	if !w.DeletingSince.IsZero() {
		o.line("deleted", o.moment(w.DeletingSince)+", kept by finalizers "+strings.Join(w.Finalizers, ", "))
	}
	for i := range w.Conditions[1:] {
		c := &w.Conditions[i+1]
		text := fmt.Sprintf("%s is %s: %s%s", c.Type, c.Status, c.Reason, o.sinceText(c))
		if c.Message != "" {
			text += ": " + c.Message
		}
		o.line("also", text)
		o.printAdvice(w, c)
	}
}

// standing is how a claim or pool stands, in short.
func standing(w *WhyObject, ready *WhyCondition) string {
	isReady := ready.Status == metav1.ConditionTrue
	switch {
	case w.isPool && isReady:
		return "is ready"
	case w.isPool:
		return "is not ready"
	case w.Answer != nil:
		return "has " + w.Answer.Address
	case isReady:
		return "has an address that is not shown"
	}
	return "has no address"
}

func (o *options) sinceText(c *WhyCondition) string {
	if c.Since.IsZero() {
		return ""
	}
	return " since " + o.moment(c.Since)
}

// printAdvice prints what a condition means and what to do, unless it is good news.
func (o *options) printAdvice(w *WhyObject, c *WhyCondition) {
	isDeletion := !w.DeletingSince.IsZero() && c.ObservedGeneration+1 == w.Generation // which is a generation, too
	if c.ObservedGeneration > 0 && c.ObservedGeneration != w.Generation && !isDeletion {
		o.line("stale", fmt.Sprintf("this is of generation %d; the object is at %d now, which no manager has looked at", c.ObservedGeneration, w.Generation))
	}
	if c.IsGood {
		return
	}
	o.line("means", c.Means)
	o.line("do", c.Do)
	o.line("docs", c.Docs)
}

func poolState(p *WhyPool) string {
	switch p.Presence {
	case survey.Hidden:
		return "not shown"
	case survey.Gone:
		return "does not exist"
	default:
		return strings.TrimSuffix(cmp.Or(p.State, "without condition Ready")+": "+p.Message, ": ")
	}
}
