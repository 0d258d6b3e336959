// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"context"
	"math/rand/v2"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// orderNumber is one restore. It says what goes on meanwhile.
type orderNumber int

// hasOwners says whether owner references come along, though their UIDs are of objects that are gone: then the garbage collector
// deletes what has no other owners.
func (o orderNumber) hasOwners() bool { return o%2 == 1 }

// isStopped says whether Weir is down, webhooks included, until all is restored.
func (o orderNumber) isStopped() bool { return o%3 == 2 }

// isRestarted says whether the manager is killed on the way.
func (o orderNumber) isRestarted() bool { return o%3 == 1 }

// random is what the order goes by.
func (o orderNumber) random() *rand.Rand {
	return rand.New(rand.NewPCG(uint64(GinkgoRandomSeed()), uint64(o)))
}

// half is for how long the restore rests on the way: long enough for the manager to act on what there is.
const half = 4 * time.Second

func (b *backup) expectRestored(ctx context.Context, order orderNumber) {
	GinkgoHelper()
	random := order.random()
	By("wiping the cluster")
	wipe(ctx)
	objects := b.chosen(everything)
	if !order.hasOwners() {
		dropOwners(objects)
	}
	if order.isStopped() {
		Expect(site.RemoveWebhooks(ctx)).To(Succeed())
	} else {
		Expect(manager.Restart(ctx)).To(Succeed())
	}

	By("restoring in a random order")
	rest := restore(ctx, shuffled(random, objects), len(objects)/4+random.IntN(len(objects)/2))
	time.Sleep(half)
	if order.isRestarted() {
		Expect(manager.Restart(ctx)).To(Succeed())
	}
	restore(ctx, rest, 0)
	if order.isStopped() {
		time.Sleep(half) // for the garbage collector
		Expect(manager.Restart(ctx)).To(Succeed())
		Expect(site.PointWebhooks(ctx, manager.WebhookAddress())).To(Succeed())
	}

	By("looking for what is not as it was")
	Eventually(func() []string { return difference(b.state, state(ctx)) }, patience, "1s").Should(BeEmpty())
	suite.AtRest(ctx, site.Config())
	Expect(difference(b.state, state(ctx))).To(BeEmpty())
}
