// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package move

import (
	"context"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
)

// stopped: a move while Weir is down on the source stops and frees nothing.
func stopped(ctx SpecContext) {
	t, stays := tenant{name: "interrupted", global: "interrupted"}, tenant{name: "onlookers", global: "interrupted"}
	had := settle(ctx, left, t, 2, "10.10.0.0/20")
	stays.found(ctx, left)

	By("moving without Weir on the source")
	Expect(left.manager.Kill()).To(Succeed())
	// It deletes nothing before all is on the other side, and tries each object many times.
	killAt(ctx, left, right, t.name, moment{at: left, is: to(http.MethodPatch, "/"+t.name+"/ip"), n: 8, loss: framework.RequestLost})
	Expect(outOf(records(ctx, left, t.name), t.global)).To(HaveLen(4 + 1))

	By("going on with the target, and with Weir on the source")
	unpause(ctx, right, t)
	expectArrived(ctx, right, t, had)
	Expect(left.manager.Restart(ctx)).To(Succeed())
	stays.ask(ctx, left, "new", stays.refs()[0], 5, 5)
	awaitAnswers(ctx, left, stays.name, 10)
	Expect(union(ctx)).To(BeEmpty())
	finish(ctx, left, t)
	Expect(unheld(ctx, left, t.global, had)).To(BeEmpty())
	check(ctx)
}

func unpause(ctx context.Context, s *side, t tenant) { setPaused(ctx, s, t, nil) }

func pause(ctx context.Context, s *side, t tenant) { setPaused(ctx, s, t, ptr.To(true)) }

func setPaused(ctx context.Context, s *side, t tenant, paused *bool) {
	GinkgoHelper()
	cluster := t.cluster(ctx, s)
	cluster.Spec.Paused = paused
	Expect(s.Client().Update(ctx, cluster)).To(Succeed())
}

// outOf returns the records of what came out of a GlobalIPPool.
func outOf(all []ipamv1.IPAllocation, global string) []string {
	var names []string
	for _, record := range all {
		if record.Spec.PoolRef.Kind == ipamv1.GlobalIPPoolKind && record.Spec.PoolRef.Name == global {
			names = append(names, record.Name)
		}
	}
	return names
}
