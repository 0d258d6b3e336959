// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package records

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
func plain() Record {
	claim := ipamv1.ClaimReference{APIGroup: "g", Kind: "k", Namespace: "ns", Name: "claim-1", UID: someUUID}
	return Record{
		Identity: Identity{Key: at(FirstName(claim.Name, claim.UID)), UID: otherUUID, Version: "4711", Created: "4711"},
		CIDR:     netip.MustParsePrefix("10.0.0.1/32"), Claim: claim, Purpose: ForClaim, Seen: 1_800_000_000, Instance: "m", Owned: true,
	}
}

var compareRecords = cmp.Options{
	cmp.AllowUnexported(Record{}, Identity{}), cmp.Comparer(func(a, b netip.Prefix) bool { return a == b }),
}

// wantKept inserts a record and compares with what comes out.
func wantKept(t rapid.TB, table *Table, r Record) Handle {
	t.Helper()
	table.Insert(&r)
	if diff := cmp.Diff(r, *table.Get(r.Handle), compareRecords); diff != "" {
		t.Errorf("kept as something else:\n%s", diff)
	}
	return r.Handle
}

func TestWhatIsPackedComesOut(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct {
		edit  func(r *Record)
		isOdd bool
	}{
		"a usual record":                {edit: func(*Record) {}},
		"of IPv6":                       {edit: func(r *Record) { r.CIDR = netip.MustParsePrefix("2001:db8::/64") }},
		"of the highest IPv6 address":   {edit: func(r *Record) { r.CIDR = netip.MustParsePrefix("ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff/128") }},
		"half of IPv4":                  {edit: func(r *Record) { r.CIDR = netip.MustParsePrefix("128.0.0.0/1") }},
		"the largest revision":          {edit: func(r *Record) { r.Version, r.Created = "281474976710655", "281474976710655" }},
		"a larger revision":             {edit: func(r *Record) { r.Version, r.Created = "281474976710656", "281474976710656" }, isOdd: true},
		"one of more than 64 bits":      {edit: func(r *Record) { r.Version, r.Created = "18446744073709551616", "18446744073709551616" }, isOdd: true},
		"a revision with a zero before": {edit: func(r *Record) { r.Version, r.Created = "04711", "04711" }, isOdd: true},
		"the revision 0":                {edit: func(r *Record) { r.Version, r.Created = "0", "0" }, isOdd: true},
		"a revision that is no number":  {edit: func(r *Record) { r.Version, r.Created = "+1", "+1" }, isOdd: true},
		"no revision":                   {edit: func(r *Record) { r.Version, r.Created = "", "" }},
		"changed since its creation":    {edit: func(r *Record) { r.Created = "99" }, isOdd: true},
		"it has arrived":                {edit: func(r *Record) { r.Restored = true }, isOdd: true},
		"it moves, released":            {edit: func(r *Record) { r.Moving, r.ReleasedAt, r.Retained = true, 7, true }, isOdd: true},
		"of a claim of two names":       {edit: func(r *Record) { r.Alias = "host-1-pool" }, isOdd: true},
		"of the longest alias, back": {edit: func(r *Record) {
			r.Alias, r.Restored, r.ReleasedAt = strings.Repeat("h", ipamv1.MaxClaimAlias), true, 7
		}, isOdd: true},
		"of unknown age":             {edit: func(r *Record) { r.Created = "" }, isOdd: true},
		"a UID in capitals":          {edit: func(r *Record) { r.UID = types.UID(strings.ToUpper(otherUUID)) }, isOdd: true},
		"a UID that is none":         {edit: func(r *Record) { r.UID = "uid of a" }, isOdd: true},
		"a UID of other groups":      {edit: func(r *Record) { r.UID = "7f9c2ba4e88f-4e5b-8a3e-5f1d-2c3b4a59" }, isOdd: true},
		"a UID without groups":       {edit: func(r *Record) { r.UID = "7f9c2ba4e88f4e5b8a3e5f1d2c3b4a59" }, isOdd: true},
		"the UID of zeros":           {edit: func(r *Record) { r.UID = "00000000-0000-0000-0000-000000000000" }, isOdd: true},
		"a UID of dashes":            {edit: func(r *Record) { r.UID = types.UID(strings.Repeat("-", 36)) }, isOdd: true},
		"no UID":                     {edit: func(r *Record) { r.UID = "" }},
		"a claim's UID that is none": {edit: func(r *Record) { r.Claim.UID = "1"; r.Key.Name = FirstName("claim-1", "1") }, isOdd: true},
		"a claim's UID of 128 letters": {edit: func(r *Record) {
			r.Claim.UID = strings.Repeat("ü", 64)
			r.Key.Name = FirstName("claim-1", r.Claim.UID)
		}, isOdd: true},
		"a second attempt":            {edit: func(r *Record) { r.Key.Name += "-abcdefgh" }, isOdd: true},
		"another name":                {edit: func(r *Record) { r.Key.Name = "by-hand" }, isOdd: true},
		"a name in another namespace": {edit: func(r *Record) { r.Key.Namespace = "weir-system" }},
		"a claim of a long name": {edit: func(r *Record) {
			r.Claim.Name = strings.Repeat("a", 253)
			r.Key.Name = FirstName(r.Claim.Name, r.Claim.UID)
		}},
		"a claim's name that is no ASCII": {edit: func(r *Record) {
			r.Claim.Name = "übergröße-\x00-" + strings.Repeat("ß", 120)
			r.Key.Name = FirstName(r.Claim.Name, r.Claim.UID)
		}},
		"a claim without a name": {edit: func(r *Record) { r.Claim.Name = ""; r.Key.Name = FirstName("", r.Claim.UID) }},
		"released":               {edit: func(r *Record) { r.ReleasedAt = 1_800_000_001 }, isOdd: true},
		"released before 1970":   {edit: func(r *Record) { r.ReleasedAt = -1 }, isOdd: true},
		"terminating":            {edit: func(r *Record) { r.Terminating = true }},
		"confirmed":              {edit: func(r *Record) { r.Confirmed = true }},
		"retained":               {edit: func(r *Record) { r.Retained, r.ReleasedAt = true, 7 }, isOdd: true},
		"retained alone":         {edit: func(r *Record) { r.Retained = true }, isOdd: true},
		"without owners":         {edit: func(r *Record) { r.Owned = false }},
		"seen before the start":  {edit: func(r *Record) { r.Seen = -5 }},
		"left":                   {edit: func(r *Record) { r.Deleted = true }},
		"won":                    {edit: func(r *Record) { r.Won = true }},
		"of a foreign finalizer": {edit: func(r *Record) { r.Foreign = true }},
		"a mark":                 {edit: func(r *Record) { r.Role, r.Identity = Role(1), Identity{} }},
		"all at once": {edit: func(r *Record) {
			r.Key.Name, r.UID, r.Claim.UID, r.Version, r.Created, r.ReleasedAt = "n", "u", "c", "v", "", 7
			r.Terminating, r.Confirmed, r.Deleted, r.Won, r.Foreign, r.Retained = true, true, true, true, true, true
		}, isOdd: true},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			table, r := NewTable(), plain()
			test.edit(&r)
			h := wantKept(t, table, r)
			if isOdd := table.rows.At(uint32(h)).has(odd); isOdd != test.isOdd {
				t.Errorf("odd: %v, want %v", isOdd, test.isOdd)
			}
			if r.Role == Stored && (table.Find(r.Key) != h || len(table.Of(ClaimantOf(r.Claim))) != 1) {
				t.Error("is not found by its name and its claim's")
			}
		})
	}
}

