// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package builder

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// PoolBuilder builds a pool of either kind.
type PoolBuilder[P any] struct {
	meta metav1.ObjectMeta
	spec ipamv1.IPPoolSpec
	make func(metav1.ObjectMeta, ipamv1.IPPoolSpec) P
}

// IPPool begins a namespaced pool. Its type meta is set, so that it can be
// applied.
func IPPool(namespace, name string) *PoolBuilder[*ipamv1.IPPool] {
	return &PoolBuilder[*ipamv1.IPPool]{
		meta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		make: func(meta metav1.ObjectMeta, spec ipamv1.IPPoolSpec) *ipamv1.IPPool {
			return &ipamv1.IPPool{TypeMeta: typeMeta(ipamv1.IPPoolKind), ObjectMeta: meta, Spec: spec}
		},
	}
}

// GlobalIPPool begins a cluster-scoped pool.
func GlobalIPPool(name string) *PoolBuilder[*ipamv1.GlobalIPPool] {
	return &PoolBuilder[*ipamv1.GlobalIPPool]{
		meta: metav1.ObjectMeta{Name: name},
		make: func(meta metav1.ObjectMeta, spec ipamv1.IPPoolSpec) *ipamv1.GlobalIPPool {
			return &ipamv1.GlobalIPPool{TypeMeta: typeMeta(ipamv1.GlobalIPPoolKind), ObjectMeta: meta, Spec: spec}
		},
	}
}

func typeMeta(kind string) metav1.TypeMeta {
	return metav1.TypeMeta{APIVersion: ipamv1.GroupVersion.String(), Kind: kind}
}

// WithCIDR sets the block.
func (b *PoolBuilder[P]) WithCIDR(cidr string) *PoolBuilder[P] {
	b.spec.CIDR = cidr
	return b
}

// WithAddresses sets the addresses.
func (b *PoolBuilder[P]) WithAddresses(entries ...ipamv1.AddressEntry) *PoolBuilder[P] {
	b.spec.Addresses = entries
	return b
}

// WithExcluded sets the excluded addresses.
func (b *PoolBuilder[P]) WithExcluded(entries ...ipamv1.AddressEntry) *PoolBuilder[P] {
	b.spec.ExcludedAddresses = entries
	return b
}

// WithNetwork sets the network's prefix length, gateway and DNS servers. Zero
// and empty stand for what is left out.
func (b *PoolBuilder[P]) WithNetwork(bits int32, gateway string, servers ...ipamv1.DNSServer) *PoolBuilder[P] {
	b.spec.Network = &ipamv1.Network{Gateway: gateway, DNSServers: servers}
	if bits != 0 {
		b.spec.Network.PrefixLength = &bits
	}
	return b
}

// WithReserved says what is done with reserved addresses.
func (b *PoolBuilder[P]) WithReserved(policy ipamv1.ReservedAddressesPolicy) *PoolBuilder[P] {
	b.policy().ReservedAddresses = policy
	return b
}

// WithSpace sets the address space.
func (b *PoolBuilder[P]) WithSpace(space string) *PoolBuilder[P] {
	b.spec.AddressSpace = space
	return b
}

// WithParent sets the pool that the block is carved from. A namespace is given for
// kind IPPool only, where it is not the pool's own.
func (b *PoolBuilder[P]) WithParent(kind, namespace, name string) *PoolBuilder[P] {
	b.spec.ParentRef = &ipamv1.ParentReference{Kind: kind, Namespace: namespace, Name: name}
	return b
}

// WithBits sets the length of the block to carve.
func (b *PoolBuilder[P]) WithBits(bits int32) *PoolBuilder[P] {
	b.spec.PrefixLength = &bits
	return b
}

// DelegatedTo sets the cluster that hands out the pool.
func (b *PoolBuilder[P]) DelegatedTo(cluster string) *PoolBuilder[P] {
	b.spec.DelegateTo = cluster
	return b
}

// WithExpansion has siblings of this length created below a threshold, with labels if there are any.
func (b *PoolBuilder[P]) WithExpansion(percent, bits, most int32, labels map[string]string) *PoolBuilder[P] {
	b.spec.Expansion = &ipamv1.Expansion{ThresholdPercent: percent, PrefixLength: bits, MaxPools: most, Labels: labels}
	return b
}

// WithLengths sets which prefix lengths may be asked for, and which one is the
// default. Zero stands for what is left out.
func (b *PoolBuilder[P]) WithLengths(shortest, longest, absent int32) *PoolBuilder[P] {
	for field, bits := range map[**int32]int32{
		&b.policy().MinPrefixLength: shortest, &b.policy().MaxPrefixLength: longest, &b.policy().DefaultPrefixLength: absent,
	} {
		if bits != 0 {
			*field = &bits
		}
	}
	return b
}

// WithCooldown sets for how long what was released is not handed out again.
func (b *PoolBuilder[P]) WithCooldown(seconds int32) *PoolBuilder[P] {
	b.policy().CooldownSeconds = &seconds
	return b
}

func (b *PoolBuilder[P]) policy() *ipamv1.AllocationPolicy {
	if b.spec.Allocation == nil {
		b.spec.Allocation = &ipamv1.AllocationPolicy{}
	}
	return b.spec.Allocation
}

// WithMode sets whether the pool hands out anything.
func (b *PoolBuilder[P]) WithMode(mode ipamv1.PoolMode) *PoolBuilder[P] {
	b.spec.Mode = mode
	return b
}

// WithVisibility sets who may claim and carve.
func (b *PoolBuilder[P]) WithVisibility(visibility ipamv1.PoolVisibility) *PoolBuilder[P] {
	b.spec.Visibility = visibility
	return b
}

// WithNamespaces narrows a shared pool to namespaces with this label.
func (b *PoolBuilder[P]) WithNamespaces(key, value string) *PoolBuilder[P] {
	b.spec.NamespaceSelector = &metav1.LabelSelector{MatchLabels: map[string]string{key: value}}
	return b
}

// WithLabel adds a label.
func (b *PoolBuilder[P]) WithLabel(key, value string) *PoolBuilder[P] {
	metav1.SetMetaDataLabel(&b.meta, key, value)
	return b
}

// WithCluster sets the Cluster that the pool belongs to.
func (b *PoolBuilder[P]) WithCluster(name string) *PoolBuilder[P] {
	b.spec.ClusterName = name
	return b
}

// WithAnnotation adds an annotation.
func (b *PoolBuilder[P]) WithAnnotation(key, value string) *PoolBuilder[P] {
	metav1.SetMetaDataAnnotation(&b.meta, key, value)
	return b
}

// Build returns the pool.
func (b *PoolBuilder[P]) Build() P { return b.make(*b.meta.DeepCopy(), *b.spec.DeepCopy()) }
