// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package demand

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/kinds"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/survey"
)

var (
	deployment  = schema.GroupKind{Group: kinds.Cluster.Group, Kind: "MachineDeployment"}
	machineSet  = schema.GroupKind{Group: kinds.Cluster.Group, Kind: "MachineSet"}
	machinePool = schema.GroupKind{Group: kinds.Cluster.Group, Kind: "MachinePool"}
)

// maxSize is the autoscaler's annotation with the most machines of a set.
const maxSize = "cluster.x-k8s.io/cluster-api-autoscaler-node-group-max-size"

// Paths of fields, those of the newest version first.
var (
	infrastructurePaths = [][]string{
		{"spec", "template", "spec", "infrastructureRef"}, {"spec", "machineTemplate", "spec", "infrastructureRef"},
		{"spec", "machineTemplate", "infrastructureRef"},
	}
	surgePaths = [][]string{
		{"spec", "rollout", "strategy", "rollingUpdate", "maxSurge"}, {"spec", "strategy", "rollingUpdate", "maxSurge"},
		{"spec", "rolloutStrategy", "rollingUpdate", "maxSurge"},
	}
	strategyPaths = [][]string{{"spec", "rollout", "strategy", "type"}, {"spec", "strategy", "type"}}
)

// reading reads one object of the namespace.
type reading func(ctx context.Context, kind schema.GroupKind, name string) (*unstructured.Unstructured, survey.Presence, error)

// key names an object of the namespace.
type key struct {
	kind schema.GroupKind
	name string
}

func keyOf(object *unstructured.Unstructured) key {
	return key{object.GroupVersionKind().GroupKind(), object.GetName()}
}

// reckoning is the state of one Reckon.
type reckoning struct {
	live   Reader
	q      Question
	files  map[key]*unstructured.Unstructured
	answer Answer
}

// manifests are those of the namespace.
func manifests(q Question) map[key]*unstructured.Unstructured {
	files := map[key]*unstructured.Unstructured{}
	for _, object := range q.Manifests {
		if cmp.Or(object.GetNamespace(), q.Namespace) == q.Namespace {
			files[keyOf(object)] = object
		}
	}
	return files
}

func (r *reckoning) notLookedAt(format string, args ...any) {
	r.answer.NotLookedAt = append(r.answer.NotLookedAt, fmt.Sprintf(format, args...))
}

// noteOthers notes manifests that are not looked at.
func (r *reckoning) noteOthers() {
	for _, object := range r.q.Manifests {
		switch kind := object.GroupVersionKind().GroupKind(); {
		case cmp.Or(object.GetNamespace(), r.q.Namespace) != r.q.Namespace:
			r.notLookedAt("%s %s/%s, of another namespace", kind.Kind, object.GetNamespace(), object.GetName())
		case kind == machinePool:
			r.notLookedAt("%s %s", kind.Kind, object.GetName())
		case isCarved(object):
			r.notLookedAt("%s %s, whose block is carved from another pool", kind.Kind, object.GetName())
		}
	}
}

// read reads what is served.
func (r *reckoning) read(ctx context.Context, kind schema.GroupKind, name string) (*unstructured.Unstructured, survey.Presence, error) {
	return r.live.Object(ctx, kind, r.q.Namespace, name)
}

// readFirst reads manifests first.
func (r *reckoning) readFirst(ctx context.Context, kind schema.GroupKind, name string) (*unstructured.Unstructured, survey.Presence, error) {
	if object := r.files[key{kind, name}]; object != nil {
		return object, survey.Present, nil
	}
	return r.read(ctx, kind, name)
}

