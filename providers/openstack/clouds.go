// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package openstack

import (
	"context"
	"crypto/sha256"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/wait"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/external"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/ledger"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/providers/openstack/neutron"
)

// Keys of the Secret.
const (
	cloudsKey = "clouds.yaml"
	cacertKey = "cacert"
)

// account names credentials, an entry of a Secret's clouds.yaml, and the region that they are used
// in; "" for that of the entry.
type account struct {
	secret            types.NamespacedName
	cloudName, region string
}

func accountOf(pool external.Pool) account {
	ref := pool.Source.IdentityRef
	return account{types.NamespacedName{Namespace: pool.SecretNamespace, Name: ref.Name}, ref.CloudName, ref.Region}
}

// cloud is the way to a cloud with the credentials of one account.
type cloud struct {
	calls slots
	// used is when the last call began; Provider.mu guards it.
	used time.Time

	mu sync.Mutex
	// client was made with the credentials of that fingerprint; nil if there is none.
	client       *neutron.Client
	fingerprint  fingerprint
	made         time.Time
	isConnecting bool
	// refused is why the last log-in with them failed, nil if it did not. There is no other one before
	// its time: each claim would try, and that locks accounts and drowns a Keystone that is slow.
	refused error
	again   time.Time
	pauses  wait.Backoff
	// breaker is closed after other calls that failed. creations are by pool key.
	breaker   breaker
	creations map[string]*creation
}

// pauses are those after log-ins that failed, one after the other. The longest is no longer than
// claims wait anyway.
func pauses() wait.Backoff {
	return wait.Backoff{Duration: time.Second, Factor: 2, Steps: math.MaxInt, Cap: retry} //nolint:mnd // it doubles
}

// fingerprint stands for credentials without showing them.
type fingerprint [sha256.Size]byte

// slots bounds how much is done at once. None is waited for.
type slots chan struct{}

func (s slots) take() bool {
	select {
	case s <- struct{}{}:
		return true
	default:
		return false
	}
}

func (s slots) put() { <-s }

// call runs a method of a pool, with a client of its cloud.
func (p *Provider) call(ctx context.Context, pool external.Pool, run func(*neutron.Client) error) (err error) {
	at := accountOf(pool)
	c := p.cloudOf(at)
	if !c.calls.take() {
		return fmt.Errorf("%d calls of the pool's cloud are under way: %w", cap(c.calls), ledger.ErrBusy)
	}
	defer c.calls.put()
	if !p.calls.take() {
		return fmt.Errorf("%d calls of clouds are under way: %w", cap(p.calls), ledger.ErrBusy)
	}
	defer p.calls.put()
	client, err := p.connect(ctx, c, at)
	if err != nil {
		return err
	}
	if project := client.Project(); pool.Project != "" && pool.Project != project {
		// They would find nothing, and it would look as if the floating IPs had gone. So would those of another region: see
		// proveNetwork.
		return &secretError{message: fmt.Sprintf("Secret %s: the credentials are for project %s, and the pool's floating IPs are in project %s",
			at.secret, project, pool.Project)}
	}
	allowed, err := c.enter(p.options.Clock.Now())
	if err != nil {
		return err
	}
	defer func() { c.ended(ctx, client, allowed, err, p.options.Clock.Now()) }()
	return run(client)
}

// proveNetwork errs with neutron.NotFound if the cloud does not have the pool's network. A project is in all regions: the list of another one
// is empty although the pool's floating IPs are there. So an empty list is proved by this before anything counts as released, deleted or
// missing.
func proveNetwork(ctx context.Context, cloud *neutron.Client, pool external.Pool) error {
	_, err := cloud.FindNetwork(ctx, neutron.NetworkFilter{ID: pool.Network})
	return err
}

// cloudOf returns the way to the cloud of an account, and drops those that have not been used for
// long.
func (p *Provider) cloudOf(at account) *cloud {
	p.mu.Lock()
	defer p.mu.Unlock()
	now := p.options.Clock.Now()
	known := p.clouds[at]
	if known == nil {
		known = &cloud{calls: make(slots, callsPerCloud)}
		p.clouds[at] = known
	}
	known.used = now
	for other, c := range p.clouds {
		if now.Sub(c.used) > clientIdle && len(c.calls) == 0 {
			c.close()
			delete(p.clouds, other)
		}
	}
	return known
}

