// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package audit

import (
	"net/netip"

	"k8s.io/apimachinery/pkg/types"
	logf "sigs.k8s.io/controller-runtime/pkg/log"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/excerpt"
)

var log = logf.Log.WithName("audit")

// Reasons of lines that are not refusals, whose reason is what whoever asked is told.
const (
	// Requested: somebody asked for it.
	Requested = "Requested"
	// TakenOver: another manager, or an earlier start of this one, had begun to hand it out.
	TakenOver = "TakenOver"
	// Arrived: the claim, or the pool, came with it from another cluster or a backup.
	Arrived = "Arrived"
	// Conflict: it was restored or moved with the claim, and another claim holds it, or part of it.
	Conflict = "AddressConflict"
	// Gone: what it was held for is gone. The prefix is free.
	Gone = "Gone"
	// Cooling: what it was held for is gone. The prefix is free once it has cooled down.
	Cooling = "Cooling"
	// Retained: the claim is gone. The prefix is kept for the next one of the name.
	Retained = "Retained"
	// CooledDown: the prefix has cooled down, and is free.
	CooledDown = "CooledDown"
	// RetentionEnded: the prefix is kept no longer for the next claim of the name, or that has it now.
	RetentionEnded = "RetentionEnded"
	// HoldEnded: the prefix is held no longer for what has moved to another cluster.
	HoldEnded = "HoldEnded"
	// HandBackEnded: a block that was handed back may be handed out here again: the hub has delegated it
	// anew, or whoever may manage records has deleted the record.
	HandBackEnded = "HandBackEnded"
	// Unreachable: nobody can give back any more what backs the prefix outside of the cluster.
	Unreachable = "Unreachable"
	// Forced: whoever may manage records has stated that the member cluster uses the block no more.
	Forced = "Forced"
	// Void: the claim was answered otherwise; nobody was told of the prefix.
	Void = "Void"
	// Surplus: the claim has another prefix. It was not told this one, which existed outside of the cluster for it, without a record.
	Surplus = "Surplus"
)

// Entry is what a line says.
type Entry struct {
	// Prefix is the zero value where a refusal is of none in particular, and so is Allocation.
	Prefix netip.Prefix
	// AddressSpace is empty where it is not known.
	AddressSpace string
	Pool         ipamv1.PoolReference
	// Claim is what the prefix is for: a claim, or a pool.
	Claim ipamv1.ClaimReference
	// Allocation is the record.
	Allocation types.NamespacedName
	Reason     string
}

// Allocated tells that a prefix was handed out.
func Allocated(e Entry) { log.Info("Allocated", e.keys()...) }

// Adopted tells that a prefix was recorded for what came with it.
func Adopted(e Entry) { log.Info("Adopted", e.keys()...) }

// Released tells that a prefix is not held any more.
func Released(e Entry) { log.Info("Released", e.keys()...) }

// ReleasedOutside tells that what existed outside of the cluster for a claim, and was never recorded, is not the claim's any more. The id is
// that of the external object.
func ReleasedOutside(e Entry, id string) {
	log.Info("Released", appendSaid(e.keys(), "externalID", id)...)
}

// Abandoned tells that what backs a prefix outside of the cluster stays there, though nothing is
// recorded for it any more; and why. The id is that of the external object, "" where none is known.
func Abandoned(e Entry, id, message string) {
	log.Info("Abandoned", append(appendSaid(e.keys(), "externalID", id), "message", excerpt.Message(message))...)
}

// ForceReleased tells that a block was released which the member cluster has not handed back itself.
func ForceReleased(e Entry, member string) {
	log.Info("ForceReleased", appendSaid(e.keys(), "member", member)...)
}

// HandedBack tells that this cluster has let go of the block of a delegated pool.
func HandedBack(e Entry) { log.Info("HandedBack", e.keys()...) }

// Refused tells that nothing was handed out, and what whoever asked is told.
func Refused(e Entry, message string) {
	log.Info("Refused", append(e.keys(), "message", excerpt.Message(message))...)
}

// keys are the line's keys and values; a key without a value is left out.
func (e Entry) keys() []any {
	var keys []any
	if e.Prefix.IsValid() {
		keys = append(keys, "address", e.Prefix.Addr().String(), "prefix", e.Prefix.String())
	}
	if e.AddressSpace != "" {
		keys = append(keys, "addressSpace", e.AddressSpace)
	}
	if e.Pool != (ipamv1.PoolReference{}) {
		keys = append(keys, "pool", named(e.Pool.Kind, e.Pool.Namespace, e.Pool.Name))
		keys = appendSaid(keys, "poolGroup", e.Pool.GroupKind().Group)
	}
	if e.Claim != (ipamv1.ClaimReference{}) {
		keys = append(keys, "claim", named(e.Claim.Kind, e.Claim.Namespace, e.Claim.Name))
	}
	keys = appendSaid(keys, "claimGroup", e.Claim.APIGroup)
	keys = appendSaid(keys, "claimUID", e.Claim.UID)
	if e.Allocation.Name != "" {
		keys = append(keys, "allocation", e.Allocation.String())
	}
	return appendSaid(keys, "reason", e.Reason)
}

// appendSaid adds a key that has a value.
func appendSaid(keys []any, key, value string) []any {
	if value == "" {
		return keys
	}
	return append(keys, key, excerpt.Of(value))
}

// named has three parts always: what has no namespace has an empty one.
func named(kind, namespace, name string) string {
	return excerpt.Of(kind) + "/" + excerpt.Of(namespace) + "/" + excerpt.Of(name)
}
