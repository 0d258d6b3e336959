// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package records

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

// row is a record, packed: 56 bytes without pointers. It has room for what nearly all records are:
// UIDs that are UUIDs, a version that is a number and that of the creation, a name that follows
// from the claim's, nothing released. A record that is otherwise is odd, and has in its text what
// does not fit here. Nothing is lost: unpacked, a record is what it was.
type row struct {
	uid, claimUID [16]byte
	version       [6]byte
	bits, words   uint8
	// address is that of IPv4, or the number of one of IPv6.
	address uint32
	// text is the name of the claim; of an odd record, the rest comes before it. It has so many
	// words, but for the padding.
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
	further   // a byte of flags, and the alias
	retention // nothing follows for it
)

// Further flags, which few records have; as few have an alias.
const (
	isArrived byte = 1 << iota
	isMoving
	isLeaving
	isBacked
)

// maxText is how long a record's text may be. The API server lets none become so long.
const maxText = math.MaxUint8 * word

// maxTerms is how many different terms there may be: as many as there are namespaces, times the
// pools that are used in each.
const maxTerms = 1<<22 - 1

// textLength bounds the text of a record.
func (r *Record) textLength() int {
	const lengths = 64 // of the texts, each before its own
	return len(r.Key.Name) + len(r.UID) + len(r.Claim.UID) + len(r.Version) + len(r.Created) + len(r.Claim.Name) + len(r.Alias) + lengths
}

// IsTooLong says whether a row has no room for the names of the record.
func (r *Record) IsTooLong() bool { return r.textLength() > maxText }

// Terms are what many records have in common.
type Terms struct {
	Role           Role
	Space          string
	Pool           ipamv1.PoolReference
	Purpose        Purpose
	Namespace      string
	Instance       string
	Group, Kind    string
	ClaimNamespace string
	Member         string
}

func termsOf(r *Record) Terms {
	return Terms{
		Role: r.Role, Space: r.Space, Pool: r.Pool, Purpose: r.Purpose, Namespace: r.Key.Namespace, Instance: r.Instance,
		Group: r.Claim.APIGroup, Kind: r.Claim.Kind, ClaimNamespace: r.Claim.Namespace, Member: r.Member,
	}
}

