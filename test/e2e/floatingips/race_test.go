// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package floatingips

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/cache"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/faults"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/size"
)

const (
	// managers is how many there are.
	managers = 3
	// enough is how often there must have been trouble of each kind.
	enough = 2
	// checks is how often everything is looked at.
	checks = time.Second
)

// load is what consumers do to the pools of one cloud.
type load struct {
	// answers is how many claims are to be told, at least; consumers is how many make claims in each world.
	answers, consumers int
	// patience is how long a consumer waits for an answer, at most. Each tenth of it the managers are told to look again: each of them
	// calls the cloud then, and one that is asked faster than it answers answers nobody.
	patience time.Duration
	// bindings: one of so many claims has its floating IP bound.
	bindings int
}

// race is one run.
type race struct {
	// sides are the clouds, and worlds all that are there, of every side.
	sides  []*side
	worlds []*world

	// known reads claims from a cache: the test should cost less than what it tests.
	known    cache.Cache
	register *register
	injector *faults.Injector
	journal  *faults.Journal
	history  *framework.History

	bound, samples atomic.Int64
}

// side is a cloud, with worlds of both kinds of pool.
type side struct {
	*project

	load   load
	worlds []*world
	// tolerated are floating IPs that nobody knows of at rest.
	tolerated tolerated
}

func raceSpecs() {
	const title = "three managers, killed, stopped, cut off and compacted, on %s, " +
		"never tell an address twice or without its floating IP, touch nothing of others, and leak none"
	const fake = "a cloud that answers late, wrongly or not at all"
	if size.Now() == size.Gate {
		It(fmt.Sprintf(title, fake), func(ctx SpecContext) { runRace(ctx) }, SpecTimeout(timeout))
	}
	size.FromLong(func() {
		It(fmt.Sprintf(title, "a real Neutron and on "+fake), func(ctx SpecContext) {
			runRace(ctx, &side{
				project: open(ctx, realCloud.wait()), load: load{answers: size.Of(0, 60, 600), consumers: 3, patience: 2 * time.Minute, bindings: 6},
			})
		}, SpecTimeout(timeout))
	})
}

// runRace runs a race on a fake cloud, and on more.
func runRace(ctx context.Context, more ...*side) {
	GinkgoHelper()
	onFake := &side{project: startFake(ctx), load: load{answers: size.Of(60, 500, 5000), consumers: 8, patience: 15 * time.Second, bindings: 3}}
	r := start(ctx, append(more, onFake)...)
	r.run(ctx, onFake.trouble)
	Expect(onFake.answersByCode()[0]).To(BeNumerically(">", 0), "answers that were lost")
}

// start makes the worlds, starts the managers, and begins to look.
func start(ctx context.Context, sides ...*side) *race {
	GinkgoHelper()
	r := &race{sides: sides, register: newRegister()}
	config := site.Config()
	var err error
	r.known, err = cache.New(config, cache.Options{Scheme: k.Scheme()})
	Expect(err).NotTo(HaveOccurred())
	faults.Follow(func(ctx context.Context) error { return r.known.Start(ctx) })
	r.journal = faults.NewJournal(ctx, r.known, r.register.see, &ipamv1beta2.IPAddressClaim{}, &ipamv1beta2.IPAddress{}, &ipamv1.IPAllocation{})
	r.history, err = framework.FollowHistory(ctx, site.EtcdURL())
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(r.history.Stop)
	r.injector = &faults.Injector{
		Site: site, Quiet: size.Of[time.Duration](20, 10, 15) * time.Second, Progress: r.progress, Pause: pause, Long: time.Minute,
	}
	for _, s := range r.sides {
		for _, kind := range bothKinds {
			w := newWorld(ctx, s.project, kind)
			w.createPool(ctx)
			s.worlds, r.worlds = append(s.worlds, w), append(r.worlds, w)
		}
	}
	for i := range managers {
		r.injector.Replicas = append(r.injector.Replicas, faults.StartReplica(ctx, site, framework.ManagerOptions{
			Name: fmt.Sprint("racing-", i), Config: config, Args: append([]string{"--repair-grace=2s"}, managerArgs...),
		}))
	}
	for _, s := range r.sides {
		keys := make([]string, 0, len(s.worlds))
		for _, w := range s.worlds {
			Eventually(func(g Gomega) { w.isKnown(ctx, g) }, patience, "100ms").Should(Succeed())
			keys = append(keys, w.key)
		}
		s.addStrangers(ctx, keys...)
	}
	return r
}

