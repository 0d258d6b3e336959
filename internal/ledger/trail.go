// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	ctrl "sigs.k8s.io/controller-runtime"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/audit"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/records"
)

var log = ctrl.Log.WithName("ledger").V(4)

// explain says at verbosity 4 how a decision about a claim came about.
func explain(claim ipamv1.ClaimReference, message string, keysAndValues ...any) {
	if log.Enabled() {
		log.Info(message, append([]any{"claim", records.ClaimantOf(claim).String(), "claimUID", claim.UID}, keysAndValues...)...)
	}
}

// reportGiven writes the line of the audit trail for a record of the mark that has won, or that
// nobody may drop although it has not.
func reportGiven(mark *records.Record, id records.Identity, c Claim, reason string) {
	e := audit.Entry{Prefix: mark.CIDR, AddressSpace: mark.Space, Pool: c.Pool, Claim: c.Ref, Allocation: id.Key, Reason: reason}
	switch {
	case mark.Purpose == records.ForHandBack:
		audit.HandedBack(e)
	case !c.IsRestored():
		audit.Allocated(e)
	case reason == audit.Requested:
		e.Reason = audit.Arrived
		audit.Adopted(e)
	default:
		audit.Adopted(e)
	}
}

// reportReleased writes the line for a record that holds nothing any more for what it was made for.
func reportReleased(h Holding, reason string) {
	audit.Released(audit.Entry{Prefix: h.CIDR, AddressSpace: h.Space, Pool: h.Pool, Claim: h.Claim, Allocation: h.Record, Reason: reason})
}
