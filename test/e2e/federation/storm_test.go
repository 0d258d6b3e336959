// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package federation

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/size"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// stormClients is how many create claims at once at each member.
const stormClients = 8

// storm makes claims of a copy at one member.
type storm struct {
	at      *suite.Spec
	copied  ownPool
	claims  int64
	next    atomic.Int64
	refused atomic.Int64
}

// run creates the claims, each until it is stored: a manager that is killed leaves creates without a response.
func (s *storm) run(ctx context.Context) {
	defer GinkgoRecover()
	for i := s.next.Add(1); i <= s.claims; i = s.next.Add(1) {
		claim := builder.IPClaim(s.at.Namespace, fmt.Sprintf("storm-%d", i)).From(kindOf(s.copied), s.copied.GetName()).Build()
		for ctx.Err() == nil {
			err := s.at.Client.Create(ctx, claim.DeepCopy())
			if err == nil || apierrors.IsAlreadyExists(err) {
				break
			}
			s.refused.Add(1)
			time.Sleep(20 * time.Millisecond)
		}
	}
}

// begin has many clients create claims.
func (s *storm) begin(ctx context.Context, done *sync.WaitGroup) {
	for range stormClients {
		done.Go(func() { s.run(ctx) })
	}
}

// isPast waits until so many claims were begun.
func (s *storm) isPast(count int64) {
	GinkgoHelper()
	Eventually(s.next.Load, "10m", "10ms").Should(BeNumerically(">", count))
}

// answered expects that each claim has an address of its own out of the block.
func (s *storm) answered(ctx context.Context) {
	GinkgoHelper()
	list := &ipamv1.IPClaimList{}
	Expect(s.at.Client.List(ctx, list, client.InNamespace(s.at.Namespace))).To(Succeed())
	addresses := map[string]string{}
	for i := range list.Items {
		addresses[list.Items[i].Spec.CIDR] = list.Items[i].Name
	}
	Expect(list.Items).To(HaveLen(int(s.claims)))
	Expect(addresses).To(HaveLen(int(s.claims)))
}

// end deletes the claims, and waits until they have gone.
func (s *storm) end(ctx context.Context) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(s.at.Client.DeleteAllOf(ctx, &ipamv1.IPClaim{}, client.InNamespace(s.at.Namespace))).To(Succeed())
		left := &ipamv1.IPClaimList{}
		g.Expect(s.at.Client.List(ctx, left, client.InNamespace(s.at.Namespace), client.Limit(1))).To(Succeed())
		g.Expect(left.Items).To(BeEmpty())
	}, "10m", "1s").Should(Succeed())
}

var _ = It("Hundreds of claims at both members while the hub is stopped, and their managers are killed: each gets an address of its own, and a block comes back", func(ctx SpecContext) {
	w := newWorld(ctx, "10.0.0.0/16")
	team, site := w.local("team", edgeA, 18).Build(), w.global("site", edgeB, 18).Build()
	w.hub.Create(ctx, team, site)
	all := size.Of[int64](400, 10000, 10000)
	storms := []*storm{
		{at: w.a, copied: arrived(ctx, w.a, team), claims: all / 2},
		{at: w.b, copied: arrived(ctx, w.b, site), claims: all - all/2},
	}
	startHub := stopHub(ctx)
	var done sync.WaitGroup
	begun := time.Now()
	for _, s := range storms {
		s.begin(ctx, &done)
	}
	for i, c := range []*cluster{edgeA, edgeB} {
		storms[i].isPast(storms[i].claims / 3)
		Expect(c.manager.Restart(ctx)).To(Succeed())
	}
	done.Wait()
	took := time.Since(begun)
	refused := int64(0)
	for _, s := range storms {
		s.answered(ctx)
		refused += s.refused.Load()
	}
	report := look(ctx)
	Expect(report.Hub).To(HaveOccurred(), "it is away still")
	Expect(report.InUse).To(BeNumerically(">=", int(all)))
	Expect(refused).To(BeNumerically(">", 0), "creates that met no manager")
	framework.Account(fmt.Sprintf("storm: %d claims in %d s while the hub was stopped, %d creates were repeated", all, int(took.Seconds()), refused))

	By("taking one block back, with the hub's manager killed on the way")
	startHub(ctx)
	Expect(w.hub.Client.Delete(ctx, team)).To(Succeed())
	closed := closes(ctx, w.a, team)
	Expect(hub.manager.Restart(ctx)).To(Succeed())
	for _, s := range storms {
		s.end(ctx)
	}
	w.comesBack(ctx, team)
	w.a.Gone(ctx, closed)
	w.hub.Ready(ctx, site)
}, SpecTimeout(size.Of(8*time.Minute, 20*time.Minute, 20*time.Minute)))
