// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package move

import (
	"context"
	"fmt"
	"slices"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// inUse is the finalizer of somebody who still uses an address.
const inUse = "example.com/uses"

func (t tenant) named(name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{Namespace: t.name, Name: name}
}

// hours stand for the time that something is paused: managers start again, and others join them that repair each second what may be
// repaired. Nothing of what state returns may go; an IPAddress that has no record may get one.
func hours(ctx context.Context, state func() []string) {
	GinkgoHelper()
	before := state()
	for _, s := range []*side{left, right} {
		Expect(s.manager.Restart(ctx)).To(Succeed())
		impatient := startManager(ctx, s, "--repair-grace=1s", "--sync-period=1s")
		defer func() { Expect(impatient.Kill()).To(Succeed()) }()
	}
	Consistently(state, "4s", "200ms").Should(ContainElements(before))
}

// leftAlone expects that nothing of the paused Clusters' IPAddressClaims is released, renumbered or repaired away, on neither side.
func leftAlone(ctx context.Context, tenants ...tenant) {
	GinkgoHelper()
	hours(ctx, func() []string {
		var kept []string
		for _, t := range tenants {
			kept = append(append(append(kept, keptFor(ctx, left, t)...), "and on the other side"), keptFor(ctx, right, t)...)
		}
		return kept
	})
}

// keptFor returns what is answered to the IPAddressClaims of a tenant, and recorded or held for them.
func keptFor(ctx context.Context, s *side, t tenant) []string {
	GinkgoHelper()
	var found []string
	answers := &ipamv1beta2.IPAddressList{}
	Expect(s.Client().List(ctx, answers, client.InNamespace(t.name))).To(Succeed())
	for i := range answers.Items {
		answer := &answers.Items[i]
		found = append(found, fmt.Sprintf("IPAddress %s %s %s", answer.Name, answer.UID, answer.Spec.Address))
	}
	all := append(records(ctx, s, t.name), records(ctx, s, framework.ManagerNamespace)...)
	for i := range all {
		claim := all[i].Spec.ClaimRef
		if claim.Namespace == t.name && claim.Kind == "IPAddressClaim" {
			found = append(found, fmt.Sprintf("record for %s %s %s", claim.Name, claim.UID, all[i].Spec.CIDR))
		}
	}
	slices.Sort(found)
	return slices.Compact(found) // what is held is recorded twice for a moment
}

// pausedForLong: while a Cluster is paused, claims of it are deleted, die and have been deleted.
func pausedForLong(ctx SpecContext) {
	t, others := tenant{name: "paused", global: "paused"}, tenant{name: "waiting", global: "paused"}
	pool := global(t.global, "10.13.0.0/29") // six addresses
	pool.Spec.Allocation.CooldownSeconds = ptr.To[int32](3600)
	Expect(left.Client().Create(ctx, pool)).To(Succeed())
	t.found(ctx, left)
	others.found(ctx, left)
	t.ask(ctx, left, "old", t.refs()[0], 4, 1)
	awaitAnswers(ctx, left, t.name, 5)
	had := book(ctx, left, t.name)
	claim := func(i int) client.Object {
		return &ipamv1beta2.IPAddressClaim{ObjectMeta: t.named(fmt.Sprintf("old-paused-%d", i))}
	}
	const stays, deleted, died, cooling = 0, 1, 2, 3
	Expect(left.Client().Delete(ctx, claim(cooling))).To(Succeed())
	expectGone(ctx, left, claim(cooling))
	others.ask(ctx, left, "old", others.refs()[0], 1, 0)
	awaitAnswers(ctx, left, others.name, 1)

	By("pausing, and taking everything away while it is")
	pause(ctx, left, t)
	suite.Change(ctx, left.Client(), pool, func() { pool.Spec.Allocation.CooldownSeconds = ptr.To[int32](1) })
	own := &ipamv1.IPClaim{ObjectMeta: t.named("old-paused-0")}
	for _, lost := range []client.Object{claim(died), own} {
		Expect(left.Client().Delete(ctx, lost)).To(Succeed())
		suite.Change(ctx, left.Client(), lost, func() { lost.SetFinalizers(nil) })
		expectGone(ctx, left, lost)
	}
	Expect(left.Client().Delete(ctx, claim(deleted))).To(Succeed())
	others.ask(ctx, left, "late", others.refs()[0], 1, 0)
	late := builder.IPAddressClaim(others.name, "late-paused-0", ipamv1.GlobalIPPoolKind, pool.Name).Build()
	hours(ctx, func() []string {
		names := keptFor(ctx, left, t)
		for _, record := range records(ctx, left, t.name) {
			names = append(names, fmt.Sprintf("%s %s", record.Name, record.UID))
		}
		return names
	})
	Expect(records(ctx, left, t.name)).To(HaveLen(5))
	expectReason(ctx, left, late, ipamv1beta2.IPAddressClaimReadyPoolExhaustedReason)

	By("unpausing")
	unpause(ctx, left, t)
	Expect(left.manager.Restart(ctx)).To(Succeed()) // it repairs at once
	awaitAnswers(ctx, left, others.name, 2)
	expectGone(ctx, left, claim(deleted))
	Eventually(func() []ipamv1.IPAllocation { return records(ctx, left, t.name) }, "90s", "200ms").Should(HaveLen(1))
	kept := "IPAddressClaim " + claim(stays).GetName()
	Expect(book(ctx, left, t.name)).To(Equal(map[string]string{kept: had[kept]}))
	check(ctx)
}

func expectGone(ctx context.Context, s *side, obj client.Object) {
	GinkgoHelper()
	Eventually(func() bool {
		return apierrors.IsNotFound(s.Client().Get(ctx, client.ObjectKeyFromObject(obj), obj))
	}, "3m", "100ms").Should(BeTrue())
}
