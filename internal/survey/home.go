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

// home is the namespace that Weir runs in. It is known if the user or Weir's webhooks name it; else it is the usual one, and
// unread has the webhooks that the user may not read.
type home struct {
	namespace string
	isKnown   bool
	unread    *Gaps
}

// findHome returns the namespace that Weir runs in: that of the Service which its webhooks call. Only administrators write
// webhook configurations, while every tenant can put Weir's label on a Pod.
func (s *Survey) findHome(ctx context.Context) (home, error) {
	if s.home != "" {
		return home{namespace: s.home, isKnown: true}, nil
	}
	quiet := *s
	quiet.gaps = &Gaps{}
	for _, configuration := range webhooks {
		var found webhookFields
		if _, err := quiet.get(ctx, configuration.resource, "", configuration.name, &found); err != nil {
			return home{}, err
		}
		for _, webhook := range found.Webhooks {
			if namespace := webhook.ClientConfig.Service.Namespace; namespace != "" {
				return home{namespace: namespace, isKnown: true}, nil
			}
		}
	}
	return home{namespace: usualHome, unread: quiet.gaps}, nil
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
