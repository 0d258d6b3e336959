// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"path/filepath"
	"strings"
	"time"

	"golang.org/x/sync/errgroup"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/propagator"
)

const (
	// fleetSpace is the namespace of the pools, at the hub and at the members.
	fleetSpace = "fleet"
	// plan is the hub's root.
	plan = "plan"
)

// fleet is the story of a hub and two member clusters.
type fleet struct {
	*account

	hub     *play
	members []*play
	// carrier carries pools from the hub to the members.
	carrier *propagator.Propagator
	// wakeHub starts the hub's API server again.
	wakeHub func(context.Context) error
}

func newFleet(a *account, keep bool) *fleet {
	at := func(name string, flags ...string) *play {
		return &play{account: a, stage: &stage{
			name: name, keep: keep, flags: append([]string{"--feature-gates=Federation=true"}, flags...),
			kinds: []string{"ippools.ipam.weir.dev,globalippools.ipam.weir.dev,ipallocations.ipam.weir.dev"},
		}}
	}
	return &fleet{account: a, hub: at("hub"), members: []*play{at("edge-a", "--cluster-name=edge-a"), at("edge-b", "--cluster-name=edge-b")}}
}

func (f *fleet) ready() error { return nil }

func (f *fleet) stages() []*stage {
	return []*stage{f.hub.stage, f.members[0].stage, f.members[1].stage}
}

func (f *fleet) close() {
	if f.carrier != nil {
		f.carrier.Stop()
	}
}

func (f *fleet) scenes() []scene {
	return []scene{
		{"A hub and two member clusters, each with Weir", f.install},
		{"The hub plans", f.delegate},
		{"The members serve", f.serve},
		{"The hub is away", f.stopHub},
		{"The hub is back", f.startHub},
		{"A member lets go", f.takeBack},
		{"The end", f.leave},
	}
}

// install starts the three clusters at once.
func (f *fleet) install(ctx context.Context) error {
	begin := time.Now()
	starting, within := errgroup.WithContext(ctx)
	for _, p := range append([]*play{f.hub}, f.members...) {
		starting.Go(func() error { return p.installFleet(within) })
	}
	if err := starting.Wait(); err != nil {
		return err
	}
	f.did(begin, "Three clusters run on loopback: %s, and %s and %s. Weir's gate Federation is open at all of them. A member's Weir knows its name by --cluster-name.",
		f.hub.name, f.members[0].name, f.members[1].name)
	if err := f.startCarrier(ctx); err != nil {
		return err
	}
	f.say("Between them is a stand-in for Karmada: it copies pools by a label, and has bindings at the hub show what becomes of the copies. Karmada itself is not part of the demo.")
	return nil
}

// installFleet starts a cluster with Weir's release and a manager.
func (p *play) installFleet(ctx context.Context) error {
	if err := p.startCluster(ctx, framework.InstallRelease, framework.InstallCAPICRDs); err != nil {
		return err
	}
	if err := p.startManager(ctx); err != nil {
		return err
	}
	return p.createNamespaces(ctx, fleetSpace)
}

// startCarrier installs Karmada's bindings, and what the hub's manager may do as a hub's (read them, create further pools), and begins to carry.
func (f *fleet) startCarrier(ctx context.Context) error {
	root, err := framework.RepoRoot()
	if err != nil {
		return err
	}
	objects, err := framework.ParseManifests([]byte(propagator.BindingCRDs))
	if err != nil {
		return err
	}
	rights, err := framework.ReadManifests(filepath.Join(root, "config", "components", "federation"))
	if err != nil {
		return err
	}
	if err := framework.Apply(ctx, f.hub.config, append(objects, rights...)...); err != nil {
		return err
	}
	members := map[string]client.Client{}
	for _, m := range f.members {
		members[m.name] = m.client
	}
	f.carrier = propagator.New(f.hub.client, members,
		ipamv1.GroupVersion.WithKind(ipamv1.IPPoolKind), ipamv1.GroupVersion.WithKind(ipamv1.GlobalIPPoolKind))
	f.carrier.Bind()
	f.carrier.Start()
	return nil
}

// delegated is the hub's pool for a member.
func delegated(member string) *ipamv1.IPPool {
	return builder.IPPool(fleetSpace, member).WithParent(ipamv1.GlobalIPPoolKind, "", plan).WithBits(16).DelegatedTo(member).Build()
}

