// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package crash

import (
	"context"
	"fmt"
	"maps"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
)

// losses are the ways in which the last write is lost: both at every write of a create call, and at soak size of all paths, else in
// turn.
func (p *path) losses(n int) []framework.Loss {
	both := []framework.Loss{framework.RequestLost, framework.ReplyLost}
	if p.asks != nil || framework.Scale(1, 2) == len(both) {
		return both
	}
	return both[(n+1)%2:][:1]
}

// killed counts the points of all paths.
var killed int

// worlds counts the worlds; each has names of its own.
var worlds int

func newWorld(ctx context.Context, kind string) *world {
	GinkgoHelper()
	worlds++
	w := &world{name: fmt.Sprintf("world-%d", worlds)}
	Expect(k.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: w.name}})).To(Succeed())
	spec := ipamv1.IPPoolSpec{AddressSpace: w.name, Allocation: &ipamv1.AllocationPolicy{ReservedAddresses: ipamv1.ReservedAddressesAllocate}}
	switch kind {
	case ipamv1.IPPoolKind:
		w.pool = &ipamv1.IPPool{ObjectMeta: metav1.ObjectMeta{Namespace: w.name, Name: w.name}, Spec: spec}
	case ipamv1.GlobalIPPoolKind:
		w.pool = &ipamv1.GlobalIPPool{ObjectMeta: metav1.ObjectMeta{Name: w.name}, Spec: spec}
	}
	return w
}

// dies walks the path with a manager that is killed at its n-th write. It says whether there was such a write.
func (p *path) dies(ctx context.Context, w *world, n int, loss framework.Loss) bool {
	GinkgoHelper()
	proxy, err := site.NewWriteProxy(config, n, loss)
	Expect(err).NotTo(HaveOccurred())
	defer func() { Expect(proxy.Stop()).To(Succeed()) }()
	m, err := site.Launch(ctx, framework.ManagerOptions{Name: "mortal", Binary: w.binary, Config: proxy.Config()})
	Expect(err).NotTo(HaveOccurred())
	closed := func() bool {
		select {
		case <-proxy.Closed():
			return true
		default:
			return false
		}
	}
	asking, giveUp := context.WithCancel(ctx)
	defer giveUp()
	asked := make(chan struct{})
	go func() {
		defer close(asked)
		if p.asks != nil {
			_ = ask(asking, m, p.asks(w)) // what is refused is asked for again
		}
	}()
	Eventually(func(g Gomega) {
		g.Expect(m.Running()).To(BeTrue(), "the manager ended by itself")
		if !closed() {
			p.done(ctx, w, g)
		}
	}, "60s", "10ms").Should(Succeed())
	Expect(m.Kill()).To(Succeed())
	giveUp()
	<-asked
	return closed()
}

// recovers has a healthy manager finish, and checks that nothing is left over.
func (p *path) recovers(ctx context.Context, w *world) {
	GinkgoHelper()
	w.healthy(ctx, func(m *framework.Manager) {
		if p.asks != nil {
			Expect(ask(ctx, m, p.asks(w))).To(Or(Succeed(), Satisfy(apierrors.IsAlreadyExists)))
		}
		Eventually(func(g Gomega) { p.done(ctx, w, g) }, "90s", "20ms").Should(Succeed())
		Eventually(func(g Gomega) {
			report, err := framework.Check(ctx, config)
			g.Expect(err).NotTo(HaveOccurred())
			g.Expect(report.AtRest()).To(Succeed())
		}, "90s", "100ms").Should(Succeed())
		w.isSafe(ctx, "")
		if w.others != nil {
			Expect(w.otherUIDs(ctx, NewWithT(GinkgoT()))).To(ConsistOf(w.others), "what is the other front door's")
		}
	})
}

// isWalked walks the path with a manager that is killed at its n-th write, and then with another one. It says whether there was such a
// write.
func (p *path) isWalked(ctx context.Context, w *world, n int, loss framework.Loss) bool {
	GinkgoHelper()
	w.healthy(ctx, func(*framework.Manager) {
		p.before(ctx, w)
		if w.isShared {
			w.populate(ctx)
		}
	})
	if p.asks != nil {
		defer forgetWebhooks(ctx)
	} else {
		p.event(ctx, w)
	}
	reached := p.dies(ctx, w, n, loss)
	w.isSafe(ctx, p.lost)
	p.recovers(ctx, w)
	return reached
}

var _ = Describe("A manager process that is killed", func() {
	maps.Copy(paths, ownPaths)
	for name, p := range paths {
		for _, kind := range []string{ipamv1.IPPoolKind, ipamv1.GlobalIPPoolKind} {
			It("at any write of "+name+" ("+kind+") leaves nothing that another does not finish", func(ctx SpecContext) {
				points := 0
				for n, reached := 1, true; reached; n++ {
					for _, loss := range p.losses(n) {
						By(fmt.Sprintf("write %d %s", n, loss))
						w := newWorld(ctx, kind)
						if kind == ipamv1.IPPoolKind && n%framework.Scale(3, 1) == 0 {
							w.share()
						}
						if reached = p.isWalked(ctx, w, n, loss); reached {
							points++
						}
					}
				}
				Expect(points).To(BeNumerically(">=", 1))
				killed += points
			}, SpecTimeout(20*time.Minute))
		}
	}
})
