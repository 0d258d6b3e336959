// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package admission

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/netip"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
)

// source is a pool that the suite's clients take from: a root with a block, or a child that they carve from its parent.
type source struct {
	kind, name string
	// cidr is a root's block.
	cidr     string
	strategy ipamv1.AllocationStrategy
	// parent is what a child is carved from, and bits the length of its block.
	parent *source
	bits   int32
	// lengths are what claims ask for here.
	lengths []int32
}

// sources are roots, from too small for all to roomy, then children of two of them, then children of children.
var sources, roots, children = func() (all, roots, children []*source) {
	roots = []*source{
		{kind: ipamv1.IPPoolKind, name: "few", cidr: "10.0.0.0/28", lengths: []int32{32}},
		{kind: ipamv1.IPPoolKind, name: "mixed", cidr: "10.1.0.0/24", lengths: []int32{32, 32, 31, 30, 28, 26}},
		{kind: ipamv1.IPPoolKind, name: "packed", cidr: "10.2.0.0/25", strategy: ipamv1.BestFitStrategy, lengths: []int32{32, 32, 30, 29, 27}},
		{kind: ipamv1.IPPoolKind, name: "drawn", cidr: "10.3.0.0/26", strategy: ipamv1.RandomStrategy, lengths: []int32{32, 31, 30}},
		{kind: ipamv1.GlobalIPPoolKind, name: "wide", cidr: "10.4.0.0/20", lengths: []int32{32, 28, 26, 25, 24}},
		{kind: ipamv1.IPPoolKind, name: "parent", cidr: "10.5.0.0/24", lengths: []int32{32, 32, 30, 28}},
	}
	wide, parent := roots[4], roots[5]
	for i := range 6 {
		from, bits := parent, int32(26)
		if i%2 == 1 {
			from, bits = wide, 25
		}
		child := &source{kind: ipamv1.IPPoolKind, name: fmt.Sprintf("child-%d", i), parent: from, bits: bits, lengths: []int32{32, 32, 31, 29}}
		grandchild := &source{kind: ipamv1.IPPoolKind, name: fmt.Sprintf("grandchild-%d", i), parent: child, bits: 28, lengths: []int32{32, 32, 31}}
		children = append(children, child, grandchild)
	}
	children = append(children, &source{kind: ipamv1.GlobalIPPoolKind, name: "global-child", parent: wide, bits: 26, lengths: []int32{32, 30}})
	return append(slices.Clone(roots), children...), roots, children
}()

// above says whether s is an ancestor of other, or the same.
func (s *source) above(other *source) bool {
	for ; other != nil; other = other.parent {
		if s == other {
			return true
		}
	}
	return false
}

func (s *source) length(random *rand.Rand) int32 { return s.lengths[random.IntN(len(s.lengths))] }

// pool returns the object.
func (s *source) pool() client.Object {
	meta := metav1.ObjectMeta{Name: s.name}
	spec := ipamv1.IPPoolSpec{Allocation: &ipamv1.AllocationPolicy{
		Strategy: s.strategy, MinPrefixLength: ptr.To[int32](24), MaxPrefixLength: ptr.To[int32](32),
		ReservedAddresses: ipamv1.ReservedAddressesAllocate,
	}}
	if s.parent != nil {
		spec.ParentRef = &ipamv1.ParentReference{Kind: s.parent.kind, Name: s.parent.name}
		spec.PrefixLength = ptr.To(s.bits)
	} else {
		spec.CIDR, spec.AddressSpace = s.cidr, namespace
	}
	if s.kind == ipamv1.GlobalIPPoolKind {
		return &ipamv1.GlobalIPPool{ObjectMeta: meta, Spec: spec}
	}
	meta.Namespace = namespace
	return &ipamv1.IPPool{ObjectMeta: meta, Spec: spec}
}

// createRoots returns when all of them hand out prefixes.
func createRoots(ctx context.Context, pools ...*source) {
	GinkgoHelper()
	for _, s := range pools {
		Eventually(func() error { return client.IgnoreAlreadyExists(k.Create(ctx, s.pool())) }, "1m", "100ms").Should(Succeed())
	}
	for _, s := range pools {
		dry := s.claim("dry-"+s.name, 32)
		Eventually(func() error { return k.Create(ctx, dry.DeepCopy(), client.DryRunAll) }, "1m", "100ms").Should(Succeed())
	}
}

// claim asks for a prefix of this length.
func (s *source) claim(name string, bits int32) *ipamv1.IPClaim {
	c := &ipamv1.IPClaim{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: name},
		Spec:       ipamv1.IPClaimSpec{PoolRef: &ipamv1.ClaimPoolReference{Kind: s.kind, Name: s.name}, PrefixLength: ptr.To(bits)},
	}
	if generate, ok := strings.CutSuffix(name, "-"); ok {
		c.Name, c.GenerateName = "", generate+"-"
	}
	return c
}

func prefixOf(cidr string) netip.Prefix {
	GinkgoHelper()
	p, err := netip.ParsePrefix(cidr)
	Expect(err).NotTo(HaveOccurred())
	return p
}

func bitsOf(cidr string) *int32 {
	GinkgoHelper()
	return ptr.To(int32(prefixOf(cidr).Bits()))
}
