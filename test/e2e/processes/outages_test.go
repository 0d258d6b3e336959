// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"context"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

var _ = DescribeTable("Two managers without a leader answer every claim once, and go on, when",
	func(ctx SpecContext, name string, outage func(context.Context)) {
		first, second := suite.StartManager(ctx, site), suite.StartManager(ctx, site)
		t := newTenant(ctx, name)
		t.create(ctx, "before", claimsAround/3)
		meanwhile := t.creating(ctx, "meanwhile", claimsAround/3)
		outage(ctx)
		t.create(ctx, "after", claimsAround/3)
		meanwhile.Wait()
		t.expectAnswers(ctx, claimsAround/3*3)

		By("releasing half of it, too")
		t.expectAnswers(ctx, t.deleteHalf(ctx))
		Expect(first.Running()).To(BeTrue(), "the first manager lives through it")
		Expect(second.Running()).To(BeTrue(), "the second manager lives through it")
	},
	Entry("the API server is killed and comes back", SpecTimeout(10*time.Minute), "apiserver", func(ctx context.Context) {
		Expect(site.RestartAPIServer(ctx)).To(Succeed())
	}),
	Entry("etcd is killed and comes back", SpecTimeout(10*time.Minute), "etcd", func(ctx context.Context) {
		Expect(site.RestartEtcd(ctx)).To(Succeed())
	}),
	suite.FromLong(Entry("etcd's leader is killed, another one leads, and the first comes back", SpecTimeout(10*time.Minute), "leader", func(ctx context.Context) {
		restart, err := site.KillEtcdLeader(ctx)
		Expect(err).NotTo(HaveOccurred())
		newTenant(ctx, "led-anew").create(ctx, "without", 10)
		Expect(restart(ctx)).To(Succeed())
	})),
)

// starve lets a manager run for a twentieth of the time, until ctx ends.
func starve(ctx context.Context, m *framework.Manager) {
	for ctx.Err() == nil {
		Expect(m.Pause()).To(Succeed())
		select {
		case <-ctx.Done():
		case <-time.After(190 * time.Millisecond):
		}
		Expect(m.Resume()).To(Succeed())
		time.Sleep(10 * time.Millisecond)
	}
}

var _ = It("A manager that is starved of processor time does no harm next to another one, and answers alone", func(ctx SpecContext) {
	starved, healthy := suite.StartManager(ctx, site), suite.StartManager(ctx, site)
	t := newTenant(ctx, "starved")
	starving, feed := context.WithCancel(ctx)
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		defer GinkgoRecover()
		starve(starving, starved)
	}()
	DeferCleanup(func() { feed(); <-ended })
	t.create(ctx, "together", claimsAround)
	t.expectAnswers(ctx, claimsAround)
	left := t.deleteHalf(ctx)
	t.expectAnswers(ctx, left)

	Expect(healthy.Kill()).To(Succeed())
	t.create(ctx, "alone", claimsAround/10)
	t.expectAnswers(ctx, left+claimsAround/10)
	Expect(starved.Running()).To(BeTrue())
}, SpecTimeout(10*time.Minute))
