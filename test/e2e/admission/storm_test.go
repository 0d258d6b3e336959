// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"
	"maps"
	"math/rand/v2"
	"slices"
	"strings"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/fsck"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/faults"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/size"
)

// answers is how many there are to be, at least.
var answers = size.Of(60, 200, 2000)

// checks is how often the checker looks.
const checks = 3 * time.Second

// quiet is how long a kind of trouble leaves off, at most.
const quiet = 8 * time.Second

// enough is how often there must have been trouble of each kind.
var enough = size.Of[int64](1, 2, 2)

// webhookTimeout is how long the API server waits for Weir.
const webhookTimeout = 10 * time.Second

// pause is for how long a manager is stopped: one time in three for longer than the API server waits for it.
func pause(random *rand.Rand, before int64) time.Duration {
	if before%3 == 1 {
		return webhookTimeout + time.Second
	}
	return time.Second + faults.UpTo(random, 4*time.Second)
}

// storm is one run.
type storm struct {
	wire      *wire
	view      *clientView
	tally     *tally
	latecomer *latecomer
	injector  *faults.Injector
	journal   *faults.Journal
	sightings *sightings
	history   *framework.History
	// samples is how often the checker found nothing.
	samples atomic.Int64
}

var _ = DescribeTable("50 clients are never told a prefix twice and nothing leaks, while managers are killed, stopped and cut off and objects are stored late or never",
	func(ctx SpecContext, election string) {
		s := begin(ctx, election)
		DeferCleanup(func(ctx SpecContext) { framework.Account(s.account(faults.Counted(ctx, s.injector.Replicas))) })

		By("asking and giving back while everybody is disturbed")
		s.run(ctx)

		s.latecomer.off.Store(true)

		By("letting everybody come to rest, and records wait for their objects in vain")
		s.expectRest(ctx)

		By("giving everything back")
		deleteAll(ctx)
		s.expectRest(ctx)
		s.expectRetained(ctx)

		past := s.expectPast(ctx)
		s.injector.Revive(ctx)
		framework.Account(fmt.Sprint("history: ", past))
		Expect(past.Reuses).To(BeNumerically(">", 0))
		s.expectCounted(faults.Counted(ctx, s.injector.Replicas))
	},
	Entry("one of them leads", SpecTimeout(timeout), "--leader-elect"),
	entriesOfSoak(),
)

// entriesOfSoak are too long for every change. The race suite has all managers write, too.
func entriesOfSoak() []TableEntry {
	return []TableEntry{Entry("all of them write", SpecTimeout(timeout), "--leader-elect=false")}[:size.Of(0, 0, 1)]
}

func begin(ctx SpecContext, args ...string) *storm {
	GinkgoHelper()
	s := &storm{
		wire: newWire(), view: newClientView(), tally: newTally(), latecomer: &latecomer{slow: 12, refuse: 8}, sightings: newSightings(),
		injector: &faults.Injector{Site: site, Replicas: startReplicas(ctx, args...), Quiet: quiet, Pause: pause, Long: webhookTimeout},
	}
	s.journal = faults.NewJournal(ctx, known, s.sightings.look,
		&ipamv1beta2.IPAddressClaim{}, &ipamv1beta2.IPAddress{}, &ipamv1.IPAllocation{}, &ipamv1.IPClaim{}, &ipamv1.IPPool{}, &ipamv1.GlobalIPPool{})
	var err error
	s.history, err = framework.FollowHistory(ctx, site.EtcdURL())
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(s.history.Stop)
	createRoots(ctx, roots...)
	s.latecomer.install(ctx)
	return s
}

// run has everybody at it until there have been enough answers and enough trouble.
func (s *storm) run(ctx context.Context) {
	GinkgoHelper()
	parts := append(make([]func(context.Context), 0, 4+users), s.injector.Run, s.injector.Restart, s.sample, s.wait)
	api := s.wire.client()
	for i := range users {
		random := rand.New(rand.NewPCG(uint64(GinkgoRandomSeed()), 100+uint64(i)))
		parts = append(parts, (&user{api: api, random: random, id: i, view: s.view, tally: s.tally}).run)
	}
	faults.Together(ctx, parts...)
	Expect(ctx.Err()).NotTo(HaveOccurred())
	s.expectNoDoubles()
}

// wait returns when it is enough.
func (s *storm) wait(ctx context.Context) {
	for ctx.Err() == nil {
		faults.Sleep(ctx, time.Second)
		s.expectNoDoubles()
		_, n := s.view.found()
		if n >= answers && s.injector.Enough(enough, 1) && !slices.Contains(slices.Collect(maps.Values(s.seen())), 0) {
			return
		}
	}
}

