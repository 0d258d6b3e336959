// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package book

import (
	"errors"
	"fmt"
	"net/netip"
	"testing"
	"time"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/records"
)

var four = shapeConfig{entries: "10.0.0.0/30", reserved: pooltree.AllocateReserved}

func TestADismissedMarkIsLifted(t *testing.T) {
	t.Parallel()
	b := newBook()
	b.serving(four)
	choose := func(name string) *records.Record {
		t.Helper()
		w, err := b.x.Choose(claimFor(name), at(name))
		if err != nil {
			t.Fatal(err)
		}
		return w
	}
	first, second := choose("a"), choose("b")
	if first.CIDR == second.CIDR {
		t.Fatalf("both chose %s", first.CIDR)
	}
	b.x.Unmark(first)
	if freed, _ := b.forget(); len(freed) > 0 { // they would wake each other for as long as nothing can be stored
		t.Errorf("somebody is woken because a choice came to nothing: %v", freed)
	}
	if again := choose("c"); again.CIDR != first.CIDR {
		t.Errorf("chose %s, want %s", again.CIDR, first.CIDR)
	}

	b.put(recordNamed("b", second.CIDR.String()))
	b.forget()
	b.x.Unmark(second)
	if freed, _ := b.forget(); len(freed) > 0 {
		t.Error("told of room where a record has come of the choice")
	}
	if next := choose("d"); next.CIDR == second.CIDR {
		t.Errorf("chose %s, which is recorded", next.CIDR)
	}
}

// TestExhaustedIsSaidOnlyOfWhatIsCertain asks a full pool, read at a revision, in every state of
// knowledge and with every strategy.
func TestExhaustedIsSaidOnlyOfWhatIsCertain(t *testing.T) {
	t.Parallel()
	const older, newer = "50", "5000"
	for sentence, test := range map[string]struct {
		revision string
		but      func(*book)
		want     error
	}{
		"current":                              {revision: older, want: ErrExhausted},
		"older than the request":               {revision: newer, want: ErrUnproved},
		"of a request without a revision":      {want: ErrUnproved},
		"with a record of the claim's own":     {revision: older, but: func(b *book) { b.put(recordNamed("asks", "10.9.0.1/32", fromPool("q"))) }, want: ErrBusy},
		"with one that somebody deletes":       {revision: older, but: func(b *book) { b.put(recordNamed("asks", "10.9.0.1/32", fromPool("q"), terminating)) }, want: ErrExhausted},
		"with a choice that may yet fail":      {revision: older, but: func(b *book) { b.chooseLast("p") }, want: ErrBusy},
		"with such a choice in another pool":   {revision: older, but: func(b *book) { b.chooseLast("q") }, want: ErrExhausted},
		"with another manager's new record":    {revision: older, but: func(b *book) { b.put(recordNamed("d", "10.0.0.3/32", by("other"))) }, want: ErrBusy},
		"with one in another pool":             {revision: older, but: func(b *book) { b.put(recordNamed("e", "10.9.0.3/32", by("other"), fromPool("q"))) }, want: ErrExhausted},
		"with another manager's record of old": {revision: older, but: func(b *book) { b.put(recordNamed("d", "10.0.0.3/32", by("other"))); b.step(takeoverDelay) }, want: ErrExhausted},
		"with a record taken over": {revision: older, but: func(b *book) {
			b.put(recordNamed("d", "10.0.0.3/32", by("other")))
			b.step(takeoverDelay)
			b.put(recordNamed("d", "10.0.0.3/32", by("third")))
		}, want: ErrBusy},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			for name, strategy := range strategies {
				b := newBook()
				b.serving(four.by(strategy))
				for i := range 4 {
					b.put(recordNamed(fmt.Sprint("c", i), fmt.Sprintf("10.0.0.%d/32", i)))
				}
				if test.but != nil {
					test.but(b)
				}
				c := claimFor("asks")
				c.Revision = test.revision
				if _, err := b.x.Choose(c, at("asks")); !errors.Is(err, test.want) {
					t.Errorf("%s chose with %v, want %v", name, err, test.want)
				}
			}
		})
	}
}

