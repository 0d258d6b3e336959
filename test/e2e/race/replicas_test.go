// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package race

import (
	"context"
	"fmt"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/client-go/rest"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
)

// counters are those of the ledger, by name, summed over whoever counted.
type counters map[string]float64

func (c counters) add(more counters) {
	for name, n := range more {
		c[name] += n
	}
}

// linked is a way to the API server of somebody's own, and the administrator's configuration for it.
func linked() (*framework.Link, *rest.Config) {
	GinkgoHelper()
	link, via, err := site.NewLink(config)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(link.Close)
	return link, via
}

// replica is one of the managers, through all its lives.
type replica struct {
	*framework.Manager
	name        string
	link        *framework.Link
	diagnostics string

	// alive is locked while the manager is killed and has not come so far again that it can do without an API server.
	alive sync.RWMutex
	// counted is what its earlier lives counted.
	counted counters
}

// newReplica starts a manager with a link of its own.
func newReplica(ctx context.Context, name string) *replica {
	GinkgoHelper()
	port, err := framework.FreePort()
	Expect(err).NotTo(HaveOccurred())
	r := &replica{name: name, diagnostics: fmt.Sprintf("127.0.0.1:%d", port), counted: counters{}}
	link, via := linked()
	r.link = link
	r.Manager, err = site.StartManager(ctx, framework.ManagerOptions{
		Name: name, Config: via, Args: []string{"--insecure-diagnostics", "--diagnostics-address=" + r.diagnostics},
	})
	Expect(err).NotTo(HaveOccurred())
	return r
}

// die kills the manager. What it counted since it was last asked is lost.
func (r *replica) die(ctx context.Context) {
	GinkgoHelper()
	r.counted.add(r.counts(ctx))
	Expect(r.Kill()).To(Succeed())
}

// counts are those of its present life.
func (r *replica) counts(ctx context.Context) counters {
	GinkgoHelper()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	counts, err := framework.Counters(ctx, "http://"+r.diagnostics+"/metrics", "weir_ledger_")
	Expect(err).NotTo(HaveOccurred(), "manager %s does not tell what it counted", r.name)
	return counts
}
