// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package poolspec_test

import (
	"strings"
	"testing"

	"k8s.io/utils/ptr"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/poolspec"
)

func TestTemplateOfACopy(t *testing.T) {
	t.Parallel()
	const own, uid, generation = ipamv1.TemplateAnnotation, "resourcetemplate.karmada.io/uid", "resourcetemplate.karmada.io/generation"
	type annotations = map[string]string
	for name, test := range map[string]struct {
		annotations annotations
		want        string
		isKnown     bool
		generation  *int64
	}{
		"the hub's annotation":           {annotations: annotations{own: "a"}, want: "a", isKnown: true},
		"Karmada's":                      {annotations: annotations{uid: "b", generation: "7"}, want: "b", isKnown: true, generation: ptr.To(int64(7))},
		"both":                           {annotations: annotations{own: "a", uid: "b", generation: "7"}, want: "a", isKnown: true, generation: ptr.To(int64(7))},
		"none":                           {want: "copy/1"},
		"empty":                          {annotations: annotations{own: "", uid: ""}, want: "copy/1"},
		"one that no record can have":    {annotations: annotations{own: strings.Repeat("a", 129), uid: "b"}, want: "b", isKnown: true},
		"one with a space":               {annotations: annotations{own: "a b"}, want: "copy/1"},
		"one that stands for an unknown": {annotations: annotations{own: "copy/2"}, want: "copy/1"},
		"no number":                      {annotations: annotations{own: "a", generation: "x"}, want: "a", isKnown: true},
		"a negative number":              {annotations: annotations{own: "a", generation: "-1"}, want: "a", isKnown: true},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := poolspec.TemplateOf("1", test.annotations)
			if got.UID != test.want || got.IsKnown != test.isKnown || !ptr.Equal(got.Generation, test.generation) {
				t.Errorf("%+v", got)
			}
		})
	}
}
