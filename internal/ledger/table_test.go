// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"maps"
	"net/netip"
	"reflect"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/google/go-cmp/cmp"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
)

const (
	someUUID  = "7f9c2ba4-e88f-4e5b-8a3e-5f1d2c3b4a59"
	otherUUID = "00000000-0000-4000-8000-0123456789ab"
)

// plain is a record as nearly all are.
func plain() record {
	claim := ipamv1.ClaimReference{APIGroup: "g", Kind: "k", Namespace: "ns", Name: "claim-1", UID: someUUID}
	return record{
		identity: identity{key: at(recordName(claim.Name, claim.UID)), uid: otherUUID, version: "4711", created: "4711"},
		cidr:     netip.MustParsePrefix("10.0.0.1/32"), claim: claim, purpose: ipamv1.ClaimPurpose, seen: 1_800_000_000, instance: "m", owned: true,
	}
}

var compareRecords = cmp.Options{
	cmp.AllowUnexported(record{}, identity{}), cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }),
	cmp.Comparer(func(a, b *space) bool { return a == b }), cmp.Comparer(func(a, b *poolEntry) bool { return a == b }),
}

// wantKept inserts a record and compares with what comes out.
func wantKept(t rapid.TB, table *table, r record) handle {
	t.Helper()
	table.insert(&r)
	if diff := cmp.Diff(r, *table.get(r.handle), compareRecords); diff != "" {
		t.Errorf("kept as something else:\n%s", diff)
	}
	return r.handle
}

func TestWhatIsPackedComesOut(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct {
		edit  func(r *record)
		isOdd bool
	}{
		"a usual record":                {edit: func(*record) {}},
		"of IPv6":                       {edit: func(r *record) { r.cidr = netip.MustParsePrefix("2001:db8::/64") }},
		"of the highest IPv6 address":   {edit: func(r *record) { r.cidr = netip.MustParsePrefix("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128") }},
		"half of IPv4":                  {edit: func(r *record) { r.cidr = netip.MustParsePrefix("128.0.0.0/1") }},
		"the largest revision":          {edit: func(r *record) { r.version, r.created = "281474976710655", "281474976710655" }},
		"a larger revision":             {edit: func(r *record) { r.version, r.created = "281474976710656", "281474976710656" }, isOdd: true},
		"one of more than 64 bits":      {edit: func(r *record) { r.version, r.created = "18446744073709551616", "18446744073709551616" }, isOdd: true},
		"a revision with a zero before": {edit: func(r *record) { r.version, r.created = "04711", "04711" }, isOdd: true},
		"the revision 0":                {edit: func(r *record) { r.version, r.created = "0", "0" }, isOdd: true},
		"a revision that is no number":  {edit: func(r *record) { r.version, r.created = "+1", "+1" }, isOdd: true},
		"no revision":                   {edit: func(r *record) { r.version, r.created = "", "" }},
		"changed since its creation":    {edit: func(r *record) { r.created = "99" }, isOdd: true},
		"it has arrived":                {edit: func(r *record) { r.arrived = true }, isOdd: true},
		"it moves, released":            {edit: func(r *record) { r.moving, r.releasedAt, r.retained = true, 7, true }, isOdd: true},
		"of unknown age":                {edit: func(r *record) { r.created = "" }, isOdd: true},
		"a UID in capitals":             {edit: func(r *record) { r.uid = types.UID(strings.ToUpper(otherUUID)) }, isOdd: true},
		"a UID that is none":            {edit: func(r *record) { r.uid = "uid of a" }, isOdd: true},
		"a UID of other groups":         {edit: func(r *record) { r.uid = "7f9c2ba4e88f-4e5b-8a3e-5f1d-2c3b4a59" }, isOdd: true},
		"a UID without groups":          {edit: func(r *record) { r.uid = "7f9c2ba4e88f4e5b8a3e5f1d2c3b4a59" }, isOdd: true},
		"the UID of zeros":              {edit: func(r *record) { r.uid = "00000000-0000-0000-0000-000000000000" }, isOdd: true},
		"a UID of dashes":               {edit: func(r *record) { r.uid = types.UID(strings.Repeat("-", 36)) }, isOdd: true},
		"no UID":                        {edit: func(r *record) { r.uid = "" }},
		"a claim's UID that is none":    {edit: func(r *record) { r.claim.UID = "1"; r.key.Name = recordName("claim-1", "1") }, isOdd: true},
		"a claim's UID of 128 letters": {edit: func(r *record) {
			r.claim.UID = strings.Repeat("ü", 64)
			r.key.Name = recordName("claim-1", r.claim.UID)
		}, isOdd: true},
		"a second attempt":            {edit: func(r *record) { r.key.Name += "-abcdefgh" }, isOdd: true},
		"another name":                {edit: func(r *record) { r.key.Name = "by-hand" }, isOdd: true},
		"a name in another namespace": {edit: func(r *record) { r.key.Namespace = "weir-system" }},
		"a claim of a long name": {edit: func(r *record) {
			r.claim.Name = strings.Repeat("a", 253)
			r.key.Name = recordName(r.claim.Name, r.claim.UID)
		}},
		"a claim's name that is no ASCII": {edit: func(r *record) {
			r.claim.Name = "übergröße-\x00-" + strings.Repeat("ß", 120)
			r.key.Name = recordName(r.claim.Name, r.claim.UID)
		}},
		"a claim without a name": {edit: func(r *record) { r.claim.Name = ""; r.key.Name = recordName("", r.claim.UID) }},
		"released":               {edit: func(r *record) { r.releasedAt = 1_800_000_001 }, isOdd: true},
		"released before 1970":   {edit: func(r *record) { r.releasedAt = -1 }, isOdd: true},
		"terminating":            {edit: func(r *record) { r.terminating = true }},
		"confirmed":              {edit: func(r *record) { r.confirmed = true }},
		"retained":               {edit: func(r *record) { r.retained, r.releasedAt = true, 7 }, isOdd: true},
		"retained alone":         {edit: func(r *record) { r.retained = true }, isOdd: true},
		"without owners":         {edit: func(r *record) { r.owned = false }},
		"seen before the start":  {edit: func(r *record) { r.seen = -5 }},
		"left":                   {edit: func(r *record) { r.left = true }},
		"won":                    {edit: func(r *record) { r.won = true }},
		"of a foreign finalizer": {edit: func(r *record) { r.foreign = true }},
		"a mark":                 {edit: func(r *record) { r.role, r.identity = tentative, identity{} }},
		"all at once": {edit: func(r *record) {
			r.key.Name, r.uid, r.claim.UID, r.version, r.created, r.releasedAt = "n", "u", "c", "v", "", 7
			r.terminating, r.confirmed, r.left, r.won, r.foreign, r.retained = true, true, true, true, true, true
		}, isOdd: true},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			table, r := newTable(), plain()
			test.edit(&r)
			h := wantKept(t, table, r)
			if isOdd := table.rows.At(uint32(h)).has(odd); isOdd != test.isOdd {
				t.Errorf("odd: %v, want %v", isOdd, test.isOdd)
			}
			if r.role == stored && (table.find(r.key) != h || len(table.of(keyOf(r.claim))) != 1) {
				t.Error("is not found by its name and its claim's")
			}
		})
	}
}

