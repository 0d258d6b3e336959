// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package otherdoor

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"time"

	"go4.org/netipx"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/claimant"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/door"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/doors"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/entitlement"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/kinds"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pools"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/poolspec"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/pooltree"
)

// Finalizers of the door's objects.
const (
	poolFinalizer    = "other.weir.test/pool"
	claimFinalizer   = "other.weir.test/claim"
	addressFinalizer = "other.weir.test/address"
)

// Door returns the door, as a manager is given it.
func Door() doors.Door {
	return doors.Door{
		Name:        "Other",
		AddToScheme: AddToScheme,
		Kinds: []schema.GroupVersionKind{
			kinds.Cluster.WithVersion("v1beta2"), IPPoolKind.WithVersion(groupVersion.Version), both.Claim, both.Answer,
		},
		Pools: map[string]pools.Kind{"other-ippool": IPPools},
		Forms: map[string]door.Form{"other-ipclaim": Form{}},
		Source: func(registry *pools.Registry) door.Source {
			return &entitlement.Source{Registry: registry, Kinds: []pools.Kind{IPPools}, Field: "spec.pool"}
		},
	}
}

// IPPools are the door's pools.
var IPPools = pools.Kind{
	GroupKind: IPPoolKind, Version: groupVersion.Version, Finalizer: poolFinalizer,
	New:     func() pools.Object { return &IPPool{} },
	NewList: func() client.ObjectList { return &IPPoolList{} },
	Is:      pools.Is[*IPPool],
	Says: func(p pools.Object) poolspec.Pool {
		own, _ := p.(*IPPool)
		return poolspec.Pool{
			Ref: kinds.Pool(IPPoolKind, p.GetNamespace(), p.GetName()), Family: ipamv1.IPv4Family,
			Space:    cmp.Or(own.Spec.Space, fmt.Sprintf("other/%s/%s", p.GetNamespace(), p.GetName())),
			Cooldown: time.Duration(own.Spec.CooldownSeconds) * time.Second, Visibility: ipamv1.ConsumerVisibility,
		}
	},
	Resolve: func(p pools.Object, _ *pooltree.Pool) (*pooltree.Pool, field.ErrorList) {
		own, _ := p.(*IPPool)
		addresses, err := netipx.ParseIPRange(own.Spec.Start + "-" + own.Spec.End)
		if err != nil {
			return nil, field.ErrorList{field.Invalid(field.NewPath("spec", "start"), own.Spec.Start, err.Error())}
		}
		config := pooltree.Config{Reserved: pooltree.AllocateReserved}
		for name, text := range own.Spec.Keeps {
			address, err := netip.ParseAddr(text)
			if err != nil {
				return nil, field.ErrorList{field.Invalid(field.NewPath("spec", "keeps").Key(name), text, err.Error())}
			}
			kept := pooltree.Claimant{Namespace: p.GetNamespace(), Name: name}
			config.Kept = append(config.Kept, pooltree.Kept{Prefix: netip.PrefixFrom(address, address.BitLen()), For: kept})
		}
		config.Areas = []pooltree.Area{{Range: addresses, Network: pooltree.Network{Bits: 24}}}
		return pooltree.New(config), nil
	},
	Status: func(p pools.Object) any {
		own, _ := p.(*IPPool)
		return own.Status
	},
	Show: func(p pools.Object, r *pools.Report) {
		own, _ := p.(*IPPool)
		own.Status.ObservedGeneration = p.GetGeneration()
		pools.ShowIn(&own.Status, r)
	},
}

// Form translates the door's claims and their answers.
type Form struct{}

var (
	_ door.Form = Form{}

	both = door.Kinds{
		Claim:         IPClaimKind.WithVersion(groupVersion.Version),
		Answer:        IPAddressKind.WithVersion(groupVersion.Version),
		NewClaim:      func() claimant.Claimant { return &IPClaim{} },
		NewAnswer:     func() client.Object { return &IPAddress{} },
		NewClaimList:  func() client.ObjectList { return &IPClaimList{} },
		NewAnswerList: func() client.ObjectList { return &IPAddressList{} },
	}
)

var conventions = door.Conventions{ClaimFinalizer: claimFinalizer, AnswerFinalizer: addressFinalizer, Controls: true}

// Conventions implements door.Form.
func (Form) Conventions(door.PoolName) *door.Conventions { return &conventions }

// Kinds implements door.Form.
func (Form) Kinds() *door.Kinds { return &both }

func poolName(name string) door.PoolName { return door.PoolName{GroupKind: IPPoolKind, Name: name} }

// Asks implements door.Form.
func (Form) Asks(stored claimant.Claimant) door.Asks {
	c, _ := stored.(*IPClaim)
	return door.Asks{Pool: poolName(c.Spec.Pool), AnswerName: c.Status.Address}
}

// Says implements door.Form.
func (Form) Says(stored client.Object) door.Says {
	a, _ := stored.(*IPAddress)
	return door.Says{Pool: poolName(a.Spec.Pool), Address: a.Spec.Address, Prefix: &a.Spec.Prefix}
}

// nameFor is the only name that an answer to the claim has.
func nameFor(claimName string) string { return claimName + "-answer" }

// Answers implements door.Form. What has the name and answers another claim is none.
func (Form) Answers(ctx context.Context, c client.Reader, key types.NamespacedName) ([]client.Object, error) {
	answer := &IPAddress{}
	if err := c.Get(ctx, types.NamespacedName{Namespace: key.Namespace, Name: nameFor(key.Name)}, answer); err != nil {
		return nil, client.IgnoreNotFound(err)
	}
	if answer.Spec.Claim != key.Name {
		return nil, nil
	}
	return []client.Object{answer}, nil
}

// ClaimOf implements door.Form.
func (Form) ClaimOf(stored client.Object) types.NamespacedName {
	a, _ := stored.(*IPAddress)
	return types.NamespacedName{Namespace: a.Namespace, Name: a.Spec.Claim}
}

// Compose implements door.Form.
func (Form) Compose(c *door.Claim, _ *door.Offer, cidr netip.Prefix, network pooltree.Network) client.Object {
	return &IPAddress{
		ObjectMeta: metav1.ObjectMeta{Namespace: c.GetNamespace(), Name: nameFor(c.GetName())},
		Spec: IPAddressSpec{
			Claim: c.GetName(), Pool: c.Pool.Name, Address: cidr.Addr().String(), Prefix: int32(network.Bits),
		},
	}
}

// StandIn implements door.Form.
func (Form) StandIn(stored client.Object) claimant.Claimant {
	a, _ := stored.(*IPAddress)
	return &IPClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: a.Namespace, Name: a.Spec.Claim, UID: a.UID, Labels: a.Labels},
		Spec:       IPClaimSpec{Pool: a.Spec.Pool},
	}
}

// Report implements door.Form.
func (Form) Report(stored claimant.Claimant, ready metav1.Condition, answer string, _ error) {
	c, _ := stored.(*IPClaim)
	conditions.Set(c, ready)
	if answer != "" {
		c.Status.Address = answer
	}
}

// Status implements door.Form.
func (Form) Status(stored claimant.Claimant) any {
	c, _ := stored.(*IPClaim)
	return c.Status
}
