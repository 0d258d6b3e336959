// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"testing"
	"time"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/records"

	"k8s.io/apimachinery/pkg/types"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// TestWhatAWaiterIsTold shows a waiter what the watch may show between a write that was answered with revision 110 and its
// own delivery. Open means that it goes on waiting.
func TestWhatAWaiterIsTold(t *testing.T) {
	t.Parallel()
	const open = outcome(255)
	mine := func(edits ...edit) *ipamv1.IPAllocation {
		a := recordNamed("a", "10.0.0.1/32", edits...)
		a.ResourceVersion = "110"
		return a
	}
	later := func(a *ipamv1.IPAllocation) *ipamv1.IPAllocation {
		a.ResourceVersion = "111"
		return a
	}
	for sentence, test := range map[string]struct {
		shows func(b *book)
		want  outcome
	}{
		"nothing yet": {
			shows: func(*book) {},
			want:  open,
		},
		"exactly that version": {
			shows: func(b *book) { b.show(mine()) },
			want:  won,
		},
		"that version, and a later one before it could look": {
			shows: func(b *book) { b.show(mine()); b.show(later(mine(createdAt("110")))) },
			want:  won,
		},
		"that version, and the deletion before it could look": {
			shows: func(b *book) { b.show(mine()); b.rev = 111; b.cut(mine()) },
			want:  won,
		},
		"an earlier version of the record": {
			shows: func(b *book) { b.put(mine()) },
			want:  open,
		},
		"only a later version": {
			shows: func(b *book) { b.show(later(mine(createdAt("110")))) },
			want:  superseded,
		},
		"only its deletion": {
			shows: func(b *book) { b.rev = 111; b.cut(mine()) },
			want:  superseded,
		},
		"the deletion of an earlier record of the name": {
			shows: func(b *book) { b.put(mine(withUID("old"))); b.cut(mine(withUID("old"))) },
			want:  open,
		},
		"a later record of the same name": {
			shows: func(b *book) { b.show(later(mine(withUID("other")))) },
			want:  superseded,
		},
		"another record at the very revision of the name": {
			shows: func(b *book) { b.show(mine(withUID("other"))) },
			want:  superseded,
		},
		"an old list without the record": {
			shows: func(b *book) { b.list() },
			want:  open,
		},
		"a list without the record, not older than the write": {
			shows: func(b *book) { b.rev = 109; b.list() },
			want:  superseded,
		},
		"a list with exactly that version": {
			shows: func(b *book) { b.rev = 115; b.list(mine()) },
			want:  won,
		},
		"a list with that version and an older record that overlaps": {
			shows: func(b *book) {
				b.rev = 115
				b.list(mine(), recordNamed("b", "10.0.0.0/31", createdAt("105")))
			},
			want: lost,
		},
		"a list with a later version": {
			shows: func(b *book) { b.rev = 115; b.list(later(mine(createdAt("110")))) },
			want:  superseded,
		},
		"a list in which the name belongs to another record": {
			shows: func(b *book) { b.rev = 115; b.list(later(mine(withUID("other")))) },
			want:  superseded,
		},
		"a bookmark": {
			shows: func(b *book) { _ = b.x.Bookmark("200") },
			want:  open,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			b := newBook()
			w := b.x.expect(at("a"))
			test.shows(b)
			v, done, err := b.x.verdictOn(w, records.IdentityOf(mine()))
			if err != nil {
				t.Fatal(err)
			}
			got := v.outcome
			if !done {
				got = open
			}
			if got != test.want {
				t.Errorf("outcome %d, want %d", got, test.want)
			}
		})
	}
}

func TestAwaitEnds(t *testing.T) {
	t.Parallel()
	id := records.IdentityOf(recordNamed("a", "10.0.0.1/32"))
	id.Version = "101"
	for sentence, test := range map[string]struct {
		end  func(b *book, cancel context.CancelFunc)
		want string
	}{
		"with the verdict": {end: func(b *book, _ context.CancelFunc) { b.put(recordNamed("a", "10.0.0.1/32")) }},
		"with its context": {end: func(_ *book, cancel context.CancelFunc) { cancel() }, want: "context canceled"},
		"when the index breaks": {
			end:  func(b *book, _ context.CancelFunc) { _ = b.x.Bookmark("102"); _ = b.x.Bookmark("101") },
			want: "went back from 102 to 101",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			b := newBook()
			ctx, cancel := context.WithCancel(t.Context())
			defer cancel()
			w := b.x.expect(at("a"))
			time.AfterFunc(time.Millisecond, func() { test.end(b, cancel) })
			_, err := b.x.await(ctx, w, id)
			if (err == nil) != (test.want == "") || (err != nil && !strings.Contains(err.Error(), test.want)) {
				t.Errorf("error %v, want %q", err, test.want)
			}
		})
	}
}

