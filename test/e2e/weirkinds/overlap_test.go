// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package weirkinds

import (
	"context"
	"fmt"
	"net/http"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// clients create at the same moment.
const clients = 8

// rival is a root pool of either kind.
type rival interface {
	suite.Conditioned
	PoolReference() ipamv1.PoolReference
}

var _ = Describe("With two managers behind one address", Ordered, func() {
	none, all := func(int) bool { return false }, func(int) bool { return true }
	every := func(i int) bool { return i%2 == 1 }

	BeforeAll(func(ctx SpecContext) {
		second := suite.StartManager(ctx, site, "--repair-grace=3s")
		balancer, err := site.Balance(manager, second)
		Expect(err).NotTo(HaveOccurred())
		Expect(site.PointWebhooks(ctx, balancer.WebhookAddress())).To(Succeed())
		DeferCleanup(func(ctx SpecContext) {
			Expect(site.PointWebhooks(ctx, manager.WebhookAddress())).To(Succeed())
			Expect(second.Stop()).To(Succeed())
		})
	})

	DescribeTable("Of root pools that clients create at the same moment with overlapping blocks exactly one serves",
		func(ctx SpecContext, isGlobal func(int) bool, block func(i int) string) {
			s := suite.New(ctx, site)
			var mu sync.Mutex
			var stored []rival
			var done sync.WaitGroup
			for i := range clients {
				done.Go(func() {
					defer GinkgoRecover()
					name := fmt.Sprintf("rival-%d", i)
					var p rival = s.Root(name, block(i)).Build()
					if isGlobal(i) {
						p = s.GlobalRoot(name, block(i)).Build()
					}
					err := k.Create(ctx, p)
					mu.Lock()
					defer mu.Unlock()
					if err == nil {
						stored = append(stored, p)
					} else {
						Expect(err).To(suite.Refused(http.StatusUnprocessableEntity, "spec.cidr", "overlaps"))
					}
				})
			}
			done.Wait()
			winner := onlyWinner(ctx, stored)
			for _, p := range stored {
				c := s.Claim("of-"+p.GetName(), "").From(p.PoolReference().Kind, p.GetName()).Build()
				if p.GetUID() == winner.GetUID() {
					s.Create(ctx, c)
					continue
				}
				soon, cancel := context.WithTimeout(ctx, time.Second) // the client would try again for longer
				Expect(k.Create(soon, c)).NotTo(Succeed(), "it serves nothing")
				cancel()
				Expect(s.Records(ctx, p)).To(BeEmpty())
				s.Delete(ctx, p)
			}
			late := s.Root("late", "10.0.0.0/8").Build()
			Expect(k.Create(ctx, late)).To(suite.Refused(http.StatusUnprocessableEntity, "spec.cidr", "overlaps", winner.GetName()))
			late.Spec.AddressSpace = s.Namespace + "-other"
			s.Create(ctx, late)
			s.Ready(ctx, late)
		},
		Entry("IPPools of the same block", none, func(int) string { return "10.0.0.0/16" }),
		Entry("GlobalIPPools of the same block", all, func(int) string { return "10.0.0.0/16" }),
		Entry("IPPools of blocks that contain each other", none, func(i int) string { return fmt.Sprintf("10.0.0.0/%d", 16+i) }),
		Entry("both kinds in turn", every, func(i int) string { return fmt.Sprintf("10.0.0.0/%d", 16+i/2) }),
	)
})

// onlyWinner waits until one pool serves and all others are told that they overlap, and returns that one.
func onlyWinner(ctx context.Context, stored []rival) rival {
	GinkgoHelper()
	var serving []rival
	Eventually(func(g Gomega) {
		serving = nil
		for _, p := range stored {
			g.Expect(k.Get(ctx, client.ObjectKeyFromObject(p), p)).To(Succeed())
			ready := meta.FindStatusCondition(p.GetConditions(), ipamv1.ReadyCondition)
			g.Expect(ready).NotTo(BeNil())
			if ready.Status == metav1.ConditionTrue {
				serving = append(serving, p)
			} else {
				g.Expect(ready.Reason).To(Equal(ipamv1.PoolReadyOverlapReason))
			}
		}
		g.Expect(serving).To(HaveLen(1))
	}, patience, "100ms").Should(Succeed())
	return serving[0]
}

var _ = It("A root that lost serves once the winner is gone", func(ctx SpecContext) {
	s := suite.New(ctx, site)
	Expect(site.RemoveWebhooks(ctx)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { Expect(site.PointWebhooks(ctx, manager.WebhookAddress())).To(Succeed()) })
	first, second := s.Root("first", "10.0.0.0/16").Build(), s.Root("second", "10.0.0.0/24").Build()
	s.Create(ctx, first)
	s.Ready(ctx, first)
	Expect(k.Create(ctx, second)).To(Succeed())
	s.NotReady(ctx, second, ipamv1.PoolReadyOverlapReason)
	s.Delete(ctx, first)
	s.Ready(ctx, second)
}, SpecTimeout(5*time.Minute))
