// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package records

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
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
		for _, got := range []string{FirstName(name, uid), NextName(name, uid)} {
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

// TestRecordNamesAreOneClaims: the first name for a claim is always the same, so that two managers
// collide on it, and is nobody else's; the further ones differ each time.
func TestRecordNamesAreOneClaims(t *testing.T) {
	t.Parallel()
	seen := map[string]string{}
	long := strings.Repeat("a", 252)
	for _, name := range []string{"a", "a-b", "a.b", long + "a", long + "b"} {
		for _, uid := range []string{"1", "2", "3"} {
			first, claim := FirstName(name, uid), name+" "+uid
			if first != FirstName(name, uid) {
				t.Errorf("%s: two first names", claim)
			}
			for _, got := range []string{first, NextName(name, uid), NextName(name, uid)} {
				if other, ok := seen[got]; ok && uid != strings.Fields(other)[1] {
					t.Errorf("%s and %s share %q", claim, other, got)
				}
				seen[got] = claim
			}
			if a, b := NextName(name, uid), NextName(name, uid); a == b || a == first {
				t.Errorf("%s: a further name was used before: %q, %q, %q", claim, first, a, b)
			}
		}
	}
}

// TestWhatHasArrivedIsKnownWithoutTheWebhook looks at records as they are made, and as they are
// restored while Weir is down.
func TestWhatHasArrivedIsKnownWithoutTheWebhook(t *testing.T) {
	t.Parallel()
	aged := func(a *ipamv1.IPAllocation) { a.Spec.Manager.CreatedRevision = "7" }
	first := func(a *ipamv1.IPAllocation) { a.Generation = 1 }
	for sentence, test := range map[string]struct {
		edits []edit
		want  bool
	}{
		"made here":        {edits: []edit{first}},
		"written to since": {edits: []edit{aged, func(a *ipamv1.IPAllocation) { a.Generation = 2 }}},
		"restored":         {edits: []edit{first, aged}, want: true},
		"restored, and marked by the webhook": {edits: []edit{first, func(a *ipamv1.IPAllocation) {
			metav1.SetMetaDataAnnotation(&a.ObjectMeta, ipamv1.ArrivedAnnotation, "true")
		}}, want: true},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			if got := isRestored(recordNamed("a", "10.0.0.4/32", test.edits...)); got != test.want {
				t.Errorf("arrived: %t, want %t", got, test.want)
			}
		})
	}
}
