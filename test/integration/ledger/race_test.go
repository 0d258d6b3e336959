// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clocktesting "k8s.io/utils/clock/testing"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	book "github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/claimledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/size"
)

// claimsPerPool is more than any of the pools has room for.
var claimsPerPool = size.Of(50, 150, 3000)

// live reserves the claim, answers it, and perhaps lets it go again. Some claims are worked on by two managers at once.
func live(ctx context.Context, t *claimledger.Claims, random *rand.Rand, c book.Claim, ledgers []*book.Ledger) error {
	if err := t.Answer(ctx, c, ledgers); err != nil {
		return err
	}
	if random.IntN(2) == 0 {
		return t.Leave(ctx, c, ledgers)
	}
	return t.Stay(ctx, c, ledgers)
}

// liveAll lives all claims at once, a few for each manager at a time, and checks that whoever got no answer was told that the
// pool is exhausted. After each claim it calls these functions, once at a time.
func liveAll(ctx context.Context, t *claimledger.Claims, claims []book.Claim, all []*manager, afterEach ...func()) (exhausted int) {
	GinkgoHelper()
	const workersEach = 16
	next := make(chan book.Claim)
	var done sync.WaitGroup
	var mu sync.Mutex
	var failed []error
	for i := range workersEach * len(all) {
		random := rand.New(rand.NewPCG(uint64(GinkgoRandomSeed()), uint64(i)))
		done.Go(func() {
			for c := range next {
				ledgers := []*book.Ledger{all[i%len(all)].Ledger}
				if random.IntN(4) == 0 {
					ledgers = append(ledgers, all[(i+1)%len(all)].Ledger)
				}
				err := live(ctx, t, random, c, ledgers)
				mu.Lock()
				if errors.Is(err, book.ErrExhausted) {
					exhausted++
				} else if err != nil {
					failed = append(failed, fmt.Errorf("%s: %w", c.Ref.Name, err))
				}
				for _, do := range afterEach {
					do()
				}
				mu.Unlock()
			}
		})
	}
	for _, c := range claims {
		next <- c
	}
	close(next)
	done.Wait()
	Expect(errors.Join(failed...)).NotTo(HaveOccurred())
	return exhausted
}

// check compares what was told with what is stored.
func check(ctx context.Context, t *claimledger.Claims, ns string, claims []book.Claim) {
	GinkgoHelper()
	Expect(t.Doubles()).To(BeEmpty())
	all := stored(ctx, ns)
	for _, c := range claims {
		found := recordsFor(all, c.Ref.UID)
		answer, ok := t.Told(c.Ref.UID)
		if !ok {
			Expect(found).To(BeEmpty(), "claim %s has no answer and a record", c.Ref.Name)
			continue
		}
		Expect(found).To(HaveLen(1), "claim %s was told %s", c.Ref.Name, answer)
		Expect(found[0].Spec.CIDR).To(Equal(answer.String()))
		Expect(found[0].Finalizers).To(ContainElement(ipamv1.AllocationFinalizer))
		Expect(found[0].DeletionTimestamp).To(BeNil())
	}
}

// mixed makes claims of several sizes for the pools.
func mixed(pools []book.Pool, n int) []book.Claim {
	random := rand.New(rand.NewPCG(uint64(GinkgoRandomSeed()), 0))
	claims := make([]book.Claim, 0, n*len(pools))
	for i, p := range pools {
		for j := range n {
			c := newClaim(p, fmt.Sprintf("c-%d-%d", i, j))
			c.Bits -= []int{0, 0, 0, 0, 1, 2}[random.IntN(6)]
			claims = append(claims, c)
		}
	}
	random.Shuffle(len(claims), func(i, j int) { claims[i], claims[j] = claims[j], claims[i] })
	return claims
}

// hurry lets time pass quickly, so that managers take over each other's records all the time.
func hurry(c *clocktesting.FakePassiveClock) {
	ticker := time.NewTicker(20 * time.Millisecond)
	done := make(chan struct{})
	go func() {
		for {
			select {
			case <-done:
				return
			case <-ticker.C:
				c.SetTime(c.Now().Add(2 * time.Second))
			}
		}
	}()
	DeferCleanup(func() { ticker.Stop(); close(done) })
}

