// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package processes

import (
	"context"
	"fmt"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

var _ = It("three managers behind one address share admission, and two go on when one is killed", func(ctx SpecContext) {
	first, second, third := suite.StartManager(ctx, site), suite.StartManager(ctx, site), suite.StartManager(ctx, site)
	balancer, err := site.Balance(first, second, third)
	Expect(err).NotTo(HaveOccurred())
	Expect(site.PointWebhooks(ctx, balancer.WebhookAddress())).To(Succeed())
	DeferCleanup(site.RemoveWebhooks)
	admitPools(ctx, 100)
	before := balancer.Served()
	Expect(before).To(HaveLen(3))

	Expect(first.Kill()).To(Succeed())
	admitPools(ctx, 100)
	Expect(balancer.Served()).To(HaveKeyWithValue(first.WebhookAddress(), before[first.WebhookAddress()]))
}, SpecTimeout(5*time.Minute))

// admitPools has several creators offer pools, which no webhook may fail to judge. Nothing is stored.
func admitPools(ctx context.Context, each int) {
	GinkgoHelper()
	var done sync.WaitGroup
	for c := range creators {
		done.Go(func() {
			defer GinkgoRecover()
			for i := range each {
				p := pool(fmt.Sprintf("offered-%d-%d", c, i), "198.18.0.0/24")
				Eventually(func() error { return k.Create(ctx, p.DeepCopy(), client.DryRunAll) }, "1m", "100ms").Should(Succeed())
			}
		})
	}
	done.Wait()
}
