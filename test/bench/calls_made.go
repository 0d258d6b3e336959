// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/netip"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// made are the create calls of a round.
type made struct {
	mu        sync.Mutex
	latencies []float64
	printed   map[netip.Prefix]bool
	last      time.Time
}

// create makes one call and notes how long it took since then, and what it printed.
func (m *made) create(ctx context.Context, c client.Client, claim *ipamv1.IPClaim, begin time.Time) error {
	if err := c.Create(ctx, claim); err != nil {
		return fmt.Errorf("creating IPClaim %s: %w", claim.Name, err)
	}
	m.note(begin)
	cidr, err := netip.ParsePrefix(claim.Spec.CIDR)
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.printed[cidr] {
		return fmt.Errorf("%s was printed twice", cidr)
	}
	if err == nil {
		m.printed[cidr] = true
	}
	return nil
}

func (m *made) note(begin time.Time) {
	m.mu.Lock()
	defer m.mu.Unlock()
	m.last = time.Now()
	m.latencies = append(m.latencies, float64(m.last.Sub(begin).Microseconds())/1000)
}

func (m *made) result(begin time.Time) *callRound {
	return &callRound{
		P50: percentile(m.latencies, 50), P95: percentile(m.latencies, 95), P99: percentile(m.latencies, 99),
		Created: float64(len(m.latencies)) / m.last.Sub(begin).Seconds(), Asked: len(m.latencies), Printed: len(m.printed),
	}
}

// load says what a round's clients do: together they make n claims, and each rests before it makes one.
type load struct {
	name       string
	n, clients int
	pause      time.Duration
}

// createCalls creates claims without a prefix, and errs if one is not created.
func (e *environment) createCalls(ctx context.Context, pool string, l load) (*made, error) {
	m := &made{printed: map[netip.Prefix]bool{}}
	return m, parallel(l.n, l.clients, func(i int) error {
		time.Sleep(l.pause)
		claim := ipClaim(fmt.Sprintf("%s-%05d", l.name, i), pool, "")
		claim.Labels = map[string]string{roundLabel: l.name}
		return m.create(ctx, e.client, claim, time.Now())
	})
}

// bare measures creates of what Weir's creates store, with nobody to be asked.
func (e *environment) bare(ctx context.Context, l load) (*callRound, error) {
	return e.withoutWeir(ctx, l, func(m *made, i int) error {
		return m.create(ctx, e.client, e.bareClaim(l.name, i), time.Now())
	})
}

// withoutWeir measures what is done for each claim while Weir is not asked, and removes the claims.
func (e *environment) withoutWeir(ctx context.Context, l load, do func(m *made, i int) error) (*callRound, error) {
	err := eventually(ctx, "the webhooks to be forgotten", func(ctx context.Context) (bool, error) {
		err := e.client.Create(ctx, e.bareClaim(l.name, 0), client.DryRunAll)
		return err == nil, err
	})
	if err != nil {
		return nil, err
	}
	statuses, err := e.watch(ctx, ownClaims, l.name) // as with Weir: what that costs is not to be Weir's cost
	if err != nil {
		return nil, err
	}
	defer statuses.Close()
	go func() { _, _ = io.Copy(io.Discard, statuses) }() // ends with the stream
	m := &made{printed: map[netip.Prefix]bool{}}
	used, begin := e.cpuTimes(), time.Now()
	err = parallel(l.n, l.clients, func(i int) error {
		time.Sleep(l.pause)
		return do(m, i)
	})
	if err != nil {
		return nil, err
	}
	round := m.result(begin)
	round.Finished = float64(l.n) / time.Since(begin).Seconds()
	round.CPU = e.cpuTimes().perClaim(used, l.n)
	return round, e.removeBare(ctx, l.name, l.n)
}

func (e *environment) bareClaim(round string, i int) *ipamv1.IPClaim {
	claim := ipClaim(fmt.Sprintf("%s-%05d", round, i), poolName, fmt.Sprintf("10.%d.%d.%d/32", i>>16, i>>8&0xff, i&0xff))
	claim.Labels = map[string]string{roundLabel: round}
	claim.Finalizers = []string{ipamv1.ClaimFinalizer}
	return claim
}

// removeBare deletes bare claims, which have Weir's finalizer and no Weir to take it off.
func (e *environment) removeBare(ctx context.Context, round string, n int) error {
	err := parallel(n, recorders, func(i int) error {
		claim := e.bareClaim(round, i)
		return e.client.Patch(ctx, claim, client.RawPatch("application/merge-patch+json", []byte(`{"metadata":{"finalizers":null}}`)))
	})
	if err != nil {
		return fmt.Errorf("taking finalizers off: %w", err)
	}
	return e.deleteAll(ctx, ipamv1.GroupVersion.WithKind("IPClaimList"), round)
}

// denied measures requests that an exhausted pool refuses.
func (e *environment) denied(ctx context.Context) (*callRound, error) {
	m, begin := &made{}, time.Now()
	for i := range denials {
		time.Sleep(deniedPause)
		asked := time.Now()
		err := e.client.Create(ctx, ipClaim(fmt.Sprintf("denied-%05d", i), fullPool, ""))
		m.note(asked)
		if status := apierrors.APIStatus(nil); !errors.As(err, &status) || status.Status().Code != 507 {
			return nil, fmt.Errorf("a full pool answered: %w", err)
		}
	}
	return m.result(begin), nil
}

// measureList lists many claims. They are made without Weir, to which a list makes no difference.
func (e *environment) measureList(ctx context.Context, c *calls) error {
	have := &ipamv1.IPClaimList{}
	if err := e.client.List(ctx, have); err != nil {
		return fmt.Errorf("listing claims: %w", err)
	}
	missing := max(listed-len(have.Items), 0)
	err := parallel(missing, recorders, func(i int) error { return e.client.Create(ctx, e.bareClaim("list", i)) })
	if err != nil {
		return fmt.Errorf("creating claims to list: %w", err)
	}
	for range lists {
		all, begin := &ipamv1.IPClaimList{}, time.Now()
		if err := e.client.List(ctx, all); err != nil {
			return fmt.Errorf("listing claims: %w", err)
		}
		c.List, c.ListCount = append(c.List, float64(time.Since(begin).Microseconds())/1000), len(all.Items)
	}
	return nil
}

func ipClaim(name, pool, cidr string) *ipamv1.IPClaim {
	return &ipamv1.IPClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: benchNamespace, Name: name},
		Spec:       ipamv1.IPClaimSpec{PoolRef: &ipamv1.ClaimPoolReference{Kind: ipamv1.IPPoolKind, Name: pool}, CIDR: cidr},
	}
}
