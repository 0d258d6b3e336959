// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"cmp"
	"hash/maphash"
	"iter"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pile"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
)

// table keeps records in little memory. Whoever asks gets a copy, unpacked: what is changed in that is only kept by update.
//
// A handle stands for a record from insert until remove, and may stand for another one afterwards: nothing may hold on to it
// for longer. Everything that the index knows by handle (the spaces, the pools' sums) forgets it before remove.
//
// The index's lock guards it.
type table struct {
	rows  pile.Pile[row]
	texts pile.Texts
	// wide are the addresses of IPv6.
	wide pile.Pile[[16]byte]
	// terms are what many records have in common, and numbers says where.
	terms   pile.Pile[sharedTerms]
	numbers map[terms]uint32
	// names and claims find records, not the other things that the index keeps here, by their own name and by their claim's.
	names, claims *pile.Lookup
	seed          maphash.Seed
}

// handle is the number of a record in the table; 0 is none.
type handle uint32

// sharedTerms are terms and the number of records that have them.
type sharedTerms struct {
	terms
	users int
}

func newTable() *table {
	t := &table{numbers: map[terms]uint32{}, seed: maphash.MakeSeed()}
	t.names = pile.NewLookup(func(i uint32) uint64 { return t.hash(t.shared(handle(i)).namespace, t.nameOf(handle(i))) })
	t.claims = pile.NewLookup(func(i uint32) uint64 { return t.hashOf(t.claimantOf(handle(i))) })
	return t
}

// insert keeps a record and gives it a handle.
func (t *table) insert(r *record) {
	r.handle = handle(t.rows.Add(row{}))
	t.pack(r)
	if r.role == stored {
		t.names.Add(uint32(r.handle))
		t.claims.Add(uint32(r.handle))
	}
}

// update keeps what was changed in a record. Its name and its claim's never change.
func (t *table) update(r *record) {
	t.clear(r.handle)
	t.pack(r)
}

// remove forgets a record; its handle is not its own any more.
func (t *table) remove(h handle) {
	if t.shared(h).role == stored {
		t.names.Drop(uint32(h))
		t.claims.Drop(uint32(h))
	}
	t.clear(h)
	t.rows.Drop(uint32(h))
}

// size is how many records there are.
func (t *table) size() int { return t.names.Len() }

// at returns the record of that name, or nil.
func (t *table) at(key types.NamespacedName) *record {
	if h := t.find(key); h != 0 {
		return t.get(h)
	}
	return nil
}

// find returns the handle of the record of that name, or 0.
func (t *table) find(key types.NamespacedName) handle {
	for i := range t.names.Find(t.hash(key.Namespace, key.Name)) {
		if h := handle(i); t.shared(h).namespace == key.Namespace && t.isNamed(h, key.Name) {
			return h
		}
	}
	return 0
}

// isNamed says whether a record has that name. Nearly all that have not are told by the name of their claim.
func (t *table) isNamed(h handle, name string) bool {
	w := t.rows.At(uint32(h))
	if !w.has(odd) && !strings.HasPrefix(name, nameStem(string(t.read(w).claim))) {
		return false
	}
	return t.nameOf(h) == name
}

// of returns the records of all claims of that name, the oldest first and those of unknown age last.
func (t *table) of(claim pooltree.Claimant) []*record { return t.ofPurpose(claim, "") }

// ofPurpose returns those of one purpose, or of all if that is empty. A root pool may have a thousand of another one.
func (t *table) ofPurpose(claim pooltree.Claimant, purpose ipamv1.AllocationPurpose) []*record {
	var found []*record
	for i := range t.claims.Find(t.hashOf(claim)) {
		if h := handle(i); (purpose == "" || t.shared(h).purpose == purpose) && t.isOf(h, claim) {
			found = append(found, t.get(h))
		}
	}
	slices.SortFunc(found, byAge)
	return found
}

// byAge orders records by the number that is the revision of their creation, then by name. Unknown is last.
func byAge(a, b *record) int {
	known := func(r *record) int { return min(len(r.created), 1) }
	return cmp.Or(
		cmp.Compare(known(b), known(a)),
		cmp.Compare(len(a.created), len(b.created)), strings.Compare(a.created, b.created),
		strings.Compare(a.key.Name, b.key.Name),
	)
}

func (t *table) isOf(h handle, claim pooltree.Claimant) bool {
	s := t.shared(h)
	return claim == pooltree.Claimant{Group: s.group, Kind: s.kind, Namespace: s.claimNamespace, Name: claim.Name} &&
		t.isClaimNamed(h, claim.Name)
}

// isBlockOf is that of the record, which need not be unpacked for it.
func (t *table) isBlockOf(h handle, pool ipamv1.PoolReference) bool {
	s := t.shared(h)
	return s.isBlock() && t.isOf(h, keyOf(ClaimOf(pool, "")))
}

// all yields the handles of all records. The table must not be changed meanwhile.
func (t *table) all() iter.Seq[handle] { return t.from(1) }

// from is the same from a handle on.
func (t *table) from(first handle) iter.Seq[handle] {
	return func(yield func(handle) bool) {
		for h := first; uint32(h) <= t.rows.Last(); h++ {
			isRecord := t.rows.At(uint32(h)).termsNumber() != 0 && t.shared(h).role == stored
			if isRecord && !yield(h) {
				return
			}
		}
	}
}

func (t *table) claimantOf(h handle) pooltree.Claimant {
	s := t.shared(h)
	return pooltree.Claimant{
		Group: s.group, Kind: s.kind, Namespace: s.claimNamespace, Name: string(t.read(t.rows.At(uint32(h))).claim),
	}
}

func (t *table) hashOf(c pooltree.Claimant) uint64 {
	return t.hash(c.Group, c.Kind, c.Namespace, c.Name)
}

func (t *table) hash(parts ...string) uint64 {
	var h maphash.Hash
	h.SetSeed(t.seed)
	for _, part := range parts {
		_, _ = h.WriteString(part) // never fails
		_ = h.WriteByte(0)
	}
	return h.Sum64()
}

// share returns the number of terms, for one more record.
func (t *table) share(s terms) uint32 {
	number, ok := t.numbers[s]
	if !ok {
		number = t.terms.Add(sharedTerms{terms: s})
		if number > maxTerms {
			panic("ledger: too many different terms")
		}
		t.numbers[s] = number
	}
	t.terms.At(number).users++
	return number
}

// unshare is called when a record gives its terms up.
func (t *table) unshare(number uint32) {
	s := t.terms.At(number)
	if s.users--; s.users == 0 {
		delete(t.numbers, s.terms)
		t.terms.Drop(number)
	}
}
