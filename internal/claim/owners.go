// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claim

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

// ensureOwner puts the owner among the references, in place of one to the same object under another UID: that one was
// lost or replaced on a move.
func ensureOwner(owners []metav1.OwnerReference, owner metav1.OwnerReference) []metav1.OwnerReference {
	for i, o := range owners {
		if o.Kind == owner.Kind && o.Name == owner.Name && groupOf(o.APIVersion) == groupOf(owner.APIVersion) {
			owners[i] = owner
			return owners
		}
	}
	return append(owners, owner)
}

func groupOf(apiVersion string) string {
	gv, err := schema.ParseGroupVersion(apiVersion)
	if err != nil {
		return apiVersion
	}
	return gv.Group
}

func hasFinalizer(obj client.Object, finalizer string) bool {
	return slices.Contains(obj.GetFinalizers(), finalizer)
}

func ownedAlike(a, b client.Object) bool {
	return equality.Semantic.DeepEqual(a.GetOwnerReferences(), b.GetOwnerReferences()) &&
		slices.Equal(a.GetFinalizers(), b.GetFinalizers())
}
