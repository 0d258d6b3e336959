// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"fmt"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	m3v1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/metal3/v1alpha1"
	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

const (
	// racks is the namespace of hosts, and rackPool the pool of Metal3's there.
	racks    = "racks"
	rackPool = "provisioning"
	// keptFor is the claim of a host whose address never changes.
	keptFor     = "host-7-" + rackPool
	keptAddress = "10.20.0.50"
)

// serveMetal3 answers claims of a pool of Metal3's, which keeps one address for one host.
func (p *play) serveMetal3(ctx context.Context) error {
	namespace := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: racks}}
	if err := p.client.Create(ctx, namespace); err != nil {
		return fmt.Errorf("creating namespace %s: %w", racks, err)
	}
	pool := &m3v1.IPPool{ObjectMeta: metav1.ObjectMeta{Namespace: racks, Name: rackPool}, Spec: m3v1.IPPoolSpec{
		NamePrefix: rackPool, Prefix: 24, Gateway: ptr.To(m3v1.Address("10.20.0.1")), DNSServers: []m3v1.Address{"10.20.0.2"},
		Pools:          []m3v1.Pool{{Start: ptr.To(m3v1.Address("10.20.0.10")), End: ptr.To(m3v1.Address("10.20.0.99"))}},
		PreAllocations: map[string]m3v1.Address{keptFor: keptAddress},
	}}
	if err := p.client.Create(ctx, pool); err != nil {
		return fmt.Errorf("creating pool %s: %w", pool.Name, err)
	}
	p.say("The gate Metal3 is on: IPPools and IPClaims of ipam.metal3.io are Weir's as well. Pool %s/%s hands out %s to %s, "+
		"and keeps one of them, pre-allocated, for the claim of one host:", racks, rackPool, *pool.Spec.Pools[0].Start, *pool.Spec.Pools[0].End)
	p.quote(fmt.Sprintf("preAllocations: {%s: %s}", keptFor, keptAddress))
	if err := p.claimOfMetal3(ctx); err != nil {
		return err
	}
	if err := p.refuseMetal3(ctx); err != nil {
		return err
	}
	return p.showMetal3Pool(ctx, pool)
}

// claimOfMetal3 makes claims as CAPM3 does, and one of Cluster API's, and shows what they got.
func (p *play) claimOfMetal3(ctx context.Context) error {
	var rows [][]string
	for _, host := range []string{"host-3", "host-7", "host-8"} {
		claim := metal3Claim(host)
		if err := p.client.Create(ctx, claim); err != nil {
			return fmt.Errorf("creating claim %s: %w", claim.Name, err)
		}
		address, err := p.awaitMetal3(ctx, claim)
		if err != nil {
			return err
		}
		if kept := address.Spec.Address == keptAddress; kept != (claim.Name == keptFor) {
			return fmt.Errorf("claim %s got %s, and %s is kept for claim %s", claim.Name, address.Spec.Address, keptAddress, keptFor)
		}
		spec := &address.Spec
		rows = append(rows, []string{
			"IPClaim " + claim.Name, "ipam.metal3.io", string(spec.Address), "/" + strconv.Itoa(spec.Prefix),
			string(ptr.Deref(spec.Gateway, "-")), joinAddresses(spec.DNSServers), "IPAddress " + address.Name,
		})
	}
	claim := claimFor(racks, "machine-0", m3v1.IPPoolKind, rackPool)
	claim.Spec.PoolRef.APIGroup = m3v1.GroupVersion.Group
	theirs, err := p.claimAll(ctx, []*ipamv1beta2.IPAddressClaim{claim})
	if err != nil {
		return err
	}
	spec := &theirs[0].address.Spec
	rows = append(rows, []string{
		"IPAddressClaim " + claim.Name, "ipam.cluster.x-k8s.io", spec.Address, "/" + number(spec.Prefix), spec.Gateway,
		orDash(theirs[0].address.Annotations[ipamv1.DNSServersAnnotation]), "IPAddress " + theirs[0].address.Name,
	})
	p.say("CAPM3 claims for its hosts, another provider for a machine, out of the same pool. %s got what is kept for it:", keptFor)
	p.table([]string{"CLAIM", "OF", "ADDRESS", "PREFIX", "GATEWAY", "DNS", "ANSWER"}, rows)
	return nil
}

