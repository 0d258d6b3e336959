// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package crash

import (
	"context"
	"fmt"
	"maps"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/fsck"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/size"
)

// losses are the ways in which the last write is lost: both at every write of a create call, and at soak size of all paths, else in
// turn.
func (p *path) losses(n int) []framework.Loss {
	both := []framework.Loss{framework.RequestLost, framework.ReplyLost}
	if p.asks != nil || size.Now() == size.Soak {
		return both
	}
	return both[(turn()+n/stride())%2:][:1]
}

// stride is how many writes there are from a point to the next one. The gate takes the first write, and each sixth one from one of the next
// six on: the seed says which.
func stride() int { return size.Of(6, 1, 1) }

// turn is 0 or 1, by the seed.
func turn() int { return int(GinkgoRandomSeed() % 2) }

// isLeftOut tells whether the gate leaves a path out: every second one that is not a main one. The seed says which, and by another bit than
// how a write is lost: each path meets both losses.
func (p *path) isLeftOut() bool {
	return size.Now() == size.Gate && !p.isMain && (p.place+int(GinkgoRandomSeed()/2))%2 != 0
}

// next is the number of the write after the n-th at which a manager is killed.
func next(n int) int {
	if n == 1 {
		return n + 1 + int(GinkgoRandomSeed()/4)%stride()
	}
	return n + stride()
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
	m, err := site.Launch(ctx, framework.ManagerOptions{Name: "mortal", Binary: binary, Args: managerArgs, Config: proxy.Config()})
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
	}, "3m", "100ms").Should(Succeed())
	Expect(m.Kill()).To(Succeed())
	giveUp()
	<-asked
	return closed()
}

// recovers has a healthy manager finish, and checks that nothing is left over.
func (p *path) recovers(ctx context.Context, w *world, healthy *framework.Manager) {
	GinkgoHelper()
	if p.asks != nil {
		defer func() { Expect(site.RemoveWebhooks(ctx)).To(Succeed()) }() // a dead manager is not missed
		Expect(ask(ctx, healthy, p.asks(w))).To(Or(Succeed(), Satisfy(apierrors.IsAlreadyExists)))
	}
	Eventually(func(g Gomega) { p.done(ctx, w, g) }, "90s", "100ms").Should(Succeed())
	Eventually(func(g Gomega) {
		report, err := fsck.Check(ctx, config)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(report.AtRest()).To(Succeed())
	}, "90s", "100ms").Should(Succeed())
	w.isSafe(ctx, "")
	if w.others != nil {
		Expect(w.otherUIDs(ctx, NewWithT(GinkgoT()))).To(ConsistOf(w.others), "what is the other front door's")
	}
}

// begin makes the world for the walk that ends at the n-th write, with a healthy manager.
func (p *path) begin(ctx context.Context, kind string, n int) *world {
	GinkgoHelper()
	w := newWorld(ctx, kind)
	p.before(ctx, w)
	if p.isShared && kind == ipamv1.IPPoolKind && n%size.Of(3, 3, 1) == 0 {
		w.populate(ctx)
	}
	return w
}

// walk goes the path again and again, each time in a new world and with a manager that is killed some writes later, until there is no such write.
// Another manager finishes, and makes the next world. It returns at how many points a manager was killed.
func (p *path) walk(ctx context.Context, kind string) (points int) {
	GinkgoHelper()
	var w *world
	healthy(ctx, func(*framework.Manager) { w = p.begin(ctx, kind, 1) })
	for n := 1; ; n = next(n) {
		for _, loss := range p.losses(n) {
			By(fmt.Sprintf("write %d %s", n, loss))
			if p.asks == nil {
				p.event(ctx, w)
			}
			reached := p.dies(ctx, w, n, loss)
			w.isSafe(ctx, p.lost)
			healthy(ctx, func(m *framework.Manager) {
				if p.recovers(ctx, w, m); reached {
					w = p.begin(ctx, kind, next(n))
				}
			})
			if !reached {
				return points
			}
			points++
		}
	}
}

// walked is the spec of a path.
func (p *path) walked(kind string) func(SpecContext) {
	return func(ctx SpecContext) {
		if p.isLeftOut() {
			Skip("the gate walks the main paths and every second one of the others, by the seed")
		}
		points := p.walk(ctx, kind)
		Expect(points).To(BeNumerically(">=", 1))
		killed += points
	}
}

var _ = Describe("A manager process that is killed", func() {
	maps.Copy(paths, ownPaths)
	walks := func(name string, p path, kind string) {
		p.isShared = true
		It("at any write of "+name+" ("+kind+") leaves nothing that another does not finish", p.walked(kind), SpecTimeout(20*time.Minute))
	}
	for i, name := range slices.Sorted(maps.Keys(paths)) {
		p := paths[name]
		p.place = i
		walks(name, p, ipamv1.IPPoolKind)
		if p.kindMatters {
			walks(name, p, ipamv1.GlobalIPPoolKind)
			continue
		}
		size.FromLong(func() { walks(name, p, ipamv1.GlobalIPPoolKind) })
	}
	for i, name := range slices.Sorted(maps.Keys(metal3Paths)) {
		p := metal3Paths[name]
		p.place = i
		It("at any write of "+name+" leaves nothing that another does not finish", p.walked(ipamv1.IPPoolKind), SpecTimeout(20*time.Minute))
	}
})
