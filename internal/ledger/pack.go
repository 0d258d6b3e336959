// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"cmp"
	"encoding/binary"
	"encoding/hex"
	"math"
	"net/netip"
	"strconv"
	"strings"

	"k8s.io/apimachinery/pkg/types"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// row is a record, packed: 56 bytes without pointers. It has room for what nearly all records are: UIDs that are UUIDs, a
// version that is a number and that of the creation, a name that follows from the claim's, nothing released. A record that is
// otherwise is odd, and has in its text what does not fit here. Nothing is lost: unpacked, a record is what it was.
type row struct {
	uid, claimUID [16]byte
	version       [6]byte
	bits, words   uint8
	// address is that of IPv4, or the number of one of IPv6.
	address uint32
	// text is the name of the claim; of an odd record, the rest comes before it. It has so many words, but for the padding.
	text uint32
	seen int32
	// terms are the number of the terms, 22 bits, and how many bytes of the text are padding.
	terms [3]byte
	flags rowFlags
}

// word is how many bytes a text is filled up to a multiple of.
const word = 4

type rowFlags uint8

const (
	odd rowFlags = 1 << iota
	isWide
	isForeign
	isTerminating
	isConfirmed
	isOwned
	hasLeft
	hasWon
)

// The text of an odd record begins with a byte that says what follows.
const (
	oddName byte = 1 << iota
	oddUID
	oddClaimUID
	oddVersion
	otherCreation
	release
	furtherFlags
	retention // nothing follows for it
)

// Further flags, which few records have.
const (
	isArrived byte = 1 << iota
	isMoving
)

// maxText is how long a record's text may be. The API server lets none become so long.
const maxText = math.MaxUint8 * word

// maxTerms is how many different terms there may be: as many as there are namespaces, times the pools that are used in each.
const maxTerms = 1<<22 - 1

// textLength bounds the text of a record.
func (r *record) textLength() int {
	const lengths = 64 // of the texts, each before its own
	return len(r.key.Name) + len(r.uid) + len(r.claim.UID) + len(r.version) + len(r.created) + len(r.claim.Name) + lengths
}

// terms are what many records have in common.
type terms struct {
	role           roleOf
	space          *space
	pool           *poolEntry
	purpose        ipamv1.AllocationPurpose
	namespace      string
	instance       string
	group, kind    string
	claimNamespace string
}

func termsOf(r *record) terms {
	return terms{
		role: r.role, space: r.space, pool: r.pool, purpose: r.purpose, namespace: r.key.Namespace, instance: r.instance,
		group: r.claim.APIGroup, kind: r.claim.Kind, claimNamespace: r.claim.Namespace,
	}
}

func (s *terms) isBlock() bool { return isBlock(s.purpose) }

// pack writes a record into its row, which must be clear.
func (t *table) pack(r *record) {
	w := t.rows.At(uint32(r.handle))
	w.seen = int32(r.seen)        //nolint:gosec // seconds of one process
	w.bits = uint8(r.cidr.Bits()) //nolint:gosec // at most 128
	w.flags = flagsOf(r)
	if address := r.cidr.Addr(); address.Is4() {
		b := address.As4()
		w.address = binary.BigEndian.Uint32(b[:])
	} else {
		w.address = t.wide.Add(address.As16())
		w.flags |= isWide
	}
	text := t.packTexts(w, r)
	padding := -len(text) & (word - 1)
	text = append(text, make([]byte, padding)...)
	w.text, w.words = t.texts.Add(text), uint8(len(text)/word) //nolint:gosec // decode and find have bounded it
	number := t.share(termsOf(r))<<2 | uint32(padding)
	copy(w.terms[:], binary.BigEndian.AppendUint32(nil, number)[1:])
}

func (w *row) termsNumber() uint32 {
	return (uint32(w.terms[0])<<16 | uint32(w.terms[1])<<8 | uint32(w.terms[2])) >> 2
}

