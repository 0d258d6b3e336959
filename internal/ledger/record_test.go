// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/util/validation"
	"pgregory.net/rapid"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

func TestCreationOf(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct {
		edits []edit
		want  string
	}{
		"as it was created: its own revision":        {want: "42"},
		"changed by Weir: what Weir has stored":      {edits: []edit{createdAt("7")}, want: "7"},
		"changed by Weir and others: what is stored": {edits: []edit{createdAt("7"), touched}, want: "7"},
		"changed by others alone: unknown":           {edits: []edit{touched}},
		"marked for deletion: unknown":               {edits: []edit{terminating}},
		"marked for deletion, stored by Weir":        {edits: []edit{terminating, createdAt("7")}, want: "7"},
		"without its finalizer, which somebody took: unknown": {
			edits: []edit{func(a *ipamv1.IPAllocation) { a.Finalizers = nil }},
		},
		"without its finalizer, which Weir took": {
			edits: []edit{createdAt("7"), func(a *ipamv1.IPAllocation) { a.Finalizers = nil }}, want: "7",
		},
		"without one of its owners, which the garbage collector took: unknown": {
			edits: []edit{func(a *ipamv1.IPAllocation) { a.OwnerReferences = a.OwnerReferences[:1] }},
		},
		"with the one owner of a pool's block: its own revision": {
			edits: []edit{carved("child"), func(a *ipamv1.IPAllocation) { a.OwnerReferences = a.OwnerReferences[:1] }}, want: "42",
		},
		"without managed fields: its own revision": {
			edits: []edit{func(a *ipamv1.IPAllocation) { a.ManagedFields = nil }}, want: "42",
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			a := recordNamed("a", "10.0.0.1/32", test.edits...)
			a.ResourceVersion = "42"
			if got := creationOf(a); got != test.want {
				t.Errorf("created at %q, want %q", got, test.want)
			}
		})
	}
}

// TestCreationIsKept: what this process has once known of a record's age, nobody's change makes it forget.
func TestCreationIsKept(t *testing.T) {
	t.Parallel()
	for sentence, test := range map[string]struct {
		first  []edit
		second []edit
		want   string
	}{
		"seen as created, then changed by somebody":         {second: []edit{touched}, want: "101"},
		"seen as created, then marked for deletion":         {second: []edit{terminating}, want: "101"},
		"seen as created, then taken over":                  {second: []edit{createdAt("101")}, want: "101"},
		"first seen changed, then taken over by who knew":   {first: []edit{touched}, second: []edit{touched, createdAt("90")}, want: "90"},
		"first seen changed, then changed again: not known": {first: []edit{touched}, second: []edit{touched}},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			b := newBook()
			b.put(recordNamed("a", "10.0.0.1/32", test.first...))
			b.put(recordNamed("a", "10.0.0.1/32", test.second...))
			if got := b.x.records.at(at("a")).created; got != test.want {
				t.Errorf("created at %q, want %q", got, test.want)
			}
		})
	}
}

func TestOlderIsNeverGuessed(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		r, s string
		want bool
	}{{"9", "10", true}, {"10", "9", false}, {"10", "10", false}, {"", "10", false}, {"9", "", false}, {"", "", false}, {"x", "10", false}} {
		r, s := &record{identity: identity{created: test.r}}, &record{identity: identity{created: test.s}}
		if got := r.older(s); got != test.want {
			t.Errorf("%q older than %q: %v", test.r, test.s, got)
		}
	}
}

// drawName draws what the API server accepts as a claim's name.
func drawName(t *rapid.T) string {
	name := rapid.StringMatching(`[a-z0-9]([a-z0-9.-]{0,251}[a-z0-9])?`).Draw(t, "name")
	if len(validation.IsDNS1123Subdomain(name)) > 0 {
		t.Skip("not a valid name of a claim")
	}
	return name
}

func TestRecordNamesAreValid(t *testing.T) {
	t.Parallel()
	check := func(t rapid.TB, name, uid string) {
		t.Helper()
		for _, got := range []string{recordName(name, uid), nextRecordName(name, uid)} {
			if problems := validation.IsDNS1123Subdomain(got); len(problems) > 0 {
				t.Errorf("claim %q: record %q: %v", name, got, problems)
			}
		}
	}
	for sentence, name := range map[string]string{
		"one letter":                         "a",
		"253 letters":                        strings.Repeat("a", 253),
		"labels of one letter":               strings.Repeat("a.", 126) + "a",
		"a dot where the name is cut":        strings.Repeat("a", maxNameStem-1) + "." + strings.Repeat("b", 33),
		"a dash where the name is cut":       strings.Repeat("a", maxNameStem-1) + "-" + strings.Repeat("b", 33),
		"dashes up to where the name is cut": "a" + strings.Repeat("-", maxNameStem) + strings.Repeat("b", 32),
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			check(t, name, "7f9c2ba4-e88f-4e5b-8a3e-5f1d2c3b4a59")
		})
	}
	t.Run("any", func(t *testing.T) {
		t.Parallel()
		rapid.Check(t, func(t *rapid.T) { check(t, drawName(t), rapid.String().Draw(t, "uid")) })
	})
}

// TestRecordNamesAreOneClaims: the first name for a claim is always the same, so that two managers collide on it, and is
// nobody else's; the further ones differ each time.
func TestRecordNamesAreOneClaims(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	long := strings.Repeat("a", 252)
	for _, name := range []string{"a", "a-b", "a.b", long + "a", long + "b"} {
		for _, uid := range []string{"1", "2", "3"} {
			first, claim := recordName(name, uid), name+" "+uid
			if first != recordName(name, uid) {
				t.Errorf("%s: two first names", claim)
			}
			for _, got := range []string{first, nextRecordName(name, uid), nextRecordName(name, uid)} {
				if other, ok := seen[got]; ok && uid != strings.Fields(other)[1] {
					t.Errorf("%s and %s share %q", claim, other, got)
				}
				seen[got] = claim
			}
			if a, b := nextRecordName(name, uid), nextRecordName(name, uid); a == b || a == first {
				t.Errorf("%s: a further name was used before: %q, %q, %q", claim, first, a, b)
			}
		}
	}
}
