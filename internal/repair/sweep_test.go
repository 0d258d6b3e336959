// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package repair

import (
	"context"
	"net/netip"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/kinds"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
)

// recordOf is a record for a claim of that group, kind IPClaim and name "a".
func recordOf(group, uid string) ledger.Holding {
	return ledger.Holding{
		CIDR: netip.MustParsePrefix("10.0.0.1/32"), Purpose: ledger.ForClaim,
		Claim: ipamv1.ClaimReference{APIGroup: group, Kind: "IPClaim", Namespace: "team", Name: "a", UID: uid},
	}
}

// sweepsIPClaims sweeps Weir's IPClaims, of which "a" lives with the UID "living".
func sweepsIPClaims() *Repairer {
	return &Repairer{Kind: Kind{
		GroupKind: kinds.IPClaim,
		Living: func(context.Context) (map[types.NamespacedName]types.UID, error) {
			return map[types.NamespacedName]types.UID{{Namespace: "team", Name: "a"}: "living"}, nil
		},
	}}
}

func TestWhatIsRecordedForAKindOfTheNameInAnotherGroupIsNotSuspect(t *testing.T) {
	t.Parallel()
	r := sweepsIPClaims()
	found, err := r.suspects(t.Context(), []ledger.Holding{recordOf("other.dev", "x"), recordOf(kinds.IPClaim.Group, "living")})
	if err != nil || len(found) != 0 {
		t.Errorf("suspects are %v, %v", found, err)
	}
	if found, err = r.suspects(t.Context(), []ledger.Holding{recordOf(kinds.IPClaim.Group, "dead")}); err != nil || len(found) != 1 {
		t.Errorf("suspects are %v, %v", found, err)
	}
}

func TestTwoRecordsForAKindOfTheNameInAnotherGroupAreLeftToItsRepair(t *testing.T) {
	t.Parallel()
	r := sweepsIPClaims()
	if found := r.repeated([]ledger.Holding{recordOf("other.dev", "x"), recordOf("other.dev", "x")}); len(found) != 0 {
		t.Errorf("repeated are %v", found)
	}
	own := recordOf(kinds.IPClaim.Group, "living")
	if found := r.repeated([]ledger.Holding{own, own}); len(found) != 1 {
		t.Errorf("repeated are %v", found)
	}
}

// TestAClaimHasOneRecord, whatever the second one is of; a pool has one of each prefix.
func TestAClaimHasOneRecord(t *testing.T) {
	t.Parallel()
	r := sweepsIPClaims()
	first := recordOf(kinds.IPClaim.Group, "living")
	second, released, moved, others := first, first, first, recordOf(kinds.IPClaim.Group, "next")
	second.CIDR = netip.MustParsePrefix("10.0.0.2/32")
	released.ReleasedAt, moved.Purpose = time.Unix(1, 0), ledger.ForMoved
	firstBlock, secondBlock := first, second
	firstBlock.Purpose, secondBlock.Purpose = ledger.ForChildPool, ledger.ForChildPool
	for i, test := range []struct {
		other ledger.Holding
		want  int
	}{{first, 1}, {second, 1}, {released, 0}, {moved, 0}, {others, 0}} {
		if found := r.repeated([]ledger.Holding{first, test.other}); len(found) != test.want {
			t.Errorf("%d: repeated are %v", i, found)
		}
	}
	if found := r.repeated([]ledger.Holding{firstBlock, secondBlock}); len(found) != 0 {
		t.Errorf("of two blocks of a pool, repeated are %v", found)
	}
	if found := r.repeated([]ledger.Holding{firstBlock, firstBlock}); len(found) != 1 {
		t.Errorf("of one block that is recorded twice, repeated are %v", found)
	}
}

// TestABlockThatAMemberMayUseIsNotSuspect, but where it is not confirmed yet, or a user has deleted it.
func TestABlockThatAMemberMayUseIsNotSuspect(t *testing.T) {
	t.Parallel()
	r := sweepsIPClaims()
	held := recordOf(kinds.IPClaim.Group, "dead")
	held.Member, held.Confirmed = "edge-a", true
	unconfirmed, deleted, here := held, held, held
	unconfirmed.Confirmed, deleted.Terminating, here.Member = false, true, ""
	for i, test := range []struct {
		h    ledger.Holding
		want int
	}{{held, 0}, {unconfirmed, 1}, {deleted, 1}, {here, 1}} {
		if found, err := r.suspects(t.Context(), []ledger.Holding{test.h}); err != nil || len(found) != test.want {
			t.Errorf("%d: suspects are %v, %v", i, found, err)
		}
	}
}
