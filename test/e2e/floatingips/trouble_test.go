// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package floatingips

import (
	"context"
	"math/rand/v2"
	"net/http"
	"time"

	. "github.com/onsi/ginkgo/v2"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/faults"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/openstack/fake"
)

// effects are what happens to calls. Late comes seldom: it takes as long as a client waits.
var effects = []fake.Effect{
	fake.Refuse, fake.Refuse, fake.RefuseLate, fake.RefuseLate, fake.CutBefore, fake.CutBefore, fake.CutAfter, fake.CutAfter, fake.CutAfter,
	fake.CutAnswer, fake.CutAnswer, fake.Delay, fake.Delay, fake.DelayAnswer, fake.Late, fake.Late,
}

// codes are refusals that pass.
var codes = []int{http.StatusUnauthorized, http.StatusInternalServerError, http.StatusBadGateway, http.StatusGatewayTimeout}

// disturbed are the calls that this happens to: those that change something. Nobody knows then whether they were executed.
var disturbed = []string{creation, creation, creation, creation, deletion, deletion, deletion}

// After some failures a manager leaves the cloud alone for 5 seconds, or longer. They come seldom, or nothing else would happen.
const seldom = 40

var (
	seldomCalls = []string{search, search, creation, deletion, logIn}
	seldomCodes = []int{http.StatusTooManyRequests, http.StatusServiceUnavailable}
)

// trouble has calls of the fake go wrong, until ctx ends.
func (p *project) trouble(ctx context.Context) {
	random := rand.New(rand.NewPCG(uint64(GinkgoRandomSeed()), 300))
	defer p.keepTokens()
	defer p.fake.ClearFaults()
	for i := 0; ctx.Err() == nil; i++ {
		calls, refusals := disturbed, codes
		if i%seldom == seldom/4 {
			calls, refusals = seldomCalls, seldomCodes
		}
		f := fake.Fault{Call: calls[random.IntN(len(calls))], Effect: effects[random.IntN(len(effects))], Skip: random.IntN(3)}
		switch f.Effect {
		case fake.Refuse, fake.RefuseLate:
			f.Code = refusals[random.IntN(len(refusals))]
			if f.Code == http.StatusTooManyRequests {
				f.RetryAfter = "1"
			}
		case fake.Delay, fake.DelayAnswer:
			f.For = faults.UpTo(random, 2*time.Second)
		case fake.Late:
			until := make(chan struct{})
			time.AfterFunc(faults.UpTo(random, 5*time.Second), func() { close(until) })
			f.Until = until
		default:
		}
		p.fake.Inject(f)
		if i%20 == 19 { // no more faults pile up than calls are made
			p.keepTokens()
			p.fake.ClearFaults()
			p.fake.RevokeTokens()
		}
		faults.Sleep(ctx, faults.UpTo(random, 300*time.Millisecond))
	}
}