// TestEveryFieldIsPacked fails when a record gets a field that the table does not know of.
func TestEveryFieldIsPacked(t *testing.T) {
	t.Parallel()
	r := plain()
	r.role, r.space, r.pool = stored, &space{name: "s"}, &poolEntry{}
	r.foreign, r.releasedAt, r.retained, r.terminating, r.confirmed, r.left, r.won = true, 7, true, true, true, true, true
	r.arrived, r.moving = true, true
	for _, v := range []reflect.Value{reflect.ValueOf(r), reflect.ValueOf(r.identity), reflect.ValueOf(r.claim)} {
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; v.Field(i).IsZero() && name != "handle" && name != "role" {
				t.Errorf("%s is not in this test: pack it", name)
			}
		}
	}
	wantKept(t, newTable(), r)
}

// TestSizeOfARow keeps the promise of row's comment.
func TestSizeOfARow(t *testing.T) {
	t.Parallel()
	if size := unsafe.Sizeof(row{}); size > 60 {
		t.Errorf("a row takes %d bytes, want at most 60", size)
	}
}

// drawRecord draws a record of few names, so that many are alike, with anything in its texts.
func drawRecord(t *rapid.T) record {
	oneOf := func(label string, usual ...string) string {
		return rapid.OneOf(rapid.SampledFrom(usual), rapid.String()).Draw(t, label)
	}
	r := record{
		role: roleOf(rapid.IntRange(0, int(kept)).Draw(t, "role")),
		claim: ipamv1.ClaimReference{
			APIGroup: rapid.SampledFrom([]string{"g", "h"}).Draw(t, "group"), Kind: "k",
			Namespace: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "claim's namespace"),
			Name:      oneOf("claim", "c", "c-", "c.", "d"), UID: oneOf("claim's uid", someUUID, otherUUID, ""),
		},
		purpose:    rapid.SampledFrom([]ipamv1.AllocationPurpose{ipamv1.ClaimPurpose, ipamv1.RootPurpose}).Draw(t, "purpose"),
		instance:   oneOf("instance", "m", "n"),
		releasedAt: rapid.Int64().Draw(t, "released"), seen: rapid.Int64Range(-1<<31, 1<<31-1).Draw(t, "seen"),
		cidr:     rapid.SampledFrom(prefixes("10.0.0.0/8 10.0.0.1/32 ::/1 2001:db8::1/128")).Draw(t, "cidr"),
		retained: rapid.Bool().Draw(t, "retained"), owned: rapid.Bool().Draw(t, "owned"),
		won: rapid.Bool().Draw(t, "won"), terminating: rapid.Bool().Draw(t, "terminating"),
	}
	r.key.Namespace = rapid.SampledFrom([]string{"a", "b"}).Draw(t, "namespace")
	if r.role == stored {
		r.key.Name = oneOf("name", recordName(r.claim.Name, r.claim.UID), "x", "y")
	}
	r.uid = types.UID(oneOf("uid", someUUID, otherUUID))
	r.version = oneOf("version", "1", "2", "10", "")
	r.created = oneOf("created", r.version, "1", "")
	return r
}

