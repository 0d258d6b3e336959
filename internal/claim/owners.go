// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claim

import (
	"slices"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/door"
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

// otherController returns what controls an answer, if that is no claim of the form; an object has one controller at most.
func (r *observer) otherController(answer *door.Answer) *metav1.OwnerReference {
	controller := metav1.GetControllerOfNoCopy(answer)
	if controller == nil || kinds.OfOwner(*controller) == r.kind() {
		return nil
	}
	return controller
}

func hasFinalizer(obj metav1.Object, finalizer string) bool {
	return slices.Contains(obj.GetFinalizers(), finalizer)
}

func ownedAlike(a, b metav1.Object) bool {
	return equality.Semantic.DeepEqual(a.GetOwnerReferences(), b.GetOwnerReferences()) &&
		slices.Equal(a.GetFinalizers(), b.GetFinalizers())
}