// delegate makes the plan, and a pool of it for each member.
func (f *fleet) delegate(ctx context.Context) error {
	root := builder.GlobalIPPool(plan).WithCIDR("10.0.0.0/8").WithLengths(12, 24, 16).Build()
	if err := f.hub.client.Create(ctx, root); err != nil {
		return fmt.Errorf("creating pool %s: %w", plan, err)
	}
	if err := f.hub.awaitReady(ctx, root); err != nil {
		return err
	}
	f.say("The hub holds the address plan, %s. A pool of it is delegated to each member: spec.parentRef names the plan, spec.delegateTo the member. "+
		"The response of the create has the block, and the label that policies of propagation select:", root.Spec.CIDR)
	rows := make([][]string, 0, len(f.members))
	for _, m := range f.members {
		p := delegated(m.name)
		if err := f.hub.client.Create(ctx, p); err != nil {
			return fmt.Errorf("creating pool %s: %w", p.Name, err)
		}
		if p.Spec.CIDR == "" || p.Labels[ipamv1.DelegatedToLabel] != m.name {
			return fmt.Errorf("pool %s was created as %+v, labels %v", p.Name, p.Spec, p.Labels)
		}
		rows = append(rows, []string{fleetSpace + "/" + p.Name, p.Spec.DelegateTo, p.Spec.CIDR, ipamv1.DelegatedToLabel + "=" + m.name})
	}
	f.table([]string{"POOL", "DELEGATE TO", "CIDR", "LABEL"}, rows)
	f.say("At the hub nothing is handed out of them. A claim says why:")
	err := f.hub.client.Create(ctx, builder.IPClaim(fleetSpace, "at-the-hub").From(ipamv1.IPPoolKind, "edge-a").Build())
	if !apierrors.IsInvalid(err) {
		return errors.Join(errors.New("an IPClaim at the hub was not refused"), err)
	}
	return f.hub.quoteMention(err.Error(), `delegated to cluster "edge-a"`)
}

// serve waits for the copies, and claims of each.
func (f *fleet) serve(ctx context.Context) error {
	f.say("The pools arrive at the members. There each is a root: it needs nothing of the hub any more.")
	for _, m := range f.members {
		begin := time.Now()
		at := builder.IPPool(fleetSpace, m.name).Build()
		if err := m.awaitReady(ctx, at); err != nil {
			return err
		}
		f.did(begin, "%s serves %s", m.name, at.Spec.CIDR)
	}
	return f.claimAtMembers(ctx, "before")
}

// claimAtMembers makes machines' claims at both members, and one of Weir's own, which is answered in its create call.
func (f *fleet) claimAtMembers(ctx context.Context, prefix string) error {
	for _, m := range f.members {
		pool := builder.IPPool(fleetSpace, m.name).Build()
		if err := m.client.Get(ctx, client.ObjectKeyFromObject(pool), pool); err != nil {
			return err
		}
		block := netip.MustParsePrefix(pool.Spec.CIDR)
		machines := make([]*ipamv1beta2.IPAddressClaim, 0, 2)
		for i := range 2 {
			machines = append(machines, claimFor(fleetSpace, fmt.Sprintf("%s-%d", prefix, i), ipamv1.IPPoolKind, m.name))
		}
		f.say("Machines of %s:", m.name)
		answers, err := m.claimAll(ctx, machines)
		if err != nil {
			return err
		}
		f.hub.showAnswers(answers)
		for _, a := range answers {
			if !block.Contains(netip.MustParseAddr(a.address.Spec.Address)) {
				return fmt.Errorf("claim %s at %s has %s, the block is %s", a.claim.Name, m.name, a.address.Spec.Address, block)
			}
		}
		own := builder.IPClaim(fleetSpace, prefix+"-pods").From(ipamv1.IPPoolKind, m.name).WithBits(24).Build()
		if err := m.client.Create(ctx, own); err != nil {
			return fmt.Errorf("creating IPClaim %s at %s: %w", own.Name, m.name, err)
		}
		if !block.Contains(netip.MustParsePrefix(own.Spec.CIDR).Addr()) {
			return fmt.Errorf("IPClaim %s at %s has %s, the block is %s", own.Name, m.name, own.Spec.CIDR, block)
		}
		f.say("IPClaim %s of %s has %s, in the response of its create.", own.Name, m.name, own.Spec.CIDR)
	}
	return nil
}

// stopHub stops all of the hub but its etcd, and claims at the members.
func (f *fleet) stopHub(ctx context.Context) (err error) {
	f.carrier.Stop()
	if err = f.hub.manager.Stop(); err != nil {
		return err
	}
	if f.wakeHub, err = f.hub.site.KillAPIServer(); err != nil {
		return err
	}
	if err := f.hub.client.List(ctx, &ipamv1.IPPoolList{}); err == nil {
		return errors.New("the hub's API server answers, although it was stopped")
	}
	f.say("The hub's API server, its manager and what carries pools are stopped. The members hand out addresses all the same.")
	return f.claimAtMembers(ctx, "alone")
}

