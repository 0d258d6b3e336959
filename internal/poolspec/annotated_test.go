// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package poolspec_test

import (
	"strings"
	"testing"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/poolspec"
)

func TestAnnotatedParentAndSpace(t *testing.T) {
	t.Parallel()
	keys := poolspec.Annotations{Space: "space", Parent: "parent"}
	for sentence, test := range map[string]struct {
		annotations map[string]string
		parent      string
		// errs are what the mistakes begin with.
		errs []string
	}{
		"none":                     {},
		"a space":                  {annotations: map[string]string{"space": "rack-7"}},
		"an empty space is none":   {annotations: map[string]string{"space": ""}},
		"a space of a pool's own":  {annotations: map[string]string{"space": "in-cluster/a/p"}, errs: []string{"metadata.annotations[space]: Invalid value"}},
		"a parent":                 {annotations: map[string]string{"parent": "GlobalIPPool/hosts.dc-1"}, parent: "hosts.dc-1"},
		"a parent of another kind": {annotations: map[string]string{"parent": "IPPool/hosts"}, errs: []string{"metadata.annotations[parent]: Invalid value"}},
		"an empty one":             {annotations: map[string]string{"parent": ""}, errs: []string{"metadata.annotations[parent]: Invalid value"}},
		"one without a name":       {annotations: map[string]string{"parent": "GlobalIPPool/"}, errs: []string{"metadata.annotations[parent]: Invalid value"}},
		"one with a namespace":     {annotations: map[string]string{"parent": "GlobalIPPool/a/b"}, errs: []string{"metadata.annotations[parent]: Invalid value"}},
		"both": {
			annotations: map[string]string{"parent": "GlobalIPPool/hosts", "space": "rack-7"}, parent: "hosts",
			errs: []string{"metadata.annotations[space]: Forbidden"},
		},
		"both, and neither can be": {
			annotations: map[string]string{"parent": "IPPool/hosts", "space": "A"},
			errs:        []string{"metadata.annotations[space]: Invalid value", "metadata.annotations[parent]: Invalid value", "metadata.annotations[space]: Forbidden"},
		},
	} {
		t.Run(sentence, func(t *testing.T) {
			t.Parallel()
			parent, ok := keys.ParentOf(test.annotations)
			if parent.Name != test.parent || ok != (test.parent != "") || ok && parent.Kind != "GlobalIPPool" {
				t.Errorf("parent %+v", parent)
			}
			errs := keys.Check(test.annotations)
			if len(errs) != len(test.errs) {
				t.Fatalf("got %v, want %v", errs, test.errs)
			}
			for i, err := range errs {
				if !strings.HasPrefix(err.Error(), test.errs[i]) {
					t.Errorf("got %v, want %s", err, test.errs[i])
				}
			}
		})
	}
}
