// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package race

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"net/http/httptest"
	"sync/atomic"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/fsck"
	book "github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/claimledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/faults"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
)

// strangerKind is what the claims of the ledgers in this process are. There is no object of it; managers leave their records
// alone, because only IPAddressClaims are theirs to release.
const strangerKind = "Stranger"

// workersEach is how many claims a ledger in this process works on at once.
const workersEach = 4

// strangers are three ledgers in this process, with clients of their own, and the claims that they answer.
type strangers struct {
	claims  *claimledger.Claims
	ledgers []*book.Ledger
	proxies []*framework.ConnectionProxy
	pools   []book.Pool
	history *framework.History

	answered, exhausted atomic.Int64
}

func newStrangers(ctx context.Context, history *framework.History) *strangers {
	GinkgoHelper()
	s := &strangers{claims: claimledger.New(), history: history}
	for i := range 3 {
		link, via := faults.Proxied(site, config)
		direct, err := site.ClientFor(via)
		Expect(err).NotTo(HaveOccurred())
		lists, err := book.ListClient(via)
		Expect(err).NotTo(HaveOccurred())
		l := book.New(book.Options{
			Client: direct, REST: lists, Instance: fmt.Sprintf("stranger-%d-%s", i, uuid.NewUUID()), Clock: clock.RealClock{},
		})
		faults.Follow(l.Start)
		Expect(l.WaitForSync(ctx)).To(Succeed())
		s.pools = register(ctx, l)
		s.ledgers, s.proxies = append(s.ledgers, l), append(s.proxies, link)
	}
	return s
}

// register makes all pools known to a ledger, and waits until it can hand out from them.
func register(ctx context.Context, l *book.Ledger) []book.Pool {
	GinkgoHelper()
	registry := &pools.Registry{Client: k, Ledger: l}
	registered := make([]book.Pool, len(busyPools))
	for i, p := range busyPools {
		ref := ipamv1.PoolReference{Kind: ipamv1.IPPoolKind, Namespace: namespace, Name: p.name}
		found, err := registry.Find(ctx, ref)
		Expect(err).NotTo(HaveOccurred())
		Expect(found.Invalid).To(BeEmpty())
		registered[i] = found.Registered
		Eventually(func() bool { c, _ := l.Of(ref).Capacity(); return c.Serving }, "1m", "100ms").Should(BeTrue())
	}
	return registered
}

// run lives claims until ctx ends. Then none lives any more.
func (s *strangers) run(ctx context.Context) {
	parts := make([]func(context.Context), 0, workersEach*len(s.ledgers))
	for i := range workersEach * len(s.ledgers) {
		random := rand.New(rand.NewPCG(uint64(GinkgoRandomSeed()), 200+uint64(i)))
		parts = append(parts, func(ctx context.Context) {
			for n := 0; ctx.Err() == nil; n++ {
				ledgers := []*book.Ledger{s.ledgers[i%len(s.ledgers)]}
				if random.IntN(8) == 0 {
					ledgers = append(ledgers, s.ledgers[(i+1)%len(s.ledgers)])
				}
				s.live(ctx, random, s.claim(random, fmt.Sprintf("stranger-%d-%d", i, n)), ledgers)
			}
		})
	}
	faults.Together(ctx, parts...)
}

// claim makes a claim for an address or a short block, whatever its pool is meant for.
func (s *strangers) claim(random *rand.Rand, name string) book.Claim {
	p := s.pools[poolFor(random.IntN(1000))]
	return book.Claim{
		Ref: ipamv1.ClaimReference{
			APIGroup: "test.weir.dev", Kind: strangerKind, Namespace: namespace, Name: name, UID: string(uuid.NewUUID()),
		},
		Pool: p.Ref, Bits: p.Shape.HostBits() - []int{0, 0, 0, 1, 2, 4}[random.IntN(6)], Purpose: book.ForClaim,
	}
}

// live has a claim answered, holds what it gets for a while, and ends it. What the API server does not take is tried again.
func (s *strangers) live(ctx context.Context, random *rand.Rand, c book.Claim, ledgers []*book.Ledger) {
	ctx = context.WithoutCancel(ctx)
	again(func() error {
		err := s.claims.Answer(ctx, c, ledgers)
		if errors.Is(err, book.ErrExhausted) {
			s.exhausted.Add(1)
			return nil
		}
		return err
	})
	if cidr, ok := s.claims.Told(c.Ref.UID); ok {
		s.answered.Add(1)
		uid := types.UID(c.Ref.UID)
		again(func() error { return s.history.Hold(ctx, fsck.Held{Space: namespace, CIDR: cidr, UID: uid}) })
		faults.Sleep(ctx, faults.UpTo(random, 3*time.Second))
		again(func() error { return s.history.Release(ctx, uid) })
	}
	again(func() error { return s.claims.Leave(ctx, c, ledgers) })
}

func again(try func() error) {
	Eventually(try, "10m", "100ms").Should(Succeed())
}

// sweep drops what claims left that have gone, as a claim's kind has to: a lost reply may have hidden a record. It returns how
// many there were.
func (s *strangers) sweep(ctx context.Context) (found int) {
	GinkgoHelper()
	again(func() error {
		left := 0
		for _, h := range s.ledgers[0].All() {
			if h.Claim.Kind != strangerKind {
				continue
			}
			left++
			if err := s.ledgers[0].Out().Drop(ctx, h); err != nil && !errors.Is(err, book.ErrBusy) {
				return err
			}
		}
		found = max(found, left)
		if left > 0 {
			return fmt.Errorf("%d records are left", left)
		}
		return nil
	})
	return found
}

// held tells the checker what the claims hold.
func (s *strangers) held() []fsck.Held {
	all := s.claims.Held()
	held := make([]fsck.Held, 0, len(all))
	for cidr, uid := range all {
		held = append(held, fsck.Held{Space: namespace, CIDR: cidr, UID: types.UID(uid)})
	}
	return held
}

// counts are those of all ledgers in this process.
func (s *strangers) counts(ctx context.Context) faults.Counters {
	GinkgoHelper()
	server := httptest.NewServer(promhttp.HandlerFor(metrics.Registry, promhttp.HandlerOpts{}))
	defer server.Close()
	counts, err := framework.Counters(ctx, server.URL, faults.CounterPrefix)
	Expect(err).NotTo(HaveOccurred())
	return counts
}
