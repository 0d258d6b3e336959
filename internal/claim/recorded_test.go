// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package claim

import (
	"net/netip"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/door"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/kinds"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/allocations"
)

// byAddress names answers after their addresses, as Metal3 does.
type byAddress struct{ door.Form }

func (byAddress) Kinds() *door.Kinds {
	return &door.Kinds{Claim: ipamv1beta2.GroupVersion.WithKind("IPAddressClaim"), Commit: door.ByStatus}
}

func (byAddress) Compose(_ *door.Claim, _ *door.Offer, cidr netip.Prefix, _ pooltree.Network) client.Object {
	return &ipamv1beta2.IPAddress{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "p-" + cidr.Addr().String()}}
}

// restarted is a reconciler of a process that has seen these records in a list, and decided about none of them itself; and the claim that
// they are for, which is Ready, and whose status names an answer.
func restarted(t *testing.T, answerName string, records ...*ipamv1.IPAllocation) (*Reconciler, *scope) {
	t.Helper()
	book, err := ledger.Offline(records, "9", time.Unix(1000, 0))
	if err != nil {
		t.Fatal(err)
	}
	claim := &ipamv1beta2.IPAddressClaim{ObjectMeta: metav1.ObjectMeta{Namespace: "ns", Name: "a", UID: "claim a"}}
	claim.Status.Conditions = []metav1.Condition{{Type: ipamv1.ReadyCondition, Status: metav1.ConditionTrue}}
	s := &scope{
		claim: &door.Claim{Object: claim, Asks: door.Asks{AnswerName: answerName}, Stored: claim},
		ref:   kinds.Claim(kinds.IPAddressClaim, client.ObjectKeyFromObject(claim), claim.UID),
		offer: &door.Offer{Pool: allocations.PoolRef("p"), Network: func(netip.Addr) pooltree.Network { return pooltree.Network{} }},
	}
	return New(Options{Form: byAddress{}, Ledger: book}), s
}

// of makes a record of another claim of the same name.
func of(uid string) allocations.Edit {
	return func(a *ipamv1.IPAllocation) { a.Spec.ClaimRef.UID = uid }
}

// called gives a record a name of its own.
func called(name string) allocations.Edit {
	return func(a *ipamv1.IPAllocation) { a.Name, a.UID = name, types.UID("uid of "+name) }
}

func TestAReadyClaimsRecordIsBeyondDoubtUnlessANamesakesIsThere(t *testing.T) {
	t.Parallel()
	own, dead := allocations.Named("a", "10.0.0.4/32"), allocations.Named("a", "10.0.0.4/32", called("dead"), of("of a dead claim"))
	for name, test := range map[string]struct {
		records []*ipamv1.IPAllocation
		owner   types.UID
		want    bool
	}{
		"its own alone":                        {[]*ipamv1.IPAllocation{own}, "claim a", true},
		"its own, but the answer is another's": {[]*ipamv1.IPAllocation{own}, "of a dead claim", false},
		"a dead namesake's as well":            {[]*ipamv1.IPAllocation{own, dead}, "claim a", false},
		"none":                                 {nil, "claim a", false},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, s := restarted(t, "p-10.0.0.4", test.records...)
			stored := &ipamv1beta2.IPAddress{ObjectMeta: metav1.ObjectMeta{OwnerReferences: []metav1.OwnerReference{
				{APIVersion: ipamv1beta2.GroupVersion.String(), Kind: "IPAddressClaim", Name: "a", UID: test.owner},
			}}}
			answer := &door.Answer{Object: stored, Stored: stored}
			if got := r.executor.records.isRecorded(s, answer, netip.MustParseAddr("10.0.0.4")); got != test.want {
				t.Errorf("recorded: %t", got)
			}
		})
	}
}

func TestTheRecordOfWhatAClaimWasTold(t *testing.T) {
	t.Parallel()
	told, late := allocations.Named("a", "10.0.0.7/32"), allocations.Named("a", "10.0.0.4/32", called("late"))
	for name, test := range map[string]struct {
		records []*ipamv1.IPAllocation
		want    string
	}{
		"its only one":                    {[]*ipamv1.IPAllocation{told}, "10.0.0.7/32"},
		"the one named, not the first":    {[]*ipamv1.IPAllocation{late, told}, "10.0.0.7/32"},
		"none stands for what it names":   {[]*ipamv1.IPAllocation{late}, ""},
		"not that of a dead claim":        {[]*ipamv1.IPAllocation{allocations.Named("a", "10.0.0.7/32", of("dead"))}, ""},
		"not that of another pool":        {[]*ipamv1.IPAllocation{allocations.Named("a", "10.0.0.7/32", allocations.FromPool("q"))}, ""},
		"not that of a claim that moved":  {[]*ipamv1.IPAllocation{allocations.Named("a", "10.0.0.7/32", movedAway)}, ""},
		"none, where nothing is recorded": {nil, ""},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			r, s := restarted(t, "p-10.0.0.7", test.records...)
			found, ok := r.observer.recordOfTold(s)
			if ok != (test.want != "") || ok && found.CIDR.String() != test.want {
				t.Errorf("found %v, %t", found.CIDR, ok)
			}
		})
	}
}

func movedAway(a *ipamv1.IPAllocation) { a.Spec.State = ipamv1.MovedState }
