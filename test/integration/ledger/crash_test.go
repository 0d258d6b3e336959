// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package ledger

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"sync"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	book "github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
)

// stage is what a path is walked on.
type stage struct {
	ns    string
	pool  book.Pool
	claim book.Claim
	clock *clocktesting.FakePassiveClock
}

func (s *stage) isBlock() bool { return s.claim.Purpose == book.ForRoot }

// path is something that a manager does in several writes.
type path struct {
	// before makes the world ready for it, with the manager that will die.
	before func(ctx context.Context, s *stage, m *manager)
	// walk is the path. It is walked to its end where nothing fails.
	walk func(ctx context.Context, s *stage, m *manager) error
	// rivalBefore is the write before which a rival takes the same address; zero is none.
	rivalBefore int
	// gone: at the end of the path the claim has no record.
	gone bool
}

func again(ctx context.Context, try func() error) error {
	for {
		err := try()
		if !errors.Is(err, book.ErrBusy) || ctx.Err() != nil {
			return err
		}
		time.Sleep(5 * time.Millisecond)
	}
}

func reserving(ctx context.Context, s *stage, m *manager) error {
	return again(ctx, func() error { _, err := m.Reserve(ctx, s.claim); return err })
}

func releasing(ctx context.Context, s *stage, m *manager) error {
	return again(ctx, func() error {
		if err := releaseAll(ctx, m, s.claim.Ref); err != nil {
			return err
		}
		if len(m.About(s.claim.Ref).Recorded()) > 0 {
			return book.ErrBusy
		}
		return nil
	})
}

// blockOf is a second pool in the same space, whose block is worked on as the claim.
func blockOf(s *stage) (book.Pool, netip.Prefix) {
	p := newPool(s.ns, "second", "10.9.0.0/24")
	p.UID = s.pool.UID
	return p, p.Shape.Blocks()[0]
}

func asBlock(_ context.Context, s *stage, _ *manager) {
	p, block := blockOf(s)
	s.claim = book.Claim{
		Ref: ipamv1.ClaimReference{
			APIGroup: ipamv1.GroupVersion.Group, Kind: p.Ref.Kind, Namespace: p.Ref.Namespace, Name: p.Ref.Name, UID: string(p.UID),
		},
		Pool: p.Ref, Want: block, Purpose: book.ForRoot,
	}
}

func recordingBlock(ctx context.Context, s *stage, m *manager) error {
	p, block := blockOf(s)
	return again(ctx, func() error { return m.ReserveBlock(ctx, p, block, nil) })
}

func givingUpBlock(ctx context.Context, s *stage, m *manager) error {
	p, _ := blockOf(s)
	return again(ctx, func() error {
		blocks := m.Of(p.Ref).OtherBlocks("", nil)
		for _, block := range blocks {
			if err := m.Out().Drop(ctx, block); err != nil {
				return err
			}
		}
		if len(blocks) > 0 {
			return book.ErrBusy
		}
		return nil
	})
}

// asHandBack records a second pool's block, which is handed back.
func asHandBack(ctx context.Context, s *stage, m *manager) {
	p, block := blockOf(s)
	Expect(again(ctx, func() error { return m.ReserveBlock(ctx, p, block, nil) })).To(Succeed())
	s.claim = book.Claim{Ref: book.ClaimOf(p.Ref, "template"), Pool: p.Ref, Want: block, Purpose: book.ForHandBack}
}

func handingBack(ctx context.Context, s *stage, m *manager) error {
	p, block := blockOf(s)
	return again(ctx, func() error { return m.HandBack(ctx, p, "template", block) })
}

// beforeCooling gives the pool a cooldown, and the claim an address.
func beforeCooling(ctx context.Context, s *stage, m *manager) {
	s.pool.Cooldown = time.Hour
	m.SetPool(s.pool)
	reserved(ctx, m, s.claim)
}

func thawing(ctx context.Context, s *stage, m *manager) error {
	return again(ctx, func() error {
		cooling := m.Of(s.pool.Ref).Cooling()
		for _, h := range cooling {
			if err := m.Out().Drop(ctx, h); err != nil {
				return err
			}
		}
		if len(cooling) > 0 {
			return book.ErrBusy
		}
		return nil
	})
}

func halfMade(ctx context.Context, s *stage, m *manager) {
	rival(ctx, s.claim, s.ns, prefix("10.0.0.0/32"))
	follow(m, s.claim)
	pass(s.clock)
}

