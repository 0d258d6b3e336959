// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package federation

import (
	"fmt"
	"math/big"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// Bounds of what is taken over, as the API has them.
const (
	maxMessage = 1024
	maxReason  = 1024
	maxDigits  = 39
	maxUID     = 128
)

// reportOf returns what a binding says of the pool at a member, or why it says nothing.
func reportOf(binding *unstructured.Unstructured, member string) (report *ipamv1.MemberStatus, why string) {
	item := itemOf(binding, member)
	applied, _ := item["applied"].(bool)
	message, _ := item["appliedMessage"].(string)
	content, hasStatus := item["status"].(map[string]any)
	switch {
	case item == nil:
		return nil, fmt.Sprintf("Karmada has not placed the pool at cluster %q", member)
	case !applied && message == "":
		return nil, fmt.Sprintf("Karmada has not sent the pool to cluster %q yet", member)
	case !applied:
		return &ipamv1.MemberStatus{Cluster: member, Applied: ipamv1.MemberRefused, Message: cut(message, maxMessage)}, ""
	case !hasStatus:
		return nil, fmt.Sprintf("cluster %q has the pool and has not reported it yet", member)
	}
	return decode(content, member)
}

// itemOf returns the binding's entry for a member; nil if it has none.
func itemOf(binding *unstructured.Unstructured, member string) map[string]any {
	items, _, _ := unstructured.NestedFieldNoCopy(binding.Object, "status", "aggregatedStatus")
	list, _ := items.([]any)
	for _, entry := range list {
		item, _ := entry.(map[string]any)
		if item["clusterName"] == member {
			return item
		}
	}
	return nil
}

// decode reads the status of the copy. The member may run another version: what the hub's API would
// refuse is no report, so that the rest of the hub's status can be written.
func decode(content map[string]any, member string) (report *ipamv1.MemberStatus, why string) {
	copied := &ipamv1.IPPoolStatus{}
	if err := runtime.DefaultUnstructuredConverter.FromUnstructured(content, copied); err != nil {
		return nil, fmt.Sprintf("the report of cluster %q cannot be read: %s", member, err)
	}
	ready := meta.FindStatusCondition(copied.Conditions, ipamv1.ReadyCondition)
	if ready == nil {
		return nil, fmt.Sprintf("cluster %q has the pool and has not reported it yet", member)
	}
	if field := outOfBounds(copied); field != "" {
		return nil, fmt.Sprintf("the report of cluster %q cannot be used: status.%s is out of bounds", member, field)
	}
	return &ipamv1.MemberStatus{
		Cluster: member, Applied: ipamv1.MemberApplied, Reason: cut(ready.Reason, maxReason), Message: cut(ready.Message, maxMessage),
		Claims: copied.Claims, Capacity: copied.Capacity, UtilizationPercent: copied.UtilizationPercent, Released: copied.Released,
	}, ""
}

// outOfBounds names a field that the hub's API would refuse; "" for none.
func outOfBounds(status *ipamv1.IPPoolStatus) string {
	c := status.Capacity
	for _, count := range []string{c.Total, c.Allocated, c.Available, c.Excluded, c.Cooling, c.Delegated} {
		if count != "" && !isCount(count) {
			return "capacity"
		}
	}
	percent, released := status.UtilizationPercent, status.Released
	switch {
	case status.Claims != nil && *status.Claims < 0:
		return "claims"
	case percent != nil && (*percent < 0 || *percent > 100):
		return "utilizationPercent"
	case released != nil && (released.TemplateUID == "" || len(released.TemplateUID) > maxUID):
		return "released"
	case released != nil && released.TemplateGeneration != nil && *released.TemplateGeneration < 0:
		return "released"
	}
	return ""
}

// isCount reports whether a text is a number of addresses.
func isCount(text string) bool {
	n, ok := new(big.Int).SetString(text, 10)
	return ok && n.Sign() >= 0 && len(text) <= maxDigits
}

// cut returns as much of a text as the API takes.
func cut(text string, most int) string {
	if len(text) <= most {
		return text
	}
	const more = "..."
	return strings.ToValidUTF8(text[:most-len(more)], "") + more
}
