// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package book

import (
	"errors"
	"fmt"
	"net/netip"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
)

// tryOf is the n-th request for an IPClaim of the name: each has a UID of its own.
func tryOf(name string, n int) Claim {
	c := claimFor(name)
	c.Ref.APIGroup, c.Ref.Kind, c.Ref.UID = ipamv1.GroupVersion.Group, ipamv1.IPClaimKind, fmt.Sprintf("try %d of %s", n, name)
	c.Revision = "1"
	return c
}

// recordOfTry is what the validating webhook records for it, before the object is stored.
func recordOfTry(name string, n int, cidr string, edits ...edit) *ipamv1.IPAllocation {
	a := recordNamed(fmt.Sprintf("%s-%d", name, n), cidr)
	a.Spec.ClaimRef, a.OwnerReferences = tryOf(name, n).Ref, nil
	a.UID = types.UID(fmt.Sprintf("record %d of %s", n, name))
	for _, e := range edits {
		e(a)
	}
	return a
}

func bound(a *ipamv1.IPAllocation) { a.OwnerReferences = recordNamed(a.Name, "").OwnerReferences }

// thirty is a pool of 14 usable addresses.
var thirty = shapeConfig{entries: "10.0.0.0/28", reserved: pooltree.AllocateReserved}

func (b *book) wantPromise(t *testing.T, c Claim, want string) {
	t.Helper()
	if got, err := b.promise(c); err != nil || got.String() != want {
		t.Errorf("%s was promised %s, %v, want %s", c.Ref.UID, got, err, want)
	}
}

func TestARefusedCreateThatIsRepeatedTakesOnePrefix(t *testing.T) {
	t.Parallel()
	for name, strategy := range strategies {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			b := newBook()
			b.serving(thirty.by(strategy))
			first, err := b.promise(tryOf("web", 0))
			if err != nil {
				t.Fatal(err)
			}
			for n := range 40 {
				c := tryOf("web", n)
				b.wantPromise(t, c, first.String())
				c.Want = first
				w, err := b.x.Choose(c, at(fmt.Sprint("web-", n)))
				if err != nil {
					t.Fatalf("try %d could not ask for what it was promised: %v", n, err)
				}
				if v := b.judged(t, recordOfTry("web", n, first.String())); v.Outcome != Won {
					t.Fatalf("try %d was kept out by %s", n, v.By)
				}
				b.x.Unmark(w)
			}
			other := tryOf("other", 0)
			if got, err := b.promise(other); err != nil || got == first {
				t.Errorf("another name was promised %s, %v", got, err)
			}
			longer := tryOf("web", 99)
			longer.Bits = 30
			if got, err := b.promise(longer); err != nil || got.Overlaps(first) {
				t.Errorf("a request of another length was promised %s, %v", got, err)
			}
		})
	}
}

func TestTriesOfOneNameCountAsOneAddress(t *testing.T) {
	t.Parallel()
	b := newBook()
	p := b.serving(thirty)
	tries := make([]*ipamv1.IPAllocation, 0, 26)
	for n := range cap(tries) {
		tries = append(tries, recordOfTry("web", n, "10.0.0.5/32"))
		b.put(tries[n])
	}
	counts := func(allocated, available string, claims int32) {
		t.Helper()
		got, _ := b.x.Capacity(poolRef("p"))
		if got.Allocated.String() != allocated || got.Available.String() != available || got.Claims != claims {
			t.Errorf("got %+v, want %s allocated, %s available, %d claims", sumsOf(got), allocated, available, claims)
		}
	}
	counts("1", "15", 1)
	b.x.SetPool(p)
	counts("1", "15", 1)
	bound(tries[7])
	b.put(tries[7])
	counts("1", "15", 1)
	for n, try := range tries {
		if n != 7 {
			b.cut(try)
		}
	}
	counts("1", "15", 1)
	b.cut(tries[7])
	counts("0", "16", 0)
}

// Two requests of one name at the same moment are proposed the same: none is recorded yet.
func TestTwoTriesAtOnceAreProposedTheSame(t *testing.T) {
	t.Parallel()
	b := newBook()
	b.serving(thirty)
	b.wantPromise(t, tryOf("web", 0), "10.0.0.0/32")
	b.wantPromise(t, tryOf("web", 1), "10.0.0.0/32")
	for n := range 2 {
		c := tryOf("web", n)
		c.Want = netip.MustParsePrefix("10.0.0.0/32")
		if _, err := b.x.Choose(c, at(fmt.Sprint("web-", n))); err != nil {
			t.Errorf("try %d: %v", n, err)
		}
	}
	unnamed := tryOf("", 0)
	unnamed.GenerateName = "web"
	b.wantPromise(t, unnamed, "10.0.0.1/32")
}

// What the pool does not give any more is not asked for again.
func TestATryIsNotRepeatedWhereThePoolHasChanged(t *testing.T) {
	t.Parallel()
	b := newBook()
	b.serving(thirty)
	b.put(recordOfTry("web", 0, "10.0.0.0/32"))
	excluded := thirty
	excluded.excluded = "10.0.0.0"
	b.x.SetPool(poolNamed("p", excluded))
	b.wantPromise(t, tryOf("web", 1), "10.0.0.1/32")
}

