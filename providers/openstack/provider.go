// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"slices"
	"sync"
	"time"

	"k8s.io/utils/clock"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/external"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/providers/openstack/neutron"
)

// Options of a Provider. Live and Clock are required.
type Options struct {
	// Live reads Secrets from the API server.
	Live client.Reader
	// Endpoints says which URLs are called.
	Endpoints neutron.EndpointPolicy
	// Concurrency is how many claims the manager works on at once. At most half as many call
	// clouds, and at least one.
	Concurrency int
	Clock       clock.PassiveClock
}

const (
	// callsPerCloud is how many of its methods a Provider runs at once for one cloud. Each makes
	// one call after another.
	callsPerCloud = 4
	// clientIdle is for how long a client that is not used is kept.
	clientIdle = time.Hour
)

// timeouts bound how long a cloud that hangs holds a worker: a log-in and a method's two calls take
// at most two minutes and a half, and one call more for each hundred floating IPs that a pool lists. A change that takes longer is Uncertain, and found by the next search.
var timeouts = neutron.Timeouts{ResponseHeader: 15 * time.Second, Call: 30 * time.Second}

// Provider backs pools with floating IPs.
type Provider struct {
	options Options
	// calls are those of all clouds.
	calls slots

	answers answers
	unclear unclear

	mu     sync.Mutex
	clouds map[account]*cloud
}

var _ external.Provider = &Provider{}

// New returns a Provider that has not called any cloud yet.
func New(o Options) *Provider {
	return &Provider{options: o, calls: make(slots, max(1, o.Concurrency/2)), clouds: map[account]*cloud{}} //nolint:mnd // half
}

// Identify implements external.Provider: one list of networks, one of subnets if the pool names one by
// name, and one of floating IPs for each hundred that the pool lists.
func (p *Provider) Identify(ctx context.Context, pool external.Pool) (external.Identity, error) {
	var is external.Identity
	err := p.call(ctx, pool, func(cloud *neutron.Client) error {
		network, err := cloud.FindNetwork(ctx, networkOf(pool))
		if err != nil {
			return err
		}
		at := pool
		at.Network = network.ID
		if _, err = subnetOf(ctx, cloud, at); err != nil {
			return err
		}
		is = external.Identity{Project: cloud.Project(), Network: network.ID}
		is.Doubts, err = doubts(ctx, cloud, at)
		return err
	})
	return is, asFault(ctx, pool, p.unclear.judge(pool.Key, err))
}

// Survey implements external.Provider: one list of all floating IPs of the network, page by page, and a second one if something differs.
func (p *Provider) Survey(ctx context.Context, pool external.Pool, known external.Known) (external.Survey, error) {
	var found external.Survey
	var ours error
	err := p.call(ctx, pool, func(cloud *neutron.Client) (err error) {
		s := survey{cloud: cloud, pool: pool, known: known}
		found, err = s.compare(ctx)
		ours = s.failed
		return err
	})
	if ours != nil {
		return external.Survey{}, ours
	}
	return found, asFault(ctx, pool, err)
}

// networkOf returns what chooses the network of a pool.
func networkOf(pool external.Pool) neutron.NetworkFilter {
	if pool.Network != "" {
		return neutron.NetworkFilter{ID: pool.Network}
	}
	network := pool.Source.FloatingNetwork
	return neutron.NetworkFilter{ID: network.ID, Name: network.Name, Tags: network.Tags}
}

// Acquire implements external.Provider.
func (p *Provider) Acquire(ctx context.Context, pool external.Pool, request external.Request) (external.Address, error) {
	has, err := p.acquire(ctx, pool, request)
	if err = p.unclear.judge(request.Claim.UID, err); err != nil {
		return external.Address{}, asRefusal(ctx, pool, err)
	}
	return external.Address{Addr: has.Address, ID: has.ID}, nil
}

func (p *Provider) acquire(ctx context.Context, pool external.Pool, request external.Request) (has neutron.FloatingIP, err error) {
	c := p.cloudOf(accountOf(pool))
	allowed, err := c.mayAcquire(request, pool.Key, p.options.Clock.Now())
	if err != nil {
		return has, err
	}
	isAsked := false
	defer func() {
		c.acquired(allowed, pool.Key, request.Claim.UID, err, isAsked && isAnswered(ctx, err), p.options.Clock.Now())
	}()
	err = p.call(ctx, pool, func(cloud *neutron.Client) (err error) {
		isAsked = true
		has, err = acquire(ctx, cloud, pool, request, allowed.closed)
		if allowed.closed == nil {
			p.noteCreation(pool, err)
		}
		return err
	})
	return has, err
}

// Adopt implements external.Provider.
func (p *Provider) Adopt(ctx context.Context, pool external.Pool, adoption external.Adoption) (external.Address, error) {
	var has neutron.FloatingIP
	err := p.call(ctx, pool, func(cloud *neutron.Client) (err error) {
		has, err = adopt(ctx, cloud, pool, adoption)
		return err
	})
	if err = p.unclear.judge(adoption.Claim.UID, err); err != nil {
		return external.Address{}, asRefusal(ctx, pool, err)
	}
	return external.Address{Addr: has.Address, ID: has.ID}, nil
}

// GiveBack implements external.Provider.
func (p *Provider) GiveBack(ctx context.Context, pool external.Pool, proof external.Proof) error {
	err := p.call(ctx, pool, func(cloud *neutron.Client) error {
		given, err := giveBack(ctx, cloud, pool, proof)
		if slices.Contains(given, deletion) {
			p.note(pool, "")
		}
		p.cloudOf(accountOf(pool)).freed(pool.Key, proof.Claim().UID, len(given) > 0)
		return err
	})
	return asKept(ctx, pool, p.unclear.judge(proof.Claim().UID, err))
}
