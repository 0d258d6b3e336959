// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	m3v1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/metal3/v1alpha1"
	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/fsck"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
)

const (
	roundLabel = "bench/round"
	// settleTime lets what Weir writes later arrive at the counters: pool status
	// (every three seconds at most) and events.
	settleTime = 4 * time.Second
	// floorFactor is how many more claims a floor round has: as many writes as
	// Weir and the bench make together.
	floorFactor = 4
	// metal3Factor is how many more claims a round of Metal3's has: enough that looking through their IPAddresses would show.
	metal3Factor = 4
	// warmUpClaims are answered before a round is measured.
	warmUpClaims = 100
	// answerTimeout bounds the time without any answer.
	answerTimeout = time.Minute
)

// measureAll alternates floor and Weir, each with several creators and with
// one. Floor and Weir are warmed up: a cold API server is slow.
func (e *environment) measureAll(ctx context.Context, r *report) error {
	if _, err := e.floor(ctx, addressClaims, "warm-up-floor", e.creators); err != nil {
		return err
	}
	for n := range e.rounds {
		ceiling, err := e.ceiling(ctx, fmt.Sprintf("ceiling-%d", n), e.creators)
		if err != nil {
			return err
		}
		r.Ceiling = append(r.Ceiling, ceiling)
		for _, m := range r.Modes {
			result, err := e.floor(ctx, m.of, fmt.Sprintf("floor-%s-%d-%d", m.of.resource, m.Creators, n), m.Creators)
			if err != nil {
				return err
			}
			m.Floor = append(m.Floor, result)
		}
		if err := e.weirRounds(ctx, r, n); err != nil {
			return err
		}
		if err := e.olderRound(ctx, r); err != nil {
			return err
		}
	}
	return nil
}

// weirRounds starts Weir, measures it once in each mode, and stops it. What is
// to be allocated before is allocated the first time.
func (e *environment) weirRounds(ctx context.Context, r *report, n int) error {
	if err := e.startManager(ctx); err != nil {
		return err
	}
	if n == 0 && e.allocated > 0 {
		if err := e.unmeasured(ctx, "allocated", e.allocated); err != nil {
			return err
		}
	}
	warmUp := fmt.Sprintf("warm-up-%d", n)
	if err := errors.Join(e.unmeasured(ctx, warmUp, warmUpClaims), e.clean(ctx, addressClaims, warmUp)); err != nil {
		return err
	}
	for _, m := range r.Modes {
		name := fmt.Sprintf("weir-%s-%d-%d", m.of.resource, m.Creators, n)
		time.Sleep(settleTime) // what Weir does about claims that are gone is not this round's
		result, err := profiled(ctx, e, name, func() (*weirRound, error) { return e.weir(ctx, m, name) })
		if err != nil {
			return fmt.Errorf("round %s: %w", name, err)
		}
		m.Weir = append(m.Weir, result)
	}
	return errors.Join(e.removeWebhooks(ctx), e.stopManager())
}

// weirRound is one measurement of Weir.
type weirRound struct {
	Rate float64 `json:"claimsPerSecond"`
	// Milliseconds from the create call to status.addressRef.
	P50 float64 `json:"p50Ms"`
	P95 float64 `json:"p95Ms"`
	P99 float64 `json:"p99Ms"`
	// Requests are those of Weir for one claim, by verb and resource.
	Writes map[string]float64 `json:"writesPerClaim"`
	Reads  map[string]float64 `json:"readsPerClaim"`
	CPU    cpuTimes           `json:"cpuMsPerClaim"`
}

// weir measures Weir with claims of the mode's kind, has the result checked, and
// deletes the claims.
func (e *environment) weir(ctx context.Context, m *mode, name string) (*weirRound, error) {
	answers, err := e.watch(ctx, m.of, name)
	if err != nil {
		return nil, err
	}
	defer answers.Close()
	before, err := framework.APIRequests(ctx, e.config)
	if err != nil {
		return nil, err
	}
	used := e.cpuTimes()
	times, err := e.answered(ctx, m.of, answers, name, m.Claims, m.Creators)
	if err != nil {
		return nil, err
	}
	result := times.result()
	result.CPU = e.cpuTimes().perClaim(used, m.Claims)
	time.Sleep(settleTime)
	after, err := framework.APIRequests(ctx, e.config)
	if err != nil {
		return nil, err
	}
	if err := e.check(ctx); err != nil {
		return nil, err
	}
	result.Writes, result.Reads = perClaim(after.Since(before), m.Claims)
	return result, e.clean(ctx, m.of, name)
}

// check lets the independent checker judge what was handed out.
func (e *environment) check(ctx context.Context) error {
	report, err := fsck.CheckWith(ctx, e.config, func() []fsck.Held { return e.recorded })
	if err != nil {
		return err
	}
	return report.AtRest()
}

// answered creates claims and returns when the watch has shown the answers of
// all of them.
func (e *environment) answered(ctx context.Context, of watched, answers io.ReadCloser, name string, n, creators int) (*stopwatch, error) {
	times := newStopwatch(of)
	created := make(chan error, 1)
	go func() { created <- e.createAll(ctx, name, n, creators, times) }()
	return times, errors.Join(times.follow(answers, n), <-created)
}

// unmeasured has claims answered.
func (e *environment) unmeasured(ctx context.Context, name string, n int) error {
	answers, err := e.watch(ctx, addressClaims, name)
	if err != nil {
		return err
	}
	defer answers.Close()
	_, err = e.answered(ctx, addressClaims, answers, name, n, e.creators)
	return err
}

// createAll creates claims with several creators, and notes when each was asked
// for.
func (e *environment) createAll(ctx context.Context, name string, n, creators int, times *stopwatch) error {
	return parallel(n, creators, func(i int) error {
		claim := times.of.claim(fmt.Sprintf("%s-%05d", name, i), name)
		times.ask(claim.GetName())
		return e.client.Create(ctx, claim)
	})
}

// parallel does n things, several at once.
func parallel(n, workers int, do func(i int) error) error {
	var next atomic.Int64
	errs := make([]error, workers)
	var done sync.WaitGroup
	for w := range workers {
		done.Go(func() {
			for i := next.Add(1) - 1; i < int64(n) && errs[w] == nil; i = next.Add(1) - 1 {
				errs[w] = do(int(i))
			}
		})
	}
	done.Wait()
	return errors.Join(errs...)
}

func newClaim(name, round string) client.Object { return newAddressClaim(name, round) }

func newAddressClaim(name, round string) *ipamv1beta2.IPAddressClaim {
	return builder.IPAddressClaim(benchNamespace, name, ipamv1.IPPoolKind, poolName).WithLabel(roundLabel, round).Build()
}

func newMetal3Claim(name, round string) client.Object {
	return &m3v1.IPClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: benchNamespace, Name: name, Labels: map[string]string{roundLabel: round}},
		Spec:       m3v1.IPClaimSpec{Pool: m3v1.ObjectReference{Name: poolName}},
	}
}
