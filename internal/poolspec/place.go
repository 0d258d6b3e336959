// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package poolspec

import ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"

// Annotation and prefix of the mark that Karmada leaves on what it propagates: the namespace of the
// Work at the hub, which names the member.
const (
	karmadaNamespace = "work.karmada.io/namespace"
	karmadaMember    = "karmada-es-"
)

// Place is what a pool is in one cluster.
type Place uint8

const (
	// Local: the pool is not delegated.
	Local Place = iota
	// Delegated: the pool is a copy that was delegated to this cluster. It is a root here.
	Delegated
	// Elsewhere: this cluster is the hub. The block is carved and recorded here, and handed out in
	// the cluster that spec.delegateTo names.
	Elsewhere
	// Stray: the pool is a copy that is not for this cluster. Nothing of it is carved, recorded or
	// handed out.
	Stray
)

// IsServedHere reports whether this cluster hands out the pool's addresses.
func (p *Pool) IsServedHere() bool { return p.Place == Local || p.Place == Delegated }

// Member returns the cluster that hands out the block which is carved here; "" where that is this
// cluster, and of a copy.
func (p *Pool) Member() string {
	if p.Place != Elsewhere {
		return ""
	}
	return p.DelegateTo
}

// At returns what the pool says in the cluster of that name, which is "" where no pool can be
// delegated to. A copy that was delegated to it is a root: what it says of pools and Clusters of the
// hub means nothing here.
func (p Pool) At(cluster string, annotations map[string]string) Pool {
	namespace, isCopy := annotations[karmadaNamespace]
	isForHere := cluster != "" && p.DelegateTo == cluster && (!isCopy || namespace == karmadaMember+cluster)
	switch {
	case p.DelegateTo == "":
		return p
	case isForHere:
		p.Place = Delegated
	case isCopy:
		p.Place = Stray
	default:
		p.Place = Elsewhere
		return p
	}
	p.Parent, p.PrefixLength, p.ClusterName, p.Inherits = ipamv1.PoolReference{}, nil, "", false
	return p
}