// Hazard "each record has a grace of its own": the API server may store the second try once the
// first is gone.
func TestATryKeepsOthersOutThoughItsSiblingWasStoredAndIsGone(t *testing.T) {
	t.Parallel()
	b := newBook()
	b.serving(thirty)
	stored := b.put(recordOfTry("web", 0, "10.0.0.0/32"))
	second := b.put(recordOfTry("web", 1, "10.0.0.0/32"))
	bound(stored)
	b.put(stored)
	b.cut(stored)
	l := b.x
	if orphans := l.About(second.Spec.ClaimRef).Orphans(); len(orphans) != 0 {
		t.Errorf("repair may drop %v, whose object the API server may still store", orphans)
	}
	stranger := tryOf("stranger", 0)
	stranger.Want = netip.MustParsePrefix("10.0.0.0/32")
	if _, err := b.promise(stranger); !errors.Is(err, ErrTaken) {
		t.Errorf("another claim asked for it: %v", err)
	}
	if v := b.judged(t, recordOfTry("stranger", 0, "10.0.0.0/32")); v.Outcome != Lost {
		t.Errorf("another claim's record was judged %v", v.Outcome)
	}
	b.now.SetTime(b.now.Now().Add(time.Duration(b.x.ages.grace+2) * time.Second))
	if orphans := l.About(second.Spec.ClaimRef).Orphans(); len(orphans) != 1 {
		t.Errorf("after the grace there are %d to give up, want 1", len(orphans))
	}
}

// A try that was perhaps never stored is no reason to skip the cooldown of one that was.
func TestWhatWasStoredCoolsBesideATryThatWasNot(t *testing.T) {
	t.Parallel()
	b := newBook()
	b.serving(thirty)
	stored := b.put(recordOfTry("web", 0, "10.0.0.0/32", bound))
	b.put(recordOfTry("web", 1, "10.0.0.0/32"))
	l := b.x
	mine := func(uid string) Holding {
		for _, h := range HoldingsOf(l.RecordsFor(stored.Spec.ClaimRef)) {
			if h.Claim.UID == uid {
				return h
			}
		}
		t.Fatalf("no record of %s", uid)
		return Holding{}
	}
	if l.About(stored.Spec.ClaimRef).IsHeldOn(mine(stored.Spec.ClaimRef.UID)) {
		t.Error("the record of the stored object would go without cooling, held on by one whose object was never stored")
	}
	if h := mine(tryOf("web", 1).Ref.UID); !l.About(h.Claim).IsHeldOn(h) || !l.About(h.Claim).IsUnstored(h) {
		t.Error("the try that was never stored would cool")
	}
}

func TestUnstoredAreCountedByPoolAndNamespace(t *testing.T) {
	t.Parallel()
	b := newBook()
	b.serving(thirty)
	l := b.x
	want := func(when string, n int) {
		t.Helper()
		if own, all := l.Unstored(poolRef("p"), "ns"); own != n || all != n {
			t.Errorf("%s: %d of %d unstored, want %d", when, own, all, n)
		}
	}
	records := make([]*ipamv1.IPAllocation, 0, 6)
	for n := range 6 {
		records = append(records, b.put(recordOfTry(fmt.Sprint("web", n), 0, fmt.Sprintf("10.0.0.%d/32", n))))
	}
	b.put(recordNamed("cluster-api", "10.0.0.9/32"))
	want("six tries, and a claim of Cluster API's", 6)
	if own, all := l.Unstored(poolRef("p"), "elsewhere"); own != 0 || all != 6 {
		t.Errorf("another namespace has %d of %d", own, all)
	}
	if own, all := l.Unstored(poolRef("q"), "ns"); own != 0 || all != 0 {
		t.Errorf("another pool has %d of %d", own, all)
	}
	bound(records[0])
	b.put(records[0])
	want("one is bound", 5)
	l.Stored(records[1].Spec.ClaimRef)
	want("one was seen stored", 4)
	stale := records[2].Spec.ClaimRef
	stale.UID = "another"
	l.Stored(stale)
	want("another of its name was seen stored", 4)
	b.cut(records[3])
	want("one is gone", 3)
	if in, ok := l.NextOverdue(); !ok || in != time.Duration(b.x.ages.grace+1)*time.Second {
		t.Errorf("the first is overdue in %s, %v", in, ok)
	}
}

// TestTriesAtOnceAreToldTheSamePrefix: the API server stores one of them. What another one had got would be nobody's; of a block that goes to a
// member it would be held.
func TestTriesAtOnceAreToldTheSamePrefix(t *testing.T) {
	t.Parallel()
	b := newBook()
	b.serving(thirty)
	b.wantPromise(t, tryOf("web", 1), "10.0.0.0/32")
	first := tryOf("web", 1)
	first.Want = netip.MustParsePrefix("10.0.0.0/32")
	mark, err := b.x.Choose(first, at("web-1"))
	if err != nil {
		t.Fatal(err)
	}
	b.wantPromise(t, tryOf("web", 2), "10.0.0.0/32") // the record of the first is on its way
	b.put(recordOfTry("web", 1, "10.0.0.0/32"))
	b.x.Unmark(mark)
	b.wantPromise(t, tryOf("web", 3), "10.0.0.0/32")
	b.wantPromise(t, tryOf("db", 1), "10.0.0.1/32")
}
