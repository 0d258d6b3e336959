// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package finalizer

import (
	"context"
	"fmt"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

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
	_, err := change(ctx, c, obj, name, controllerutil.RemoveFinalizer)
	return client.IgnoreNotFound(err)
}

// RemoveLast takes the only finalizer off an object that is being deleted. It needs no version: none can be added any more but
// the garbage collector's.
// An object that is gone has none.
func RemoveLast(ctx context.Context, c client.Client, obj client.Object, name string) error {
	patch := fmt.Appendf(nil, `{"metadata":{"uid":%q,"finalizers":null}}`, obj.GetUID())
	err := c.Patch(ctx, obj, client.RawPatch(types.MergePatchType, patch))
	if client.IgnoreNotFound(err) != nil {
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

func change(ctx context.Context, c client.Client, obj client.Object, name string, edit func(client.Object, string) bool) (bool, error) {
	before, ok := obj.DeepCopyObject().(client.Object)
	if !ok || !edit(obj, name) {
		return false, nil
	}
	patch := client.MergeFromWithOptions(before, client.MergeFromWithOptimisticLock{})
	if err := c.Patch(ctx, obj, patch, client.FieldOwner(ipamv1.FieldManager)); err != nil {
		return false, fmt.Errorf("patching finalizer %s: %w", name, err)
	}
	return true, nil
}
