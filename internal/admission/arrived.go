// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"
	"net/http"
	"slices"

	"gomodules.xyz/jsonpatch/v2"
	admissionv1 "k8s.io/api/admission/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/json"
	"k8s.io/client-go/tools/events"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/excerpt"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/kinds"
)

// +kubebuilder:webhook:path=/mutate-arrivals,mutating=true,failurePolicy=fail,matchPolicy=Equivalent,sideEffects=None,groups=ipam.weir.dev,resources=ipallocations,verbs=create;update,versions=v1alpha1,name=arrival.ipallocation.ipam.weir.dev,admissionReviewVersions=v1
// +kubebuilder:webhook:path=/mutate-arrivals,mutating=true,failurePolicy=fail,matchPolicy=Equivalent,sideEffects=None,groups=ipam.cluster.x-k8s.io,resources=ipaddresses,verbs=create;update,versions=v1beta2,name=arrival.ipaddress.ipam.weir.dev,admissionReviewVersions=v1
// +kubebuilder:webhook:path=/mutate-arrivals,mutating=true,failurePolicy=fail,matchPolicy=Equivalent,sideEffects=None,groups=ipam.cluster.x-k8s.io,resources=ipaddressclaims,verbs=create;update,versions=v1beta2,name=arrival.ipaddressclaim.ipam.weir.dev,admissionReviewVersions=v1

// arrival is what this webhook needs to know of an object.
type arrival struct {
	metav1.ObjectMeta `json:"metadata"`

	Spec struct {
		Manager *struct {
			CreatedRevision string `json:"createdRevision"`
		} `json:"manager"`
	} `json:"spec"`
}

// createdRevision is at which revision a record says that it was made; empty where it says nothing.
func (a *arrival) createdRevision() string {
	if a.Spec.Manager == nil {
		return ""
	}
	return a.Spec.Manager.CreatedRevision
}

// revisionPatch has a record say that it was made at a revision, or nothing of it if that is empty.
func (a *arrival) revisionPatch(revision string) []jsonpatch.Operation {
	const manager, path = "/spec/manager", "/spec/manager/createdRevision"
	switch {
	case a.createdRevision() == revision:
		return nil
	case revision == "":
		return []jsonpatch.Operation{jsonpatch.NewOperation("remove", path, nil)}
	case a.Spec.Manager == nil:
		return []jsonpatch.Operation{jsonpatch.NewOperation("add", manager, map[string]string{"createdRevision": revision})}
	}
	return []jsonpatch.Operation{jsonpatch.NewOperation("add", path, revision)}
}

// arrivals marks what arrives.
type arrivals struct {
	rights   Rights
	doors    Doors
	recorder events.EventRecorder
}

// mark marks a record, or a claim, answer or carved pool of a front door that has its finalizer already, where somebody else than Weir creates it: it
// has been moved here or is restored, and what it belongs to may come later. At which revision a record was made elsewhere says nothing
// here. The API server asks about nothing else, by the configuration's matchConditions; of claims it asks before the webhook that
// gives new ones their finalizer, for the configuration lists this one first. Only who may manage IPAllocations restores anything: what
// has arrived keeps its address even where somebody else has it. An answer that anybody else makes with the finalizer of a controller out of
// a pool that two may serve is refused.
//
// Of updates the API server asks about those only that lose what keep puts back.
func (h arrivals) mark(ctx context.Context, req admission.Request) admission.Response {
	var obj, old arrival
	if json.Unmarshal(req.Object.Raw, &obj) != nil {
		return admission.Allowed("")
	}
	if req.Operation == admissionv1.Update {
		if err := json.Unmarshal(req.OldObject.Raw, &old); err != nil {
			return admission.Errored(http.StatusBadRequest, err)
		}
		return h.keep(kindOf(req), &obj, &old)
	}
	isOurs, err := h.isOurs(ctx, req)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	if isOurs && !isSaid(&obj) {
		return admission.Allowed("")
	}
	arrived, err := h.hasArrived(ctx, req, obj)
	if err != nil {
		return admission.Errored(http.StatusInternalServerError, err)
	}
	if answer, ok := h.doors.answers(kindOf(req), req.Object.Raw); ok && !arrived && answer.IsShared && slices.Contains(obj.Finalizers, answer.AnswerFinalizer) {
		return h.refuseOther(ctx, req, answer)
	}
	return admission.Patched("", append(arrivalPatch(&obj, arrived), obj.revisionPatch("")...)...)
}