// TestAChoiceOutlivesItsPool: what was being chosen when the pool was dropped may yet come to
// nothing when it is back.
func TestAChoiceOutlivesItsPool(t *testing.T) {
	t.Parallel()
	b := newBook()
	p := b.serving(four)
	b.chooseLast("p")
	b.x.DropPool(p.Ref)
	b.x.SetPool(p)
	for i := range 4 {
		b.put(recordNamed(fmt.Sprint("c", i), fmt.Sprintf("10.0.0.%d/32", i)))
	}
	c := claimFor("asks")
	c.Revision = "50"
	if _, err := b.x.Choose(c, at("asks")); !errors.Is(err, ErrBusy) {
		t.Errorf("chose with %v", err)
	}
}

// chooseLast has another claim of pool p or q choose an address that nobody has.
func (b *book) chooseLast(pool string) {
	c := claimFor("chooses")
	c.Pool = poolRef(pool)
	b.x.marks.mark("default", b.x.pools.of(c.Pool), netip.MustParsePrefix("10.0.0.4/32"), c, at("chooses"))
}

func (b *book) step(d time.Duration) { b.now.SetTime(b.now.Now().Add(d)) }

// TestAnAskedPrefix asks for one prefix of a pool with the address .5 excluded, .2 recorded and .3
// being chosen.
func TestAnAskedPrefix(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct {
		want    string
		purpose records.Purpose
		err     error
	}{
		"free":                             {want: "10.0.0.7/32"},
		"recorded":                         {want: "10.0.0.2/32", err: ErrTaken},
		"around what is recorded":          {want: "10.0.0.2/31", err: ErrTaken},
		"being chosen":                     {want: "10.0.0.3/32", err: ErrBusy},
		"excluded":                         {want: "10.0.0.5/32", err: ErrRefused},
		"around what is excluded":          {want: "10.0.0.4/31", err: ErrRefused},
		"excluded, and brought along":      {want: "10.0.0.5/32", purpose: records.ForAdopted},
		"recorded, and brought along":      {want: "10.0.0.2/32", purpose: records.ForAdopted, err: ErrTaken},
		"outside":                          {want: "10.0.9.1/32", err: ErrRefused},
		"outside, and brought along":       {want: "10.0.9.1/32", purpose: records.ForAdopted, err: ErrRefused},
		"the gateway":                      {want: "10.0.0.14/32", err: ErrRefused},
		"a reserved address":               {want: "10.0.0.0/32", err: ErrRefused},
		"a reserved one, brought along":    {want: "10.0.0.0/32", purpose: records.ForAdopted},
		"of the other family":              {want: "2001:db8::1/128", err: ErrRefused},
		"the whole pool, with its gateway": {want: "10.0.0.0/28", purpose: records.ForAdopted, err: ErrRefused},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			b := newBook()
			b.serving(shapeConfig{entries: "10.0.0.0/28", excluded: "10.0.0.5", gateway: "10.0.0.14"})
			b.put(recordNamed("taken", "10.0.0.2/32"))
			c := claimFor("chooser")
			c.Want = netip.MustParsePrefix("10.0.0.3/32")
			if _, err := b.x.Choose(c, at("chooser")); err != nil {
				t.Fatal(err)
			}
			c = claimFor("a")
			c.Want = netip.MustParsePrefix(test.want)
			if c.Purpose = records.ForClaim; test.purpose != "" {
				c.Purpose = test.purpose
			}
			w, err := b.x.Choose(c, at("a"))
			if !errors.Is(err, test.err) {
				t.Fatalf("error %v, want %v", err, test.err)
			}
			if err == nil && w.CIDR != c.Want {
				t.Errorf("chose %s", w.CIDR)
			}
		})
	}
}

