// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package incluster

import (
	"context"
	"fmt"
	"maps"
	"strings"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	icv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/incluster/v1alpha2"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

const (
	// needed is the finalizer of a component that still needs a claim's address, as CAPV's.
	needed = "example.com/in-use"
	pool   = "machines"
	shared = "shared"
	foe    = "NutanixIPPool"
)

var kinds = []string{icv1.InClusterIPPoolKind, icv1.GlobalInClusterIPPoolKind}

func poolOf(kind string) string {
	if kind == icv1.GlobalInClusterIPPoolKind {
		return shared
	}
	return pool
}

// name is the name of a claim of a kind of pools.
func name(kind, what string) string { return strings.ToLower(kind[:1]) + "-" + what }

func key(obj client.Object) string { return obj.GetNamespace() + "/" + obj.GetName() }

// text is what a machine is told.
func text(a *ipamv1beta2.IPAddress) string {
	return fmt.Sprintf("%s/%d via %s", a.Spec.Address, *a.Spec.Prefix, a.Spec.Gateway)
}

// takeover is what is on the site.
type takeover struct {
	k          client.Client
	upstream   standIn
	namespaces []string
	deleted    *ipamv1beta2.IPAddressClaim
	halfway    *ipamv1beta2.IPAddressClaim
	waiting    []*ipamv1beta2.IPAddressClaim
}

func newTakeover() *takeover {
	return &takeover{k: site.Client(), upstream: standIn{site.Client()}, namespaces: []string{"red", "blue"}}
}

func createOn[O client.Object](ctx context.Context, c client.Client, obj O) O {
	GinkgoHelper()
	Expect(c.Create(ctx, obj)).To(Succeed())
	return obj
}

// settle makes two equal pools in two namespaces and a global one, with each claims of each pool, claims in flight, an IPAddress without a claim
// in each pool, and a claim of another provider's.
func (t *takeover) settle(ctx context.Context, each int) {
	GinkgoHelper()
	spec := icv1.InClusterIPPoolSpec{Addresses: []string{"10.0.0.0/22"}, Prefix: 22, Gateway: "10.0.0.1"}
	createOn(ctx, t.k, &icv1.GlobalInClusterIPPool{ObjectMeta: metav1.ObjectMeta{Name: shared}, Spec: spec})
	for _, ns := range t.namespaces {
		createOn(ctx, t.k, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}})
		createOn(ctx, t.k, &icv1.InClusterIPPool{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: pool}, Spec: spec})
		for i := range each {
			t.upstream.answer(ctx, t.claim(ctx, ns, icv1.InClusterIPPoolKind, fmt.Sprint(i)))
			if i%2 == 0 {
				t.upstream.answer(ctx, t.claim(ctx, ns, icv1.GlobalInClusterIPPoolKind, fmt.Sprint(i)))
			}
		}
		theirs := createOn(ctx, t.k, claimOf(ns, "theirs", foe, pool))
		address := addressOf(theirs, "10.0.0.2")
		createOn(ctx, t.k, address)
	}
	t.leaveInFlight(ctx)
	for _, ns := range t.namespaces {
		stray := t.upstream.allocate(ctx, t.claim(ctx, ns, icv1.InClusterIPPoolKind, "stray"))
		t.orphan(ctx, stray)
	}
	t.orphan(ctx, t.upstream.allocate(ctx, t.claim(ctx, "red", icv1.GlobalInClusterIPPoolKind, "stray")))
}

func addressOf(claim *ipamv1beta2.IPAddressClaim, address string) *ipamv1beta2.IPAddress {
	prefix := int32(22)
	return &ipamv1beta2.IPAddress{
		ObjectMeta: metav1.ObjectMeta{Namespace: claim.Namespace, Name: claim.Name, Finalizers: []string{icv1.AddressFinalizer}},
		Spec: ipamv1beta2.IPAddressSpec{
			ClaimRef: ipamv1beta2.IPAddressClaimReference{Name: claim.Name}, PoolRef: claim.Spec.PoolRef,
			Address: address, Prefix: &prefix, Gateway: "10.0.0.1",
		},
	}
}

// orphan puts one that was made by hand, without finalizer and owners, in the place of an IPAddress, and its claim never was.
func (t *takeover) orphan(ctx context.Context, address *ipamv1beta2.IPAddress) {
	GinkgoHelper()
	claim := claimOf(address.Namespace, address.Name, address.Spec.PoolRef.Kind, address.Spec.PoolRef.Name)
	t.upstream.release(ctx, claim)
	stray := addressOf(claim, address.Spec.Address)
	stray.Finalizers = nil
	createOn(ctx, t.k, stray)
}

func (t *takeover) claim(ctx context.Context, ns, kind, what string) *ipamv1beta2.IPAddressClaim {
	GinkgoHelper()
	return createOn(ctx, t.k, claimOf(ns, name(kind, what), kind, poolOf(kind)))
}

// leaveInFlight leaves one claim at each step that the in-cluster provider's manager may be stopped at.
func (t *takeover) leaveInFlight(ctx context.Context) {
	GinkgoHelper()
	const ns, kind = "red", icv1.InClusterIPPoolKind
	bare, guarded, untold := t.claim(ctx, ns, kind, "bare"), t.claim(ctx, ns, kind, "guarded"), t.claim(ctx, ns, kind, "untold")
	t.upstream.guard(ctx, guarded)
	t.upstream.allocate(ctx, untold)
	t.waiting = []*ipamv1beta2.IPAddressClaim{bare, guarded, untold}

	t.deleted, t.halfway = t.claim(ctx, ns, kind, "deleted"), t.claim(ctx, ns, kind, "halfway")
	t.upstream.answer(ctx, t.deleted)
	t.deleted.Finalizers = append(t.deleted.Finalizers, needed)
	Expect(t.k.Update(ctx, t.deleted)).To(Succeed())
	Expect(t.k.Delete(ctx, t.deleted)).To(Succeed())

	t.upstream.answer(ctx, t.halfway)
	Expect(t.k.Delete(ctx, t.halfway)).To(Succeed())
	t.upstream.removeAddress(ctx, t.halfway)
}