// keep puts back what an update leaves out: the mark; the home of a front door's pool; the revision at which a record was made here. Of a
// claim or an answer a user may empty the mark: it is one like any other then.
func (h arrivals) keep(kind schema.GroupKind, updated, old *arrival) admission.Response {
	patch := keptArrival(updated, old)
	switch {
	case !h.doors.knows(kind):
		patch = append(patch, h.doors.keptHome(kind, updated, old, patch)...)
		return admission.Patched("", append(patch, updated.revisionPatch(old.createdRevision())...)...)
	case isSaid(updated) || len(patch) == 0:
		return admission.Allowed("")
	}
	return admission.Patched("", patch...).WithWarnings(markKept)
}

// markKept warns who took the mark off, as a user did who wanted the claim answered afresh.
const markKept = "metadata.annotations: " + ipamv1.ArrivedAnnotation + " is kept; to have the claim answered at once, set it to the empty string"

// otherController is the reason of the event on a pool whose claims another controller tries to answer, too.
const otherController = "OtherController"

// refuseOther refuses the answer that another controller makes out of a pool, and tells the pool. The two do not know of each other's
// choices: stored, it could be a second claim's address.
func (h arrivals) refuseOther(ctx context.Context, req admission.Request, answer doorAnswer) admission.Response {
	message := fmt.Sprintf("metadata.finalizers: %s: user %s creates %s %s out of %s %s/%s, whose claims Weir answers: stop the other IPAM controller, "+
		"or two hosts get one address; to restore what Weir has made takes the verb manage on ipallocations.ipam.weir.dev",
		answer.AnswerFinalizer, excerpt.Of(req.UserInfo.Username), req.Kind.Kind, excerpt.Of(req.Name), answer.pool.Kind, req.Namespace, excerpt.Of(answer.pool.Name))
	if p, err := h.doors.pool(ctx, answer.pool, req.Namespace); err == nil && !ptr.Deref(req.DryRun, false) {
		h.recorder.Eventf(p, nil, corev1.EventTypeWarning, otherController, "Refuse", "%s", message)
	}
	return admission.Denied(message)
}

// isOurs says whether Weir itself makes the object. Anybody may write under its name. For an IPAddress that gains nothing; who makes a
// record under it must be able to manage all of them, as Weir is.
func (h arrivals) isOurs(ctx context.Context, req admission.Request) (bool, error) {
	var options metav1.CreateOptions
	if unreadable := json.Unmarshal(req.Options.Raw, &options); unreadable != nil {
		return false, nil //nolint:nilerr // who says nothing is not Weir
	}
	if options.FieldManager != ipamv1.FieldManager {
		return false, nil
	}
	if h.doors.knows(kindOf(req)) {
		return true, nil
	}
	return mayManage(ctx, h.rights, req, metav1.NamespaceAll)
}

// hasArrived says whether the object has been Weir's before. No other may say that it has.
func (h arrivals) hasArrived(ctx context.Context, req admission.Request, obj arrival) (bool, error) {
	switch {
	case kindOf(req) == kinds.IPAllocation: // only who may restore them makes any
		return true, nil
	case !slices.Contains(obj.Finalizers, h.doors.finalizer(kindOf(req), req.Object.Raw)): // new, or made by hand
		return false, nil
	}
	return mayRestore(ctx, h.rights, req)
}