// TestAGatewayMayStay: in a pool that says so, who arrived with a gateway keeps it, which is told to
// be outside its policy, and nobody else gets it.
func TestAGatewayMayStay(t *testing.T) {
	t.Parallel()
	for _, stays := range []bool{true, false} {
		b := newBook()
		b.serving(shapeConfig{entries: "10.0.0.0/28", gateway: "10.0.0.14", keepsGateways: stays})
		c := claimFor("a")
		c.Want = netip.MustParsePrefix("10.0.0.14/32")
		if w, err := b.x.Choose(c, at("a")); !errors.Is(err, ErrRefused) {
			t.Errorf("stays %t: a claim got %v, error %v", stays, w, err)
		}
		c.Purpose = records.ForAdopted
		w, err := b.x.Choose(c, at("a"))
		if stays != (err == nil) || !stays && !errors.Is(err, ErrRefused) {
			t.Fatalf("stays %t: who arrived with it got %v, error %v", stays, w, err)
		}
		b.put(recordNamed("a", "10.0.0.14/32", adoptedRecord))
		var refused *RefusedError
		if err := b.x.About(c.Ref).OutsidePolicy(); !errors.As(err, &refused) || refused.Reason != "is the pool's gateway or contains it" {
			t.Errorf("stays %t: outside its policy: %v", stays, err)
		}
		if got, _ := b.x.Capacity(poolRef("p")); got.Available.String() != "14" || got.Excluded.String() != "2" {
			t.Errorf("stays %t: %s available, %s excluded", stays, got.Available, got.Excluded)
		}
	}
}

// TestBoundsAreForAskedPrefixes asks for prefixes of a pool that hands out nothing longer than a
// /30.
func TestBoundsAreForAskedPrefixes(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct {
		want    string
		purpose records.Purpose
		err     string
	}{
		"of that length":             {want: "10.0.0.4/30", purpose: records.ForClaim},
		"shorter":                    {want: "10.0.0.8/29", purpose: records.ForClaim},
		"longer":                     {want: "10.0.0.5/32", purpose: records.ForClaim, err: "10.0.0.5/32: the longest prefix that the pool allows is /30"},
		"longer, and brought along":  {want: "10.0.0.5/32", purpose: records.ForAdopted},
		"longer, of another network": {want: "2001:db8::1/128", purpose: records.ForClaim, err: "2001:db8::1/128: is not in the pool"},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			b := newBook()
			b.serving(shapeConfig{entries: "10.0.0.0/28", longestBits: 30})
			c := claimFor("a")
			c.Want, c.Purpose = netip.MustParsePrefix(test.want), test.purpose
			_, err := b.x.Choose(c, at("a"))
			if errors.Is(err, ErrRefused) != (test.err != "") || (err != nil && err.Error() != test.err) {
				t.Errorf("error %v, want %q", err, test.err)
			}
		})
	}
}

// TestWhatServes registers a pool of two blocks and looks when it hands out: only while both are
// confirmed as its own.
func TestWhatServes(t *testing.T) {
	t.Parallel()
	two := poolNamed("p", shapeConfig{entries: "10.0.0.0/30 10.0.1.0/30", reserved: pooltree.AllocateReserved})
	const first, second = "10.0.0.0/30", "10.0.1.0/30"
	for sentence, test := range map[string]struct {
		// shows is what the watch shows besides the second block, confirmed.
		shows func(b *book)
		want  bool
	}{
		"nothing without records":     {shows: func(*book) {}},
		"not a block only judged":     {shows: func(b *book) { b.put(root("p", first)) }},
		"both confirmed":              {shows: func(b *book) { b.put(root("p", first, confirmed)) }, want: true},
		"both, one of them later":     {shows: func(b *book) { b.put(root("p", first)); b.put(root("p", first, confirmed)) }, want: true},
		"not one of another UID":      {shows: func(b *book) { b.put(root("p", first, confirmed, ofOldPool)) }},
		"not one of another pool":     {shows: func(b *book) { b.put(root("q", first, confirmed)) }},
		"not one in another space":    {shows: func(b *book) { b.put(root("p", first, confirmed, elsewhere)) }},
		"not half a block":            {shows: func(b *book) { b.put(root("p", "10.0.0.0/31", confirmed)) }},
		"not twice the block":         {shows: func(b *book) { b.put(root("p", "10.0.0.0/29", confirmed)) }},
		"not once one is gone":        {shows: func(b *book) { a := b.put(root("p", first, confirmed)); b.cut(a) }},
		"not once a list lacks it":    {shows: func(b *book) { b.put(root("p", first, confirmed)); b.list() }},
		"as a list confirms":          {shows: func(b *book) { b.list(root("p", first, confirmed), root("p", second, confirmed)) }, want: true},
		"while somebody deletes them": {shows: func(b *book) { b.put(root("p", first, confirmed, terminating)) }, want: true},
		"beside one of an earlier pool": {shows: func(b *book) {
			b.put(root("p", first, confirmed, ofOldPool, func(a *ipamv1.IPAllocation) { a.Name = "old" }))
			b.put(root("p", first, confirmed))
		}, want: true},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			early, late := newBook(), newBook()
			early.x.SetPool(two)
			for _, b := range []*book{early, late} {
				b.put(root("p", second, confirmed))
				test.shows(b)
			}
			late.x.SetPool(two)
			for when, b := range map[string]*book{"registered before": early, "registered after": late} {
				w, err := b.x.Choose(claimFor("a"), at("a"))
				if (err == nil) != test.want || (err != nil && !errors.Is(err, ErrNotReady)) {
					t.Errorf("%s: %v", when, err)
				}
				if err == nil && w.CIDR.String() != "10.0.0.0/32" {
					t.Errorf("%s: chose %s", when, w.CIDR)
				}
			}
		})
	}
}