// connect returns a client with the credentials that the Secret has now. One call logs in; others
// that come meanwhile are to come again. After a log-in that failed, and while the breaker is closed,
// they are told the same for a while.
func (p *Provider) connect(ctx context.Context, c *cloud, at account) (made *neutron.Client, err error) {
	clouds, cacert, err := p.readSecret(ctx, at.secret)
	if err != nil {
		return nil, err
	}
	of := sha256.Sum256(fmt.Appendf(nil, "%q %q", clouds, cacert))
	known, mayConnect, err := c.clientFor(of, p.options.Clock.Now())
	if !mayConnect {
		return known, err
	}
	defer func() { c.connected(of, made, err, p.options.Clock.Now()) }()
	return p.logIn(ctx, clouds, cacert, at)
}

func (p *Provider) logIn(ctx context.Context, clouds, cacert []byte, at account) (*neutron.Client, error) {
	credentials, err := neutron.ParseClouds(clouds, cacert, at.cloudName, at.region)
	if err != nil {
		return nil, &secretError{message: fmt.Sprintf("Secret %s: %v", at.secret, err)}
	}
	return neutron.Connect(ctx, credentials, neutron.Options{
		Policy: p.options.Endpoints, Timeouts: timeouts, UserAgent: "weir", Clock: p.options.Clock, Observer: observe,
	})
}

// clientFor returns the client for credentials, or why there is none. Otherwise the caller is to make
// it, and to say what came of it by connected.
func (c *cloud) clientFor(of fingerprint, now time.Time) (known *neutron.Client, mayConnect bool, err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	isSame := c.fingerprint == of
	if closed := c.breaker.refusal(now); isSame && closed != nil {
		return nil, false, closed
	}
	switch {
	case isSame && c.client != nil:
		return c.client, false, nil
	case c.isConnecting:
		return nil, false, fmt.Errorf("another call logs in to the pool's cloud: %w", ledger.ErrBusy)
	case isSame && c.refused != nil && now.Before(c.again):
		return nil, false, c.refused
	}
	c.isConnecting = true
	return nil, true, nil
}

// connected takes over the client that was made for credentials, or how that failed. Calls under way
// end with the client that they have.
func (c *cloud) connected(of fingerprint, made *neutron.Client, err error, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.isConnecting = false
	c.drop()
	if made != nil || c.fingerprint != of {
		c.pauses = pauses()
	}
	if c.fingerprint != of {
		c.breaker, c.creations = breaker{}, nil
	}
	c.client, c.fingerprint, c.made, c.refused = made, of, now, nil
	if fault, isCloud := errors.AsType[*neutron.Error](err); isCloud && fault.Unwrap() == nil {
		c.refused, c.again = err, now.Add(max(c.pauses.Step(), fault.RetryAfter))
	}
}

// enter errs while the breaker is closed. What it lets through has to end.
func (c *cloud) enter(now time.Time) (pass, error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.breaker.enter(now)
}

// ended takes over how a method has ended. It forgets a client that failed, so that the next call logs
// in, if a new one may do better. A client that was replaced says nothing.
func (c *cloud) ended(ctx context.Context, client *neutron.Client, p pass, err error, now time.Time) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.client != client {
		c.breaker.leave(p, nil, false, shortestClosure, now)
		return
	}
	c.breaker.leave(p, closes(err), isAnswered(ctx, err), shortestClosure, now)
	if mayBeOutdated(err, now.Sub(c.made)) {
		c.drop()
	}
}

func (c *cloud) close() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.drop()
}

// drop is for methods that hold the lock.
func (c *cloud) drop() {
	if c.client != nil {
		c.client.CloseIdleConnections()
	}
	c.client = nil
}

// secretError says what is wrong with a pool's credentials. Its text is not for claims.
type secretError struct {
	message string
	// isMissing: there is no such Secret.
	isMissing bool
}

func (e *secretError) Error() string { return e.message }

// readSecret reads the credentials from the API server.
func (p *Provider) readSecret(ctx context.Context, name types.NamespacedName) (clouds, cacert []byte, err error) {
	secret := &corev1.Secret{}
	err = p.options.Live.Get(ctx, name, secret)
	switch {
	case apierrors.IsNotFound(err):
		return nil, nil, &secretError{message: fmt.Sprintf("Secret %s does not exist", name), isMissing: true}
	case apierrors.IsForbidden(err):
		return nil, nil, &secretError{message: fmt.Sprintf("Weir may not read Secret %s: bind the ClusterRole weir-system-openstack-secrets", name)}
	case err != nil:
		return nil, nil, fmt.Errorf("reading Secret %s: %w", name, err)
	case len(secret.Data[cloudsKey]) == 0:
		return nil, nil, &secretError{message: fmt.Sprintf("Secret %s: data[%s]: required", name, cloudsKey)}
	}
	return secret.Data[cloudsKey], secret.Data[cacertKey], nil
}
