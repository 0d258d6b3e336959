// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package race

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
	"k8s.io/apimachinery/pkg/types"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	m3v1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/metal3/v1alpha1"
	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/fsck"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/faults"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/otherdoor"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/size"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// allocations is how many there are to be, at least.
var allocations = size.Of(80, 1000, 50000)

// timeout ends a run that does not get there.
var timeout = size.Of[time.Duration](20, 20, 12*60) * time.Minute

// checks is how often the checker looks.
const checks = 3 * time.Second

// quiet is how long a kind of trouble leaves off, at most. Informers wait for up to half a minute before they watch again where
// that has failed a few times in two minutes: more would only show how idle managers do.
const quiet = 15 * time.Second

// enough is how often there must have been trouble of each kind.
var enough = size.Of[int64](2, 3, 3)

// longStop: one stop of so many lasts longer than a minute. Zero is none.
var longStop = size.Of[int64](0, 0, 5)

// race is one run.
type race struct {
	strangers *strangers
	injector  *faults.Injector
	journal   *faults.Journal
	history   *framework.History
	others    others
	metal3    metal3
	// told are the claims that have ever named an answer; how many is read while they come.
	told      map[types.UID]bool
	toldCount atomic.Int64
	// samples is how often the checker found nothing.
	samples atomic.Int64
	// swept is how many records of claims without object were left over.
	swept int
}

var _ = It("three managers and three ledgers, killed, stopped, cut off and compacted, never hold an address twice, release none early, and leak none", func(ctx SpecContext) {
	r := start(ctx)
	DeferCleanup(func(ctx SpecContext) {
		framework.Account(r.account(r.counted(ctx)))
		framework.Account(fmt.Sprint("history: ", r.now(ctx).Account))
	})

	By("making and deleting claims while everybody is disturbed")
	r.run(ctx)

	By("letting everybody come to rest")
	Eventually(func() int { return untold(known(ctx)) }, "10m", "1s").Should(BeZero())
	r.swept = r.strangers.sweep(ctx)
	suite.AtRest(ctx, config, r.expectSafe, r.expectSafePast(ctx))

	By("deleting every claim")
	Expect(k.DeleteAllOf(ctx, &ipamv1beta2.IPAddressClaim{}, client.InNamespace(namespace))).To(Succeed())
	Eventually(func() int { return len(known(ctx)) }, "10m", "1s").Should(BeZero())
	suite.AtRest(ctx, config, r.expectSafe, r.expectSafePast(ctx))
	r.deleteOthers(ctx)
	r.restMetal3(ctx)
	expectBlocksOnly(ctx)
	r.expectHistory(ctx)

	counted := r.counted(ctx)
	for _, name := range []string{"ledger_relists_total", "ledger_lost_judgements_total", "ledger_takeovers_total"} {
		Expect(counted[name]).To(BeNumerically(">", 0), name)
	}
}, SpecTimeout(timeout))

func start(ctx context.Context) *race {
	GinkgoHelper()
	r := &race{told: map[types.UID]bool{}, others: others{}, injector: &faults.Injector{Site: site, Quiet: quiet, Pause: pause, Long: time.Minute}}
	r.journal = faults.NewJournal(ctx, claims, r.look, &ipamv1beta2.IPAddressClaim{}, &ipamv1beta2.IPAddress{}, &ipamv1.IPAllocation{},
		&otherdoor.IPClaim{}, &otherdoor.IPAddress{}, &m3v1.IPClaim{}, &m3v1.IPAddress{})
	binary, err := framework.Binary("other-manager")
	Expect(err).NotTo(HaveOccurred())
	for _, name := range []string{"one", "two", "three"} {
		r.injector.Replicas = append(r.injector.Replicas, faults.StartReplica(ctx, site, framework.ManagerOptions{
			Name: name, Config: config, Binary: binary, Args: []string{"--feature-gates=Metal3=true"},
		}))
	}
	r.follow(ctx)
	r.metal3.follow(ctx)
	r.strangers = newStrangers(ctx, r.history)
	r.injector.Proxies = r.strangers.proxies
	return r
}

// look counts the claims that have been answered.
func (r *race) look(o client.Object) {
	claim, ok := o.(*ipamv1beta2.IPAddressClaim)
	if ok && claim.Status.AddressRef.Name != "" && !r.told[claim.UID] {
		r.told[claim.UID] = true
		r.toldCount.Add(1)
	}
}

