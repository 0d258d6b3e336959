// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"slices"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/records"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"
)

// outcome of a judgement.
type outcome uint8

const (
	// won: no other record overlaps, other than the blocks that enclose this one.
	won outcome = iota
	// lost: an older record overlaps, so this one can never have won.
	lost
	// blocked: only records overlap that are younger, or whose age is not certain. They cannot win while this one exists,
	// and this one may not be told to anybody before they are gone.
	blocked
	// superseded: the watch has shown a later version, or none: somebody else answers for the record now.
	superseded
)

// verdict is a judgement and, unless won, the record that decided it.
type verdict struct {
	outcome outcome
	by      Holding
}

// judge decides about r at this moment of the watch.
func (x *index) judge(r *records.Record) verdict {
	v := verdict{outcome: won}
	for _, other := range x.overlapping(r.Space, r.CIDR) {
		switch {
		case other.Handle == r.Handle || x.encloses(other, r) || x.encloses(r, other) || isPredecessor(other, r) || isRepeat(other, r):
		case older(other, r) && !x.mayHaveEnclosed(other, r):
			return verdict{outcome: lost, by: holdingOf(other)}
		case v.outcome == won:
			v = verdict{outcome: blocked, by: holdingOf(other)}
		}
	}
	return v
}

// encloses says whether block is a block of the pool that r comes from, or of one of that pool's ancestors: such a pair is meant
// to overlap.
func (x *index) encloses(block, r *records.Record) bool { return x.isAbove(block, r.Pool, r.CIDR) }

// mayHaveEnclosed says whether block was perhaps meant to overlap r when that was made: it is around r, and the blocks between
// them have gone since. So r may have won.
func (x *index) mayHaveEnclosed(block, r *records.Record) bool {
	return isBlock(block.Purpose) && block.CIDR.Bits() <= r.CIDR.Bits() && !x.isRooted(r.Pool, r.CIDR)
}

// judgeFor judges r for whoever waits for it in this process, at exactly the version that the watch shows now.
func (x *index) judgeFor(r *records.Record) {
	waiters := x.waiters[r.Key]
	if slices.ContainsFunc(waiters, (*waiter).wantsVerdict) {
		v := x.judge(r)
		for _, w := range waiters {
			w.tell(r, v)
		}
	}
	for _, w := range waiters {
		w.latest = r.Version
		w.signal()
	}
}

// sighting is one version of a record as the watch showed it.
type sighting struct {
	uid     types.UID
	version string
}

// waiter collects what the watch shows of one record from before its write until the verdict is read. All fields but
// changed are guarded by the index's lock.
type waiter struct {
	key types.NamespacedName
	// mark keeps the chosen prefix from other goroutines until the record itself is in the index.
	mark *records.Record
	// seen are the verdicts; nil where none is wanted: that of a block looks at all that is handed out of it.
	seen    map[sighting]verdict
	latest  string
	changed chan struct{}
}

func (w *waiter) wantsVerdict() bool { return w.seen != nil }

// tell notes the verdict about this version of the record, if one is wanted.
func (w *waiter) tell(r *records.Record, v verdict) {
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

// missed tells whoever waits for a record that it does not exist at a revision.
func (x *index) missed(key types.NamespacedName, version string) {
	for _, w := range x.waiters[key] {
		w.latest = version
		w.signal()
	}
}

// expect registers a waiter for a record that is about to be changed. There may be several: repair works on pools beside their
// controller, and both may want the same block.
func (x *index) expect(key types.NamespacedName) *waiter {
	x.mu.Lock()
	defer x.mu.Unlock()
	return x.expectLocked(key, nil)
}

// lookFor registers a waiter that wants to know how far the watch has come, and no verdict.
func (x *index) lookFor(key types.NamespacedName) *waiter {
	x.mu.Lock()
	defer x.mu.Unlock()
	w := x.expectLocked(key, nil)
	w.seen = nil
	return w
}

func (x *index) expectLocked(key types.NamespacedName, mark *records.Record) *waiter {
	w := &waiter{key: key, mark: mark, seen: map[sighting]verdict{}, changed: make(chan struct{}, 1)}
	x.waiters[key] = append(x.waiters[key], w)
	return w
}

// dismiss ends a wait and lifts the mark. If it came to nothing, nobody is told: who met the mark was told to try again (contended), and
// does so at a pace of his own. Woken at once, he and who made the mark would wake each other for as long as nothing can be stored.
func (x *index) dismiss(w *waiter) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.waiters[w.key] = slices.DeleteFunc(x.waiters[w.key], func(other *waiter) bool { return other == w })
	if len(x.waiters[w.key]) == 0 {
		delete(x.waiters, w.key)
	}
	if w.mark != nil && w.mark.Handle != 0 {
		x.letIn(w.mark)
	}
}

// await returns the verdict about exactly this version of the record, once the watch has come that far.
func (x *index) await(ctx context.Context, w *waiter, id records.Identity) (verdict, error) {
	for {
		v, done, err := x.verdictOn(w, id)
		if done || err != nil {
			return v, err
		}
		select {
		case <-ctx.Done():
			return verdict{}, ctx.Err()
		case <-w.changed:
		}
	}
}

func (x *index) verdictOn(w *waiter, id records.Identity) (verdict, bool, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.broken != nil {
		return verdict{}, false, x.broken
	}
	if v, ok := w.seen[sighting{id.UID, id.Version}]; ok {
		x.remember(id, v)
		return v, true, nil
	}
	if w.latest == "" {
		return verdict{}, false, nil
	}
	order, err := resourceversion.CompareResourceVersion(w.latest, id.Version)
	return verdict{outcome: superseded}, order >= 0, err
}

// remember keeps a won verdict for as long as the record exists.
func (x *index) remember(id records.Identity, v verdict) {
	if r := x.records.At(id.Key); r != nil && r.UID == id.UID && v.outcome == won {
		r.Won = true
		x.records.Update(r)
	}
}
