// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/faults"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
)

// startReplicas starts three managers, each with a link of its own to the API server, and points the API server to one address
// in front of them.
func startReplicas(ctx context.Context, args ...string) []*faults.Replica {
	GinkgoHelper()
	DeferCleanup(site.KillManagers)
	identity, err := site.RESTConfigAs(ctx, framework.ManagerAccount)
	Expect(err).NotTo(HaveOccurred())
	replicas := make([]*faults.Replica, 0, 3)
	managers := make([]*framework.Manager, 0, 3)
	for _, name := range []string{"one", "two", "three"} {
		r := faults.StartReplica(ctx, site, framework.ManagerOptions{
			Name: name, Config: identity, Args: append(args, "--repair-grace="+grace.String(), "--apiserver-request-timeout="+requestTimeout.String()),
		})
		replicas, managers = append(replicas, r), append(managers, r.Manager)
	}
	balancer, err := site.Balance(managers...)
	Expect(err).NotTo(HaveOccurred())
	Expect(site.PointWebhooks(ctx, balancer.WebhookAddress())).To(Succeed())
	DeferCleanup(site.RemoveWebhooks)
	return replicas
}
