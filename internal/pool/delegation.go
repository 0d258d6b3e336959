// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"fmt"
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/poolspec"
)

// checkEarly does so before a pool that came past the webhooks has its block, and with that the labels that propagate it.
func (r *Reconciler) checkEarly(says poolspec.Pool, request ledger.Claim) error {
	if says.Place != poolspec.Elsewhere {
		return nil
	}
	block, err := r.Ledger.Preview(request)
	if err != nil {
		return nil //nolint:nilerr // nor will it be carved
	}
	return r.children().CheckOwnNetwork(says, block)
}

// delegatedCondition is the Ready condition of a pool that is handed out in another cluster, once its block is recorded.
func delegatedCondition(says poolspec.Pool) metav1.Condition {
	return metav1.Condition{
		Type: ipamv1.ReadyCondition, Status: metav1.ConditionTrue, Reason: ipamv1.PoolReadyDelegatedReason,
		Message: "the pool " + pools.DelegatedTo(says),
	}
}

// strayCondition is the Ready condition of a copy that is not for this cluster, which has that name.
func strayCondition(says poolspec.Pool, cluster string) metav1.Condition {
	here := "--cluster-name is not set here"
	if cluster != "" {
		here = fmt.Sprintf("--cluster-name is %q here", cluster)
	}
	if says.DelegateTo == cluster {
		here += ", and Karmada calls this cluster otherwise"
	}
	return metav1.Condition{
		Type: ipamv1.ReadyCondition, Status: metav1.ConditionFalse, Reason: ipamv1.PoolReadyDelegatedElsewhereReason,
		Message: fmt.Sprintf("spec.delegateTo: the copy is for cluster %q: nothing of it is handed out here (%s)", says.DelegateTo, here),
	}
}

// isMisnamedHub reports whether this cluster takes a pool for its copy although it has delegated the block itself: it is the hub, and has the
// member's name.
func (r *reporter) isMisnamedHub(s *scope) bool {
	return s.says.Place == poolspec.Delegated && memberOf(s.pool, r.Ledger.Of(s.says.Ref).OtherBlocks(s.pool.GetUID(), nil)) != ""
}

// misnamedCondition is the Ready condition of such a pool.
func misnamedCondition(says poolspec.Pool) metav1.Condition {
	return metav1.Condition{
		Type: ipamv1.ReadyCondition, Status: metav1.ConditionFalse, Reason: ipamv1.PoolReadyDelegatedElsewhereReason,
		Message: fmt.Sprintf("spec.delegateTo: this cluster has delegated the block to cluster %[1]q, which hands it out, and --cluster-name is %[1]q here: correct the flag", says.DelegateTo),
	}
}

// markDelegated gives a pool whose block is recorded the labels that propagation policies select it by: it may have come past the webhooks with its
// block. It also names the pool by its UID, for copies that no propagator marks: a pool that was made again or restored has another one than its
// manifest. Metadata is written with the status.
func markDelegated(s *scope) {
	if s.says.Place != poolspec.Elsewhere {
		return
	}
	labels := maps.Clone(s.pool.GetLabels())
	if labels == nil {
		labels = map[string]string{}
	}
	labels[ipamv1.AllocatedLabel], labels[ipamv1.DelegatedToLabel] = "true", s.says.DelegateTo
	s.pool.SetLabels(labels)
	nameTemplate(s.pool)
}

// nameTemplate has the copies of a pool name it by its UID.
func nameTemplate(p pools.Object) {
	annotations := maps.Clone(p.GetAnnotations())
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[ipamv1.TemplateAnnotation] = string(p.GetUID())
	p.SetAnnotations(annotations)
}
