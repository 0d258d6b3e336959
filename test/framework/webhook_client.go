// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package framework

import "fmt"

// WebhookClient is the name in the certificate that the API server shows to all webhooks, of the CA that ClientCA returns.
const WebhookClient = "weir-test-webhook-client"

const (
	admissionFile     = "admission.yaml"
	webhookClientFile = "webhook-client.kubeconfig"
)

// ClientCA returns the file with the CA of all client certificates, also those of RESTConfigAs.
func (cp *ControlPlane) ClientCA() string { return cp.path("pki", "ca.crt") }

// WebhookClientFlags are the flags of a manager whose webhooks nobody but this API server may call.
func (cp *ControlPlane) WebhookClientFlags() []string {
	return []string{"--webhook-client-ca-file=" + cp.ClientCA(), "--webhook-client-name=" + WebhookClient}
}

// webhookClient returns the files by which the API server shows its certificate, as docs/guides/webhook-clients.md says.
func (cp *ControlPlane) webhookClient() map[string][]byte {
	plugin := `- name: %s
  configuration:
    apiVersion: apiserver.config.k8s.io/v1
    kind: WebhookAdmissionConfiguration
    kubeConfigFile: %s
`
	admission := "apiVersion: apiserver.config.k8s.io/v1\nkind: AdmissionConfiguration\nplugins:\n"
	for _, name := range []string{"MutatingAdmissionWebhook", "ValidatingAdmissionWebhook"} {
		admission += fmt.Sprintf(plugin, name, cp.path(webhookClientFile))
	}
	return map[string][]byte{
		admissionFile: []byte(admission),
		webhookClientFile: fmt.Appendf(nil, `apiVersion: v1
kind: Config
users:
- name: "*" # every webhook's
  user:
    client-certificate: %s
    client-key: %s
`, cp.path("pki", "webhooks.crt"), cp.path("pki", "webhooks.key")),
	}
}