// length is how many bytes the text of a record has.
func (w *row) length() int { return int(w.words)*word - int(w.terms[2]&(word-1)) }

// clear gives up what a row holds outside of itself.
func (t *table) clear(h handle) {
	w := t.rows.At(uint32(h))
	t.unshare(w.termsNumber())
	t.texts.Drop(w.text, int(w.words)*word)
	if w.flags&isWide != 0 {
		t.wide.Drop(w.address)
	}
	*w = row{}
}

func flagsOf(r *record) rowFlags {
	var flags rowFlags
	set := func(flag rowFlags, isSet bool) {
		if isSet {
			flags |= flag
		}
	}
	set(isForeign, r.foreign)
	set(isTerminating, r.terminating)
	set(isConfirmed, r.confirmed)
	set(isOwned, r.owned)
	set(hasLeft, r.left)
	set(hasWon, r.won)
	return flags
}

func furtherFlagsOf(r *record) byte {
	var flags byte
	if r.arrived {
		flags |= isArrived
	}
	if r.moving {
		flags |= isMoving
	}
	return flags
}

// packTexts packs what is text in a record, and returns what does not fit into the row.
func (t *table) packTexts(w *row, r *record) []byte {
	text := []byte{0}
	add := func(what byte, s string) {
		text[0] |= what
		text = append(binary.AppendUvarint(text, uint64(len(s))), s...)
	}
	if r.key.Name != nameFor(r.role, r.claim) && r.role == stored {
		add(oddName, r.key.Name)
	}
	if !packUUID(&w.uid, string(r.uid)) {
		add(oddUID, string(r.uid))
	}
	if !packUUID(&w.claimUID, r.claim.UID) {
		add(oddClaimUID, r.claim.UID)
	}
	if !packNumber(&w.version, r.version) {
		add(oddVersion, r.version)
	}
	if r.created != r.version {
		add(otherCreation, r.created)
	}
	if r.releasedAt != 0 {
		add(release, strconv.FormatInt(r.releasedAt, 10))
	}
	if flags := furtherFlagsOf(r); flags != 0 {
		add(furtherFlags, string([]byte{flags}))
	}
	if r.retained {
		text[0] |= retention
	}
	if text[0] == 0 {
		return []byte(r.claim.Name)
	}
	w.flags |= odd
	return append(text, r.claim.Name...)
}

// odds are what the text of a record says.
type odds struct {
	what                                                     byte
	name, uid, claimUID, version, created, releasedAt, flags string
	claim                                                    []byte
}

// fields are in the order of the bits that say whether they are there.
func (o *odds) fields() [7]*string {
	return [...]*string{&o.name, &o.uid, &o.claimUID, &o.version, &o.created, &o.releasedAt, &o.flags}
}

func (o *odds) has(what byte) bool { return o.what&what != 0 }

// read takes the text of a record apart.
func (t *table) read(w *row) odds {
	rest := t.texts.At(w.text, int(w.words)*word)[:w.length()]
	if w.flags&odd == 0 {
		return odds{claim: rest}
	}
	o := odds{what: rest[0]}
	rest = rest[1:]
	for i, field := range o.fields() {
		if o.has(1 << i) {
			length, n := binary.Uvarint(rest)
			end := n + int(length) //nolint:gosec // packTexts has written it
			*field, rest = string(rest[n:end]), rest[end:]
		}
	}
	o.claim = rest
	return o
}