// TestTheTableIsAMap compares with maps of whole records, through insertions, changes and removals.
func TestTheTableIsAMap(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		table, want := newTable(), map[handle]record{}
		names := map[types.NamespacedName]handle{}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch known := slices.Sorted(maps.Keys(want)); {
			case len(known) > 0 && rapid.Bool().Draw(t, "remove"):
				h := rapid.SampledFrom(known).Draw(t, "which")
				if want[h].role == stored {
					delete(names, want[h].key)
				}
				delete(want, h)
				table.remove(h)
			case len(known) > 0 && rapid.Bool().Draw(t, "update"):
				h := rapid.SampledFrom(known).Draw(t, "which")
				r := drawRecord(t)
				r.handle, r.role, r.key, r.claim = h, want[h].role, want[h].key, want[h].claim
				want[h] = r
				table.update(&r)
			default:
				r := drawRecord(t)
				if _, ok := names[r.key]; ok && r.role == stored {
					continue // the index has removed that one before
				}
				r.handle = wantKept(t, table, r)
				want[r.handle] = r
				if r.role == stored {
					names[r.key] = r.handle
				}
			}
		}
		checkTable(t, table, want)
	})
}

func checkTable(t *rapid.T, table *table, want map[handle]record) {
	byClaim, size := map[pooltree.Claimant]int{}, 0
	for h, r := range want {
		if diff := cmp.Diff(r, *table.get(h), compareRecords); diff != "" {
			t.Errorf("kept as something else:\n%s", diff)
		}
		if r.role != stored {
			continue
		}
		size++
		byClaim[keyOf(r.claim)]++
		if got := table.find(r.key); got != h {
			t.Errorf("%s is %d, want %d", r.key, got, h)
		}
	}
	for claim, n := range byClaim {
		found := table.of(claim)
		if len(found) != n || !slices.IsSortedFunc(found, byAge) {
			t.Errorf("%d records of claim %s, want %d, by age", len(found), claim, n)
		}
	}
	if got := len(slices.Collect(table.all())); got != size || table.size() != size {
		t.Errorf("%d and %d records, want %d", got, table.size(), size)
	}
	if len(want) == 0 && (table.terms.Len() != 0 || table.wide.Len() != 0 || len(table.numbers) != 0) {
		t.Errorf("an empty table keeps %d terms and %d addresses", table.terms.Len(), table.wide.Len())
	}
}

// TestRecordsOfAClaimComeByAge: who asks for one of several takes the oldest.
func TestRecordsOfAClaimComeByAge(t *testing.T) {
	t.Parallel()
	table := newTable()
	for name, created := range map[string]string{"a": "", "b": "100", "c": "99", "d": "", "e": "100"} {
		r := plain()
		r.key, r.created = at(name), created
		table.insert(&r)
	}
	got := make([]string, 0, 5)
	for _, r := range table.of(keyOf(plain().claim)) {
		got = append(got, r.key.Name)
	}
	if want := "c b e a d"; strings.Join(got, " ") != want {
		t.Errorf("%v, want %s", got, want)
	}
}

func TestARecordWithTooMuchTextBreaksTheIndex(t *testing.T) {
	t.Parallel()
	b := newBook()
	b.put(recordNamed("a", "10.0.0.1/32", withUID(types.UID(strings.Repeat("u", maxText)))))
	if len(b.broken) != 1 || !strings.Contains(b.broken[0].Error(), "ns/a: its names are too long") {
		t.Errorf("reported %v", b.broken)
	}
}
