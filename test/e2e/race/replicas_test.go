// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package race

import (
	"context"
	"fmt"
	"strings"
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
	link, err := framework.NewLink(strings.TrimPrefix(config.Host, "https://"))
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(link.Close)
	via := rest.CopyConfig(config)
	via.Host = "https://" + link.Address()
	return link, via
}

// replica is one of the managers, through all its lives.
type replica struct {
	name        string
	link        *framework.Link
	config      *rest.Config
	args        []string
	diagnostics string

	// alive is locked while the manager is killed and has not come so far again that it can do without an API server.
	alive   sync.RWMutex
	process *framework.ManagerProcess
	// counted is what its earlier lives counted.
	counted counters
}

func newReplica(name string) *replica {
	GinkgoHelper()
	certs := GinkgoT().TempDir()
	_, err := framework.ServingCerts(certs, "127.0.0.1")
	Expect(err).NotTo(HaveOccurred())
	var ports [2]int
	for i := range ports {
		ports[i], err = framework.FreePort()
		Expect(err).NotTo(HaveOccurred())
	}
	r := &replica{name: name, diagnostics: fmt.Sprintf("127.0.0.1:%d", ports[0]), counted: counters{}}
	r.link, r.config = linked()
	r.args = []string{
		"--leader-elect=false", "--insecure-diagnostics", "--diagnostics-address=" + r.diagnostics,
		"--webhook-host=127.0.0.1", fmt.Sprintf("--webhook-port=%d", ports[1]), "--webhook-cert-dir=" + certs,
	}
	DeferCleanup(func() {
		if r.process != nil {
			_ = r.process.Kill()
		}
	})
	return r
}

// start starts the manager and waits until it is ready.
func (r *replica) start(ctx context.Context) {
	GinkgoHelper()
	m, err := framework.StartManager(framework.ManagerOptions{Name: r.name, Config: r.config, Dir: cluster.Dir(), Args: r.args})
	Expect(err).NotTo(HaveOccurred())
	r.process = m
	Expect(m.WaitReady(ctx)).To(Succeed())
}

// die kills the manager. What it counted since it was last asked is lost.
func (r *replica) die(ctx context.Context) {
	GinkgoHelper()
	r.counted.add(r.counts(ctx))
	Expect(r.process.Kill()).To(Succeed())
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
