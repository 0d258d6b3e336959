// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/conditions"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/excerpt"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/kinds"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
)

// setByHand reports the IPAddresses out of the pool that were made by hand and that no claim has. The condition is left as it is where they
// are not all known.
func (r *reporter) setByHand(ctx context.Context, s *scope) error {
	if !r.remains.IsComplete() || s.says.Ref.Namespace == "" && r.Namespace != "" {
		return nil
	}
	var found []pools.ByHand
	for _, door := range r.doors {
		its, err := door.ByHand(ctx, s.says.Ref)
		if err != nil {
			return err
		}
		found = append(found, its...)
	}
	if len(found) == 0 {
		conditions.Delete(s.pool, ipamv1.AddressesByHandCondition)
		return nil
	}
	slices.SortFunc(found, func(a, b pools.ByHand) int {
		return cmp.Or(cmp.Compare(a.Namespace, b.Namespace), cmp.Compare(a.Name, b.Name))
	})
	conditions.Set(s.pool, metav1.Condition{
		Type: ipamv1.AddressesByHandCondition, Status: metav1.ConditionTrue, Reason: ipamv1.AddressesUnclaimedReason,
		Message:            fmt.Sprintf("IPAddresses of the pool that were made by hand, and that no claim has: %d: %s", len(found), r.byHandNames(ctx, s.pool, found)),
		ObservedGeneration: s.pool.GetGeneration(),
	})
	return nil
}

// byHandNames writes the first addresses, and of which objects they are where the pool's project may know that.
func (r *reporter) byHandNames(ctx context.Context, p pools.Object, found []pools.ByHand) string {
	texts := make([]string, 0, shownHoldings+1)
	for _, its := range found[:min(len(found), shownHoldings)] {
		text := excerpt.Of(its.Address)
		if r.Registry.Rules.MayName(ctx, p.GetNamespace(), kinds.Claim(kinds.IPAddress, its.NamespacedName, "")) {
			text += " (IPAddress " + its.String() + ")"
		}
		texts = append(texts, text)
	}
	if more := len(found) - len(texts); more > 0 {
		texts = append(texts, fmt.Sprintf("and %d more", more))
	}
	return strings.Join(texts, ", ")
}
