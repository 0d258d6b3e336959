// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package floatingips

import (
	"context"
	"fmt"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/size"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

func crashSpecs() {
	walks := func(name string, p *path, of string, kinds ...string) {
		It("a manager process that is killed at any write or call while "+name+" ("+of+") leaves nothing that another does not finish", func(ctx SpecContext) {
			p.walk(ctx, name, kinds)
		}, SpecTimeout(timeout))
	}
	inEach := func(name string, p *path) {
		for _, kind := range bothKinds {
			walks(name, p, kind, kind)
		}
	}
	for name, p := range paths {
		if p.kinds || size.Now() > size.Gate {
			inEach(name, p)
			continue
		}
		walks(name, p, "both kinds of pool in turn", bothKinds...)
	}
}

// points are those of the first round: so many writes, and one more, and all calls. What is lost is taken in turn, but for the call that changes
// something outside.
func (p *path) points() []point {
	points := p.morePoints(1)
	for i, call := range p.calls {
		of := []fate{fates[i%len(fates)]}
		if call == p.change || size.Now() > size.Gate {
			of = fates
		}
		for _, fate := range of {
			points = append(points, point{call: call, fate: fate})
		}
	}
	return points
}

// morePoints are writes from a number on.
func (p *path) morePoints(first int) (points []point) {
	for n := first; n <= first+p.writes; n++ {
		points = append(points, writePoint(n))
	}
	return points
}

// walk goes the path once for each point, each time in a world of its own and with a manager of its own that dies there, all at once. Another
// manager makes all worlds before, and finishes all afterwards. As long as the last write is a point, there may be more.
func (p *path) walk(ctx context.Context, name string, kinds []string) {
	GinkgoHelper()
	killed, gaps := 0, 0
	for points := p.points(); points != nil; {
		steps := make([]*step, len(points))
		for i, at := range points {
			steps[i] = &step{path: p, at: at, world: newWorld(ctx, startFake(ctx), kinds[i/2%len(kinds)])}
		}
		points = p.walkAll(ctx, steps)
		for _, s := range steps {
			if s.isReached {
				killed++
			}
			gaps += s.gaps
			GinkgoWriter.Printf("%s, %s of %s: reached %t\n", s.world.name, s.at, s.world.kind, s.isReached)
			isSure := s.at.write == 1 || s.at.call != "" && s.at.call == p.change
			Expect(s.isReached || !isSure).To(BeTrue(), "there was no %s", s.at)
		}
	}
	framework.Account(fmt.Sprintf("%s: a manager was killed at %d points; %d floating IPs of claims that had gone were created late", name, killed, gaps))
}

// walkAll walks some steps, and returns the points that are left.
func (p *path) walkAll(ctx context.Context, steps []*step) (left []point) {
	GinkgoHelper()
	healthy(ctx, "before", func() { each(steps, func(s *step) { p.before(ctx, s.world) }) })
	each(steps, func(s *step) { s.dies(ctx) })
	healthy(ctx, "after", func() {
		each(steps, func(s *step) { s.recovers(ctx) })
		suite.AtRest(ctx, site.Config())
		expectNoSecret(ctx)
		each(steps, func(s *step) { s.ends(ctx) })
	})
	last := slices.IndexFunc(steps, func(s *step) bool { return s.at.call != "" })
	if last < 0 {
		last = len(steps)
	}
	if end := steps[last-1]; end.isReached {
		return p.morePoints(end.at.write + 1)
	}
	return nil
}

// healthy runs a manager for all worlds that nothing happens to while do is done. It soon gives up what was reserved for nobody.
func healthy(ctx context.Context, name string, do func()) {
	GinkgoHelper()
	m, err := site.StartManager(ctx, framework.ManagerOptions{Name: "healthy-" + name, Args: append([]string{"--repair-grace=1s"}, managerArgs...)})
	Expect(err).NotTo(HaveOccurred())
	do()
	Expect(m.Kill()).To(Succeed())
}

// step is one walk along a path, to one point.
type step struct {
	path  *path
	at    point
	world *world

	trap      trap
	isReached bool
	// gaps counts floating IPs that were created too late for their claim's release to see them.
	gaps int
}

// dies has the event happen, and a manager die.
func (s *step) dies(ctx context.Context) {
	GinkgoHelper()
	w := s.world
	w.project.fake.Reset()
	s.path.event(ctx, w)
	s.trap, s.isReached = s.path.dies(ctx, w, s.at)
	for _, call := range w.project.fake.Calls() {
		Expect(s.path.calls).To(ContainElement(call.Name), "a call that is no point yet")
	}
	if s.path.meanwhile != nil {
		s.path.meanwhile(ctx, w)
	}
}

// recovers waits until another manager is done, has the late call be done, and waits again.
func (s *step) recovers(ctx context.Context) {
	GinkgoHelper()
	w := s.world
	s.isDone(ctx)
	w.project.keepTokens()
	if s.isReached && s.trap.release != nil {
		s.trap.release()
		Eventually(w.project.fake.Active, patience, "100ms").Should(BeZero())
		s.isDone(ctx)
	}
	own, err := w.project.own(ctx)
	Expect(err).NotTo(HaveOccurred())
	if surplus := s.surplus(own); len(surplus) > 0 {
		isLate := s.isReached && s.at.call == creation && s.at.fate == late
		Expect(isLate).To(BeTrue(), "they are nobody's: %v", surplus)
		Expect(surplus).To(HaveLen(1))
	}
}

// isDone waits until floating IPs, records and IPAddresses are the same.
func (s *step) isDone(ctx context.Context) {
	GinkgoHelper()
	w := s.world
	var pokes poker
	Eventually(func(g Gomega) {
		if pokes.isTime(15) {
			w.pokeAll(ctx, g)
		}
		s.path.done(ctx, w, g)
		own, err := w.project.own(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		surplus := s.surplus(own)
		own = slices.DeleteFunc(own, func(f floatingIP) bool { return slices.ContainsFunc(surplus, isOf(f.ID)) })
		g.Expect(suite.FloatingIPAccount(ctx, k, []string{w.project.network}, own)).To(BeEmpty())
		all, err := w.project.all(ctx)
		g.Expect(err).NotTo(HaveOccurred())
		g.Expect(w.project.changed(all)).To(BeEmpty())
	}, patience, "100ms").Should(Succeed(), "%s of %s", s.at, w.name)
	Expect(w.project.misdeeds(w.isReleased)).To(BeEmpty())
}

// surplus are the floating IPs of the claim that it has beside the one that it is told, or that it has though it is gone. Where the creation was
// done late there is one: nobody who releases the claim, or answers it, could see it.
func (s *step) surplus(own []floatingIP) []floatingIP {
	if s.at.call != creation || s.at.fate != late {
		return nil
	}
	ofClaim := slices.DeleteFunc(slices.Clone(own), func(f floatingIP) bool {
		_, claim, _, _ := suite.FloatingIPOwner(f)
		return string(claim) != s.world.claimUID
	})
	made := s.world.project.creations()
	slices.SortFunc(ofClaim, func(a, b floatingIP) int { return made[a.ID] - made[b.ID] })
	if s.path.meanwhile == nil && len(ofClaim) > 0 {
		return ofClaim[1:]
	}
	return ofClaim
}

func isOf(id string) func(floatingIP) bool {
	return func(f floatingIP) bool { return f.ID == id }
}

// pokeAll has the managers look at all claims of the world.
func (w *world) pokeAll(ctx context.Context, g Gomega) {
	claims := &ipamv1beta2.IPAddressClaimList{}
	g.Expect(k.List(ctx, claims, client.InNamespace(w.name))).To(Succeed())
	for i := range claims.Items {
		g.Expect(poke(ctx, &claims.Items[i])).To(Succeed())
	}
}

// isReleased says whether a floating IP of the claim with that UID might be deleted when there were so many changes.
func (w *world) isReleased(claim string, _ floatingIP, change int) bool {
	return claim == w.claimUID && w.dyingSince >= 0 && change >= w.dyingSince
}

// ends deletes the claim, and then the pool, and expects that nothing is left but what was created too late.
func (s *step) ends(ctx context.Context) {
	GinkgoHelper()
	w := s.world
	w.deleteClaim(ctx)
	Eventually(func(g Gomega) { w.isGone(ctx, g) }, patience, "100ms").Should(Succeed())
	own, err := w.project.own(ctx)
	Expect(err).NotTo(HaveOccurred())
	if s.path.meanwhile != nil && s.isReached {
		s.gaps = len(s.surplus(own))
	}
	Expect(own).To(HaveLen(s.gaps), "%s of %s", s.at, w.name)
	w.deletePool(ctx)
	all, err := w.project.all(ctx)
	Expect(err).NotTo(HaveOccurred())
	Expect(w.project.changed(all)).To(BeEmpty())
	Expect(w.project.misdeeds(w.isReleased)).To(BeEmpty())
}
