// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"strings"
	"testing"
	"unicode/utf8"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/providers/openstack/neutron"
)

const (
	poolKey  = "0b1ff6e7-6d5d-4b8c-8c1f-9a4c5a3f0e11"
	claimUID = "5f3c2a10-1111-4222-8333-444455556666"
)

func TestDescriptions(t *testing.T) {
	t.Parallel()
	claim := ipamv1.ClaimReference{Namespace: "default", Name: "server-0-floating-ip-address", UID: claimUID}
	long := claim
	long.Namespace, long.Name = strings.Repeat("s", 63), strings.Repeat("n", 253)
	for name, test := range map[string]struct {
		claim ipamv1.ClaimReference
		want  string
	}{
		"of a claim": {claim, "weir/1/" + poolKey + "/" + claimUID + "/default/server-0-floating-ip-address"},
		"of the longest name": {
			long, ("weir/1/" + poolKey + "/" + claimUID + "/" + long.Namespace + "/" + long.Name)[:neutron.MaxDescription],
		},
	} {
		got, err := describe(poolKey, test.claim)
		if err != nil || got != test.want {
			t.Errorf("%s: %q, %v", name, got, err)
		}
		if id, ok := parse(got); !ok || id != (identity{poolKey, claimUID, false}) {
			t.Errorf("%s is read as %v, %t", name, id, ok)
		}
	}
	borrowed, err := describeLent(poolKey, claim)
	if err != nil || borrowed != "weir/1/"+poolKey+"/"+claimUID+"/+/default/server-0-floating-ip-address" {
		t.Errorf("lent: %q, %v", borrowed, err)
	}
	if id, ok := parse(borrowed); !ok || id != (identity{poolKey, claimUID, true}) {
		t.Errorf("lent is read as %v, %t", id, ok)
	}
	if id, ok := parse(describeFree(poolKey)); !ok || id != (identity{poolKey, free, false}) || describeFree(poolKey) != "weir/1/"+poolKey+"/-" {
		t.Errorf("free is read as %v, %t", id, ok)
	}
}

// TestDescriptionsOfOthers: what is nearly Weir's is somebody else's.
func TestDescriptionsOfOthers(t *testing.T) {
	t.Parallel()
	for _, text := range []string{
		"", "office", "weir", "weir/1", "weir/1/", "weir/1//", "weir/1/key", "weir/1/key/", "weir/1//uid", "weir/2/key/uid", "Weir/1/key/uid",
		" weir/1/key/uid", "weir/1/key /uid", "weir/1/key/uid ", "weir/1/key/ü", "weir/1/key/" + strings.Repeat("u", 121),
		"weir/1/key/uid\n/namespace",
	} {
		if id, ok := parse(text); ok {
			t.Errorf("%q is read as %v", text, id)
		}
	}
}

func TestWhatCannotBeDescribed(t *testing.T) {
	t.Parallel()
	for _, fields := range [][2]string{
		{"", claimUID}, {poolKey, ""}, {poolKey, free}, {"a/b", claimUID}, {poolKey, "a/b"}, {poolKey, "a b"}, {"ü", claimUID},
		{strings.Repeat("k", 121), claimUID}, {poolKey, strings.Repeat("u", 121)},
	} {
		if text, err := describe(fields[0], ipamv1.ClaimReference{UID: fields[1]}); err == nil {
			t.Errorf("%q: %q", fields, text)
		}
	}
}

// FuzzDescription: what can be described is read again as the very same, fits into Neutron, and
// what is read says nothing that cannot be described.
func FuzzDescription(f *testing.F) {
	f.Add(poolKey, claimUID, "default", "server-0")
	f.Add("k", "-", "", "")
	f.Add("a/b", "u", "n/s", "é")
	f.Add("weir/1/", "weir/1/k/u", "-", strings.Repeat("n", 300))
	f.Fuzz(func(t *testing.T, key, uid, namespace, name string) {
		text, err := describe(key, ipamv1.ClaimReference{Namespace: namespace, Name: name, UID: uid})
		if err == nil {
			if id, ok := parse(text); !ok || id.key != key || id.owner != uid {
				t.Errorf("%q is read as %v, %t", text, id, ok)
			}
			if n := utf8.RuneCountInString(text); n > neutron.MaxDescription {
				t.Errorf("%q has %d characters", text, n)
			}
		}
		for _, text := range []string{key, name, descriptionPrefix + key, descriptionPrefix + key + "/" + name} {
			id, ok := parse(text)
			if !ok {
				continue
			}
			again := describeFree(id.key)
			if id.owner != free {
				if again, err = describe(id.key, ipamv1.ClaimReference{UID: id.owner}); err != nil {
					t.Errorf("%q is read as %v: %v", text, id, err)
				}
			}
			if repeated, ok := parse(again); !ok || repeated != id {
				t.Errorf("%q is read as %v, and %q as %v", text, id, again, repeated)
			}
		}
	})
}
