// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package book

import (
	"errors"
	"net/netip"
	"slices"
	"testing"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
)

// TestWhatIsUnfitIsPassedOver has a claim choose that cannot have some of the addresses that are free.
func TestWhatIsUnfitIsPassedOver(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct {
		unfit    []string
		want     string
		recorded bool
		got      string
		errs     []error
	}{
		"nothing is":                           {got: "10.0.0.0/32"},
		"the lowest is":                        {unfit: []string{"10.0.0.0"}, got: "10.0.0.1/32"},
		"all but the last are":                 {unfit: []string{"10.0.0.0", "10.0.0.1", "10.0.0.2"}, got: "10.0.0.3/32"},
		"all are":                              {unfit: []string{"10.0.0.0", "10.0.0.1", "10.0.0.2", "10.0.0.3"}, errs: []error{ErrExhausted, ErrTaken}},
		"all are, and it has a record of one":  {unfit: []string{"10.0.0.0", "10.0.0.1", "10.0.0.2", "10.0.0.3"}, recorded: true, errs: []error{ErrExhausted, ErrTaken}},
		"what it asks for is":                  {unfit: []string{"10.0.0.2"}, want: "10.0.0.2/32", errs: []error{ErrRefused}},
		"something else than what it asks for": {unfit: []string{"10.0.0.0"}, want: "10.0.0.2/32", got: "10.0.0.2/32"},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			b := newBook()
			if test.recorded {
				b.put(recordNamed("a", "10.0.0.1/32"))
			}
			b.serving(shapeConfig{entries: "10.0.0.0/30", reserved: pooltree.AllocateReserved})
			c := claimFor("a")
			c.IsUnfit = func(a netip.Addr) bool { return slices.Contains(test.unfit, a.String()) }
			if test.want != "" {
				c.Want = netip.MustParsePrefix(test.want)
			}
			w, err := b.x.Choose(c, at("a"))
			for _, want := range test.errs {
				if !errors.Is(err, want) {
					t.Errorf("error %v, want %v", err, want)
				}
			}
			if test.got != "" && (err != nil || w.CIDR.String() != test.got) {
				t.Errorf("chose %v, error %v, want %s", w, err, test.got)
			}
			if other, err := b.x.Choose(claimFor("b"), at("b")); len(test.errs) > 0 && (err != nil || other.CIDR.String() != "10.0.0.0/32") {
				t.Errorf("another claim chose %v, error %v: what was passed over is free", other, err)
			}
		})
	}
}

// TestARecordOfWhatIsUnfitIsNotTheClaims: it stays, and another is made.
func TestARecordOfWhatIsUnfitIsNotTheClaims(t *testing.T) {
	t.Parallel()
	b := newBook()
	b.put(recordNamed("a", "10.0.0.1/32"))
	b.serving(shapeConfig{entries: "10.0.0.0/30", reserved: pooltree.AllocateReserved})
	c := claimFor("a")
	if r, _ := b.x.RecordOf(c, ""); r == nil {
		t.Fatal("the claim has no record")
	}
	c.IsUnfit = func(a netip.Addr) bool { return a == netip.MustParseAddr("10.0.0.1") }
	if r, _ := b.x.RecordOf(c, ""); r != nil {
		t.Errorf("it would be answered with %s", r.CIDR)
	}
}