// startHub starts the hub again, which then shows what the members use.
func (f *fleet) startHub(ctx context.Context) error {
	begin := time.Now()
	if err := f.wakeHub(ctx); err != nil {
		return err
	}
	if err := f.hub.startManager(ctx); err != nil {
		return err
	}
	f.carrier.Start()
	const claims = 6 // of each member, in all
	err := eventually(ctx, "the members' reports", func(ctx context.Context) error {
		for _, m := range f.members {
			p := delegated(m.name)
			if err := f.hub.client.Get(ctx, client.ObjectKeyFromObject(p), p); err != nil {
				return err
			}
			if got := p.Status.Claims; got == nil || *got != claims || !conditions.IsTrue(p, ipamv1.DelegatedCondition) {
				return fmt.Errorf("pool %s has %s claims, not %d: %+v", p.Name, number(got), claims, p.Status.Conditions)
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	f.did(begin, "The hub is back, and shows what its members report")
	return f.showFleet(ctx)
}

// showFleet prints the hub's pools, as the members report of them.
func (f *fleet) showFleet(ctx context.Context) error {
	pools, err := f.hub.pools(ctx)
	if err != nil {
		return err
	}
	rows := make([][]string, 0, len(pools))
	for _, p := range pools {
		status, reason := p.PoolStatus(), conditions.GetReason(p, ipamv1.DelegatedCondition)
		rows = append(rows, []string{
			referenceText(p.PoolReference()), p.PoolSpec().CIDR, orDash(p.PoolSpec().DelegateTo), status.Capacity.Total, status.Capacity.Available,
			number(status.Claims), orDash(reason),
		})
	}
	f.table([]string{"POOL", "CIDR", "DELEGATED TO", "TOTAL", "AVAILABLE", "CLAIMS", "DELEGATED"}, rows)
	return nil
}

// takeBack deletes a delegated pool that is in use, and then what uses it.
func (f *fleet) takeBack(ctx context.Context) error {
	m := f.members[0]
	p := delegated(m.name)
	if err := f.hub.client.Get(ctx, client.ObjectKeyFromObject(p), p); err != nil {
		return err
	}
	block := p.Spec.CIDR
	if err := f.hub.client.Delete(ctx, p); err != nil {
		return fmt.Errorf("deleting pool %s: %w", p.Name, err)
	}
	f.say("Pool %s/%s is deleted at the hub. Its block must not go to anybody else while a machine of %s has an address of it, so the pool waits, and says for what:",
		fleetSpace, p.Name, m.name)
	err := eventually(ctx, "pool "+p.Name+" to say what it waits for", func(ctx context.Context) error {
		if err := f.hub.client.Get(ctx, client.ObjectKeyFromObject(p), p); err != nil {
			return err
		}
		if message := conditions.GetMessage(p, ipamv1.ReadyCondition); !strings.Contains(message, "allocated") {
			return fmt.Errorf("it says %q", message)
		}
		return nil
	})
	if err != nil {
		return err
	}
	f.quote(conditions.GetMessage(p, ipamv1.ReadyCondition))
	f.say("At %s the copy is closed: nothing new is handed out. The last claims go:", m.name)
	begin := time.Now()
	err = errors.Join(m.client.DeleteAllOf(ctx, &ipamv1beta2.IPAddressClaim{}, client.InNamespace(fleetSpace)),
		m.client.DeleteAllOf(ctx, &ipamv1.IPClaim{}, client.InNamespace(fleetSpace)))
	if err != nil {
		return fmt.Errorf("deleting the claims of %s: %w", m.name, err)
	}
	err = eventually(ctx, "pool "+p.Name+" to go", func(ctx context.Context) error {
		gone := f.hub.client.Get(ctx, client.ObjectKeyFromObject(p), p)
		if apierrors.IsNotFound(gone) {
			return nil
		}
		return errors.Join(gone, fmt.Errorf("it says %q", conditions.GetMessage(p, ipamv1.ReadyCondition)))
	})
	if err != nil {
		return err
	}
	f.did(begin, "%s has handed the block back, its report came to the hub, and the pool has gone. Nobody had to do anything", m.name)
	next := builder.IPPool(fleetSpace, "next").WithParent(ipamv1.GlobalIPPoolKind, "", plan).WithBits(16).Build()
	if err := f.hub.client.Create(ctx, next); err != nil {
		return fmt.Errorf("creating pool %s: %w", next.Name, err)
	}
	if next.Spec.CIDR != block {
		return fmt.Errorf("pool %s has %s, and %s is free", next.Name, next.Spec.CIDR, block)
	}
	f.say("The next pool that is carved from the plan gets the block: %s/%s has %s.", fleetSpace, next.Name, next.Spec.CIDR)
	return f.showFleet(ctx)
}

// leave removes all that is left, unless the clusters are kept.
func (f *fleet) leave(ctx context.Context) error {
	if f.hub.keep {
		f.say("Nothing is removed. What carries pools ends with the demo.")
		return nil
	}
	for _, m := range f.members {
		err := errors.Join(m.client.DeleteAllOf(ctx, &ipamv1beta2.IPAddressClaim{}, client.InNamespace(fleetSpace)),
			m.client.DeleteAllOf(ctx, &ipamv1.IPClaim{}, client.InNamespace(fleetSpace)))
		if err != nil {
			return fmt.Errorf("deleting the claims of %s: %w", m.name, err)
		}
	}
	if err := f.hub.deletePools(ctx); err != nil {
		return err
	}
	for _, m := range f.members {
		if err := m.awaitGone(ctx, &ipamv1.IPPoolList{}, &ipamv1beta2.IPAddressList{}); err != nil {
			return err
		}
	}
	if err := f.hub.awaitGone(ctx, &ipamv1.IPAllocationList{}); err != nil {
		return err
	}
	f.say("All claims and pools are deleted: the hub has no IPAllocation left, so every block has come back.")
	return nil
}
