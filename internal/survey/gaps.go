// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package survey

import (
	"cmp"
	"fmt"
	"slices"
	"sync"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Gap is something that the user may not see.
type Gap struct {
	// Verb, Group and Resource are what is forbidden.
	Verb     string `json:"verb"`
	Group    string `json:"group"`
	Resource string `json:"resource"`
	// Namespace is where; "" means in all namespaces, or that the resource has none.
	Namespace string `json:"namespace,omitempty"`
	// Text is the gap for people. It may change.
	Text string `json:"text"`
}

// Gaps collects what was forbidden, each once. Its methods may be called at the same time.
type Gaps struct {
	mu  sync.Mutex
	all []Gap
}

// List returns the gaps in a fixed order.
func (g *Gaps) List() []Gap {
	g.mu.Lock()
	defer g.mu.Unlock()
	list := append([]Gap{}, g.all...)
	slices.SortFunc(list, func(a, b Gap) int {
		return cmp.Or(cmp.Compare(a.Resource, b.Resource), cmp.Compare(a.Group, b.Group),
			cmp.Compare(a.Verb, b.Verb), cmp.Compare(a.Namespace, b.Namespace))
	})
	return list
}

// addAll adds the gaps of another survey.
func (g *Gaps) addAll(others *Gaps) {
	g.mu.Lock()
	defer g.mu.Unlock()
	g.all = append(g.all, others.List()...)
}

// Misses reports whether a resource could not be listed everywhere.
func (g *Gaps) Misses(resource schema.GroupResource) bool {
	return slices.ContainsFunc(g.List(), func(gap Gap) bool {
		return gap.Verb == "list" && gap.Group == resource.Group && gap.Resource == resource.Resource
	})
}

// CannotList returns the gap of a resource that may not be listed in all namespaces.
func CannotList(resource schema.GroupResource) Gap {
	return Gap{Verb: "list", Group: resource.Group, Resource: resource.Resource, Text: fmt.Sprintf("you may not list %s", resource)}
}

func (g *Gaps) add(verb string, resource schema.GroupResource, place place) {
	gap := Gap{
		Verb: verb, Group: resource.Group, Resource: resource.Resource, Namespace: place.namespace,
		Text: fmt.Sprintf("you may not %s %s%s", verb, resource, place),
	}
	g.mu.Lock()
	defer g.mu.Unlock()
	if !slices.Contains(g.all, gap) {
		g.all = append(g.all, gap)
	}
}

// place is where objects are.
type place struct {
	// namespaced: the objects are in namespaces.
	namespaced bool
	// namespace is one; "" means all.
	namespace string
}

// String ends a sentence about the place.
func (p place) String() string {
	switch {
	case !p.namespaced:
		return ""
	case p.namespace == "":
		return " of all namespaces"
	}
	return " of namespace " + p.namespace
}
