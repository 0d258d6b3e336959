// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"slices"

	"gomodules.xyz/jsonpatch/v2"
	admissionv1 "k8s.io/api/admission/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// arrives says whether a new object has been answered already, elsewhere or before: it is created with its prefix and with Weir's
// finalizer, as clusterctl move and a restore do, by somebody who may manage IPAllocations. Such objects come in any order, before
// their pools and records too. So nothing is asked of the ledger now; the controller records what they have.
func arrives(ctx context.Context, rights Rights, req admission.Request, obj client.Object, cidr, finalizer string) (bool, error) {
	if req.Operation != admissionv1.Create || cidr == "" || !slices.Contains(obj.GetFinalizers(), finalizer) {
		return false, nil
	}
	return mayRestore(ctx, rights, req)
}

// mayRestore says whether the user may manage IPAllocations where the object is to be.
func mayRestore(ctx context.Context, rights Rights, req admission.Request) (bool, error) {
	return mayManage(ctx, rights, req, req.Namespace)
}

// mayManage says whether the user may manage IPAllocations in a namespace, or in all of them.
func mayManage(ctx context.Context, rights Rights, req admission.Request, namespace string) (bool, error) {
	return rights.May(ctx, req.UserInfo, authorizationv1.ResourceAttributes{
		Verb: "manage", Group: ipamv1.GroupVersion.Group, Resource: "ipallocations", Namespace: namespace,
	})
}

// hasArrived says whether the object was found to have been answered already when it was admitted.
func hasArrived(obj metav1.Object) bool { return obj.GetAnnotations()[ipamv1.ArrivedAnnotation] != "" }

// isSaid says whether the mark is there, whatever its value.
func isSaid(obj metav1.Object) bool {
	_, ok := obj.GetAnnotations()[ipamv1.ArrivedAnnotation]
	return ok
}

// keptArrival puts back the mark that an update leaves out, as clusterctl does when it goes on with a move that was cut short.
func keptArrival(updated, old metav1.Object) []jsonpatch.Operation {
	if !hasArrived(old) || hasArrived(updated) {
		return nil
	}
	return arrivalPatch(updated, true)
}

// arrivalPatch marks an object as arrived, and takes the mark off any other.
func arrivalPatch(obj metav1.Object, arrived bool) []jsonpatch.Operation {
	key := "/metadata/annotations/" + escape(ipamv1.ArrivedAnnotation)
	switch {
	case arrived && hasArrived(obj):
		return nil
	case arrived && len(obj.GetAnnotations()) == 0:
		return []jsonpatch.Operation{jsonpatch.NewOperation("add", "/metadata/annotations", map[string]string{ipamv1.ArrivedAnnotation: "true"})}
	case arrived:
		return []jsonpatch.Operation{jsonpatch.NewOperation("add", key, "true")}
	case isSaid(obj):
		return []jsonpatch.Operation{jsonpatch.NewOperation("remove", key, nil)}
	}
	return nil
}
