// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/fsck"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
)

const (
	// fullPool has no room.
	fullPool = "full"
	// deepSpace is the address space of the deep pools, and the beginning of their names.
	deepSpace = "deep"
	// denials is how many requests to an exhausted pool are measured, deniedPause apart: proofs of currency are shared, and
	// a few a second by design.
	denials     = 30
	deniedPause = 300 * time.Millisecond
	// extraRecords are in the deep pool in the end.
	extraRecords = 20_000
	// listed is how many claims are listed.
	listed = 10_000
	lists  = 5
)

// depths are the prefix lengths from the root down; the last pool is as large as the flat one by default.
var depths = []int32{8, 10, 12, 13, 14}

// clients are how many create claims at once.
var clients = []int{1, 10, 50}

// callRound is one measurement of creates: of Weir's, or bare ones of the same object.
type callRound struct {
	// Milliseconds of a create call.
	P50 float64 `json:"p50Ms"`
	P95 float64 `json:"p95Ms"`
	P99 float64 `json:"p99Ms"`
	// Created and Finished are claims a second: until the last call returned, and until all that Weir writes is written.
	Created  float64 `json:"createdPerSecond"`
	Finished float64 `json:"finishedPerSecond"`
	// Asked and Printed are how many creates there were, and how many responses had the prefix.
	Asked   int `json:"asked"`
	Printed int `json:"printed"`
	// Again is how many requests were told to try again; clients do so by themselves.
	Again  float64            `json:"toldToTryAgain"`
	Writes map[string]float64 `json:"writesPerClaim,omitempty"`
	Reads  map[string]float64 `json:"readsPerClaim,omitempty"`
	CPU    cpuTimes           `json:"cpuMsPerClaim"`
}

// calls is the result of this part.
type calls struct {
	Modes []*callMode `json:"modes"`
	// Denied are calls that an exhausted pool refused; Paused are bare creates at the same pace, Calm those of Weir.
	Denied []*callRound `json:"denied"`
	Paused []*callRound `json:"bareAtThatPace"`
	Calm   []*callRound `json:"createdAtThatPace"`
	// Deep and Bare are with one client: creates in a pool of depth 5, and bare ones in the same round; Laden and LadenBare
	// the same with many records.
	Deep      []*callRound `json:"deep"`
	Laden     []*callRound `json:"deepWithRecords"`
	LadenBare []*callRound `json:"bareWithRecords"`
	// LeftOver is how many records waited for the repair grace.
	LeftOver int `json:"leftOver"`
	// List is milliseconds for a list of all claims.
	List      []float64 `json:"listMs"`
	ListCount int       `json:"listed"`
}

// callMode holds the rounds with one number of clients.
type callMode struct {
	Clients int          `json:"clients"`
	Bare    []*callRound `json:"bare"`
	// Known are the same writes as Weir's, by somebody who knows the answers.
	Known []*callRound `json:"known"`
	Weir  []*callRound `json:"weir"`
}

// measureCalls measures IPClaims, which are answered in the call that creates them. Bare creates and Weir's alternate.
func (e *environment) measureCalls(ctx context.Context, r *report) error {
	c := &calls{}
	for _, n := range clients {
		c.Modes = append(c.Modes, &callMode{Clients: n})
	}
	r.Calls = c
	if _, err := e.bare(ctx, load{name: "bare-warm-up", n: e.claims, clients: clients[1]}); err != nil {
		return err
	}
	for n := range e.rounds {
		if err := e.callRounds(ctx, c, n); err != nil {
			return err
		}
	}
	if err := e.record(ctx, deepRecords, extraRecords); err != nil {
		return err
	}
	for n := range e.rounds {
		if err := e.ladenRounds(ctx, c, n); err != nil {
			return err
		}
	}
	return e.measureList(ctx, c)
}

// callRounds measures once in each mode, without Weir and with it.
func (e *environment) callRounds(ctx context.Context, c *calls, n int) error {
	if err := e.bareRounds(ctx, c, n); err != nil {
		return err
	}
	if err := e.startForCalls(ctx, fmt.Sprintf("calls-warm-up-%d", n)); err != nil {
		return err
	}
	for _, m := range c.Modes {
		name := fmt.Sprintf("calls-%d-%d", m.Clients, n)
		round, err := profiled(ctx, e, name, func() (*callRound, error) { return e.called(ctx, name, poolName, m.Clients) })
		if err != nil {
			return fmt.Errorf("round %s: %w", name, err)
		}
		m.Weir = append(m.Weir, round)
	}
	return errors.Join(e.singleRounds(ctx, c, n), e.checkCalls(ctx, c), e.removeWebhooks(ctx), e.stopManager())
}

