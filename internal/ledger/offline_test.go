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

// TestFillAsksForAllInTurn: whether there is room for a prefix depends on where those before it lie, and nothing stays of it.
func TestFillAsksForAllInTurn(t *testing.T) {
	t.Parallel()
	of := func(bits ...int) (claims []Claim) {
		for _, b := range bits {
			c := claimFor("")
			c.Ref.Name, c.Ref.UID, c.Bits = "", "", b
			claims = append(claims, c)
		}
		return claims
	}
	for sentence, test := range map[string]struct {
		used   string
		claims []Claim
		want   string
	}{
		"all of them":                       {claims: of(32, 32, 31, 30), want: "1111"},
		"one too many":                      {claims: of(30, 30, 32), want: "110"},
		"enough is left, but not together":  {used: "10.0.0.2/32", claims: of(30, 30), want: "10"},
		"the small ones take the large gap": {used: "10.0.0.4/31", claims: of(32, 31, 30), want: "110"},
		"the large one comes first":         {used: "10.0.0.4/31", claims: of(30, 31), want: "11"},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			list := []*ipamv1.IPAllocation{root("p", "10.0.0.0/29", confirmed)}
			if test.used != "" {
				list = append(list, recordNamed("b", test.used))
			}
			for i, a := range list {
				a.ResourceVersion = strconv.Itoa(10 + i)
			}
			l, err := Offline(list, "100", time.Unix(5000, 0))
			if err != nil {
				t.Fatal(err)
			}
			l.SetPool(servingPool("10.0.0.0/29"))
			for range 2 { // the second time just as the first
				got := ""
				for _, err := range l.Fill(test.claims) {
					switch {
					case err == nil:
						got += "1"
					case errors.Is(err, ErrExhausted):
						got += "0"
					default:
						t.Error(err)
					}
				}
				if got != test.want {
					t.Errorf("got %s, want %s", got, test.want)
				}
			}
		})
	}
}
