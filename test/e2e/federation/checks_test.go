// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package federation

import (
	"context"
	"fmt"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/fsck"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/size"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// looking is closed when nobody looks at the clusters any more: the spec ends, or something was found.
var looking chan struct{}

// between is how long nobody looks at the clusters.
var between = size.Of[time.Duration](3, 1, 1) * time.Second

// All three clusters are looked at again and again until the spec ends.
var _ = BeforeEach(func() {
	stop, done := make(chan struct{}), make(chan struct{})
	looking = done
	looks, inUse := 0, 0
	go func() {
		defer close(done)
		defer GinkgoRecover()
		for {
			inUse += look(context.Background()).InUse
			looks++
			select {
			case <-stop:
				return
			case <-time.After(between):
			}
		}
	}()
	DeferCleanup(func() {
		close(stop)
		<-done
		framework.Account(fmt.Sprintf("looked at all clusters %d times, at %d prefixes in use: %s", looks, inUse, CurrentSpecReport().LeafNodeText))
	})
})

// look expects that members use nothing but what the hub has delegated to them.
func look(ctx context.Context) *fsck.FederationReport {
	GinkgoHelper()
	report, err := fsck.CheckFederation(ctx, delegations, configs())
	Expect(err).NotTo(HaveOccurred())
	Expect(report.Safe()).To(Succeed())
	return report
}

var _ = AfterEach(func(ctx SpecContext) {
	suite.Evidence(hub.Site, edgeA.Site, edgeB.Site)
	if CurrentSpecReport().Failed() {
		return
	}
	Expect(look(ctx).Hub).To(Succeed())
	for _, c := range []*cluster{hub, edgeA, edgeB} {
		report, err := fsck.Check(ctx, c.Config())
		Expect(err).NotTo(HaveOccurred())
		suite.Safe(report)
	}
}, NodeTimeout(2*time.Minute))

var _ = AfterSuite(func(ctx SpecContext) {
	var all sync.WaitGroup
	for _, c := range []*cluster{hub, edgeA, edgeB} {
		all.Go(func() {
			defer GinkgoRecover()
			suite.AtRest(ctx, c.Config())
		})
	}
	all.Wait()
}, NodeTimeout(10*time.Minute))