// TestEveryFieldIsPacked fails when a record gets a field that the table does not know of.
func TestEveryFieldIsPacked(t *testing.T) {
	t.Parallel()
	r := plain()
	r.Role, r.Space, r.Pool = Stored, "s", poolRef("p")
	r.Foreign, r.ReleasedAt, r.Retained, r.Terminating, r.Confirmed, r.Deleted, r.Won = true, 7, true, true, true, true, true
	r.Restored, r.Moving, r.Leaves, r.Backed, r.Alias, r.Member = true, true, true, true, "a", "m"
	for _, v := range []reflect.Value{reflect.ValueOf(r), reflect.ValueOf(r.Identity), reflect.ValueOf(r.Claim)} {
		for i := range v.NumField() {
			if name := v.Type().Field(i).Name; v.Field(i).IsZero() && name != "Handle" && name != "Role" {
				t.Errorf("%s is not in this test: pack it", name)
			}
		}
	}
	wantKept(t, NewTable(), r)
}

// TestSizeOfARow keeps the promise of row's comment.
func TestSizeOfARow(t *testing.T) {
	t.Parallel()
	if size := unsafe.Sizeof(row{}); size > 60 {
		t.Errorf("a row takes %d bytes, want at most 60", size)
	}
}

// drawRecord draws a record of few names, so that many are alike, with anything in its texts.
func drawRecord(t *rapid.T) Record {
	oneOf := func(label string, usual ...string) string {
		return rapid.OneOf(rapid.SampledFrom(usual), rapid.String()).Draw(t, label)
	}
	r := Record{
		Role: Role(rapid.IntRange(0, 4).Draw(t, "role")),
		Claim: ipamv1.ClaimReference{
			APIGroup: rapid.SampledFrom([]string{"g", "h"}).Draw(t, "group"), Kind: "k",
			Namespace: rapid.SampledFrom([]string{"a", "b"}).Draw(t, "claim's namespace"),
			Name:      oneOf("claim", "c", "c-", "c.", "d"), UID: oneOf("claim's uid", someUUID, otherUUID, ""),
		},
		Purpose:    rapid.SampledFrom([]Purpose{ForClaim, ForRoot}).Draw(t, "purpose"),
		Instance:   oneOf("instance", "m", "n"),
		ReleasedAt: rapid.Int64().Draw(t, "released"), Seen: rapid.Int64Range(-1<<31, 1<<31-1).Draw(t, "seen"),
		CIDR:     rapid.SampledFrom(prefixes("10.0.0.0/8 10.0.0.1/32 ::/1 2001:db8::1/128")).Draw(t, "cidr"),
		Retained: rapid.Bool().Draw(t, "retained"), Owned: rapid.Bool().Draw(t, "owned"),
		Won: rapid.Bool().Draw(t, "won"),
	}
	r.Key.Namespace = rapid.SampledFrom([]string{"a", "b"}).Draw(t, "namespace")
	if r.Role == Stored {
		r.Key.Name = oneOf("name", FirstName(r.Claim.Name, r.Claim.UID), "x", "y")
	}
	r.UID = types.UID(oneOf("uid", someUUID, otherUUID))
	r.Version = oneOf("version", "1", "2", "10", "")
	r.Created = oneOf("created", r.Version, "1", "")
	return r
}

