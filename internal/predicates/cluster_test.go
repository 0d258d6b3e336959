// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package predicates

import (
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/event"
)

// TestClusterPause: whatever may end the pause of a claim, or begin one that has to be known of, is passed.
func TestClusterPause(t *testing.T) {
	t.Parallel()
	passes := ClusterPause()
	running, paused := &clusterv1.Cluster{}, &clusterv1.Cluster{Spec: clusterv1.ClusterSpec{Paused: ptr.To(true)}}
	annotated := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Annotations: map[string]string{clusterv1.PausedAnnotation: ""}}}
	labelled := &clusterv1.Cluster{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}}}
	update := func(was, is *clusterv1.Cluster) bool {
		return passes.Update(event.UpdateEvent{ObjectOld: was, ObjectNew: is})
	}
	for sentence, passed := range map[string]struct{ got, want bool }{
		"a Cluster appears":           {passes.Create(event.CreateEvent{Object: running}), true},
		"a paused Cluster appears":    {passes.Create(event.CreateEvent{Object: paused}), true},
		"a paused Cluster goes":       {passes.Delete(event.DeleteEvent{Object: paused}), true},
		"a Cluster is paused":         {update(running, paused), true},
		"a Cluster is unpaused":       {update(paused, running), true},
		"a Cluster is annotated":      {update(running, annotated), true},
		"the annotation is taken off": {update(annotated, running), true},
		"something else changes":      {update(running, labelled), false},
		"nothing changes":             {update(paused, paused), false},
	} {
		if passed.got != passed.want {
			t.Errorf("%s: passed %t, want %t", sentence, passed.got, passed.want)
		}
	}
}
