// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package move

import (
	"context"
	"fmt"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	"k8s.io/utils/ptr"
	clusterv1 "sigs.k8s.io/cluster-api/api/core/v1beta2"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/size"
)

// global is a pool that everybody may carve from.
func global(name, cidr string) *ipamv1.GlobalIPPool {
	pool := builder.GlobalIPPool(name).WithCIDR(cidr).Build()
	pool.Spec.Allocation = &ipamv1.AllocationPolicy{MinPrefixLength: ptr.To[int32](24), MaxPrefixLength: ptr.To[int32](32)}
	return pool
}

// move moves a namespace with clusterctl.
func move(ctx context.Context, from, to *side, namespace string) {
	GinkgoHelper()
	out, err := from.ctl.Run(ctx, "move", "--to-kubeconfig", to.KubeconfigPath(), "--namespace", namespace)
	GinkgoWriter.Println(out)
	Expect(err).NotTo(HaveOccurred())
}

// expectArrived expects every claim of a tenant on a side, with what it had, and its owner references.
func expectArrived(ctx context.Context, s *side, t tenant, had map[string]string) {
	GinkgoHelper()
	Eventually(func() []string { return changed(had, book(ctx, s, t.name)) }, "3m", "500ms").Should(BeEmpty(), func() string {
		return reasons(ctx, s, t.name)
	})
	Expect(s.manager.Restart(ctx)).To(Succeed()) // it repairs at once what it would have a minute later
	Eventually(func() []string { return misowned(ctx, s, t.name, t.global) }, "3m", "500ms").Should(BeEmpty())
}

// thereAndBack: claims of all pool kinds move there and back with their addresses, and both sides go on.
func thereAndBack(ctx SpecContext) {
	t, stays := tenant{name: "all-kinds", global: "shared"}, tenant{name: "stays", global: "shared"}
	By("making pools and claims")
	Expect(left.Client().Create(ctx, global(t.global, "10.9.0.0/20"))).To(Succeed())
	t.found(ctx, left)
	stays.found(ctx, left)
	for _, pool := range t.pools(1) {
		Eventually(func() error { return left.Client().Create(ctx, pool) }, "1m", "200ms").Should(Succeed())
	}
	addressClaims, claims := size.Of(4, 8, 40), size.Of(2, 4, 20)
	for _, ref := range t.refs() {
		t.ask(ctx, left, "old", ref, addressClaims, claims)
	}
	stays.ask(ctx, left, "old", stays.refs()[0], 5, 5)
	awaitAnswers(ctx, left, t.name, 5*(addressClaims+claims)+4)
	awaitAnswers(ctx, left, stays.name, 10)
	had := book(ctx, left, t.name)
	Expect(misowned(ctx, left, t.name, t.global)).To(BeEmpty())
	check(ctx)

	By("moving")
	move(ctx, left, right, t.name)
	By("claiming on both sides at once")
	stays.ask(ctx, left, "new", stays.refs()[0], addressClaims, claims)
	refused := builder.IPAddressClaim(t.name, "refused", ipamv1.GlobalIPPoolKind, t.global).WithLabel(clusterv1.ClusterNameLabel, t.name).Build()
	Expect(right.Client().Create(ctx, refused)).To(Succeed())
	awaitAnswers(ctx, left, stays.name, 10+addressClaims+claims)
	expectArrived(ctx, right, t, had)
	expectTrail(ctx, right, t.name)
	expectEmpty(ctx, left, t.name)
	Expect(unheld(ctx, left, t.global, had)).To(BeEmpty())
	expectReason(ctx, right, refused, ipamv1beta2.IPAddressClaimReadyPoolNotReadyReason)
	expectForeign(ctx, right, t.global)
	Expect(right.Client().Delete(ctx, refused)).To(Succeed())
	for _, ref := range t.refs()[1:] {
		t.ask(ctx, right, "new", ref, 1, 1)
	}
	awaitAnswers(ctx, right, t.name, 5*(addressClaims+claims)+4+4*2)
	check(ctx)

	By("moving back")
	had = book(ctx, right, t.name)
	t.provision(ctx, right)
	move(ctx, right, left, t.name)
	stays.ask(ctx, left, "late", stays.refs()[0], 5, 5)
	expectArrived(ctx, left, t, had)
	expectEmpty(ctx, right, t.name)
	awaitAnswers(ctx, left, stays.name, 10+addressClaims+claims+10)
	Eventually(func() []string { return heldFrom(ctx, left, t.global) }, "1m", "200ms").Should(BeEmpty())
	check(ctx)
	accountForHistory(ctx)
}

// awaitAnswers waits until so many claims and pools of a namespace have their prefix.
func awaitAnswers(ctx context.Context, s *side, namespace string, number int) {
	GinkgoHelper()
	Eventually(func() int { return len(book(ctx, s, namespace)) }, "90s", "200ms").Should(Equal(number))
}

// unheld names what came out of the global pool, or a block of it, and is not held on the side that it moved from.
func unheld(ctx context.Context, s *side, global string, had map[string]string) []string {
	GinkgoHelper()
	held := heldFrom(ctx, s, global)
	var missing []string
	for name, prefix := range had {
		isHeld := slices.ContainsFunc(held, func(h string) bool { return strings.HasPrefix(h, name+" ") })
		if (strings.Contains(name, "-"+global+"-") || name == "IPPool leaf") && !isHeld {
			missing = append(missing, name+" "+prefix)
		}
	}
	return missing
}

// heldFrom names what is held on a side, out of a global pool, for what moved away.
func heldFrom(ctx context.Context, s *side, global string) []string {
	GinkgoHelper()
	var held []string
	for _, record := range records(ctx, s, framework.ManagerNamespace) {
		if record.Spec.State == ipamv1.MovedState && record.Spec.PoolRef.Name == global {
			held = append(held, fmt.Sprintf("%s %s %s", record.Spec.ClaimRef.Kind, record.Spec.ClaimRef.Name, record.Spec.CIDR))
		}
	}
	return held
}

func expectReason(ctx context.Context, s *side, claim *ipamv1beta2.IPAddressClaim, reason string) {
	GinkgoHelper()
	Eventually(func() string {
		Expect(s.Client().Get(ctx, client.ObjectKeyFromObject(claim), claim)).To(Succeed())
		return conditions.GetReason(claim, ipamv1.ReadyCondition)
	}, "1m", "200ms").Should(Equal(reason))
}

func expectForeign(ctx context.Context, s *side, name string) {
	GinkgoHelper()
	pool := &ipamv1.GlobalIPPool{}
	Eventually(func() string {
		Expect(s.Client().Get(ctx, client.ObjectKey{Name: name}, pool)).To(Succeed())
		return conditions.GetReason(pool, ipamv1.ReadyCondition)
	}, "1m", "200ms").Should(Equal(ipamv1.PoolReadyHomedElsewhereReason))
}
