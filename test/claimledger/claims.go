// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package claimledger keeps claims that have no object: ledgers in the test's own
// process answer them. The first prefix that a ledger reports is the claim's answer,
// as an IPAddress of its name would be. The claim has it until it leaves. For tests
// only.
package claimledger

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/netip"
	"sync"
	"time"

	book "github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
)

const (
	// retry is when a contended ledger is asked again.
	retry = 5 * time.Millisecond
	// patience is how long a ledger may go on being contended.
	patience = 5 * time.Minute
)

// Claims is one address space's claims and what they hold. Its methods may be
// called concurrently, for different claims.
type Claims struct {
	mu      sync.Mutex
	answers map[string]netip.Prefix
	held    map[netip.Prefix]string
	doubles []string
}

// New returns an empty Claims.
func New() *Claims {
	return &Claims{answers: map[string]netip.Prefix{}, held: map[netip.Prefix]string{}}
}

// Reserve goes on while the ledger says that it is contended, as a controller
// would.
func Reserve(ctx context.Context, l *book.Ledger, c book.Claim) (book.Allocation, error) {
	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()
	for {
		a, err := l.Reserve(ctx, c)
		if !errors.Is(err, book.ErrBusy) || ctx.Err() != nil {
			return a, err
		}
		time.Sleep(retry)
	}
}

// Commit returns the claim's answer, and notes if anybody else holds part of it.
func (t *Claims) Commit(uid string, cidr netip.Prefix) netip.Prefix {
	t.mu.Lock()
	defer t.mu.Unlock()
	if answer, ok := t.answers[uid]; ok {
		return answer
	}
	for other, holder := range t.held {
		if other.Overlaps(cidr) {
			t.doubles = append(t.doubles, fmt.Sprintf("%s told to %s, and %s to %s", cidr, uid, other, holder))
		}
	}
	t.answers[uid], t.held[cidr] = cidr, uid
	return cidr
}

// Answer has all ledgers answer the claim at once. It errs only if none did.
func (t *Claims) Answer(ctx context.Context, c book.Claim, ledgers []*book.Ledger) error {
	var done sync.WaitGroup
	outcomes := make([]error, len(ledgers))
	for i, l := range ledgers {
		done.Go(func() {
			a, err := Reserve(ctx, l, c)
			if outcomes[i] = err; err != nil {
				return
			}
			if t.Commit(c.Ref.UID, a.CIDR) != a.CIDR {
				dropVoid(ctx, l, c, a)
			}
		})
	}
	done.Wait()
	if _, answered := t.Told(c.Ref.UID); answered {
		return nil
	}
	return errors.Join(outcomes...)
}

// dropVoid drops the record of an allocation that the claim is not answered with.
func dropVoid(ctx context.Context, l *book.Ledger, c book.Claim, a book.Allocation) {
	for _, h := range l.RecordsOf(c.Ref) {
		if h.Record.Name == a.Name() && h.CIDR == a.CIDR {
			_ = l.Out().Drop(ctx, h)
		}
	}
}

// Stay drops the records of an answered claim that are not its answer's.
func (t *Claims) Stay(ctx context.Context, c book.Claim, ledgers []*book.Ledger) error {
	answer, _ := t.Told(c.Ref.UID)
	return tidy(ctx, c, ledgers, func(h book.Holding) bool { return h.CIDR == answer })
}

// Leave ends the claim, and then drops its records.
func (t *Claims) Leave(ctx context.Context, c book.Claim, ledgers []*book.Ledger) error {
	t.mu.Lock()
	delete(t.held, t.answers[c.Ref.UID])
	delete(t.answers, c.Ref.UID)
	t.mu.Unlock()
	return tidy(ctx, c, ledgers, func(book.Holding) bool { return false })
}

// tidy drops the claim's records that are not to be kept, as the claim's
// controller does.
func tidy(ctx context.Context, c book.Claim, ledgers []*book.Ledger, keep func(book.Holding) bool) error {
	for ctx.Err() == nil {
		var left int
		for _, l := range ledgers {
			for _, h := range l.About(c.Ref).Recorded() {
				if !keep(h) {
					left++
					if err := l.Out().Drop(ctx, h); err != nil && !errors.Is(err, book.ErrBusy) {
						return err
					}
				}
			}
		}
		if left == 0 {
			return nil
		}
		time.Sleep(retry)
	}
	return ctx.Err()
}

// Told returns the answer of a claim that has one.
func (t *Claims) Told(uid string) (netip.Prefix, bool) {
	t.mu.Lock()
	defer t.mu.Unlock()
	answer, ok := t.answers[uid]
	return answer, ok
}

// Held returns what is held now, with the UIDs of the claims.
func (t *Claims) Held() map[netip.Prefix]string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return maps.Clone(t.held)
}

// Doubles returns what was told to one claim while another one held part of it.
func (t *Claims) Doubles() []string {
	t.mu.Lock()
	defer t.mu.Unlock()
	return t.doubles
}
