// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"sync"
	"testing"
	"time"

	"k8s.io/apimachinery/pkg/types"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/book"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/records"
)

// TestWhatAWaiterIsTold shows a waiter what the watch may show between a write that was answered
// with revision 110 and its own delivery. Open means that it goes on waiting.
func TestWhatAWaiterIsTold(t *testing.T) {
	t.Parallel()
	const open = book.Outcome(255)
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
		shows func(b *fed)
		want  book.Outcome
	}{
		"nothing yet": {
			shows: func(*fed) {},
			want:  open,
		},
		"exactly that version": {
			shows: func(b *fed) { b.show(mine()) },
			want:  book.Won,
		},
		"that version, and a later one before it could look": {
			shows: func(b *fed) { b.show(mine()); b.show(later(mine(createdAt("110")))) },
			want:  book.Won,
		},
		"that version, and the deletion before it could look": {
			shows: func(b *fed) { b.show(mine()); b.rev = 111; b.cut(mine()) },
			want:  book.Won,
		},
		"an earlier version of the record": {
			shows: func(b *fed) { b.put(mine()) },
			want:  open,
		},
		"only a later version": {
			shows: func(b *fed) { b.show(later(mine(createdAt("110")))) },
			want:  book.Superseded,
		},
		"only its deletion": {
			shows: func(b *fed) { b.rev = 111; b.cut(mine()) },
			want:  book.Superseded,
		},
		"the deletion of an earlier record of the name": {
			shows: func(b *fed) { b.put(mine(withUID("old"))); b.cut(mine(withUID("old"))) },
			want:  open,
		},
		"a later record of the same name": {
			shows: func(b *fed) { b.show(later(mine(withUID("other")))) },
			want:  book.Superseded,
		},
		"another record at the very revision of the name": {
			shows: func(b *fed) { b.show(mine(withUID("other"))) },
			want:  book.Superseded,
		},
		"an old list without the record": {
			shows: func(b *fed) { b.list() },
			want:  open,
		},
		"a list without the record, not older than the write": {
			shows: func(b *fed) { b.rev = 109; b.list() },
			want:  book.Superseded,
		},
		"a list with exactly that version": {
			shows: func(b *fed) { b.rev = 115; b.list(mine()) },
			want:  book.Won,
		},
		"a list with that version and an older record that overlaps": {
			shows: func(b *fed) {
				b.rev = 115
				b.list(mine(), recordNamed("b", "10.0.0.0/31", createdAt("105")))
			},
			want: book.Lost,
		},
		"a list with a later version": {
			shows: func(b *fed) { b.rev = 115; b.list(later(mine(createdAt("110")))) },
			want:  book.Superseded,
		},
		"a list in which the name belongs to another record": {
			shows: func(b *fed) { b.rev = 115; b.list(later(mine(withUID("other")))) },
			want:  book.Superseded,
		},
		"a bookmark": {
			shows: func(b *fed) { _ = b.x.Bookmark("200") },
			want:  open,
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			b := newFed()
			w := b.x.expect(at("a"))
			test.shows(b)
			v, done, err := b.x.verdictOn(w, records.IdentityOf(mine()))
			if err != nil {
				t.Fatal(err)
			}
			got := v.Outcome
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
		end  func(b *fed, cancel context.CancelFunc)
		want string
	}{
		"with the verdict": {end: func(b *fed, _ context.CancelFunc) { b.put(recordNamed("a", "10.0.0.1/32")) }},
		"with its context": {end: func(_ *fed, cancel context.CancelFunc) { cancel() }, want: "context canceled"},
		"when the index breaks": {
			end:  func(b *fed, _ context.CancelFunc) { _ = b.x.Bookmark("102"); _ = b.x.Bookmark("101") },
			want: "went back from 102 to 101",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			b := newFed()
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
	b := newFed()
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
		shows func(b *fed)
		want  string
	}{
		"what was added":                      {func(b *fed) { b.put(old()) }, "10.0.0.1/32"},
		"nothing after the deletion":          {func(b *fed) { b.put(old()); b.cut(old()) }, ""},
		"one record of a name, the last":      {func(b *fed) { b.put(old()); b.put(other()) }, "10.0.0.9/32"},
		"not the deletion of one before it":   {func(b *fed) { b.put(old()); b.put(other()); b.cut(old()) }, "10.0.0.9/32"},
		"what a list says of the name":        {func(b *fed) { b.put(old()); b.list(other()) }, "10.0.0.9/32"},
		"nothing that a list does not name":   {func(b *fed) { b.put(old()); b.list() }, ""},
		"a record once, however often listed": {func(b *fed) { b.list(old()); b.list(old()); b.put(old()) }, "10.0.0.1/32"},
		"not what is refused after breaking":  {func(b *fed) { _ = b.x.Bookmark("900"); b.put(old()) }, ""},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			b := newFed()
			test.shows(b)
			found := make([]string, 0, 1)
			for _, h := range b.Overlapping("default", netip.MustParsePrefix("10.0.0.0/8")) {
				found = append(found, h.CIDR.String())
			}
			if got := strings.Join(found, " "); got != test.want {
				t.Errorf("the space holds %q, want %q", got, test.want)
			}
			named := make([]string, 0, 1)
			for _, r := range ask(b.x, (*book.Book).RecordsFor, old().Spec.ClaimRef) {
				named = append(named, r.CIDR.String())
			}
			if got := strings.Join(named, " "); got != test.want {
				t.Errorf("the claim has %q, want %q", got, test.want)
			}
			if got := len(b.All()); (got == 1) != (test.want != "") {
				t.Errorf("%d records", got)
			}
		})
	}
}

