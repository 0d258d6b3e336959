// Copyright 2026 The Weir Authors.
// SPDX-License-Identifier: Apache-2.0

package survey

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// usualHome is the namespace that Weir is installed in.
const usualHome = "weir-system"

// webhooks are Weir's webhook configurations.
var webhooks = []struct {
	resource
	name string
}{
	{resource{admission("validatingwebhookconfigurations"), false}, "weir-validating-webhook-configuration"},
	{resource{admission("mutatingwebhookconfigurations"), false}, "weir-mutating-webhook-configuration"},
}

func admission(resource string) schema.GroupVersionResource {
	return schema.GroupVersionResource{Group: "admissionregistration.k8s.io", Version: "v1", Resource: resource}
}

// SetHome names the namespace that Weir runs in; "" has the survey find it.
func (s *Survey) SetHome(namespace string) { s.home = namespace }

// findHome returns the namespace that Weir runs in: that of the Service which its webhooks call. Only administrators write
// webhook configurations, while every tenant can put Weir's label on a Pod. Where the user may not read them, which is no
// gap, or they call a URL, it is the usual one.
func (s *Survey) findHome(ctx context.Context) (string, error) {
	if s.home != "" {
		return s.home, nil
	}
	quiet := *s
	quiet.gaps = &Gaps{}
	for _, configuration := range webhooks {
		var found webhookFields
		if _, err := quiet.get(ctx, configuration.resource, "", configuration.name, &found); err != nil {
			return "", err
		}
		for _, webhook := range found.Webhooks {
			if namespace := webhook.ClientConfig.Service.Namespace; namespace != "" {
				return namespace, nil
			}
		}
	}
	return usualHome, nil
}

// webhookFields is what of a webhook configuration is looked at.
type webhookFields struct {
	Webhooks []struct {
		ClientConfig struct {
			Service struct {
				Namespace string `json:"namespace"`
			} `json:"service"`
		} `json:"clientConfig"`
	} `json:"webhooks"`
}