// addresses returns the IPAddresses of the in-cluster provider's pools.
func (t *takeover) addresses(ctx context.Context) []ipamv1beta2.IPAddress {
	GinkgoHelper()
	list := &ipamv1beta2.IPAddressList{}
	Expect(t.k.List(ctx, list)).To(Succeed())
	var of []ipamv1beta2.IPAddress
	for i := range list.Items {
		if list.Items[i].Spec.PoolRef.Kind != foe {
			of = append(of, list.Items[i])
		}
	}
	return of
}

// answers returns what each IPAddress says, and expects that none is twice in one pool.
func (t *takeover) answers(ctx context.Context) map[string]string {
	GinkgoHelper()
	all, once := map[string]string{}, map[string]string{}
	for _, a := range t.addresses(ctx) {
		place := a.Spec.PoolRef.Kind + " " + a.Spec.Address
		if a.Spec.PoolRef.Kind == icv1.InClusterIPPoolKind {
			place = a.Namespace + " " + place
		}
		Expect(once).NotTo(HaveKey(place), "%s", key(&a))
		once[place] = key(&a)
		all[key(&a)] = text(&a)
	}
	return all
}

// expectKept expects that everything that was answered is answered as before.
func (t *takeover) expectKept(ctx context.Context, had map[string]string) {
	GinkgoHelper()
	now := t.answers(ctx)
	maps.DeleteFunc(now, func(who, _ string) bool { _, ok := had[who]; return !ok })
	Expect(now).To(Equal(had))
}

// foreign returns what another provider's claims and addresses of the group are, to the version.
func (t *takeover) foreign(ctx context.Context) map[string]string {
	GinkgoHelper()
	versions := map[string]string{}
	for _, ns := range t.namespaces {
		for _, obj := range []client.Object{&ipamv1beta2.IPAddressClaim{}, &ipamv1beta2.IPAddress{}} {
			Expect(t.k.Get(ctx, client.ObjectKey{Namespace: ns, Name: "theirs"}, obj)).To(Succeed())
			versions[fmt.Sprintf("%T %s", obj, ns)] = obj.GetResourceVersion()
		}
	}
	return versions
}

// inFlight expects that what the in-cluster provider has begun is finished.
func (t *takeover) inFlight(ctx context.Context, had map[string]string) {
	GinkgoHelper()
	for _, claim := range t.waiting {
		t.told(ctx, claim)
	}
	suite.Gone(ctx, t.k, t.halfway)
	Expect(t.k.Get(ctx, client.ObjectKeyFromObject(t.deleted), t.deleted)).To(Succeed())
	t.expectKept(ctx, had) // also the address of what is deleted and still needed
	suite.Change(ctx, t.k, t.deleted, func() { t.deleted.Finalizers = []string{icv1.ClaimFinalizer} })
	suite.Gone(ctx, t.k, t.deleted)
	delete(had, key(t.deleted))
}

// told waits until a claim is answered.
func (t *takeover) told(ctx context.Context, claim *ipamv1beta2.IPAddressClaim) {
	GinkgoHelper()
	Eventually(func(g Gomega) {
		g.Expect(t.k.Get(ctx, client.ObjectKeyFromObject(claim), claim)).To(Succeed())
		g.Expect(claim.Status.AddressRef.Name).To(Equal(claim.Name), "%v", claim.Status.Conditions)
	}, patience, interval).Should(Succeed())
}

// more makes a claim of each pool in each namespace: answers checks that what they get is not in use.
func (t *takeover) more(ctx context.Context, what string) {
	GinkgoHelper()
	for _, ns := range t.namespaces {
		for _, kind := range kinds {
			for _, suffix := range []string{"", "-2", "-3"} {
				t.told(ctx, t.claim(ctx, ns, kind, what+suffix))
			}
		}
	}
}

// expectUpstreams expects that nothing has a finalizer or a name that the in-cluster provider does not know.
func (t *takeover) expectUpstreams(ctx context.Context) {
	GinkgoHelper()
	for _, a := range t.addresses(ctx) {
		Expect(a.Name).To(Equal(a.Spec.ClaimRef.Name))
		if strings.HasSuffix(a.Name, "-stray") {
			continue
		}
		Expect(a.Finalizers).To(ConsistOf(icv1.AddressFinalizer), a.Name)
		Expect(a.OwnerReferences).To(ConsistOf(
			And(HaveField("Kind", "IPAddressClaim"), HaveField("Controller", HaveValue(BeTrue()))),
			And(HaveField("Kind", a.Spec.PoolRef.Kind), HaveField("Controller", Or(BeNil(), HaveValue(BeFalse())))),
		), a.Name)
	}
	for _, ns := range t.namespaces {
		p := &icv1.InClusterIPPool{}
		Expect(t.k.Get(ctx, client.ObjectKey{Namespace: ns, Name: pool}, p)).To(Succeed())
		Expect(p.Finalizers).To(ConsistOf(icv1.PoolFinalizer))
	}
}
