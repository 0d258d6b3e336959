// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import (
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"sync"
)

// unspecified is a host that stands for the local one where it is dialled.
const unspecified = "0.0.0.0"

// Balancer is one address in front of several servers, as a Service is: every
// connection goes to the next of them, in turn, that accepts it. A server whose
// process is stopped still does, until its kernel's queue is full. Its methods
// may be called concurrently.
type Balancer struct {
	proxy   *ConnectionProxy
	targets []string

	mu     sync.Mutex
	next   int
	served map[string]int
}

// NewBalancer listens on a loopback port for the targets, hosts with ports,
// until it is closed.
func NewBalancer(targets ...string) (*Balancer, error) {
	b := &Balancer{targets: slices.Clone(targets), served: map[string]int{}}
	var err error
	b.proxy, err = newConnectionProxy(b.dial)
	return b, err
}

// Address returns the one host and port.
func (b *Balancer) Address() string { return b.proxy.Address() }

// WebhookAddress returns the address that the API server is to be told: Go takes
// an unspecified host for the local one. To a loopback host by name the API
// server speaks HTTP/2, with all calls on one connection; to this one HTTP/1.1
// on several, as it does to a Service.
func (b *Balancer) WebhookAddress() string {
	_, port, _ := net.SplitHostPort(b.Address()) // A listener's address is well formed.
	return net.JoinHostPort(unspecified, port)
}

// Served returns how many connections each target has got so far.
func (b *Balancer) Served() map[string]int {
	b.mu.Lock()
	defer b.mu.Unlock()
	return maps.Clone(b.served)
}

// Close ends all connections and the balancer.
func (b *Balancer) Close() error { return b.proxy.Close() }

func (b *Balancer) dial() (net.Conn, error) {
	var errs []error
	for range b.targets {
		target := b.turn()
		conn, err := net.Dial("tcp", target)
		if err == nil {
			b.count(target)
			return conn, nil
		}
		errs = append(errs, err)
	}
	return nil, fmt.Errorf("finding a living target: %w", errors.Join(errs...))
}

// turn returns the target whose turn it is.
func (b *Balancer) turn() string {
	b.mu.Lock()
	defer b.mu.Unlock()
	target := b.targets[b.next]
	b.next = (b.next + 1) % len(b.targets)
	return target
}

func (b *Balancer) count(target string) {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.served[target]++
}
