// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package move

import (
	"context"
	"fmt"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
)

// followOn expects of each side that nothing is wrong at any of its moments, and takes both together several times a second, at moments
// that both have, until the spec ends.
func followOn() {
	stop, done := make(chan struct{}), make(chan struct{})
	moments, compared := 0, 0
	go func() {
		defer close(done)
		defer GinkgoRecover()
		for {
			findings, n, err := framework.Union(context.Background(), left.history, right.history)
			Expect(err).NotTo(HaveOccurred())
			Expect(findings).To(BeEmpty())
			moments, compared = moments+1, compared+n
			select {
			case <-stop:
				return
			case <-time.After(300 * time.Millisecond):
			}
		}
	}()
	DeferCleanup(func(ctx SpecContext) {
		close(stop)
		<-done
		framework.Account(fmt.Sprintf("looked at %d moments of both sides together, at %d holdings: %s", moments, compared, CurrentSpecReport().LeafNodeText))
		for _, side := range []*side{left, right} {
			expectPast(ctx, side)
		}
	})
}

// expectPast expects that nothing was wrong at any moment of a side up to now.
func expectPast(ctx context.Context, s *side) framework.HistoryAccount {
	GinkgoHelper()
	moment, err := s.history.Now(ctx)
	Expect(err).NotTo(HaveOccurred())
	Expect(moment.Findings).To(BeEmpty())
	return moment.Account
}

// accountForHistory expects that there was much that might have been wrong on both sides: claims came back to where others had had
// their addresses.
func accountForHistory(ctx context.Context) {
	GinkgoHelper()
	for name, side := range map[string]*side{"left": left, "right": right} {
		account := expectPast(ctx, side)
		framework.Account(fmt.Sprintf("history of the %s side: %s", name, account))
		Expect(account.Changes).To(BeNumerically(">", 0))
		Expect(account.Moments).To(BeNumerically(">", 0))
		Expect(account.Holdings).To(BeNumerically(">", 0))
	}
	Expect(expectPast(ctx, left).Reuses).To(BeNumerically(">", 0))
}