// clusters are the names of the Clusters to look at.
func (r *reckoning) clusters(ctx context.Context) ([]string, error) {
	if r.q.Cluster != "" {
		object, presence, err := r.readFirst(ctx, kinds.Cluster, r.q.Cluster)
		if err == nil && object == nil && presence != survey.Hidden {
			err = fmt.Errorf("there is no Cluster %s/%s; choose another --cluster or --namespace", r.q.Namespace, r.q.Cluster)
		}
		return []string{r.q.Cluster}, err
	}
	var names []string
	for k, object := range r.files {
		name := clusterOf(object)
		if k.kind == kinds.Cluster {
			name = k.name
		}
		if name != "" && !slices.Contains(names, name) {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names, nil
}

// clusterOf is the Cluster of a set of machines; "" if the object is no set.
func clusterOf(object *unstructured.Unstructured) string {
	kind := object.GroupVersionKind().GroupKind()
	if kind != deployment && kind != machineSet {
		return ""
	}
	name, _, _ := unstructured.NestedString(object.Object, "spec", "clusterName")
	return name
}

// addCluster adds the sets of a Cluster: of the manifests, and those that there are.
func (r *reckoning) addCluster(ctx context.Context, name string) error {
	cluster, presence, err := r.readFirst(ctx, kinds.Cluster, name)
	if err != nil {
		return err
	}
	if presence == survey.Hidden {
		r.answer.Unseen = append(r.answer.Unseen, "Cluster "+name)
	}
	if cluster != nil {
		if err = r.addControlPlane(ctx, cluster); err != nil {
			return err
		}
		if err = r.addTopology(ctx, cluster); err != nil {
			return err
		}
	}
	sets, err := r.sets(ctx, name)
	if err != nil {
		return err
	}
	for _, object := range sets {
		if err = r.addSet(ctx, object); err != nil {
			return err
		}
	}
	return nil
}

// sets are the sets of a Cluster, as they shall be, in a fixed order.
func (r *reckoning) sets(ctx context.Context, cluster string) ([]*unstructured.Unstructured, error) {
	byKey := map[key]*unstructured.Unstructured{}
	for _, kind := range []schema.GroupKind{deployment, machineSet} {
		listed, isAllowed, err := r.live.Objects(ctx, kind, r.q.Namespace)
		if err != nil {
			return nil, err
		}
		if !isAllowed {
			r.answer.Unseen = append(r.answer.Unseen, kind.Kind+"s")
		}
		for _, object := range listed {
			if clusterOf(object) == cluster && !isOwnedSet(object) {
				byKey[keyOf(object)] = object
			}
		}
	}
	for k, object := range r.files {
		if clusterOf(object) == cluster {
			byKey[k] = object
		}
	}
	return slices.SortedFunc(maps.Values(byKey), func(a, b *unstructured.Unstructured) int {
		return cmp.Or(cmp.Compare(a.GetKind(), b.GetKind()), cmp.Compare(a.GetName(), b.GetName()))
	}), nil
}

// isOwnedSet reports whether a set is one of a MachineDeployment, which counts its machines.
func isOwnedSet(object *unstructured.Unstructured) bool {
	return keyOf(object).kind == machineSet && slices.ContainsFunc(object.GetOwnerReferences(), func(owner metav1.OwnerReference) bool {
		return kinds.OfOwner(owner) == deployment
	})
}

func (r *reckoning) addControlPlane(ctx context.Context, cluster *unstructured.Unstructured) error {
	kind, name := reference(cluster, []string{"spec", "controlPlaneRef"})
	if name == "" {
		return nil
	}
	object, err := r.seen(ctx, r.readFirst, kind, name)
	if err != nil || object == nil {
		return err
	}
	return r.addSet(ctx, object)
}

// addSet adds a set of machines as it shall be, and with what it has now.
func (r *reckoning) addSet(ctx context.Context, object *unstructured.Unstructured) error {
	k := keyOf(object)
	infrastructure, name := reference(object, infrastructurePaths...)
	if name == "" {
		r.notLookedAt("%s %s, which has no template of machines", k.kind.Kind, k.name)
		return nil
	}
	t, err := r.template(ctx, r.readFirst, infrastructure, name)
	if err != nil {
		return err
	}
	set := Set{
		Object:   survey.Object{APIGroup: k.kind.Group, Kind: k.kind.Kind, Namespace: r.q.Namespace, Name: k.name},
		Template: t.object, Each: t.each,
	}
	now, presence, err := r.read(ctx, k.kind, k.name)
	if err != nil {
		return err
	}
	if presence == survey.Hidden {
		r.answer.Unseen = append(r.answer.Unseen, fmt.Sprintf("%s %s as it is now", k.kind.Kind, k.name))
	}
	if now != nil {
		set.Now = replicas(now, 1)
		if had, name := reference(now, infrastructurePaths...); name != "" {
			before, err := r.template(ctx, r.read, had, name)
			if err != nil {
				return err
			}
			set.eachNow = before.each
		}
	}
	set.Wanted = replicas(object, cmp.Or(set.Now, 1))
	r.add(set, object)
	return nil
}

// add adds a set once it is known how many machines it shall have.
func (r *reckoning) add(set Set, object *unstructured.Unstructured) {
	if n, isAsked := r.q.Replicas[set.Name]; isAsked {
		set.Wanted = n
	}
	if most, err := strconv.Atoi(object.GetAnnotations()[maxSize]); err == nil && r.q.ToMax {
		set.Wanted = max(set.Wanted, most)
	}
	set.Surge = surge(object, set.Wanted)
	set.AtMost = max(set.Wanted+set.Surge, set.Now)
	r.answer.Sets = append(r.answer.Sets, set)
}

// checkReplicas returns an error if a set that shall have more or fewer machines is not there.
func (r *reckoning) checkReplicas() error {
	names := make([]string, 0, len(r.answer.Sets))
	for i := range r.answer.Sets {
		names = append(names, r.answer.Sets[i].Name)
	}
	for name := range r.q.Replicas {
		if !slices.Contains(names, name) {
			return fmt.Errorf("--replicas: there is no set of machines %s; choose of %s", name, strings.Join(names, ", "))
		}
	}
	return nil
}

// reference reads the first of the fields that is there. A reference has a group, or a version with it.
func reference(object *unstructured.Unstructured, paths ...[]string) (kind schema.GroupKind, name string) {
	for _, path := range paths {
		fields, found, _ := unstructured.NestedMap(object.Object, path...)
		if !found {
			continue
		}
		kind.Kind, _ = fields["kind"].(string)
		kind.Group, _ = fields["apiGroup"].(string)
		if version, _ := fields["apiVersion"].(string); kind.Group == "" {
			kind.Group = schema.FromAPIVersionAndKind(version, "").Group
		}
		name, _ = fields["name"].(string)
		return kind, name
	}
	return kind, ""
}

// replicas is how many machines a set has by its spec, or else.
func replicas(object *unstructured.Unstructured, otherwise int) int {
	return number(object, otherwise, "spec", "replicas")
}

// number reads a number, or else.
func number(object *unstructured.Unstructured, otherwise int, path ...string) int {
	switch n, _, _ := unstructured.NestedFieldNoCopy(object.Object, path...); n := n.(type) {
	case int64:
		return int(n)
	case float64:
		return int(n)
	}
	return otherwise
}

// surge is how many machines more there may be while they are replaced: 1 if nothing is said.
func surge(object *unstructured.Unstructured, machines int) int {
	if keyOf(object).kind == machineSet {
		return 0
	}
	for _, path := range strategyPaths {
		if strategy, _, _ := unstructured.NestedString(object.Object, path...); strategy == "OnDelete" {
			return 0
		}
	}
	for _, path := range surgePaths {
		switch n, _, _ := unstructured.NestedFieldNoCopy(object.Object, path...); n := n.(type) {
		case int64:
			return int(n)
		case float64:
			return int(n)
		case string:
			return share(n, machines)
		}
	}
	return 1
}

// share is a percentage of machines, rounded up, or a number.
func share(text string, machines int) int {
	n, err := strconv.Atoi(strings.TrimSuffix(text, "%"))
	switch {
	case err != nil:
		return 1
	case strings.HasSuffix(text, "%"):
		return (n*machines + 99) / 100
	}
	return n
}