// TestTheTableIsAMap compares with maps of whole records, through insertions, changes and removals.
func TestTheTableIsAMap(t *testing.T) {
	t.Parallel()
	rapid.Check(t, func(t *rapid.T) {
		table, want := NewTable(), map[Handle]Record{}
		names := map[types.NamespacedName]Handle{}
		for range rapid.IntRange(1, 60).Draw(t, "steps") {
			switch known := slices.Sorted(maps.Keys(want)); {
			case len(known) > 0 && rapid.Bool().Draw(t, "remove"):
				h := rapid.SampledFrom(known).Draw(t, "which")
				if want[h].Role == Stored {
					delete(names, want[h].Key)
				}
				delete(want, h)
				table.Remove(h)
			case len(known) > 0 && rapid.Bool().Draw(t, "update"):
				h := rapid.SampledFrom(known).Draw(t, "which")
				r := drawRecord(t)
				r.Handle, r.Role, r.Key, r.Claim = h, want[h].Role, want[h].Key, want[h].Claim
				want[h] = r
				table.Update(&r)
			default:
				r := drawRecord(t)
				if _, ok := names[r.Key]; ok && r.Role == Stored {
					continue // the index has removed that one before
				}
				r.Handle = wantKept(t, table, r)
				want[r.Handle] = r
				if r.Role == Stored {
					names[r.Key] = r.Handle
				}
			}
		}
		checkTable(t, table, want)
	})
}

func checkTable(t *rapid.T, table *Table, want map[Handle]Record) {
	byClaim, size := map[pooltree.Claimant]int{}, 0
	for h, r := range want {
		if diff := cmp.Diff(r, *table.Get(h), compareRecords); diff != "" {
			t.Errorf("kept as something else:\n%s", diff)
		}
		if r.Role != Stored {
			continue
		}
		size++
		byClaim[ClaimantOf(r.Claim)]++
		if got := table.Find(r.Key); got != h {
			t.Errorf("%s is %d, want %d", r.Key, got, h)
		}
	}
	for claim, n := range byClaim {
		found := table.Of(claim)
		if len(found) != n || !slices.IsSortedFunc(found, byAge) {
			t.Errorf("%d records of claim %s, want %d, by age", len(found), claim, n)
		}
	}
	if got := len(slices.Collect(table.All())); got != size || table.Len() != size {
		t.Errorf("%d and %d records, want %d", got, table.Len(), size)
	}
	if len(want) == 0 && (table.shared.Len() != 0 || table.wide.Len() != 0 || len(table.numbers) != 0) {
		t.Errorf("an empty table keeps %d terms and %d addresses", table.shared.Len(), table.wide.Len())
	}
}

// TestRecordsOfAClaimComeByAge: who asks for one of several takes the oldest.
func TestRecordsOfAClaimComeByAge(t *testing.T) {
	t.Parallel()
	table := NewTable()
	for name, created := range map[string]string{"a": "", "b": "100", "c": "99", "d": "", "e": "100"} {
		r := plain()
		r.Key, r.Created = at(name), created
		table.Insert(&r)
	}
	got := make([]string, 0, 5)
	for _, r := range table.Of(ClaimantOf(plain().Claim)) {
		got = append(got, r.Key.Name)
	}
	if want := "c b e a d"; strings.Join(got, " ") != want {
		t.Errorf("%v, want %s", got, want)
	}
}