func (e *environment) bareRounds(ctx context.Context, c *calls, n int) error {
	for _, m := range c.Modes {
		bare, err := e.bare(ctx, load{name: fmt.Sprintf("bare-%d-%d", m.Clients, n), n: e.claims, clients: m.Clients})
		if err != nil {
			return err
		}
		known, err := e.known(ctx, load{name: fmt.Sprintf("known-%d-%d", m.Clients, n), n: e.claims, clients: m.Clients})
		if err != nil {
			return err
		}
		m.Bare, m.Known = append(m.Bare, bare), append(m.Known, known)
	}
	paused, err := e.bare(ctx, load{fmt.Sprintf("bare-paused-%d", n), denials, 1, deniedPause})
	if err != nil {
		return err
	}
	c.Paused = append(c.Paused, paused)
	return nil
}

// singleRounds measures what one client does in other pools, or at leisure.
func (e *environment) singleRounds(ctx context.Context, c *calls, n int) error {
	deep, err := e.called(ctx, fmt.Sprintf("deep-%d", n), leafPool(), 1)
	if err != nil {
		return err
	}
	begin := time.Now()
	calm, err := e.createCalls(ctx, poolName, load{fmt.Sprintf("calm-%d", n), denials, 1, deniedPause})
	if err != nil {
		return err
	}
	denied, err := e.denied(ctx)
	if err != nil {
		return err
	}
	c.Deep, c.Calm, c.Denied = append(c.Deep, deep), append(c.Calm, calm.result(begin)), append(c.Denied, denied)
	return nil
}

// ladenRounds measures the deep pool once, now that it has many records.
func (e *environment) ladenRounds(ctx context.Context, c *calls, n int) error {
	bare, err := e.bare(ctx, load{name: fmt.Sprintf("laden-bare-%d", n), n: e.claims, clients: 1})
	if err != nil {
		return err
	}
	if err = e.startForCalls(ctx, fmt.Sprintf("laden-warm-up-%d", n)); err != nil {
		return err
	}
	laden, err := e.called(ctx, fmt.Sprintf("laden-%d", n), leafPool(), 1)
	if err != nil {
		return err
	}
	c.LadenBare, c.Laden = append(c.LadenBare, bare), append(c.Laden, laden)
	return errors.Join(e.checkCalls(ctx, c), e.removeWebhooks(ctx), e.stopManager())
}

// deepRecords lie behind what claims are given there.
var deepRecords = recordPlace{leafPool(), deepSpace, netip.AddrFrom4([4]byte{10, 0, 64, 0})}

func leafPool() string { return deepPool(len(depths)) }

func deepPool(depth int) string { return fmt.Sprintf("%s-%d", deepSpace, depth) }

// startForCalls starts Weir, makes the pools the first time, and warms up.
func (e *environment) startForCalls(ctx context.Context, warmUp string) error {
	if err := e.startManager(ctx); err != nil {
		return err
	}
	for i, bits := range depths {
		if err := e.ensure(ctx, deepPoolOf(i+1, bits)); err != nil {
			return err
		}
	}
	full := &ipamv1.IPPool{ObjectMeta: metav1.ObjectMeta{Namespace: benchNamespace, Name: fullPool}}
	full.Spec.CIDR, full.Spec.AddressSpace = "192.0.2.1/32", fullPool
	if err := e.ensure(ctx, full); err != nil {
		return err
	}
	filling := ipClaim("filling", fullPool, "")
	err := e.client.Get(ctx, client.ObjectKeyFromObject(filling), filling)
	if apierrors.IsNotFound(err) {
		err = e.client.Create(ctx, filling)
	}
	if err != nil {
		return fmt.Errorf("filling the pool: %w", err)
	}
	for _, pool := range []string{poolName, leafPool()} {
		if _, err := e.createCalls(ctx, pool, load{name: warmUp + "-" + pool, n: warmUpClaims, clients: clients[1]}); err != nil {
			return err
		}
	}
	time.Sleep(settleTime) // what Weir writes because of them is not the first round's
	return nil
}