// get unpacks a record.
func (t *table) get(h handle) *record {
	w, s := t.rows.At(uint32(h)), t.shared(h)
	o := t.read(w)
	r := &record{
		handle: h, role: s.role, cidr: t.cidr(h), space: s.space, pool: s.pool, purpose: s.purpose, instance: s.instance,
		claim: ipamv1.ClaimReference{APIGroup: s.group, Kind: s.kind, Namespace: s.claimNamespace, Name: string(o.claim)},
		seen:  int64(w.seen), terminating: w.has(isTerminating), confirmed: w.has(isConfirmed), owned: w.has(isOwned),
		left: w.has(hasLeft), won: w.has(hasWon), retained: o.has(retention),
	}
	r.claim.UID = cmp.Or(o.claimUID, unpackUUID(w.claimUID))
	r.uid = types.UID(cmp.Or(o.uid, unpackUUID(w.uid)))
	r.version = cmp.Or(o.version, unpackNumber(w.version))
	r.foreign = w.has(isForeign)
	if r.created = o.created; !o.has(otherCreation) {
		r.created = r.version
	}
	if o.has(release) {
		r.releasedAt, _ = strconv.ParseInt(o.releasedAt, 10, 64)
	}
	if o.has(furtherFlags) {
		r.arrived, r.moving = o.flags[0]&isArrived != 0, o.flags[0]&isMoving != 0
	}
	r.key = types.NamespacedName{Namespace: s.namespace, Name: o.name}
	if !o.has(oddName) {
		r.key.Name = nameFor(r.role, r.claim)
	}
	return r
}

func (w *row) has(flag rowFlags) bool { return w.flags&flag != 0 }

// shared returns the terms of a record.
func (t *table) shared(h handle) *terms { return &t.terms.At(t.rows.At(uint32(h)).termsNumber()).terms }

// cidr returns the prefix of a record.
func (t *table) cidr(h handle) netip.Prefix {
	w := t.rows.At(uint32(h))
	if w.has(isWide) {
		return netip.PrefixFrom(netip.AddrFrom16(*t.wide.At(w.address)), int(w.bits))
	}
	return netip.PrefixFrom(netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, w.address))), int(w.bits))
}

// nameOf returns the name of a record.
func (t *table) nameOf(h handle) string {
	w, s := t.rows.At(uint32(h)), t.shared(h)
	o := t.read(w)
	if o.has(oddName) {
		return o.name
	}
	return nameFor(s.role, ipamv1.ClaimReference{Name: string(o.claim), UID: cmp.Or(o.claimUID, unpackUUID(w.claimUID))})
}

func (t *table) isClaimNamed(h handle, name string) bool {
	return string(t.read(t.rows.At(uint32(h))).claim) == name
}

// nameFor is the name that nearly every record for the claim has. What is no record has none.
func nameFor(role roleOf, claim ipamv1.ClaimReference) string {
	if role != stored {
		return ""
	}
	return recordName(claim.Name, claim.UID)
}

// packUUID packs a UUID as the API server writes them, or the empty text, and says whether it is one of these.
func packUUID(to *[16]byte, text string) bool {
	plain := strings.ReplaceAll(text, "-", "")
	if len(plain) == hex.EncodedLen(len(to)) {
		_, _ = hex.Decode(to[:], []byte(plain)) // what is not hexadecimal does not come out as it went in
	}
	if unpackUUID(*to) == text {
		return true
	}
	*to = [16]byte{}
	return false
}

func unpackUUID(from [16]byte) string {
	if from == [16]byte{} {
		return ""
	}
	text := make([]byte, 0, 36)
	for _, part := range [][]byte{from[:4], from[4:6], from[6:8], from[8:10], from[10:]} {
		text = append(hex.AppendEncode(text, part), '-')
	}
	return string(text[:36])
}

// packNumber packs a number without leading zeros, or the empty text, and says whether it is one of these.
func packNumber(to *[6]byte, text string) bool {
	n, err := strconv.ParseUint(text, 10, 8*len(to))
	copy(to[:], binary.BigEndian.AppendUint64(nil, n)[8-len(to):])
	if (err == nil || text == "") && unpackNumber(*to) == text {
		return true
	}
	*to = [6]byte{}
	return false
}

func unpackNumber(from [6]byte) string {
	if from == [6]byte{} {
		return ""
	}
	return strconv.FormatUint(binary.BigEndian.Uint64(append(make([]byte, 8-len(from), 8), from[:]...)), 10)
}
