// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package federation

import (
	"context"
	"maps"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"time"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	ipamv1beta2 "sigs.k8s.io/cluster-api/api/ipam/v1beta2"
	"sigs.k8s.io/controller-runtime/pkg/client"

	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

var _ = It("Member rebuilt under its name: it is empty, the copy comes to it and is served, and its later report counts", func(ctx SpecContext) {
	w := newWorld(ctx, "10.0.0.0/24")
	p := w.local("team", edgeA, 24).Build()
	w.hub.Create(ctx, p)
	at := arrived(ctx, w.a, p)
	uid := at.GetUID()
	own, address := answers(ctx, w.a, "before", at, "10.0.0.0/24")
	_, capi := claims(w.a, "before", at)
	record := w.hub.Record(ctx, p)

	By("losing all that the member has")
	mend := placement.CutOff(edgeA.name)
	defer mend()
	edgeA.unmanaged(ctx, func() {
		strip(ctx, w.a, own, capi, address, at)
		for _, r := range w.a.InSpace(ctx) {
			strip(ctx, w.a, &r)
		}
	})
	mend()
	at = arrived(ctx, w.a, p)
	Expect(at.GetUID()).NotTo(Equal(uid))
	own, _ = answers(ctx, w.a, "after", at, "10.0.0.0/24")
	_, capi = claims(w.a, "after", at)
	w.hub.Ready(ctx, p)
	Expect(w.hub.Record(ctx, p).UID).To(Equal(record.UID))

	By("taking the block back")
	Expect(w.hub.Client.Delete(ctx, p)).To(Succeed())
	closes(ctx, w.a, p)
	w.a.Delete(ctx, own, capi)
	w.comesBack(ctx, p)
	w.hub.Gone(ctx, record)
	Expect(handedBack(ctx, w.a)).To(ConsistOf(HaveField("Spec.ClaimRef.UID", string(p.UID))))
}, SpecTimeout(5*time.Minute))

var _ = It("Pool restored at the hub: it is carried once its block is confirmed, and never while another pool has that", func(ctx SpecContext) {
	w := newWorld(ctx, "10.0.0.0/24")
	p := w.local("team", edgeB, 24).Build()
	w.hub.Create(ctx, p)
	other := arrived(ctx, w.b, p)
	changes, err := w.hub.Client.Watch(ctx, &ipamv1.IPPoolList{}, client.InNamespace(w.hub.Namespace))
	Expect(err).NotTo(HaveOccurred())
	defer changes.Stop()
	labels := map[string]string{ipamv1.AllocatedLabel: "true", ipamv1.DelegatedToLabel: edgeA.name, "tier": "edge"}
	restored := func() *ipamv1.IPPool {
		back := w.local("back", edgeA, 24).WithCIDR("10.0.0.0/24").WithSpace(w.hub.Namespace).Build()
		back.Labels, back.Finalizers = maps.Clone(labels), []string{ipamv1.PoolFinalizer}
		return back
	}
	back := restored()
	w.hub.Create(ctx, back)
	w.hub.NotReady(ctx, back, ipamv1.PoolReadyOverlapReason, "10.0.0.0/24")
	By("writing all of it again, as clusterctl does when it goes on with a move")
	suite.Change(ctx, w.hub.Client, back, func() { back.Labels, back.Annotations = maps.Clone(labels), nil })
	suite.Change(ctx, w.hub.Client, back, func() { back.Annotations["last"] = "here" })
	for change := range changes.ResultChan() {
		version, isPool := change.Object.(*ipamv1.IPPool)
		if !isPool || version.Name != back.Name {
			continue
		}
		Expect(version.Labels).To(Equal(map[string]string{"tier": "edge"}))
		if version.Annotations["last"] != "" {
			break
		}
	}

	By("taking the block back from the other member")
	takeBack(ctx, w, p)
	handsBack(ctx, w.b, other, string(p.GetUID()))
	free(ctx, w, p)
	w.hub.Ready(ctx, back)
	Expect(back.Labels).To(Equal(labels))
	at := arrived(ctx, w.a, back)
	uid := at.GetUID()
	own, _ := answers(ctx, w.a, "before", at, "10.0.0.0/24")
	_, capi := claims(w.a, "before", at)
	record := w.hub.Record(ctx, back)

	By("restoring the pool, and carrying it as kubectl does: Karmada's binding would go with the former pool")
	carryByHand()
	w.vanishes(ctx, back)
	again := restored()
	w.hub.Create(ctx, again)
	w.hub.Ready(ctx, again)
	Expect(again.Labels).To(Equal(labels))
	w.hub.Gone(ctx, record)
	w.carry(ctx, w.a, again)
	Expect(w.a.Client.Get(ctx, client.ObjectKeyFromObject(at), at)).To(Succeed())
	Expect(at).To(And(HaveField("UID", uid), HaveField("DeletionTimestamp", BeNil())))
	Expect(at.GetAnnotations()).To(HaveKeyWithValue(ipamv1.TemplateAnnotation, string(again.UID)))
	w.a.Ready(ctx, at, own, capi)
	answers(ctx, w.a, "after", at, "10.0.0.0/24")
}, SpecTimeout(5*time.Minute))

// withoutWebhooks does something while the API server knows of no webhook of Weir's. Afterwards it asks the same addresses again.
func (c *cluster) withoutWebhooks(ctx context.Context, do func()) {
	GinkgoHelper()
	mutating, validating := &admissionregistrationv1.MutatingWebhookConfigurationList{}, &admissionregistrationv1.ValidatingWebhookConfigurationList{}
	Expect(c.Client().List(ctx, mutating)).To(Succeed())
	Expect(c.Client().List(ctx, validating)).To(Succeed())
	Expect(c.RemoveWebhooks(ctx)).To(Succeed())
	do()
	for _, configuration := range append(suite.Items(mutating), suite.Items(validating)...) {
		configuration.SetUID("")
		configuration.SetResourceVersion("")
		Expect(c.Client().Create(ctx, configuration)).To(Succeed())
	}
}

// follow runs a block of the guide's commands, with contexts for the hub and edge-a, and returns what it prints.
func follow(ctx context.Context, folder, commands string) string {
	GinkgoHelper()
	kubectl, err := framework.Binary("kubectl")
	Expect(err).NotTo(HaveOccurred())
	cmd := exec.CommandContext(ctx, "bash", "-euo", "pipefail", "-c", commands)
	cmd.Dir = folder
	cmd.Env = append(os.Environ(), "KUBECONFIG="+suite.Contexts(map[string]*framework.Site{"hub": hub.Site, "edge-a": edgeA.Site}),
		"PATH="+filepath.Dir(kubectl)+string(os.PathListSeparator)+os.Getenv("PATH"), "NO_PROXY=*", "no_proxy=*")
	out, err := cmd.Output()
	Expect(err).NotTo(HaveOccurred(), string(out))
	return string(out)
}

// That two may have the block where nobody compares is what the look at all clusters finds: see test/framework/federation_test.go.
var _ = It("Member restored to before a hand-back: by the commands of the guide it loses the pool before its manager starts, and serves nothing of the block", func(ctx SpecContext) {
	w := newWorld(ctx, "10.0.0.0/23")
	p := w.local("team", edgeA, 24).Build()
	w.hub.Create(ctx, p)
	at := arrived(ctx, w.a, p)
	restored, _ := at.DeepCopyObject().(ownPool)
	restored.SetUID("")
	restored.SetResourceVersion("")
	takeBack(ctx, w, p)
	back := handsBack(ctx, w.a, at, string(p.GetUID()))
	free(ctx, w, p)
	w.a.Gone(ctx, at)
	next := w.local("next", edgeB, 24).Build()
	w.hub.Create(ctx, next)
	answers(ctx, w.b, "next", arrived(ctx, w.b, next), "10.0.0.0/24")

	kept := w.local("kept", edgeA, 24).Build()
	w.hub.Create(ctx, kept)
	arrived(ctx, w.a, kept)

	By("restoring the copy, without the record of the hand-back, while no manager runs")
	Expect(edgeA.KillManagers()).To(Succeed())
	DeferCleanup(func(ctx SpecContext) {
		if CurrentSpecReport().Failed() {
			edgeA.serve(ctx, edgeA.flags...)
		}
	}, NodeTimeout(time.Minute))
	edgeA.withoutWebhooks(ctx, func() {
		strip(ctx, w.a, &back)
		own, capi := claims(w.a, "restored", restored)
		w.a.Create(ctx, restored, own, capi)
	})
	dry := func() error {
		return w.a.Client.Delete(ctx, restored.DeepCopyObject().(client.Object), client.DryRunAll)
	}
	Eventually(dry, patience, "100ms").Should(MatchError(ContainSubstring("failed calling webhook")))

	By("following the guide")
	guide, err := framework.ReadGuide("federation.md")
	Expect(err).NotTo(HaveOccurred())
	blocks, err := guide.Commands("### Before the manager of a restored member starts")
	Expect(err).NotTo(HaveOccurred())
	Expect(blocks).To(HaveLen(2), "the list and the deletion")
	folder := GinkgoT().TempDir()
	listed := follow(ctx, folder, blocks[0])
	Expect(listed).To(ContainSubstring("IPPool " + w.a.Namespace + " team 10.0.0.0/24\n"))
	Expect(listed).NotTo(ContainSubstring(w.a.Namespace + " kept"))
	follow(ctx, folder, blocks[1])
	Expect(w.a.Client.Get(ctx, client.ObjectKeyFromObject(restored), restored)).To(Succeed())
	Expect(restored.GetDeletionTimestamp().IsZero()).To(BeFalse())
	Eventually(dry, patience, "100ms").Should(MatchError(ContainSubstring("failed calling webhook")), "it is asked again")

	By("starting the manager")
	edgeA.serve(ctx, edgeA.flags...)
	w.a.Ready(ctx, copyOf(kept))
	w.a.Gone(ctx, restored)
	own, capi := claims(w.a, "restored", restored)
	w.a.NotReady(ctx, own, ipamv1.ClaimReadyPoolNotReadyReason)
	w.a.NotReady(ctx, capi, ipamv1.ClaimReadyPoolNotReadyReason)
	late, _ := claims(w.a, "late", restored)
	w.a.Refuses(ctx, late, http.StatusNotFound, `"team"`)
	addresses := &ipamv1beta2.IPAddressList{}
	Expect(w.a.Client.List(ctx, addresses, client.InNamespace(w.a.Namespace))).To(Succeed())
	Expect(addresses.Items).To(BeEmpty())
	Expect(w.a.InSpace(ctx)).To(ConsistOf(HaveField("Spec.CIDR", kept.Spec.CIDR)), "nothing of the other block")
	look(ctx)
}, SpecTimeout(5*time.Minute))
