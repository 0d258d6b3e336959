// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/utils/ptr"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/providers/openstack/neutron"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/openstack"
)

const (
	// cloudy is the namespace of machines in OpenStack, floatingPool the pool of their floating IPs, and fullPool that of a network of
	// three addresses.
	cloudy       = "team-cloud"
	floatingPool = "floating"
	fullPool     = "narrow"
	// lookTimeout is longer than Weir takes to look again at a floating IP that is bound.
	lookTimeout = 90 * time.Second
	// capoFinalizer is CAPO's on the claims that it makes.
	capoFinalizer = "openstackmachine.infrastructure.cluster.x-k8s.io/ip-claim"
)

// startCloud starts a real Keystone and Neutron.
func (p *play) startCloud(ctx context.Context) (err error) {
	begin := time.Now()
	if p.cloud, err = openstack.StartWith(ctx, openstack.Options{Detach: p.keep}); err != nil {
		return err
	}
	p.did(begin, "A real Keystone and Neutron run, without agents: floating IPs are real, packets are not")
	return nil
}

// serveFloating hands out floating IPs, and shows what becomes of them in Neutron.
func (p *play) serveFloating(ctx context.Context) error {
	if err := p.startCloud(ctx); err != nil {
		return err
	}
	if err := p.admitToCloud(ctx); err != nil {
		return err
	}
	member, err := p.logIn(ctx)
	if err != nil {
		return err
	}
	defer member.CloseIdleConnections()
	if err = p.makeFloatingPool(ctx, floatingPool, openstack.Public); err != nil {
		return err
	}
	claim := capoClaim("web-0", floatingPool)
	f, err := p.claimFloating(ctx, member, claim)
	if err != nil {
		return err
	}
	if err = p.releaseFloating(ctx, member, claim, f); err != nil {
		return err
	}
	if err = p.fillNetwork(ctx, member); err != nil {
		return err
	}
	p.say("A claim of another machine stays until the end:")
	_, err = p.claimFloating(ctx, member, capoClaim("web-1", floatingPool))
	return err
}

// admitToCloud stores the credentials, and lets Weir read them.
func (p *play) admitToCloud(ctx context.Context) error {
	account := strings.Split(framework.ManagerAccount, ":")
	secret := &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: cloudy, Name: "cloud-config", Labels: map[string]string{clusterctlv1.ClusterctlMoveLabel: ""},
		},
		Data: map[string][]byte{"clouds.yaml": p.cloud.CloudsYAML()},
	}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: metav1.ObjectMeta{Namespace: cloudy, Name: "weir-openstack"},
		RoleRef:    rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "weir-system-openstack-secrets"},
		Subjects:   []rbacv1.Subject{{Kind: rbacv1.ServiceAccountKind, Namespace: account[2], Name: account[3]}},
	}
	if err := errors.Join(p.createNamespaces(ctx, cloudy), p.client.Create(ctx, secret), p.client.Create(ctx, binding)); err != nil {
		return fmt.Errorf("storing the credentials: %w", err)
	}
	p.say("Secret %s/%s has a clouds.yaml, as CAPO's has, and the label that moves it with the pool. Weir may read Secrets of this namespace only.",
		cloudy, secret.Name)
	return nil
}

func (p *play) logIn(ctx context.Context) (*neutron.Client, error) {
	credentials, err := neutron.ParseClouds(p.cloud.CloudsYAML(), nil, openstack.Member, "")
	if err != nil {
		return nil, err
	}
	policy, err := neutron.ParseEndpointPolicy(p.cloud.Endpoints())
	if err != nil {
		return nil, err
	}
	return neutron.Connect(ctx, credentials, neutron.Options{Policy: policy})
}

