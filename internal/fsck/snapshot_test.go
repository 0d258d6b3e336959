// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package fsck

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// capiItem is an object of Cluster API's for the pool "p".
func capiItem(kind, name string, uid types.UID) *Item {
	i := &Item{Group: capiVersion.Group, Kind: kind}
	i.Metadata = metav1.ObjectMeta{Namespace: "n", Name: name, UID: uid}
	i.Spec.PoolRef = Reference{APIGroup: WeirGroup, Kind: "IPPool", Name: "p"}
	return i
}

func answerOf(claim types.UID, name string) *Item {
	i := capiItem("IPAddress", name, types.UID("answer-"+name))
	i.Spec.Address = "10.0.0.7"
	if claim != "" {
		i.Metadata.OwnerReferences = []metav1.OwnerReference{{UID: claim, Controller: ptr.To(true)}}
	}
	return i
}

func claimToldOf(name string, uid types.UID, answer string) *Item {
	i := capiItem("IPAddressClaim", name, uid)
	i.Status.AddressRef.Name = answer
	return i
}

func leaving(claim *Item) *Item {
	claim.Metadata.DeletionTimestamp = ptr.To(metav1.Now())
	return claim
}

func recordOf(claim types.UID) *Item {
	i := &Item{Group: WeirGroup, Kind: "IPAllocation"}
	i.Spec.AddressSpace, i.Spec.CIDR, i.Spec.ClaimRef.UID = "s", "10.0.0.7/32", claim
	return i
}

// TestSnapshot: the lists of a snapshot are of different moments, and what changes between them is no finding.
func TestSnapshot(t *testing.T) {
	t.Parallel()
	tests := map[string]struct {
		answers, records, claims, still []*Item
		// finding is part of what is found; empty for nothing.
		finding string
	}{
		"an answer that was adopted after the records were read": {
			answers: []*Item{answerOf("gone", "a")}, still: []*Item{answerOf("next", "a")},
			records: []*Item{recordOf("gone")}, claims: []*Item{claimToldOf("a", "next", "a")},
		},
		"an answer that a claim names and nobody recorded or adopted": {
			answers: []*Item{answerOf("gone", "a")}, still: []*Item{answerOf("", "a")},
			records: []*Item{recordOf("gone")}, claims: []*Item{claimToldOf("a", "next", "a")},
			finding: "answers without a record",
		},
		"an answer that came when its claim was being released, and whose address somebody else has": {
			answers: []*Item{answerOf("late", "a"), answerOf("other", "b")},
			records: []*Item{recordOf("other")},
			claims:  []*Item{leaving(claimToldOf("a", "late", "")), claimToldOf("b", "other", "b")},
		},
		"an answer that its claim was told, which is being released, and whose address somebody else has": {
			answers: []*Item{answerOf("told", "a"), answerOf("other", "b")},
			records: []*Item{recordOf("other")},
			claims:  []*Item{leaving(claimToldOf("a", "told", "a")), claimToldOf("b", "other", "b")},
			finding: "overlapping answers",
		},
		"an answer of a claim that is being released and has its record still": {
			answers: []*Item{answerOf("late", "a"), answerOf("other", "b")},
			records: []*Item{recordOf("late"), recordOf("other")},
			claims:  []*Item{leaving(claimToldOf("a", "late", "")), claimToldOf("b", "other", "b")},
			finding: "overlapping answers",
		},
	}
	for name, tc := range tests {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			pool := &Item{Group: WeirGroup, Kind: "IPPool"}
			pool.Metadata = metav1.ObjectMeta{Namespace: "n", Name: "p", UID: "pool"}
			pool.Spec.AddressSpace, pool.Spec.CIDR = "s", "10.0.0.0/16"
			s := &Snapshot{answers: tc.answers, records: tc.records, Claims: byUID(tc.claims), still: byUID(tc.still)}
			s.index(byUID([]*Item{pool}))
			holdings, err := s.holdings()
			if err != nil {
				t.Fatal(err)
			}
			err = s.report(holdings).Safe()
			if found := err != nil; found != (tc.finding != "") || found && !strings.Contains(err.Error(), tc.finding) {
				t.Errorf("found %v, want %q", err, tc.finding)
			}
		})
	}
}

// TestAPoolIsBelowTheParentThatItsAnnotationNames: a claim of a pool of Metal3's, or of the in-cluster
// provider's, overlaps the block of the pool that its own is carved from, and of no other.
func TestAPoolIsBelowTheParentThatItsAnnotationNames(t *testing.T) {
	t.Parallel()
	for parent, isRight := range map[string]bool{"GlobalIPPool/carved": true, "GlobalIPPool/other": false, "": false} {
		for _, key := range []PoolKey{{metal3Group, poolKind, "n", "p"}, {capiVersion.Group, inClusterKind, "n", "p"}} {
			carved := &Item{Group: WeirGroup, Kind: "GlobalIPPool", Metadata: metav1.ObjectMeta{Name: "carved", UID: "carved"}}
			carved.Spec.ParentRef = &Reference{Kind: "GlobalIPPool", Name: "root"}
			carved.Spec.AddressSpace, carved.Spec.CIDR = "s", "10.0.0.0/24"
			block := recordOf("carved")
			block.Spec.CIDR = carved.Spec.CIDR
			hosts := &Item{Group: key.Group, Kind: key.Kind, Metadata: metav1.ObjectMeta{
				Namespace: key.Namespace, Name: key.Name, Annotations: map[string]string{parentAnnotation: parent},
			}}
			answer, claim := answerOf("a", "a"), claimToldOf("a", "a", "a")
			for _, i := range []*Item{answer, claim} {
				i.Metadata.Namespace, i.Spec.PoolRef = key.Namespace, Reference{APIGroup: key.Group, Kind: key.Kind, Name: key.Name}
			}
			s := &Snapshot{
				answers: []*Item{answer}, still: byUID([]*Item{answer}), records: []*Item{recordOf("a"), block},
				own: []*Item{carved}, Claims: byUID([]*Item{claim, carved}),
			}
			if key.Group == metal3Group {
				s.parents = map[PoolKey]PoolKey{key: parentOf(hosts)}
			} else {
				s.InCluster = map[PoolKey]*Item{key: hosts}
			}
			s.index(byUID([]*Item{carved}))
			holdings, err := s.holdings()
			if err != nil {
				t.Fatal(err)
			}
			if err := s.report(holdings).Safe(); (err == nil) != isRight {
				t.Errorf("%s, %q: %v", key.Kind, parent, err)
			}
		}
	}
}

// TestTheInClusterProvidersPoolsAreServed also where all that is recorded is what they have of a parent.
func TestTheInClusterProvidersPoolsAreServed(t *testing.T) {
	t.Parallel()
	block := recordOf("p")
	block.Spec.PoolRef = Reference{Kind: "GlobalIPPool", Name: "g"}
	if isOfInCluster(block) {
		t.Error("a block of one of Weir's pools counts")
	}
	block.Spec.ClaimRef.APIGroup, block.Spec.ClaimRef.Kind = capiVersion.Group, globalInClusterKind
	if !isOfInCluster(block) {
		t.Error("a block of a pool of the in-cluster provider's does not count")
	}
}