var paths = map[string]path{
	"reserving an address":                           {walk: reserving},
	"reserving an address that somebody takes first": {walk: reserving, rivalBefore: 1},
	"taking over a record":                           {before: halfMade, walk: reserving},
	"taking over a record that has lost": {
		before: func(ctx context.Context, s *stage, m *manager) {
			other := newClaim(s.pool, "older")
			rival(ctx, other, s.ns, prefix("10.0.0.0/32"))
			halfMade(ctx, s, m)
		},
		walk: reserving,
	},
	"releasing an address": {
		before: func(ctx context.Context, s *stage, m *manager) { reserved(ctx, m, s.claim) },
		walk:   releasing, gone: true,
	},
	"letting an address cool down": {before: beforeCooling, walk: releasing},
	"giving up what has cooled down": {
		before: func(ctx context.Context, s *stage, m *manager) {
			beforeCooling(ctx, s, m)
			Expect(releasing(ctx, s, m)).To(Succeed())
		},
		walk: thawing, gone: true,
	},
	"recording a block":    {before: asBlock, walk: recordingBlock},
	"handing back a block": {before: asHandBack, walk: handingBack},
	"giving up a block": {
		before: func(ctx context.Context, s *stage, m *manager) {
			asBlock(ctx, s, m)
			Expect(recordingBlock(ctx, s, m)).To(Succeed())
		},
		walk: givingUpBlock, gone: true,
	},
}

// ready makes a world of its own for one walk, and the manager that walks.
func (p path) ready(ctx context.Context) (*stage, *manager) {
	GinkgoHelper()
	s := &stage{ns: newNamespace(ctx), clock: longClock()}
	m := startManager(ctx, s.clock)
	s.pool = newPool(s.ns, "p", "10.0.0.0/29")
	open(ctx, s.pool, m)
	s.claim = newClaim(s.pool, "c")
	if p.before != nil {
		p.before(ctx, s, m)
	}
	var once sync.Once
	m.onWrite(func(n int, _ client.Object) {
		if n == p.rivalBefore {
			once.Do(func() { rival(ctx, newClaim(s.pool, "first"), s.ns, prefix("10.0.0.0/32")) })
		}
	})
	return s, m
}

// dies walks the path with a manager that fails at the n-th write, and stops it. It says whether there was such a write.
func (p path) dies(ctx context.Context, n int, how failure) (s *stage, reached bool) {
	GinkgoHelper()
	s, m := p.ready(ctx)
	m.failAt(n, how)
	walk, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	done := make(chan error, 1)
	go func() { done <- p.walk(walk, s, m) }()
	hangs := func() bool { return how == hanging && m.begun() >= n }
	Eventually(func() bool { return len(done) > 0 || hangs() }, "1m", "5ms").Should(BeTrue())
	if hangs() {
		time.Sleep(10 * time.Millisecond) // the write goes through
		Expect(done).NotTo(Receive())
		cancel()
	}
	err := <-done
	m.stop()
	// A write that finds its work done already, because the watch was slower, may fail and not matter.
	reached = err != nil
	if reached {
		Expect(m.begun()).To(BeNumerically(">=", n), "%v", err)
	}
	return s, reached
}

// recovers has another manager finish, and checks that the claim and the address are where they belong.
func (p path) recovers(ctx context.Context, s *stage) {
	GinkgoHelper()
	m := startManager(ctx, s.clock)
	m.SetPool(s.pool)
	pass(s.clock)
	walk, cancel := context.WithTimeout(ctx, 20*time.Second)
	defer cancel()
	Expect(p.walk(walk, s, m)).To(Succeed())
	Expect(walk.Err()).NotTo(HaveOccurred())

	found := recordsFor(stored(ctx, s.ns), s.claim.Ref.UID)
	if s.isBlock() { // the first pool has the same UID
		found = found[:0]
		for _, a := range stored(ctx, s.ns) {
			if a.Spec.ClaimRef.Name == s.claim.Ref.Name {
				found = append(found, a)
			}
		}
	}
	if p.gone {
		Expect(found).To(BeEmpty())
	} else {
		Expect(found).To(HaveLen(1))
		Expect(found[0].Finalizers).To(ContainElement(ipamv1.AllocationFinalizer))
		Expect(found[0].DeletionTimestamp).To(BeNil())
	}
	other := reserved(ctx, m, newClaim(s.pool, "other"))
	for _, a := range found {
		Expect(other.Overlaps(netip.MustParsePrefix(a.Spec.CIDR))).To(BeFalse())
	}
	stored(ctx, s.ns)
}

var _ = Describe("A manager that dies", func() {
	for name, p := range paths {
		It("at any write of "+name+" leaves nothing that another does not finish", func(ctx SpecContext) {
			points := 0
			for n, reached := 1, true; reached; n++ {
				for _, how := range []failure{neverSent, replyLost, hanging} {
					By(fmt.Sprintf("write %d: it %s", n, how))
					var s *stage
					if s, reached = p.dies(ctx, n, how); reached {
						points++
					}
					p.recovers(ctx, s)
				}
			}
			Expect(points).To(BeNumerically(">=", 3))
			framework.Account(fmt.Sprintf("%s: a ledger died at %d points", name, points))
		}, SpecTimeout(5*time.Minute))
	}
})
