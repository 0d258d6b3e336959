// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package move

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// copied: what is written to a directory and created from it lives on both sides.
func copied(ctx SpecContext) {
	t, stays := tenant{name: "copied", global: "copied"}, tenant{name: "at-home", global: "copied"}
	had := settle(ctx, left, t, 7, "10.16.0.0/20")
	stays.found(ctx, left)
	setMode(ctx, left, t, ipamv1.DrainingMode)

	By("copying")
	throughDirectory(ctx, t.name)
	expectArrived(ctx, right, t, had)
	expectForeign(ctx, right, t.global)

	By("living on both sides")
	for _, s := range []*side{left, right} {
		Expect(t.cluster(ctx, s).Spec.Paused).To(BeNil())
		for _, ref := range t.refs()[1:] {
			waiting := builder.IPAddressClaim(t.name, "waiting-"+ref.Name, ref.Kind, ref.Name).WithLabel(clusterv1.ClusterNameLabel, t.name).Build()
			Expect(s.Client().Create(ctx, waiting)).To(Succeed())
			expectReason(ctx, s, waiting, ipamv1beta2.IPAddressClaimReadyPoolNotReadyReason)
			Expect(s.Client().Delete(ctx, waiting)).To(Succeed())
		}
	}
	hours(ctx, func() []string { return append(keptFor(ctx, left, t), keptFor(ctx, right, t)...) })
	stays.ask(ctx, left, "new", stays.refs()[0], 5, 5)
	awaitAnswers(ctx, left, stays.name, 10)
	for _, s := range []*side{left, right} {
		Expect(changed(had, book(ctx, s, t.name))).To(BeEmpty())
	}
	check(ctx)

	By("removing one of them")
	pause(ctx, left, t)
	finish(ctx, left, t)
	Expect(unheld(ctx, left, t.global, had)).To(BeEmpty())
	setMode(ctx, right, t, ipamv1.ServingMode)
	for _, ref := range t.refs()[1:] {
		t.ask(ctx, right, "new", ref, 1, 1)
	}
	stays.ask(ctx, left, "late", stays.refs()[0], 5, 5)
	awaitAnswers(ctx, right, t.name, len(had)+4*2)
	awaitAnswers(ctx, left, stays.name, 20)
	check(ctx)
}

// throughDirectory copies a namespace from the left to the right.
func throughDirectory(ctx context.Context, namespace string) {
	GinkgoHelper()
	directory := GinkgoT().TempDir()
	out, err := left.ctl.Run(ctx, "move", "--namespace", namespace, "--to-directory", directory)
	Expect(err).NotTo(HaveOccurred(), out)
	out, err = right.ctl.Run(ctx, "move", "--from-directory", directory)
	Expect(err).NotTo(HaveOccurred(), out)
}

// setMode sets the mode of all of a tenant's pools.
func setMode(ctx context.Context, s *side, t tenant, mode ipamv1.PoolMode) {
	GinkgoHelper()
	pools := &ipamv1.IPPoolList{}
	Expect(s.Client().List(ctx, pools, client.InNamespace(t.name))).To(Succeed())
	for i := range pools.Items {
		pool := &pools.Items[i]
		suite.Change(ctx, s.Client(), pool, func() { pool.Spec.Mode = mode })
	}
}
