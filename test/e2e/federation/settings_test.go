// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package federation

import (
	"context"
	"net/http"
	"slices"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/builder"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

var _ = It("A member whose manager has no name, another's, or a closed gate serves no copy, and keeps what its claims have", func(ctx SpecContext) {
	w := newWorld(ctx, "10.0.0.0/16")
	p := w.local("team", edgeB, 24).Build()
	w.hub.Create(ctx, p)
	at := arrived(ctx, w.b, p)
	held, address := answers(ctx, w.b, "held", at, "10.0.0.0/24")
	DeferCleanup(func(ctx SpecContext) { edgeB.serve(ctx, edgeB.flags...) }, NodeTimeout(3*time.Minute))
	for _, wrong := range []struct {
		flags []string
		words string
	}{
		{[]string{memberGates}, "--cluster-name is not set here"},
		{[]string{memberGates, "--cluster-name=edge-a"}, `--cluster-name is "edge-a" here`},
		{[]string{"--feature-gates=Metal3=true"}, "--cluster-name is not set here"},
	} {
		By("having " + wrong.flags[len(wrong.flags)-1])
		edgeB.serve(ctx, wrong.flags...)
		w.b.NotReady(ctx, at, ipamv1.PoolReadyDelegatedElsewhereReason, `"edge-b"`, wrong.words)
		refuses(ctx, w.b, at, `is delegated to cluster "edge-b"`)
		w.b.Ready(ctx, held)
		Expect(w.b.Record(ctx, held).Spec.CIDR).To(Equal(held.Spec.CIDR))
		Expect(w.b.Client.Get(ctx, client.ObjectKeyFromObject(address), address)).To(Succeed())
	}
	By("having its own name again")
	edgeB.serve(ctx, edgeB.flags...)
	w.b.Ready(ctx, at)
	next, _ := answers(ctx, w.b, "next", at, "10.0.0.0/24")
	Expect(next.Spec.CIDR).NotTo(Or(Equal(held.Spec.CIDR), Equal(address.Spec.Address+"/32")))
}, SpecTimeout(8*time.Minute))

var _ = It("Two members with one name: the one that Karmada calls otherwise serves nothing of a pool that both have", func(ctx SpecContext) {
	carryByHand()
	w := newWorld(ctx, "10.0.0.0/24")
	p := w.local("team", edgeA, 24).Build()
	w.hub.Create(ctx, p)
	DeferCleanup(func(ctx SpecContext) { edgeB.serve(ctx, edgeB.flags...) }, NodeTimeout(3*time.Minute))
	edgeB.serve(ctx, edgeA.flags...)
	Expect(w.a.Client.Create(ctx, marked("edge-a", p))).To(Succeed())
	Expect(w.b.Client.Create(ctx, marked("edge-b", p))).To(Succeed())
	at := arrived(ctx, w.a, p)
	own, _ := answers(ctx, w.a, "held", at, "10.0.0.0/24")
	_, capi := claims(w.a, "held", at)
	other := copyOf(p)
	w.b.NotReady(ctx, other, ipamv1.PoolReadyDelegatedElsewhereReason, "Karmada calls this cluster otherwise")
	refuses(ctx, w.b, other, `is delegated to cluster "edge-a"`)

	By("taking the block back, which the other has not to give")
	takeBack(ctx, w, p)
	w.carry(ctx, w.b, p)
	w.b.NotReady(ctx, other, ipamv1.PoolReadyDelegatedElsewhereReason)
	Expect(other.PoolSpec().Mode).To(Equal(ipamv1.ClosingMode))
	Expect(statusOf(other).Released).To(BeNil())
	Expect(w.b.InSpace(ctx)).To(BeEmpty())
	w.carry(ctx, w.a, p)
	w.a.Delete(ctx, own, capi)
	handsBack(ctx, w.a, at, string(p.GetUID()))
	Expect(w.b.InSpace(ctx)).To(BeEmpty())
	free(ctx, w, p)
	w.b.Delete(ctx, other)
	look(ctx)
}, SpecTimeout(5*time.Minute))

var _ = It("A hub whose manager has a member's name serves nothing of what that member has, and says what is wrong", func(ctx SpecContext) {
	w := newWorld(ctx, "10.0.0.0/16")
	p, other := w.local("team", edgeA, 24).Build(), w.local("other", edgeB, 24).Build()
	w.hub.Create(ctx, p, other)
	at := arrived(ctx, w.a, p)
	answers(ctx, w.a, "held", at, "10.0.0.0/24")
	record := w.hub.Record(ctx, p)
	DeferCleanup(func(ctx SpecContext) { hub.serve(ctx, hub.flags...) }, NodeTimeout(3*time.Minute))
	hub.serve(ctx, append(slices.Clone(hub.flags), "--cluster-name=edge-a")...)
	w.hub.NotReady(ctx, p, ipamv1.PoolReadyDelegatedElsewhereReason, `"edge-a"`, `--cluster-name is "edge-a" here`)
	w.hub.Ready(ctx, other)
	own, capi := claims(w.hub, "refused", p)
	own.Spec.CIDR = "10.0.0.77/32"
	asking, cancel := context.WithTimeout(ctx, 5*time.Second) // a client tries again what is not ready
	defer cancel()
	Expect(w.hub.Client.Create(asking, own)).NotTo(Succeed())
	w.hub.Create(ctx, capi)
	w.hub.NotReady(ctx, capi, ipamv1.ClaimReadyPoolNotReadyReason)
	Expect(w.hub.Records(ctx, capi)).To(BeEmpty())
	w.hub.Delete(ctx, capi)
	Expect(w.hub.Client.Get(ctx, client.ObjectKeyFromObject(own), own)).To(Satisfy(apierrors.IsNotFound))

	By("having none again")
	hub.serve(ctx, hub.flags...)
	w.hub.Ready(ctx, p)
	Expect(w.hub.Record(ctx, p).UID).To(Equal(record.UID))
	answers(ctx, w.a, "later", at, "10.0.0.0/24")
}, SpecTimeout(8*time.Minute))

var _ = It("A hub whose gate is closed refuses delegated pools and names the gate, and keeps the block of one that is there", func(ctx SpecContext) {
	w := newWorld(ctx, "10.0.0.0/16")
	p := w.local("team", edgeA, 24).Build()
	w.hub.Create(ctx, p)
	at := arrived(ctx, w.a, p)
	DeferCleanup(func(ctx SpecContext) { hub.serve(ctx, hub.flags...) }, NodeTimeout(3*time.Minute))
	hub.serve(ctx)
	w.hub.NotReady(ctx, p, ipamv1.PoolReadyInvalidSpecReason, "spec.delegateTo", "--feature-gates=Federation=true")
	for _, refused := range []ownPool{w.local("refused", edgeA, 24).Build(), w.global("refused", edgeA, 24).Build()} {
		w.hub.Refuses(ctx, refused, http.StatusUnprocessableEntity, "spec.delegateTo", "--feature-gates=Federation=true")
	}
	other := w.local("other", &cluster{}, 24).Build()
	w.hub.Create(ctx, other)
	Expect(other.Spec.CIDR).To(Equal("10.0.1.0/24"))
	answers(ctx, w.a, "meanwhile", at, "10.0.0.0/24")

	By("opening it")
	hub.serve(ctx, hub.flags...)
	w.hub.Ready(ctx, p)
	Expect(w.hub.Record(ctx, p).Spec.CIDR).To(Equal("10.0.0.0/24"))
}, SpecTimeout(8*time.Minute))

var _ = It("A delegated pool that came past the hub's webhooks has its labels with its block, and is not carried before", func(ctx SpecContext) {
	w := newWorld(ctx, "10.0.0.0/16")
	changes, err := w.hub.Client.Watch(ctx, &ipamv1.IPPoolList{}, client.InNamespace(w.hub.Namespace))
	Expect(err).NotTo(HaveOccurred())
	defer changes.Stop()
	Expect(hub.RemoveWebhooks(ctx)).To(Succeed())
	DeferCleanup(func(ctx SpecContext) { Expect(hub.PointWebhooks(ctx, hub.manager.WebhookAddress())).To(Succeed()) }, NodeTimeout(3*time.Minute))
	orphan := builder.IPPool(w.hub.Namespace, "orphan").WithParent(ipamv1.GlobalIPPoolKind, "", "missing").WithBits(24).Build()
	Expect(w.hub.Client.Create(ctx, orphan)).To(Succeed())

	p := w.local("team", edgeA, 24).Build()
	p.Labels = map[string]string{"team": "blue"}
	w.hub.Create(ctx, p)
	Expect(p.Spec.CIDR).To(BeEmpty())
	w.hub.Ready(ctx, p)
	answers(ctx, w.a, "first", arrived(ctx, w.a, p), "10.0.0.0/24")
	versions := 0
	for change := range changes.ResultChan() {
		version, isPool := change.Object.(*ipamv1.IPPool)
		if !isPool || version.Name != p.Name {
			continue
		}
		versions++
		labels := map[string]string{"team": "blue"}
		if version.Spec.CIDR != "" {
			labels[ipamv1.AllocatedLabel], labels[ipamv1.DelegatedToLabel] = "true", "edge-a"
		}
		Expect(version.Labels).To(Equal(labels))
		if version.ResourceVersion == p.ResourceVersion {
			break
		}
	}
	Expect(versions).To(BeNumerically(">", 1))

	By("having no network settings where a pool above has some")
	site := w.global("site", hub, 20).WithNetwork(20, "10.0.31.254").Build()
	w.hub.Create(ctx, site)
	bare := w.below("bare").Build()
	w.hub.Create(ctx, bare)
	w.hub.NotReady(ctx, bare, ipamv1.PoolReadyParentNotReadyReason, "spec.network")
	Expect(bare.Spec.CIDR).To(BeEmpty())
	Expect(bare.Labels).NotTo(HaveKey(ipamv1.DelegatedToLabel))
	suite.Change(ctx, w.hub.Client, bare, func() { bare.Spec.Network = &ipamv1.Network{Gateway: "10.0.31.254", PrefixLength: ptr.To[int32](20)} })
	answers(ctx, w.a, "bare", arrived(ctx, w.a, bare), "10.0.16.0/24")

	By("coming with its block")
	asks := w.local("asks", edgeA, 24).WithCIDR("10.0.77.0/24").WithSpace(w.hub.Namespace).Build()
	w.hub.Create(ctx, asks)
	answers(ctx, w.a, "asks", arrived(ctx, w.a, asks), "10.0.77.0/24")
	w.hub.Ready(ctx, asks)
	Expect(asks.Labels).To(And(HaveKeyWithValue(ipamv1.AllocatedLabel, "true"), HaveKeyWithValue(ipamv1.DelegatedToLabel, "edge-a")))
}, SpecTimeout(5*time.Minute))