func (p *play) makeFloatingPool(ctx context.Context, name, network string) error {
	pool := builder.IPPool(cloudy, name).Build()
	pool.Spec.OpenStack = &ipamv1.OpenStackSource{
		IdentityRef:     ipamv1.OpenStackIdentityReference{Name: "cloud-config", CloudName: openstack.Member},
		FloatingNetwork: ipamv1.FloatingNetwork{Name: network},
	}
	if err := p.client.Create(ctx, pool); err != nil {
		return fmt.Errorf("creating pool %s: %w", pool.Name, err)
	}
	if err := p.awaitReady(ctx, pool); err != nil {
		return err
	}
	p.say("Pool %s/%s hands out floating IPs of network %q. Weir has found project and network, and notes them with the pool's key:", cloudy, name, network)
	p.table([]string{"KEY", "PROJECT", "NETWORK"}, [][]string{strings.Fields(pool.Annotations[ipamv1.OpenStackAnnotation])})
	return nil
}

// capoClaim is what CAPO makes for a server whose machine names the pool.
func capoClaim(server, pool string) *ipamv1beta2.IPAddressClaim {
	claim := claimFor(cloudy, server+"-floating-ip-address", ipamv1.IPPoolKind, pool)
	claim.Finalizers = []string{capoFinalizer}
	claim.OwnerReferences = []metav1.OwnerReference{{
		APIVersion: "infrastructure.cluster.x-k8s.io/v1alpha1", Kind: "OpenStackServer", Name: server, UID: uuid.NewUUID(), Controller: ptr.To(true),
	}}
	return claim
}

// claimFloating makes a claim, and shows its floating IP as Neutron has it.
func (p *play) claimFloating(ctx context.Context, member *neutron.Client, claim *ipamv1beta2.IPAddressClaim) (f neutron.FloatingIP, err error) {
	answers, err := p.claimAll(ctx, []*ipamv1beta2.IPAddressClaim{claim})
	if err != nil {
		return f, err
	}
	p.showAnswers(answers)
	records := &ipamv1.IPAllocationList{}
	if err = p.client.List(ctx, records, client.InNamespace(cloudy)); err != nil {
		return f, fmt.Errorf("listing IPAllocations: %w", err)
	}
	for _, record := range records.Items {
		if record.Spec.ClaimRef.UID == string(answers[0].claim.UID) {
			f, err = member.Get(ctx, record.Spec.External.ID)
		}
	}
	if err != nil {
		return f, err
	}
	if f.Address.String() != answers[0].address.Spec.Address {
		return f, fmt.Errorf("claim %s has %s, and Neutron has %+v", claim.Name, answers[0].address.Spec.Address, f)
	}
	p.say("Neutron has it. Its description says whose it is: the pool's key, and the claim's UID, namespace and name:")
	return f, p.listFloating(ctx, member, f.NetworkID)
}

// listFloating shows the floating IPs of a network as Neutron has them.
func (p *play) listFloating(ctx context.Context, member *neutron.Client, network string) error {
	found, err := member.List(ctx, network)
	if err != nil {
		return err
	}
	rows := make([][]string, 0, len(found))
	for _, f := range found {
		rows = append(rows, []string{f.ID, f.Address.String(), orDash(f.PortID), f.Description})
	}
	p.table([]string{"ID", "FLOATING IP ADDRESS", "PORT", "DESCRIPTION"}, rows)
	return nil
}

// releaseFloating deletes a claim whose floating IP a port has, and then the port.
func (p *play) releaseFloating(ctx context.Context, member *neutron.Client, claim *ipamv1beta2.IPAddressClaim, f neutron.FloatingIP) error {
	port, err := p.cloud.Bind(ctx, f.ID)
	if err != nil {
		return err
	}
	p.say("CAPO associates it with the machine's port %s. The claim is deleted, and CAPO takes its finalizer off:", port)
	if err = p.client.Delete(ctx, claim); err != nil {
		return fmt.Errorf("deleting claim %s: %w", claim.Name, err)
	}
	if err = p.letGoAsCAPO(ctx); err != nil {
		return err
	}
	key := client.ObjectKeyFromObject(claim)
	err = eventually(ctx, "claim "+claim.Name, func(ctx context.Context) error {
		if getErr := p.client.Get(ctx, key, claim); getErr != nil {
			return getErr
		}
		if reason := conditions.GetReason(claim, ipamv1.DeletingCondition); reason != ipamv1.WaitingForPortReason {
			return fmt.Errorf("its reason is %s", reason)
		}
		return nil
	})
	if err != nil {
		return err
	}
	p.say("It stays, with its IPAddress, as long as a port has the floating IP: Neutron would delete that all the same. Its Deleting condition:")
	if err = p.quoteMention(conditions.GetMessage(claim, ipamv1.DeletingCondition), port); err != nil {
		return err
	}
	begin := time.Now()
	if err = p.cloud.Unbind(ctx, port); err != nil {
		return err
	}
	p.say("The port is deleted. No watch tells of that: Weir looks again after half a minute to a minute.")
	if err = p.awaitRelease(ctx, claim); err != nil {
		return err
	}
	if _, err = member.Get(ctx, f.ID); neutron.KindOf(err) != neutron.NotFound {
		return errors.Join(fmt.Errorf("floating IP %s is there still", f.Address), err)
	}
	p.did(begin, "The claim has gone, and floating IP %s is deleted in Neutron", f.Address)
	return nil
}