func TestSyncedAfterTheFirstList(t *testing.T) {
	t.Parallel()
	b := newFed()
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

// TestABrokenIndexStaysBroken breaks the index in every way there is, and then shows it a healthy
// world.
func TestABrokenIndexStaysBroken(t *testing.T) {
	t.Parallel()
	past := func() *ipamv1.IPAllocation {
		a := recordNamed("past", "10.0.0.7/32")
		a.ResourceVersion = "99"
		return a
	}
	for sentence, test := range map[string]struct {
		breaks func(x *feed) error
		want   string
	}{
		"an added record of the past": {
			func(x *feed) error { return x.Add(past()) }, "went back from 101 to 99",
		},
		"a changed record of the past": {
			func(x *feed) error { return x.Update(past()) }, "went back from 101 to 99",
		},
		"a deletion of the past": {
			func(x *feed) error { return x.Delete(past()) }, "went back from 101 to 99",
		},
		"a list of the past": {
			func(x *feed) error { return x.Replace(nil, "99") }, "went back from 101 to 99",
		},
		"a bookmark of the past": {
			func(x *feed) error { return x.Bookmark("99") }, "went back from 101 to 99",
		},
		"a revision that is no number": {
			func(x *feed) error { return x.Bookmark("x") }, "comparing revisions",
		},
		"an event that is no record": {
			func(x *feed) error { return x.Add(&ipamv1.IPPool{}) }, "got a *v1alpha1.IPPool",
		},
		"a list of something else": {
			func(x *feed) error { return x.Replace([]any{&ipamv1.IPPool{}}, "200") }, "got a *v1alpha1.IPPool",
		},
		"an added record that nobody can read": {
			func(x *feed) error {
				a := recordNamed("odd", "10.0.0.7")
				a.ResourceVersion = "102"
				return x.Add(a)
			}, "IPAllocation ns/odd: spec.cidr",
		},
		"a listed record that nobody can read": {
			func(x *feed) error {
				a := recordNamed("odd", "ten")
				a.ResourceVersion = "102"
				return x.Replace([]any{a}, "102")
			}, "IPAllocation ns/odd: spec.cidr",
		},
		"a create that was answered with a revision of the past": {
			func(x *feed) error {
				if x.notBefore("101", "100") == nil {
					return errors.New("accepted")
				}
				return nil
			}, "revision 100 after the watch had shown 101",
		},
		"a create that was answered with the revision of another write": {
			func(x *feed) error {
				if x.notBefore("101", "101") == nil {
					return errors.New("accepted")
				}
				return nil
			}, "revision 101 after the watch had shown 101",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			b := newFed()
			b.put(recordNamed("b", "10.0.0.2/32"))
			w := b.x.expect(at("a"))
			if err := test.breaks(b.x); err != nil {
				t.Errorf("the reflector was told %v", err)
			}
			if err := b.x.failure(); len(b.x.failed) != 1 || !strings.Contains(err.Error(), test.want) {
				t.Fatalf("reported %v, want %q once", err, test.want)
			}
			b.rev = 300
			a := b.put(recordNamed("a", "10.0.0.1/32"))
			b.list(a)
			b.cut(recordNamed("b", "10.0.0.2/32"))
			_ = b.x.Bookmark("1")
			_ = b.x.notBefore("400", "1")
			if _, done, err := b.x.verdictOn(w, records.IdentityOf(a)); done || !errors.Is(err, <-b.x.failed) {
				t.Errorf("verdict %v, error %v", done, err)
			}
			if len(b.x.failed) != 0 {
				t.Errorf("reported %d times", 1+len(b.x.failed))
			}
			if ask(b.x, (*book.Book).Named, at("a")) != nil {
				t.Error("a record was taken in after that")
			}
		})
	}
}