// pack writes a record into its row, which must be clear.
func (t *Table) pack(r *Record) {
	w := t.rows.At(uint32(r.Handle))
	w.seen = int32(r.Seen)        //nolint:gosec // seconds of one process
	w.bits = uint8(r.CIDR.Bits()) //nolint:gosec // at most 128
	w.flags = flagsOf(r)
	if address := r.CIDR.Addr(); address.Is4() {
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
func (t *Table) clear(h Handle) {
	w := t.rows.At(uint32(h))
	t.unshare(w.termsNumber())
	t.texts.Drop(w.text, int(w.words)*word)
	if w.flags&isWide != 0 {
		t.wide.Drop(w.address)
	}
	*w = row{}
}

func flagsOf(r *Record) rowFlags {
	var flags rowFlags
	set := func(flag rowFlags, isSet bool) {
		if isSet {
			flags |= flag
		}
	}
	set(isForeign, r.Foreign)
	set(isTerminating, r.Terminating)
	set(isConfirmed, r.Confirmed)
	set(isOwned, r.Owned)
	set(hasLeft, r.Deleted)
	set(hasWon, r.Won)
	return flags
}

func furtherFlagsOf(r *Record) byte {
	var flags byte
	if r.Restored {
		flags |= isArrived
	}
	if r.Moving {
		flags |= isMoving
	}
	if r.Leaves {
		flags |= isLeaving
	}
	if r.Backed {
		flags |= isBacked
	}
	return flags
}

// packTexts packs what is text in a record, and returns what does not fit into the row.
func (t *Table) packTexts(w *row, r *Record) []byte {
	text := []byte{0}
	add := func(what byte, s string) {
		text[0] |= what
		text = append(binary.AppendUvarint(text, uint64(len(s))), s...)
	}
	if r.Key.Name != nameFor(r.Role, r.Claim) && r.Role == Stored {
		add(oddName, r.Key.Name)
	}
	if !packUUID(&w.uid, string(r.UID)) {
		add(oddUID, string(r.UID))
	}
	if !packUUID(&w.claimUID, r.Claim.UID) {
		add(oddClaimUID, r.Claim.UID)
	}
	if !packNumber(&w.version, r.Version) {
		add(oddVersion, r.Version)
	}
	if r.Created != r.Version {
		add(otherCreation, r.Created)
	}
	if r.ReleasedAt != 0 {
		add(release, strconv.FormatInt(r.ReleasedAt, 10))
	}
	if flags := furtherFlagsOf(r); flags != 0 || r.Alias != "" {
		add(further, string([]byte{flags})+r.Alias)
	}
	if r.Retained {
		text[0] |= retention
	}
	if text[0] == 0 {
		return []byte(r.Claim.Name)
	}
	w.flags |= odd
	return append(text, r.Claim.Name...)
}

// odds are what the text of a record says.
type odds struct {
	what                                                       byte
	name, uid, claimUID, version, created, releasedAt, further string
	claim                                                      []byte
}

// fields are in the order of the bits that say whether they are there.
func (o *odds) fields() [7]*string {
	return [...]*string{&o.name, &o.uid, &o.claimUID, &o.version, &o.created, &o.releasedAt, &o.further}
}

func (o *odds) has(what byte) bool { return o.what&what != 0 }

// read takes the text of a record apart.
func (t *Table) read(w *row) odds {
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

// Get unpacks a record.
func (t *Table) Get(h Handle) *Record {
	w, s := t.rows.At(uint32(h)), t.Terms(h)
	o := t.read(w)
	r := &Record{
		Handle: h, Role: s.Role, CIDR: t.CIDR(h), Space: s.Space, Pool: s.Pool, Purpose: s.Purpose, Member: s.Member, Instance: s.Instance,
		Claim: ipamv1.ClaimReference{APIGroup: s.Group, Kind: s.Kind, Namespace: s.ClaimNamespace, Name: string(o.claim)},
		Seen:  int64(w.seen), Confirmed: w.has(isConfirmed), Owned: w.has(isOwned),
		Deleted: w.has(hasLeft), Won: w.has(hasWon), Retained: o.has(retention),
	}
	r.Claim.UID = cmp.Or(o.claimUID, unpackUUID(w.claimUID))
	r.UID = types.UID(cmp.Or(o.uid, unpackUUID(w.uid)))
	r.Version = cmp.Or(o.version, unpackNumber(w.version))
	r.Foreign, r.Terminating = w.has(isForeign), w.has(isTerminating)
	if r.Created = o.created; !o.has(otherCreation) {
		r.Created = r.Version
	}
	if o.has(release) {
		r.ReleasedAt, _ = strconv.ParseInt(o.releasedAt, 10, 64)
	}
	if o.has(further) {
		flags := o.further[0]
		r.Restored, r.Moving, r.Leaves = flags&isArrived != 0, flags&isMoving != 0, flags&isLeaving != 0
		r.Backed, r.Alias = flags&isBacked != 0, o.further[1:]
	}
	r.Key = types.NamespacedName{Namespace: s.Namespace, Name: o.name}
	if !o.has(oddName) {
		r.Key.Name = nameFor(r.Role, r.Claim)
	}
	return r
}

func (w *row) has(flag rowFlags) bool { return w.flags&flag != 0 }

// Terms returns the terms of a record.
func (t *Table) Terms(h Handle) *Terms { return &t.shared.At(t.rows.At(uint32(h)).termsNumber()).Terms }

// CIDR returns the prefix of a record.
func (t *Table) CIDR(h Handle) netip.Prefix {
	w := t.rows.At(uint32(h))
	if w.has(isWide) {
		return netip.PrefixFrom(netip.AddrFrom16(*t.wide.At(w.address)), int(w.bits))
	}
	return netip.PrefixFrom(netip.AddrFrom4([4]byte(binary.BigEndian.AppendUint32(nil, w.address))), int(w.bits))
}

// nameOf returns the name of a record.
func (t *Table) nameOf(h Handle) string {
	w, s := t.rows.At(uint32(h)), t.Terms(h)
	o := t.read(w)
	if o.has(oddName) {
		return o.name
	}
	return nameFor(s.Role, ipamv1.ClaimReference{Name: string(o.claim), UID: cmp.Or(o.claimUID, unpackUUID(w.claimUID))})
}

func (t *Table) isClaimNamed(h Handle, name string) bool {
	return string(t.read(t.rows.At(uint32(h))).claim) == name
}

// nameFor is the name that nearly every record for the claim has. What is no record has none.
func nameFor(role Role, claim ipamv1.ClaimReference) string {
	if role != Stored {
		return ""
	}
	return FirstName(claim.Name, claim.UID)
}

// packUUID packs a UUID as the API server writes them, or the empty text, and says whether it is
// one of these.
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

// packNumber packs a number without leading zeros, or the empty text, and says whether it is one of
// these.
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