func ofOldPool(a *ipamv1.IPAllocation) { a.Spec.ClaimRef.UID = "an earlier pool" }

func TestAnUnknownPoolIsNotReady(t *testing.T) {
	t.Parallel()
	b := newBook()
	if _, err := b.x.Choose(claimFor("a"), at("a")); !errors.Is(err, ErrNotReady) {
		t.Error(err)
	}
	if _, ok := b.x.Capacity(poolRef("p")); ok {
		t.Error("it has a capacity")
	}
	b.serving(four)
	b.x.DropPool(poolRef("p"))
	if _, err := b.x.Choose(claimFor("a"), at("a")); !errors.Is(err, ErrNotReady) {
		t.Error(err)
	}
}

// TestRecordsOfADroppedPoolStayTaken: a pool that is forgotten and comes back finds what it has
// handed out.
func TestRecordsOfADroppedPoolStayTaken(t *testing.T) {
	t.Parallel()
	b := newBook()
	p := b.serving(four)
	b.put(recordNamed("a", "10.0.0.0/32"))
	b.x.DropPool(p.Ref)
	b.put(recordNamed("b", "10.0.0.1/32"))
	b.x.SetPool(p)
	w, err := b.x.Choose(claimFor("c"), at("c"))
	if err != nil || w.CIDR.String() != "10.0.0.2/32" {
		t.Fatalf("chose %v, error %v", w, err)
	}
	if c, _ := b.x.Capacity(p.Ref); c.Available.String() != "2" || c.Claims != 2 {
		t.Errorf("%s available, %d claims", c.Available, c.Claims)
	}
}

// TestABlockThatSomebodyHolds asks for the block 10.0.0.0/24 of pool p.
func TestABlockThatSomebodyHolds(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct {
		before *ipamv1.IPAllocation
		by     string
	}{
		"nobody":                       {},
		"a claim of the pool itself":   {before: recordNamed("a", "10.0.0.1/32")},
		"an earlier pool of that name": {before: root("p", "10.0.0.0/16", ofOldPool)},
		"another pool, around it":      {before: root("q", "10.0.0.0/16"), by: "IPPool ns/q"},
		"another pool, inside":         {before: root("q", "10.0.0.8/32"), by: "IPPool ns/q"},
		"another pool's claim":         {before: recordNamed("a", "10.0.0.1/32", fromPool("q")), by: "IPAddressClaim ns/a"},
		"another pool elsewhere":       {before: root("q", "10.0.1.0/24")},
		"another pool's other space":   {before: root("q", "10.0.0.0/24", elsewhere)},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			b := newBook()
			if test.before != nil {
				b.put(test.before)
			}
			block := netip.MustParsePrefix("10.0.0.0/24")
			p := poolNamed("p", shapeConfig{entries: block.String()})
			c := Claim{Ref: ClaimOf(p.Ref, string(p.UID)), Pool: p.Ref, Want: block, Purpose: records.ForRoot}
			_, err := b.x.ChooseBlock(c, p.Space, at("block"))
			var taken *TakenError
			if errors.As(err, &taken) != (test.by != "") || (taken != nil && taken.By.String() != test.by) {
				t.Errorf("error %v, want taken by %q", err, test.by)
			}
		})
	}
}

