// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"slices"

	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/resourceversion"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
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
func (x *index) judge(r *record) verdict {
	v := verdict{outcome: won}
	for _, other := range x.overlapping(r.space, r.cidr) {
		switch {
		case other.handle == r.handle || x.encloses(other, r) || x.encloses(r, other) || isPredecessor(other, r) || isRepeat(other, r):
		case other.older(r) && !x.mayHaveEnclosed(other, r):
			return verdict{outcome: lost, by: other.holding()}
		case v.outcome == won:
			v = verdict{outcome: blocked, by: other.holding()}
		}
	}
	return v
}

// encloses says whether block is a block of the pool that r comes from, or of one of that pool's ancestors: such a pair is meant
// to overlap.
func (x *index) encloses(block, r *record) bool { return x.isAbove(block, r.pool.ref, r.cidr) }

// mayHaveEnclosed says whether block was perhaps meant to overlap r when that was made: it is around r, and the blocks between
// them have gone since. So r may have won.
func (x *index) mayHaveEnclosed(block, r *record) bool {
	return block.isBlock() && block.cidr.Bits() <= r.cidr.Bits() && !x.isRooted(r.pool.ref, r.cidr)
}

// isPredecessor says whether the record was made for another claim of the same name, and is no reason for r to lose:
//
//	it is retained           for the next claim of that name, which r is for
//	r adopts an answer       that is named like the claim and carries r's UID, so that the other cannot be answered any more
//	it is held               because the other has moved to another cluster, from where r's claim comes back with it
//	of one of Weir's own     the object is its own answer, and only one of a name can be stored: moved, restored or made again
func isPredecessor(other, r *record) bool {
	isOther := other.claim.UID != r.claim.UID || other.purpose == ipamv1.MovedPurpose
	isAlike := other.cidr == r.cidr && other.pool == r.pool && isOther && keyOf(other.claim) == keyOf(r.claim)
	switch {
	case !isAlike || r.purpose == ipamv1.AdoptedPurpose:
		return isAlike
	case other.released():
		return other.retained
	case other.purpose == ipamv1.MovedPurpose: // of a carved pool the choice has seen to it that it arrived
		return r.purpose == ipamv1.ChildPoolPurpose
	}
	return isOwnKind(r)
}

// isRepeat says whether the other is a second record of the same claim, or of the same carved pool, for the same prefix: two managers have
// begun at it. The younger loses to the older; in no other case is one of them a reason for the other to wait, for both say the same.
func isRepeat(other, r *record) bool { return saysSame(other, r) && !other.older(r) }

// saysSame says whether the claim can be told the very same by either of two records.
func saysSame(a, b *record) bool {
	isTold := a.purpose != ipamv1.RootPurpose && a.purpose != ipamv1.MovedPurpose && b.purpose != ipamv1.RootPurpose && b.purpose != ipamv1.MovedPurpose
	return isTold && a.claim == b.claim && a.cidr == b.cidr && a.pool == b.pool && !a.released() && !b.released()
}

// isOwnKind says whether the record is for an IPClaim or for a carved pool.
func isOwnKind(r *record) bool {
	return r.claim.APIGroup == ipamv1.GroupVersion.Group && r.purpose != ipamv1.RootPurpose
}

// judgeFor judges r for whoever waits for it in this process, at exactly the version that the watch shows now.
func (x *index) judgeFor(r *record) {
	waiters := x.waiters[r.key]
	if slices.ContainsFunc(waiters, (*waiter).wantsVerdict) {
		v := x.judge(r)
		for _, w := range waiters {
			w.tell(r, v)
		}
	}
	for _, w := range waiters {
		w.latest = r.version
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
	mark *record
	// seen are the verdicts; nil where none is wanted: that of a block looks at all that is handed out of it.
	seen    map[sighting]verdict
	latest  string
	changed chan struct{}
}

func (w *waiter) wantsVerdict() bool { return w.seen != nil }

// tell notes the verdict about this version of the record, if one is wanted.
func (w *waiter) tell(r *record, v verdict) {
	if w.wantsVerdict() {
		w.seen[sighting{r.uid, r.version}] = v
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

func (x *index) expectLocked(key types.NamespacedName, mark *record) *waiter {
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
	if w.mark != nil && w.mark.handle != 0 {
		x.letIn(w.mark)
	}
}

// await returns the verdict about exactly this version of the record, once the watch has come that far.
func (x *index) await(ctx context.Context, w *waiter, id identity) (verdict, error) {
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

func (x *index) verdictOn(w *waiter, id identity) (verdict, bool, error) {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.broken != nil {
		return verdict{}, false, x.broken
	}
	if v, ok := w.seen[sighting{id.uid, id.version}]; ok {
		x.remember(id, v)
		return v, true, nil
	}
	if w.latest == "" {
		return verdict{}, false, nil
	}
	order, err := resourceversion.CompareResourceVersion(w.latest, id.version)
	return verdict{outcome: superseded}, order >= 0, err
}

// remember keeps a won verdict for as long as the record exists.
func (x *index) remember(id identity, v verdict) {
	if r := x.records.at(id.key); r != nil && r.uid == id.uid && v.outcome == won {
		r.won = true
		x.records.update(r)
	}
}
