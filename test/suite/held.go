// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package suite

import (
	"context"
	"encoding/json"
	"sync"
	"sync/atomic"

	. "github.com/onsi/ginkgo/v2" //nolint:staticcheck // for specs only
	. "github.com/onsi/gomega"    //nolint:staticcheck // for specs only
	admissionv1 "k8s.io/api/admission/v1"
	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
)

// HeldRelease is the first write that takes the last finalizer off an object. It waits at a webhook: the API server has read the object already.
type HeldRelease struct {
	// Arrived is closed when the write is there.
	Arrived chan struct{}
	// Release lets it go on. It may be called twice.
	Release func()
}

// HoldRelease holds that write of an object. It changes the object until the API server asks the webhook, and returns it as it is then.
func HoldRelease(ctx context.Context, site *framework.Site, of client.Object) *HeldRelease {
	GinkgoHelper()
	released := make(chan struct{})
	h := &HeldRelease{Arrived: make(chan struct{}), Release: sync.OnceFunc(func() { close(released) })}
	var isAsked, isHeld atomic.Bool
	at, stop, err := site.ServeReviews(func(ctx context.Context, request *admissionv1.AdmissionRequest, _ *admissionv1.AdmissionResponse) {
		isAsked.Store(true)
		var object metav1.PartialObjectMetadata
		if json.Unmarshal(request.Object.Raw, &object) != nil || object.UID != of.GetUID() || len(object.Finalizers) > 0 || isHeld.Swap(true) {
			return
		}
		close(h.Arrived)
		select {
		case <-released:
		case <-ctx.Done():
		}
	})
	Expect(err).NotTo(HaveOccurred())
	DeferCleanup(stop)
	DeferCleanup(h.Release)
	c := site.Client()
	configuration := updatesOf(c, of, at)
	Expect(c.Create(ctx, configuration)).To(Succeed())
	DeferCleanup(c.Delete, configuration)
	Eventually(func() bool {
		Change(ctx, c, of, func() {
			annotations := map[string]string{"example.com/changed": of.GetResourceVersion()}
			of.SetAnnotations(annotations)
		})
		return isAsked.Load()
	}, patience, "100ms").Should(BeTrue())
	return h
}

// updatesOf has the API server ask a webhook at each update of objects of this one's kind in its namespace.
func updatesOf(c client.Client, of client.Object, at admissionregistrationv1.WebhookClientConfig) *admissionregistrationv1.ValidatingWebhookConfiguration {
	GinkgoHelper()
	kind, err := c.GroupVersionKindFor(of)
	Expect(err).NotTo(HaveOccurred())
	mapping, err := c.RESTMapper().RESTMapping(kind.GroupKind(), kind.Version)
	Expect(err).NotTo(HaveOccurred())
	name := "held." + of.GetNamespace() + ".example.com"
	return &admissionregistrationv1.ValidatingWebhookConfiguration{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Webhooks: []admissionregistrationv1.ValidatingWebhook{{
			Name: name, ClientConfig: at, AdmissionReviewVersions: []string{"v1"}, TimeoutSeconds: ptr.To[int32](30),
			SideEffects:       ptr.To(admissionregistrationv1.SideEffectClassNone),
			NamespaceSelector: &metav1.LabelSelector{MatchLabels: map[string]string{"kubernetes.io/metadata.name": of.GetNamespace()}},
			Rules: []admissionregistrationv1.RuleWithOperations{{
				Operations: []admissionregistrationv1.OperationType{admissionregistrationv1.Update},
				Rule: admissionregistrationv1.Rule{
					APIGroups: []string{kind.Group}, APIVersions: []string{"*"}, Resources: []string{mapping.Resource.Resource},
				},
			}},
		}},
	}
}
