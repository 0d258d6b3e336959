// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package book

import (
	"errors"
	"net/netip"
	"testing"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
)

func TestAPromiseIsKept(t *testing.T) {
	t.Parallel()
	b := newBook()
	b.serving(four)
	promise := func(c Claim, want string) {
		t.Helper()
		if got, err := b.promise(c); err != nil || got.String() != want {
			t.Fatalf("promised %s, %v, want %s", got, err, want)
		}
	}
	const long = "a-name-of-which-the-api-server-will-leave-only-the-first-58-characters-"
	unnamed := claimFor("")
	unnamed.Ref.UID, unnamed.GenerateName = "", long
	if shown, err := b.x.Preview(claimFor("a")); err != nil || shown.String() != "10.0.0.0/32" {
		t.Fatalf("previewed %s, %v", shown, err)
	}
	promise(unnamed, "10.0.0.0/32")
	promise(claimFor("b"), "10.0.0.1/32")

	other := claimFor("other")
	other.Want = netip.MustParsePrefix("10.0.0.0/32")
	if _, err := b.x.Choose(other, at("other")); err == nil {
		t.Error("somebody else chose what is promised")
	}
	redeemed := claimFor(long[:58] + "x7zq9") // the API server has given it a name
	redeemed.Want = other.Want
	if w, err := b.x.Choose(redeemed, at("named")); err != nil || w.CIDR != other.Want {
		t.Errorf("who it was promised to did not get it: %v", err)
	}
}

func TestManagersPreferLanesOfTheirOwn(t *testing.T) {
	t.Parallel()
	l := lanes{own: "b", seen: map[string]int64{}}
	for _, step := range []struct {
		seen     string
		now      int64
		lane, of int
	}{
		{"b", 1, 0, 1},
		{"c", 2, 0, 2},
		{"a", 3, 1, 3},
		{"b", lanesTime + 3, 1, 2},   // c has gone silent
		{"b", 2*lanesTime + 9, 0, 1}, // and so has a
	} {
		l.note(step.seen, step.now)
		if lane, of := l.position(step.now); lane != step.lane || of != step.of {
			t.Errorf("at %d: lane %d of %d, want %d of %d", step.now, lane, of, step.lane, step.of)
		}
	}
}

func TestNeighboursAreNumberedInTurn(t *testing.T) {
	t.Parallel()
	for _, neighbours := range [][2]string{
		{"10.0.0.4/32", "10.0.0.5/32"}, {"10.0.0.255/32", "10.0.1.0/32"}, {"10.0.0.0/24", "10.0.1.0/24"}, {"10.16.0.0/12", "10.32.0.0/12"},
		{"2001:db8::/64", "2001:db8:0:1::/64"}, {"2001:db8::fe/127", "2001:db8::100/127"}, {"0.0.0.0/1", "128.0.0.0/1"},
	} {
		first, second := ordinal(netip.MustParsePrefix(neighbours[0])), ordinal(netip.MustParsePrefix(neighbours[1]))
		if second != first+1 {
			t.Errorf("%s is %d, %s is %d", neighbours[0], first, neighbours[1], second)
		}
	}
}

// TestWhatIsRetained asks for the one address of a pool that is retained for IPAddressClaim "web".
func TestWhatIsRetained(t *testing.T) {
	t.Parallel()
	retained := func(a *ipamv1.IPAllocation) { released(a); a.Spec.State = ipamv1.RetainedState }
	for sentence, test := range map[string]struct {
		edit func(*Claim)
		gets bool
	}{
		"the next claim of the name gets it":     {func(c *Claim) { c.Ref.UID = "later" }, true},
		"also if it asks for it":                 {func(c *Claim) { c.Ref.UID, c.Want = "later", netip.MustParsePrefix("10.0.0.1/32") }, true},
		"another claim does not":                 {func(c *Claim) { c.Ref.Name = "db" }, false},
		"nor if it asks for it":                  {func(c *Claim) { c.Ref.Name, c.Want = "db", netip.MustParsePrefix("10.0.0.1/32") }, false},
		"nor a claim of the name of elsewhere":   {func(c *Claim) { c.Ref.Namespace = "elsewhere" }, false},
		"nor one of the name of another kind":    {func(c *Claim) { c.Ref.Kind = ipamv1.IPClaimKind }, false},
		"nor one of the name and another length": {func(c *Claim) { c.Ref.UID, c.Bits = "later", 31 }, false},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			b := newBook()
			b.serving(shapeConfig{entries: "10.0.0.1/32"})
			b.put(recordNamed("web", "10.0.0.1/32", retained))
			c := claimFor("web")
			test.edit(&c)
			if got, err := b.x.Preview(c); (err == nil) != test.gets {
				t.Errorf("got %s, %v", got, err)
			}
		})
	}
}

// TestWhatIsRetainedButNotGivenAnyMore: a claim gets something else then, unless it asks.
func TestWhatIsRetainedButNotGivenAnyMore(t *testing.T) {
	t.Parallel()
	for sentence, shape := range map[string]shapeConfig{
		"excluded": {excluded: "10.0.0.1"},
		"gateway":  {gateway: "10.0.0.1"},
		"kept":     {kept: "10.0.0.1/32"},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			b := newBook()
			shape.entries, shape.reserved = "10.0.0.0/30", pooltree.AllocateReserved
			b.serving(shape)
			b.put(recordNamed("web", "10.0.0.1/32", released, func(a *ipamv1.IPAllocation) { a.Spec.State = ipamv1.RetainedState }))
			c := claimFor("web")
			c.Ref.UID = "later"
			if got, err := b.x.Preview(c); err != nil || got != netip.MustParsePrefix("10.0.0.0/32") {
				t.Errorf("got %s, %v", got, err)
			}
			c.Want = netip.MustParsePrefix("10.0.0.1/32")
			if got, err := b.x.Preview(c); !errors.Is(err, ErrRefused) {
				t.Errorf("got what it asked for, %s, %v", got, err)
			}
		})
	}
}