// seen is how often each kind of trouble has come that depends on chance.
func (s *storm) seen() map[string]int64 {
	l := s.latecomer
	return map[string]int64{
		"delays": l.delays.Load(), "refusals": l.refusals.Load(), "late refusals": l.lateRefusals.Load(),
		"exhausted": int64(s.tally.of("507")), "conflicts": int64(s.tally.of("409")), "contended": int64(s.wire.of(429)),
		"missing": int64(s.tally.of("404")),
	}
}

// expectNoDoubles fails with the history of a prefix that was handed out twice.
func (s *storm) expectNoDoubles() {
	GinkgoHelper()
	if doubles, _ := s.view.found(); len(doubles) > 0 {
		s.fail(strings.Join(doubles, "\n"))
	}
	if dry, _ := s.sightings.found(); len(dry) > 0 {
		Fail("records of dry runs:\n" + strings.Join(dry, "\n"))
	}
}

// sample has the checker look again and again.
func (s *storm) sample(ctx context.Context) {
	for ctx.Err() == nil {
		report, err := fsck.CheckAdmitted(context.WithoutCancel(ctx), config)
		Expect(err).NotTo(HaveOccurred())
		s.expectSafe(report)
		s.expectPast(context.WithoutCancel(ctx))
		s.samples.Add(1)
		faults.Sleep(ctx, checks)
	}
}

// expectPast fails with the history of what was wrong at any moment up to now.
func (s *storm) expectPast(ctx context.Context) framework.HistoryAccount {
	GinkgoHelper()
	moment, err := s.history.Now(ctx)
	Expect(err).NotTo(HaveOccurred())
	if len(moment.Findings) > 0 {
		s.fail(strings.Join(moment.Findings, "\n"))
	}
	return moment.Account
}

func (s *storm) expectSafe(report *fsck.Report) {
	GinkgoHelper()
	if err := report.Safe(); err != nil {
		s.fail(err.Error())
	}
}

func (s *storm) fail(finding string) {
	GinkgoHelper()
	Fail(finding + "\n" + s.journal.Of(finding))
}

// expectRest waits until nothing overlaps, lacks a record, leaks or is silent, and every manager runs.
func (s *storm) expectRest(ctx context.Context) {
	GinkgoHelper()
	expectAtRest(ctx, s.expectSafe, func(*fsck.Report) { s.injector.Revive(ctx) })
}

// expectAtRest waits until the checker finds nothing left to do. On the way, its reports can be looked at.
func expectAtRest(ctx context.Context, look ...func(*fsck.Report)) {
	GinkgoHelper()
	Eventually(func() error {
		report, err := fsck.CheckAdmitted(ctx, config)
		if err != nil {
			return err
		}
		for _, f := range look {
			f(report)
		}
		return report.AtRest()
	}, "5m", "1s").Should(Succeed())
}

// deleteAll deletes every claim and, from the leaves on, every child pool.
func deleteAll(ctx context.Context) {
	GinkgoHelper()
	for _, kind := range []client.Object{&ipamv1.IPClaim{}, &ipamv1beta2.IPAddressClaim{}} {
		Eventually(func() error { return k.DeleteAllOf(ctx, kind, client.InNamespace(namespace)) }, "5m", "1s").Should(Succeed())
	}
	Eventually(func(g Gomega) {
		claims, addressClaims := &ipamv1.IPClaimList{}, &ipamv1beta2.IPAddressClaimList{}
		g.Expect(k.List(ctx, claims)).To(Succeed())
		g.Expect(k.List(ctx, addressClaims)).To(Succeed())
		g.Expect(len(claims.Items)+len(addressClaims.Items)).To(BeZero(), "%v %v", claims.Items, addressClaims.Items)
	}, "5m", "1s").Should(Succeed())
}

// expectRetained has every prefix that is retained asked for again, under its name, and given back. Then only the roots' blocks
// are left. A pool may have been let go that a manager did not know yet to be in use: it stays as long as something is retained in
// it, and hands nothing out, so somebody has to give that up.
func (s *storm) expectRetained(ctx context.Context) {
	GinkgoHelper()
	retained := slices.DeleteFunc(records(ctx), func(a ipamv1.IPAllocation) bool { return a.Spec.State != ipamv1.RetainedState })
	for _, a := range retained {
		if isLeaving(ctx, a.Spec.PoolRef) {
			Expect(k.Delete(ctx, &a)).To(Succeed())
			continue
		}
		claim := &ipamv1.IPClaim{}
		claim.Namespace, claim.Name = namespace, a.Spec.ClaimRef.Name
		claim.Spec.PoolRef = &ipamv1.ClaimPoolReference{Kind: a.Spec.PoolRef.Kind, Name: a.Spec.PoolRef.Name}
		claim.Spec.PrefixLength = bitsOf(a.Spec.CIDR)
		Eventually(func() error { return s.again(ctx, claim) }, "2m", "1s").Should(Succeed())
		Expect(claim.Spec.CIDR).To(BeElementOf(likeOf(&a, retained)), "%s was retained for %s", a.Spec.CIDR, claim.Name)
		s.tally.answered(claim.Name, prefixOf(claim.Spec.CIDR))
		Expect(k.Delete(ctx, claim)).To(Succeed())
		Eventually(func() error { return k.Get(ctx, client.ObjectKeyFromObject(claim), claim) }, "2m", "100ms").Should(Satisfy(apierrors.IsNotFound))
	}
	Eventually(func(g Gomega) { // leaves first: a pool is kept as long as something is carved out of it
		deleteAll(ctx)
		for _, s := range slices.Backward(children) {
			err := k.Delete(ctx, s.pool())
			g.Expect(client.IgnoreNotFound(err)).To(Or(Succeed(), Satisfy(apierrors.IsForbidden)))
		}
		g.Expect(leftOver(ctx)).To(BeEmpty())
	}, "5m", "2s").Should(Succeed())
}

