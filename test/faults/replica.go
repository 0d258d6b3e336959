// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package faults

import (
	"context"
	"fmt"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2" //nolint:staticcheck // for specs only
	. "github.com/onsi/gomega"    //nolint:staticcheck // for specs only
	"k8s.io/client-go/rest"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
)

// CounterPrefix is what the names of Weir's metrics begin with; Counters do without.
const CounterPrefix = "weir_"

// Counters are Weir's, by name, summed over whoever counted.
type Counters map[string]float64

// Add sums more into them.
func (c Counters) Add(more Counters) {
	for name, n := range more {
		c[name] += n
	}
}

// Replica is one of the managers, through all its lives.
type Replica struct {
	*framework.Manager
	// Proxy is its way to the API server, and nobody else's.
	Proxy *framework.ConnectionProxy

	name, diagnostics string
	// alive is locked while the manager is killed, and has not come so far again that it can do without an API server.
	alive sync.RWMutex
	// counted is what its earlier lives counted.
	counted Counters
}

// Proxied is a way to the API server of somebody's own, and a configuration for it.
func Proxied(site *framework.Site, config *rest.Config) (*framework.ConnectionProxy, *rest.Config) {
	GinkgoHelper()
	proxy, via, err := site.NewConnectionProxy(config)
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(proxy.Close)
	return proxy, via
}

// StartReplica starts a manager that works as who the options' configuration says.
func StartReplica(ctx context.Context, site *framework.Site, options framework.ManagerOptions) *Replica {
	GinkgoHelper()
	port, err := framework.FreePort()
	Expect(err).NotTo(HaveOccurred())
	r := &Replica{name: options.Name, diagnostics: fmt.Sprintf("127.0.0.1:%d", port), counted: Counters{}}
	r.Proxy, options.Config = Proxied(site, options.Config)
	options.Args = append([]string{"--insecure-diagnostics", "--diagnostics-address=" + r.diagnostics}, options.Args...)
	r.Manager, err = site.StartManager(ctx, options)
	Expect(err).NotTo(HaveOccurred())
	return r
}

// die kills the manager. What it counted since it was last asked is lost.
func (r *Replica) die(ctx context.Context) {
	GinkgoHelper()
	r.counted.Add(r.counts(ctx))
	Expect(r.Kill()).To(Succeed())
}

// counts are those of its present life.
func (r *Replica) counts(ctx context.Context) Counters {
	GinkgoHelper()
	ctx, cancel := context.WithTimeout(ctx, time.Minute)
	defer cancel()
	counts, err := framework.Counters(ctx, "http://"+r.diagnostics+"/metrics", CounterPrefix)
	Expect(err).NotTo(HaveOccurred(), "manager %s does not tell what it counted", r.name)
	return counts
}

// Counted sums what all managers have counted in all their lives.
func Counted(ctx context.Context, replicas []*Replica) Counters {
	GinkgoHelper()
	sum := Counters{}
	for _, r := range replicas {
		sum.Add(r.counted)
		sum.Add(r.counts(ctx))
	}
	return sum
}