func TestANewerCreateReplyIsAccepted(t *testing.T) {
	t.Parallel()
	b := newFed()
	for before, reply := range map[string]string{"": "1", "99": "100", "9": "10"} {
		if err := b.x.notBefore(before, reply); err != nil {
			t.Errorf("reply %s after %q: %v", reply, before, err)
		}
	}
	if len(b.x.failed) > 0 {
		t.Error(b.x.failure())
	}
}

// TestLedgerReportsABrokenIndexOnce: what is said to the manager, and who waits.
func TestLedgerReportsABrokenIndexOnce(t *testing.T) {
	t.Parallel()
	l := New(Options{Instance: "m", Clock: newFed().now})
	if err := l.Synced(); !errors.Is(err, errNotSynced) {
		t.Errorf("before the first list: %v", err)
	}
	_ = l.feed.Replace(nil, "5")
	if err := l.Synced(); err != nil {
		t.Errorf("after it: %v", err)
	}
	_ = l.feed.Bookmark("4")
	_ = l.feed.Bookmark("3")
	if err := l.Synced(); err == nil || !strings.Contains(err.Error(), "from 5 to 4") {
		t.Errorf("broken: %v", err)
	}
	if len(l.feed.failed) != 1 {
		t.Errorf("%d failures reported", len(l.feed.failed))
	}
}

func TestAllIsAll(t *testing.T) {
	t.Parallel()
	b := newFed()
	const n = 2*book.RowsAtOnce + 7
	want := map[string]bool{}
	for i := range n {
		a := b.put(recordNamed(fmt.Sprint("r", i), fmt.Sprintf("10.%d.%d.%d/32", i>>16, i>>8&0xff, i&0xff)))
		if i%3 == 0 {
			b.cut(a)
			continue
		}
		want[a.Name] = true
	}
	for _, h := range b.All() {
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
	b := newFed()
	b.put(recordNamed("a", "10.0.0.1/32", withUID(types.UID(strings.Repeat("u", 1020)))))
	if err := b.x.failure(); len(b.x.failed) != 1 || !strings.Contains(err.Error(), "ns/a: its names are too long") {
		t.Errorf("reported %v", err)
	}
}

// TestAProofJudgesNothing: a proof of currency changes a block, and wants to see that on the watch.
// A verdict about the block would look at all that is handed out of it.
func TestAProofJudgesNothing(t *testing.T) { // counts allocations, which others must not add to
	b := newFed()
	b.serving("10.0.0.0/16")
	for i := range 1000 {
		b.put(recordNamed(fmt.Sprint("r", i), fmt.Sprintf("10.0.%d.%d/32", i/250, 1+i%250)))
	}
	block := root("p", "10.0.0.0/16", confirmed)
	w := b.x.lookFor(nameOf(block))
	defer b.x.dismiss(w)
	if n := testing.AllocsPerRun(1, func() { b.put(block) }); n > 500 {
		t.Errorf("%f allocations", n)
	}
	if _, done, err := b.x.verdictOn(w, records.IdentityOf(block)); !done || err != nil {
		t.Errorf("the version is not seen: %v", err)
	}
}

func TestConcurrentChoicesDiffer(t *testing.T) {
	t.Parallel()
	b := newFed()
	b.serving("10.0.0.0/25")
	var mu sync.Mutex
	chosen := map[netip.Prefix]string{}
	var done sync.WaitGroup
	for i := range 200 {
		done.Go(func() {
			name := fmt.Sprint("c", i)
			w, err := b.choose(claimFor(name), at(name))
			if errors.Is(err, ErrBusy) { // what is left is chosen, not recorded
				return
			}
			if err != nil {
				t.Error(err)
				return
			}
			mu.Lock()
			defer mu.Unlock()
			if other, ok := chosen[w.mark.CIDR]; ok {
				t.Errorf("%s and %s chose %s", name, other, w.mark.CIDR)
			}
			chosen[w.mark.CIDR] = name
		})
	}
	done.Wait()
	if len(chosen) != 128 {
		t.Errorf("%d of 128 addresses chosen", len(chosen))
	}
}
