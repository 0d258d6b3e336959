// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3

import (
	"context"
	"fmt"
	"maps"
	"net/netip"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation"
	"sigs.k8s.io/controller-runtime/pkg/client"

	m3v1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/metal3/v1alpha1"
	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claimant"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/conditions"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/door"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/excerpt"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
)

// Form translates Metal3's IPClaims and IPAddresses. An IPAddress is named after its address, so the commit is the claim's status.
type Form struct{}

var (
	_ door.Form = Form{}

	both = door.Kinds{
		Claim:         m3v1.GroupVersion.WithKind(m3v1.IPClaimKind),
		Answer:        m3v1.GroupVersion.WithKind(m3v1.IPAddressKind),
		Commit:        door.ByStatus,
		ClaimField:    "spec.claim.name",
		NewClaim:      func() claimant.Claimant { return &m3v1.IPClaim{} },
		NewAnswer:     func() client.Object { return &m3v1.IPAddress{} },
		NewClaimList:  func() client.ObjectList { return &m3v1.IPClaimList{} },
		NewAnswerList: func() client.ObjectList { return &m3v1.IPAddressList{} },
	}
)

// Kinds implements door.Form.
func (Form) Kinds() *door.Kinds { return &both }

// conventions are Metal3's own: either controller can finish what the other began.
var conventions = door.Conventions{ClaimFinalizer: m3v1.IPClaimFinalizer, AnswerFinalizer: m3v1.IPAddressFinalizer, IsShared: true}

// Conventions implements door.Form.
func (Form) Conventions(door.PoolName) *door.Conventions { return &conventions }

// Asks implements door.Form.
func (Form) Asks(stored claimant.Claimant) door.Asks {
	c, ok := stored.(*m3v1.IPClaim)
	if !ok {
		return door.Asks{}
	}
	asks := door.Asks{Pool: poolName(c.Spec.Pool), AskedField: "metadata.annotations[" + m3v1.AddressAnnotation + "]", Refusal: refusal(c)}
	if c.Status.Address != nil {
		asks.AnswerName = c.Status.Address.Name
	}
	if asked, ok := c.Annotations[m3v1.AddressAnnotation]; ok {
		asks.Asked = &asked
	}
	return asks
}

// refusal says why the claim is refused whatever its pool is; nil if it is not.
func refusal(c *m3v1.IPClaim) error {
	if name := c.Spec.Pool.Name; len(name) > validation.DNS1123SubdomainMaxLength {
		return &claimant.Refusal{
			Reason:  ipamv1.ClaimReadyAllocationFailedReason,
			Message: fmt.Sprintf("spec.pool.name: %q is longer than any name: %d characters at most", excerpt.Of(name), validation.DNS1123SubdomainMaxLength),
		}
	}
	if asked := c.Spec.Pool.Namespace; asked != "" && asked != c.Namespace {
		return &claimant.Refusal{
			Reason:  ipamv1.ClaimReadyAllocationFailedReason,
			Message: fmt.Sprintf("spec.pool.namespace: is %q, and a claim gets addresses of pools in its own namespace only, %q", excerpt.Of(asked), c.Namespace),
		}
	}
	return nil
}

// Says implements door.Form. Metal3 hands out single addresses: the prefix is their network's.
func (Form) Says(stored client.Object) door.Says {
	a, ok := stored.(*m3v1.IPAddress)
	if !ok {
		return door.Says{}
	}
	says := door.Says{Pool: poolName(a.Spec.Pool), Address: string(a.Spec.Address)}
	if address, err := ParseAddress(a.Spec.Address); err == nil {
		says.Address = address.String()
	}
	return says
}

// poolName names no pool by a text that is too long for a name: only its beginning is shown, to whom it may concern.
func poolName(ref m3v1.ObjectReference) door.PoolName {
	return door.PoolName{GroupKind: PoolKind, Name: excerpt.Of(ref.Name)}
}

// Answers implements door.Form.
func (Form) Answers(ctx context.Context, c client.Reader, key types.NamespacedName) ([]client.Object, error) {
	list := &m3v1.IPAddressList{}
	if err := c.List(ctx, list, client.InNamespace(key.Namespace), client.MatchingFields{both.ClaimField: key.Name}); err != nil {
		return nil, err
	}
	answers := make([]client.Object, len(list.Items))
	for i := range list.Items {
		answers[i] = &list.Items[i]
	}
	return answers, nil
}

// ClaimOf implements door.Form.
func (Form) ClaimOf(stored client.Object) types.NamespacedName {
	a, ok := stored.(*m3v1.IPAddress)
	if !ok {
		return types.NamespacedName{}
	}
	return types.NamespacedName{Namespace: a.Namespace, Name: a.Spec.Claim.Name}
}

// Compose implements door.Form.
func (Form) Compose(c *door.Claim, offer *door.Offer, cidr netip.Prefix, network pooltree.Network) client.Object {
	answer := &m3v1.IPAddress{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: c.GetNamespace(), Name: AddressName(offer.NamePrefix, cidr.Addr()), Labels: maps.Clone(c.GetLabels()),
		},
		Spec: m3v1.IPAddressSpec{
			Claim:   m3v1.ObjectReference{Namespace: c.GetNamespace(), Name: c.GetName()},
			Pool:    m3v1.ObjectReference{Namespace: c.GetNamespace(), Name: c.Pool.Name},
			Address: m3v1.Address(cidr.Addr().String()),
			Prefix:  network.Bits,
		},
	}
	if network.Gateway.IsValid() {
		answer.Spec.Gateway = new(m3v1.Address(network.Gateway.String()))
	}
	for _, server := range network.DNSServers {
		answer.Spec.DNSServers = append(answer.Spec.DNSServers, m3v1.Address(server.String()))
	}
	return answer
}

// StandIn implements door.Form.
func (Form) StandIn(stored client.Object) claimant.Claimant {
	answer, ok := stored.(*m3v1.IPAddress)
	if !ok {
		return &m3v1.IPClaim{}
	}
	return &m3v1.IPClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: answer.Namespace, Name: answer.Spec.Claim.Name, UID: answer.UID, Labels: answer.Labels},
		Spec:       m3v1.IPClaimSpec{Pool: answer.Spec.Pool},
	}
}

// Report implements door.Form.
func (Form) Report(stored claimant.Claimant, ready metav1.Condition, answer string, outcome error) {
	c, ok := stored.(*m3v1.IPClaim)
	if !ok {
		return
	}
	conditions.Set(c, ready)
	if answer != "" {
		c.Status.Address = &m3v1.ObjectReference{Namespace: c.Namespace, Name: answer}
	}
	c.Status.ErrorMessage = nil
	if message := errorMessage(c, ready, outcome); message != "" && c.Status.Address == nil {
		c.Status.ErrorMessage = &message
	}
}

// status is an IPClaim's as a merge patch has it: what is not there is removed.
type status struct {
	Address      *m3v1.ObjectReference `json:"address"`
	ErrorMessage *string               `json:"errorMessage"`
	Conditions   []metav1.Condition    `json:"conditions,omitempty"`
}

// Status implements door.Form.
func (Form) Status(stored claimant.Claimant) any {
	c, ok := stored.(*m3v1.IPClaim)
	if !ok {
		return nil
	}
	return status{Address: c.Status.Address, ErrorMessage: c.Status.ErrorMessage, Conditions: c.Status.Conditions}
}