// awaitRelease waits until a claim has gone that Weir looks at again by a timer.
func (p *play) awaitRelease(ctx context.Context, claim *ipamv1beta2.IPAddressClaim) error {
	ctx, cancel := context.WithTimeout(ctx, lookTimeout)
	defer cancel()
	for {
		err := p.client.Get(ctx, client.ObjectKeyFromObject(claim), claim)
		switch {
		case apierrors.IsNotFound(err):
			return nil
		case err != nil:
			return fmt.Errorf("claim %s is there after %s: %w", claim.Name, lookTimeout, err)
		}
		time.Sleep(poll)
	}
}

// fillNetwork claims one floating IP more than a network has, and gives one back.
func (p *play) fillNetwork(ctx context.Context, member *neutron.Client) error {
	if err := p.makeFloatingPool(ctx, fullPool, openstack.Tiny); err != nil {
		return err
	}
	first := []*ipamv1beta2.IPAddressClaim{capoClaim("db-0", fullPool), capoClaim("db-1", fullPool), capoClaim("db-2", fullPool)}
	answers, err := p.claimAll(ctx, first)
	if err != nil {
		return err
	}
	p.showAnswers(answers)
	claim, err := p.claimRefused(ctx, capoClaim("db-3", fullPool), ipamv1beta2.IPAddressClaimReadyPoolExhaustedReason)
	if err != nil {
		return err
	}
	p.say("Network %q has three addresses, and claim %s is one too many. Its Ready condition is False, reason %s:",
		openstack.Tiny, claim.Name, ipamv1beta2.IPAddressClaimReadyPoolExhaustedReason)
	if err = p.quoteMention(readyMessage(claim), "no free address"); err != nil {
		return err
	}
	begin := time.Now()
	if err = p.client.Delete(ctx, first[0]); err != nil {
		return fmt.Errorf("deleting claim %s: %w", first[0].Name, err)
	}
	if err = p.letGoAsCAPO(ctx); err != nil {
		return err
	}
	p.say("Claim %s is deleted, which gives its floating IP back. The one that waits gets one:", first[0].Name)
	recovered, err := p.awaitAnswer(ctx, claim, begin)
	if err != nil {
		return err
	}
	p.showAnswers([]*answer{recovered})
	network, err := member.FindNetwork(ctx, neutron.NetworkFilter{Name: openstack.Tiny})
	if err != nil {
		return err
	}
	return p.listFloating(ctx, member, network.ID)
}

// letGoAsCAPO takes CAPO's finalizer off claims that are being deleted.
func (p *play) letGoAsCAPO(ctx context.Context) error {
	return eventually(ctx, "CAPO's finalizers to go", func(ctx context.Context) error {
		claims := &ipamv1beta2.IPAddressClaimList{}
		if err := p.client.List(ctx, claims, client.InNamespace(cloudy)); err != nil {
			return err
		}
		for i := range claims.Items {
			claim := &claims.Items[i]
			if claim.DeletionTimestamp.IsZero() || !controllerutil.RemoveFinalizer(claim, capoFinalizer) {
				continue
			}
			if err := p.client.Update(ctx, claim); err != nil {
				return err
			}
		}
		return nil
	})
}