func deepPoolOf(depth int, bits int32) *ipamv1.IPPool {
	p := &ipamv1.IPPool{ObjectMeta: metav1.ObjectMeta{Namespace: benchNamespace, Name: deepPool(depth)}}
	if depth == 1 {
		p.Spec.CIDR, p.Spec.AddressSpace = fmt.Sprintf("10.0.0.0/%d", bits), deepSpace
		return p
	}
	p.Spec.ParentRef = &ipamv1.ParentReference{Kind: ipamv1.IPPoolKind, Name: deepPool(depth - 1)}
	p.Spec.PrefixLength = ptr.To(bits)
	return p
}

// ensure creates a pool, unless it is there, and waits until it hands out prefixes.
func (e *environment) ensure(ctx context.Context, pool *ipamv1.IPPool) error {
	key := client.ObjectKeyFromObject(pool)
	return eventually(ctx, "pool "+pool.Name+" to hand out prefixes", func(ctx context.Context) (bool, error) {
		err := e.client.Get(ctx, key, pool)
		if client.IgnoreNotFound(err) == nil && err != nil {
			err = e.client.Create(ctx, pool)
		}
		return err == nil && conditions.IsTrue(pool, ipamv1.ReadyCondition), err
	})
}

// called measures Weir's creates, and what Weir writes because of them.
func (e *environment) called(ctx context.Context, name, pool string, clients int) (*callRound, error) {
	statuses, err := e.watch(ctx, ownClaims, name)
	if err != nil {
		return nil, err
	}
	defer statuses.Close()
	before, err := framework.APIRequests(ctx, e.config)
	if err != nil {
		return nil, err
	}
	used, begin, finished := e.cpuTimes(), time.Now(), make(chan error, 1)
	times := newStopwatch(ownClaims)
	go func() { finished <- times.follow(statuses, e.claims) }()
	made, err := e.createCalls(ctx, pool, load{name: name, n: e.claims, clients: clients})
	if err != nil {
		return nil, err
	}
	round := made.result(begin)
	if err = <-finished; err != nil {
		return nil, err
	}
	round.Finished = float64(e.claims) / time.Since(begin).Seconds()
	round.CPU = e.cpuTimes().perClaim(used, e.claims)
	time.Sleep(settleTime)
	after, err := framework.APIRequests(ctx, e.config)
	if err != nil {
		return nil, err
	}
	counts := after.Since(before)
	round.Writes, round.Reads = perClaim(counts, e.claims)
	round.Again = triedAgain(counts)
	return round, e.owned(ctx, name)
}

// checkCalls lets the independent checker judge what was handed out. Records of requests that were given up, and repeated by the
// client, are left for the repair grace: they are counted.
func (e *environment) checkCalls(ctx context.Context, c *calls) error {
	report, err := fsck.CheckWith(ctx, e.config, func() []fsck.Held { return e.recorded })
	if err != nil {
		return err
	}
	c.LeftOver = max(c.LeftOver, len(report.Of(fsck.NoClaim))+len(report.Of(fsck.OtherAnswer)))
	return report.Safe()
}

// triedAgain counts the creates that were told to try again.
func triedAgain(counts framework.RequestCounts) float64 {
	again := 0.0
	for key, count := range counts {
		if key.Verb == "POST" && key.Resource == "ipclaims" && key.Code == "429" {
			again += count
		}
	}
	return again
}

// owned errs unless the records of all claims of a round have owners: with that and the status, all is written.
func (e *environment) owned(ctx context.Context, round string) error {
	claims, records := &ipamv1.IPClaimList{}, &ipamv1.IPAllocationList{}
	err := errors.Join(e.client.List(ctx, claims, client.InNamespace(benchNamespace), client.MatchingLabels{roundLabel: round}),
		e.client.List(ctx, records, client.InNamespace(benchNamespace)))
	if err != nil {
		return fmt.Errorf("listing claims and records: %w", err)
	}
	owned := map[string]bool{}
	for i := range records.Items {
		if owner := metav1.GetControllerOf(&records.Items[i]); owner != nil {
			owned[string(owner.UID)+records.Items[i].Spec.CIDR] = true
		}
	}
	for i := range claims.Items {
		if c := &claims.Items[i]; !owned[string(c.UID)+c.Spec.CIDR] || !conditions.IsTrue(c, ipamv1.ReadyCondition) {
			return fmt.Errorf("claim %s has %s, and its status or its record's owner is not written", c.Name, c.Spec.CIDR)
		}
	}
	return nil
}
