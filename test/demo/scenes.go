// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"net/netip"
	"strings"
	"time"

	"go4.org/netipx"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/client-go/discovery"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	m3v1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/metal3/v1alpha1"
	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/fsck"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/openstack"
)

// The namespaces of two teams.
const (
	red  = "team-red"
	blue = "team-blue"
)

// play is the story of one cluster, on its stage.
type play struct {
	*stage
	*account

	// withCloud: a scene hands out floating IPs.
	withCloud bool
}

func newPlay(a *account, keep, withCloud bool) *play {
	s := &stage{
		name: "The cluster", keep: keep, flags: []string{"--feature-gates=Metal3=true"}, kinds: []string{
			"ippools.ipam.weir.dev,globalippools.ipam.weir.dev,ipclaims.ipam.weir.dev,ipaddressclaims.ipam.cluster.x-k8s.io",
			"ippools.ipam.metal3.io,ipclaims.ipam.metal3.io,ipaddresses.ipam.metal3.io",
		},
	}
	if withCloud {
		s.flags = append(s.flags, "--feature-gates=OpenStack=true", "--openstack-endpoint-allow=http://127.0.0.1")
	}
	return &play{stage: s, account: a, withCloud: withCloud}
}

func (p *play) ready() error {
	if p.withCloud {
		return openstack.Installed()
	}
	return nil
}

func (p *play) stages() []*stage { return []*stage{p.stage} }

func (p *play) close() {}

type scene struct {
	title   string
	perform func(context.Context) error
}

func (p *play) scenes() []scene {
	all := []scene{
		{"A management cluster with Weir", p.install},
		{"Pools", p.makePools},
		{"Claims", p.makeClaims},
		{"An address that was asked for", p.askForAddresses},
		{"A pool that becomes full, and recovers", p.fillPool},
		{"What is refused", p.refuse},
		{"A tree of pools, and claims answered in the call", p.growTree},
		{"Metal3's pools and claims", p.serveMetal3},
	}
	if p.withCloud {
		all = append(all, scene{"Floating IPs of OpenStack", p.serveFloating})
	}
	return append(all,
		scene{"What is handed out now", p.checkAll},
		scene{"Who has what, and why a claim waits", p.look},
		scene{"The end", p.leave})
}

// install starts everything.
func (p *play) install(ctx context.Context) error {
	begin := time.Now()
	if err := p.startCluster(ctx); err != nil {
		return err
	}
	client, err := discovery.NewDiscoveryClientForConfig(p.config)
	if err != nil {
		return fmt.Errorf("building a client: %w", err)
	}
	version, err := client.ServerVersion()
	if err != nil {
		return fmt.Errorf("reading the API server's version: %w", err)
	}
	p.did(begin, "etcd and kube-apiserver %s run on %s", version.GitVersion, p.config.Host)
	if err = p.installProviders(ctx); err != nil {
		return err
	}
	begin = time.Now()
	if err = p.site.StartControllerManager(ctx); err != nil {
		return err
	}
	p.did(begin, "kube-controller-manager runs")
	begin = time.Now()
	if err = p.startManager(ctx); err != nil {
		return err
	}
	p.did(begin, "Weir's manager runs as %s and is ready; its webhooks are on loopback, and answer nobody who does not show this API server's certificate", framework.ManagerAccount)
	return p.createNamespaces(ctx, red, blue)
}

// makePools makes a pool of each form.
func (p *play) makePools(ctx context.Context) error {
	pools := []pool{
		builder.IPPool(red, "machines").WithCIDR("192.0.2.0/24").
			WithNetwork(24, "192.0.2.1", "192.0.2.2", "192.0.2.3").WithExcluded("192.0.2.2-192.0.2.9").Build(),
		builder.GlobalIPPool("fleet-v6").WithCIDR("2001:db8:cafe::/64").
			WithNetwork(64, "2001:db8:cafe::1", "2001:db8::53").Build(),
		builder.IPPool(blue, "remnants").WithAddresses("198.51.100.7", "198.51.100.20-198.51.100.21", "198.51.100.64/30").
			WithNetwork(24, "198.51.100.1").Build(),
		builder.IPPool(blue, "tiny").WithCIDR("203.0.113.0/30").Build(),
	}
	for _, pool := range pools {
		if err := p.client.Create(ctx, pool); err != nil {
			return fmt.Errorf("creating pool %s: %w", pool.GetName(), err)
		}
	}
	for _, pool := range pools {
		if err := p.awaitReady(ctx, pool); err != nil {
			return err
		}
	}
	p.say("One with a gateway, name servers and exclusions; one of IPv6 for all namespaces; one of left-over ranges; a tiny one.")
	return p.showPools(ctx)
}

