// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/book"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/records"
)

// sighting is one version of a record as the watch showed it.
type sighting struct {
	uid     types.UID
	version string
}

// waiter collects what the watch shows of one record from before its write until the verdict is
// read. All fields but changed are guarded by the feed's lock.
type waiter struct {
	key types.NamespacedName
	// mark keeps the chosen prefix from other goroutines until the record itself is in the book.
	mark *records.Record
	// seen are the verdicts; nil where none is wanted: that of a block looks at all that is handed
	// out of it.
	seen    map[sighting]book.Verdict
	latest  string
	changed chan struct{}
}

func (w *waiter) wantsVerdict() bool { return w.seen != nil }

// notify notes the verdict about this version of the record, if one is wanted.
func (w *waiter) notify(r *records.Record, v book.Verdict) {
	if w.wantsVerdict() {
		w.seen[sighting{r.UID, r.Version}] = v
	}
}

func (w *waiter) signal() {
	select {
	case w.changed <- struct{}{}:
	default:
	}
}

// judgeFor judges r for whoever waits for it in this process, at exactly the version that the watch
// shows now.
func (f *feed) judgeFor(r *records.Record) {
	waiters := f.waiters[r.Key]
	if slices.ContainsFunc(waiters, (*waiter).wantsVerdict) {
		v := f.book.Judge(r)
		for _, w := range waiters {
			w.notify(r, v)
		}
	}
	for _, w := range waiters {
		w.latest = r.Version
		w.signal()
	}
}

// missed notifies whoever waits for a record that it does not exist at a revision.
func (f *feed) missed(key types.NamespacedName, version string) {
	for _, w := range f.waiters[key] {
		w.latest = version
		w.signal()
	}
}

// expect registers a waiter for a record that is about to be changed. There may be several: repair
// works on pools beside their controller, and both may want the same block.
func (f *feed) expect(key types.NamespacedName) *waiter {
	defer f.lock()()
	return f.expectLocked(key, nil)
}

// lookFor registers a waiter that wants to know how far the watch has come, and no verdict.
func (f *feed) lookFor(key types.NamespacedName) *waiter {
	defer f.lock()()
	w := f.expectLocked(key, nil)
	w.seen = nil
	return w
}

func (f *feed) expectLocked(key types.NamespacedName, mark *records.Record) *waiter {
	w := &waiter{key: key, mark: mark, seen: map[sighting]book.Verdict{}, changed: make(chan struct{}, 1)}
	f.waiters[key] = append(f.waiters[key], w)
	return w
}

// choose marks a prefix, and registers the waiter for the record of that key. The mark lasts until
// the waiter is dismissed.
func (f *feed) choose(key types.NamespacedName, choose func(*book.Book) (*records.Record, error)) (*waiter, error) {
	defer f.lock()()
	mark, err := choose(f.book)
	if err != nil {
		return nil, err
	}
	return f.expectLocked(key, mark), nil
}

// dismiss ends a wait and lifts the mark. If it came to nothing, nobody is told: who met the mark
// was told to try again (contended), and does so at a pace of his own. Woken at once, he and who
// made the mark would wake each other for as long as nothing can be stored.
func (f *feed) dismiss(w *waiter) {
	defer f.lock()()
	f.waiters[w.key] = slices.DeleteFunc(f.waiters[w.key], func(other *waiter) bool { return other == w })
	if len(f.waiters[w.key]) == 0 {
		delete(f.waiters, w.key)
	}
	if w.mark != nil {
		f.book.Unmark(w.mark)
	}
}

// await returns the verdict about exactly this version of the record, once the watch has come that
// far.
func (f *feed) await(ctx context.Context, w *waiter, id records.Identity) (book.Verdict, error) {
	for {
		v, done, err := f.verdictOn(w, id)
		if done || err != nil {
			return v, err
		}
		select {
		case <-ctx.Done():
			return book.Verdict{}, ctx.Err()
		case <-w.changed:
		}
	}
}

func (f *feed) verdictOn(w *waiter, id records.Identity) (book.Verdict, bool, error) {
	defer f.lock()()
	if f.broken != nil {
		return book.Verdict{}, false, f.broken
	}
	if v, ok := w.seen[sighting{id.UID, id.Version}]; ok {
		if v.Outcome == book.Won {
			f.book.MarkWon(id)
		}
		return v, true, nil
	}
	if w.latest == "" {
		return book.Verdict{}, false, nil
	}
	order, err := resourceversion.CompareResourceVersion(w.latest, id.Version)
	return book.Verdict{Outcome: book.Superseded}, order >= 0, err
}

// wentBefore says whether the record, which the watch showed while the waiter waited for it, went
// before that version of another one was made. A list that shows both changes at once does not
// tell.
func (f *feed) wentBefore(w *waiter, id records.Identity, version string) bool {
	defer f.lock()()
	if f.book.Has(id) {
		return false
	}
	order, err := resourceversion.CompareResourceVersion(w.latest, version)
	return err == nil && order < 0
}
