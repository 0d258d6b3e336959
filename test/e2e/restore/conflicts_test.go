// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package restore

import (
	"context"
	"fmt"
	"slices"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	icv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/incluster/v1alpha2"
	m3v1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/metal3/v1alpha1"
	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/fsck"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// newcomers is how many claims of each kind take something before the backup comes.
const newcomers = 4

// expectConflicts restores the pools alone, has new claims take what the backup's have, and restores the rest.
func (b *backup) expectConflicts(ctx context.Context) {
	GinkgoHelper()
	By("restoring namespaces, Clusters and pools, and handing out of them")
	wipe(ctx)
	Expect(manager.Restart(ctx)).To(Succeed())
	isBase := func(obj *unstructured.Unstructured) bool {
		return slices.Contains([]string{
			"Namespace", "Cluster", ipamv1.IPPoolKind, ipamv1.GlobalIPPoolKind, icv1.InClusterIPPoolKind, icv1.GlobalInClusterIPPoolKind,
		}, obj.GetKind())
	}
	random := orderNumber(orders).random()
	restore(ctx, shuffled(random, b.chosen(isBase)), 0)
	Eventually(func() []string { return notReady(state(ctx)) }, patience, "500ms").Should(BeEmpty())
	for i := range newcomers {
		persist(ctx, builder.IPAddressClaim(blue, fmt.Sprintf("new-%d", i), ipamv1.IPPoolKind, "v4").Build())
		persist(ctx, builder.IPAddressClaim(red, fmt.Sprintf("new-%d", i), ipamv1.IPPoolKind, "nodes").Build())
		persist(ctx, builder.IPClaim(blue, fmt.Sprintf("new-own-%d", i)).From(ipamv1.IPPoolKind, "leaf").Build())
		persist(ctx, builder.IPClaim(red, fmt.Sprintf("new-own-%d", i)).From(ipamv1.IPPoolKind, "six").Build())
		persist(ctx, inClusterClaim(blue, fmt.Sprintf("new-global-%d", i), icv1.GlobalInClusterIPPoolKind))
	}
	Eventually(func() []string { return notReady(state(ctx)) }, patience, "500ms").Should(BeEmpty())
	taken := book(ctx)
	Expect(taken).To(HaveLen(5 * newcomers))

	By("restoring the rest")
	restOf := b.chosen(func(obj *unstructured.Unstructured) bool { return !isBase(obj) })
	dropOwners(restOf)
	want := taken.with(bookOf(restOf))
	conflicts := want.conflicts()
	Expect(len(conflicts)).To(BeNumerically(">=", 3*newcomers))
	restore(ctx, shuffled(random, restOf), 0)
	Eventually(func() []string { return want.wrong(ctx) }, patience, "1s").Should(BeEmpty())
	framework.Account(fmt.Sprintf("%d of %d restored claims collide with others", len(conflicts), len(want)-len(taken)))
	b.expectSafe(ctx)

	By("handing out more, none of which is anybody's")
	for i := range newcomers {
		persist(ctx, builder.IPAddressClaim(blue, fmt.Sprintf("late-%d", i), ipamv1.IPPoolKind, "v4").Build())
		persist(ctx, builder.IPClaim(blue, fmt.Sprintf("late-own-%d", i)).From(ipamv1.IPPoolKind, "leaf").Build())
	}
	Eventually(func() int { return len(book(ctx)) - len(want) }, patience, "500ms").Should(Equal(2 * newcomers))
	for claim, prefix := range book(ctx) {
		if strings.Contains(claim, "late-") {
			Expect(want).NotTo(ContainElement(prefix), claim)
		}
	}

	By("deleting one of the two, each in turn, whatever its kind")
	for i, c := range conflicts {
		goes := c[i%2]
		Expect(k.Delete(ctx, objectOf(goes))).To(Succeed())
		delete(want, goes)
	}
	Eventually(func() []string { return want.wrong(ctx) }, patience, "1s").Should(BeEmpty())
	Expect(want.conflicts()).To(BeEmpty())
	suite.AtRest(ctx, site.Config())
	Expect(want.untold(ctx, conflicts)).To(BeEmpty())
}

// expectSafe expects nothing wrong but what was restored onto others, which the checker takes for answers as well.
func (b *backup) expectSafe(ctx context.Context) {
	GinkgoHelper()
	report, err := fsck.Check(ctx, site.Config())
	Expect(err).NotTo(HaveOccurred())
	for _, overlap := range report.Of(fsck.Overlap) {
		Expect(overlap).To(ContainSubstring("/new-"))
	}
	Expect(report.Without(fsck.Overlap).Safe()).To(Succeed())
}

// told is what claims have: prefix or address by kind, namespace and name.
type told map[string]string

// book reads what claims have, but for Metal3's, which collide with nobody's. Of an IPAddressClaim that is its IPAddress's.
func book(ctx context.Context) told {
	GinkgoHelper()
	var found []*unstructured.Unstructured
	for _, obj := range listAll(ctx) {
		if obj.GetKind() == "IPAddress" || obj.GetKind() == ipamv1.IPClaimKind {
			found = append(found, obj)
		}
	}
	return bookOf(found)
}

func bookOf(objects []*unstructured.Unstructured) told {
	found := told{}
	for _, obj := range objects {
		if obj.GroupVersionKind().Group == m3v1.GroupVersion.Group {
			continue
		}
		name := " " + obj.GetNamespace() + "/" + obj.GetName()
		if address, ok, _ := unstructured.NestedString(obj.Object, "spec", "address"); ok && obj.GetKind() == "IPAddress" {
			found["IPAddressClaim"+name] = spaceOf(obj) + address
		}
		if cidr, ok, _ := unstructured.NestedString(obj.Object, "spec", "cidr"); ok && obj.GetKind() == ipamv1.IPClaimKind {
			found[ipamv1.IPClaimKind+name] = cidr
		}
	}
	return found
}

// spaceOf names the address space of an in-cluster pool's IPAddress, which is the pool's own; ""
// for one of the space that the other pools share.
func spaceOf(answer *unstructured.Unstructured) string {
	kind, _, _ := unstructured.NestedString(answer.Object, "spec", "poolRef", "kind")
	switch kind {
	case icv1.InClusterIPPoolKind:
		return answer.GetNamespace() + " "
	case icv1.GlobalInClusterIPPoolKind:
		return "global "
	}
	return ""
}

func (t told) with(others told) told {
	all := told{}
	for _, m := range []told{t, others} {
		for name, prefix := range m {
			all[name] = prefix
		}
	}
	return all
}

// conflicts are the pairs of claims that have the same of one address space, in order. What is
// asked here gives single addresses.
func (t told) conflicts() [][2]string {
	by := map[string][]string{}
	for name, prefix := range t {
		address := strings.TrimSuffix(strings.TrimSuffix(prefix, "/32"), "/128")
		by[address] = append(by[address], name)
	}
	var found [][2]string
	for _, names := range by {
		if len(names) == 2 {
			slices.Sort(names)
			found = append(found, [2]string(names))
		}
	}
	slices.SortFunc(found, func(a, b [2]string) int { return strings.Compare(a[0], b[0]) })
	return found
}

// wrong names the claims that do not have what they should, or do not say how they stand.
func (t told) wrong(ctx context.Context) []string {
	GinkgoHelper()
	var found []string
	has, reasons := book(ctx), reasonsOf(ctx)
	duplicate := map[string]bool{}
	for _, c := range t.conflicts() {
		duplicate[c[0]], duplicate[c[1]] = true, true
	}
	for name, prefix := range t {
		reason := ipamv1.ClaimReadyAllocatedReason
		if duplicate[name] {
			reason = ipamv1.ClaimReadyAddressConflictReason
		}
		if has[name] != prefix || reasons[name] != reason {
			found = append(found, fmt.Sprintf("%s should have %s, %s; has %s, %s", name, prefix, reason, has[name], reasons[name]))
		}
	}
	slices.Sort(found)
	return found
}

// reasonsOf are those of the Ready conditions of all claims.
func reasonsOf(ctx context.Context) map[string]string {
	GinkgoHelper()
	reasons := map[string]string{}
	addresses, own := &ipamv1beta2.IPAddressClaimList{}, &ipamv1.IPClaimList{}
	Expect(k.List(ctx, addresses)).To(Succeed())
	Expect(k.List(ctx, own)).To(Succeed())
	for i := range addresses.Items {
		reasons["IPAddressClaim "+addresses.Items[i].Namespace+"/"+addresses.Items[i].Name] = readiness(&addresses.Items[i])
	}
	for i := range own.Items {
		reasons[ipamv1.IPClaimKind+" "+own.Items[i].Namespace+"/"+own.Items[i].Name] = readiness(&own.Items[i])
	}
	return reasons
}

// untold names the claims of conflicts that no event tells of.
func (t told) untold(ctx context.Context, conflicts [][2]string) []string {
	GinkgoHelper()
	events := &corev1.EventList{}
	Expect(k.List(ctx, events)).To(Succeed())
	isTold := map[string]bool{}
	for _, e := range events.Items {
		if e.Reason == ipamv1.ClaimReadyAddressConflictReason {
			isTold[e.InvolvedObject.Kind+" "+e.InvolvedObject.Namespace+"/"+e.InvolvedObject.Name] = true
		}
	}
	var found []string
	for _, c := range conflicts {
		for _, name := range c {
			if !isTold[name] {
				found = append(found, name)
			}
		}
	}
	return found
}

// objectOf returns the object of a name in a book.
func objectOf(name string) client.Object {
	kind, rest, _ := strings.Cut(name, " ")
	namespace, name, _ := strings.Cut(rest, "/")
	if kind == ipamv1.IPClaimKind {
		return builder.IPClaim(namespace, name).Build()
	}
	return builder.IPAddressClaim(namespace, name, "", "").Build()
}
