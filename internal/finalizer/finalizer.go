// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package finalizer

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// errChanged is why a finalizer is not taken off.
var errChanged = errors.New("the object has changed since it was read")

// Ensure adds a finalizer, and says whether it did. An object that is being deleted can get none. It errs with a conflict if
// the object has changed since it was read.
func Ensure(ctx context.Context, c client.Client, obj client.Object, name string) (added bool, err error) {
	if !obj.GetDeletionTimestamp().IsZero() {
		return false, nil
	}
	return change(ctx, c, obj, name, controllerutil.AddFinalizer)
}

// Remove takes a finalizer off. An object that is gone has none: that is no error. It errs with a conflict if the object has
// changed since it was read.
func Remove(ctx context.Context, c client.Client, obj client.Object, name string) error {
	if !obj.GetDeletionTimestamp().IsZero() && slices.Equal(obj.GetFinalizers(), []string{name}) {
		return letGo(ctx, c, obj, name, obj.GetResourceVersion())
	}
	_, err := change(ctx, c, obj, name, controllerutil.RemoveFinalizer)
	return client.IgnoreNotFound(err)
}

// RemoveLast takes the only finalizer off an object that is being deleted. It needs no version: none can be added any more but
// the garbage collector's.
// An object that is gone has none.
func RemoveLast(ctx context.Context, c client.Client, obj client.Object, name string) error {
	return letGo(ctx, c, obj, name, "")
}

// letGo has the API server remove an object that is being deleted, by an update without finalizers. After a patch without them
// the API server would remove whatever has the name by then: somebody may have removed the object, and somebody made another
// one, while it looked at the patch. An update names the UID, and the API server keeps to it. The object is read as it is
// stored, so that the update loses no field that Weir does not know. Version is that which must be stored still; "" for any.
func letGo(ctx context.Context, c client.Client, obj client.Object, name, version string) error {
	kind, err := c.GroupVersionKindFor(obj)
	if err != nil {
		return fmt.Errorf("removing finalizer %s: %w", name, err)
	}
	stored := &unstructured.Unstructured{}
	stored.SetGroupVersionKind(kind)
	key := client.ObjectKeyFromObject(obj)
	switch err = c.Get(ctx, key, stored); {
	case apierrors.IsNotFound(err), err == nil && stored.GetUID() != obj.GetUID():
		return nil
	case err != nil:
		return fmt.Errorf("removing finalizer %s: %w", name, err)
	case version != "" && stored.GetResourceVersion() != version:
		return apierrors.NewConflict(schema.GroupResource{Group: kind.Group, Resource: kind.Kind}, key.Name, errChanged)
	}
	stored.SetFinalizers(nil)
	if err = c.Update(ctx, stored, client.FieldOwner(ipamv1.FieldManager)); client.IgnoreNotFound(err) != nil {
		return fmt.Errorf("removing finalizer %s: %w", name, err)
	}
	return nil
}

// Foreign returns an object's finalizers but this one: they are of others, who still use it. The garbage collector's own do not count.
func Foreign(obj client.Object, own string) []string {
	return slices.DeleteFunc(slices.Clone(obj.GetFinalizers()), func(f string) bool {
		return f == own || f == metav1.FinalizerDeleteDependents || f == metav1.FinalizerOrphanDependents
	})
}

// kept is how many finalizers the cache keeps of an object.
const kept = 32

// Known returns the finalizers that the cache keeps: the first of them, these and the garbage collector's among them. They are enough to see
// who else uses an object, and not to write them back.
func Known(all, these []string) []string {
	if len(all) <= kept {
		return all
	}
	mustStay := func(f string) bool {
		return slices.Contains(these, f) || f == metav1.FinalizerDeleteDependents || f == metav1.FinalizerOrphanDependents
	}
	known := make([]string, 0, kept)
	for _, f := range all {
		if mustStay(f) {
			known = append(known, strings.Clone(f))
		}
	}
	for _, f := range all {
		if len(known) == kept {
			break
		}
		if !mustStay(f) {
			known = append(known, strings.Clone(f))
		}
	}
	return known
}

// whole returns an object with all of its finalizers, of which the cache may not have kept all. It errs with a conflict if the object has
// changed since it was read.
func whole(ctx context.Context, c client.Client, obj client.Object) (client.Object, error) {
	if len(obj.GetFinalizers()) < kept {
		return obj, nil
	}
	kind, err := c.GroupVersionKindFor(obj)
	if err != nil {
		return nil, err
	}
	stored := &unstructured.Unstructured{}
	stored.SetGroupVersionKind(kind)
	if err := c.Get(ctx, client.ObjectKeyFromObject(obj), stored); err != nil {
		return nil, err
	}
	if stored.GetUID() != obj.GetUID() || stored.GetResourceVersion() != obj.GetResourceVersion() {
		return nil, apierrors.NewConflict(schema.GroupResource{Group: kind.Group, Resource: kind.Kind}, obj.GetName(), errChanged)
	}
	return stored, nil
}

func change(ctx context.Context, c client.Client, given client.Object, name string, edit func(client.Object, string) bool) (bool, error) {
	obj, err := whole(ctx, c, given)
	if err != nil {
		return false, fmt.Errorf("patching finalizer %s: %w", name, err)
	}
	before, ok := obj.DeepCopyObject().(client.Object)
	if !ok || !edit(obj, name) {
		return false, nil
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := c.Patch(ctx, obj, patch, client.FieldOwner(ipamv1.FieldManager)); err != nil {
		return false, fmt.Errorf("patching finalizer %s: %w", name, err)
	}
	given.SetResourceVersion(obj.GetResourceVersion())
	given.SetFinalizers(obj.GetFinalizers())
	return true, nil
}
