// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package book

import (
	"errors"
	"net/netip"
	"testing"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// TestWhoIsDenied has claims choose from a pool that denies claims named x, whatever their kind.
func TestWhoIsDenied(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct {
		claim, want, err string
		edit             func(*Claim)
	}{
		"it gets nothing":                      {claim: "x", err: "is denied x"},
		"nor what it asks for":                 {claim: "x", want: "10.0.0.7/32", err: "10.0.0.7/32: is denied x"},
		"nor what is kept for another":         {claim: "x", want: "10.0.0.4/32", err: "10.0.0.4/32: is denied x"},
		"nor what lies outside":                {claim: "x", want: "10.0.9.4/32", err: "10.0.9.4/32: is denied x"},
		"whatever its kind":                    {claim: "x", edit: ofWeir, err: "is denied x"},
		"in a later life":                      {claim: "x", edit: func(c *Claim) { c.Ref.UID = "later" }, err: "is denied x"},
		"who arrived with something keeps it":  {claim: "x", want: "10.0.0.7/32", edit: adopted},
		"even what is kept for another":        {claim: "x", want: "10.0.0.4/32", edit: adopted},
		"a namesake elsewhere is another":      {claim: "x", edit: func(c *Claim) { c.Ref.Namespace = "elsewhere" }},
		"another claim gets something":         {claim: "a"},
		"another claim gets what it asks for":  {claim: "a", want: "10.0.0.7/32"},
		"what is kept for who is denied stays": {claim: "owner-of-10.0.0.4", err: "the pool keeps 10.0.0.4/32 for the claim: 10.0.0.4/32: is denied owner-of-10.0.0.4"},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			b := newBook()
			b.serving(shapeConfig{
				entries: "10.0.0.0/28", kept: "10.0.0.4/32", reserved: four.reserved, denied: []string{"x", "owner-of-10.0.0.4"},
			})
			c := claimFor(test.claim)
			if test.want != "" {
				c.Want = netip.MustParsePrefix(test.want)
			}
			if test.edit != nil {
				test.edit(&c)
			}
			_, err := b.x.Choose(c, at("a"))
			switch {
			case test.err == "" && err != nil, test.err != "" && !errors.Is(err, ErrRefused):
				t.Errorf("error %v, want %q", err, test.err)
			case err != nil && err.Error() != test.err:
				t.Errorf("error %v, want %q", err, test.err)
			}
			if refused := (*RefusedError)(nil); errors.As(err, &refused) && !refused.Denied {
				t.Error("it looks as if something else might be had")
			}
		})
	}
}

func ofWeir(c *Claim) { c.Ref.APIGroup, c.Ref.Kind = ipamv1.GroupVersion.Group, ipamv1.IPClaimKind }

// TestWhoIsDeniedKeepsWhatItHas: it is told that this is outside the policy of the pool.
func TestWhoIsDeniedKeepsWhatItHas(t *testing.T) {
	t.Parallel()
	b := newBook()
	b.put(recordNamed("x", "10.0.0.7/32"))
	b.serving(shapeConfig{entries: "10.0.0.0/28", denied: []string{"x"}})
	ref := claimFor("x").Ref
	var refused *RefusedError
	if err := b.x.About(ref).OutsidePolicy(); !errors.As(err, &refused) || refused.Reason != "is denied x" {
		t.Errorf("outside the policy: %v", err)
	}
	if !b.x.About(ref).Holds(netip.MustParseAddr("10.0.0.7")) {
		t.Error("it has nothing any more")
	}
}
