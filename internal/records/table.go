// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"cmp"
	"hash/maphash"
	"iter"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pile"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
)

// Table keeps records in little memory. Get returns an unpacked copy; only Update changes what is
// kept.
//
// A handle stands for a record from Insert until Remove, and may stand for another one afterwards.
// Whatever the caller keeps by handle must forget it before Remove. A Table is not safe for
// concurrent use.
type Table struct {
	rows  pile.Pile[row]
	texts pile.Texts
	// wide are the addresses of IPv6.
	wide pile.Pile[[16]byte]
	// shared is what many records have in common, and numbers says where.
	shared  pile.Pile[sharedTerms]
	numbers map[Terms]uint32
	// names and claims find stored records by their own name and by their claim's.
	names, claims *pile.Lookup
	seed          maphash.Seed
}

// Handle is the number of a record in the table; 0 is none.
type Handle uint32

// sharedTerms are terms and the number of records that have them.
type sharedTerms struct {
	Terms
	users int
}

// NewTable returns an empty table.
func NewTable() *Table {
	t := &Table{numbers: map[Terms]uint32{}, seed: maphash.MakeSeed()}
	t.names = pile.NewLookup(func(i uint32) uint64 { return t.hash(t.Terms(Handle(i)).Namespace, t.nameOf(Handle(i))) })
	t.claims = pile.NewLookup(func(i uint32) uint64 { return t.hashOf(t.claimantOf(Handle(i))) })
	return t
}

// Insert keeps a record and gives it a handle.
func (t *Table) Insert(r *Record) {
	r.Handle = Handle(t.rows.Add(row{}))
	t.pack(r)
	if r.Role == Stored {
		t.names.Add(uint32(r.Handle))
		t.claims.Add(uint32(r.Handle))
	}
}

// Update keeps what was changed in a record. Its name and its claim's never change.
func (t *Table) Update(r *Record) {
	t.clear(r.Handle)
	t.pack(r)
}

// Remove forgets a record; its handle is not its own any more.
func (t *Table) Remove(h Handle) {
	if t.Terms(h).Role == Stored {
		t.names.Drop(uint32(h))
		t.claims.Drop(uint32(h))
	}
	t.clear(h)
	t.rows.Drop(uint32(h))
}

// Len is how many records there are.
func (t *Table) Len() int { return t.names.Len() }

// At returns the record of that name, or nil.
func (t *Table) At(key types.NamespacedName) *Record {
	if h := t.Find(key); h != 0 {
		return t.Get(h)
	}
	return nil
}

// Find returns the handle of the record of that name, or 0.
func (t *Table) Find(key types.NamespacedName) Handle {
	for i := range t.names.Find(t.hash(key.Namespace, key.Name)) {
		if h := Handle(i); t.Terms(h).Namespace == key.Namespace && t.isNamed(h, key.Name) {
			return h
		}
	}
	return 0
}

// isNamed says whether a record has that name. Nearly all that have not are told by the name of
// their claim.
func (t *Table) isNamed(h Handle, name string) bool {
	w := t.rows.At(uint32(h))
	if !w.has(odd) && !strings.HasPrefix(name, nameStem(string(t.read(w).claim))) {
		return false
	}
	return t.nameOf(h) == name
}

// Of returns the records of all claims of that name, the oldest first and those of unknown age
// last.
func (t *Table) Of(claim pooltree.Claimant) []*Record { return t.OfPurpose(claim, "") }

// OfPurpose returns those of one purpose, or of all if that is empty. A root pool may have a
// thousand of another one.
func (t *Table) OfPurpose(claim pooltree.Claimant, purpose Purpose) []*Record {
	var found []*Record
	for i := range t.claims.Find(t.hashOf(claim)) {
		if h := Handle(i); (purpose == "" || t.Terms(h).Purpose == purpose) && t.IsOf(h, claim) {
			found = append(found, t.Get(h))
		}
	}
	slices.SortFunc(found, byAge)
	return found
}

// byAge orders records by the number that is the revision of their creation, then by name. Unknown
// is last.
func byAge(a, b *Record) int {
	known := func(r *Record) int { return min(len(r.Created), 1) }
	return cmp.Or(
		cmp.Compare(known(b), known(a)),
		cmp.Compare(len(a.Created), len(b.Created)), strings.Compare(a.Created, b.Created),
		strings.Compare(a.Key.Name, b.Key.Name),
	)
}

// IsOf says whether the record is of a claim of that name.
func (t *Table) IsOf(h Handle, claim pooltree.Claimant) bool {
	s := t.Terms(h)
	return claim == pooltree.Claimant{Group: s.Group, Kind: s.Kind, Namespace: s.ClaimNamespace, Name: claim.Name} &&
		t.isClaimNamed(h, claim.Name)
}

// All yields the handles of all records. The table must not be changed meanwhile.
func (t *Table) All() iter.Seq[Handle] { return t.From(1) }

// From is the same from a handle on.
func (t *Table) From(first Handle) iter.Seq[Handle] {
	return func(yield func(Handle) bool) {
		for h := first; uint32(h) <= t.rows.Last(); h++ {
			isRecord := t.rows.At(uint32(h)).termsNumber() != 0 && t.Terms(h).Role == Stored
			if isRecord && !yield(h) {
				return
			}
		}
	}
}

func (t *Table) claimantOf(h Handle) pooltree.Claimant {
	s := t.Terms(h)
	return pooltree.Claimant{
		Group: s.Group, Kind: s.Kind, Namespace: s.ClaimNamespace, Name: string(t.read(t.rows.At(uint32(h))).claim),
	}
}

func (t *Table) hashOf(c pooltree.Claimant) uint64 {
	return t.hash(c.Group, c.Kind, c.Namespace, c.Name)
}

func (t *Table) hash(parts ...string) uint64 {
	var h maphash.Hash
	h.SetSeed(t.seed)
	for _, part := range parts {
		_, _ = h.WriteString(part) // never fails
		_ = h.WriteByte(0)
	}
	return h.Sum64()
}

// share returns the number of terms, for one more record.
func (t *Table) share(s Terms) uint32 {
	number, ok := t.numbers[s]
	if !ok {
		number = t.shared.Add(sharedTerms{Terms: s})
		if number > maxTerms {
			panic("records: too many different terms")
		}
		t.numbers[s] = number
	}
	t.shared.At(number).users++
	return number
}

// unshare is called when a record gives its terms up.
func (t *Table) unshare(number uint32) {
	s := t.shared.At(number)
	if s.users--; s.users == 0 {
		delete(t.numbers, s.Terms)
		t.shared.Drop(number)
	}
}
