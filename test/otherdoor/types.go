// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package otherdoor is a second front door, for tests only: claims and pools named like Weir's, in another group. Its
// claims are answered by objects that are named after claim and pool, its pools are one range of addresses and an
// address space of their own. Weir must serve both doors beside each other in one namespace, under the same names and
// with overlapping addresses, and never take an object of the one for an object of the other.
package otherdoor

import (
	"maps"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/setup"
)

// Group and version of the door's kinds.
var groupVersion = schema.GroupVersion{Group: "other.weir.test", Version: "v1"}

// Kinds of the door.
var (
	IPPoolKind    = schema.GroupKind{Group: groupVersion.Group, Kind: "IPPool"}
	IPClaimKind   = schema.GroupKind{Group: groupVersion.Group, Kind: "IPClaim"}
	IPAddressKind = schema.GroupKind{Group: groupVersion.Group, Kind: "IPAddress"}
)

// IPPool hands out the addresses of a range.
type IPPool struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   IPPoolSpec          `json:"spec"`
	Status ipamv1.IPPoolStatus `json:"status,omitempty"`
}

// IPPoolSpec is the range, both ends inclusive.
type IPPoolSpec struct {
	Start           string `json:"start"`
	End             string `json:"end"`
	CooldownSeconds int32  `json:"cooldownSeconds,omitempty"`
	// Space is the address space; one of the pool's own if it is empty.
	Space string `json:"space,omitempty"`
	// Keeps are addresses by the names of the claims that they are kept for, whatever the kind of those.
	Keeps map[string]string `json:"keeps,omitempty"`
}

// IPPoolList is a list of IPPools.
type IPPoolList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []IPPool `json:"items"`
}

// IPClaim asks for an address.
type IPClaim struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   IPClaimSpec   `json:"spec"`
	Status IPClaimStatus `json:"status,omitempty"`
}

// IPClaimSpec names the pool.
type IPClaimSpec struct {
	Pool string `json:"pool"`
}

// IPClaimStatus names the answer.
type IPClaimStatus struct {
	Address    string             `json:"address,omitempty"`
	Conditions []metav1.Condition `json:"conditions,omitempty"`
}

// IPClaimList is a list of IPClaims.
type IPClaimList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []IPClaim `json:"items"`
}

// IPAddress answers a claim.
type IPAddress struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec IPAddressSpec `json:"spec"`
}

// IPAddressSpec says which claim it answers.
type IPAddressSpec struct {
	Claim   string `json:"claim"`
	Pool    string `json:"pool"`
	Address string `json:"address"`
	Prefix  int32  `json:"prefix"`
}

// IPAddressList is a list of IPAddresses.
type IPAddressList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []IPAddress `json:"items"`
}

// AddToScheme adds the door's types.
func AddToScheme(scheme *runtime.Scheme) error {
	scheme.AddKnownTypes(groupVersion, &IPPool{}, &IPPoolList{}, &IPClaim{}, &IPClaimList{}, &IPAddress{}, &IPAddressList{})
	metav1.AddToGroupVersion(scheme, groupVersion)
	return nil
}

// Scheme returns the scheme of a manager with the door.
func Scheme() (*runtime.Scheme, error) {
	scheme, err := setup.Scheme()
	if err != nil {
		return nil, err
	}
	return scheme, AddToScheme(scheme)
}

// GetConditions returns the pool's conditions.
func (p *IPPool) GetConditions() []metav1.Condition { return p.Status.Conditions }

// SetConditions sets the pool's conditions.
func (p *IPPool) SetConditions(conditions []metav1.Condition) { p.Status.Conditions = conditions }

// GetConditions returns the claim's conditions.
func (c *IPClaim) GetConditions() []metav1.Condition { return c.Status.Conditions }

// SetConditions sets the claim's conditions.
func (c *IPClaim) SetConditions(conditions []metav1.Condition) { c.Status.Conditions = conditions }

// DeepCopyObject implements runtime.Object.
func (p *IPPool) DeepCopyObject() runtime.Object {
	out := *p
	p.DeepCopyInto(&out.ObjectMeta)
	p.Status.DeepCopyInto(&out.Status)
	out.Spec.Keeps = maps.Clone(p.Spec.Keeps)
	return &out
}

// DeepCopyObject implements runtime.Object.
func (c *IPClaim) DeepCopyObject() runtime.Object {
	out := *c
	c.DeepCopyInto(&out.ObjectMeta)
	out.Status.Conditions = make([]metav1.Condition, len(c.Status.Conditions))
	copy(out.Status.Conditions, c.Status.Conditions)
	return &out
}

// DeepCopyObject implements runtime.Object.
func (a *IPAddress) DeepCopyObject() runtime.Object {
	out := *a
	a.DeepCopyInto(&out.ObjectMeta)
	return &out
}

// DeepCopyObject implements runtime.Object.
func (l *IPPoolList) DeepCopyObject() runtime.Object {
	out := *l
	out.Items = copies[*IPPool](l.Items)
	return &out
}

// DeepCopyObject implements runtime.Object.
func (l *IPClaimList) DeepCopyObject() runtime.Object {
	out := *l
	out.Items = copies[*IPClaim](l.Items)
	return &out
}

// DeepCopyObject implements runtime.Object.
func (l *IPAddressList) DeepCopyObject() runtime.Object {
	out := *l
	out.Items = copies[*IPAddress](l.Items)
	return &out
}

func copies[P interface {
	*T
	runtime.Object
}, T any](items []T) []T {
	out := make([]T, len(items))
	for i := range items {
		if copied, ok := P(&items[i]).DeepCopyObject().(P); ok {
			out[i] = *copied
		}
	}
	return out
}
