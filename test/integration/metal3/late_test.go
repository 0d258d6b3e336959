// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package metal3

import (
	"context"
	"encoding/pem"
	"net/http/httptest"
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2"
	. "github.com/onsi/gomega"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/webhook/admission"

	m3v1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/metal3/v1alpha1"
	ipamv1 "github.com/weir-ipam/cluster-api-ipam-provider-weir/api/v1alpha1"
	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/suite"
)

// whileFirstIsStored has something done between the first create of an IPAddress in a namespace and its being stored. It returns the name of
// that IPAddress.
func whileFirstIsStored(ctx context.Context, ns string, do func(ctx context.Context)) (name func() string) {
	GinkgoHelper()
	var isAsked atomic.Bool
	var first atomic.Pointer[string]
	server := httptest.NewTLSServer(&admission.Webhook{Handler: admission.HandlerFunc(func(ctx context.Context, req admission.Request) admission.Response {
		defer GinkgoRecover()
		isAsked.Store(true)
		if isProbe := ptr.Deref(req.DryRun, false); !isProbe && first.CompareAndSwap(nil, ptr.To(req.Name)) {
			do(ctx)
		}
		return admission.Allowed("")
	})})
	DeferCleanup(server.Close)
	hook := &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: ns},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: "late.weir.test",
			ClientConfig: admissionregistrationv1.WebhookClientConfig{
				URL:      ptr.To(server.URL),
				CABundle: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: server.Certificate().Raw}),
			},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Create},
				Rule: admissionregistrationv1.Rule{
					APIGroups: []string{m3v1.GroupVersion.Group}, APIVersions: []string{m3v1.GroupVersion.Version}, Resources: []string{"ipaddresses"},
				},
			}},
			NamespaceSelector:       &metav1.LabelSelector{MatchLabels: map[string]string{corev1.LabelMetadataName: ns}},
			SideEffects:             ptr.To(admissionregistrationv1.SideEffectClassNone),
			AdmissionReviewVersions: []string{"v1"},
			TimeoutSeconds:          ptr.To[int32](30),
		}},
	}
	Expect(k.Create(ctx, hook)).To(Succeed())
	DeferCleanup(func(ctx context.Context) { Expect(k.Delete(ctx, hook)).To(Succeed()) })
	// Till the API server asks the webhook, an IPAddress would be stored at once.
	Eventually(func() bool {
		Expect(k.Create(ctx, made(ns, "probe", "nobody", "10.9.9.9"), client.DryRunAll)).To(Succeed())
		return isAsked.Load()
	}, patience, "100ms").Should(BeTrue())
	return func() string { return ptr.Deref(first.Load(), "") }
}

// answeredByAnother does what another manager does that has chosen 10.0.0.7 for the claim: it tells the claim so, and releases what else is
// recorded for claims of its name.
func answeredByAnother(ctx context.Context, c *m3v1.IPClaim) {
	GinkgoHelper()
	Expect(k.Get(ctx, client.ObjectKeyFromObject(c), c)).To(Succeed())
	list := &ipamv1.IPAllocationList{}
	Expect(k.List(ctx, list, client.InNamespace(c.Namespace), client.MatchingFields{"spec.claimRef.name": c.Name})).To(Succeed())
	Expect(list.Items).To(HaveLen(1))
	late := &list.Items[0]
	record := late.DeepCopy()
	record.ObjectMeta = metav1.ObjectMeta{Namespace: c.Namespace, Name: "another", Finalizers: late.Finalizers, OwnerReferences: late.OwnerReferences}
	record.OwnerReferences[0].UID, record.Spec.ClaimRef.UID = c.UID, string(c.UID)
	record.Spec.CIDR, record.Spec.Manager = "10.0.0.7/32", ipamv1.AllocationManager{Instance: "another manager"}
	Expect(k.Create(ctx, record)).To(Succeed())
	own := made(c.Namespace, "net-10-0-0-7", c.Name, "10.0.0.7")
	own.Finalizers = []string{m3v1.IPAddressFinalizer}
	own.OwnerReferences = record.OwnerReferences
	Expect(k.Create(ctx, own)).To(Succeed())
	setStatus(ctx, c, `{"address":{"name":"net-10-0-0-7"}}`)
	Expect(k.Delete(ctx, late)).To(Succeed())
	Expect(client.IgnoreNotFound(k.Patch(ctx, late, client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))))).To(Succeed())
}

var _ = Describe("An IPAddress that a manager stores late", func() {
	var ns string

	BeforeEach(func(ctx SpecContext) {
		ns = suite.Namespace(ctx, k, nil)
		pool(ctx, ns, `{prefix: 24, pools: [{start: 10.0.0.1, end: 10.0.0.9}]}`)
	})

	goes := func(ctx context.Context, meanwhile func(context.Context)) {
		GinkgoHelper()
		first := whileFirstIsStored(ctx, ns, meanwhile)
		c := claimOf(ns, "c")
		Expect(k.Create(ctx, c.DeepCopy())).To(Succeed())
		Expect(answered(ctx, c).Name).To(Equal("net-10-0-0-7"))
		Eventually(first, patience).Should(Equal("net-10-0-0-1"))
		gone(ctx, made(ns, "net-10-0-0-1", "c", "10.0.0.1"))
		Eventually(func() []string { return records(ctx, ns) }, patience).Should(ConsistOf("10.0.0.7/32"))
		Expect(answered(ctx, c).Name).To(Equal("net-10-0-0-7"))
	}

	It("goes where another manager has answered its claim and released its record", func(ctx SpecContext) {
		goes(ctx, func(ctx context.Context) { answeredByAnother(ctx, claimOf(ns, "c")) })
	})

	It("goes where its claim has gone, and another manager has answered the next one of the name", func(ctx SpecContext) {
		goes(ctx, func(ctx context.Context) {
			Expect(k.Delete(ctx, claimOf(ns, "c"))).To(Succeed())
			Expect(k.Patch(ctx, claimOf(ns, "c"), client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`)))).To(Succeed())
			next := claimOf(ns, "c")
			next.Finalizers = []string{m3v1.IPClaimFinalizer}
			Expect(k.Create(ctx, next)).To(Succeed())
			answeredByAnother(ctx, next)
		})
	})
})
