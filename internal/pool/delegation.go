// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"fmt"
	"maps"
	"net/netip"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claimant"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/poolspec"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
)

// shownWithheld is how many addresses that are kept back a message names.
const shownWithheld = 5

// CheckDelegated errs with a Refusal if a pool that is to be delegated, of this shape, lacks what the pools above it say of its block.
func (c Children) CheckDelegated(p pools.Own, shape *pooltree.Pool) error {
	block, err := netip.ParsePrefix(p.PoolSpec().CIDR)
	if err != nil {
		return nil //nolint:nilerr // it has no block yet
	}
	return c.CheckSelfContained(c.Registry.Says(p), shape, block)
}

// CheckSelfContained refuses to carve a block for a member that lacks what the pools above it say: the member does not know them. It errs with
// a Refusal. The shape is that of the pool itself. A pool that arrived keeps its block, which its member may use.
func (c Children) CheckSelfContained(says poolspec.Pool, shape *pooltree.Pool, block netip.Prefix) error {
	if says.Place != poolspec.Elsewhere || says.Arrived || shape == nil {
		return nil
	}
	var missing []string
	for _, kept := range c.Registry.Ledger.Withheld(says.Parent, block) {
		if _, refused := shape.Refuses(kept.Prefix); !refused && len(missing) < shownWithheld {
			missing = append(missing, fmt.Sprintf("%s, which %s %s keeps back", kept.Prefix, kept.Pool.Kind, kept.Pool.Name))
		}
	}
	if len(missing) > 0 {
		return cannotCarve(claimant.Invalid, "spec.excludedAddresses", "must name %s: member clusters do not know the pools above", strings.Join(missing, ", "))
	}
	return c.CheckOwnNetwork(says, block)
}

// CheckOwnNetwork refuses a pool that would have network settings of the pools above it.
func (c Children) CheckOwnNetwork(says poolspec.Pool, block netip.Prefix) error {
	if !says.Inherits {
		return nil
	}
	parent := c.Registry.Registered(says.Parent).Shape
	if parent == nil {
		return nil
	}
	network := parent.NetworkOf(block.Addr())
	if !network.Gateway.IsValid() && len(network.DNSServers) == 0 {
		return nil
	}
	return cannotCarve(claimant.Invalid, "spec.network", "must set gateway and dnsServers, which the pools above have for %s: member clusters do not know those pools", block)
}

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

// markDelegated gives a pool whose block is recorded the labels that propagation policies select it by: it may have come past the webhooks with its
// block. It also names the pool by its UID, for copies that no propagator marks: a pool that was made again or restored has another one than its
// manifest. Metadata is written with the status.
func markDelegated(s *scope) {
	if s.says.Place != poolspec.Elsewhere {
		return
	}
	labels, annotations := maps.Clone(s.pool.GetLabels()), maps.Clone(s.pool.GetAnnotations())
	if labels == nil {
		labels = map[string]string{}
	}
	if annotations == nil {
		annotations = map[string]string{}
	}
	labels[ipamv1.AllocatedLabel], labels[ipamv1.DelegatedToLabel] = "true", s.says.DelegateTo
	annotations[ipamv1.TemplateAnnotation] = string(s.pool.GetUID())
	s.pool.SetLabels(labels)
	s.pool.SetAnnotations(annotations)
}
