// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package setup

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/tools/events"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/excerpt"
)

// recorder cuts notes to what the API takes, and records no events in namespaces that are being deleted: the API server would refuse them,
// and that be logged as an error.
type recorder struct {
	events.EventRecorder

	// cache is where the controllers' namespaces are.
	cache client.Reader
}

func (w *wiring) recorder() events.EventRecorder {
	return recorder{w.GetEventRecorder("weir"), w.GetClient()}
}

// maxNote is how long an event's note may be, in bytes.
const maxNote = 1024

// Eventf records an event about an object, with as much of the note as the API takes.
func (r recorder) Eventf(regarding, related runtime.Object, eventtype, reason, action, note string, args ...any) {
	if obj, err := meta.Accessor(regarding); err == nil && r.isEnding(obj.GetNamespace()) {
		return
	}
	r.EventRecorder.Eventf(regarding, related, eventtype, reason, action, "%s", excerpt.Cut(fmt.Sprintf(note, args...), maxNote))
}

func (r recorder) isEnding(namespace string) bool {
	if namespace == "" {
		return false
	}
	found := &metav1.PartialObjectMetadata{}
	found.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("Namespace"))
	err := r.cache.Get(context.Background(), client.ObjectKey{Name: namespace}, found)
	return err == nil && !found.DeletionTimestamp.IsZero()
}
