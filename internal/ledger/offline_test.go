// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"errors"
	"strconv"
	"testing"
	"time"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// TestOfflineAnswersFromAList: what is free and what is not, with nothing to wait for.
func TestOfflineAnswersFromAList(t *testing.T) {
	t.Parallel()
	ownKind := func(a *ipamv1.IPAllocation) {
		a.Spec.ClaimRef.APIGroup, a.Spec.ClaimRef.Kind = ipamv1.GroupVersion.Group, ipamv1.IPClaimKind
	}
	for sentence, test := range map[string]struct {
		records []*ipamv1.IPAllocation
		want    string
		err     error
	}{
		"nothing is in use":    {want: "10.0.0.0/32"},
		"the first is in use":  {records: []*ipamv1.IPAllocation{recordNamed("b", "10.0.0.0/32")}, want: "10.0.0.1/32"},
		"one is in doubt":      {records: []*ipamv1.IPAllocation{recordNamed("b", "10.0.0.0/32", ownKind)}, want: "10.0.0.1/32"},
		"all are in use":       {records: []*ipamv1.IPAllocation{recordNamed("b", "10.0.0.0/32"), recordNamed("c", "10.0.0.1/32")}, err: ErrExhausted},
		"the last is in doubt": {records: []*ipamv1.IPAllocation{recordNamed("b", "10.0.0.0/32"), recordNamed("c", "10.0.0.1/32", ownKind)}, err: ErrExhausted},
		"one cools down":       {records: []*ipamv1.IPAllocation{recordNamed("b", "10.0.0.0/32", released)}, want: "10.0.0.1/32"},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			list := append([]*ipamv1.IPAllocation{root("p", "10.0.0.0/31", confirmed)}, test.records...)
			for i, a := range list {
				a.ResourceVersion = strconv.Itoa(10 + i)
			}
			l, err := Offline(list, "100", time.Unix(5000, 0))
			if err != nil {
				t.Fatal(err)
			}
			l.SetPool(servingPool("10.0.0.0/31"))
			if _, all := l.Of(poolRef("p")).Unstored("ns"); all != 0 {
				t.Errorf("%d records are waited for", all)
			}
			got, err := l.Preview(claimFor("a"))
			if !errors.Is(err, test.err) || err == nil && got.String() != test.want {
				t.Errorf("got %s, %v; want %s, %v", got, err, test.want, test.err)
			}
		})
	}
}

// TestOfflineNeedsAListThatCanBeRead: half of the records would be a wrong answer.
func TestOfflineNeedsAListThatCanBeRead(t *testing.T) {
	t.Parallel()
	unreadable := recordNamed("a", "10.0.0")
	unreadable.ResourceVersion = "10"
	if _, err := Offline([]*ipamv1.IPAllocation{unreadable}, "100", time.Unix(5000, 0)); err == nil {
		t.Error("a record without a prefix was read")
	}
}
