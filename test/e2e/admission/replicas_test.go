// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
)

// counters are those of the managers, by name, summed over whoever counted.
type counters map[string]float64

func (c counters) add(more counters) {
	for name, n := range more {
		c[name] += n
	}
}

// replica is one of the managers, through all its lives.
type replica struct {
	*framework.Manager
	name        string
	link        *framework.Link
	diagnostics string

	// alive is locked while the manager is killed or started.
	alive sync.RWMutex
	// counted is what its earlier lives counted.
	counted counters
}

// startReplicas starts three managers, each with a link of its own to the API server, and points the API server to one address
// in front of them.
func startReplicas(ctx context.Context, args ...string) []*replica {
	GinkgoHelper()
	DeferCleanup(site.KillManagers)
	replicas := make([]*replica, 0, 3)
	managers := make([]*framework.Manager, 0, 3)
	for _, name := range []string{"one", "two", "three"} {
		r := newReplica(ctx, name, args)
		replicas, managers = append(replicas, r), append(managers, r.Manager)
	}
	balancer, err := site.Balance(managers...)
	Expect(err).NotTo(HaveOccurred())
	Expect(site.PointWebhooks(ctx, balancer.WebhookAddress())).To(Succeed())
	DeferCleanup(site.RemoveWebhooks)
	return replicas
}

func newReplica(ctx context.Context, name string, args []string) *replica {
	GinkgoHelper()
	port, err := framework.FreePort()
	Expect(err).NotTo(HaveOccurred())
	r := &replica{name: name, diagnostics: fmt.Sprintf("127.0.0.1:%d", port), counted: counters{}}
	identity, err := site.RESTConfigAs(ctx, framework.ManagerAccount)
	Expect(err).NotTo(HaveOccurred())
	link, via, err := site.NewLink(identity)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(link.Close)
	r.link = link
	r.Manager, err = site.StartManager(ctx, framework.ManagerOptions{
		Name: name, Config: via,
		Args: append([]string{"--insecure-diagnostics", "--diagnostics-address=" + r.diagnostics, "--repair-grace=" + grace.String()}, args...),
	})
	Expect(err).NotTo(HaveOccurred())
	return r
}

// counts are those of its present life.
func (r *replica) counts(ctx context.Context) counters {
	GinkgoHelper()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	counts, err := framework.Counters(ctx, "http://"+r.diagnostics+"/metrics", "weir_")
	Expect(err).NotTo(HaveOccurred(), "manager %s does not tell what it counted", r.name)
	return counts
}

// counted sums what all managers have counted in all their lives.
func counted(ctx context.Context, replicas []*replica) counters {
	GinkgoHelper()
	sum := counters{}
	for _, r := range replicas {
		sum.add(r.counted)
		sum.add(r.counts(ctx))
	}
	return sum
}
