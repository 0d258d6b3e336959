// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package framework_test

import (
	"strings"
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"

	"github.com/weir-ipam/cluster-api-ipam-provider-weir/test/framework"
)

const webhookManifest = `
apiVersion: admissionregistration.k8s.io/v1
kind: ValidatingWebhookConfiguration
metadata: {name: %s}
webhooks:
- name: pools.ipam.weir.dev
  admissionReviewVersions: [v1]
  sideEffects: None
  clientConfig: {service: {namespace: weir-system, name: weir-webhook-service, path: /validate-pools}}
`

func TestPatchWebhooksTouchesOnlyWeirs(t *testing.T) {
	cp := startControlPlane(t, framework.Options{})
	w := newWorld(t, cp.Config())
	w.create(webhookManifest, "weir-validating")
	w.create(webhookManifest, "someone-elses")
	caBundle, err := framework.ServingCerts(t.TempDir())
	if err != nil {
		t.Fatal(err)
	}
	for _, base := range []string{"https://127.0.0.1:1234", "https://127.0.0.1:5678"} {
		if err := framework.PatchWebhooks(t.Context(), cp.Config(), caBundle, base); err != nil {
			t.Fatal(err)
		}
	}
	webhooks := clientset(t, cp.Config()).AdmissionregistrationV1().ValidatingWebhookConfigurations()
	configs := map[string]admissionregistrationv1.WebhookClientConfig{}
	for _, name := range []string{"weir-validating", "someone-elses"} {
		got, err := webhooks.Get(t.Context(), name, metav1.GetOptions{})
		if err != nil {
			t.Fatal(err)
		}
		configs[name] = got.Webhooks[0].ClientConfig
	}
	weirs := configs["weir-validating"]
	if weirs.URL == nil || *weirs.URL != "https://127.0.0.1:5678/validate-pools" || string(weirs.CABundle) != string(caBundle) {
		t.Errorf("Weir's webhook calls %+v", weirs)
	}
	if configs["someone-elses"].Service == nil {
		t.Error("another project's webhook was changed")
	}
}

const refusingWebhook = `
apiVersion: admissionregistration.k8s.io/v1
kind: %s
metadata: {name: refusing}
webhooks:
- name: refusing.webhooks.test
  admissionReviewVersions: [v1]
  sideEffects: None
  clientConfig: {url: "https://127.0.0.1:1"}
  objectSelector: {matchLabels: {refused: "true"}}
  rules: [{operations: [CREATE], apiGroups: [""], apiVersions: [v1], resources: [configmaps]}]
`

func TestWebhooksCountWhenTheyWereAwaited(t *testing.T) {
	cp := startControlPlane(t, framework.Options{})
	w := newWorld(t, cp.Config())
	asked := func() error {
		object := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "asked", Labels: map[string]string{"refused": "true"}}}
		_, err := clientset(t, cp.Config()).CoreV1().ConfigMaps("default").Create(t.Context(), object, metav1.CreateOptions{DryRun: []string{metav1.DryRunAll}})
		return err
	}
	awaited := func() {
		if err := framework.AwaitWebhooks(t.Context(), cp.Config()); err != nil {
			t.Fatal(err)
		}
	}
	for round := range 5 {
		for _, kind := range []string{"MutatingWebhookConfiguration", "ValidatingWebhookConfiguration"} {
			w.create(refusingWebhook, kind)
			awaited()
			if err := asked(); err == nil || !strings.Contains(err.Error(), "refusing.webhooks.test") {
				t.Errorf("round %d: the %s is not asked: %v", round, kind, err)
			}
			refusing := &unstructured.Unstructured{}
			refusing.SetGroupVersionKind(admissionregistrationv1.SchemeGroupVersion.WithKind(kind))
			refusing.SetName("refusing")
			if err := w.Delete(t.Context(), refusing); err != nil {
				t.Fatal(err)
			}
			awaited()
			if err := asked(); err != nil {
				t.Errorf("round %d: the %s is asked still: %v", round, kind, err)
			}
		}
	}
}