// since returns how much the named counters have grown, when called.
func since(names ...string) func() map[string]float64 {
	before := map[string]float64{}
	for _, name := range names {
		before[name] = counter(name)
	}
	return func() map[string]float64 {
		grown := map[string]float64{}
		for _, name := range names {
			grown[name] = counter(name) - before[name]
		}
		return grown
	}
}

// cutsPerRun is about how often watches are cut, each time after so many claims: a watch that never lasts would let nobody be answered.
var cutsPerRun = size.Of(10, 30, 300)

var _ = Describe("Three ledgers that know nothing of each other", func() {
	var (
		ns    string
		all   []*manager
		pools []book.Pool
	)

	BeforeEach(func(ctx SpecContext) {
		ns = newNamespace(ctx)
		clock := longClock()
		all = []*manager{startManager(ctx, clock), startManager(ctx, clock), startManager(ctx, clock)}
		pools = []book.Pool{
			newPool(ns, "four", "10.0.0.0/26"),
			newPool(ns, "six", "2001:db8::/122"),
			newPool(ns, "ranges", "10.1.0.3-10.1.0.17 10.1.0.40-10.1.0.50 10.1.1.1"),
		}
		for _, p := range pools {
			open(ctx, p, all...)
		}
		hurry(clock)
	})

	It("never tell two claims overlapping prefixes, and tell everybody else that the pool is exhausted", func(ctx SpecContext) {
		grown := since("reservations_total", "lost_judgements_total", "takeovers_total", "drops_total", "currency_proofs_total")
		claims, t := mixed(pools, claimsPerPool), claimledger.New()
		exhausted := liveAll(ctx, t, claims, all)
		check(ctx, t, ns, claims)
		counts := grown()
		framework.Account(fmt.Sprint(len(claims), " claims, ", len(t.Held()), " hold, ", exhausted, " exhausted, ", counts))
		Expect(exhausted).To(BeNumerically(">", 0))
		for name, n := range counts {
			Expect(n).To(BeNumerically(">", 0), name)
		}
	}, SpecTimeout(20*time.Minute))

	It("never tell two claims overlapping prefixes while their watches are cut and history is lost", func(ctx SpecContext) {
		grown := since("lost_judgements_total", "relists_total")
		claims, t := mixed(pools, claimsPerPool/3), claimledger.New()
		lived, cuts := 0, 0
		cutSome := func() {
			if lived++; lived%max(len(claims)/cutsPerRun, 1) == 0 {
				all[cuts%len(all)].cut(cuts%2 == 0)
				cuts++
			}
		}
		exhausted := liveAll(ctx, t, claims, all, cutSome)
		check(ctx, t, ns, claims)
		counts := grown()
		framework.Account(fmt.Sprint(len(claims), " claims, ", len(t.Held()), " hold, ", exhausted, " exhausted, ", cuts, " cuts, ", counts))
		Expect(cuts).To(BeNumerically(">", len(all)))
		for name, n := range counts {
			Expect(n).To(BeNumerically(">", 0), name)
		}
	}, SpecTimeout(20*time.Minute))

	It("fill a pool to the last address", func(ctx SpecContext) {
		t := claimledger.New()
		for _, p := range pools {
			var claims []book.Claim
			for i := range sizeOf(p) {
				claims = append(claims, newClaim(p, fmt.Sprintf("%s-%d", p.Ref.Name, i)))
			}
			var done sync.WaitGroup
			for i, c := range claims {
				done.Go(func() {
					defer GinkgoRecover()
					a, err := claimledger.Reserve(ctx, all[i%len(all)].Ledger, c)
					Expect(err).NotTo(HaveOccurred())
					Expect(t.Commit(c.Ref.UID, a.CIDR)).To(Equal(a.CIDR))
				})
			}
			done.Wait()
			check(ctx, t, ns, claims)
			_, err := claimledger.Reserve(ctx, all[0].Ledger, newClaim(p, "late-"+p.Ref.Name))
			Expect(err).To(MatchError(book.ErrExhausted))
		}
		held := slices.DeleteFunc(stored(ctx, ns), func(a ipamv1.IPAllocation) bool { return a.Spec.IsRootBlock() })
		Expect(held).To(HaveLen(64 + 64 + 27))
	}, SpecTimeout(5*time.Minute))
})