// likeOf are the prefixes of that length that are retained for the name. There may be several: a claim that is answered by a manager which
// does not know yet what is retained, and deleted before it is bound, leaves another one.
func likeOf(a *ipamv1.IPAllocation, retained []ipamv1.IPAllocation) (like []string) {
	for i := range retained {
		b := &retained[i].Spec
		if b.ClaimRef.Name == a.Spec.ClaimRef.Name && b.PoolRef == a.Spec.PoolRef && *bitsOf(b.CIDR) == *bitsOf(a.Spec.CIDR) {
			like = append(like, b.CIDR)
		}
	}
	return like
}

// isLeaving says whether a pool is being deleted.
func isLeaving(ctx context.Context, ref ipamv1.PoolReference) bool {
	GinkgoHelper()
	pool := &metav1.PartialObjectMetadata{}
	pool.SetGroupVersionKind(ipamv1.GroupVersion.WithKind(ref.Kind))
	Expect(k.Get(ctx, client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}, pool)).To(Succeed())
	return !pool.DeletionTimestamp.IsZero()
}

// again creates a claim from the beginning.
func (s *storm) again(ctx context.Context, claim *ipamv1.IPClaim) error {
	fresh := claim.DeepCopy()
	if err := k.Create(ctx, fresh); err != nil {
		return err
	}
	*claim = *fresh
	return nil
}

func records(ctx context.Context) []ipamv1.IPAllocation {
	GinkgoHelper()
	list := &ipamv1.IPAllocationList{}
	Expect(k.List(ctx, list)).To(Succeed())
	return list.Items
}

// leftOver are the records that are no roots' blocks.
func leftOver(ctx context.Context) []string {
	GinkgoHelper()
	var left []string
	for _, a := range records(ctx) {
		if !a.Spec.IsRootBlock() {
			left = append(left, fmt.Sprintf("%s %s for %s %s", a.Name, a.Spec.CIDR, a.Spec.ClaimRef.Name, a.Spec.ClaimRef.UID))
		}
	}
	return left
}

// expectCounted wants every kind of trouble to have come.
func (s *storm) expectCounted(counted faults.Counters) {
	GinkgoHelper()
	for _, name := range []string{"ledger_relists_total", "ledger_lost_judgements_total", "repair_mismatches_total"} {
		Expect(counted[name]).To(BeNumerically(">", 0), name)
	}
	Expect(s.tally.kept).To(BeNumerically(">", 0), "promises that were kept")
	for what, n := range s.seen() {
		Expect(n).To(BeNumerically(">", 0), what)
	}
}

func (s *storm) account(counted faults.Counters) string {
	var b strings.Builder
	l := s.latecomer
	_, told := s.view.found()
	_, retained := s.sightings.found()
	fmt.Fprintln(&b, "seed", GinkgoRandomSeed())
	fmt.Fprintf(&b, "%d prefixes told to %d clients; creates, and deletions that failed, by outcome: %s\n", told, users, s.tally)
	fmt.Fprintf(&b, "creates by code, repetitions included: %s\n", s.wire)
	fmt.Fprintf(&b, "%d deletions of pools in use refused\n", s.tally.protected)
	fmt.Fprintf(&b, "%d objects stored or refused %s late, %d refused behind Weir's back, %d of them late\n",
		l.delays.Load(), lateness, l.refusals.Load(), l.lateRefusals.Load())
	fmt.Fprintf(&b, "%d prefixes retained, %d promises to claims of the same name kept, %d not\n", retained, s.tally.kept, s.tally.broken)
	fmt.Fprintln(&b, s.injector)
	fmt.Fprintf(&b, "%d checks on the way without overlap or early release\n", s.samples.Load())
	for _, name := range slices.Sorted(maps.Keys(counted)) {
		if strings.HasPrefix(name, "ledger_") || strings.HasPrefix(name, "repair_") {
			fmt.Fprintf(&b, "%s %.0f\n", name, counted[name])
		}
	}
	return b.String()
}
