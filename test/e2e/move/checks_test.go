// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package move

import (
	"cmp"
	"context"
	"fmt"
	"net/netip"
	"os"
	"slices"
	"strings"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/cluster-api/util/conditions"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/audit"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/internal/fsck"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// check checks each side, and the union of both.
func check(ctx context.Context) {
	GinkgoHelper()
	for _, side := range []*side{left, right} {
		Expect(side.manager.Restart(ctx)).To(Succeed()) // it repairs at once what it would have a minute later
		Eventually(func() error {
			report, err := fsck.Check(ctx, side.Config())
			Expect(err).NotTo(HaveOccurred())
			return report.AtRest()
		}, "3m", "500ms").Should(Succeed())
	}
	Expect(union(ctx)).To(BeEmpty())
}

// lookOn looks at the union of both sides over and over until the spec ends.
func lookOn() {
	stop, done := make(chan struct{}), make(chan struct{})
	looks := 0
	go func() {
		defer close(done)
		defer GinkgoRecover()
		for {
			Expect(union(context.Background())).To(BeEmpty())
			looks++
			select {
			case <-stop:
				return
			case <-time.After(3 * time.Second):
			}
		}
	}()
	DeferCleanup(func() {
		close(stop)
		<-done
		framework.Account(fmt.Sprintf("looked at both sides together %d times: %s", looks, CurrentSpecReport().LeafNodeText))
	})
}

// union names what must not be, of both sides taken together: whatever one side has told a claim, nobody else on the other may have,
// and no claim may have two things. What is on both sides, as everything is at times while it moves, is one claim: by its kind,
// namespace and name.
func union(ctx context.Context) []string {
	GinkgoHelper()
	report, err := fsck.CheckWith(ctx, left.Config(), func() []fsck.Held { return strangers(ctx, left, right) })
	Expect(err).NotTo(HaveOccurred())
	found := slices.Concat(report.Of(fsck.Overlap), report.Of(fsck.SeveralAnswers))
	report, err = fsck.Check(ctx, right.Config())
	Expect(err).NotTo(HaveOccurred())
	found = slices.Concat(found, report.Of(fsck.Overlap), report.Of(fsck.SeveralAnswers))
	there := told(ctx, right)
	for name, here := range told(ctx, left) {
		if other, both := there[name]; both && other.CIDR != here.CIDR {
			found = append(found, fmt.Sprintf("%s has %s on one side and %s on the other", name, here.CIDR, other.CIDR))
		}
	}
	return found
}

// strangers returns what claims of the other side were told that this side does not know, or not as those that have it.
func strangers(ctx context.Context, s, other *side) []fsck.Held {
	GinkgoHelper()
	here := told(ctx, s)
	var held []fsck.Held
	for name, there := range told(ctx, other) {
		if here[name].CIDR != there.CIDR {
			held = append(held, there)
		}
	}
	return held
}

// told returns what the claims of a side were told, by kind, namespace and name. All pools of the suite are of the default address
// space, but those of floating IPs.
func told(ctx context.Context, s *side) map[string]fsck.Held {
	GinkgoHelper()
	answers, own, pools := &ipamv1beta2.IPAddressList{}, &ipamv1.IPClaimList{}, &ipamv1.IPPoolList{}
	Expect(s.Client().List(ctx, answers)).To(Succeed())
	Expect(s.Client().List(ctx, own)).To(Succeed())
	Expect(s.Client().List(ctx, pools)).To(Succeed())
	networks := map[types.NamespacedName]string{}
	for _, pool := range pools.Items {
		if fields := strings.Fields(pool.Annotations[ipamv1.OpenStackAnnotation]); len(fields) == 3 {
			networks[client.ObjectKeyFromObject(&pool)] = "openstack/" + fields[2]
		}
	}
	found := map[string]fsck.Held{}
	add := func(kind string, obj client.Object, poolKind, poolName string, prefix netip.Prefix) {
		held := fsck.Held{Space: ipamv1.DefaultAddressSpace, CIDR: prefix, UID: obj.GetUID()}
		if poolKind == ipamv1.IPPoolKind {
			held.Pool = types.NamespacedName{Namespace: obj.GetNamespace(), Name: poolName}
			held.Space = cmp.Or(networks[held.Pool], held.Space)
		}
		found[kind+" "+obj.GetNamespace()+"/"+obj.GetName()] = held
	}
	for i := range answers.Items {
		answer := &answers.Items[i]
		address := netip.MustParseAddr(answer.Spec.Address)
		add("IPAddressClaim", answer, answer.Spec.PoolRef.Kind, answer.Spec.PoolRef.Name, netip.PrefixFrom(address, address.BitLen()))
	}
	for i := range own.Items {
		claim := &own.Items[i]
		if claim.Spec.CIDR != "" {
			add(ipamv1.IPClaimKind, claim, claim.Spec.PoolRef.Kind, claim.Spec.PoolRef.Name, netip.MustParsePrefix(claim.Spec.CIDR))
		}
	}
	return found
}

// expectTrail reads the audit trail of the side that a namespace has moved to: each of its claims came with what it has, and nothing of
// that was released.
func expectTrail(ctx context.Context, s *side, namespace string) {
	GinkgoHelper()
	log, err := os.Open(s.manager.LogPath())
	Expect(err).NotTo(HaveOccurred())
	defer log.Close()
	has, said := told(ctx, s), map[string][]string{}
	_, err = audit.Read(log, time.Now(), func(e audit.Event) {
		claim := e.Entry.Claim
		name := claim.Kind + " " + claim.Namespace + "/" + claim.Name
		if has[name].CIDR == e.Entry.Prefix {
			said[name] = append(said[name], e.What)
		}
	})
	Expect(err).NotTo(HaveOccurred())
	var found []string
	for name := range has {
		if strings.Contains(name, " "+namespace+"/") && (!slices.Contains(said[name], "Adopted") || slices.Contains(said[name], "Released")) {
			found = append(found, fmt.Sprintf("%s has %s, and the audit trail says %v", name, has[name].CIDR, said[name]))
		}
	}
	Expect(found).To(BeEmpty())
}

// changed names what is not as it was.
func changed(had, has map[string]string) []string {
	var found []string
	for name, prefix := range had {
		if has[name] != prefix {
			found = append(found, fmt.Sprintf("%s had %s, has %q", name, prefix, has[name]))
		}
	}
	for name, prefix := range has {
		if had[name] == "" {
			found = append(found, fmt.Sprintf("%s has %s", name, prefix))
		}
	}
	slices.Sort(found)
	return found
}

// reasons says why pools and claims of a namespace are not ready.
func reasons(ctx context.Context, s *side, namespace string) string {
	GinkgoHelper()
	var found []string
	for _, list := range []client.ObjectList{&ipamv1.IPPoolList{}, &ipamv1beta2.IPAddressClaimList{}, &ipamv1.IPClaimList{}, &ipamv1.GlobalIPPoolList{}} {
		Expect(s.Client().List(ctx, list, client.InNamespace(namespace))).To(Succeed())
		for _, obj := range suite.Items(list) {
			ready := conditions.Get(obj.(conditions.Getter), ipamv1.ReadyCondition) //nolint:forcetypeassert // all are
			if ready == nil || ready.Status != metav1.ConditionTrue {
				found = append(found, fmt.Sprintf("%T %s: %+v", obj, obj.GetName(), ready))
			}
		}
	}
	return strings.Join(found, "\n")
}

// records returns the records of a namespace.
func records(ctx context.Context, s *side, namespace string) []ipamv1.IPAllocation {
	GinkgoHelper()
	list := &ipamv1.IPAllocationList{}
	Expect(s.Client().List(ctx, list, client.InNamespace(namespace))).To(Succeed())
	return list.Items
}

// expectEmpty expects that nothing of Weir's is left in a namespace. What is left of a carved pool that went before its parent is for
// repair, which looks once a minute.
func expectEmpty(ctx context.Context, s *side, namespace string) {
	GinkgoHelper()
	Eventually(func() []string { return remaining(ctx, s, namespace) }, "3m", "500ms").Should(BeEmpty())
}

func remaining(ctx context.Context, s *side, namespace string) []string {
	GinkgoHelper()
	var names []string
	for _, list := range []client.ObjectList{
		&ipamv1beta2.IPAddressClaimList{}, &ipamv1beta2.IPAddressList{}, &ipamv1.IPAllocationList{}, &ipamv1.IPClaimList{}, &ipamv1.IPPoolList{},
	} {
		Expect(s.Client().List(ctx, list, client.InNamespace(namespace))).To(Succeed())
		for _, obj := range suite.Items(list) {
			names = append(names, fmt.Sprintf("%T %s", obj, obj.GetName()))
		}
	}
	return names
}

// misowned names what lacks an owner reference to its claim or pool as they are now, or has one to something else: the records
// and IPAddresses of a namespace.
func misowned(ctx context.Context, s *side, namespace, global string) []string {
	GinkgoHelper()
	live := liveUIDs(ctx, s, namespace, global)
	var wrong []string
	answers := &ipamv1beta2.IPAddressList{}
	Expect(s.Client().List(ctx, answers, client.InNamespace(namespace))).To(Succeed())
	for i := range answers.Items {
		if owners := answers.Items[i].OwnerReferences; !owned(owners, live, 2) {
			wrong = append(wrong, fmt.Sprintf("IPAddress %s: %v", answers.Items[i].Name, owners))
		}
	}
	for _, record := range records(ctx, s, namespace) {
		number := 2
		if record.Spec.Purpose == ipamv1.PoolBlockPurpose {
			number = 1
		}
		if !owned(record.OwnerReferences, live, number) {
			wrong = append(wrong, fmt.Sprintf("IPAllocation %s: %v", record.Name, record.OwnerReferences))
		}
	}
	return wrong
}

func owned(owners []metav1.OwnerReference, live map[types.UID]bool, number int) bool {
	return len(owners) == number && !slices.ContainsFunc(owners, func(o metav1.OwnerReference) bool { return !live[o.UID] })
}

func liveUIDs(ctx context.Context, s *side, namespace, global string) map[types.UID]bool {
	GinkgoHelper()
	live := map[types.UID]bool{}
	for _, list := range []client.ObjectList{&ipamv1beta2.IPAddressClaimList{}, &ipamv1.IPClaimList{}, &ipamv1.IPPoolList{}} {
		Expect(s.Client().List(ctx, list, client.InNamespace(namespace))).To(Succeed())
		for _, obj := range suite.Items(list) {
			live[obj.GetUID()] = true
		}
	}
	pool := &ipamv1.GlobalIPPool{}
	Expect(s.Client().Get(ctx, client.ObjectKey{Name: global}, pool)).To(Succeed())
	live[pool.UID] = true
	return live
}
