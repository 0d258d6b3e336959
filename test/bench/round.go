// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"sync/atomic"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
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
	// warmUpClaims are answered before a round is measured.
	warmUpClaims = 100
	// answerTimeout bounds the time without any answer.
	answerTimeout = time.Minute
)

// measureAll alternates floor and Weir, each with several creators and with
// one. Floor and Weir are warmed up: a cold API server is slow.
func (e *environment) measureAll(ctx context.Context, r *report) error {
	if _, err := e.floor(ctx, "warm-up-floor", e.creators); err != nil {
		return err
	}
	for n := range e.rounds {
		ceiling, err := e.ceiling(ctx, fmt.Sprintf("ceiling-%d", n), e.creators)
		if err != nil {
			return err
		}
		r.Ceiling = append(r.Ceiling, ceiling)
		for _, m := range r.Modes {
			result, err := e.floor(ctx, fmt.Sprintf("floor-%d-%d", m.Creators, n), m.Creators)
			if err != nil {
				return err
			}
			m.Floor = append(m.Floor, result)
		}
		if err := e.weirRounds(ctx, r, n); err != nil {
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
	if err := errors.Join(e.unmeasured(ctx, warmUp, warmUpClaims), e.clean(ctx, warmUp)); err != nil {
		return err
	}
	for _, m := range r.Modes {
		name := fmt.Sprintf("weir-%d-%d", m.Creators, n)
		result, err := e.profiled(ctx, name, func() (*weirRound, error) { return e.weir(ctx, name, m.Creators) })
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

// weir measures Weir with claims of its own, has the result checked, and
// deletes the claims.
func (e *environment) weir(ctx context.Context, name string, creators int) (*weirRound, error) {
	watcher, err := e.watch(ctx, name)
	if err != nil {
		return nil, err
	}
	defer watcher.Stop()
	before, err := framework.APIRequests(ctx, e.config)
	if err != nil {
		return nil, err
	}
	used := e.cpuTimes()
	times, err := e.answered(ctx, watcher, name, e.claims, creators)
	if err != nil {
		return nil, err
	}
	result := times.result()
	result.CPU = e.cpuTimes().perClaim(used, e.claims)
	time.Sleep(settleTime)
	after, err := framework.APIRequests(ctx, e.config)
	if err != nil {
		return nil, err
	}
	if err := e.check(ctx); err != nil {
		return nil, err
	}
	result.Writes, result.Reads = perClaim(after.Since(before), e.claims)
	return result, e.clean(ctx, name)
}

// check lets the independent checker judge what was handed out.
func (e *environment) check(ctx context.Context) error {
	report, err := framework.Check(ctx, e.config)
	if err != nil {
		return err
	}
	return report.AtRest()
}

// watch opens a watch of the claims of a round that is about to begin.
func (e *environment) watch(ctx context.Context, name string) (watch.Interface, error) {
	list := &ipamv1beta2.IPAddressClaimList{}
	namespace, label := client.InNamespace(benchNamespace), client.MatchingLabels{roundLabel: name}
	if err := e.client.List(ctx, list, namespace, label); err != nil {
		return nil, fmt.Errorf("listing claims: %w", err)
	}
	watcher, err := e.client.Watch(ctx, list, namespace, label,
		&client.ListOptions{Raw: &metav1.ListOptions{ResourceVersion: list.ResourceVersion}})
	if err != nil {
		return nil, fmt.Errorf("watching claims: %w", err)
	}
	return watcher, nil
}

// answered creates claims and returns when the watch has shown the answers of
// all of them.
func (e *environment) answered(ctx context.Context, watcher watch.Interface, name string, n, creators int) (*stopwatch, error) {
	times := newStopwatch()
	created := make(chan error, 1)
	go func() { created <- e.createAll(ctx, name, n, creators, times) }()
	return times, errors.Join(times.follow(ctx, watcher, n), <-created)
}

// unmeasured has claims answered.
func (e *environment) unmeasured(ctx context.Context, name string, n int) error {
	watcher, err := e.watch(ctx, name)
	if err != nil {
		return err
	}
	defer watcher.Stop()
	_, err = e.answered(ctx, watcher, name, n, e.creators)
	return err
}

// createAll creates claims with several creators, and notes when each was asked
// for.
func (e *environment) createAll(ctx context.Context, name string, n, creators int, times *stopwatch) error {
	return parallel(n, creators, func(i int) error {
		claim := newClaim(fmt.Sprintf("%s-%05d", name, i), name)
		times.ask(claim.Name)
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

func newClaim(name, round string) *ipamv1beta2.IPAddressClaim {
	return builder.IPAddressClaim(benchNamespace, name, ipamv1.IPPoolKind, poolName).WithLabel(roundLabel, round).Build()
}

// stopwatch holds when claims were asked for and when the watch showed their
// answers.
type stopwatch struct {
	mu       sync.Mutex
	asked    map[string]time.Time
	answered map[string]time.Time
}

func newStopwatch() *stopwatch {
	return &stopwatch{asked: map[string]time.Time{}, answered: map[string]time.Time{}}
}

func (s *stopwatch) ask(name string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.asked[name] = time.Now()
}

// follow notes the answers that a watch shows, until there are n.
func (s *stopwatch) follow(ctx context.Context, watcher watch.Interface, n int) error {
	patience := time.NewTimer(answerTimeout)
	defer patience.Stop()
	for len(s.answered) < n {
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-patience.C:
			return fmt.Errorf("%d of %d claims are not answered, and none was for %s", n-len(s.answered), n, answerTimeout)
		case event, open := <-watcher.ResultChan():
			if !open || event.Type == watch.Error {
				return fmt.Errorf("the watch of claims ended: %v", event.Object)
			}
			if s.see(event.Object) {
				patience.Reset(answerTimeout)
			}
		}
	}
	return nil
}

// see notes the first answer of a claim and reports whether it was one.
func (s *stopwatch) see(object any) bool {
	claim, ok := object.(*ipamv1beta2.IPAddressClaim)
	if !ok || claim.Status.AddressRef.Name == "" || !s.answered[claim.Name].IsZero() {
		return false
	}
	s.answered[claim.Name] = time.Now()
	return true
}

// result computes rate and latencies.
func (s *stopwatch) result() *weirRound {
	var first, last time.Time
	latencies := make([]float64, 0, len(s.answered))
	for name, answered := range s.answered {
		asked := s.asked[name]
		if first.IsZero() || asked.Before(first) {
			first = asked
		}
		if answered.After(last) {
			last = answered
		}
		latencies = append(latencies, float64(answered.Sub(asked).Microseconds())/1000)
	}
	return &weirRound{
		Rate: float64(len(latencies)) / last.Sub(first).Seconds(),
		P50:  percentile(latencies, 50), P95: percentile(latencies, 95), P99: percentile(latencies, 99),
	}
}
