// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package book

import (
	"testing"

	"github.com/google/go-cmp/cmp"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// ofLab makes the record one of the address space "lab".
func ofLab(a *ipamv1.IPAllocation) { a.Spec.AddressSpace = "lab" }

// TestAPoolWhoseNameIsHeldElsewhereDoesNotServe: an earlier pool of the name was of another address space, which may be the same network.
func TestAPoolWhoseNameIsHeldElsewhereDoesNotServe(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct {
		record *ipamv1.IPAllocation
		held   []string
	}{
		"a claim's address":              {record: recordNamed("a", "10.0.0.1/32", ofLab), held: []string{"lab"}},
		"what cools down":                {record: recordNamed("a", "10.0.0.1/32", ofLab, released), held: []string{"lab"}},
		"what is held for what moved":    {record: recordNamed("a", "10.0.0.1/32", ofLab, func(a *ipamv1.IPAllocation) { a.Spec.State = ipamv1.MovedState }), held: []string{"lab"}},
		"the block of a carved pool":     {record: recordNamed("a", "10.0.0.0/30", ofLab, carved("child")), held: []string{"lab"}},
		"what is retained":               {record: recordNamed("a", "10.0.0.1/32", ofLab, retainedRecord)},
		"an address of this space":       {record: recordNamed("a", "10.0.0.1/32")},
		"an address of another pool":     {record: recordNamed("a", "10.0.0.1/32", ofLab, fromPool("q"))},
		"a block of the pool's own name": {record: root("p", "10.0.0.0/24", confirmed, ofLab)},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			b := newBook()
			b.put(test.record)
			b.serving(shapeConfig{entries: "10.0.0.0/28"})
			if diff := cmp.Diff(test.held, b.x.Elsewhere(poolRef("p"))); diff != "" {
				t.Error(diff)
			}
			if got, want := b.x.Serves(poolRef("p")), test.held == nil; got != want {
				t.Errorf("serves: %t, want %t", got, want)
			}
			b.cut(test.record)
			if !b.x.Serves(poolRef("p")) {
				t.Error("it does not serve once the record is gone")
			}
			if freed, _ := b.forget(); test.held != nil && !nameP(freed) {
				t.Error("who waits for room is not told")
			}
			b.put(test.record)
			if got, want := b.x.Serves(poolRef("p")), test.held == nil; got != want {
				t.Errorf("serves once the record is restored: %t, want %t", got, want)
			}
		})
	}
}

// TestAnExternalPoolServesWhateverIsHeldElsewhere: its cloud decides what it has.
func TestAnExternalPoolServesWhateverIsHeldElsewhere(t *testing.T) {
	t.Parallel()
	b := newBook()
	b.put(recordNamed("a", "10.0.0.1/32", ofLab))
	b.x.SetPool(external("p", 0))
	if !b.x.Serves(poolRef("p")) {
		t.Error("it does not serve")
	}
}
