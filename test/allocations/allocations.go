// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

// Package allocations makes IPAllocations for unit tests.
package allocations

import (
	"net/netip"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	clusterctlv1 "sigs.k8s.io/cluster-api/cmd/clusterctl/api/v1alpha3"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// KeyOf returns the name of a record.
func KeyOf(a *ipamv1.IPAllocation) types.NamespacedName {
	return types.NamespacedName{Namespace: a.Namespace, Name: a.Name}
}

// PoolRef is a namespaced pool's reference.
func PoolRef(name string) ipamv1.PoolReference {
	return ipamv1.PoolReference{Kind: ipamv1.IPPoolKind, Namespace: "ns", Name: name}
}

// Edit changes a record before it is stored.
type Edit func(*ipamv1.IPAllocation)

// Named is a record of the name for a claim of that name, made by manager "m" out of pool "p".
func Named(name, cidr string, edits ...Edit) *ipamv1.IPAllocation {
	a := &ipamv1.IPAllocation{
		ObjectMeta: metav1.ObjectMeta{
			Namespace: "ns", Name: name, UID: types.UID("uid of " + name),
			Finalizers:      []string{ipamv1.AllocationFinalizer},
			OwnerReferences: []metav1.OwnerReference{{Kind: "IPAddressClaim", Name: name}, {Kind: "IPPool", Name: "p"}},
			ManagedFields:   []metav1.ManagedFieldsEntry{{Manager: "weir"}},
		},
		Spec: ipamv1.IPAllocationSpec{
			PoolRef:      PoolRef("p"),
			AddressSpace: "default",
			CIDR:         cidr,
			ClaimRef: ipamv1.ClaimReference{
				APIGroup: "ipam.cluster.x-k8s.io", Kind: "IPAddressClaim", Namespace: "ns", Name: name, UID: "claim " + name,
			},
			Purpose: ipamv1.ClaimPurpose,
			Manager: ipamv1.AllocationManager{Instance: "m"},
		},
	}
	for _, e := range edits {
		e(a)
	}
	return a
}

// FromPool makes the record one of another pool.
func FromPool(name string) Edit {
	return func(a *ipamv1.IPAllocation) { a.Spec.PoolRef = PoolRef(name) }
}

// By makes the record another manager's.
func By(instance string) Edit {
	return func(a *ipamv1.IPAllocation) { a.Spec.Manager.Instance = instance }
}

// Elsewhere is another address space.
func Elsewhere(a *ipamv1.IPAllocation) { a.Spec.AddressSpace = "other" }

// WithUID makes it another record.
func WithUID(uid types.UID) Edit { return func(a *ipamv1.IPAllocation) { a.UID = uid } }

// CreatedAt stores the revision of the creation.
func CreatedAt(revision string) Edit {
	return func(a *ipamv1.IPAllocation) { a.Spec.Manager.CreatedRevision = revision }
}

// Confirmed says that the block has won.
func Confirmed(a *ipamv1.IPAllocation) { a.Spec.State = ipamv1.ConfirmedState }

// Released says that the claim has released the prefix.
func Released(a *ipamv1.IPAllocation) { a.Spec.ReleasedAt = metav1.Unix(1, 0) }

// Terminating marks the record for deletion.
func Terminating(a *ipamv1.IPAllocation) {
	now := metav1.Unix(1, 0)
	a.DeletionTimestamp = &now
}

// Moving marks the record as clusterctl marks what it has moved.
func Moving(a *ipamv1.IPAllocation) {
	a.Annotations = map[string]string{clusterctlv1.DeleteForMoveAnnotation: ""}
}

// Touched adds a writer that is not Weir.
func Touched(a *ipamv1.IPAllocation) {
	a.ManagedFields = append(a.ManagedFields, metav1.ManagedFieldsEntry{Manager: "kubectl"})
}

// Carved makes the record the block of a child pool.
func Carved(child string) Edit {
	return func(a *ipamv1.IPAllocation) {
		a.Spec.Purpose = ipamv1.PoolBlockPurpose
		a.Spec.ClaimRef = ipamv1.ClaimReference{
			APIGroup: ipamv1.GroupVersion.Group, Kind: ipamv1.IPPoolKind, Namespace: "ns", Name: child, UID: "pool " + child,
		}
	}
}

// DelegatedTo makes the record, of the block of a child pool, one that a member may use.
func DelegatedTo(member string) Edit {
	return func(a *ipamv1.IPAllocation) { a.Spec.DelegatedTo = member }
}

// HandedBack makes the record, of a root pool's block, one of its hand-back for a template.
func HandedBack(template string) Edit {
	return func(a *ipamv1.IPAllocation) {
		a.Spec.Purpose, a.Spec.ClaimRef.UID = ipamv1.HandBackPurpose, template
		a.Name, a.UID = "hand-back-"+a.Name+"-"+template, a.UID+types.UID(template)
		a.OwnerReferences = nil
	}
}

// Ended makes the record, of a hand-back, one that holds nothing any more.
func Ended(a *ipamv1.IPAllocation) { a.Spec.State = ipamv1.EndedState }

// Root is the record of a root pool's own block.
func Root(pool, cidr string, edits ...Edit) *ipamv1.IPAllocation {
	return Named("block-of-"+pool+"-"+strings.NewReplacer("/", "-", ":", "-").Replace(cidr), cidr, append([]Edit{
		FromPool(pool), Carved(pool),
	}, edits...)...)
}

// At returns the name of a record in the namespace of all.
func At(name string) types.NamespacedName { return types.NamespacedName{Namespace: "ns", Name: name} }

// Prefixes parses prefixes that spaces separate.
func Prefixes(texts string) []netip.Prefix {
	var all []netip.Prefix
	for text := range strings.FieldsSeq(texts) {
		all = append(all, netip.MustParsePrefix(text))
	}
	return all
}
