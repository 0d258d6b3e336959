// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package demand

import (
	"context"
	"fmt"
	"maps"
	"slices"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	m3v1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/metal3/v1alpha1"
	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/survey"
)

var metal3Pool = schema.GroupKind{Group: m3v1.GroupVersion.Group, Kind: m3v1.IPPoolKind}

// Form is how a provider names pools other than by group, kind and name.
type Form struct {
	// Machine is the kind of the machine template. The field Link, a path, names an object of kind Data, which has
	// the references.
	Machine schema.GroupKind
	Link    []string
	Data    schema.GroupKind
	// Names are fields of Data, at any depth, that name pools of kind Pool: by a text, or by name in an object or a
	// list of these.
	Names []string
	Pool  schema.GroupKind
	// First are fields beside which those that they lead to do not count.
	First map[string]string
	// Unknown are fields whose pools only the provider knows.
	Unknown []string
}

// template is what a machine template says of addresses.
type template struct {
	each   []ipamv1.PoolReference
	object survey.Object
}

// template reads a machine template and what it links to.
func (r *reckoning) template(ctx context.Context, read reading, kind schema.GroupKind, name string) (template, error) {
	t := template{object: survey.Object{APIGroup: kind.Group, Kind: kind.Kind, Namespace: r.q.Namespace, Name: name}}
	object, err := r.seen(ctx, read, kind, name)
	if err != nil || object == nil {
		return t, err
	}
	w := walk{question: &r.q}
	w.visit(object.Object["spec"])
	t.each = w.found
	if r.q.InCluster && usesOwnPools(object) {
		r.notLookedAt("addresses of %s %s from the pools that its ProxmoxCluster makes", kind.Kind, name)
	}
	for i := range r.q.Forms {
		f := &r.q.Forms[i]
		link, _, _ := unstructured.NestedString(object.Object, f.Link...)
		if f.Machine != kind || link == "" {
			continue
		}
		data, err := r.seen(ctx, read, f.Data, link)
		if err != nil || data == nil {
			return t, err
		}
		w = walk{question: &r.q, form: f}
		w.visit(data.Object["spec"])
		for _, field := range w.unknown {
			r.notLookedAt("%s of %s %s", field, f.Data.Kind, link)
		}
		// Such a provider makes one claim of a pool for each machine.
		t.each = append(t.each, unique(w.found)...)
	}
	return t, nil
}

// usesOwnPools reports whether machines of the Proxmox provider get addresses of the pools that it makes for a ProxmoxCluster. No template names
// these: they are for devices of the default networks and, in older versions, for a default device that names no pool.
func usesOwnPools(template *unstructured.Unstructured) bool {
	if template.GetKind() != "ProxmoxMachineTemplate" {
		return false
	}
	network, _, _ := unstructured.NestedMap(template.Object, "spec", "template", "spec", "network")
	first, isOlder := network["default"].(map[string]any)
	devices, _ := network["networkDevices"].([]any)
	return isOlder && first["ipv4PoolRef"] == nil || slices.ContainsFunc(devices, func(device any) bool {
		fields, _ := device.(map[string]any)
		hasIPv4, _ := fields["defaultIPv4"].(bool)
		hasIPv6, _ := fields["defaultIPv6"].(bool)
		return hasIPv4 || hasIPv6
	})
}

func unique(refs []ipamv1.PoolReference) []ipamv1.PoolReference {
	var once []ipamv1.PoolReference
	for _, ref := range refs {
		if !slices.Contains(once, ref) {
			once = append(once, ref)
		}
	}
	return once
}

// walk collects references to pools in the fields of an object.
type walk struct {
	question *Question
	form     *Form
	found    []ipamv1.PoolReference
	unknown  []string
}

func (w *walk) visit(value any) {
	switch value := value.(type) {
	case []any:
		for _, element := range value {
			w.visit(element)
		}
	case map[string]any:
		w.visitObject(value)
	}
}

func (w *walk) visitObject(fields map[string]any) {
	group, _ := fields["apiGroup"].(string)
	kind, _ := fields["kind"].(string)
	name, _ := fields["name"].(string)
	if pool, isPool := w.question.poolOf(group, kind, name); isPool {
		w.found = append(w.found, pool)
		return
	}
	for _, field := range slices.Sorted(maps.Keys(fields)) {
		if !w.visitNames(fields, field) {
			w.visit(fields[field])
		}
	}
}

// visitNames reads a field of the form, and returns false if the form has none of that name.
func (w *walk) visitNames(fields map[string]any, field string) bool {
	switch {
	case w.form == nil:
		return false
	case slices.Contains(w.form.Unknown, field):
		w.unknown = append(w.unknown, field)
		return true
	case !slices.Contains(w.form.Names, field):
		return false
	}
	if first := w.form.First[field]; first != "" && fields[first] != nil {
		return true
	}
	list, isList := fields[field].([]any)
	if !isList {
		list = []any{fields[field]}
	}
	for _, element := range list {
		w.addNamed(element)
	}
	return true
}

// addNamed adds a pool that is named by a text, or by an object that may have group and kind as well.
func (w *walk) addNamed(element any) {
	group, kind := w.form.Pool.Group, w.form.Pool.Kind
	name, isText := element.(string)
	if fields, isObject := element.(map[string]any); isObject && !isText {
		name, _ = fields["name"].(string)
		if named, _ := fields["kind"].(string); named != "" {
			group, _ = fields["apiGroup"].(string)
			kind = named
		}
	}
	if pool, isPool := w.question.poolOf(group, kind, name); isPool {
		w.found = append(w.found, pool)
	}
}

// seen reads an object. What is not there, or not shown, is noted.
func (r *reckoning) seen(ctx context.Context, read reading, kind schema.GroupKind, name string) (*unstructured.Unstructured, error) {
	object, presence, err := read(ctx, kind, name)
	switch {
	case err != nil:
		return nil, err
	case presence == survey.Hidden:
		r.answer.Unseen = append(r.answer.Unseen, fmt.Sprintf("%s %s", kind.Kind, name))
	case object == nil:
		r.notLookedAt("%s %s, which does not exist", kind.Kind, name)
	}
	return object, nil
}
