// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package demand

import (
	"cmp"
	"context"
	"strings"

	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/kinds"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/survey"
)

var clusterClass = schema.GroupKind{Group: kinds.Cluster.Group, Kind: "ClusterClass"}

// addTopology adds the sets that the topology of a new Cluster will have. Those of a Cluster that exists are objects.
func (r *reckoning) addTopology(ctx context.Context, cluster *unstructured.Unstructured) error {
	topology, found, _ := unstructured.NestedMap(cluster.Object, "spec", "topology")
	if !found {
		return nil
	}
	t := &unstructured.Unstructured{Object: topology}
	name := cmp.Or(text(t, "classRef", "name"), text(t, "class"))
	r.notLookedAt("patches of ClusterClass %s (applied by the topology controller)", name)
	existing, presence, err := r.read(ctx, kinds.Cluster, cluster.GetName())
	if err != nil {
		return err
	}
	if existing != nil || presence == survey.Hidden {
		if r.files[keyOf(cluster)] != nil {
			r.notLookedAt("what changes in spec.topology of Cluster %s, which exists; use --replicas", cluster.GetName())
		}
		return nil
	}
	class, err := r.seen(ctx, r.readFirst, clusterClass, name)
	if err != nil || class == nil {
		return err
	}
	controlPlane, _ := topology["controlPlane"].(map[string]any)
	kind, _ := reference(class, []string{"spec", "controlPlane", "templateRef"}, []string{"spec", "controlPlane", "ref"})
	infrastructure, template := reference(class,
		[]string{"spec", "controlPlane", "machineInfrastructure", "templateRef"}, []string{"spec", "controlPlane", "machineInfrastructure", "ref"})
	kind.Kind = strings.TrimSuffix(kind.Kind, "Template")
	if err = r.addOfClass(ctx, key{kind, cluster.GetName()}, key{infrastructure, template}, controlPlane); err != nil {
		return err
	}
	return r.addWorkers(ctx, t, class)
}

// addWorkers adds the MachineDeployments of a topology.
func (r *reckoning) addWorkers(ctx context.Context, topology, class *unstructured.Unstructured) error {
	classes := map[string]*unstructured.Unstructured{}
	for _, fields := range elements(class, "spec", "workers", "machineDeployments") {
		worker := &unstructured.Unstructured{Object: fields}
		classes[text(worker, "class")] = worker
	}
	if len(elements(topology, "workers", "machinePools")) > 0 {
		r.notLookedAt("MachinePools of the topology")
	}
	for _, fields := range elements(topology, "workers", "machineDeployments") {
		worker := &unstructured.Unstructured{Object: fields}
		of := classes[text(worker, "class")]
		if of == nil {
			r.notLookedAt("MachineDeployment %s, whose class does not exist", text(worker, "name"))
			continue
		}
		kind, name := reference(of, []string{"infrastructure", "templateRef"}, []string{"template", "infrastructure", "ref"})
		if err := r.addOfClass(ctx, key{deployment, text(worker, "name")}, key{kind, name}, fields); err != nil {
			return err
		}
	}
	return nil
}

// addOfClass adds a set by what the topology says of it. A class without machines' infrastructure has none.
func (r *reckoning) addOfClass(ctx context.Context, of, infrastructure key, fields map[string]any) error {
	if infrastructure.name == "" {
		return nil
	}
	t, err := r.template(ctx, r.readFirst, infrastructure.kind, infrastructure.name)
	if err != nil {
		return err
	}
	object := &unstructured.Unstructured{Object: map[string]any{"kind": of.kind.Kind, "metadata": fields["metadata"], "spec": fields}}
	r.add(Set{
		Object:   survey.Object{APIGroup: of.kind.Group, Kind: of.kind.Kind, Namespace: r.q.Namespace, Name: of.name},
		Template: t.object, Each: t.each, Wanted: replicas(object, 1),
	}, object)
	return nil
}

func text(object *unstructured.Unstructured, path ...string) string {
	value, _, _ := unstructured.NestedString(object.Object, path...)
	return value
}

func elements(object *unstructured.Unstructured, path ...string) []map[string]any {
	list, _, _ := unstructured.NestedSlice(object.Object, path...)
	all := make([]map[string]any, 0, len(list))
	for _, element := range list {
		if fields, isObject := element.(map[string]any); isObject {
			all = append(all, fields)
		}
	}
	return all
}