// pause is longer than others leave a manager's half-made records alone.
func pause(random *rand.Rand, before int64) time.Duration {
	d := 6*time.Second + faults.UpTo(random, 3*time.Second)
	if longStop > 0 && before%longStop == 0 {
		d += time.Minute
	}
	return d
}

// run has everybody at it until there have been enough allocations and enough trouble.
func (r *race) run(ctx context.Context) {
	GinkgoHelper()
	faults.Together(ctx, makeClaims, makeOtherClaims, makeMetal3Claims, r.strangers.run, r.injector.Run, r.injector.Restart, r.sample, r.wait)
	Expect(ctx.Err()).NotTo(HaveOccurred())
	Expect(r.injector.Ended()).To(BeZero(), "managers that ended by themselves, though none leads")
	Expect(r.strangers.claims.Doubles()).To(BeEmpty())
}

// wait returns when it is enough.
func (r *race) wait(ctx context.Context) {
	for ctx.Err() == nil && (r.allocations() < allocations || !r.injector.Enough(enough, min(longStop, 1))) {
		faults.Sleep(ctx, time.Second)
	}
}

func (r *race) allocations() int { return int(r.toldCount.Load() + r.strangers.answered.Load()) }

// sample has the checker look again and again.
func (r *race) sample(ctx context.Context) {
	for ctx.Err() == nil {
		var report *fsck.Report
		Eventually(func() (err error) { // an API server that has too much to do may be too slow
			report, err = fsck.CheckWith(context.WithoutCancel(ctx), config, r.strangers.held)
			return err
		}, "2m", "1s").Should(Succeed())
		r.expectSafe(report)
		r.expectPast(context.WithoutCancel(ctx))
		r.expectOthers(context.WithoutCancel(ctx))
		r.expectMetal3(context.WithoutCancel(ctx))
		r.samples.Add(1)
		faults.Sleep(ctx, checks)
	}
}

// expectSafe fails with the history of what is wrong.
func (r *race) expectSafe(report *fsck.Report) {
	GinkgoHelper()
	if err := report.Safe(); err != nil {
		Fail(err.Error() + "\n" + r.journal.Of(err.Error()))
	}
}

// expectSafePast looks at the history while the checker looks at what is there.
func (r *race) expectSafePast(ctx context.Context) func(*fsck.Report) {
	return func(*fsck.Report) { r.expectPast(ctx) }
}

// expectBlocksOnly waits until there is no record but one of each of the pools' own blocks, of both front doors.
func expectBlocksOnly(ctx context.Context) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		list := &ipamv1.IPAllocationList{}
		g.Expect(k.List(ctx, list)).To(Succeed())
		seen := map[[2]string]string{}
		for _, a := range list.Items {
			g.Expect(a.Spec.IsRootBlock()).To(BeTrue(), a.Name)
			block := [2]string{a.Spec.AddressSpace, a.Spec.CIDR}
			g.Expect(seen).NotTo(HaveKey(block), "%s and %s", a.Name, seen[block])
			seen[block] = a.Name
		}
	}, "2m", "1s").Should(Succeed())
}

// counted sums what all managers have counted in all their lives, and the ledgers in this process.
func (r *race) counted(ctx context.Context) faults.Counters {
	GinkgoHelper()
	sum := faults.Counted(ctx, r.injector.Replicas)
	sum.Add(r.strangers.counts(ctx))
	return sum
}

func (r *race) account(counted faults.Counters) string {
	s := r.strangers
	var b strings.Builder
	fmt.Fprintln(&b, "seed", GinkgoRandomSeed())
	fmt.Fprintf(&b, "%d allocations: %d for claims, %d for claims without object (%d times exhausted, %d left over)\n",
		r.allocations(), r.toldCount.Load(), s.answered.Load(), s.exhausted.Load(), r.swept)
	fmt.Fprintf(&b, "%d claims of the other front door were seen with an address\n", len(r.others))
	fmt.Fprintf(&b, "%d claims of Metal3 were told an address\n", len(r.metal3.told))
	fmt.Fprintln(&b, r.injector)
	fmt.Fprintf(&b, "%d checks on the way without overlap or early release\n", r.samples.Load())
	for _, name := range slices.Sorted(maps.Keys(counted)) {
		if strings.HasPrefix(name, "ledger_") {
			fmt.Fprintf(&b, "%s %.0f\n", name, counted[name])
		}
	}
	return b.String()
}