// makeClaims claims from all forms of pool, and checks the answers.
func (p *play) makeClaims(ctx context.Context) error {
	p.say("Cluster API's providers make IPAddressClaims, Weir answers each with an IPAddress:")
	claims := []*ipamv1beta2.IPAddressClaim{
		claimFor(red, "web-0", ipamv1.IPPoolKind, "machines"),
		claimFor(red, "web-1", ipamv1.IPPoolKind, "machines"),
		claimFor(red, "web-0-v6", ipamv1.GlobalIPPoolKind, "fleet-v6"),
		claimFor(blue, "db-0-v6", ipamv1.GlobalIPPoolKind, "fleet-v6"),
		claimFor(blue, "db-0", ipamv1.IPPoolKind, "remnants"),
		claimFor(blue, "db-1", ipamv1.IPPoolKind, "remnants"),
		claimFor(blue, "db-2", ipamv1.IPPoolKind, "remnants"),
		claimFor(blue, "db-3", ipamv1.IPPoolKind, "remnants"),
	}
	answers, err := p.claimAll(ctx, claims)
	if err != nil {
		return err
	}
	p.showAnswers(answers)
	for _, a := range answers {
		if err := p.checkAnswer(ctx, a); err != nil {
			return err
		}
	}
	p.say("None of them is a gateway, excluded, a network or a broadcast address.")
	return nil
}

// askForAddresses asks for an address that is free, for one that is taken and
// for one that is excluded.
func (p *play) askForAddresses(ctx context.Context) error {
	const free = "192.0.2.77"
	p.say("A claim may ask for an address with the annotation %s.", ipamv1.AddressAnnotation)
	answers, err := p.claimAll(ctx, []*ipamv1beta2.IPAddressClaim{askingFor("ingress", free)})
	if err != nil {
		return err
	}
	p.showAnswers(answers)
	if got := answers[0].address.Spec.Address; got != free {
		return fmt.Errorf("claim ingress asked for %s and got %s", free, got)
	}
	for _, asked := range []struct{ name, address string }{{"late", free}, {"greedy", "192.0.2.5"}} {
		claim, err := p.claimRefused(ctx, askingFor(asked.name, asked.address), ipamv1beta2.IPAddressClaimReadyAllocationFailedReason)
		if err != nil {
			return err
		}
		p.say("Claim %s asks for %s and is told, in its Ready condition:", claim.Name, asked.address)
		if err := p.quoteMention(readyMessage(claim), asked.address); err != nil {
			return err
		}
		if err := p.client.Delete(ctx, claim); err != nil {
			return fmt.Errorf("deleting claim %s: %w", claim.Name, err)
		}
	}
	return nil
}

// fillPool fills the tiny pool and one more, and gives one address back.
func (p *play) fillPool(ctx context.Context) error {
	first := []*ipamv1beta2.IPAddressClaim{
		claimFor(blue, "one", ipamv1.IPPoolKind, "tiny"), claimFor(blue, "two", ipamv1.IPPoolKind, "tiny"),
	}
	answers, err := p.claimAll(ctx, first)
	if err != nil {
		return err
	}
	p.showAnswers(answers)
	claim, err := p.claimRefused(ctx, claimFor(blue, "three", ipamv1.IPPoolKind, "tiny"),
		ipamv1beta2.IPAddressClaimReadyPoolExhaustedReason)
	if err != nil {
		return err
	}
	p.say("Claim %s is one too many. Its Ready condition is False, reason %s:", claim.Name, ipamv1beta2.IPAddressClaimReadyPoolExhaustedReason)
	if err = p.quoteMention(readyMessage(claim), "tiny"); err != nil {
		return err
	}
	p.say("Claim %s is deleted, which gives %s back:", first[0].Name, answers[0].address.Spec.Address)
	begin := time.Now()
	if err = p.client.Delete(ctx, first[0]); err != nil {
		return fmt.Errorf("deleting claim %s: %w", first[0].Name, err)
	}
	recovered, err := p.awaitAnswer(ctx, claim, begin)
	if err != nil {
		return err
	}
	p.showAnswers([]*answer{recovered})
	if got, want := recovered.address.Spec.Address, answers[0].address.Spec.Address; got != want {
		return fmt.Errorf("claim %s got %s, not %s, which was given back", claim.Name, got, want)
	}
	return nil
}

// refuse tries what must not be possible.
func (p *play) refuse(ctx context.Context) error {
	invalid := builder.IPPool(red, "typo").WithCIDR("10.1.2.3/24").Build()
	misplaced := builder.IPPool(red, "misplaced").WithCIDR("10.1.2.0/24").WithNetwork(24, "10.1.3.1").Build()
	overlapping := builder.IPPool(blue, "greedy").WithCIDR("192.0.2.128/25").Build()
	used := builder.IPPool(red, "machines").Build()
	for _, try := range []struct {
		what, mention string
		do            func() error
	}{
		{"a pool whose block is not canonical", "spec.cidr", func() error { return p.client.Create(ctx, invalid) }},
		{"a pool whose gateway is elsewhere", "spec.network.gateway", func() error { return p.client.Create(ctx, misplaced) }},
		{"a pool that overlaps another one", "spec.cidr", func() error { return p.client.Create(ctx, overlapping) }},
		{"the deletion of a pool in use", red + "/web-0", func() error { return p.client.Delete(ctx, used) }},
	} {
		err := try.do()
		if err == nil {
			return fmt.Errorf("%s was admitted", try.what)
		}
		p.say("Refused: %s.", try.what)
		if err = p.quoteMention(refusal(err), try.mention); err != nil {
			return err
		}
	}
	for _, pool := range []pool{invalid, misplaced, overlapping} {
		if err := p.client.Get(ctx, client.ObjectKeyFromObject(pool), pool); !apierrors.IsNotFound(err) {
			return fmt.Errorf("pool %s was refused, and yet it is there: %w", pool.GetName(), err)
		}
	}
	return nil
}

