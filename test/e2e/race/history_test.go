// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package race

import (
	"context"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
)

// follow has every claim, IPAddress and record looked at from now on, at each moment.
func (r *race) follow(ctx context.Context) {
	GinkgoHelper()
	var err error
	r.history, err = framework.FollowHistory(ctx, site.EtcdURL())
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(r.history.Stop)
}

func (r *race) now(ctx context.Context) *framework.Moment {
	GinkgoHelper()
	moment, err := r.history.Now(ctx)
	Expect(err).NotTo(HaveOccurred())
	return moment
}

// expectPast fails with the history of what was wrong at any moment up to now.
func (r *race) expectPast(ctx context.Context) *framework.Moment {
	GinkgoHelper()
	moment := r.now(ctx)
	if found := strings.Join(moment.Findings, "\n"); found != "" {
		Fail(found + "\n" + r.journal.Of(found))
	}
	return moment
}

// expectHistory expects that nothing was ever wrong, and that there was something that might have been.
func (r *race) expectHistory(ctx context.Context) {
	GinkgoHelper()
	Eventually(func() []string { return r.now(ctx).Late }, "3m", "1s").Should(BeEmpty(), "they were made when nobody used their claim any more")
	moment := r.expectPast(ctx)
	Expect(moment.Account.Changes).To(BeNumerically(">", 0))
	Expect(moment.Account.Moments).To(BeNumerically(">", 0))
	Expect(moment.Account.Reuses).To(BeNumerically(">", 0))
}