// pause is about as long as managers leave each other's half-made records alone.
func pause(random *rand.Rand, _ int64) time.Duration {
	return time.Second + faults.UpTo(random, 7*time.Second)
}

// run has claims made and deleted until so many were told and there was enough trouble, and lets everybody come to rest.
func (r *race) run(ctx context.Context, more ...func(context.Context)) {
	GinkgoHelper()
	began := time.Now()
	DeferCleanup(func() { framework.Account(r.account(time.Since(began))) })
	parts := append([]func(context.Context){r.injector.Run, r.injector.Restart, r.sample, r.wait}, more...)
	for _, s := range r.sides {
		for i, w := range s.worlds {
			for j := range s.load.consumers {
				random := rand.New(rand.NewPCG(uint64(GinkgoRandomSeed()), uint64(1000*i+j)))
				parts = append(parts, (&consumer{race: r, side: s, world: w, prefix: fmt.Sprintf("c%d", j), random: random}).run)
			}
		}
	}
	By("making, using and deleting claims while everybody is disturbed")
	faults.Together(ctx, parts...)
	Expect(ctx.Err()).NotTo(HaveOccurred())
	Expect(r.injector.Ended()).To(BeZero(), "managers that ended by themselves, though none leads")

	By("letting everybody come to rest, with managers that have just started")
	each(r.injector.Replicas, func(replica *faults.Replica) { Expect(replica.Restart(ctx)).To(Succeed()) })
	r.rest(ctx)
	r.describe("beside those that claims were told", func(t tolerated) []floatingIP { return t.surplus })
	expectNoSecret(ctx)

	By("deleting claims, and then pools")
	r.deleteClaims(ctx)
	r.describe("of claims that had gone, created too late", func(t tolerated) []floatingIP { return t.late })
	r.deletePools(ctx)
	r.expectHistory(ctx)
}

// wait returns when it is enough.
func (r *race) wait(ctx context.Context) {
	isEnough := func() bool {
		return !slices.ContainsFunc(r.sides, func(s *side) bool { return !r.hasEnough(s) })
	}
	for ctx.Err() == nil && !isEnough() {
		faults.Sleep(ctx, 200*time.Millisecond)
	}
}

// hasEnough says whether so many claims of a side were told as are to be, and there was enough trouble.
func (r *race) hasEnough(s *side) bool {
	return r.register.answered(s.worlds...) >= s.load.answers && r.injector.Enough(enough, 0)
}

// progress counts claims that were told, of sides that have not had enough.
func (r *race) progress() (told int) {
	for _, s := range r.sides {
		if !r.hasEnough(s) {
			told += r.register.answered(s.worlds...)
		}
	}
	return told
}

// answersByCode counts the calls of the fake by their answers; 0 is none.
func (p *project) answersByCode() map[int]int {
	counts := map[int]int{}
	for _, call := range p.fake.Calls() {
		counts[call.Code]++
	}
	return counts
}

func (r *race) account(took time.Duration) string {
	var b strings.Builder
	fmt.Fprintf(&b, "seed %d, %s\n", GinkgoRandomSeed(), took.Round(time.Second))
	for _, s := range r.sides {
		if s.fake != nil {
			fmt.Fprintf(&b, "%d claims told on the fake; calls by their answers (0 is none): %v\n", r.register.answered(s.worlds...), s.answersByCode())
			continue
		}
		fmt.Fprintf(&b, "%d claims told on the real cloud\n", r.register.answered(s.worlds...))
	}
	fmt.Fprintf(&b, "%d times bound; %s\n", r.bound.Load(), r.injector)
	fmt.Fprintf(&b, "%d checks on the way\n", r.samples.Load())
	return b.String()
}
