// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package predicates

import (
	"testing"

	. "github.com/onsi/gomega"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/controller-runtime/pkg/event"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// What Weir itself writes on a pool while claims are answered must not wake them all.
func TestPoolChanged(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*ipamv1.IPPool)
		passes bool
	}{
		"nothing":          {func(*ipamv1.IPPool) {}, false},
		"capacity":         {func(p *ipamv1.IPPool) { p.Status.Capacity.Total = "1" }, false},
		"block-move":       {func(p *ipamv1.IPPool) { p.Annotations[clusterctlv1.BlockMoveAnnotation] = "x" }, false},
		"home":             {func(p *ipamv1.IPPool) { p.Annotations[ipamv1.HomeAnnotation] = "there" }, true},
		"home, block-move": {func(p *ipamv1.IPPool) { p.Annotations = map[string]string{clusterctlv1.BlockMoveAnnotation: "x"} }, true},
		"pause":            {func(p *ipamv1.IPPool) { p.Annotations[clusterv1.PausedAnnotation] = "" }, true},
		"project":          {func(p *ipamv1.IPPool) { p.Labels = map[string]string{ipamv1.ProjectLabel: "blue"} }, true},
		"spec":             {func(p *ipamv1.IPPool) { p.Generation++ }, true},
	} {
		t.Run(name, func(t *testing.T) {
			before := &ipamv1.IPPool{}
			before.Annotations = map[string]string{ipamv1.HomeAnnotation: "here"}
			after := before.DeepCopy()
			c.change(after)
			NewWithT(t).Expect(PoolChanged().Update(event.UpdateEvent{ObjectOld: before, ObjectNew: after})).To(Equal(c.passes))
		})
	}
}
