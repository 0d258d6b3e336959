// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package book

import (
	"testing"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/records"
)

// TestCreationIsKept: what this process has once known of a record's age, nobody's change makes it
// forget.
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
			if got := b.x.records.At(at("a")).Created; got != test.want {
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
		r, s := &records.Record{Identity: records.Identity{Created: test.r}}, &records.Record{Identity: records.Identity{Created: test.s}}
		if got := Older(r, s); got != test.want {
			t.Errorf("%q older than %q: %v", test.r, test.s, got)
		}
	}
}