// refusal returns what the API server says without its own preamble.
func refusal(err error) string {
	var status apierrors.APIStatus
	if errors.As(err, &status) {
		return status.Status().Message
	}
	return err.Error()
}

// checkAll shows the pools once more, and has an independent checker compare
// all answers with each other and with the ledger.
func (p *play) checkAll(ctx context.Context) error {
	if err := p.awaitCounts(ctx); err != nil {
		return err
	}
	if err := p.showPools(ctx); err != nil {
		return err
	}
	report, err := fsck.Check(ctx, p.config)
	if err != nil {
		return err
	}
	p.say("Checked independently: %s.", report)
	return report.AtRest()
}

// leave deletes the claims and then the pools, unless the cluster is kept.
func (p *play) leave(ctx context.Context) error {
	if p.keep {
		p.say("Pools and claims stay where they are.")
		return nil
	}
	begin := time.Now()
	for _, namespace := range []string{red, blue, racks, cloudy} {
		for _, kind := range []client.Object{&ipamv1beta2.IPAddressClaim{}, &ipamv1.IPClaim{}, &m3v1.IPClaim{}} {
			if err := p.client.DeleteAllOf(ctx, kind, client.InNamespace(namespace)); err != nil {
				return fmt.Errorf("deleting claims: %w", err)
			}
		}
	}
	if err := p.letGoAsCAPO(ctx); err != nil {
		return err
	}
	err := p.awaitGone(ctx, &ipamv1beta2.IPAddressClaimList{}, &ipamv1beta2.IPAddressList{}, &ipamv1.IPClaimList{},
		&m3v1.IPClaimList{}, &m3v1.IPAddressList{})
	if err != nil {
		return err
	}
	p.did(begin, "All claims are deleted, and their addresses with them")
	begin = time.Now()
	if err := p.client.DeleteAllOf(ctx, &m3v1.IPPool{}, client.InNamespace(racks)); err != nil {
		return fmt.Errorf("deleting pools: %w", err)
	}
	if err := p.deletePools(ctx); err != nil {
		return err
	}
	if err := p.awaitGone(ctx, &ipamv1.IPPoolList{}, &ipamv1.GlobalIPPoolList{}, &m3v1.IPPoolList{}, &ipamv1.IPAllocationList{}); err != nil {
		return err
	}
	p.did(begin, "All pools are deleted; nothing is left in the ledger")
	return nil
}

// quoteMention quotes a message, which has to mention something.
func (p *play) quoteMention(message, mention string) error {
	p.quote(message)
	if !strings.Contains(message, mention) {
		return fmt.Errorf("this message does not mention %q", mention)
	}
	return nil
}

// checkAnswer compares an answer with its pool as the API server shows it.
func (p *play) checkAnswer(ctx context.Context, a *answer) error {
	source, err := p.poolOf(ctx, a.claim)
	if err != nil {
		return err
	}
	address, err := netip.ParseAddr(a.address.Spec.Address)
	if err != nil {
		return fmt.Errorf("reading IPAddress %s: %w", a.address.Name, err)
	}
	spec := source.PoolSpec()
	network := netipx.RangeOfPrefix(netip.PrefixFrom(address, int(*a.address.Spec.Prefix)).Masked())
	switch {
	case address == network.From(), address.Is4() && address == network.To():
		return fmt.Errorf("%s is the first or last address of its network, %s", address, network)
	case !covers(blocks(spec), address):
		return fmt.Errorf("%s is not in pool %s", address, source.GetName())
	case covers(spec.ExcludedAddresses, address):
		return fmt.Errorf("%s is excluded in pool %s", address, source.GetName())
	case a.address.Spec.Gateway != spec.Network.Gateway || address.String() == spec.Network.Gateway:
		return fmt.Errorf("%s comes with gateway %q, pool %s says %q", address, a.address.Spec.Gateway, source.GetName(), spec.Network.Gateway)
	case *a.address.Spec.Prefix != *spec.Network.PrefixLength:
		return fmt.Errorf("%s comes with prefix %d, pool %s says %d", address, *a.address.Spec.Prefix, source.GetName(), *spec.Network.PrefixLength)
	}
	return nil
}
