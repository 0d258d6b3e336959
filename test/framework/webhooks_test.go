// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package framework_test

import (
	"testing"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

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