// refuseMetal3 asks for the address that is kept for another host.
func (p *play) refuseMetal3(ctx context.Context) error {
	claim := metal3Claim("host-9")
	claim.Annotations = map[string]string{m3v1.AddressAnnotation: keptAddress}
	if err := p.client.Create(ctx, claim); err != nil {
		return fmt.Errorf("creating claim %s: %w", claim.Name, err)
	}
	err := p.eventuallyMetal3(ctx, claim, func() bool { return claim.Status.ErrorMessage != nil })
	if err != nil {
		return err
	}
	p.say("Claim %s asks for %s, and is told in status.errorMessage, in Metal3's words:", claim.Name, keptAddress)
	if err := p.quoteMention(*claim.Status.ErrorMessage, m3v1.NotAvailableMessage); err != nil {
		return err
	}
	return p.client.Delete(ctx, claim)
}

// showMetal3Pool shows the pool's status once it tells of all claims.
func (p *play) showMetal3Pool(ctx context.Context, pool *m3v1.IPPool) error {
	const claims = 4
	err := eventually(ctx, "the status of pool "+pool.Name, func(ctx context.Context) error {
		if err := p.client.Get(ctx, client.ObjectKeyFromObject(pool), pool); err != nil {
			return err
		}
		if n := len(pool.Status.Allocations); n != claims || pool.Status.Capacity == nil || pool.Status.AvailableIPCount == nil {
			return fmt.Errorf("it tells of %d claims, not of %d: %+v", n, claims, pool.Status)
		}
		return nil
	})
	if err != nil {
		return err
	}
	p.say("The pool's status says: %d addresses, %d of them free, %d handed out.", *pool.Status.Capacity, *pool.Status.AvailableIPCount, claims)
	return nil
}

// metal3Claim is what CAPM3 makes for a host.
func metal3Claim(host string) *m3v1.IPClaim {
	return &m3v1.IPClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: racks, Name: host + "-" + rackPool},
		Spec:       m3v1.IPClaimSpec{Pool: m3v1.ObjectReference{Name: rackPool, Namespace: racks}},
	}
}

// awaitMetal3 waits until the claim is answered, and finds its IPAddress as CAPM3 does: by the status.
func (p *play) awaitMetal3(ctx context.Context, claim *m3v1.IPClaim) (*m3v1.IPAddress, error) {
	if err := p.eventuallyMetal3(ctx, claim, func() bool { return claim.Status.Address != nil }); err != nil {
		return nil, err
	}
	address := &m3v1.IPAddress{}
	if err := p.client.Get(ctx, client.ObjectKey{Namespace: claim.Namespace, Name: claim.Status.Address.Name}, address); err != nil {
		return nil, fmt.Errorf("reading the answer of claim %s: %w", claim.Name, err)
	}
	return address, nil
}

// eventuallyMetal3 waits until something is so of the claim.
func (p *play) eventuallyMetal3(ctx context.Context, claim *m3v1.IPClaim, so func() bool) error {
	return eventually(ctx, "claim "+claim.Name, func(ctx context.Context) error {
		if err := p.client.Get(ctx, client.ObjectKeyFromObject(claim), claim); err != nil {
			return err
		}
		if !so() {
			return fmt.Errorf("its status: %+v", claim.Status)
		}
		return nil
	})
}

func joinAddresses(addresses []m3v1.Address) string {
	texts := make([]string, 0, len(addresses))
	for _, address := range addresses {
		texts = append(texts, string(address))
	}
	return orDash(strings.Join(texts, ", "))
}
