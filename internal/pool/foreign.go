// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"context"
	"fmt"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/conditions"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/kinds"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
)

// setForeign says how many addresses of the pool IPAddresses of other providers name, and whether a claim has one of them: it got that before
// the IPAddress was seen.
func (r *reporter) setForeign(ctx context.Context, s *scope) {
	found := r.Ledger.Of(s.says.Ref).Foreign()
	if len(found) == 0 {
		conditions.Delete(s.pool, ipamv1.ForeignAddressesCondition)
		return
	}
	hasHolder := func(f ledger.Foreign) bool { return f.HeldBy != nil }
	conflicts := slices.DeleteFunc(slices.Clone(found), func(f ledger.Foreign) bool { return !hasHolder(f) })
	condition := metav1.Condition{
		Type: ipamv1.ForeignAddressesCondition, Status: metav1.ConditionTrue, Reason: ipamv1.ForeignExcludedReason,
		ObservedGeneration: s.pool.GetGeneration(),
		Message:            fmt.Sprintf("IPAddresses of other providers in the pool, which hands out none of them: %d: ", len(found)),
	}
	if len(conflicts) > 0 {
		condition.Reason = ipamv1.ForeignConflictReason
		condition.Message = fmt.Sprintf("IPAddresses of other providers in the pool: %d, of which claims have %d as well and keep them, so that two may use one address: replace one of the two: ",
			len(found), len(conflicts))
	}
	condition.Message += r.foreignNames(ctx, s.pool, slices.Concat(conflicts, slices.DeleteFunc(found, hasHolder)))
	conditions.Set(s.pool, condition)
}

// foreignNames writes the first addresses, and of which objects they are where the pool's project may know that.
func (r *reporter) foreignNames(ctx context.Context, p pools.Object, found []ledger.Foreign) string {
	texts := make([]string, 0, shownHoldings)
	for _, f := range found[:min(len(found), shownHoldings)] {
		var words []string
		object := kinds.Claim(kinds.IPAddress, types.NamespacedName{Namespace: f.Namespace, Name: f.Name}, "")
		if r.Registry.Rules.MayName(ctx, p.GetNamespace(), object) {
			words = append(words, f.String())
		}
		if f.HeldBy != nil && r.Registry.Rules.MayName(ctx, p.GetNamespace(), f.HeldBy.Claim) {
			words = append(words, "held for "+f.HeldBy.String())
		}
		text := f.Prefix.String()
		if f.Prefix.IsSingleIP() {
			text = f.Prefix.Addr().String()
		}
		if len(words) > 0 {
			text += " (" + strings.Join(words, "; ") + ")"
		}
		texts = append(texts, text)
	}
	message := strings.Join(texts, ", ")
	if more := len(found) - len(texts); more > 0 {
		message = fmt.Sprintf("%s and %d more", message, more)
	}
	return message
}

// announceForeign tells of an address that a claim has and another provider, too.
func (r *reporter) announceForeign(before, after pools.Object) {
	is := conditions.GetReason(after, ipamv1.ForeignAddressesCondition) == ipamv1.ForeignConflictReason
	if is && conditions.GetReason(before, ipamv1.ForeignAddressesCondition) != ipamv1.ForeignConflictReason {
		r.Recorder.Eventf(after, nil, corev1.EventTypeWarning, ipamv1.ForeignConflictReason, "Serve", "%s",
			conditions.GetMessage(after, ipamv1.ForeignAddressesCondition))
	}
}