// TestNotifications: which pools are named when something happens in pool p.
func TestNotifications(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct {
		happens        func(b *book)
		freed, changed bool
	}{
		"a claim's record comes":      {happens: func(b *book) { b.put(recordNamed("b", "10.0.0.2/32")) }, changed: true},
		"it is changed":               {happens: func(b *book) { b.put(recordNamed("a", "10.0.0.1/32", terminating)) }, changed: true},
		"it goes":                     {happens: func(b *book) { b.cut(recordNamed("a", "10.0.0.1/32")) }, freed: true, changed: true},
		"a list lacks it":             {happens: func(b *book) { b.list(root("p", "10.0.0.0/30", confirmed)) }, freed: true, changed: true},
		"an unknown record goes":      {happens: func(b *book) { b.cut(recordNamed("x", "10.0.0.1/32")) }},
		"its shape once more":         {happens: func(b *book) { b.x.SetPool(*b.x.pools.of(poolRef("p")).pool) }},
		"a new shape":                 {happens: func(b *book) { b.x.SetPool(poolNamed("p", four)) }, freed: true},
		"the pool's block is touched": {happens: func(b *book) { b.put(root("p", "10.0.0.0/30", confirmed, createdAt("101"))) }},
		"the pool's block goes":       {happens: func(b *book) { b.cut(root("p", "10.0.0.0/30")) }, freed: true, changed: true},
		"something in another pool":   {happens: func(b *book) { b.put(recordNamed("b", "10.9.0.1/32", fromPool("q"))) }},
		"a bookmark":                  {happens: func(b *book) { _ = b.x.Advance("900") }},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			b := newBook()
			b.serving(four)
			b.put(recordNamed("a", "10.0.0.1/32"))
			b.forget()
			test.happens(b)
			freed, changed := b.forget()
			if nameP(freed) != test.freed || nameP(changed) != test.changed {
				t.Errorf("freed %v, changed %v", freed, changed)
			}
		})
	}
}

func TestABlockConfirmedWakesThePool(t *testing.T) {
	t.Parallel()
	b := newBook()
	b.x.SetPool(poolNamed("p", four))
	b.put(root("p", "10.0.0.0/30"))
	b.forget()
	b.put(root("p", "10.0.0.0/30", confirmed))
	if freed, _ := b.forget(); !nameP(freed) {
		t.Error("claims that wait for the pool are not told that it serves")
	}
}

// TestExclusionsAreTheServingPools: what a pool that does not serve excludes, another may hand out.
func TestExclusionsAreTheServingPools(t *testing.T) {
	t.Parallel()
	b := newBook()
	b.serving(four)
	lowest := func(when, want string) {
		t.Helper()
		w, err := b.x.Choose(claimFor("a"), at("a"))
		if err != nil || w.CIDR.String() != want {
			t.Fatalf("%s: chose %v, error %v, want %s", when, w, err, want)
		}
		b.x.Unmark(w)
	}
	b.x.SetPool(poolNamed("q", shapeConfig{entries: "10.0.0.0/24", excluded: "10.0.0.0/24"}))
	lowest("another pool claims and excludes the same block", "10.0.0.0/32")
	b.x.SetPool(poolNamed("p", shapeConfig{entries: four.entries, excluded: "10.0.0.0", reserved: four.reserved}))
	lowest("the pool excludes its first address", "10.0.0.1/32")
	b.x.DropPool(poolRef("q"))
	lowest("the other pool is gone", "10.0.0.1/32")
	b.x.SetPool(poolNamed("p", four))
	lowest("the pool excludes nothing any more", "10.0.0.0/32")
}
