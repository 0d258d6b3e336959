// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claim

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/kinds"
)

// ensureOwner puts the owner among the references, in place of one to the same object under another UID: that one was
// lost or replaced on a move.
func ensureOwner(owners []metav1.OwnerReference, owner metav1.OwnerReference) []metav1.OwnerReference {
	for i, o := range owners {
		if kinds.IsSame(o, owner) {
			owners[i] = owner
			return owners
		}
	}
	return append(owners, owner)
}

// otherController returns what controls the object, if that is no IPAddressClaim; an object has one controller at most.
func otherController(obj client.Object) *metav1.OwnerReference {
	controller := metav1.GetControllerOfNoCopy(obj)
	if controller == nil || kinds.OfOwner(*controller) == kinds.IPAddressClaim {
		return nil
	}
	return controller
}

func hasFinalizer(obj client.Object, finalizer string) bool {
	return slices.Contains(obj.GetFinalizers(), finalizer)
}

func ownedAlike(a, b client.Object) bool {
	return equality.Semantic.DeepEqual(a.GetOwnerReferences(), b.GetOwnerReferences()) &&
		slices.Equal(a.GetFinalizers(), b.GetFinalizers())
}
