// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package federation

import (
	"context"
	"fmt"
	"net/http"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	eventsv1 "k8s.io/api/events/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

const (
	// tierBits is the length of the blocks of a tier's pools, and tierRoom the number of claims that one has room for.
	tierBits = 28
	tierRoom = 14
	// tierPercent of the addresses are one or two short of none for one pool, and fewer than one pool has for eleven.
	tierPercent = 8
)

// tier is a pool of edge-a, named tier, with its siblings. Claims find them by a label.
type tier struct {
	*world

	first *ipamv1.IPPool
	// shortages is how many siblings there will be. Their bound is higher.
	shortages int
	// refused counts the claims that found no pool with room.
	refused int
}

func (e *tier) begin(ctx context.Context) {
	GinkgoHelper()
	labels := map[string]string{"tier": e.hub.Namespace}
	e.first = e.local("tier", edgeA, tierBits).WithLabel("tier", e.hub.Namespace).
		WithExpansion(tierPercent, tierBits, int32(e.shortages)+2, labels).Build()
	e.hub.Create(ctx, e.first)
	e.arrives(ctx, 1)
}

// arrives waits until the member serves the pool of this number.
func (e *tier) arrives(ctx context.Context, number int) {
	GinkgoHelper()
	name := "tier"
	if number > 1 {
		name = fmt.Sprintf("tier-%d", number)
	}
	arrived(ctx, e.a, builder.IPPool(e.hub.Namespace, name).Build())
}

// claim makes one more claim beside so many, and returns the name of its pool. It is only refused while each pool that has arrived is
// full, and not once the next one is there.
func (e *tier) claim(ctx context.Context, others int) string {
	GinkgoHelper()
	c := builder.IPClaim(e.a.Namespace, fmt.Sprintf("machine-%d", others)).FromAny(ipamv1.IPPoolKind, "tier", e.hub.Namespace).Build()
	err := e.a.Client.Create(ctx, c)
	if err == nil {
		return c.Spec.PoolRef.Name
	}
	Expect(err).To(suite.Refused(http.StatusInsufficientStorage, "exhausted"))
	Expect(others%tierRoom).To(BeZero(), "claim %d is refused while a pool has room", others)
	e.refused++
	e.arrives(ctx, 1+others/tierRoom)
	e.a.Create(ctx, c)
	return c.Spec.PoolRef.Name
}

// isExpanded waits until the hub knows of so many claims, and expects one sibling, event and block for each shortage.
func (e *tier) isExpanded(ctx context.Context, claims int) {
	GinkgoHelper()
	pools := &ipamv1.IPPoolList{}
	Eventually(func(g Gomega) {
		g.Expect(e.hub.Client.List(ctx, pools, client.InNamespace(e.hub.Namespace), client.MatchingLabels{"tier": e.hub.Namespace})).To(Succeed())
		known := 0
		for i := range pools.Items {
			p := &pools.Items[i]
			g.Expect(p.Status.Member).NotTo(BeNil())
			g.Expect(p.Status.Claims).NotTo(BeNil())
			known += int(*p.Status.Claims)
		}
		g.Expect(known).To(Equal(claims))
		g.Expect(e.hub.Client.Get(ctx, client.ObjectKeyFromObject(e.first), e.first)).To(Succeed())
		g.Expect(meta.FindStatusCondition(e.first.Status.Conditions, "Expanded")).To(And(
			HaveField("Reason", ipamv1.ExpandedSufficientReason),
			HaveField("Message", fmt.Sprintf("%d of %d further pools exist", e.shortages, e.shortages+2))))
	}, patience, "100ms").Should(Succeed())
	Expect(pools.Items).To(HaveLen(e.shortages + 1))
	blocks := map[string]bool{}
	for _, r := range e.hub.InSpace(ctx) {
		blocks[r.Spec.CIDR] = true
	}
	Expect(blocks).To(HaveLen(e.shortages+2), "the root's and one of each pool, whoever has tried to create it")
	Eventually(func(g Gomega) { g.Expect(e.created(ctx, g)).To(HaveLen(e.shortages)) }, patience, "100ms").Should(Succeed())
}

// created returns what the events say that was created beside the first pool.
func (e *tier) created(ctx context.Context, g Gomega) (names []string) {
	list := &eventsv1.EventList{}
	g.Expect(e.hub.Client.List(ctx, list, client.InNamespace(e.hub.Namespace))).To(Succeed())
	for i := range list.Items {
		if event := &list.Items[i]; event.Reason == ipamv1.SiblingCreatedReason && event.Regarding.UID == e.first.UID {
			names = append(names, event.Related.Name)
		}
	}
	return names
}
