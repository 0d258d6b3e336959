// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"
	"net/netip"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/faults"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/size"
)

// createsEach is how many claims each client makes.
var createsEach = size.Of(12, 40, 400)

const (
	// tolerated is the share of creates that may lose a judgement, in percent.
	tolerated = 2
	// idle is how long nobody writes before one client has the pool for itself.
	idle = 3 * time.Second
)

// calm is a roomy pool that chooses the lowest free address.
var calm = &source{kind: ipamv1.IPPoolKind, name: "calm", cidr: "10.16.0.0/16"}

var _ = It("three managers seldom propose the same address to 50 clients, and always the lowest free one to a single client", func(ctx SpecContext) {
	replicas := startReplicas(ctx, "--leader-elect")
	createRoots(ctx, calm)
	wire := newWire()
	api := wire.client()
	By("having each manager record something, from which on the others keep out of its way")
	warmUp(ctx, api, len(replicas))
	before := faults.Counted(ctx, replicas)

	By("having all make claims at once, and delete every other")
	began := time.Now()
	atOnce(ctx, func(ctx context.Context, who int) { makeSome(ctx, api, who) })
	took := time.Since(began)
	after := faults.Counted(ctx, replicas)
	lost, creates := after["ledger_lost_judgements_total"]-before["ledger_lost_judgements_total"], float64(users*createsEach)
	framework.Account(fmt.Sprintf("seed %d\n%.0f creates by %d clients in %s; %.0f lost judgements, %.2f %%; by code, repetitions included: %s",
		GinkgoRandomSeed(), creates, users, took.Round(time.Millisecond), lost, 100*lost/creates, wire))
	Expect(lost).To(BeNumerically("<=", creates*tolerated/100))

	By("having one client make claims, each preceded by a dry run")
	expectAtRest(ctx) // a record that nobody waits for any more keeps its address until it is dropped
	faults.Sleep(ctx, idle)
	makeAlone(ctx, api)
	deleteAll(ctx)
}, SpecTimeout(timeout))

// warmUp has all clients make a claim at once until so many managers have recorded one: what they choose before they know of each other is not what
// the spec counts. One client is not enough: the API server goes on asking the same manager for it.
func warmUp(ctx context.Context, api client.Client, managers int) {
	GinkgoHelper()
	rounds := 0
	Eventually(func(g Gomega) {
		atOnce(ctx, func(ctx context.Context, who int) {
			Expect(api.Create(ctx, calm.claim(fmt.Sprintf("warm-%d-%d", rounds, who), 32))).To(Succeed())
		})
		rounds++
		g.Expect(recorders(ctx)).To(HaveLen(managers))
	}).WithContext(ctx).WithTimeout(time.Minute).Should(Succeed())
}

// recorders are the managers that have recorded a claim of the calm pool.
func recorders(ctx context.Context) map[string]bool {
	GinkgoHelper()
	found := map[string]bool{}
	for _, a := range records(ctx) {
		if a.Spec.PoolRef.Name == calm.name && !a.Spec.IsRootBlock() {
			found[a.Spec.Manager.Instance] = true
		}
	}
	return found
}

// atOnce has all clients do something, each with its number.
func atOnce(ctx context.Context, do func(ctx context.Context, who int)) {
	GinkgoHelper()
	parts := make([]func(context.Context), users)
	var left sync.WaitGroup // the first that is done waits for the others
	left.Add(users)
	for i := range parts {
		parts[i] = func(ctx context.Context) {
			defer left.Wait()
			defer left.Done()
			do(ctx, i)
		}
	}
	faults.Together(ctx, parts...)
}

func makeSome(ctx context.Context, api client.Client, who int) {
	for n := range createsEach {
		claim := calm.claim(fmt.Sprintf("calm-%d-%d", who, n), 32)
		Expect(api.Create(ctx, claim)).To(Succeed())
		if n%2 == 0 {
			Expect(api.Delete(ctx, claim)).To(Succeed())
		}
	}
}

// makeAlone makes claims one after the other: without others each gets the lowest address that is free, as its dry run said.
func makeAlone(ctx context.Context, api client.Client) {
	GinkgoHelper()
	taken := map[string]bool{}
	for _, a := range records(ctx) {
		taken[a.Spec.CIDR] = true
	}
	next := netip.MustParsePrefix(calm.cidr).Addr()
	for n := range 30 {
		for taken[netip.PrefixFrom(next, 32).String()] {
			next = next.Next()
		}
		lowest := netip.PrefixFrom(next, 32).String()
		rehearsed, claim := calm.claim("", 32), calm.claim(fmt.Sprintf("alone-%d", n), 32)
		rehearsed.Name = claim.Name
		Expect(api.Create(ctx, rehearsed, client.DryRunAll)).To(Succeed())
		Expect(api.Create(ctx, claim)).To(Succeed())
		Expect([]string{rehearsed.Spec.CIDR, claim.Spec.CIDR}).To(HaveEach(lowest), "claim %d", n)
		taken[lowest] = true
	}
}