func TestWonIsRememberedWhileTheRecordExists(t *testing.T) {
	t.Parallel()
	b := newBook()
	a := recordNamed("a", "10.0.0.1/32")
	b.judged(t, a)
	r, _ := b.x.recordOf(claimFor("a"), "")
	if r == nil || !r.Won {
		t.Fatalf("found %v", r)
	}
	b.put(a)
	b.list(a)
	if r, _ := b.x.recordOf(claimFor("a"), ""); !r.Won {
		t.Error("forgotten when the record was listed again")
	}
	b.put(recordNamed("a", "10.0.0.1/32", withUID("2")))
	if r, _ := b.x.recordOf(claimFor("a"), ""); r.Won {
		t.Error("another record of that name counts as won")
	}
}

// TestWhatTheIndexHolds compares the index with what the watch has shown.
func TestWhatTheIndexHolds(t *testing.T) {
	t.Parallel()
	old := func() *ipamv1.IPAllocation { return recordNamed("a", "10.0.0.1/32") }
	other := func() *ipamv1.IPAllocation { return recordNamed("a", "10.0.0.9/32", withUID("2")) }
	for sentence, test := range map[string]struct {
		shows func(b *book)
		want  string
	}{
		"what was added":                      {func(b *book) { b.put(old()) }, "10.0.0.1/32"},
		"nothing after the deletion":          {func(b *book) { b.put(old()); b.cut(old()) }, ""},
		"one record of a name, the last":      {func(b *book) { b.put(old()); b.put(other()) }, "10.0.0.9/32"},
		"not the deletion of one before it":   {func(b *book) { b.put(old()); b.put(other()); b.cut(old()) }, "10.0.0.9/32"},
		"what a list says of the name":        {func(b *book) { b.put(old()); b.list(other()) }, "10.0.0.9/32"},
		"nothing that a list does not name":   {func(b *book) { b.put(old()); b.list() }, ""},
		"a record once, however often listed": {func(b *book) { b.list(old()); b.list(old()); b.put(old()) }, "10.0.0.1/32"},
		"not what is refused after breaking":  {func(b *book) { _ = b.x.Bookmark("900"); b.put(old()) }, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			b := newBook()
			test.shows(b)
			s := b.x.spaceOf("default")
			var found []string
			for p := range s.taken.Overlapping(netip.MustParsePrefix("10.0.0.0/8")) {
				found = append(found, p.String())
			}
			if got := strings.Join(found, " "); got != test.want {
				t.Errorf("the space holds %q, want %q", got, test.want)
			}
			named := make([]string, 0, 1)
			for _, r := range b.x.recordsFor(old().Spec.ClaimRef) {
				named = append(named, r.CIDR.String())
			}
			if got := strings.Join(named, " "); got != test.want {
				t.Errorf("the claim has %q, want %q", got, test.want)
			}
			if got := b.x.records.Len(); (got == 1) != (test.want != "") {
				t.Errorf("%d records", got)
			}
		})
	}
}

func TestSyncedAfterTheFirstList(t *testing.T) {
	t.Parallel()
	b := newBook()
	isSynced := func() bool {
		select {
		case <-b.x.synced:
			return true
		default:
			return false
		}
	}
	b.put(recordNamed("a", "10.0.0.1/32"))
	if isSynced() {
		t.Error("synced before any list")
	}
	b.list()
	b.list()
	if !isSynced() {
		t.Error("not synced after the list")
	}
}

