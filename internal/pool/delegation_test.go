// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package pool

import (
	"maps"
	"testing"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/poolspec"
)

// TestADelegatedPoolSaysWhoItIs: it has its own UID, whatever its manifest came with, and what selects it for propagation, at the hub alone.
func TestADelegatedPoolSaysWhoItIs(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		annotations, want map[string]string
		place             poolspec.Place
	}{
		"a new one":     {place: poolspec.Elsewhere, want: map[string]string{ipamv1.TemplateAnnotation: "edge"}},
		"made again":    {place: poolspec.Elsewhere, annotations: map[string]string{ipamv1.TemplateAnnotation: "earlier", "a": "b"}, want: map[string]string{ipamv1.TemplateAnnotation: "edge", "a": "b"}},
		"a copy":        {place: poolspec.Delegated, annotations: map[string]string{ipamv1.TemplateAnnotation: "hubs"}, want: map[string]string{ipamv1.TemplateAnnotation: "hubs"}},
		"a stray copy":  {place: poolspec.Stray, annotations: map[string]string{ipamv1.TemplateAnnotation: "hubs"}, want: map[string]string{ipamv1.TemplateAnnotation: "hubs"}},
		"not delegated": {place: poolspec.Local},
	} {
		p := delegatedPool(maps.Clone(test.annotations))
		before := p.DeepCopy()
		s := &scope{pool: p, before: before, says: poolspec.Pool{Place: test.place, DelegateTo: "edge-a"}}
		markDelegated(s)
		if !maps.Equal(p.Annotations, test.want) || !maps.Equal(before.Annotations, test.annotations) {
			t.Errorf("%s: annotations %v, before %v", name, p.Annotations, before.Annotations)
		}
		if isLabelled := p.Labels[ipamv1.DelegatedToLabel] == "edge-a"; isLabelled != (test.place == poolspec.Elsewhere) {
			t.Errorf("%s: labels %v", name, p.Labels)
		}
	}
}