// TestABrokenIndexStaysBroken breaks the index in every way there is, and then shows it a healthy world.
func TestABrokenIndexStaysBroken(t *testing.T) {
	t.Parallel()
	past := func() *ipamv1.IPAllocation {
		a := recordNamed("past", "10.0.0.7/32")
		a.ResourceVersion = "99"
		return a
	}
	for sentence, test := range map[string]struct {
		breaks func(x *index) error
		want   string
	}{
		"an added record of the past": {
			func(x *index) error { return x.Add(past()) }, "went back from 101 to 99",
		},
		"a changed record of the past": {
			func(x *index) error { return x.Update(past()) }, "went back from 101 to 99",
		},
		"a deletion of the past": {
			func(x *index) error { return x.Delete(past()) }, "went back from 101 to 99",
		},
		"a list of the past": {
			func(x *index) error { return x.Replace(nil, "99") }, "went back from 101 to 99",
		},
		"a bookmark of the past": {
			func(x *index) error { return x.Bookmark("99") }, "went back from 101 to 99",
		},
		"a revision that is no number": {
			func(x *index) error { return x.Bookmark("x") }, "comparing revisions",
		},
		"an event that is no record": {
			func(x *index) error { return x.Add(&ipamv1.IPPool{}) }, "got a *v1alpha1.IPPool",
		},
		"a list of something else": {
			func(x *index) error { return x.Replace([]any{&ipamv1.IPPool{}}, "200") }, "got a *v1alpha1.IPPool",
		},
		"an added record that nobody can read": {
			func(x *index) error {
				a := recordNamed("odd", "10.0.0.7")
				a.ResourceVersion = "102"
				return x.Add(a)
			}, "IPAllocation ns/odd: spec.cidr",
		},
		"a listed record that nobody can read": {
			func(x *index) error {
				a := recordNamed("odd", "ten")
				a.ResourceVersion = "102"
				return x.Replace([]any{a}, "102")
			}, "IPAllocation ns/odd: spec.cidr",
		},
		"a create that was answered with a revision of the past": {
			func(x *index) error {
				if x.notBefore("101", "100") == nil {
					return errors.New("accepted")
				}
				return nil
			}, "revision 100 after the watch had shown 101",
		},
		"a create that was answered with the revision of another write": {
			func(x *index) error {
				if x.notBefore("101", "101") == nil {
					return errors.New("accepted")
				}
				return nil
			}, "revision 101 after the watch had shown 101",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			b := newBook()
			b.put(recordNamed("b", "10.0.0.2/32"))
			w := b.x.expect(at("a"))
			if err := test.breaks(b.x); err != nil {
				t.Errorf("the reflector was told %v", err)
			}
			if len(b.broken) != 1 || !strings.Contains(b.broken[0].Error(), test.want) {
				t.Fatalf("reported %v, want %q once", b.broken, test.want)
			}
			b.rev = 300
			a := b.put(recordNamed("a", "10.0.0.1/32"))
			b.list(a)
			b.cut(recordNamed("b", "10.0.0.2/32"))
			_ = b.x.Bookmark("1")
			_ = b.x.notBefore("400", "1")
			if _, done, err := b.x.verdictOn(w, records.IdentityOf(a)); done || !errors.Is(err, b.broken[0]) {
				t.Errorf("verdict %v, error %v", done, err)
			}
			if len(b.broken) != 1 {
				t.Errorf("reported %d times", len(b.broken))
			}
			if b.x.records.At(at("a")) != nil {
				t.Error("a record was taken in after that")
			}
		})
	}
}

func TestANewerCreateReplyIsAccepted(t *testing.T) {
	t.Parallel()
	b := newBook()
	for before, reply := range map[string]string{"": "1", "99": "100", "9": "10"} {
		if err := b.x.notBefore(before, reply); err != nil {
			t.Errorf("reply %s after %q: %v", reply, before, err)
		}
	}
	if len(b.broken) > 0 {
		t.Error(b.broken)
	}
}

// TestLedgerReportsABrokenIndexOnce: what is said to the manager, and who waits.
func TestLedgerReportsABrokenIndexOnce(t *testing.T) {
	t.Parallel()
	l := New(Options{Instance: "m", Clock: newBook().now})
	if err := l.Synced(); !errors.Is(err, errNotSynced) {
		t.Errorf("before the first list: %v", err)
	}
	_ = l.index.Replace(nil, "5")
	if err := l.Synced(); err != nil {
		t.Errorf("after it: %v", err)
	}
	_ = l.index.Bookmark("4")
	_ = l.index.Bookmark("3")
	if err := l.Synced(); err == nil || !strings.Contains(err.Error(), "from 5 to 4") {
		t.Errorf("broken: %v", err)
	}
	if len(l.failed) != 1 {
		t.Errorf("%d failures reported", len(l.failed))
	}
}

func TestAllIsAll(t *testing.T) {
	t.Parallel()
	b := newBook()
	const n = 2*rowsAtOnce + 7
	want := map[string]bool{}
	for i := range n {
		a := b.put(recordNamed(fmt.Sprint("r", i), fmt.Sprintf("10.%d.%d.%d/32", i>>16, i>>8&0xff, i&0xff)))
		if i%3 == 0 {
			b.cut(a)
			continue
		}
		want[a.Name] = true
	}
	for _, h := range (&Ledger{index: b.x}).All() {
		if !want[h.Record.Name] {
			t.Errorf("%s is there twice, or not at all", h.Record)
		}
		delete(want, h.Record.Name)
	}
	if len(want) != 0 {
		t.Errorf("%d records are missing", len(want))
	}
}

func TestARecordWithTooMuchTextBreaksTheIndex(t *testing.T) {
	t.Parallel()
	b := newBook()
	b.put(recordNamed("a", "10.0.0.1/32", withUID(types.UID(strings.Repeat("u", 1020)))))
	if len(b.broken) != 1 || !strings.Contains(b.broken[0].Error(), "ns/a: its names are too long") {
		t.Errorf("reported %v", b.broken)
	}
}
